// SPDX-License-Identifier: Apache-2.0
//
// A symmetric matrix cut into square tiles. The tiles of the lower triangle are stored one after another, each by
// columns. Those of the last row of tiles are smaller where the tile size does not divide the matrix.
#ifndef CHOLESKY_TILES_H
#define CHOLESKY_TILES_H

#include <stddef.h>

typedef struct tiling {
  int size;  // rows of the matrix
  int tile;  // rows of a whole tile
  int count; // rows of tiles
} tiling;

tiling tiles_of(int size, int tile);

// Rows of row `i` of tiles, which are also the columns of column `i`.
int tiles_rows(const tiling *tiles, int i);

// Tile (i, j) of the lower triangle: its number, 0 .. tiles_stored() - 1, and where it starts in the stored tiles, in
// elements.
int tiles_number(int i, int j);
int tiles_stored(const tiling *tiles);
size_t tiles_start(const tiling *tiles, int i, int j);

// Elements of all stored tiles.
size_t tiles_elements(const tiling *tiles);

// Copies the lower triangle of a matrix by columns into stored tiles.
void tiles_pack(const tiling *tiles, const double *matrix, double *stored);

// Greatest difference between the stored tiles and the lower triangle of a matrix by columns; NaN when there is one.
double tiles_difference(const tiling *tiles, const double *stored, const double *matrix);

#endif // CHOLESKY_TILES_H
