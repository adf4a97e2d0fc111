// SPDX-License-Identifier: Apache-2.0
#include "simulator.h"

#include <math.h>
#include <string.h>

typedef struct piece {
  uint64_t units;
} piece;

typedef struct machine {
  const case_ *c;
  weir_split_state devices[WEIR_SPLIT_MOST_DEVICES];
  piece queue[WEIR_SPLIT_MOST_DEVICES][2];
  double now; // ns
  double end[WEIR_SPLIT_MOST_DEVICES], start[WEIR_SPLIT_MOST_DEVICES];
} machine;

// Speed of a device at a time, in units per ns.
static double speed_at(const case_ *c, uint32_t device, double now) {
  double speed = c->speeds[device] / 1000, ms = now * 1e-6;
  if (c->change == DRIFTING) return speed * (1 + 0.5 * sin(ms * (0.06 + 0.017 * device) + device));
  // Every 50 ms each device stands still for 4 ms, one after another.
  if (c->change == STALLING && fmod(ms + 11.0 * device, 50) < 4) return speed * 1e-3;
  return speed;
}

static const double STEP_NS = 2000;

// When a device that starts at `now` has done `units`.
static double run_until(const case_ *c, uint32_t device, double now, double units) {
  if (c->change == CONSTANT) return now + units / speed_at(c, device, now);
  while (true) {
    double rate = speed_at(c, device, now), step = STEP_NS * rate;
    if (step >= units) return now + units / rate;
    units -= step;
    now += STEP_NS;
  }
}

// How long all devices together need from `now` on.
static double best_time(const case_ *c, double now, double units) {
  double start = now;
  while (true) {
    double rate = 0;
    for (uint32_t i = 0; i < c->device_count; i++) rate += speed_at(c, i, now);
    if (c->change == CONSTANT || STEP_NS * rate >= units) return now + units / rate - start;
    units -= STEP_NS * rate;
    now += STEP_NS;
  }
}

static void begin_piece(machine *m, uint32_t device) {
  m->start[device] = m->now;
  m->end[device] = run_until(m->c, device, m->now + (double)m->c->piece_ns, (double)m->queue[device][0].units);
}

static bool give(machine *m, weir_split_view *view, const weir_split_policy *policy, uint32_t device) {
  weir_split_state *state = &m->devices[device];
  if (view->left == 0 || state->in_flight == 2) return false;
  uint64_t units = policy->next(policy->user, view, device);
  if (units == 0) return false;
  units = (units + state->grain - 1) / state->grain * state->grain;
  if (units > view->left) units = view->left;
  m->queue[device][state->in_flight++].units = units;
  state->given += units;
  view->left -= units;
  if (state->in_flight == 1) begin_piece(m, device);
  return true;
}

static void give_all(machine *m, weir_split_view *view, const weir_split_policy *policy) {
  bool any = true;
  while (any) {
    any = false;
    for (uint32_t i = 0; i < m->c->device_count; i++) any |= give(m, view, policy, i);
  }
}

// The piece that ends first ends. False: there is none.
static bool finish_piece(machine *m) {
  uint32_t first = UINT32_MAX;
  for (uint32_t i = 0; i < m->c->device_count; i++) {
    if (m->devices[i].in_flight > 0 && (first == UINT32_MAX || m->end[i] < m->end[first])) first = i;
  }
  if (first == UINT32_MAX) return false;
  weir_split_state *state = &m->devices[first];
  m->now = m->end[first];
  state->done += m->queue[first][0].units;
  state->done_ns += (uint64_t)(m->end[first] - m->start[first]);
  m->queue[first][0] = m->queue[first][1];
  if (--state->in_flight > 0) begin_piece(m, first);
  return true;
}

static void remember(weir_split_state *state) {
  weir_split_measure measure = {state->done, state->done_ns};
  if (measure.units == 0) return;
  if (state->first.units == 0) state->first = measure;
  if (state->round_count < WEIR_SPLIT_MOST_ROUNDS) state->round_count++;
  memmove(&state->rounds[1], &state->rounds[0], (state->round_count - 1) * sizeof state->rounds[0]);
  state->rounds[0] = measure;
}

