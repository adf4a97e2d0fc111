// SPDX-License-Identifier: Apache-2.0
//
// A drawing of a world at several steps, one above the other, as SVG.
#ifndef BODIES_PICTURE_H
#define BODIES_PICTURE_H

#include "world.h"

enum { PICTURE_FRAMES = 6 };

typedef struct picture {
  int32_t steps; // of the run
  int32_t count; // frames that were kept
  struct {
    int32_t step;
    physics_body bodies[PHYSICS_MAX_BODIES];
    int32_t island_of[PHYSICS_MAX_BODIES];
    int32_t islands;
  } frames[PICTURE_FRAMES];
  world world;
} picture;

// Keeps the state before a step if it is one of those to draw: a simulation_options.look, whose user is the picture.
void picture_look(void *user, int32_t step, const world *drawn, const physics_body *bodies, const island_list *list);

// Writes the picture. False, with errno set, if it could not.
bool picture_save(const picture *self, const char *path);

#endif // BODIES_PICTURE_H
