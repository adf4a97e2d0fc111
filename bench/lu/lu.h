// SPDX-License-Identifier: Apache-2.0
//
// Right-looking LU without pivoting, by tiles: the kernels, and the ways of ordering them.
#ifndef WEIR_BENCH_LU_H
#define WEIR_BENCH_LU_H

#include <stdbool.h>
#include <stdint.h>

// A tile: its first element, and how many elements lie between columns.
typedef struct lu_tile {
  double *first;
  uint32_t stride;
} lu_tile;

// A = L U in place; B = L^-1 B; B = B U^-1; C = C - A B. All tiles have `n` rows and columns.
void lu_factor(lu_tile a, uint32_t n);
void lu_solve_left(lu_tile a, lu_tile b, uint32_t n);
void lu_solve_right(lu_tile a, lu_tile b, uint32_t n);
void lu_update(lu_tile a, lu_tile b, lu_tile c, uint32_t n);

// A matrix of `tiles` x `tiles` tiles.
typedef struct lu_matrix {
  double *elements;
  uint32_t tile, tiles;
  uint32_t pad;    // elements between columns, if the matrix is column-major
  bool contiguous; // each tile by itself, tiles in column-major order; else the matrix is column-major
} lu_matrix;

static inline uint64_t lu_size(const lu_matrix *matrix) {
  return (uint64_t)matrix->tile * matrix->tiles;
}

// From the first element of a column to that of the next, in a column-major matrix.
static inline uint64_t lu_pitch(const lu_matrix *matrix) {
  return lu_size(matrix) + matrix->pad;
}

// Elements that it takes.
static inline uint64_t lu_elements(const lu_matrix *matrix) {
  return lu_size(matrix) * (matrix->contiguous ? lu_size(matrix) : lu_pitch(matrix));
}

// Where a tile begins in the elements.
static inline uint64_t lu_offset(const lu_matrix *matrix, uint32_t row, uint32_t column) {
  uint64_t n = matrix->tile;
  if (matrix->contiguous) return ((uint64_t)column * matrix->tiles + row) * n * n;
  return column * n * lu_pitch(matrix) + row * n;
}

static inline lu_tile lu_tile_at(const lu_matrix *matrix, uint32_t row, uint32_t column) {
  return (lu_tile){matrix->elements + lu_offset(matrix, row, column),
                   matrix->contiguous ? matrix->tile : (uint32_t)lu_pitch(matrix)};
}

// How a tile is declared.
typedef enum lu_shape { LU_BOXES, LU_RANGES, LU_BUFFERS } lu_shape;

// Factor the matrix with `workers` workers. Return seconds from the first task's submission to the end of the last one;
// negative: it failed, and stderr says why.
double lu_by_weir(lu_matrix *matrix, lu_shape shape, uint32_t workers);
double lu_by_openmp(lu_matrix *matrix, uint32_t workers); // negative without a text: built without OpenMP
bool lu_has_openmp(void);
double lu_serial(lu_matrix *matrix); // one kernel after another, in this thread

#endif // WEIR_BENCH_LU_H
