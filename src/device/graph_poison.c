// SPDX-License-Identifier: Apache-2.0
#include "device/graph_poison.h"

#include <string.h>

enum { HEALTHY, POISONED, MIXED };

// A place: intervals [first, end) of a buffer. The left half, with n / 2 intervals of n, stands behind it with its
// 2 * (n / 2) - 1 places, and then the right half.
typedef struct place {
  uint8_t *state;
  uint32_t first, end;
} place;

typedef struct range {
  uint32_t first, end;
} range;

static inline place left_half(place at) {
  return (place){at.state + 1, at.first, at.first + (at.end - at.first) / 2};
}

static inline place right_half(place at) {
  uint32_t half = (at.end - at.first) / 2;
  return (place){at.state + 2 * (size_t)half, at.first + half, at.end};
}

// A buffer with n cuts has n - 1 intervals and 2 * n - 3 places.
static size_t first_place(const weir__graph_plan *plan, uint32_t buffer) {
  return 2 * (size_t)plan->first_cuts[buffer] - 3 * (size_t)buffer;
}

static place root_of(const weir__graph_run *run, uint32_t buffer) {
  const weir__graph_plan *plan = run->plan;
  return (place){run->poison + first_place(plan, buffer), 0,
                 plan->first_cuts[buffer + 1] - plan->first_cuts[buffer] - 1};
}

size_t weir__graph_poison_bytes(const weir__graph_plan *plan) {
  return first_place(plan, plan->buffer_count);
}

void weir__graph_poison_clear(weir__graph_run *run) {
  memset(run->poison, HEALTHY, weir__graph_poison_bytes(run->plan));
}

// The intervals that have some of the bytes.
static range intervals_of(const weir__graph_plan *plan, uint32_t buffer, uint64_t lo, uint64_t hi) {
  const uint64_t *cuts = plan->cuts + plan->first_cuts[buffer];
  uint32_t count = plan->first_cuts[buffer + 1] - plan->first_cuts[buffer];
  uint32_t first = weir__graph_find_cut(plan, buffer, lo), end = weir__graph_find_cut(plan, buffer, hi);
  if (first > 0 && (first == count || cuts[first] > lo)) first--;
  return (range){first, end < count ? end : count - 1};
}

static void set(place at, range by, uint8_t state) {
  if (by.first >= at.end || at.first >= by.end || *at.state == state) return;
  if (by.first <= at.first && at.end <= by.end) {
    *at.state = state;
    return;
  }
  place left = left_half(at), right = right_half(at);
  if (*at.state != MIXED) *left.state = *right.state = *at.state;
  set(left, by, state);
  set(right, by, state);
  *at.state = *left.state == *right.state ? *left.state : MIXED;
}

void weir__graph_poison_set(weir__graph_run *run, uint32_t buffer, uint64_t lo, uint64_t hi, bool poisoned) {
  set(root_of(run, buffer), intervals_of(run->plan, buffer, lo, hi), poisoned ? POISONED : HEALTHY);
}

static bool any(place at, range by) {
  if (by.first >= at.end || at.first >= by.end || *at.state == HEALTHY) return false;
  if (*at.state == POISONED || (by.first <= at.first && at.end <= by.end)) return true;
  return any(left_half(at), by) || any(right_half(at), by);
}

bool weir__graph_poison_any(const weir__graph_run *run, uint32_t buffer, uint64_t lo, uint64_t hi) {
  return any(root_of(run, buffer), intervals_of(run->plan, buffer, lo, hi));
}

// Poisoned stretches are joined before they are visited.
typedef struct visitor {
  const uint64_t *cuts;
  uint64_t lo, hi; // all that is visited
  uint64_t from, to;
  weir__graph_poison_visit visit;
  void *user;
} visitor;

static void flush(const visitor *v) {
  if (v->from < v->to) v->visit(v->user, v->from, v->to);
}

static void each(visitor *v, place at, range by) {
  if (by.first >= at.end || at.first >= by.end || *at.state == HEALTHY) return;
  if (*at.state == MIXED) {
    each(v, left_half(at), by);
    each(v, right_half(at), by);
    return;
  }
  uint64_t lo = v->cuts[at.first] > v->lo ? v->cuts[at.first] : v->lo;
  uint64_t hi = v->cuts[at.end] < v->hi ? v->cuts[at.end] : v->hi;
  if (lo != v->to) {
    flush(v);
    v->from = lo;
  }
  v->to = hi;
}

void weir__graph_poison_each(const weir__graph_run *run, uint32_t buffer, uint64_t lo, uint64_t hi,
                             weir__graph_poison_visit visit, void *user) {
  visitor v = {
      .cuts = run->plan->cuts + run->plan->first_cuts[buffer], .lo = lo, .hi = hi, .visit = visit, .user = user};
  each(&v, root_of(run, buffer), intervals_of(run->plan, buffer, lo, hi));
  flush(&v);
}

// The rows of an argument, as far as the plan knows them, are some whole intervals each.
static uint64_t row_count(const weir__graph_arg *arg) {
  return arg->by_rows ? weir__box_row_count(arg->box) : 1;
}

bool weir__graph_poison_in(const weir__graph_run *run, const weir__graph_arg *arg) {
  for (uint64_t i = 0, rows = row_count(arg); i < rows; i++) {
    uint64_t hi, lo = weir__box_row(arg->offset, arg->offset + arg->bytes, arg->by_rows ? arg->box : NULL, i, &hi);
    if (weir__graph_poison_any(run, arg->buffer, lo, hi)) return true;
  }
  return false;
}

void weir__graph_poison_set_written(weir__graph_run *run, uint32_t node, bool poisoned) {
  const weir__graph_node *its = &run->plan->nodes[node];
  for (uint32_t i = 0; i < its->arg_count; i++) {
    const weir__graph_arg *arg = &run->plan->args[its->first_arg + i];
    if (arg->mode == WEIR_VALUE || arg->mode == WEIR_READ) continue;
    if (!poisoned && arg->box != NULL && !arg->by_rows) continue; // it leaves some bytes as they were
    for (uint64_t j = 0, rows = row_count(arg); j < rows; j++) {
      uint64_t hi, lo = weir__box_row(arg->offset, arg->offset + arg->bytes, arg->by_rows ? arg->box : NULL, j, &hi);
      weir__graph_poison_set(run, arg->buffer, lo, hi, poisoned);
    }
  }
}