void simulate(const case_ *c, const weir_split_policy *policy, uint32_t launches, double *out_efficiency,
              uint64_t *out_units) {
  machine m = {.c = c};
  for (uint32_t i = 0; i < c->device_count; i++) m.devices[i].grain = 1;
  for (uint32_t launch = 0; launch < launches; launch++) {
    double start = m.now;
    m.now += (double)c->launch_ns;
    weir_split_view view = {.launch = launch,
                            .total = c->total,
                            .left = c->total,
                            .least = 1,
                            .rounds = 10,
                            .floor = 0.005,
                            .cost_ns = c->piece_ns,
                            .overhead = 0.02,
                            .device_count = c->device_count,
                            .devices = m.devices};
    do {
      give_all(&m, &view, policy);
    } while (finish_piece(&m));
    double best = best_time(c, start, (double)(c->total - view.left));
    out_efficiency[launch] = view.left > 0 ? 0 : best / (m.now - start);
    for (uint32_t i = 0; i < c->device_count; i++) {
      weir_split_state *state = &m.devices[i];
      if (out_units != NULL) out_units[i] = state->done;
      remember(state);
      state->given = state->done = state->done_ns = 0;
    }
  }
}

double mean_efficiency(const case_ *c, const weir_split_policy *policy, uint32_t launches, uint32_t from) {
  double efficiency[1024], sum = 0;
  simulate(c, policy, launches, efficiency, NULL);
  for (uint32_t i = from; i < launches; i++) sum += efficiency[i];
  return sum / (launches - from);
}

// Launches of a few milliseconds; a piece costs 5 us.
#define EVEN                                                                                                           \
  { 100, 100, 100, 100, 100, 100, 100, 100 }
#define STEEP                                                                                                          \
  { 2000, 100, 200, 700, 400, 1000, 1500, 150 }
#define FIVE                                                                                                           \
  { 500, 100, 300, 400, 200, 500, 250, 350 }
#define CASE(text, kind, devices, units, ...)                                                                          \
  {                                                                                                                    \
    .name = text, .change = kind, .device_count = devices, .speeds = __VA_ARGS__, .total = units, .piece_ns = 5000,    \
    .launch_ns = 10000                                                                                                 \
  }

const case_ cases[] = {
    CASE("2 devices, 1:1", CONSTANT, 2, 800000, EVEN),
    CASE("2 devices, 1:5", CONSTANT, 2, 2400000, FIVE),
    CASE("2 devices, 1:20", CONSTANT, 2, 8000000, STEEP),
    CASE("4 devices, 1:20", CONSTANT, 4, 9000000, STEEP),
    CASE("8 devices, 1:1", CONSTANT, 8, 3200000, EVEN),
    CASE("8 devices, 1:20", CONSTANT, 8, 16000000, STEEP),
    CASE("8 devices, 1:5, few units", CONSTANT, 8, 400, {0.05, 0.01, 0.03, 0.04, 0.02, 0.05, 0.025, 0.035}),
    CASE("2 devices, 1:1, drifting", DRIFTING, 2, 800000, EVEN),
    CASE("2 devices, 1:20, drifting", DRIFTING, 2, 8000000, STEEP),
    CASE("4 devices, 1:5, drifting", DRIFTING, 4, 5000000, FIVE),
    CASE("8 devices, 1:20, drifting", DRIFTING, 8, 16000000, STEEP),
    CASE("2 devices, 1:1, stalls", STALLING, 2, 800000, EVEN),
    CASE("4 devices, 1:5, stalls", STALLING, 4, 5000000, FIVE),
    CASE("8 devices, 1:20, stalls", STALLING, 8, 16000000, STEEP),
};
const uint32_t case_count = sizeof cases / sizeof cases[0];
