// SPDX-License-Identifier: Apache-2.0
//
// Tiled Cholesky factorisation, checked against LAPACK on the whole matrix or by a product with a vector: on the CPU with OpenBLAS for the tiles, on any
// device with kernels that are written once.
#include <float.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <cblas.h>
#include <lapacke.h>

#include "factor.h"
#include "matrix.h"
#include "options.h"
#include "tiles.h"

// A symmetric matrix with elements from 0 to 1 off the diagonal, which `size` more make dominant.
static void fill_matrix(int size, double *matrix) {
  uint64_t state = 1;
  for (int column = 0; column < size; column++) {
    for (int row = column; row < size; row++) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      double value = (double)(state >> 33) / (double)(1u << 31) + (row == column ? size : 0);
      matrix[(size_t)column * (size_t)size + (size_t)row] = value;
      matrix[(size_t)row * (size_t)size + (size_t)column] = value;
    }
  }
}

// Fills and factors a small matrix, so that what OpenBLAS sets up at its first use is not timed.
static void warm_up(int size, double *matrix) {
  int small = size < 256 ? size : 256;
  fill_matrix(small, matrix);
  LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'L', small, matrix, small);
}

// Factors the whole matrix in place with LAPACK, in this thread.
static bool factor_with_lapack(int size, double *matrix, double *out_seconds) {
  struct timespec start, end;
  clock_gettime(CLOCK_MONOTONIC, &start);
  lapack_int info = LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'L', size, matrix, size);
  clock_gettime(CLOCK_MONOTONIC, &end);
  *out_seconds = (double)(end.tv_sec - start.tv_sec) + 1e-9 * (double)(end.tv_nsec - start.tv_nsec);
  return info == 0;
}

// A number that tells factors apart whose bits differ (FNV-1a).
static uint64_t hash_of(const double *stored, size_t count) {
  const unsigned char *bytes = (const unsigned char *)stored;
  uint64_t hash = 14695981039346656037u;
  for (size_t i = 0; i < count * sizeof(double); i++) hash = (hash ^ bytes[i]) * 1099511628211u;
  return hash;
}

static const char *name_of(cholesky_kernels kernels) {
  return kernels == CHOLESKY_OWN ? "own" : kernels == CHOLESKY_CUBLAS ? "cuBLAS" : "OpenBLAS";
}

static double shortest_of(const cholesky_options *options, const factor_result *result) {
  double shortest = result->seconds[0];
  for (int pass = 1; pass < options->passes; pass++) {
    if (result->seconds[pass] < shortest) shortest = result->seconds[pass];
  }
  return shortest;
}

static double flops_of(const cholesky_options *options) {
  return (double)options->size * options->size * options->size / 3;
}

static void print_json(const cholesky_options *options, const factor_result *result, bool right) {
  printf(
      "{\"size\": %d, \"tile\": %d, \"devices\": \"%s\", \"kernels\": \"%s\", \"place\": \"%s\", \"memory_mib\": %d, ",
      options->size, options->tile, options->devices, name_of(options->kernels),
      options->placement == CHOLESKY_OWNED ? "owner" : "auto", options->memory);
  printf("\"right\": %s, \"transfers\": %" PRIu64 ", \"transfer_bytes\": %" PRIu64 ", \"evictions\": %" PRIu64
         ", \"seconds\": [",
         right ? "true" : "false", result->statistics.transfers, result->statistics.transfer_bytes,
         result->statistics.evictions);
  for (int pass = 0; pass < options->passes; pass++) printf("%s%.6f", pass == 0 ? "" : ", ", result->seconds[pass]);
  printf("]}\n");
}

static void print_text(const cholesky_options *options, const factor_result *result) {
  double seconds = shortest_of(options, result);
  printf("%d x %d, tiles of %d, on %s with %s kernels\n", options->size, options->size, options->tile, options->devices,
         name_of(options->kernels));
  printf("  Weir             %9.3f ms %7.2f GFLOP/s\n", 1e3 * seconds, 1e-9 * flops_of(options) / seconds);
}

static int exit_code_of(weir_status status) {
  return status == WEIR_ERROR_UNAVAILABLE ? 3 : status == WEIR_ERROR_INVALID_ARGUMENT ? 2 : 1;
}

static int compare(const cholesky_options *options, const tiling *tiles, double *matrix, double *stored,
                   factor_result *result) {
  warm_up(options->size, matrix);
  fill_matrix(options->size, matrix);
  tiles_pack(tiles, matrix, stored);

  double lapack_seconds;
  if (!factor_with_lapack(options->size, matrix, &lapack_seconds)) {
    fprintf(stderr, "cholesky: LAPACK failed\n");
    return 1;
  }
  weir_status status = factor_tiles(options, tiles, stored, result);
  if (status != WEIR_OK) return exit_code_of(status);

  double difference = tiles_difference(tiles, stored, matrix);
  double allowed = options->size * DBL_EPSILON * matrix[0];
  bool right = difference <= allowed;
  if (options->json) {
    print_json(options, result, right);
    return right ? 0 : 1;
  }
  print_text(options, result);
  printf("  LAPACK, 1 thread %9.3f ms %7.2f GFLOP/s\n", 1e3 * lapack_seconds,
         1e-9 * flops_of(options) / lapack_seconds);
  printf("  greatest difference %.2e of at most %.2e: %s\n", difference, allowed, right ? "right" : "WRONG");
  if (options->kernels == CHOLESKY_OWN)
    printf("  hash of the factor %016" PRIx64 "\n", hash_of(stored, tiles_elements(tiles)));
  return right ? 0 : 1;
}

// The same without LAPACK, and without the whole matrix.
static int check_residual(const cholesky_options *options, const tiling *tiles, double *stored, factor_result *result) {
  static const double ALLOWED = 30; // as LAPACK's tests
  matrix_fill(tiles, stored);
  weir_status status = factor_tiles(options, tiles, stored, result);
  if (status != WEIR_OK) return exit_code_of(status);
  double residual = matrix_residual(tiles, stored);
  bool right = residual >= 0 && residual <= ALLOWED;
  if (options->json) {
    print_json(options, result, right);
    return right ? 0 : 1;
  }
  print_text(options, result);
  printf("  residual %.2e of at most %.0f: %s\n", residual, ALLOWED, right ? "right" : "WRONG");
  return right ? 0 : 1;
}

int main(int argc, char **argv) {
  cholesky_options options;
  int exit_code;
  if (!options_read(argc, argv, &options, &exit_code)) return exit_code;
  openblas_set_num_threads(1); // tiles run side by side; each is the work of one thread

  tiling tiles = tiles_of(options.size, options.tile);
  size_t size = (size_t)options.size;
  double *matrix = options.residual ? NULL : malloc(size * size * sizeof(double));
  double *stored = malloc(tiles_elements(&tiles) * sizeof(double));
  static factor_result result;
  if ((!matrix && !options.residual) || !stored) {
    fprintf(stderr, "cholesky: no memory for a matrix of %zu rows\n", size);
    exit_code = 1;
  } else if (options.residual) {
    exit_code = check_residual(&options, &tiles, stored, &result);
  } else {
    exit_code = compare(&options, &tiles, matrix, stored, &result);
  }
  free(matrix);
  free(stored);
  if (exit_code == 0 && fflush(stdout) != 0) {
    fprintf(stderr, "cholesky: cannot write to standard output\n");
    exit_code = 1;
  }
  return exit_code;
}
