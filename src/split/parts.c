// SPDX-License-Identifier: Apache-2.0
//
// Policies that hand out parts to whoever is free: of one size, and shrinking.
#include <stdio.h>

#include "split/policy.h"
#include "split/rates.h"

// Parts a device gets of a launch if all are equal and nothing is known; and of which a first look at a device is one.
enum { QUEUE_PIECES = 32, LOOK_PIECES = 24 };

// Of what a device does of a launch: smaller parts would gain less than they cost.
static const double LEAST_PART = 0.005;

static uint64_t at_least(uint64_t value, uint64_t least) {
  return value < least ? least : value;
}

static uint64_t even(const weir_split_view *view, uint32_t parts) {
  return at_least(view->total / ((uint64_t)parts * view->device_count), 1);
}

// What is known of a launch that is under way.
typedef struct progress {
  double rates[WEIR_SPLIT_MOST_DEVICES];   // 0: not known, or out
  double all;                              // rates together
  double pending[WEIR_SPLIT_MOST_DEVICES]; // units that the device has and has not done yet
  double unfinished;                       // units that nobody has done
} progress;

// How far a device is with what it has, which nobody tells. One that should be done with all of it is slower than it was.
static void guess(const weir_split_state *state, double *rate, double *pending) {
  double done = *rate * (double)state->running_ns;
  if (done > *pending && *pending > 0) *rate = *pending / (double)state->running_ns;
  *pending -= done < *pending ? done : *pending;
}

static progress progress_of(const weir_split_view *view) {
  progress now = {.unfinished = (double)view->left};
  for (uint32_t i = 0; i < view->device_count; i++) {
    const weir_split_state *state = &view->devices[i];
    if (state->out) continue;
    now.rates[i] = weir__split_rate_now(view, i);
    now.pending[i] = (double)weir__split_pending(state);
    if (now.rates[i] > 0) guess(state, &now.rates[i], &now.pending[i]);
    now.all += now.rates[i];
    // One that was never measured may be as fast as it could be, not having finished its first part yet.
    if (now.rates[i] <= 0 && state->running_ns > 0) now.all += now.pending[i] / (double)state->running_ns;
    now.unfinished += now.pending[i];
  }
  return now;
}

// Units that a device should finish from now on, if all went on at their speeds and ended together.
static double due(const progress *now, uint32_t device) {
  return now->unfinished * now->rates[device] / now->all;
}

// Whether a device, of known speed, should have a part now: it finishes it before the others could do all the rest, or would at
// least finish it first.
static bool is_worth(const weir_split_view *view, const progress *now, uint32_t device, uint64_t units) {
  double mine = now->pending[device] + (double)units;
  if (due(now, device) >= mine) return true;
  for (uint32_t i = 0; i < view->device_count; i++) {
    double theirs = now->pending[i] + (double)units;
    if (now->rates[i] > 0 && theirs / now->rates[i] < mine / now->rates[device]) return false;
  }
  return true;
}

// Self-scheduling by chunks (Kruskal and Weiss, "Allocating independent subtasks on parallel processors", 1985). The part is
// so large that the fastest device spends no more than view->overhead of its time on what a part costs. At the end, a part that
// would keep a slow device longer than the others need for the rest is left to them.
static uint64_t queue_part(const weir_split_view *view) {
  double fastest = 0;
  for (uint32_t i = 0; i < view->device_count; i++) {
    double rate = weir__split_rate(view, i);
    if (!view->devices[i].out && rate > fastest) fastest = rate;
  }
  uint64_t part = at_least(even(view, QUEUE_PIECES), view->least);
  return at_least(part, (uint64_t)((double)view->cost_ns * fastest / view->overhead));
}

static uint64_t queue_next(void *user, const weir_split_view *view, uint32_t device) {
  (void)user;
  progress now = progress_of(view);
  uint64_t part = queue_part(view);
  if (part > view->left) part = view->left;
  return now.rates[device] <= 0 || is_worth(view, &now, device, part) ? part : 0;
}

static void queue_why(void *user, const weir_split_view *view, char *out_text, size_t size) {
  (void)user;
  snprintf(out_text, size, "parts of %llu units of %llu, for whoever is free", (unsigned long long)queue_part(view),
           (unsigned long long)view->total);
}

const weir_split_policy weir__split_queue = {.name = "queue", .next = queue_next, .why = queue_why};

// The least part of a device: what handing it out costs takes no more than a third of its time, and it is worth its while.
static uint64_t least_part(const weir_split_view *view, const progress *now, uint32_t device) {
  uint64_t least = at_least(view->least, view->devices[device].grain);
  least = at_least(least, (uint64_t)(LEAST_PART * (double)view->total * now->rates[device] / now->all));
  return at_least(least, (uint64_t)(2 * (double)view->cost_ns * now->rates[device]));
}

// Factoring (Hummel, Schonberg and Flynn, 1992) with weights (Hummel, Schmidt, Uma and Wein, 1996; HGuided of Pérez, Bosque,
// Stafford and Beivide, 2016): a device gets `part` of what it would do of all that is not finished, if all went on at their
// speeds, less what it has already. A part that the device would finish later than the others all the rest is not given.
uint64_t weir__split_guided_next(const weir_split_view *view, uint32_t device, double fraction) {
  progress now = progress_of(view);
  if (now.rates[device] <= 0) // not known yet: a look at it
    return weir__split_pending(&view->devices[device]) > 0 ? 0 : at_least(even(view, LOOK_PIECES), view->least);
  uint64_t least = least_part(view, &now, device);
  if (least > view->left) least = view->left;
  double part = fraction * due(&now, device) - now.pending[device];
  if (part >= (double)least) return (uint64_t)part;
  return is_worth(view, &now, device, least) ? least : 0;
}

static uint64_t guided_next(void *user, const weir_split_view *view, uint32_t device) {
  (void)user;
  return weir__split_guided_next(view, device, 0.5);
}

static void guided_why(void *user, const weir_split_view *view, char *out_text, size_t size) {
  (void)user;
  (void)view;
  snprintf(out_text, size, "half of what is left each time, by the speeds measured");
}

const weir_split_policy weir__split_guided = {.name = "guided", .next = guided_next, .why = guided_why};

// Whole launches to the device that should finish first: list scheduling (Graham, 1966) with measured speeds.
uint32_t weir__split_frames_device(const weir_split_view *view) {
  uint32_t best = 0;
  double first = -1;
  for (uint32_t i = 0; i < view->device_count; i++) {
    const weir_split_state *state = &view->devices[i];
    double rate = weir__split_rate(view, i);
    if (state->out) continue;
    // Devices that were not measured come first, in turn.
    double end = rate > 0 ? (double)(state->backlog + view->total) / rate : (double)state->backlog * 1e-9;
    if (first < 0 || end < first) {
      first = end;
      best = i;
    }
  }
  return best;
}

static uint64_t frames_next(void *user, const weir_split_view *view, uint32_t device) {
  (void)user;
  return weir__split_frames_device(view) == device ? view->left : 0;
}

static void frames_why(void *user, const weir_split_view *view, char *out_text, size_t size) {
  (void)user;
  snprintf(out_text, size, "all to device %u, which should finish it first", weir__split_frames_device(view));
}

const weir_split_policy weir__split_frames = {.name = "frames", .next = frames_next, .why = frames_why};
