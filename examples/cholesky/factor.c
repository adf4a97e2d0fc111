// SPDX-License-Identifier: Apache-2.0
//
// A buffer per tile, a task per tile operation, submitted in the order of the textbook loop. No dependence is named.
#include "factor.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <weir/weir.h>

#include "cublas.h"
#include "kernels.h"
#include "own.kernels.h"

typedef struct factorisation {
  weir_context *context;
  cholesky_kernels kernels;
  bool owned;             // tasks run where the tile is that they update
  cublas_library *cublas; // NULL: other kernels
  weir_kernel *potrf, *trsm, *syrk, *gemm;
  const tiling *tiles;
  weir_buffer **buffers; // per stored tile
} factorisation;

static bool succeeded(weir_status status) {
  if (status != WEIR_OK) fprintf(stderr, "cholesky: %s: %s\n", weir_status_name(status), weir_last_error());
  return status == WEIR_OK;
}

static double seconds_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static bool create_kernel(const factorisation *f, const char *name, weir_function function, const weir_kernel_code *own,
                          weir_kernel **out_kernel) {
  if (f->kernels == CHOLESKY_OWN) return succeeded(weir_kernel_create_from(f->context, own, out_kernel));
  return succeeded(weir_kernel_create(f->context, name, out_kernel)) &&
         succeeded(f->cublas != NULL ? cublas_set(f->cublas, *out_kernel, name)
                                     : weir_kernel_set_cpu(*out_kernel, function));
}

static uint64_t tile_bytes(const tiling *tiles, int i, int j) {
  return (uint64_t)tiles_rows(tiles, i) * (uint64_t)tiles_rows(tiles, j) * sizeof(double);
}

static weir_buffer *buffer_of(const factorisation *f, int i, int j) {
  return f->buffers[tiles_number(i, j)];
}

// Work-groups that update a tile: libraries do a tile at once, our own kernels parts of it.
static void set_groups(const factorisation *f, const tile_shape *shape, weir_task *task) {
  if (f->kernels != CHOLESKY_OWN || task->kernel == f->potrf) return;
  int rows_of_group = task->kernel == f->trsm ? 32 : 64;
  task->groups[0] = (uint32_t)((shape->rows + rows_of_group - 1) / rows_of_group);
  if (task->kernel != f->trsm) task->groups[1] = (uint32_t)((shape->columns + 63) / 64);
}

static const char *name_of(const factorisation *f, const weir_kernel *kernel) {
  return kernel == f->potrf ? "potrf" : kernel == f->trsm ? "trsm" : kernel == f->syrk ? "syrk" : "gemm";
}

static weir_device *owner_of(const factorisation *f, int i, int j) {
  return weir_context_device(f->context, (uint32_t)(i + j) % weir_context_device_count(f->context));
}

// Submits a kernel on tile (i, j); the operands, if any, were factored in step k.
static bool submit(const factorisation *f, weir_kernel *kernel, int i, int j, int k, int priority,
                   const weir_arg *operands, uint32_t operand_count) {
  tile_shape shape = {tiles_rows(f->tiles, i), tiles_rows(f->tiles, j), tiles_rows(f->tiles, k), i == j};
  weir_arg args[4] = {weir_value(&shape, sizeof shape)};
  for (uint32_t index = 0; index < operand_count; index++) args[1 + index] = operands[index];
  args[1 + operand_count] = weir_updates(buffer_of(f, i, j));

  char label[48];
  snprintf(label, sizeof label, "%s %d,%d", name_of(f, kernel), i, j);
  weir_task task = {
      .kernel = kernel, .args = args, .arg_count = 2 + operand_count, .priority = priority, .label = label};
  if (f->owned) task.device = owner_of(f, i, j);
  set_groups(f, &shape, &task);
  return succeeded(weir_submit(f->context, &task, NULL));
}

static bool submit_all(const factorisation *f) {
  int count = f->tiles->count;
  for (int k = 0; k < count; k++) {
    if (!submit(f, f->potrf, k, k, k, 3, NULL, 0)) return false;
    for (int i = k + 1; i < count; i++) {
      weir_arg factor = weir_reads(buffer_of(f, k, k));
      if (!submit(f, f->trsm, i, k, k, 2, &factor, 1)) return false;
    }
    for (int i = k + 1; i < count; i++) {
      for (int j = k + 1; j < i; j++) {
        weir_arg operands[] = {weir_reads(buffer_of(f, i, k)), weir_reads(buffer_of(f, j, k))};
        if (!submit(f, f->gemm, i, j, k, 0, operands, 2)) return false;
      }
      // Our own kernel for A * A^T is that for A * B^T.
      weir_arg operands[] = {weir_reads(buffer_of(f, i, k)), weir_reads(buffer_of(f, i, k))};
      if (!submit(f, f->syrk, i, i, k, 1, operands, f->kernels == CHOLESKY_OWN ? 2 : 1)) return false;
    }
  }
  return true;
}

