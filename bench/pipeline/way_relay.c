// SPDX-License-Identifier: Apache-2.0
#include "way_relay.h"

#include <stdio.h>
#include <string.h>

typedef struct run_state {
  const way_relay *relay;
  const job_feed *feed;
  uint64_t count;
  _Atomic uint64_t launched, delivered;
  _Atomic bool launches; // the first thread is at it
  way_gate forth, back;  // change with `launched` and `launches`, with `delivered`
  way_failure failure;
} run_state;

void way_failure_clear(way_failure *failure) {
  atomic_store(&failure->failed, false);
}

bool way_failure_note(way_failure *failure, const char *why) {
  weir__lock_acquire(&failure->lock);
  if (!atomic_load(&failure->failed)) {
    snprintf(failure->why, sizeof failure->why, "%s", why);
    atomic_store(&failure->failed, true);
  }
  weir__lock_release(&failure->lock);
  return false;
}

static void step(way_gate *gate) {
  way_gate_set(gate, way_gate_value(gate) + 1);
}

static bool wait_for_line(run_state *run, uint64_t token) {
  for (;;) {
    uint32_t seen = way_gate_value(&run->back);
    if (atomic_load(&run->failure.failed)) return false;
    if (token - atomic_load(&run->delivered) < run->relay->lines) return true;
    way_gate_wait(&run->back, seen);
  }
}

static void launch_all(run_state *run) {
  const way_relay *relay = run->relay;
  char why[JOB_WHY] = "";
  for (uint64_t token = 0; token < run->count && wait_for_line(run, token); token++) {
    void *const *inputs = run->feed->next(run->feed->user, token);
    if (!relay->launch(relay->user, (uint32_t)(token % relay->lines), inputs, why)) {
      way_failure_note(&run->failure, why);
      break;
    }
    atomic_store(&run->launched, token + 1);
    step(&run->forth);
  }
}

static bool wait_for_launch(run_state *run, uint64_t token) {
  for (;;) {
    uint32_t seen = way_gate_value(&run->forth);
    bool launches = atomic_load(&run->launches);
    if (token < atomic_load(&run->launched)) return true;
    if (!launches) return false;
    way_gate_wait(&run->forth, seen);
  }
}

// After a failure jobs are waited for, but their results are not given away.
static void deliver_all(run_state *run) {
  const way_relay *relay = run->relay;
  char why[JOB_WHY] = "";
  for (uint64_t token = 0; wait_for_launch(run, token); token++) {
    uint32_t line = (uint32_t)(token % relay->lines);
    if (!relay->wait(relay->user, line, why))
      way_failure_note(&run->failure, why);
    else if (!atomic_load(&run->failure.failed))
      run->feed->done(run->feed->user, token, relay->results(relay->user, line));
    atomic_store(&run->delivered, token + 1);
    step(&run->back);
  }
}

static void work(void *user, uint32_t worker) {
  run_state *run = user;
  const way_relay *relay = run->relay;
  char why[JOB_WHY] = "";
  bool entered = !relay->enter || relay->enter(relay->user, why);
  if (!entered) way_failure_note(&run->failure, why);
  if (worker == 0) {
    if (entered) launch_all(run);
    atomic_store(&run->launches, false);
    step(&run->forth);
  } else if (entered) {
    deliver_all(run);
  } else {
    step(&run->back);
  }
  if (entered && relay->leave) relay->leave(relay->user);
}

bool way_relay_run(const way_relay *relay, way_team *team, uint64_t count, const job_feed *feed, char why[JOB_WHY]) {
  run_state run = {.relay = relay, .feed = feed, .count = count, .launches = true};
  way_team_run(team, work, &run);
  if (!run.failure.failed) return true;
  snprintf(why, JOB_WHY, "%s", run.failure.why);
  return false;
}
