// SPDX-License-Identifier: Apache-2.0
#include "matrix.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

// A number from 0 to 1 (the finaliser of SplitMix64).
static double number_of(uint64_t key) {
  key = (key + 1) * 0x9e3779b97f4a7c15u;
  key = (key ^ key >> 30) * 0xbf58476d1ce4e5b9u;
  key = (key ^ key >> 27) * 0x94d049bb133111ebu;
  return (double)((key ^ key >> 31) >> 11) / 9007199254740992.0;
}

double matrix_element(int size, int row, int column) {
  int greater = row > column ? row : column, less = row > column ? column : row;
  return number_of((uint64_t)greater << 32 | (uint64_t)less) + (row == column ? size : 0);
}

// Calls for each element of each stored tile that is on or below the diagonal.
typedef void (*visit)(void *user, int row, int column, double *element);

static void visit_tile(const tiling *tiles, int i, int j, double *tile, visit function, void *user) {
  int rows = tiles_rows(tiles, i), columns = tiles_rows(tiles, j);
  for (int column = 0; column < columns; column++) {
    for (int row = i == j ? column : 0; row < rows; row++)
      function(user, i * tiles->tile + row, j * tiles->tile + column,
               &tile[(size_t)column * (size_t)rows + (size_t)row]);
  }
}

static void visit_all(const tiling *tiles, double *stored, visit function, void *user) {
  for (int i = 0; i < tiles->count; i++) {
    for (int j = 0; j <= i; j++) visit_tile(tiles, i, j, stored + tiles_start(tiles, i, j), function, user);
  }
}

static void fill(void *user, int row, int column, double *element) {
  const tiling *tiles = user;
  *element = matrix_element(tiles->size, row, column);
}

void matrix_fill(const tiling *tiles, double *stored) {
  size_t count = tiles_elements(tiles);
  for (size_t i = 0; i < count; i++) stored[i] = 0; // above the diagonal
  tiling copy = *tiles;
  visit_all(tiles, stored, fill, &copy);
}

typedef struct products {
  int size;
  double *x, *ax, *ltx, *lltx;
} products;

static void multiply(void *user, int row, int column, double *element) {
  products *self = user;
  double value = matrix_element(self->size, row, column);
  self->ax[row] += value * self->x[column];
  if (row != column) self->ax[column] += value * self->x[row];
  self->ltx[column] += *element * self->x[row];
}

static void multiply_again(void *user, int row, int column, double *element) {
  products *self = user;
  self->lltx[row] += *element * self->ltx[column];
}

double matrix_residual(const tiling *tiles, const double *stored) {
  size_t size = (size_t)tiles->size;
  double *vectors = calloc(4 * size, sizeof *vectors);
  if (!vectors) return -1;
  products self = {
      .size = tiles->size, .x = vectors, .ax = vectors + size, .ltx = vectors + 2 * size, .lltx = vectors + 3 * size};
  for (size_t i = 0; i < size; i++) self.x[i] = number_of((uint64_t)1 << 63 | i) - 0.5;
  double *read = (double *)(uintptr_t)stored; // it is only read
  visit_all(tiles, read, multiply, &self);
  visit_all(tiles, read, multiply_again, &self);
  double greatest = 0;
  for (size_t i = 0; i < size; i++) {
    double difference = fabs(self.ax[i] - self.lltx[i]);
    if (!(difference <= greatest)) greatest = difference;
  }
  free(vectors);
  // The norm of A is at most 2 * size, that of x 1/2.
  return greatest / ((double)size * (double)size * DBL_EPSILON);
}
