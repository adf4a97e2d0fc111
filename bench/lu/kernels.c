// SPDX-License-Identifier: Apache-2.0
#include "clock.h"
#include "lu.h"

void lu_factor(lu_tile a, uint32_t n) {
  for (uint32_t k = 0; k < n; k++) {
    double *column = a.first + (uint64_t)k * a.stride, inverse = 1 / column[k];
    for (uint32_t i = k + 1; i < n; i++) column[i] *= inverse;
    for (uint32_t j = k + 1; j < n; j++) {
      double *to = a.first + (uint64_t)j * a.stride, factor = to[k];
      for (uint32_t i = k + 1; i < n; i++) to[i] -= column[i] * factor;
    }
  }
}

void lu_solve_left(lu_tile a, lu_tile b, uint32_t n) {
  for (uint32_t j = 0; j < n; j++) {
    double *to = b.first + (uint64_t)j * b.stride;
    for (uint32_t k = 0; k < n; k++) {
      const double *column = a.first + (uint64_t)k * a.stride;
      for (uint32_t i = k + 1; i < n; i++) to[i] -= column[i] * to[k];
    }
  }
}

void lu_solve_right(lu_tile a, lu_tile b, uint32_t n) {
  for (uint32_t j = 0; j < n; j++) {
    double *to = b.first + (uint64_t)j * b.stride;
    const double *column = a.first + (uint64_t)j * a.stride;
    for (uint32_t k = 0; k < j; k++) {
      const double *from = b.first + (uint64_t)k * b.stride;
      for (uint32_t i = 0; i < n; i++) to[i] -= from[i] * column[k];
    }
    double inverse = 1 / column[j];
    for (uint32_t i = 0; i < n; i++) to[i] *= inverse;
  }
}

void lu_update(lu_tile a, lu_tile b, lu_tile c, uint32_t n) {
  for (uint32_t j = 0; j < n; j++) {
    double *restrict to = c.first + (uint64_t)j * c.stride;
    const double *column = b.first + (uint64_t)j * b.stride;
    for (uint32_t k = 0; k < n; k++) {
      const double *restrict from = a.first + (uint64_t)k * a.stride;
      double factor = column[k];
      for (uint32_t i = 0; i < n; i++) to[i] -= from[i] * factor;
    }
  }
}

double lu_serial(lu_matrix *matrix) {
  uint32_t n = matrix->tile, tiles = matrix->tiles;
  double start = weir__bench_seconds();
  for (uint32_t k = 0; k < tiles; k++) {
    lu_tile a = lu_tile_at(matrix, k, k);
    lu_factor(a, n);
    for (uint32_t j = k + 1; j < tiles; j++) lu_solve_left(a, lu_tile_at(matrix, k, j), n);
    for (uint32_t i = k + 1; i < tiles; i++) lu_solve_right(a, lu_tile_at(matrix, i, k), n);
    for (uint32_t j = k + 1; j < tiles; j++) {
      for (uint32_t i = k + 1; i < tiles; i++)
        lu_update(lu_tile_at(matrix, i, k), lu_tile_at(matrix, k, j), lu_tile_at(matrix, i, j), n);
    }
  }
  return weir__bench_seconds() - start;
}
