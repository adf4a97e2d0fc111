// SPDX-License-Identifier: Apache-2.0
//
// A matrix in tiles over ranks, and the loop that factors it.
#ifndef MPI_CHOLESKY_FACTOR_H
#define MPI_CHOLESKY_FACTOR_H

#include <stdbool.h>
#include <weir/mpi.h>

#include "cublas.h"
#include "tiles.h"

typedef struct factorisation {
  weir_context *context;
  weir_mpi *mpi;
  weir_mpi_nccl *nccl; // NULL: tiles travel as messages
  tiling tiles;
  int rows, columns;      // of the grid of ranks
  bool diagonals;         // tiles are dealt out along them, and not by the grid
  weir_device *card;      // NULL: the CPU
  cublas_library *cublas; // NULL: the CPU
  weir_kernel *fill, *potrf, *trsm, *syrk, *gemm;
  weir_buffer **buffers; // of each stored tile
  weir_buffer **copies;  // with NCCL, of each stored tile and rank: that rank's copy; NULL on its owner
} factorisation;

// Ends the job with a message where a call failed.
void require(weir_status status);
void *allocate(size_t count, size_t bytes);

// Finds the ranks' grid, and creates kernels and tiles. The context, the job, the tiling, and if there are, the card and
// the communicator, are set.
void factor_create(factorisation *f, bool on_card);

// Submits the filling of all tiles, and the whole loop of the textbook.
void factor_fill(const factorisation *f);
void factor_submit(const factorisation *f);

weir_buffer *factor_tile(const factorisation *f, int i, int j);
uint64_t factor_tile_bytes(const factorisation *f, int i, int j);

void factor_release(factorisation *f); // before the job's release

#endif // MPI_CHOLESKY_FACTOR_H
