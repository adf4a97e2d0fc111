// SPDX-License-Identifier: Apache-2.0
//
// By tasks of OpenMP that depend on the first element of each tile.
#include "clock.h"
#include "lu.h"

#ifdef WEIR_BENCH_OPENMP

bool lu_has_openmp(void) {
  return true;
}

static void submit_all(const lu_matrix *matrix) {
  uint32_t tiles = matrix->tiles, n = matrix->tile;
  for (uint32_t k = 0; k < tiles; k++) {
    lu_tile a = lu_tile_at(matrix, k, k);
#pragma omp task firstprivate(a, n) depend(inout : a.first[0])
    lu_factor(a, n);
    for (uint32_t j = k + 1; j < tiles; j++) {
      lu_tile b = lu_tile_at(matrix, k, j);
#pragma omp task firstprivate(a, b, n) depend(in : a.first[0]) depend(inout : b.first[0])
      lu_solve_left(a, b, n);
    }
    for (uint32_t i = k + 1; i < tiles; i++) {
      lu_tile b = lu_tile_at(matrix, i, k);
#pragma omp task firstprivate(a, b, n) depend(in : a.first[0]) depend(inout : b.first[0])
      lu_solve_right(a, b, n);
    }
    for (uint32_t j = k + 1; j < tiles; j++) {
      for (uint32_t i = k + 1; i < tiles; i++) {
        lu_tile left = lu_tile_at(matrix, i, k), up = lu_tile_at(matrix, k, j), c = lu_tile_at(matrix, i, j);
#pragma omp task firstprivate(left, up, c, n) depend(in : left.first[0], up.first[0]) depend(inout : c.first[0])
        lu_update(left, up, c, n);
      }
    }
  }
}

double lu_by_openmp(lu_matrix *matrix, uint32_t workers) {
  double start = weir__bench_seconds();
#pragma omp parallel num_threads(workers)
#pragma omp single
  submit_all(matrix);
  return weir__bench_seconds() - start;
}

#else

bool lu_has_openmp(void) {
  return false;
}

double lu_by_openmp(lu_matrix *matrix, uint32_t workers) {
  (void)matrix;
  (void)workers;
  return -1;
}

#endif
