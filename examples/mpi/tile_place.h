// SPDX-License-Identifier: Apache-2.0
//
// The first argument of the kernel that fills a tile. Plain C for every device.
#ifndef CHOLESKY_TILE_PLACE_H
#define CHOLESKY_TILE_PLACE_H

typedef struct tile_place {
  int size; // rows of the matrix
  int first_row, first_column, rows, columns;
} tile_place;

#endif // CHOLESKY_TILE_PLACE_H
