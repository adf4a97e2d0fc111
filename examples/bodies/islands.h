// SPDX-License-Identifier: Apache-2.0
//
// The islands of a world: which bodies can touch in the next time step, and which hang together through contacts and joints.
// Walls do not join islands. All of it depends on the state only, so that the same state gives the same bits.
#ifndef BODIES_ISLANDS_H
#define BODIES_ISLANDS_H

#include <stdbool.h>
#include <stddef.h>

#include "physics.h"

// Two bodies, by id, that a joint keeps `length` apart. A body is `b` of one joint at most.
typedef struct joint {
  int32_t a, b;
  float length;
} joint;

// A part of the arrays of an island_list.
typedef struct island {
  int32_t first_body, body_count;
  int32_t first_constraint, constraint_count; // sorted by colour; their bodies count from first_body
  int32_t first_colour, colour_count; // colours[first_colour + k]: where colour k begins in the island's constraints
} island;

typedef struct island_list {
  int32_t count;
  island islands[PHYSICS_MAX_BODIES];
  int32_t order[PHYSICS_MAX_BODIES];     // place in the state of the body that comes next; islands' bodies lie together
  int32_t island_of[PHYSICS_MAX_BODIES]; // by place in the state
  int32_t constraint_count;
  physics_constraint constraints[PHYSICS_MAX_CONSTRAINTS];
  int32_t colour_entries;
  int32_t colours[PHYSICS_MAX_CONSTRAINTS + PHYSICS_MAX_BODIES]; // per island colour_count + 1 entries
  float greatest_overlap;                                        // of two bodies that no joint links, as the state is
} island_list;

// Whether bodies may touch during the next step: they are near, or come close.
bool islands_may_touch(const physics_body *a, const physics_body *b, const physics_rules *rules);

// Finds the islands of a state of `count` bodies in any order. False: the world has more constraints than fit.
bool islands_find(const physics_body *bodies, int32_t count, const joint *joints, int32_t joint_count,
                  const physics_rules *rules, island_list *out_list);

#endif // BODIES_ISLANDS_H
