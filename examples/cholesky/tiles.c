// SPDX-License-Identifier: Apache-2.0
#include "tiles.h"

#include <math.h>

tiling tiles_of(int size, int tile) {
  return (tiling){.size = size, .tile = tile, .count = (size + tile - 1) / tile};
}

int tiles_rows(const tiling *tiles, int i) {
  int left = tiles->size - i * tiles->tile;
  return left < tiles->tile ? left : tiles->tile;
}

int tiles_number(int i, int j) {
  return i * (i + 1) / 2 + j;
}

int tiles_stored(const tiling *tiles) {
  return tiles_number(tiles->count, 0);
}

size_t tiles_start(const tiling *tiles, int i, int j) {
  size_t tile = (size_t)tiles->tile;
  return (size_t)tiles_number(i, 0) * tile * tile + (size_t)j * tile * (size_t)tiles_rows(tiles, i);
}

size_t tiles_elements(const tiling *tiles) {
  size_t rows = (size_t)tiles_rows(tiles, tiles->count - 1);
  return tiles_start(tiles, tiles->count - 1, tiles->count - 1) + rows * rows;
}

void tiles_pack(const tiling *tiles, const double *matrix, double *stored) {
  for (int i = 0; i < tiles->count; i++) {
    for (int j = 0; j <= i; j++) {
      const double *from =
          matrix + (size_t)j * (size_t)tiles->tile * (size_t)tiles->size + (size_t)i * (size_t)tiles->tile;
      double *to = stored + tiles_start(tiles, i, j);
      int rows = tiles_rows(tiles, i);
      for (int column = 0; column < tiles_rows(tiles, j); column++) {
        for (int row = 0; row < rows; row++) *to++ = from[(size_t)column * (size_t)tiles->size + (size_t)row];
      }
    }
  }
}

double tiles_difference(const tiling *tiles, const double *stored, const double *matrix) {
  double greatest = 0;
  for (int i = 0; i < tiles->count; i++) {
    for (int j = 0; j <= i; j++) {
      const double *tile = stored + tiles_start(tiles, i, j);
      int rows = tiles_rows(tiles, i);
      for (int column = 0; column < tiles_rows(tiles, j); column++) {
        for (int row = i == j ? column : 0; row < rows; row++) {
          size_t index = (size_t)(j * tiles->tile + column) * (size_t)tiles->size + (size_t)(i * tiles->tile + row);
          double difference = fabs(tile[(size_t)column * (size_t)rows + (size_t)row] - matrix[index]);
          if (!(difference <= greatest)) greatest = difference;
          if (isnan(greatest)) return greatest;
        }
      }
    }
  }
  return greatest;
}
