// SPDX-License-Identifier: Apache-2.0
//
// A tiled Cholesky factorisation in double precision: its operations in the textbook's order, each a call of a library.
#ifndef WEIR_BENCH_LIBRARY_CHOLESKY_H
#define WEIR_BENCH_LIBRARY_CHOLESKY_H

#include "libraries.h"
#include "report.h"

typedef enum cholesky_what { POTRF, TRSM, SYRK, GEMM } cholesky_what;

// An operation on tile (i, j) with what step k factored.
typedef struct cholesky_operation {
  cholesky_what what;
  int i, j, k;
} cholesky_operation;

typedef struct cholesky {
  int size, tile, count; // rows of the matrix, of a tile (which divides it), of tiles
  int stored;            // tiles of the lower triangle
  size_t tile_bytes;
  CUdeviceptr matrix;  // the stored tiles, one behind the other
  CUdeviceptr factors; // what the first way made of them, to compare with
  int operation_count;
  cholesky_operation *operations;
} cholesky;

static inline int cholesky_number(int i, int j) {
  return i * (i + 1) / 2 + j;
}

// Puts an operation on the lane's stream. `a` and `b` are its operands, `c` its tile.
int cholesky_call(const cholesky *problem, const cholesky_operation *operation, const call_lane *lane, CUdeviceptr a,
                  CUdeviceptr b, CUdeviceptr c);

// The numbers of the tiles that an operation reads; -1: none.
void cholesky_operands(const cholesky_operation *operation, int out_operands[2]);

// Compares factors in memory of the card with those of the first way, which they become if there are none. Ends the program if
// they differ by more than rounding.
void cholesky_compare(cholesky *problem, const char *way, CUdeviceptr factors);

// Measures all ways for one size of tiles: `passes` after the first.
void cholesky_measure(int size, int tile, int passes, table *report);

// By hand: with one stream or several, in order or as a graph (cholesky_hand.c).
void cholesky_by_hand(cholesky *problem, int streams, bool graph, int passes, table *report);
// The whole matrix by cuSOLVER (cholesky_hand.c).
void cholesky_by_solver(const cholesky *problem, int passes, table *report);
// By Weir (cholesky_weir.c).
void cholesky_by_weir(cholesky *problem, int issue, bool graph, int passes, table *report);

#endif // WEIR_BENCH_LIBRARY_CHOLESKY_H
