// SPDX-License-Identifier: Apache-2.0
//
// A visit is what one epoch of a queue does with a resource. Visits of a resource in one submission are a list; those
// that only read are then combined, from the last to the first, and what is left of them are the transitions.
#include "plan/barriers_states.h"

#include <stdlib.h>

#include "base/allocate.h"
#include "base/error.h"

#define NO_VISIT SIZE_MAX

typedef struct span {
  uint64_t lo, hi; // lo >= hi: no byte
} span;

typedef struct resource_visit {
  uint32_t resource, state;
  size_t opened;     // the BARRIER that opened the epoch; of the first epoch of a submission the first use
  size_t previous;   // of the same submission, or NO_VISIT
  size_t transition; // its own, or that of the visit before which serves it too
  bool combined;     // part of the visit before
  span used, written;
} resource_visit;

// A queue while its steps are read.
typedef struct queue_epoch {
  size_t submission; // the first visit of a submission is not before this one
  size_t first;      // likewise of the epoch
  size_t barrier;    // that opened the epoch; NO_VISIT: none
} queue_epoch;

typedef struct state_finder {
  const weir__barrier_plan *plan;
  const weir__barrier_uses *uses;
  resource_visit *visits;
  size_t count;
  size_t *latest; // per queue and resource: the last visit
  queue_epoch *queues;
} state_finder;

const char *weir__barrier_state_name(uint32_t state) {
  static const char *const names[16] = {
      "UNDEFINED",
      "COPY_SOURCE",
      "COPY_DESTINATION",
      "COPY_SOURCE|COPY_DESTINATION",
      "SHADER_READ",
      "COPY_SOURCE|SHADER_READ",
      "COPY_DESTINATION|SHADER_READ",
      "COPY_SOURCE|COPY_DESTINATION|SHADER_READ",
      "SHADER_WRITE",
      "COPY_SOURCE|SHADER_WRITE",
      "COPY_DESTINATION|SHADER_WRITE",
      "COPY_SOURCE|COPY_DESTINATION|SHADER_WRITE",
      "SHADER_READ|SHADER_WRITE",
      "COPY_SOURCE|SHADER_READ|SHADER_WRITE",
      "COPY_DESTINATION|SHADER_READ|SHADER_WRITE",
      "COPY_SOURCE|COPY_DESTINATION|SHADER_READ|SHADER_WRITE",
  };
  return names[state & 15];
}

bool weir__barrier_state_is_mixed(uint32_t state) {
  if (state & WEIR__STATE_COPY_DESTINATION) return state != WEIR__STATE_COPY_DESTINATION;
  return state & WEIR__STATE_SHADER_WRITE && state & WEIR__STATE_COPY_SOURCE;
}

void weir__barrier_transitions_free(weir__barrier_transitions *transitions) {
  weir__free(transitions->items);
  *transitions = (weir__barrier_transitions){0};
}

static void widen(span *all, span more) {
  if (more.lo >= more.hi) return;
  if (all->lo >= all->hi) {
    *all = more;
    return;
  }
  if (more.lo < all->lo) all->lo = more.lo;
  if (more.hi > all->hi) all->hi = more.hi;
}

static bool overlap(span a, span b) {
  return a.lo < b.hi && b.lo < a.hi && a.lo < a.hi && b.lo < b.hi;
}

// The visit of a queue's epoch to a resource, a new one if this is its first use in the epoch.
static resource_visit *find_visit(state_finder *finder, size_t step, uint32_t queue, uint32_t resource) {
  const queue_epoch *epoch = &finder->queues[queue];
  size_t *latest = &finder->latest[(size_t)queue * finder->uses->resource_count + resource];
  if (*latest != NO_VISIT && *latest >= epoch->first) return &finder->visits[*latest];
  bool again = *latest != NO_VISIT && *latest >= epoch->submission;
  finder->visits[finder->count] = (resource_visit){
      .resource = resource, .opened = again ? epoch->barrier : step, .previous = again ? *latest : NO_VISIT};
  *latest = finder->count;
  return &finder->visits[finder->count++];
}

static void read_dispatch(state_finder *finder, size_t step) {
  const weir__barrier_step *dispatch = &finder->plan->steps[step];
  const weir__barrier_uses *uses = finder->uses;
  for (uint64_t u = uses->first[dispatch->task]; u < uses->first[dispatch->task + 1]; u++) {
    const weir__barrier_use *use = &uses->items[u];
    resource_visit *visit = find_visit(finder, step, dispatch->queue, use->resource);
    span bytes = {use->lo, use->hi};
    visit->state |= use->state;
    if (visit->state & WEIR__STATE_SHADER_WRITE) visit->state &= ~(uint32_t)WEIR__STATE_SHADER_READ;
    widen(&visit->used, bytes);
    if (use->state & WEIR__STATE_WRITES) widen(&visit->written, bytes);
  }
}

