// SPDX-License-Identifier: Apache-2.0
//
// `tiles`: what a task with five small ranges costs to submit, when nothing is executed (device "null"), window 1024. Tiles of
// a square lie one after another in each buffer, 256 bytes each, and a pass names each of them once, row by row.
//
// wavefront: a tile reads the bottom row of the tile above, the right column of the one before, and the last 4 bytes of the bottom
// row of the one above that; it writes a bottom row and a right column of its own. Rows and columns are a buffer each.
// stencil: a tile reads the four around it, and is updated. All are in one buffer, so ranges come back as they were.
//
// "first pass": buffers that no task has used. "pass": the mean of those that follow.
#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "weir_bench.h"

enum { WINDOW = 1024, TILE_BYTES = 256, CORNER_BYTES = 4, MOST_ARGS = 5 };

typedef struct tiles {
  weir_context *context;
  weir_kernel *kernel;
  uint64_t side;
  weir_buffer *rows, *columns; // the stencil has all in `rows`
} tiles;

// The tile above row 0 is the last one of its column, and so on: all tasks have five arguments.
static uint64_t place(const tiles *self, uint64_t row, uint64_t column) {
  return (row % self->side * self->side + column % self->side) * TILE_BYTES;
}

static uint32_t wavefront_args(const tiles *self, uint64_t row, uint64_t column, weir_arg *args) {
  uint64_t side = self->side, here = place(self, row, column);
  args[0] = weir_reads_range(self->rows, place(self, row + side - 1, column), TILE_BYTES);
  args[1] = weir_reads_range(self->columns, place(self, row, column + side - 1), TILE_BYTES);
  uint64_t corner = place(self, row + side - 1, column + side - 1) + TILE_BYTES - CORNER_BYTES;
  args[2] = weir_reads_range(self->rows, corner, CORNER_BYTES);
  args[3] = weir_writes_range(self->rows, here, TILE_BYTES);
  args[4] = weir_writes_range(self->columns, here, TILE_BYTES);
  return 5;
}

static uint32_t stencil_args(const tiles *self, uint64_t row, uint64_t column, weir_arg *args) {
  uint64_t side = self->side;
  args[0] = weir_reads_range(self->rows, place(self, row + side - 1, column), TILE_BYTES);
  args[1] = weir_reads_range(self->rows, place(self, row + 1, column), TILE_BYTES);
  args[2] = weir_reads_range(self->rows, place(self, row, column + side - 1), TILE_BYTES);
  args[3] = weir_reads_range(self->rows, place(self, row, column + 1), TILE_BYTES);
  args[4] = weir_updates_range(self->rows, place(self, row, column), TILE_BYTES);
  return 5;
}

typedef uint32_t (*args_of)(const tiles *self, uint64_t row, uint64_t column, weir_arg *args);

// Seconds of one pass.
static double time_pass(const tiles *self, args_of fill) {
  double begin = weir__bench_seconds();
  for (uint64_t row = 0; row < self->side; row++) {
    for (uint64_t column = 0; column < self->side; column++) {
      weir_arg args[MOST_ARGS];
      uint32_t count = fill(self, row, column, args);
      const weir_task task = {.kernel = self->kernel, .args = args, .arg_count = count};
      weir__bench_require(weir_submit(self->context, &task, NULL));
    }
  }
  weir__bench_require(weir_finish(self->context));
  return weir__bench_seconds() - begin;
}

static void print(const char *name, const char *pass, double seconds, uint64_t tasks) {
  char case_name[64];
  snprintf(case_name, sizeof case_name, "%s, %s", name, pass);
  weir__bench_print(case_name, "weir", "ns/task", seconds / (double)tasks * 1e9);
}

static void run(const char *name, args_of fill, uint64_t side, uint64_t passes) {
  tiles self = {.side = side, .context = weir__bench_context("null", WINDOW, true)};
  uint64_t count = side * side;
  weir__bench_require(weir_kernel_create(self.context, name, &self.kernel));
  weir__bench_require(weir_kernel_set_cpu(self.kernel, weir__bench_random_task));
  weir__bench_require(weir_buffer_create(self.context, count * TILE_BYTES, &self.rows));
  weir__bench_require(weir_buffer_create(self.context, count * TILE_BYTES, &self.columns));
  print(name, "first pass", time_pass(&self, fill), count);
  double seconds = 0;
  for (uint64_t i = 0; i < passes; i++) seconds += time_pass(&self, fill);
  if (passes > 0) print(name, "pass", seconds, passes * count);
  weir_context_release(self.context);
}

int weir__bench_tiles_main(int argc, char **argv) {
  uint64_t side = weir__bench_option(argc, argv, "--side", 110);
  uint64_t passes = weir__bench_option(argc, argv, "--passes", 10);
  uint64_t repeat = weir__bench_option(argc, argv, "--repeat", 1);
  bool wavefront = strcmp(argv[2], "wavefront") == 0;
  if ((!wavefront && strcmp(argv[2], "stencil") != 0) || side < 3) {
    fprintf(stderr, "\"%s\" is no case of tiles, or less than 3 x 3 of them\n", argv[2]);
    return 2;
  }
  weir__bench_pin();
  for (uint64_t i = 0; i < repeat; i++) run(argv[2], wavefront ? wavefront_args : stencil_args, side, passes);
  return 0;
}