static bool copy_tiles(const factorisation *f, double *stored, bool in) {
  for (int i = 0; i < f->tiles->count; i++) {
    for (int j = 0; j <= i; j++) {
      double *tile = stored + tiles_start(f->tiles, i, j);
      uint64_t bytes = tile_bytes(f->tiles, i, j);
      weir_buffer *buffer = buffer_of(f, i, j);
      weir_status status =
          in ? weir_copy_in(buffer, 0, bytes, tile, NULL) : weir_copy_out(buffer, 0, bytes, tile, NULL);
      if (!succeeded(status)) return false;
    }
  }
  return succeeded(weir_finish(f->context));
}

static bool create_all(factorisation *f) {
  if (f->kernels == CHOLESKY_CUBLAS) {
    f->cublas = cublas_open(f->context, f->tiles->tile);
    if (f->cublas == NULL) return false;
  }
  if (!create_kernel(f, "potrf", kernel_potrf, &own_potrf, &f->potrf)) return false;
  if (!create_kernel(f, "trsm", kernel_trsm, &own_trsm, &f->trsm)) return false;
  if (!create_kernel(f, "syrk", kernel_syrk, &own_gemm, &f->syrk)) return false;
  if (!create_kernel(f, "gemm", kernel_gemm, &own_gemm, &f->gemm)) return false;
  for (int i = 0; i < f->tiles->count; i++) {
    for (int j = 0; j <= i; j++) {
      weir_buffer **buffer = &f->buffers[tiles_number(i, j)];
      char label[48];
      snprintf(label, sizeof label, "tile %d,%d", i, j);
      if (!succeeded(weir_buffer_create(f->context, tile_bytes(f->tiles, i, j), buffer))) return false;
      if (!succeeded(weir_buffer_set_label(*buffer, label))) return false;
    }
  }
  return true;
}

// Factors the matrix again and again.
static bool run(factorisation *f, int passes, double *stored, factor_result *out_result) {
  if (!create_all(f)) return false;
  for (int pass = 0; pass < passes; pass++) {
    if (!copy_tiles(f, stored, true)) return false;
    double start = seconds_now();
    if (!submit_all(f) || !succeeded(weir_finish(f->context))) return false;
    out_result->seconds[pass] = seconds_now() - start;
    if (pass + 1 < passes) weir_trace_clear(f->context);
  }
  weir_context_statistics(f->context, &out_result->statistics);
  return copy_tiles(f, stored, false);
}

weir_status factor_tiles(const cholesky_options *options, const tiling *tiles, double *stored,
                         factor_result *out_result) {
  char devices[32];
  if (options->workers > 0) snprintf(devices, sizeof devices, "cpu:%d", options->workers);
  weir_context_options context_options = {.devices = options->workers > 0 ? devices : options->devices,
                                          .device_memory_limit = (uint64_t)options->memory << 20,
                                          .flags = options->timeline ? WEIR_CONTEXT_TRACE : 0};
  bool several = strchr(context_options.devices, ',') != NULL;
  if (several && options->placement == CHOLESKY_PLACED) context_options.flags |= WEIR_CONTEXT_PLACE;
  factorisation f = {.tiles = tiles,
                     .kernels = options->kernels,
                     .owned = several && options->placement == CHOLESKY_OWNED,
                     .buffers = calloc((size_t)tiles_stored(tiles), sizeof(weir_buffer *))};
  if (!f.buffers) {
    fprintf(stderr, "cholesky: no memory\n");
    return WEIR_ERROR_OUT_OF_MEMORY;
  }
  weir_status status = weir_context_create(&context_options, &f.context);
  if (succeeded(status)) {
    bool good = run(&f, options->passes, stored, out_result);
    if (good && options->timeline) good = succeeded(weir_trace_save(f.context, options->timeline, "Tiled Cholesky"));
    if (!good) {
      status = WEIR_ERROR_TASK_FAILED;
      weir_context_cancel(f.context); // what was submitted is of no use any more
    }
  }
  weir_context_release(f.context); // and with it the kernels and buffers
  cublas_close(f.cublas);
  free(f.buffers);
  return status;
}
