// SPDX-License-Identifier: Apache-2.0
#include "split/rates.h"

// An older round counts this much less than the next newer one.
static const double AGE_RATE = 0.6, AGE_SPREAD = 0.85;

static const double MOST_SPREAD = 4;

static uint32_t rounds_of(const weir_split_view *view, const weir_split_state *state) {
  return state->round_count < view->rounds ? state->round_count : view->rounds;
}

// Sums rounds [first, end) into units and nanoseconds.
static void sum_rounds(const weir_split_state *state, uint32_t first, uint32_t end, double *units, double *ns) {
  double weight = 1;
  for (uint32_t i = first; i < end; i++, weight *= AGE_RATE) {
    *units += weight * (double)state->rounds[i].units;
    *ns += weight * (double)state->rounds[i].ns;
  }
}

static double ratio(double units, double ns) {
  return units > 0 && ns > 0 ? units / ns : 0;
}

double weir__split_rate(const weir_split_view *view, uint32_t device) {
  const weir_split_state *state = &view->devices[device];
  double units = 0, ns = 0;
  sum_rounds(state, 0, rounds_of(view, state), &units, &ns);
  return ratio(units, ns);
}

double weir__split_rate_now(const weir_split_view *view, uint32_t device) {
  const weir_split_state *state = &view->devices[device];
  if (state->done == 0 || state->done_ns == 0) return weir__split_rate(view, device);
  // What is older counts as much as a short while, so that this launch soon has its way.
  double before = weir__split_rate(view, device), now = (double)state->done / (double)state->done_ns;
  if (before <= 0) return now;
  double weight = (double)state->done / ((double)state->done + 0.05 * (double)view->total / view->device_count);
  return weight * now + (1 - weight) * before;
}

double weir__split_spread(const weir_split_view *view, uint32_t device) {
  const weir_split_state *state = &view->devices[device];
  uint32_t count = rounds_of(view, state);
  double sum = 0, weights = 0, weight = 1;
  for (uint32_t i = 0; i + 1 < count; i++, weight *= AGE_SPREAD) {
    double units = 0, ns = 0;
    sum_rounds(state, i + 1, count, &units, &ns);
    double promised = ratio(units, ns), found = ratio((double)state->rounds[i].units, (double)state->rounds[i].ns);
    if (promised <= 0 || found <= 0) continue;
    double off = promised > found ? promised / found - 1 : found / promised - 1;
    sum += weight * (off < MOST_SPREAD ? off : MOST_SPREAD);
    weights += weight;
  }
  return weights > 0 ? sum / weights : -1;
}

uint64_t weir__split_pending(const weir_split_state *state) {
  return state->given - state->done;
}

// Hands what rounding left over (or took too much) to whoever is furthest from its exact part.
static void settle(const weir_split_view *view, const double *exact, uint64_t *units, uint64_t sum) {
  while (sum != view->total) {
    uint32_t best = UINT32_MAX;
    double furthest = 0;
    for (uint32_t i = 0; i < view->device_count; i++) {
      double off = sum < view->total ? exact[i] - (double)units[i] : (double)units[i] - exact[i];
      if (exact[i] <= 0 || (sum > view->total && units[i] == 0)) continue;
      if (best == UINT32_MAX || off > furthest) {
        best = i;
        furthest = off;
      }
    }
    if (best == UINT32_MAX) return;
    uint64_t step = view->devices[best].grain;
    if (sum < view->total) {
      if (step > view->total - sum) step = view->total - sum;
      units[best] += step;
      sum += step;
    } else {
      if (step > sum - view->total) step = sum - view->total;
      if (step > units[best]) step = units[best];
      units[best] -= step;
      sum -= step;
    }
  }
}

void weir__split_divide(const weir_split_view *view, const double *weights, uint64_t *out_units) {
  double all = 0, exact[WEIR_SPLIT_MOST_DEVICES];
  for (uint32_t i = 0; i < view->device_count; i++) all += view->devices[i].out ? 0 : weights[i];
  uint64_t sum = 0;
  for (uint32_t i = 0; i < view->device_count; i++) {
    exact[i] = view->devices[i].out || all <= 0 ? 0 : (double)view->total * (weights[i] / all);
    uint64_t grain = view->devices[i].grain;
    out_units[i] = (uint64_t)(exact[i] / (double)grain + 0.5) * grain;
    sum += out_units[i];
  }
  settle(view, exact, out_units, sum);
}
