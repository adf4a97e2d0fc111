// SPDX-License-Identifier: Apache-2.0
//
// By Weir: tiles are boxes of one buffer, ranges of one buffer, or buffers of their own.
#include <stdio.h>
#include <stdlib.h>

#include "clock.h"
#include "lu.h"
#include "weir/box.h"

typedef struct sizes {
  uint32_t tile, stride;
} sizes;

static lu_tile tile_of(const weir_work *work, uint32_t index, const sizes *size) {
  return (lu_tile){work->args[index], size->stride};
}

static void factor(const weir_work *work) {
  const sizes *size = work->args[1];
  lu_factor(tile_of(work, 0, size), size->tile);
}

static void solve_left(const weir_work *work) {
  const sizes *size = work->args[2];
  lu_solve_left(tile_of(work, 0, size), tile_of(work, 1, size), size->tile);
}

static void solve_right(const weir_work *work) {
  const sizes *size = work->args[2];
  lu_solve_right(tile_of(work, 0, size), tile_of(work, 1, size), size->tile);
}

static void update(const weir_work *work) {
  const sizes *size = work->args[3];
  lu_update(tile_of(work, 0, size), tile_of(work, 1, size), tile_of(work, 2, size), size->tile);
}

typedef struct program {
  weir_context *context;
  const lu_matrix *matrix;
  lu_shape shape;
  sizes size;
  weir_box box;
  weir_buffer **buffers; // one, or one for each tile
  weir_kernel *factor, *solve_left, *solve_right, *update;
  bool failed;
} program;

static weir_arg reads(const program *lu, uint32_t row, uint32_t column) {
  uint64_t offset = lu_offset(lu->matrix, row, column) * sizeof(double), n = lu->size.tile;
  if (lu->shape == LU_BOXES) return weir_reads_box(lu->buffers[0], offset, &lu->box);
  if (lu->shape == LU_RANGES) return weir_reads_range(lu->buffers[0], offset, n * n * sizeof(double));
  return weir_reads(lu->buffers[column * lu->matrix->tiles + row]);
}

static weir_arg updates(const program *lu, uint32_t row, uint32_t column) {
  uint64_t offset = lu_offset(lu->matrix, row, column) * sizeof(double), n = lu->size.tile;
  if (lu->shape == LU_BOXES) return weir_updates_box(lu->buffers[0], offset, &lu->box);
  if (lu->shape == LU_RANGES) return weir_updates_range(lu->buffers[0], offset, n * n * sizeof(double));
  return weir_updates(lu->buffers[column * lu->matrix->tiles + row]);
}

static void submit(program *lu, weir_kernel *kernel, weir_arg *args, uint32_t count) {
  args[count] = weir_value(&lu->size, sizeof lu->size);
  const weir_task task = {.kernel = kernel, .args = args, .arg_count = count + 1};
  if (weir_submit(lu->context, &task, NULL) != WEIR_OK) lu->failed = true;
}

static void submit_all(program *lu) {
  uint32_t tiles = lu->matrix->tiles;
  weir_arg args[4];
  for (uint32_t k = 0; k < tiles && !lu->failed; k++) {
    args[0] = updates(lu, k, k);
    submit(lu, lu->factor, args, 1);
    args[0] = reads(lu, k, k);
    for (uint32_t j = k + 1; j < tiles; j++) {
      args[1] = updates(lu, k, j);
      submit(lu, lu->solve_left, args, 2);
    }
    for (uint32_t i = k + 1; i < tiles; i++) {
      args[1] = updates(lu, i, k);
      submit(lu, lu->solve_right, args, 2);
    }
    for (uint32_t j = k + 1; j < tiles; j++) {
      for (uint32_t i = k + 1; i < tiles; i++) {
        args[0] = reads(lu, i, k);
        args[1] = reads(lu, k, j);
        args[2] = updates(lu, i, j);
        submit(lu, lu->update, args, 3);
      }
    }
  }
}

static bool make_kernel(weir_context *context, const char *name, weir_function function, weir_kernel **out_kernel) {
  return weir_kernel_create(context, name, out_kernel) == WEIR_OK &&
         weir_kernel_set_cpu(*out_kernel, function) == WEIR_OK;
}

static bool make_buffers(program *lu) {
  const lu_matrix *matrix = lu->matrix;
  uint64_t tile_bytes = (uint64_t)matrix->tile * matrix->tile * sizeof(double),
           count = (uint64_t)matrix->tiles * matrix->tiles;
  lu->buffers = calloc(count, sizeof(weir_buffer *));
  if (lu->buffers == NULL) return false;
  if (lu->shape != LU_BUFFERS)
    return weir_buffer_wrap(lu->context, matrix->elements, lu_elements(matrix) * sizeof(double), &lu->buffers[0]) ==
           WEIR_OK;
  for (uint64_t i = 0; i < count; i++) {
    double *first = matrix->elements + i * matrix->tile * matrix->tile;
    if (weir_buffer_wrap(lu->context, first, tile_bytes, &lu->buffers[i]) != WEIR_OK) return false;
  }
  return true;
}

static double run(program *lu) {
  weir_context *context = lu->context;
  if (!make_kernel(context, "factor", factor, &lu->factor) ||
      !make_kernel(context, "solve left", solve_left, &lu->solve_left) ||
      !make_kernel(context, "solve right", solve_right, &lu->solve_right) ||
      !make_kernel(context, "update", update, &lu->update) || !make_buffers(lu))
    return -1;
  double start = weir__bench_seconds();
  submit_all(lu);
  bool done = weir_finish(context) == WEIR_OK && !lu->failed;
  return done ? weir__bench_seconds() - start : -1;
}

double lu_by_weir(lu_matrix *matrix, lu_shape shape, uint32_t workers) {
  char devices[32];
  snprintf(devices, sizeof devices, "cpu:%u", workers);
  uint64_t n = matrix->tile, pitch = lu_pitch(matrix) * sizeof(double);
  program lu = {.matrix = matrix,
                .shape = shape,
                .size = {matrix->tile, matrix->contiguous ? matrix->tile : (uint32_t)lu_pitch(matrix)},
                .box = {.width = n * sizeof(double), .pitch = pitch, .rows = n}};
  double seconds = -1;
  const weir_context_options options = {.devices = devices};
  if (weir_context_create(&options, &lu.context) == WEIR_OK) seconds = run(&lu);
  if (seconds < 0) fprintf(stderr, "weir-bench-lu: %s\n", weir_last_error());
  weir_context_release(lu.context);
  free(lu.buffers);
  return seconds;
}
