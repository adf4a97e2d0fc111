// SPDX-License-Identifier: Apache-2.0
//
// The policy that picks: it estimates what each way would take, from the speeds measured, how well they were foreseen, and what a
// part costs; and it keeps to what launches took that went this way, where the estimate was wrong.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "split/policy.h"
#include "split/rates.h"

// ALONE + i: all to device i.
enum { GUIDED = 0, ONE_PART = 1, QUEUE = 2, ALONE = 3 };

typedef struct plan {
  uint32_t way;
  uint32_t count;                                               // of ways
  uint32_t in;                                                  // devices that are not out
  bool known;                                                   // all devices were measured
  bool measured;                                                // what launches took decides, not the estimate
  bool far;                                                     // a device has memory of its own
  double spread;                                                // by how much speeds are off from what was foreseen
  double fraction;                                              // of guided parts
  double model[WEIR_SPLIT_MOST_WAYS], ns[WEIR_SPLIT_MOST_WAYS]; // that a launch takes: estimated, and as measured
} plan;

// What parts cost that the estimate knows nothing of: a launch on one device may be faster by so much than its parts were.
static const double HIDDEN_NS = 10e6;

// An estimate counts unless another way was measured to be better by more than this. Where speeds change, ways to cut are measured
// at times that are not alike; one device alone is known better, and so is how well small parts hide the moving of bytes.
static const double TRUST_CUT = 0.7, TRUST_ALONE = 0.95, TRUST_QUEUE = 0.95;

static double trust(uint32_t way, uint32_t other) {
  if (way >= ALONE || other >= ALONE) return TRUST_ALONE;
  return way == QUEUE || other == QUEUE ? TRUST_QUEUE : TRUST_CUT;
}

// The part of the time that may go into measuring ways again.
static const double LOOK_AGAIN = 0.002;

enum { FIRST_TRIAL = 2, LAST_TRIAL = 8, TRIALS = 2 };

// The median of what was measured; of two, the lesser.
static double measured_ns(const weir_split_way *way) {
  if (way->count < 3) return way->count < 2 ? way->ns[0] : fmin(way->ns[0], way->ns[1]);
  double a = way->ns[0], b = way->ns[1], c = way->ns[2];
  return fmax(fmin(a, b), fmin(fmax(a, b), c));
}

// Estimates from the speeds. Speeds that are off by the spread keep one device that much longer; guided parts get half of that
// right each time, until it is worth no more than the cost of a part.
static void estimate(const weir_split_view *view, plan *choice) {
  double all = 0;
  choice->known = true;
  for (uint32_t i = 0; i < view->device_count; i++) {
    const weir_split_state *state = &view->devices[i];
    double rate = weir__split_rate(view, i), spread = weir__split_spread(view, i);
    choice->model[ALONE + i] = INFINITY;
    if (state->out) continue;
    if (spread < 0) spread = 0.2;
    if (rate > 0) choice->model[ALONE + i] = (double)(view->total + state->backlog) / rate;
    choice->known &= rate > 0;
    choice->far |= state->far;
    choice->spread = fmax(choice->spread, spread);
    all += rate;
  }
  double ns = (double)view->total / all, cost = (double)view->cost_ns, off = choice->spread * ns;
  double parts = 2 + (off > cost && cost > 0 ? log2(off / cost) : 0);
  bool steady = off <= parts * cost || off <= 0.01 * ns;
  choice->model[ONE_PART] = ns + cost + (steady ? fmin(off, ns) : off);
  choice->model[GUIDED] = view->ahead ? INFINITY
                          : steady    ? fmax(choice->model[ONE_PART], ns + (1 + parts) * cost)
                                      : ns + (1 + parts) * cost;
  // Many small parts are of use where bytes are moved meanwhile, which only measuring tells.
  choice->model[QUEUE] =
      choice->far && !view->ahead ? 1.1 * fmax(choice->model[ONE_PART], choice->model[GUIDED]) : INFINITY;
  choice->fraction = fmin(fmax(1 - 2 * choice->spread, 0.5), 0.9);
}

static uint32_t least(const plan *choice, const double *ns) {
  uint32_t best = ONE_PART;
  for (uint32_t way = 0; way < choice->count; way++) {
    if (ns[way] < ns[best]) best = way;
  }
  return best;
}

static bool few_rounds(const weir_split_view *view) {
  uint32_t most = 0;
  for (uint32_t i = 0; i < view->device_count; i++)
    most = view->devices[i].round_count > most ? view->devices[i].round_count : most;
  return most < LAST_TRIAL;
}

