// SPDX-License-Identifier: Apache-2.0
//
// Policies that give each device one part: by given shares, and by what was measured.
#include <stdio.h>

#include "split/policy.h"
#include "split/rates.h"

uint64_t weir__split_rest(const weir_split_view *view, uint32_t device, const double *weights) {
  bool any_out = false;
  double all = 0;
  for (uint32_t i = 0; i < view->device_count; i++) {
    any_out |= view->devices[i].out;
    all += view->devices[i].out ? 0 : weights[i];
  }
  if (!any_out || all <= 0 || view->devices[device].in_flight > 0) return 0;
  return (uint64_t)((double)view->left * weights[device] / all) + 1;
}

// A device's part in the ratio of weights, once.
static uint64_t one_part(const weir_split_view *view, uint32_t device, const double *weights, bool remeasure) {
  if (view->devices[device].given > 0) return weir__split_rest(view, device, weights);
  uint64_t units[WEIR_SPLIT_MOST_DEVICES];
  weir__split_divide(view, weights, units);
  if (units[device] > 0) return units[device] < view->left ? units[device] : view->left;
  // Too slow for one part: now and then it gets one all the same, so that it is seen when it becomes faster.
  bool turn = remeasure && view->rounds > 0 && view->launch % view->rounds == device % view->rounds;
  if (turn && weights[device] > 0) return view->devices[device].grain;
  return weir__split_rest(view, device, weights);
}

static bool given_shares(const weir_split_view *view) {
  for (uint32_t i = 0; i < view->device_count; i++) {
    if (view->devices[i].share > 0) return true;
  }
  return false;
}

static void static_weights(const weir_split_view *view, double *weights) {
  bool given = given_shares(view), measured = true;
  for (uint32_t i = 0; i < view->device_count; i++) measured &= view->devices[i].first.units > 0;
  for (uint32_t i = 0; i < view->device_count; i++) {
    const weir_split_measure *first = &view->devices[i].first;
    weights[i] = given                       ? view->devices[i].share
                 : measured && first->ns > 0 ? (double)first->units / (double)first->ns
                                             : 1;
  }
}

static uint64_t static_next(void *user, const weir_split_view *view, uint32_t device) {
  (void)user;
  double weights[WEIR_SPLIT_MOST_DEVICES];
  static_weights(view, weights);
  return one_part(view, device, weights, false);
}

static void static_why(void *user, const weir_split_view *view, char *out_text, size_t size) {
  (void)user;
  bool measured = view->devices[0].first.units > 0;
  snprintf(out_text, size, "%s",
           given_shares(view) ? "shares as given"
           : measured         ? "in the ratio of the speeds first measured"
                              : "equal parts: nothing was measured yet");
}

const weir_split_policy weir__split_static = {.name = "static", .next = static_next, .why = static_why};

// Shares in the ratio of measured speeds, from the mean of the last rounds: the rule of Intel's guide to OpenCL, "Partitioning
// the Work", and of Grewe and O'Boyle's and others' profile-based partitioning. What is remembered is what a device was given,
// rounded, and its time. Devices that were not measured count as the mean of the others; no share is below the floor.
static void history_weights(const weir_split_view *view, double *weights) {
  double sum = 0;
  uint32_t known = 0, in = 0;
  for (uint32_t i = 0; i < view->device_count; i++) {
    weights[i] = weir__split_rate(view, i);
    if (view->devices[i].out) continue;
    in++;
    sum += weights[i];
    known += weights[i] > 0;
  }
  double mean = known > 0 ? sum / known : 1;
  double all = sum + mean * (in - known);
  for (uint32_t i = 0; i < view->device_count; i++) {
    if (weights[i] <= 0) weights[i] = mean;
    if (weights[i] < view->floor * all) weights[i] = view->floor * all;
  }
}

static uint64_t history_next(void *user, const weir_split_view *view, uint32_t device) {
  (void)user;
  double weights[WEIR_SPLIT_MOST_DEVICES];
  history_weights(view, weights);
  return one_part(view, device, weights, true);
}

static void history_why(void *user, const weir_split_view *view, char *out_text, size_t size) {
  (void)user;
  uint32_t rounds = view->devices[0].round_count < view->rounds ? view->devices[0].round_count : view->rounds;
  if (rounds == 0)
    snprintf(out_text, size, "equal parts: nothing was measured yet");
  else
    snprintf(out_text, size, "one part each, by the speeds in the last %u launches", rounds);
}

const weir_split_policy weir__split_history = {.name = "history", .next = history_next, .why = history_why};
