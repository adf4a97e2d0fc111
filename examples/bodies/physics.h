// SPDX-License-Identifier: Apache-2.0
//
// What the kernels (motion.c) and the host share: discs without rotation in a box, and constraints between two of them.
// Lengths in metres, times in seconds. Plain C, C++ and OpenCL C.
#ifndef BODIES_PHYSICS_H
#define BODIES_PHYSICS_H

#ifndef WEIR_FUNCTION // outside of kernels
#include <stdint.h>
#endif

enum {
  PHYSICS_ITEMS = 32,            // work-items of a work-group
  PHYSICS_MAX_BODIES = 128,      // of a world, and so of an island
  PHYSICS_MAX_CONSTRAINTS = 640, // of a world, and so of an island
  PHYSICS_VELOCITY_ROUNDS = 12,  // iterations over an island's constraints that change velocities
  PHYSICS_POSITION_ROUNDS = 8,   // and positions
};

typedef struct physics_body {
  float x, y;
  float vx, vy;
  float radius;
  float inverse_mass; // 0: the body does not move
  int32_t id;         // 0, 1, ... in the world
  int32_t actor;      // which of the world's actions pushes it; -1: none
} physics_body;

// Two bodies, by their place in the island, that are kept `length` apart (a joint), or at least so far (a contact).
typedef struct physics_constraint {
  int32_t a, b;
  float length;
  int32_t is_joint;
} physics_constraint;

// A change of velocity.
typedef struct physics_action {
  float x, y;
} physics_action;

// The box is from (0, 0) to (width, height).
typedef struct physics_rules {
  float width, height;
  float step;     // length of a time step
  float gravity;  // downwards
  float limit;    // of a velocity, before constraints are solved
  float friction; // Coulomb's coefficient between bodies and the floor
} physics_rules;

// What a learner would see of a world, which is as large as a body. The reward is the mean velocity to the right.
typedef struct physics_observation {
  float reward;
  float momentum_y;   // per mass
  float kinetic;      // energy
  float potential;    // energy, with 0 at the floor
  float mean_x;       // of the bodies
  float mean_y;       //
  float highest;      // upper end of the highest body
  float actor_height; // mean of the bodies that actions push
} physics_observation;

#endif // BODIES_PHYSICS_H
