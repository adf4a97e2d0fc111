// SPDX-License-Identifier: Apache-2.0
//
// From the arguments of a task to the stretches of its buffers.
#include <stdlib.h>

#include "base/allocate.h"
#include "check/checker.h"
#include "engine/written.h"

static bool add_region(weir__check_job *job, weir__region region) {
  if (region.lo >= region.hi) return true;
  if (job->region_count == job->region_capacity) {
    uint32_t capacity = job->region_capacity == 0 ? 64 : 2 * job->region_capacity;
    weir__region *larger = weir__allocate(capacity * sizeof *larger);
    if (larger == NULL) return false;
    for (uint32_t i = 0; i < job->region_count; i++) larger[i] = job->regions[i];
    weir__free(job->regions);
    job->regions = larger;
    job->region_capacity = capacity;
  }
  job->regions[job->region_count++] = region;
  return true;
}

// An update: what was never written has junk.
static bool add_update(weir__check_job *job, weir__region region) {
  weir_buffer *buffer = job->slots[region.slot].buffer;
  uint64_t lo, hi;
  while (region.lo < region.hi && weir__written_gap(buffer, (uint64_t)region.lo, (uint64_t)region.hi, &lo, &hi)) {
    weir__region before = region, gap = region;
    before.hi = gap.lo = (int64_t)lo;
    gap.hi = region.lo = (int64_t)hi;
    gap.kind = WEIR__REGION_UNWRITTEN;
    if (!add_region(job, before) || !add_region(job, gap)) return false;
  }
  return add_region(job, region);
}

static bool add_slots(weir__check_job *job) {
  uint64_t at = 0;
  job->slot_count = 0;
  for (uint32_t i = 0; i < job->arg_count; i++) {
    weir__check_arg *arg = &job->args[i];
    if (arg->mode == WEIR_VALUE) continue;
    weir_buffer *buffer = job->slots[arg->slot].buffer;
    uint32_t slot = 0;
    while (slot < job->slot_count && job->slots[slot].buffer != buffer) slot++;
    if (slot == job->slot_count) {
      at += WEIR__CHECK_GUARD;
      job->slots[job->slot_count++] =
          (weir__check_slot){.buffer = buffer,
                             .memory = (unsigned char *)arg->pointer - arg->lo,
                             .at = at,
                             .first_arg = i,
                             .in_place = job->kernel == NULL && buffer->wrapped && buffer->home == WEIR__HOST_SPACE};
      at += (buffer->bytes + 2 * WEIR__CHECK_GUARD - 1) / WEIR__CHECK_GUARD * WEIR__CHECK_GUARD;
    }
    arg->slot = slot;
  }
  job->arena_bytes = at;
  return true;
}

typedef struct place {
  uint32_t slot, arg;
  uint64_t lo, hi;
} place;

static int by_place(const void *left, const void *right) {
  const place *a = left, *b = right;
  if (a->slot != b->slot) return a->slot < b->slot ? -1 : 1;
  if (a->lo != b->lo) return a->lo < b->lo ? -1 : 1;
  return a->hi < b->hi ? -1 : a->hi > b->hi;
}

static const weir__region_kind KINDS[] = {
    [WEIR_READ] = WEIR__REGION_READ, [WEIR_WRITE] = WEIR__REGION_WRITE, [WEIR_READ_WRITE] = WEIR__REGION_UPDATE};

// The regions of one buffer, named by `count` arguments in order of place.
static bool add_regions(weir__check_job *job, const place *places, uint32_t count) {
  uint32_t slot = places[0].slot;
  const weir__check_slot *laid = &job->slots[slot];
  int64_t at = 0, bytes = (int64_t)laid->buffer->bytes;
  int64_t padding =
      (int64_t)((laid->buffer->bytes + 2 * WEIR__CHECK_GUARD - 1) / WEIR__CHECK_GUARD * WEIR__CHECK_GUARD);
  weir__region outside = {.kind = WEIR__REGION_OUTSIDE, .slot = slot, .arg = places[0].arg};
  weir__region guard = {.kind = WEIR__REGION_GUARD, .slot = slot, .arg = laid->first_arg, .lo = -WEIR__CHECK_GUARD};
  if (!laid->in_place && !add_region(job, guard)) return false;
  for (uint32_t i = 0; i < count; i++) {
    weir__region declared = {.kind = KINDS[job->args[places[i].arg].mode],
                             .slot = slot,
                             .arg = places[i].arg,
                             .lo = (int64_t)places[i].lo,
                             .hi = (int64_t)places[i].hi};
    outside.lo = at;
    outside.hi = declared.lo;
    if (outside.lo < outside.hi) {
      outside.arg = places[i].arg;
      if (!add_region(job, outside)) return false;
    }
    if (declared.lo < at) declared.lo = at; // a read that overlaps another, or the same range again
    if (!(declared.kind == WEIR__REGION_UPDATE ? add_update(job, declared) : add_region(job, declared))) return false;
    if (declared.hi > at) at = declared.hi;
  }
  outside.lo = at;
  outside.hi = bytes;
  outside.arg = places[count - 1].arg;
  guard.lo = bytes;
  guard.hi = padding;
  return add_region(job, outside) && (laid->in_place || add_region(job, guard));
}

bool weir__check_lay_out(weir__check_job *job) {
  job->region_count = 0;
  if (!add_slots(job)) return false;
  uint64_t room = 1;
  for (uint32_t i = 0; i < job->arg_count; i++)
    room += job->args[i].mode == WEIR_VALUE ? 0 : weir__box_row_count(job->args[i].box);
  place *places = room > UINT32_MAX ? NULL : weir__allocate(room * sizeof *places);
  if (places == NULL) return false;
  uint32_t count = 0;
  for (uint32_t i = 0; i < job->arg_count; i++) {
    const weir__check_arg *arg = &job->args[i];
    for (uint64_t row = 0; arg->mode != WEIR_VALUE && row < weir__box_row_count(arg->box); row++) {
      place *here = &places[count++];
      *here = (place){.slot = arg->slot, .arg = i};
      here->lo = weir__box_row(arg->lo, arg->hi, arg->box, row, &here->hi);
    }
  }
  qsort(places, count, sizeof *places, by_place);
  bool complete = true;
  weir__context_lock(job->context); // what was written is asked for
  job->oldest = job->context->host.window.live.oldest;
  for (uint32_t first = 0, end; complete && first < count; first = end) {
    for (end = first; end < count && places[end].slot == places[first].slot;) end++;
    complete = add_regions(job, places + first, end - first);
  }
  weir__context_unlock(job->context);
  weir__free(places);
  return complete;
}
