// SPDX-License-Identifier: Apache-2.0
#include "check/card.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "check/card_close.h"
#include "check/card_launch.h"
#include "engine/buffer.h"

typedef enum outcome {
  DONE,     // all results are in the buffers, or the last launch failed
  FAILED,   // nothing reached the buffers
  NOT_HERE, // the same, for the card has no memory for two arenas, or there are too many regions
} outcome;

// Arenas of tasks that are checked at once, in one buffer: those of the first runs, and then those of the second ones.
typedef struct arenas {
  uint64_t first[WEIR__CHECK_BATCH], second[WEIR__CHECK_BATCH]; // where they begin
  bool twice[WEIR__CHECK_BATCH];
  uint64_t bytes;
} arenas;

// In front of arenas of second runs: they are farther apart than those of the first ones, by distances that vary. So tasks that
// write far outside of their arenas do not do the same to another task in both of its runs, but by rare chance.
static uint64_t gap(uint32_t token, uint32_t task) {
  uint32_t mixed = (token * WEIR__CHECK_BATCH + task + 1) * 2654435761U; // Knuth, TAOCP 3, 6.4
  return (1 + (mixed >> 16) % 63) * (uint64_t)WEIR__CHECK_GUARD;
}

static void place(weir__check_job *const *jobs, uint32_t count, uint32_t token, arenas *out_arenas) {
  uint64_t at = 0;
  for (uint32_t i = 0; i < count; i++) {
    out_arenas->first[i] = at;
    at += jobs[i]->arena_bytes;
  }
  for (uint32_t i = 0; i < count; i++) {
    out_arenas->twice[i] = weir__check_has_junk(jobs[i]);
    if (!out_arenas->twice[i]) continue;
    if (count > 1) at += gap(token, i);
    out_arenas->second[i] = at;
    at += jobs[i]->arena_bytes;
  }
  out_arenas->bytes = at;
}

static void add_regions(weir__card_launches *all, const weir__check_job *job, uint32_t task, const arenas *in) {
  for (uint32_t i = 0; i < job->region_count; i++) {
    const weir__region *region = &job->regions[i];
    uint64_t at = weir__region_at(job, region);
    weir__card_add(all, &(weir__card_region){.at = in->first[task] + at,
                                             .second = (in->twice[task] ? in->second[task] : in->first[task]) + at,
                                             .bytes = (uint64_t)(region->hi - region->lo),
                                             .contents = (uint64_t)(uintptr_t)job->slots[region->slot].memory +
                                                         (uint64_t)region->lo,
                                             .kind = (weir__region_is_junk(region) ? WEIR__CARD_JUNK : 0U) |
                                                     (weir__region_is_output(region) ? WEIR__CARD_OUTPUT : 0U) |
                                                     (in->twice[task] ? WEIR__CARD_TWICE : 0U),
                                             .task = task});
  }
}

// Of a task that is checked alone: it fails where there is no room.
static bool has_room(weir__check_job *job, uint32_t count) {
  weir_status before = job->status;
  if (weir__check_has_room(job, count)) return true;
  if (count > 1) job->status = before;
  return false;
}

// As has_room.
static bool make_arenas(weir__check_bench *bench, weir__check_job *job, uint32_t count, uint64_t bytes) {
  weir_status before = job->status;
  if (weir__card_make_arenas(bench, job, bytes)) return true;
  if (count > 1) job->status = before;
  return false;
}

// All runs of all tasks, and what decides whether their results reach the buffers.
static outcome run_all(weir__card_launches *all, weir__check_job *const *jobs, uint32_t count, const arenas *in) {
  weir__card_upload(all);
  weir__card_prepare(all, in->bytes);
  for (uint32_t i = 0; i < count; i++) {
    weir__card_run(all, jobs[i], in->first[i]);
    if (in->twice[i]) weir__card_run(all, jobs[i], in->second[i]);
  }
  weir__card_compare(all, in->bytes);
  weir__card_commit(all, in->bytes);
  bool short_of_memory = all->refused && all->own.status == WEIR_ERROR_OUT_OF_MEMORY;
  if (weir__card_finish(all) == WEIR_OK || all->commit_ends != WEIR_ERROR_UPSTREAM_FAILED) return DONE;
  if (!short_of_memory || (count == 1 && !in->twice[0])) return FAILED;
  all->own.status = WEIR_OK; // one arena may do
  return NOT_HERE;
}