static void read_steps(state_finder *finder) {
  for (size_t i = 0; i < finder->plan->step_count; i++) {
    const weir__barrier_step *step = &finder->plan->steps[i];
    queue_epoch *epoch = &finder->queues[step->queue];
    if (step->kind == WEIR__BARRIER_DISPATCH)
      read_dispatch(finder, i);
    else if (step->kind == WEIR__BARRIER_BARRIER)
      *epoch = (queue_epoch){epoch->submission, finder->count, i};
    else
      *epoch = (queue_epoch){finder->count, finder->count, NO_VISIT};
  }
}

static void combine_reads(state_finder *finder) {
  for (size_t i = finder->count; i > 0; i--) {
    resource_visit *later = &finder->visits[i - 1];
    if (later->previous == NO_VISIT || later->state & WEIR__STATE_WRITES) continue;
    resource_visit *earlier = &finder->visits[later->previous];
    if (earlier->state & WEIR__STATE_WRITES) continue;
    earlier->state |= later->state;
    widen(&earlier->used, later->used);
    later->combined = true;
  }
}

// Puts down the transition that a visit needs, if it does, or adds its bytes to the transition before. Visits come in
// order; afterwards `previous` of each is one that is not combined, and `used` and `written` hold all since the last
// transition.
static void add_transition(state_finder *finder, resource_visit *now, weir__barrier_transitions *found) {
  uint32_t before = WEIR__STATE_UNDEFINED;
  if (now->previous != NO_VISIT) {
    const resource_visit *previous = &finder->visits[now->previous];
    if (previous->combined) now->previous = previous->previous;
    if (now->combined) return;
    previous = &finder->visits[now->previous];
    before = previous->state;
    bool again = overlap(now->written, previous->used) || overlap(now->used, previous->written);
    if (before == now->state && !again) {
      widen(&now->used, previous->used);
      widen(&now->written, previous->written);
      now->transition = previous->transition;
      found->items[now->transition].lo = now->used.lo;
      found->items[now->transition].hi = now->used.hi;
      return;
    }
  }
  now->transition = found->count;
  found->mixed += weir__barrier_state_is_mixed(now->state);
  found->items[found->count++] =
      (weir__barrier_transition){now->opened, now->resource, before, now->state, now->used.lo, now->used.hi};
}

static int compare_transitions(const void *left, const void *right) {
  const weir__barrier_transition *a = left, *b = right;
  if (a->step != b->step) return a->step < b->step ? -1 : 1;
  return (a->resource > b->resource) - (a->resource < b->resource);
}

static weir_status check_uses(const weir__barrier_plan *plan, const weir__barrier_uses *uses) {
  for (uint32_t t = 0; t < plan->task_count; t++) {
    for (uint64_t u = uses->first[t]; u < uses->first[t + 1]; u++) {
      const weir__barrier_use *use = &uses->items[u];
      if (use->resource < uses->resource_count && use->state > 0 && use->state < 16 && use->lo < use->hi) continue;
      return weir__error(WEIR_ERROR_INVALID_ARGUMENT,
                         "task %u uses bytes [%llu, %llu) of resource %u of %u in state %u, which cannot be", t,
                         (unsigned long long)use->lo, (unsigned long long)use->hi, use->resource, uses->resource_count,
                         use->state);
    }
  }
  return WEIR_OK;
}

weir_status weir__barrier_find_transitions(const weir__barrier_plan *plan, const weir__barrier_uses *uses,
                                           weir__barrier_transitions *out_transitions) {
  *out_transitions = (weir__barrier_transitions){0};
  weir_status status = check_uses(plan, uses);
  if (status != WEIR_OK) return status;
  size_t most = (size_t)uses->first[plan->task_count], cells = (size_t)plan->queue_count * uses->resource_count;
  state_finder finder = {.plan = plan, .uses = uses};
  finder.visits = weir__allocate((most + 1) * sizeof *finder.visits);
  finder.latest = weir__allocate((cells + 1) * sizeof *finder.latest);
  finder.queues = weir__allocate((plan->queue_count + 1) * sizeof *finder.queues);
  weir__barrier_transitions found = {.items = weir__allocate((most + 1) * sizeof *found.items)};
  if (finder.visits && finder.latest && finder.queues && found.items) {
    for (size_t i = 0; i < cells; i++) finder.latest[i] = NO_VISIT;
    for (uint32_t q = 0; q < plan->queue_count; q++) finder.queues[q] = (queue_epoch){0, 0, NO_VISIT};
    read_steps(&finder);
    combine_reads(&finder);
    for (size_t i = 0; i < finder.count; i++) add_transition(&finder, &finder.visits[i], &found);
    qsort(found.items, found.count, sizeof *found.items, compare_transitions);
    *out_transitions = found;
  } else {
    weir__barrier_transitions_free(&found);
    status = weir__error(WEIR_ERROR_OUT_OF_MEMORY, "no memory for the states of %u resources", uses->resource_count);
  }
  weir__free(finder.visits);
  weir__free(finder.latest);
  weir__free(finder.queues);
  return status;
}