// A way whose turn it is to be measured; `way` if there is none.
static uint32_t look(const weir_split_view *view, const plan *choice, uint32_t way) {
  double best = choice->ns[way];
  uint32_t measured = 0;
  for (uint32_t i = 0; i < choice->count; i++) measured += view->ways[i].count;
  bool trials = measured >= FIRST_TRIAL && (measured < LAST_TRIAL || few_rounds(view));
  for (uint32_t other = 0; other < choice->count; other++) {
    const weir_split_way *known = &view->ways[other];
    if (other == way || !isfinite(choice->model[other])) continue;
    if (trials && other >= QUEUE && known->count < TRIALS && choice->model[other] - HIDDEN_NS < best) return other;
    double since = (double)(view->launch - known->last);
    if (known->count > 0 && since * LOOK_AGAIN * best > choice->ns[other] - best && since * LOOK_AGAIN > 0.1)
      return other;
  }
  return way;
}

static plan choose(const weir_split_view *view) {
  plan choice = {.way = view->ahead ? ONE_PART : GUIDED, .fraction = 0.5, .count = ALONE + view->device_count};
  uint32_t only = 0;
  for (uint32_t i = 0; i < view->device_count; i++) {
    if (view->devices[i].out) continue;
    choice.in++;
    only = i;
  }
  if (choice.in <= 1) {
    choice.way = ALONE + only;
    return choice;
  }
  estimate(view, &choice);
  if (!choice.known) return choice;
  choice.way = least(&choice, choice.model);
  if (view->ways == NULL) return choice;
  for (uint32_t way = 0; way < choice.count; way++) {
    const weir_split_way *known = &view->ways[way];
    double ns = measured_ns(known) * (double)view->total;
    if (way >= ALONE) ns += measured_ns(known) * (double)view->devices[way - ALONE].backlog;
    bool out = !isfinite(choice.model[way]);
    choice.ns[way] = known->count == 0 || out ? choice.model[way]
                     : known->count == 1      ? fmin(ns, choice.model[way])
                                              : ns;
  }
  uint32_t best = least(&choice, choice.ns);
  choice.measured = choice.ns[best] < trust(best, choice.way) * choice.ns[choice.way];
  if (choice.measured) choice.way = best;
  choice.way = look(view, &choice, choice.way);
  return choice;
}

static uint32_t auto_way(void *user, const weir_split_view *view) {
  (void)user;
  return choose(view).way;
}

static uint64_t auto_next(void *user, const weir_split_view *view, uint32_t device) {
  (void)user;
  if (view->way == ONE_PART || (view->way == GUIDED && view->ahead))
    return weir__split_history.next(NULL, view, device);
  if (view->way >= ALONE && !view->devices[view->way - ALONE].out) return device == view->way - ALONE ? view->left : 0;
  if (view->way == QUEUE) return weir__split_queue.next(NULL, view, device);
  plan choice = {0};
  estimate(view, &choice);
  return weir__split_guided_next(view, device, choice.known ? choice.fraction : 0.5);
}

static void auto_why(void *user, const weir_split_view *view, char *out_text, size_t size) {
  (void)user;
  plan choice = choose(view);
  if (choice.in <= 1) {
    snprintf(out_text, size, "one device: there is no other");
  } else if (!choice.known) {
    snprintf(out_text, size, "%s: not all devices were measured yet", view->ahead ? "history" : "guided");
  } else if (choice.way >= ALONE) {
    snprintf(out_text, size, "frames: all to device %u, which %s", choice.way - ALONE,
             choice.measured ? "was faster alone" : "should be as fast alone as with the others");
  } else if (choice.way == QUEUE) {
    snprintf(out_text, size, "queue: small parts%s, as bytes are moved meanwhile",
             choice.measured ? " were faster" : "");
  } else {
    snprintf(out_text, size, "%s: speeds were %s %.1f %%%s", choice.way == ONE_PART ? "history" : "guided",
             choice.way == ONE_PART ? "foreseen to" : "off from what was foreseen by", 100 * choice.spread,
             choice.measured ? ", and it was faster" : "");
  }
}

const weir_split_policy weir__split_auto = {.name = "auto", .next = auto_next, .way = auto_way, .why = auto_why};

const weir_split_policy *weir_split_find_policy(const char *name) {
  static const weir_split_policy *const all[] = {&weir__split_static, &weir__split_history, &weir__split_queue,
                                                 &weir__split_guided, &weir__split_frames,  &weir__split_auto};
  for (size_t i = 0; name != NULL && i < sizeof all / sizeof all[0]; i++) {
    if (strcmp(all[i]->name, name) == 0) return all[i];
  }
  return NULL;
}
