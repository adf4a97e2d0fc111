// SPDX-License-Identifier: Apache-2.0
//
// The first argument of every tile kernel. Plain C for every device.
#ifndef CHOLESKY_TILE_SHAPE_H
#define CHOLESKY_TILE_SHAPE_H

typedef struct tile_shape {
  int rows;    // of the tile that is updated
  int columns; // of the tile that is updated
  int inner;   // columns of the tiles that are multiplied
  int lower;   // not 0: only the lower triangle of the tile is wanted
} tile_shape;

#endif // CHOLESKY_TILE_SHAPE_H
