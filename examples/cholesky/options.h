// SPDX-License-Identifier: Apache-2.0
#ifndef CHOLESKY_OPTIONS_H
#define CHOLESKY_OPTIONS_H

#include <stdbool.h>

typedef enum cholesky_kernels {
  CHOLESKY_OPENBLAS, // kernels.c
  CHOLESKY_OWN,      // own.c
  CHOLESKY_CUBLAS,   // cublas.c
} cholesky_kernels;

// Which device runs a task, where there are several.
typedef enum cholesky_placement {
  CHOLESKY_PLACED, // Weir decides (WEIR_CONTEXT_PLACE)
  CHOLESKY_OWNED,  // that which owns the tile that is updated: tiles are dealt out along diagonals
} cholesky_placement;

enum { CHOLESKY_MOST_PASSES = 1000 };

typedef struct cholesky_options {
  int size;            // rows of the matrix
  int tile;            // rows of a tile
  const char *devices; // for the context
  int workers;         // of the CPU; 0: as `devices` says
  cholesky_kernels kernels;
  int passes; // how often the matrix is factored
  cholesky_placement placement;
  int memory;           // MiB of each card that tiles may take; 0: all
  bool residual;        // the factor is checked by a product with a vector, not by LAPACK
  bool json;            // print one line of JSON
  const char *timeline; // file to write, or NULL
} cholesky_options;

// Reads the command line. When there is nothing to compute, after --help or an error that it prints, returns false with
// the exit code.
bool options_read(int argc, char **argv, cholesky_options *out_options, int *out_exit_code);

#endif // CHOLESKY_OPTIONS_H