// Looks again at those tasks where something is suspicious.
static void close_all(weir__card_launches *all, weir__check_job *const *jobs, uint32_t count) {
  uint32_t token = all->regions.table.token, marks[WEIR__CHECK_BATCH];
  for (uint32_t i = 0; i < count; i++) marks[i] = all->regions.record->marks[i];
  for (uint32_t i = 0; i < count; i++) {
    if (marks[i] == token) weir__card_look_closely(all->checker, jobs[i]);
  }
}

// One task, or some of which nothing reached the buffers if that returns false.
static bool check(weir__checker *checker, weir__check_job *const *jobs, uint32_t count) {
  weir__check_job *first = jobs[0];
  weir__card_launches all;
  arenas in;
  weir__card_begin(&all, checker, first);
  if (all.bench->spoiled) weir__check_free_bench(all.device, all.bench);
  place(jobs, count, checker->token, &in);
  if (!has_room(first, count) || !make_arenas(all.bench, first, count, in.bytes)) return false;
  if (weir__card_make_bench(&all) != WEIR_OK) {
    if (count == 1) weir__card_fail(&all, first);
    return false;
  }
  weir__card_clear(&all, in.bytes);
  for (uint32_t i = 0; i < count; i++) add_regions(&all, jobs[i], i, &in);
  outcome ended = all.regions.full ? NOT_HERE : run_all(&all, jobs, count, &in);
  if (ended == DONE && all.own.status == WEIR_OK) close_all(&all, jobs, count);
  if (ended == DONE || count == 1)
    for (uint32_t i = 0; i < count; i++) weir__card_fail(&all, jobs[i]);
  if (ended == NOT_HERE && count == 1) weir__card_look_closely(checker, first);
  return ended == DONE;
}

void weir__check_on_card(weir__checker *checker, weir__check_job *const *jobs, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) weir__check_written(jobs[i]);
  checker->junk.shift += 8 * 1021;
  if (check(checker, jobs, count) || count == 1) return;
  for (uint32_t i = 0; i < count; i++) check(checker, jobs + i, 1);
}

uint64_t weir__check_card_bytes(const weir_buffer *buffer) {
  return 2 * (buffer->bytes + 3 * WEIR__CHECK_GUARD);
}

void weir__check_free_card(weir_device *device, weir__check_bench *bench) {
  weir__check_free_host_memory(device, bench->pinned);
  if (bench->junk != NULL) weir__buffer_release(bench->junk);
  if (bench->more != NULL) weir__buffer_release(bench->more);
  if (bench->suspicious != NULL) weir__buffer_release(bench->suspicious);
}

void weir__check_use_cards(weir_device *device, weir_kernel *const kernels[WEIR__CARD_KERNELS]) {
  static const char *const names[WEIR__CARD_KERNELS] = {"weir__check_prepare", "weir__check_compare",
                                                        "weir__check_commit"};
  weir__checker *checker = (weir__checker *)device;
  weir_context *context = weir__context_of(device->host);
  weir_status (*code)(weir_kernel *, const char *) = NULL;
  for (uint32_t i = 0; i < device->host->device_count; i++) {
    const weir_device *card = device->host->devices[i];
    if (card->ops->check_code == NULL) continue;
    for (int k = 0; code == NULL && k < WEIR__CARD_KERNELS; k++) {
      if (card->ops->check_code(kernels[k], names[k]) == WEIR_OK) continue;
      fprintf(stderr, "weir: check mode: on %s the host fills and compares copies, which takes long: %s\n", card->name,
              weir_last_error());
      return;
    }
    code = card->ops->check_code;
    context->devices.checked_on_card |= (uint64_t)1 << i;
  }
  for (int k = 0; k < WEIR__CARD_KERNELS; k++) checker->kernels[k] = kernels[k];
}
