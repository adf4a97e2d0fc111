// SPDX-License-Identifier: Apache-2.0
#include "way_team.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

enum { ROUNDS = 200, PAUSES = 16, ROUNDS_ALONE = 25 };

typedef struct member {
  way_team *team;
  uint32_t worker;
  pthread_t thread;
} member;

struct way_team {
  uint32_t workers, started; // threads that exist, besides the caller's
  void (*work)(void *user, uint32_t worker);
  void *user;
  bool quits;
  way_gate begin; // changes when there is work
  _Atomic uint32_t arrived;
  way_gate turn; // of the barrier
  member members[];
};

void way_gate_wait(way_gate *gate, uint32_t seen) {
  for (int round = 0; round < ROUNDS; round++) {
    if (way_gate_value(gate) != seen) return;
    for (int i = 0; i < PAUSES; i++) weir__pause();
    if (round >= ROUNDS_ALONE) sched_yield(); // who is waited for may have no core
  }
  atomic_fetch_add(&gate->sleepers, 1);
  while (atomic_load(&gate->value) == seen) weir__sleep_on(&gate->value, seen, UINT64_MAX);
  atomic_fetch_sub(&gate->sleepers, 1);
}

void way_team_barrier(way_team *team) {
  uint32_t turn = way_gate_value(&team->turn);
  if (atomic_fetch_add(&team->arrived, 1) + 1 < team->workers) {
    way_gate_wait(&team->turn, turn);
    return;
  }
  atomic_store(&team->arrived, 0);
  way_gate_set(&team->turn, turn + 1);
}

static void *serve(void *user) {
  const member *self = user;
  way_team *team = self->team;
  for (uint32_t seen = 0;; seen++) {
    way_gate_wait(&team->begin, seen);
    if (team->quits) return NULL;
    team->work(team->user, self->worker);
    way_team_barrier(team);
  }
}

way_team *way_team_create(uint32_t workers) {
  if (workers == 0) workers = 1;
  way_team *team = calloc(1, sizeof *team + workers * sizeof team->members[0]);
  if (team == NULL) return NULL;
  team->workers = workers;
  for (uint32_t i = 1; i < workers; i++) {
    team->members[i] = (member){.team = team, .worker = i};
    if (pthread_create(&team->members[i].thread, NULL, serve, &team->members[i]) != 0) {
      way_team_destroy(team);
      return NULL;
    }
    team->started++;
  }
  return team;
}

void way_team_destroy(way_team *team) {
  if (team == NULL) return;
  team->quits = true;
  way_gate_set(&team->begin, way_gate_value(&team->begin) + 1);
  for (uint32_t i = 1; i <= team->started; i++) pthread_join(team->members[i].thread, NULL);
  free(team);
}

uint32_t way_team_workers(const way_team *team) {
  return team->workers;
}

void way_team_run(way_team *team, void (*work)(void *user, uint32_t worker), void *user) {
  team->work = work;
  team->user = user;
  way_gate_set(&team->begin, way_gate_value(&team->begin) + 1);
  work(user, 0);
  way_team_barrier(team);
}
