// SPDX-License-Identifier: Apache-2.0
//
// Heat along a rod that is cut into tiles, which the ranks of an MPI job own in blocks:
//   mpirun -n 4 mpi_heat
// The program names no message: a tile at the border of a block reads one cell of its neighbour, and that cell travels.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <weir/mpi.h>

enum { TILES = 16, CELLS = 4096, STEPS = 100 };

static const uint64_t CELL = sizeof(double);

static void require(weir_status status) {
  if (status == WEIR_OK) return;
  fprintf(stderr, "%s: %s\n", weir_status_name(status), weir_last_error());
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static void fill(const weir_work *work) {
  double *out = work->args[0];
  const int *tile = work->args[1];
  for (int i = 0; i < CELLS; i++) out[i] = *tile == 0 && i == 0 ? 1000 : 0;
}

// The new cells of a tile, from its old ones and the cells beside it.
static void diffuse(const weir_work *work) {
  double *out = work->args[0];
  const double *in = work->args[1], *left = work->args[2], *right = work->args[3];
  for (int i = 0; i < CELLS; i++) {
    double before = i > 0 ? in[i - 1] : *left, behind = i + 1 < CELLS ? in[i + 1] : *right;
    out[i] = in[i] + 0.25 * (before - 2 * in[i] + behind);
  }
}

static void add_up(const weir_work *work) {
  double *sum = work->args[0];
  const double *in = work->args[1];
  *sum = 0;
  for (int i = 0; i < CELLS; i++) *sum += in[i];
}

static void combine(const weir_work *work) {
  *(double *)work->args[0] += *(const double *)work->args[1];
}

static void submit(weir_mpi *mpi, weir_function function, const weir_arg *args, uint32_t count, const char *label) {
  const weir_task task = {.host = function, .args = args, .arg_count = count, .label = label};
  require(weir_mpi_submit(mpi, &task, WEIR_MPI_OWNER, NULL));
}

static void step(weir_mpi *mpi, weir_buffer *const *in, weir_buffer *const *out) {
  for (int tile = 0; tile < TILES; tile++) {
    int left = tile > 0 ? tile - 1 : 0, right = tile + 1 < TILES ? tile + 1 : tile; // the ends are closed
    const weir_arg args[] = {weir_writes(out[tile]), weir_reads(in[tile]),
                             weir_reads_range(in[left], left < tile ? (CELLS - 1) * CELL : 0, CELL),
                             weir_reads_range(in[right], right > tile ? 0 : (CELLS - 1) * CELL, CELL)};
    submit(mpi, diffuse, args, 4, "diffuse");
  }
}

static double total(weir_mpi *mpi, weir_buffer *const *tiles, weir_buffer *const *sums) {
  for (int tile = 0; tile < TILES; tile++) {
    const weir_arg args[] = {weir_writes(sums[tile]), weir_reads(tiles[tile])};
    submit(mpi, add_up, args, 2, "add up");
  }
  const weir_task task = {.host = combine, .label = "combine"};
  require(weir_mpi_reduce(mpi, &task, sums, TILES));
  require(weir_mpi_fetch(mpi, sums[0], 0, WEIR_WHOLE, WEIR_MPI_ALL));
  require(weir_mpi_finish(mpi));
  double result = 0;
  require(weir_read(sums[0], 0, CELL, &result));
  return result;
}

int main(int argc, char **argv) {
  int threads;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &threads);
  weir_context *context;
  weir_mpi *mpi;
  require(weir_context_create(NULL, &context));
  require(weir_mpi_create(context, NULL, &mpi));
  weir_buffer *tiles[2][TILES], *sums[TILES];
  for (int tile = 0; tile < TILES; tile++) {
    uint32_t owner = (uint32_t)tile * weir_mpi_size(mpi) / TILES;
    require(weir_mpi_buffer_create(mpi, CELLS * CELL, owner, &tiles[0][tile]));
    require(weir_mpi_buffer_create(mpi, CELLS * CELL, owner, &tiles[1][tile]));
    require(weir_mpi_buffer_create(mpi, CELL, owner, &sums[tile]));
    const weir_arg args[] = {weir_writes(tiles[0][tile]), weir_value(&tile, sizeof tile)};
    submit(mpi, fill, args, 2, "fill");
  }
  for (int i = 0; i < STEPS; i++) step(mpi, tiles[i % 2], tiles[(i + 1) % 2]);
  double heat = total(mpi, tiles[STEPS % 2], sums);
  weir_mpi_statistics counts;
  require(weir_mpi_get_statistics(mpi, &counts));
  printf("rank %u of %u: %.6f in all; %llu tasks here, %llu bytes sent\n", weir_mpi_rank(mpi), weir_mpi_size(mpi), heat,
         (unsigned long long)counts.tasks, (unsigned long long)counts.bytes_sent);
  require(weir_mpi_release(mpi));
  weir_context_release(context);
  MPI_Finalize();
  return heat > 999.999 && heat < 1000.001 && fflush(stdout) == 0 ? 0 : 1;
}
