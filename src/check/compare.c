// SPDX-License-Identifier: Apache-2.0
//
// What the arenas tell after a task ran in them.
#include <string.h>

#include "check/checker.h"

enum { LEFT_OVER_BYTES = 8, FEWEST_BYTES = 4 }; // a shorter run may be there by chance; so may all of a shorter range

static const weir__junk_choice FIRST = {.variant = 0}, SECOND = {.variant = 1};

static uint64_t length(const weir__region *region) {
  return (uint64_t)(region->hi - region->lo);
}

// A transfer of later bytes may write to memory that the caller wrapped, beside what the task declared.
static bool others_write(const weir__check_job *job, const weir_buffer *buffer) {
  weir__context_lock(job->context);
  bool others = buffer->replicas[WEIR__HOST_SPACE].arrival >= job->oldest;
  weir__context_unlock(job->context);
  return others;
}

static void report_changed(weir__check_job *job, const weir__region *region, weir__range range) {
  const weir__check_arg *arg = &job->args[region->arg];
  long long lo = region->lo + (long long)range.lo, hi = region->lo + (long long)range.hi;
  uint64_t bytes = job->slots[region->slot].buffer->bytes;
  if (region->kind == WEIR__REGION_READ) {
    weir__check_report(job, region, "bytes [%lld, %lld) were changed: declare weir_updates for them", lo, hi);
  } else if (region->kind == WEIR__REGION_GUARD) {
    weir__check_report(job, region,
                       "bytes [%lld, %lld) were changed, %s the buffer's %llu bytes: make it larger, or stop there", lo,
                       hi, lo < 0 ? "in front of" : "behind", (unsigned long long)bytes);
  } else if (arg->box != NULL) {
    weir__check_report(job, region, "bytes [%lld, %lld) outside of the box were changed: declare them as written", lo,
                       hi);
  } else {
    long long from = lo < (long long)arg->lo ? lo : (long long)arg->lo;
    long long to = hi > (long long)arg->hi ? hi : (long long)arg->hi;
    weir__check_report(job, region,
                       "bytes [%lld, %lld) outside were changed: declare the range [%lld, %lld) as written", lo, hi,
                       from, to);
  }
}

void weir__check_changed(weir__checker *checker, weir__check_job *job, const weir__check_arena *arena,
                         weir__junk_choice choice) {
  for (uint32_t i = 0; i < job->region_count; i++) {
    const weir__region *region = &job->regions[i];
    const weir__check_slot *slot = &job->slots[region->slot];
    if (weir__region_is_output(region)) continue;
    const unsigned char *memory = weir__region_memory(job, region, arena);
    weir__range changed;
    if (slot->in_place)
      changed = weir__bytes_changed(memory, arena->memory + slot->at + region->lo, length(region));
    else if (region->kind == WEIR__REGION_READ)
      changed = weir__bytes_changed(memory, slot->memory + region->lo, length(region));
    else
      changed =
          weir__junk_changed(&checker->junk, choice.variant, weir__region_at(job, region), memory, length(region));
    if (changed.hi == 0) continue;
    if (slot->in_place && region->kind == WEIR__REGION_OUTSIDE && others_write(job, slot->buffer)) continue;
    report_changed(job, region, changed);
  }
}

// What a written range holds: stretches that still have junk, and bytes that have something else.
typedef struct leftover {
  weir__range left;  // from the first stretch to the end of the last one
  weir__range other; // from the first to the last byte that is overwritten
  bool depends;      // a byte that differs from run to run without being junk
} leftover;

static void end_of_run(leftover *found, uint64_t run, uint64_t end, uint64_t shortest) {
  if (run < shortest) return;
  if (found->left.hi == 0) found->left.lo = end - run;
  found->left.hi = end;
}

