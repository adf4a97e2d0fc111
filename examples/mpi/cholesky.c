// SPDX-License-Identifier: Apache-2.0
//
// Tiled Cholesky factorisation over the ranks of an MPI job, in double precision, with OpenBLAS for the tiles:
//   weir run -n 4 mpi_cholesky [ROWS [ROWS OF A TILE]]
// Ranks form a grid, and tile (i, j) belongs to the rank at (i modulo its rows, j modulo its columns): block-cyclic in
// two dimensions. All ranks submit the whole loop of the textbook, and none names a message. Rank 0 compares the factor
// with LAPACK's of the whole matrix.
#include <cblas.h>
#include <float.h>
#include <lapacke.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <weir/mpi.h>

#include "kernels.h"
#include "tiles.h"

typedef struct factorisation {
  weir_mpi *mpi;
  tiling tiles;
  int rows, columns;     // of the grid of ranks
  weir_buffer **buffers; // of each stored tile
} factorisation;

static void require(weir_status status) {
  if (status == WEIR_OK) return;
  fprintf(stderr, "%s: %s\n", weir_status_name(status), weir_last_error());
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static void *allocate(size_t count, size_t bytes) {
  void *made = calloc(count, bytes);
  if (made == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
  return made;
}

// A symmetric matrix with elements from 0 to 1 off the diagonal, which `size` more make dominant.
static double element(int size, int row, int column) {
  uint64_t low = (uint64_t)(row < column ? row : column), high = (uint64_t)(row < column ? column : row);
  uint64_t mixed = (high * (uint64_t)size + low + 1) * 0x9e3779b97f4a7c15u;
  mixed = (mixed ^ mixed >> 31) * 0x94d049bb133111ebu;
  return (double)(mixed >> 32) / 0x1p32 + (row == column ? size : 0);
}

typedef struct place {
  int size, first_row, first_column, rows, columns;
} place;

static void fill(const weir_work *work) {
  const place *at = work->args[0];
  double *out = work->args[1];
  for (int column = 0; column < at->columns; column++) {
    for (int row = 0; row < at->rows; row++) *out++ = element(at->size, at->first_row + row, at->first_column + column);
  }
}

static weir_buffer *buffer_of(const factorisation *f, int i, int j) {
  return f->buffers[tiles_number(i, j)];
}

static uint64_t tile_bytes(const factorisation *f, int i, int j) {
  return (uint64_t)tiles_rows(&f->tiles, i) * (uint64_t)tiles_rows(&f->tiles, j) * sizeof(double);
}

// Submits a kernel on tile (i, j); its first argument is a value, the last one the tile.
static void submit(const factorisation *f, const char *name, weir_function kernel, int i, int j, const weir_arg *args,
                   uint32_t count) {
  char label[48];
  snprintf(label, sizeof label, "%s %d,%d", name, i, j);
  const weir_task task = {.host = kernel, .args = args, .arg_count = count, .label = label};
  require(weir_mpi_submit(f->mpi, &task, WEIR_MPI_OWNER, NULL));
}

static void create_tile(const factorisation *f, int i, int j) {
  const tiling *tiles = &f->tiles;
  const place at = {tiles->size, i * tiles->tile, j * tiles->tile, tiles_rows(tiles, i), tiles_rows(tiles, j)};
  uint32_t owner = (uint32_t)(i % f->rows * f->columns + j % f->columns);
  require(weir_mpi_buffer_create(f->mpi, tile_bytes(f, i, j), owner, &f->buffers[tiles_number(i, j)]));
  const weir_arg args[] = {weir_value(&at, sizeof at), weir_writes(buffer_of(f, i, j))};
  submit(f, "fill", fill, i, j, args, 2);
}

// Column k of tiles, then what it takes off the tiles to its right.
static void submit_step(const factorisation *f, int k) {
  const tiling *tiles = &f->tiles;
  int inner = tiles_rows(tiles, k);
  const tile_shape square = {inner, inner, inner, 1};
  const weir_arg factored[] = {weir_value(&square, sizeof square), weir_updates(buffer_of(f, k, k))};
  submit(f, "potrf", kernel_potrf, k, k, factored, 2);
  for (int i = k + 1; i < tiles->count; i++) {
    const tile_shape shape = {tiles_rows(tiles, i), inner, inner, 0};
    const weir_arg solved[] = {weir_value(&shape, sizeof shape), weir_reads(buffer_of(f, k, k)),
                               weir_updates(buffer_of(f, i, k))};
    submit(f, "trsm", kernel_trsm, i, k, solved, 3);
  }
  for (int i = k + 1; i < tiles->count; i++) {
    for (int j = k + 1; j < i; j++) {
      const tile_shape shape = {tiles_rows(tiles, i), tiles_rows(tiles, j), inner, 0};
      const weir_arg updated[] = {weir_value(&shape, sizeof shape), weir_reads(buffer_of(f, i, k)),
                                  weir_reads(buffer_of(f, j, k)), weir_updates(buffer_of(f, i, j))};
      submit(f, "gemm", kernel_gemm, i, j, updated, 4);
    }
    const tile_shape shape = {tiles_rows(tiles, i), tiles_rows(tiles, i), inner, 1};
    const weir_arg updated[] = {weir_value(&shape, sizeof shape), weir_reads(buffer_of(f, i, k)),
                                weir_updates(buffer_of(f, i, i))};
    submit(f, "syrk", kernel_syrk, i, i, updated, 3);
  }
}

// Compares the tiles, which are on this rank, with LAPACK's factor.
static bool is_right(const factorisation *f) {
  const tiling *tiles = &f->tiles;
  int size = tiles->size;
  double *matrix = allocate((size_t)size * (size_t)size, sizeof(double));
  double *stored = allocate(tiles_elements(tiles), sizeof(double));
  for (int column = 0; column < size; column++) {
    for (int row = 0; row < size; row++)
      matrix[(size_t)column * (size_t)size + (size_t)row] = element(size, row, column);
  }
  lapack_int info = LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'L', size, matrix, size);
  for (int i = 0; i < tiles->count; i++) {
    for (int j = 0; j <= i; j++)
      require(weir_read(buffer_of(f, i, j), 0, tile_bytes(f, i, j), stored + tiles_start(tiles, i, j)));
  }
  double difference = tiles_difference(tiles, stored, matrix), allowed = size * DBL_EPSILON * matrix[0];
  bool right = info == 0 && difference <= allowed;
  printf("%d x %d in tiles of %d on %d x %d ranks: greatest difference to LAPACK's factor %.2e of at most %.2e: %s\n",
         size, size, tiles->tile, f->rows, f->columns, difference, allowed, right ? "right" : "WRONG");
  free(matrix);
  free(stored);
  return right;
}

static bool run(factorisation *f) {
  for (int i = 0; i < f->tiles.count; i++) {
    for (int j = 0; j <= i; j++) create_tile(f, i, j);
  }
  for (int k = 0; k < f->tiles.count; k++) submit_step(f, k);
  require(weir_mpi_finish(f->mpi));
  weir_mpi_statistics counts;
  require(weir_mpi_get_statistics(f->mpi, &counts));
  printf("rank %u of %u: %llu tasks here, %llu bytes sent\n", weir_mpi_rank(f->mpi), weir_mpi_size(f->mpi),
         (unsigned long long)counts.tasks, (unsigned long long)counts.bytes_sent);
  for (int tile = 0; tile < tiles_stored(&f->tiles); tile++)
    require(weir_mpi_fetch(f->mpi, f->buffers[tile], 0, WEIR_WHOLE, 0));
  require(weir_mpi_finish(f->mpi));
  return weir_mpi_rank(f->mpi) != 0 || is_right(f);
}

int main(int argc, char **argv) {
  int threads;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &threads);
  openblas_set_num_threads(1); // tiles run side by side; each is the work of one thread
  int size = argc > 1 ? atoi(argv[1]) : 300, tile = argc > 2 ? atoi(argv[2]) : 40;
  if (size < 1 || size > 20000 || tile < 1) {
    fprintf(stderr, "mpi_cholesky [ROWS [ROWS OF A TILE]]: of 1 to 20000 rows\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  factorisation f = {.tiles = tiles_of(size, tile), .rows = 1};
  f.buffers = allocate((size_t)tiles_stored(&f.tiles), sizeof *f.buffers);
  weir_context *context;
  require(weir_context_create(NULL, &context));
  require(weir_mpi_create(context, NULL, &f.mpi));
  int ranks = (int)weir_mpi_size(f.mpi);
  for (int i = 1; i * i <= ranks; i++) f.rows = ranks % i == 0 ? i : f.rows;
  f.columns = ranks / f.rows;
  bool right = run(&f);
  require(weir_mpi_release(f.mpi));
  weir_context_release(context);
  free(f.buffers);
  MPI_Finalize();
  return right ? 0 : 1;
}
