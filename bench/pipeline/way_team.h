// SPDX-License-Identifier: Apache-2.0
//
// Host threads of a baseline: they live from open to close, spin for a short while where they wait, and then sleep.
#ifndef WEIR_BENCH_PIPELINE_WAY_TEAM_H
#define WEIR_BENCH_PIPELINE_WAY_TEAM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/lock.h"

// A number that threads wait for to change. Who changes it makes no system call unless somebody sleeps.
typedef struct way_gate {
  _Atomic uint32_t value, sleepers;
} way_gate;

// Waits while the value is `seen`.
void way_gate_wait(way_gate *gate, uint32_t seen);

static inline uint32_t way_gate_value(way_gate *gate) {
  return atomic_load_explicit(&gate->value, memory_order_acquire);
}

static inline void way_gate_set(way_gate *gate, uint32_t value) {
  atomic_store(&gate->value, value);
  if (atomic_load(&gate->sleepers) > 0) weir__wake(&gate->value, INT32_MAX);
}

typedef struct way_team way_team;

// A team of `workers` (0: 1), of which the thread that calls way_team_run is the first. NULL: no memory or no thread.
way_team *way_team_create(uint32_t workers);
void way_team_destroy(way_team *team); // NULL is allowed

uint32_t way_team_workers(const way_team *team);

// Calls work(user, worker) once for every worker, each in a thread of its own, and waits until all have returned.
void way_team_run(way_team *team, void (*work)(void *user, uint32_t worker), void *user);

// Every worker calls it; none returns before all have called.
void way_team_barrier(way_team *team);

#endif // WEIR_BENCH_PIPELINE_WAY_TEAM_H
