// SPDX-License-Identifier: Apache-2.0
//
// Tiled Cholesky factorisation over the ranks of an MPI job, in double precision, with OpenBLAS for the tiles, or with
// cuBLAS on a card of each rank:
//   weir run -n 4 mpi_cholesky [ROWS [ROWS OF A TILE]] [OPTION...]
//   weir run -n 2 mpi_cholesky 32768 2048 --cublas --nccl --residual --passes 5
// Ranks form a grid, and tile (i, j) belongs to the rank at (i modulo its rows, j modulo its columns): block-cyclic in
// two dimensions. All ranks submit the whole loop of the textbook, and none names a message; with NCCL they name
// broadcasts. Rank 0 compares the factor with LAPACK's of the whole matrix, or its product with a vector with that of
// the matrix.
#include <cblas.h>
#include <float.h>
#include <lapacke.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cholesky_factor.h"
#include "matrix.h"

typedef struct options {
  int size, tile, passes, queues, window;
  bool cublas, nccl, residual, unchecked, diagonals;
} options;

static const char usage[] = "mpi_cholesky [ROWS [ROWS OF A TILE]] [OPTION...]\n"
                            "of 1 to 20000 rows, with --residual to 100000\n"
                            "  --cublas    on the device cuda of each rank\n"
                            "  --nccl      tiles travel by NCCL, from card to card\n"
                            "  --residual  check by a product with a vector, not by LAPACK\n"
                            "  --unchecked do not check\n"
                            "  --passes N  factor N times, 1 to 1000 (1)\n"
                            "  --queues N  of each card, 1 to 128 (Weir's own number)\n"
                            "  --window N  tasks in flight, 8 or more (1024)\n"
                            "  --diagonals tile (i, j) belongs to rank (i + j) modulo the ranks\n";

// Reads a switch, or an option with a number.
static bool read_option(const char *name, const char *value, options *read, bool *out_valued) {
  const struct {
    const char *name;
    bool *on;
    int *number;
  } known[] = {{"--cublas", &read->cublas, NULL},       {"--nccl", &read->nccl, NULL},
               {"--residual", &read->residual, NULL},   {"--unchecked", &read->unchecked, NULL},
               {"--diagonals", &read->diagonals, NULL}, {"--passes", NULL, &read->passes},
               {"--queues", NULL, &read->queues},       {"--window", NULL, &read->window}};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    if (strcmp(name, known[i].name) != 0) continue;
    *out_valued = known[i].number != NULL;
    if (known[i].on != NULL) *known[i].on = true;
    if (*out_valued) *known[i].number = value != NULL ? atoi(value) : 0;
    return true;
  }
  return false;
}

static options read_options(int argc, char **argv) {
  options read = {.size = 300, .tile = 40, .passes = 1, .queues = 16, .window = 1024};
  int *const numbers[] = {&read.size, &read.tile};
  int count = 0;
  bool good = true;
  for (int i = 1; i < argc && good; i++) {
    bool valued = false;
    if (read_option(argv[i], argv[i + 1], &read, &valued))
      i += valued;
    else if (count < 2)
      *numbers[count++] = atoi(argv[i]);
    else
      good = false;
  }
  good = good && read.size >= 1 && read.size <= (read.residual || read.unchecked ? 100000 : 20000) && read.tile >= 1;
  good = good && read.passes >= 1 && read.passes <= 1000 && read.queues >= 1 && read.queues <= 128 && read.window >= 8;
  if (!good) {
    fputs(usage, stderr);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  return read;
}

// The tiles, which are on this rank.
static double *read_tiles(const factorisation *f) {
  double *stored = allocate(tiles_elements(&f->tiles), sizeof(double));
  for (int i = 0; i < f->tiles.count; i++) {
    for (int j = 0; j <= i; j++)
      require(weir_read(factor_tile(f, i, j), 0, factor_tile_bytes(f, i, j), stored + tiles_start(&f->tiles, i, j)));
  }
  return stored;
}

// Compares them with LAPACK's factor.
static bool equals_lapack(const factorisation *f, const double *stored) {
  int size = f->tiles.size;
  double *matrix = allocate((size_t)size * (size_t)size, sizeof(double));
  for (int column = 0; column < size; column++) {
    for (int row = 0; row < size; row++)
      matrix[(size_t)column * (size_t)size + (size_t)row] = matrix_element(size, row, column);
  }
  lapack_int info = LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'L', size, matrix, size);
  double difference = tiles_difference(&f->tiles, stored, matrix), allowed = size * DBL_EPSILON * matrix[0];
  bool right = info == 0 && difference <= allowed;
  printf("%d x %d in tiles of %d on %d x %d ranks: greatest difference to LAPACK's factor %.2e of at most %.2e: %s\n",
         size, size, f->tiles.tile, f->rows, f->columns, difference, allowed, right ? "right" : "WRONG");
  free(matrix);
  return right;
}

