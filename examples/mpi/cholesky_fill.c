// SPDX-License-Identifier: Apache-2.0
//
// Fills a tile with its part of the matrix of examples/cholesky/matrix.c, where the tile is.
#include <weir/kernel.h>

#include "tile_place.h"

// As number_of and matrix_element there, to the bit.
WEIR_FUNCTION double fill_number(uint64_t key) {
  key = (key + 1) * 0x9e3779b97f4a7c15u;
  key = (key ^ key >> 30) * 0xbf58476d1ce4e5b9u;
  key = (key ^ key >> 27) * 0x94d049bb133111ebu;
  return (double)((key ^ key >> 31) >> 11) / 9007199254740992.0;
}

WEIR_KERNEL(cholesky_fill, 128, 1, 1, (WEIR_SCALAR(tile_place, at), WEIR_BUFFER(double, tile))) {
  WEIR_FOR_EACH_ITEM_NOWAIT {
    int index = weir_global_id(0), row = at.first_row + index % at.rows, column = at.first_column + index / at.rows;
    if (index >= at.rows * at.columns) continue;
    uint64_t greater = (uint64_t)(row > column ? row : column), less = (uint64_t)(row > column ? column : row);
    tile[index] = fill_number(greater << 32 | less) + (row == column ? at.size : 0);
  }
}
