// SPDX-License-Identifier: Apache-2.0
//
// A kernel gave other results with other junk. Which junk it looked at is found by further runs, in each of which other bytes
// have the second variant.
#include <stdio.h>

#include "check/checker.h"

enum { MOST_CAUSES = 4, WORD = 4 };

typedef struct search {
  weir__checker *checker;
  weir__check_job *job;
  const weir__check_arena *first; // the results with the first variant everywhere
  weir__check_arena *arena;
  bool failed; // a run did not end well
} search;

// Whether the results change with bytes [lo, hi) of the arena.
static bool matters(search *looks, uint64_t lo, uint64_t hi) {
  static const weir__junk_choice plain = {.variant = 0};
  weir__junk_choice choice = {.variant = 0, .lo = lo, .hi = hi};
  if (looks->failed) return false;
  looks->failed = weir__check_run(looks->checker, looks->job, looks->arena, choice) != WEIR_OK;
  return !looks->failed && weir__check_differs(looks->checker, looks->job, looks->first, plain, looks->arena, choice);
}

// The first and the last byte of [lo, hi), which matters, without which it does not.
static weir__range narrow(search *looks, uint64_t lo, uint64_t hi) {
  uint64_t good = lo, end = hi;
  while (end - good > 1) {
    uint64_t middle = good + (end - good) / 2;
    if (matters(looks, lo, middle))
      end = middle;
    else
      good = middle;
  }
  uint64_t first = end - 1, begin = first;
  good = hi;
  while (good - begin > 1) {
    uint64_t middle = begin + (good - begin) / 2;
    if (matters(looks, middle, hi))
      begin = middle;
    else
      good = middle;
  }
  return (weir__range){.lo = first, .hi = begin + 1};
}

static void report(weir__check_job *job, const weir__region *region, weir__range found) {
  int64_t base = (int64_t)job->slots[region->slot].at;
  long long lo = (long long)((int64_t)found.lo - base), hi = (long long)((int64_t)found.hi - base);
  const weir__check_arg *arg = &job->args[region->arg];
  long long from = lo < (long long)arg->lo ? lo : (long long)arg->lo;
  long long to = hi > (long long)arg->hi ? hi : (long long)arg->hi;
  switch (region->kind) {
  case WEIR__REGION_WRITE:
    weir__check_report(job, region, "the result depends on what bytes [%lld, %lld) were before: declare weir_updates",
                       lo, hi);
    break;
  case WEIR__REGION_UNWRITTEN:
    weir__check_report(job, region, "it reads bytes [%lld, %lld), which no task wrote: write them first", lo, hi);
    break;
  case WEIR__REGION_OUTSIDE:
    if (arg->box != NULL) {
      weir__check_report(job, region,
                         "the result depends on bytes [%lld, %lld) outside of the box: declare them as read", lo, hi);
      break;
    }
    weir__check_report(job, region,
                       "the result depends on bytes [%lld, %lld) outside: declare the range [%lld, %lld) as %s", lo, hi,
                       from, to, arg->mode == WEIR_READ ? "read" : "read, or as updated");
    break;
  default:
    weir__check_report(job, region, "the result depends on bytes [%lld, %lld), %s the buffer's %llu bytes: stop there",
                       lo, hi, lo < 0 ? "in front of" : "behind",
                       (unsigned long long)job->slots[region->slot].buffer->bytes);
  }
}

static void warn_unsteady(weir__checker *checker, const weir__check_job *job) {
  if (checker->warned_unsteady) return;
  checker->warned_unsteady = true;
  char who[WEIR__CHECK_NAME_BYTES];
  weir__check_name_job(job, who);
  fprintf(
      stderr,
      "weir: check: %s: its results differ from run to run, so it cannot be checked whether they depend on bytes that "
      "are not declared as read (said once)\n",
      who);
}

void weir__check_find_cause(weir__checker *checker, weir__check_job *job, weir__check_arena *first) {
  search looks = {.checker = checker, .job = job, .first = first};
  looks.arena = weir__check_arena_of(checker, job, 2);
  if (looks.arena == NULL) return;
  if (matters(&looks, 0, 0)) {
    warn_unsteady(checker, job);
    return;
  }
  uint32_t causes = 0;
  const weir__region *somewhere = NULL;
  for (uint32_t i = 0; i < job->region_count && causes < MOST_CAUSES && !looks.failed; i++) {
    const weir__region *region = &job->regions[i];
    if (somewhere == NULL && weir__region_is_output(region)) somewhere = region;
    if (!weir__region_is_junk(region)) continue;
    uint64_t lo = weir__region_at(job, region), hi = lo + (uint64_t)(region->hi - region->lo);
    if (!matters(&looks, lo, hi)) continue;
    weir__range found = narrow(&looks, lo, hi);
    if (looks.failed) break;
    // A byte that was only passed on looks like one that was left alone: whole words.
    found.lo = found.lo / WORD * WORD > lo ? found.lo / WORD * WORD : lo;
    found.hi = (found.hi + WORD - 1) / WORD * WORD < hi ? (found.hi + WORD - 1) / WORD * WORD : hi;
    report(job, region, found);
    causes++;
  }
  if (causes == 0 && !looks.failed && somewhere != NULL)
    weir__check_report(job, somewhere,
                       "the result depends on bytes that are not declared as read: declare all that it reads");
}
