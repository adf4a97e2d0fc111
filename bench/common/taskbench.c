// SPDX-License-Identifier: Apache-2.0
#include "taskbench.h"

#include <stdlib.h>
#include <string.h>

#include "pattern.h"

enum { RADIX = 5 };

const char *const weir__bench_patterns[] = {"trivial", "stencil_1d", "fft",    "nearest", "random_nearest",
                                            "tree",    "sweep",      "spread", NULL};

// Adds the points of [first, last] that exist.
static void add_range(weir__bench_inputs *inputs, int64_t width, int64_t first, int64_t last) {
  for (int64_t point = first; point <= last; point++) {
    bool exists = point >= 0 && point < width;
    if (exists && inputs->count < WEIR__BENCH_MAX_INPUTS) inputs->points[inputs->count++] = (int32_t)point;
  }
}

// A neighbour is included with a probability of 1/4, the point itself always.
static void add_random(weir__bench_inputs *inputs, int64_t width, int64_t set, int64_t point) {
  for (int64_t i = point - RADIX / 2; i <= point + (RADIX - 1) / 2; i++) {
    uint64_t state = (uint64_t)((set * 64 + point) * 64 + i);
    if (i == point || weir__bench_random(&state) % 4 == 0) add_range(inputs, width, i, i);
  }
}

// Points that lie as far apart as they can, but for the first one at a distance that moves on from set to set.
static void add_spread(weir__bench_inputs *inputs, int64_t width, int64_t set, int64_t point) {
  for (int64_t i = 0; i < RADIX; i++) {
    int64_t chosen = (point + i * width / RADIX + (i > 0 ? set : 0)) % width;
    add_range(inputs, width, chosen, chosen);
  }
}

static weir__bench_inputs find_inputs(const char *pattern, int64_t width, int64_t set, int64_t point) {
  weir__bench_inputs inputs = {0};
  if (strcmp(pattern, "stencil_1d") == 0) {
    add_range(&inputs, width, point - 1, point + 1);
  } else if (strcmp(pattern, "fft") == 0) {
    int64_t distance = (int64_t)1 << set;
    add_range(&inputs, width, point - distance, point - distance);
    add_range(&inputs, width, point, point);
    add_range(&inputs, width, point + distance, point + distance);
  } else if (strcmp(pattern, "nearest") == 0) {
    add_range(&inputs, width, point - RADIX / 2, point + (RADIX - 1) / 2);
  } else if (strcmp(pattern, "random_nearest") == 0) {
    add_random(&inputs, width, set, point);
  } else if (strcmp(pattern, "spread") == 0) {
    add_spread(&inputs, width, set, point);
  } else if (strcmp(pattern, "tree") == 0) {
    add_range(&inputs, width, point / 2, point / 2);
  } else if (strcmp(pattern, "sweep") == 0) {
    add_range(&inputs, width, point - 1, point);
  }
  return inputs;
}

// The least number of doublings of 1 that gives `width` or more.
static int64_t doublings(int64_t width) {
  int64_t count = 0;
  while ((int64_t)1 << count < width) count++;
  return count;
}

static int64_t period_of(const char *pattern, int64_t width) {
  if (strcmp(pattern, "fft") == 0) return width > 1 ? doublings(width) : 1;
  if (strcmp(pattern, "spread") == 0) return 4;
  return strcmp(pattern, "random_nearest") == 0 ? 3 : 1;
}

bool weir__bench_grid_shape(weir__bench_grid *grid, const char *pattern, int64_t width, int64_t steps) {
  memset(grid, 0, sizeof(*grid));
  bool known = false;
  for (const char *const *name = weir__bench_patterns; *name; name++) known = known || strcmp(*name, pattern) == 0;
  if (!known) return false;
  grid->pattern = pattern;
  grid->width = width;
  grid->steps = steps;
  grid->period = period_of(pattern, width);
  for (int64_t step = 0; step < steps; step++) {
    grid->task_count += weir__bench_end_point(grid, step) - weir__bench_first_point(grid, step);
  }
  return true;
}

bool weir__bench_grid_create(weir__bench_grid *grid, const char *pattern, int64_t steps) {
  if (!weir__bench_grid_shape(grid, pattern, WEIR__BENCH_WIDTH, steps)) return false;
  for (int64_t set = 0; set < grid->period; set++) {
    for (int64_t point = 0; point < WEIR__BENCH_WIDTH; point++) {
      grid->inputs[set][point] = find_inputs(pattern, WEIR__BENCH_WIDTH, set, point);
    }
  }
  grid->cells = calloc((size_t)(steps * WEIR__BENCH_WIDTH), sizeof(*grid->cells));
  return grid->cells != NULL;
}

void weir__bench_grid_release(weir__bench_grid *grid) {
  free(grid->cells);
  grid->cells = NULL;
}

static bool is_sweep(const weir__bench_grid *grid) {
  return grid->pattern[1] == 'w';
}

int64_t weir__bench_first_point(const weir__bench_grid *grid, int64_t step) {
  int64_t first = step + grid->width - grid->steps;
  return is_sweep(grid) && first > 0 ? first : 0;
}

int64_t weir__bench_end_point(const weir__bench_grid *grid, int64_t step) {
  int64_t width = grid->width;
  if (is_sweep(grid)) {
    if (step + 1 < width) width = step + 1;
    if (grid->steps - step < width) width = grid->steps - step;
  } else if (strcmp(grid->pattern, "tree") == 0 && step < doublings(width)) {
    width = (int64_t)1 << step;
  }
  return weir__bench_first_point(grid, step) + width;
}

weir__bench_inputs weir__bench_grid_inputs(const weir__bench_grid *grid, int64_t step, int64_t point) {
  weir__bench_inputs inputs = {0};
  if (step == 0) return inputs;
  int64_t set = grid->pattern[0] == 'r' ? step % grid->period : (step - 1) % grid->period; // 'r': random_nearest
  weir__bench_inputs all =
      grid->cells != NULL ? grid->inputs[set][point] : find_inputs(grid->pattern, grid->width, set, point);
  int64_t first = weir__bench_first_point(grid, step - 1), end = weir__bench_end_point(grid, step - 1);
  for (uint8_t i = 0; i < all.count; i++) {
    if (all.points[i] >= first && all.points[i] < end) inputs.points[inputs.count++] = all.points[i];
  }
  return inputs;
}