// `second` is NULL where there was one run. A stretch counts if it has `shortest` bytes.
static leftover scan(const weir__checker *checker, const weir__check_job *job, const weir__region *region,
                     const unsigned char *first, const unsigned char *second, uint64_t shortest) {
  leftover found = {.depends = false};
  uint64_t at = weir__region_at(job, region), bytes = length(region), run = 0;
  for (uint64_t i = 0; i < bytes; i++) {
    bool is_junk = first[i] == weir__junk_byte(&checker->junk, 0, at + i) &&
                   (second == NULL || second[i] == weir__junk_byte(&checker->junk, 1, at + i));
    if (is_junk) {
      run++;
      continue;
    }
    end_of_run(&found, run, i, shortest);
    run = 0;
    if (found.other.hi == 0) found.other.lo = i;
    found.other.hi = i + 1;
    if (second != NULL && first[i] != second[i]) found.depends = true;
  }
  end_of_run(&found, run, bytes, shortest);
  return found;
}

static void report_leftover(weir__check_job *job, const weir__region *region, const leftover *found) {
  unsigned long long base = (unsigned long long)region->lo, lo = base + found->left.lo, hi = base + found->left.hi;
  weir__range other = found->other;
  bool at_an_end = other.hi != 0 && (found->left.hi <= other.lo || found->left.lo >= other.hi);
  if (at_an_end)
    weir__check_report(
        job, region,
        "bytes [%llu, %llu) were not overwritten: declare the range [%llu, %llu) as written, or weir_updates", lo, hi,
        base + other.lo, base + other.hi);
  else
    weir__check_report(job, region, "bytes [%llu, %llu) were not%s overwritten: declare weir_updates", lo, hi,
                       other.hi == 0 ? "" : " all");
}

void weir__check_left_over(weir__checker *checker, weir__check_job *job, const weir__check_arena *arena,
                           weir__junk_choice choice) {
  (void)choice;
  for (uint32_t i = 0; i < job->region_count; i++) {
    const weir__region *region = &job->regions[i];
    uint64_t bytes = length(region);
    if (region->kind != WEIR__REGION_WRITE || bytes < FEWEST_BYTES) continue;
    uint64_t shortest = bytes < LEFT_OVER_BYTES ? bytes : LEFT_OVER_BYTES;
    leftover found = scan(checker, job, region, weir__region_memory(job, region, arena), NULL, shortest);
    if (found.left.hi != 0) report_leftover(job, region, &found);
  }
}

void weir__check_compare(weir__checker *checker, weir__check_job *job, weir__check_arena *first,
                         weir__check_arena *second) {
  for (uint32_t i = 0; i < job->region_count; i++) {
    const weir__region *region = &job->regions[i];
    if (region->kind != WEIR__REGION_WRITE) continue;
    const unsigned char *a = weir__region_memory(job, region, first), *b = weir__region_memory(job, region, second);
    if (memcmp(a, b, length(region)) == 0) continue; // junk would differ
    leftover found = scan(checker, job, region, a, b, 1);
    if (found.left.hi != 0 && !found.depends) report_leftover(job, region, &found);
  }
  if (weir__check_differs(checker, job, first, FIRST, second, SECOND)) weir__check_find_cause(checker, job, first);
}

static unsigned char chosen_byte(const weir__checker *checker, weir__junk_choice choice, uint64_t at) {
  bool other = at >= choice.lo && at < choice.hi;
  return weir__junk_byte(&checker->junk, other ? 1 - choice.variant : choice.variant, at);
}

bool weir__check_differs(const weir__checker *checker, const weir__check_job *job, const weir__check_arena *first,
                         weir__junk_choice first_choice, const weir__check_arena *second,
                         weir__junk_choice second_choice) {
  for (uint32_t i = 0; i < job->region_count; i++) {
    const weir__region *region = &job->regions[i];
    if (!weir__region_is_output(region)) continue;
    const unsigned char *a = weir__region_memory(job, region, first), *b = weir__region_memory(job, region, second);
    if (memcmp(a, b, length(region)) == 0) continue;
    if (!weir__region_is_junk(region)) return true;
    uint64_t at = weir__region_at(job, region), bytes = length(region);
    for (uint64_t j = 0; j < bytes; j++) {
      if (a[j] != b[j] &&
          !(a[j] == chosen_byte(checker, first_choice, at + j) && b[j] == chosen_byte(checker, second_choice, at + j)))
        return true;
    }
  }
  return false;
}
