// SPDX-License-Identifier: Apache-2.0
//
// The policy that picks: it estimates what each way would lose, from the speeds measured, how well they were foreseen, and
// what a piece costs.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "split/policy.h"
#include "split/rates.h"

typedef enum way { UNKNOWN, ALONE, ONE_PART, GUIDED, WHOLE } way;

typedef struct plan {
  way way;
  double spread; // by how much speeds are off from what was foreseen
  double ns;     // that all devices together need
  double part;   // of guided pieces
} plan;

enum { LOOK_AGAIN = 16 };

static plan choose(const weir_split_view *view) {
  plan choice = {.way = UNKNOWN, .part = 0.5};
  double all = 0, fastest = 0;
  uint32_t in = 0;
  for (uint32_t i = 0; i < view->device_count; i++) in += !view->devices[i].out;
  if (in <= 1) {
    choice.way = ALONE;
    return choice;
  }
  for (uint32_t i = 0; i < view->device_count; i++) {
    if (view->devices[i].out) continue;
    double rate = weir__split_rate(view, i), spread = weir__split_spread(view, i);
    if (rate <= 0) return choice;
    if (spread > choice.spread) choice.spread = spread;
    if (spread < 0) choice.spread = choice.spread < 0.2 ? 0.2 : choice.spread;
    if (rate > fastest) fastest = rate;
    all += rate;
  }
  choice.ns = (double)view->total / all;
  double cost = (double)view->cost_ns;
  // Speeds that are off by the spread keep one device that much longer; guided pieces get half of that right each time, until it
  // is worth no more than the cost of a piece.
  double off = choice.spread * choice.ns;
  double pieces = 2 + (off > cost && cost > 0 ? log2(off / cost) : 0);
  choice.way = off > pieces * cost && off > 0.01 * choice.ns ? GUIDED : ONE_PART;
  double loss = choice.way == GUIDED ? pieces * cost : off < choice.ns ? off : choice.ns;
  bool pays = choice.ns + cost + loss < (double)view->total / fastest;
  if (!pays && view->launch % LOOK_AGAIN != LOOK_AGAIN - 1) choice.way = WHOLE;
  choice.part = 1 - 2 * choice.spread;
  if (choice.part < 0.2) choice.part = 0.2;
  if (choice.part > 0.9) choice.part = 0.9;
  return choice;
}

static uint64_t auto_next(void *user, const weir_split_view *view, uint32_t device) {
  (void)user;
  plan choice = choose(view);
  switch (choice.way) {
  case ALONE:
    return view->left;
  case ONE_PART:
    return weir__split_history.next(NULL, view, device);
  case WHOLE:
    return weir__split_frames.next(NULL, view, device);
  case UNKNOWN:
  case GUIDED:
    break;
  }
  return weir__split_guided_next(view, device, choice.part);
}

static void auto_why(void *user, const weir_split_view *view, char *out_text, size_t size) {
  (void)user;
  plan choice = choose(view);
  switch (choice.way) {
  case UNKNOWN:
    snprintf(out_text, size, "guided: not all devices were measured yet");
    break;
  case ALONE:
    snprintf(out_text, size, "one device: there is no other");
    break;
  case ONE_PART:
    snprintf(out_text, size, "history: speeds were foreseen to %.1f %%", 100 * choice.spread);
    break;
  case GUIDED:
    snprintf(out_text, size, "guided: speeds were off by %.1f %% from what was foreseen", 100 * choice.spread);
    break;
  case WHOLE:
    snprintf(out_text, size, "frames: the launch is too short to gain from more than one device");
    break;
  }
}

const weir_split_policy weir__split_auto = {.name = "auto", .next = auto_next, .why = auto_why};

const weir_split_policy *weir_split_find_policy(const char *name) {
  static const weir_split_policy *const all[] = {&weir__split_static, &weir__split_history, &weir__split_queue,
                                                 &weir__split_guided, &weir__split_frames,  &weir__split_auto};
  for (size_t i = 0; name != NULL && i < sizeof all / sizeof all[0]; i++) {
    if (strcmp(all[i]->name, name) == 0) return all[i];
  }
  return NULL;
}
