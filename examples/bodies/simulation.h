// SPDX-License-Identifier: Apache-2.0
//
// Many worlds on the devices of a context. The host reads each world's state after every step, finds its islands, and
// submits the next step: a kernel that drives all bodies, one for each island, and one that observes. So nobody knows the
// tasks of a step before the step begins. All worlds are in flight at once; the host's threads share them out.
#ifndef BODIES_SIMULATION_H
#define BODIES_SIMULATION_H

#include <weir/weir.h>

#include "world.h"

typedef struct simulation_options {
  const char *devices; // worlds go to them in turn
  uint32_t flags;      // WEIR_CONTEXT_*
  weir_issue issue;
  int32_t worlds;
  int32_t first_world; // number of the first: a part of more worlds, which others run
  int32_t bodies;      // of each world
  int32_t steps;
  int32_t threads; // of the host, each of which has every threads-th world; 0 counts as 1
  uint64_t seed;
  const char *timeline; // file to write, or NULL; with WEIR_CONTEXT_TRACE
  // Called with the first world's state before every step, in the state's order, and after the last; may be NULL.
  void (*look)(void *user, int32_t step, const world *at, const physics_body *bodies, const island_list *list);
  void (*start)(void *user); // called when all is built, before the time of the steps begins; may be NULL
  void *user;
} simulation_options;

typedef struct simulation_result {
  double seconds;           // for all steps, in the device's time, but not for building kernels
  uint64_t *digests;        // of every world's state after every step: [step * worlds + world]
  physics_body *states;     // at the end, [world * bodies + place]
  int32_t *tasks, *islands; // of every step, copies included, over all worlds
  int32_t most_bodies;      // of an island
  world_record record;      // the greatest, and the sum of the work, over all worlds
  double reward;            // mean over steps and worlds
} simulation_result;

// Runs all steps in a context of their own and checks each. Prints what failed.
// Errors: UNAVAILABLE (a device is missing), INVALID_ARGUMENT (there is no such device), OUT_OF_MEMORY, TASK_FAILED (a check
// failed, or anything later).
weir_status simulation_run(const simulation_options *options, simulation_result *out_result);

// Frees what a result holds; a zeroed one holds nothing.
void simulation_result_release(simulation_result *result);

// Whether two results have the same bits; if not, the first step and world that differ.
bool simulation_same(const simulation_options *options, const simulation_result *a, const simulation_result *b,
                     int32_t *out_step, int32_t *out_world);

#endif // BODIES_SIMULATION_H
