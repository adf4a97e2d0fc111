// SPDX-License-Identifier: Apache-2.0
//
// A world on the host: chains of discs in a box, what pushes them, and what must be true of every step.
#ifndef BODIES_WORLD_H
#define BODIES_WORLD_H

#include "islands.h"

// Bounds that every step is held to. Lengths are fractions of the least radius that a body may have.
#define WORLD_LEAST_RADIUS 0.09f
#define WORLD_MOST_OVERLAP 0.1f // of two bodies
#define WORLD_MOST_STRETCH 0.1f // of a joint, longer or shorter
#define WORLD_MOST_GAIN 0.002   // metres by which a step may lift the mass of a world, beyond what actions and speed do
#define WORLD_MOST_ROUNDING 1e-4 // of energies, relative

typedef struct world {
  int32_t count, joint_count, actor_count;
  physics_rules rules;
  physics_body start[PHYSICS_MAX_BODIES]; // in the order of ids, nothing overlaps
  joint joints[PHYSICS_MAX_BODIES];
} world;

// What a world did so far.
typedef struct world_record {
  double overlap, stretch; // the greatest, in metres
  double action_work;      // energy that actions put in
  double gain;             // the most that a step added beyond that, over mass and gravity: metres
} world_record;

// Makes a world of `count` bodies, 1 to PHYSICS_MAX_BODIES; the same for the same seed and number.
void world_create(uint64_t seed, int32_t number, int32_t count, world *out_world);

// The actions of a time step: each actor is pushed now and then, at times and in directions that seed, world and step give.
void world_choose_actions(const world *self, uint64_t seed, int32_t number, int32_t step, physics_action *out_actions);

// What `drive` makes of a state, but in the same order.
void world_drive(const world *self, const physics_body *in, const physics_action *actions, physics_body *out);

// Kinetic plus potential energy, with 0 at the floor.
double world_energy(const world *self, const physics_body *bodies);

// Checks what a step did: `before` is the state, in any order, `driven` that after actions and gravity, `after` the state
// after the step in the order that `list` gives. False, with the reason in `out_text`, if a bound does not hold.
bool world_check_step(const world *self, const physics_body *before, const physics_action *actions,
                      const physics_body *driven, const island_list *list, const physics_body *after,
                      const physics_observation *seen, world_record *record, char *out_text, size_t text_bytes);

#endif // BODIES_WORLD_H