static bool has_small_residual(const factorisation *f, const double *stored) {
  static const double ALLOWED = 30; // as LAPACK's tests
  double residual = matrix_residual(&f->tiles, stored);
  bool right = residual >= 0 && residual <= ALLOWED;
  printf("%d x %d in tiles of %d on %d x %d ranks: residual %.2e of at most %.0f: %s\n", f->tiles.size, f->tiles.size,
         f->tiles.tile, f->rows, f->columns, residual, ALLOWED, right ? "right" : "WRONG");
  return right;
}

// Factors the matrix once; returns the longest time of a rank, from the first task submitted to the last one done.
static double run_pass(const factorisation *f) {
  factor_fill(f);
  require(weir_mpi_finish(f->mpi));
  MPI_Barrier(MPI_COMM_WORLD);
  double start = MPI_Wtime(), own, longest;
  factor_submit(f);
  require(weir_finish(f->context));
  own = MPI_Wtime() - start;
  MPI_Allreduce(&own, &longest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return longest;
}

static void print_time(const factorisation *f, double seconds) {
  double size = f->tiles.size;
  if (weir_mpi_rank(f->mpi) == 0) printf("%.6f s, %.2f GFLOP/s\n", seconds, 1e-9 * size * size * size / 3 / seconds);
}

static bool run(const factorisation *f, const options *with) {
  for (int pass = 0; pass < with->passes; pass++) print_time(f, run_pass(f));
  require(weir_mpi_finish(f->mpi));
  weir_mpi_statistics counts;
  require(weir_mpi_get_statistics(f->mpi, &counts));
  printf("rank %u of %u: %llu tasks here, %llu bytes sent\n", weir_mpi_rank(f->mpi), weir_mpi_size(f->mpi),
         (unsigned long long)counts.tasks, (unsigned long long)counts.bytes_sent);
  if (with->unchecked) return true;
  for (int tile = 0; tile < tiles_stored(&f->tiles); tile++)
    require(weir_mpi_fetch(f->mpi, f->buffers[tile], 0, WEIR_WHOLE, 0));
  require(weir_mpi_finish(f->mpi));
  if (weir_mpi_rank(f->mpi) != 0) return true;
  double *stored = read_tiles(f);
  bool right = with->residual ? has_small_residual(f, stored) : equals_lapack(f, stored);
  free(stored);
  return right;
}

int main(int argc, char **argv) {
  int threads;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &threads);
  openblas_set_num_threads(1); // tiles run side by side; each is the work of one thread
  options with = read_options(argc, argv);
  factorisation f = {.tiles = tiles_of(with.size, with.tile)};
  require(weir_context_create(&(weir_context_options){.devices = with.cublas || with.nccl ? "cpu,cuda" : "cpu"},
                              &f.context));
  require(weir_mpi_create(f.context, NULL, &f.mpi));
  if (with.cublas) f.card = weir_context_device(f.context, 1);
  if (with.nccl) require(weir_mpi_nccl_create(f.mpi, NULL, &f.nccl));
  factor_create(&f, with.cublas);
  bool right = run(&f, &with);
  factor_release(&f);
  require(weir_mpi_nccl_release(f.nccl));
  require(weir_mpi_release(f.mpi));
  weir_context_release(f.context);
  MPI_Finalize();
  return right && fflush(stdout) == 0 ? 0 : 1;
}
