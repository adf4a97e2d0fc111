// SPDX-License-Identifier: Apache-2.0
//
// A split over three devices, and a launch for it that is right.
#ifndef TESTS_SPLIT_SCENE_H
#define TESTS_SPLIT_SCENE_H

#include "rig.h"

enum { ROWS = 60, WIDTH = 4, CELLS = ROWS * WIDTH };

typedef struct scene {
  weir_context *context;
  weir_device *devices[3];
  weir_split *split;
  weir_kernel *kernel, *add;
  weir_buffer *in, *out, *table;
  rig_field field;
  uint32_t cells[CELLS], table_words[16], expected[CELLS], found[CELLS];
  weir_split_arg args[RIG_ARGS];
  weir_split_launch launch;
} scene;

// Opens it: a CPU, and two devices that are lost after so many tasks. The shares of "static" are equal.
void open_scene(scene *s, const char *policy, uint32_t first_tasks, uint32_t second_tasks, uint32_t window);
// The same; contents may be resident.
void open_scene_with(scene *s, const char *policy, uint32_t first_tasks, uint32_t second_tasks, uint32_t window,
                     bool resident);
void close_scene(scene *s);

// The launch's result is right.
void check_output(scene *s);

#endif // TESTS_SPLIT_SCENE_H
