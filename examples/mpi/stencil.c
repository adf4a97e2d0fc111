// SPDX-License-Identifier: Apache-2.0
//
// Heat in a plate that is cut into tiles, which the ranks of an MPI job own in blocks of two dimensions:
//   weir run -n 4 mpi_stencil
// A tile needs the nearest edge of each of its four neighbours. What travels between ranks are ranges of bytes, and a
// column of a tile is none. So a tile has its two outer columns once more, behind its cells. Rank 0 compares the result
// with that of a plain loop over the whole plate: both have the same bits.
#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <weir/mpi.h>

enum { TILES = 4, CELLS = 64, STEPS = 50, SIDE = TILES * CELLS };

typedef struct tile {
  double cells[CELLS][CELLS];
  double west[CELLS], east[CELLS]; // the first and the last column
} tile;

static const uint64_t EDGE = CELLS * sizeof(double);

typedef weir_buffer *plate[TILES][TILES];

static void require(weir_status status) {
  if (status == WEIR_OK) return;
  fprintf(stderr, "%s: %s\n", weir_status_name(status), weir_last_error());
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static double first_heat(int row, int column) {
  return (row * 7 + column * 13) % 100;
}

static double next_heat(double here, double north, double south, double west, double east) {
  return here + 0.125 * ((north - here) + (south - here) + (west - here) + (east - here));
}

static void keep_columns(tile *out) {
  for (int row = 0; row < CELLS; row++) {
    out->west[row] = out->cells[row][0];
    out->east[row] = out->cells[row][CELLS - 1];
  }
}

static void fill(const weir_work *work) {
  tile *out = work->args[0];
  const int *at = work->args[1];
  for (int row = 0; row < CELLS; row++) {
    for (int column = 0; column < CELLS; column++)
      out->cells[row][column] = first_heat(at[0] * CELLS + row, at[1] * CELLS + column);
  }
  keep_columns(out);
}

// The new cells of a tile, from its old ones and the four edges beside it.
static void diffuse(const weir_work *work) {
  tile *out = work->args[0];
  const tile *in = work->args[1];
  const double *north = work->args[2], *south = work->args[3], *west = work->args[4], *east = work->args[5];
  for (int row = 0; row < CELLS; row++) {
    const double *above = row > 0 ? in->cells[row - 1] : north;
    const double *below = row + 1 < CELLS ? in->cells[row + 1] : south;
    for (int column = 0; column < CELLS; column++) {
      double before = column > 0 ? in->cells[row][column - 1] : west[row];
      double behind = column + 1 < CELLS ? in->cells[row][column + 1] : east[row];
      out->cells[row][column] = next_heat(in->cells[row][column], above[column], below[column], before, behind);
    }
  }
  keep_columns(out);
}

static void submit(weir_mpi *mpi, weir_function function, const weir_arg *args, uint32_t count, const char *label) {
  const weir_task task = {.host = function, .args = args, .arg_count = count, .label = label};
  require(weir_mpi_submit(mpi, &task, WEIR_MPI_OWNER, NULL));
}

// The edge of the neighbour at (row, column) that begins at a byte of it, or, where the plate ends, the tile's own edge.
static weir_arg edge(plate in, int row, int column, size_t offset, weir_buffer *own, size_t own_offset) {
  bool inside = row >= 0 && row < TILES && column >= 0 && column < TILES;
  return inside ? weir_reads_range(in[row][column], offset, EDGE) : weir_reads_range(own, own_offset, EDGE);
}

static void step(weir_mpi *mpi, plate in, plate out) {
  const size_t top = 0, bottom = offsetof(tile, cells[CELLS - 1]);
  const size_t west = offsetof(tile, west), east = offsetof(tile, east);
  for (int row = 0; row < TILES; row++) {
    for (int column = 0; column < TILES; column++) {
      weir_buffer *own = in[row][column];
      const weir_arg args[] = {weir_writes(out[row][column]),
                               weir_reads(own),
                               edge(in, row - 1, column, bottom, own, top),
                               edge(in, row + 1, column, top, own, bottom),
                               edge(in, row, column - 1, east, own, west),
                               edge(in, row, column + 1, west, own, east)};
      submit(mpi, diffuse, args, 6, "diffuse");
    }
  }
}

// Creates both states of the plate, and fills the first. Ranks form a grid of `rows` rows.
static void create(weir_mpi *mpi, plate first, plate second) {
  int ranks = (int)weir_mpi_size(mpi), rows = 1;
  for (int i = 1; i * i <= ranks; i++) rows = ranks % i == 0 ? i : rows;
  int columns = ranks / rows;
  for (int row = 0; row < TILES; row++) {
    for (int column = 0; column < TILES; column++) {
      const int at[] = {row, column};
      uint32_t owner = (uint32_t)(row * rows / TILES * columns + column * columns / TILES);
      require(weir_mpi_buffer_create(mpi, sizeof(tile), owner, &first[row][column]));
      require(weir_mpi_buffer_create(mpi, sizeof(tile), owner, &second[row][column]));
      const weir_arg args[] = {weir_writes(first[row][column]), weir_value(at, sizeof at)};
      submit(mpi, fill, args, 2, "fill");
    }
  }
}

// The same without Weir: a loop over the whole plate.
static void run_serially(double (*plates)[SIDE][SIDE]) {
  for (int row = 0; row < SIDE; row++) {
    for (int column = 0; column < SIDE; column++) plates[0][row][column] = first_heat(row, column);
  }
  for (int i = 0; i < STEPS; i++) {
    double(*in)[SIDE] = plates[i % 2], (*out)[SIDE] = plates[(i + 1) % 2];
    for (int row = 0; row < SIDE; row++) {
      int north = row > 0 ? row - 1 : row, south = row + 1 < SIDE ? row + 1 : row;
      for (int column = 0; column < SIDE; column++) {
        int west = column > 0 ? column - 1 : column, east = column + 1 < SIDE ? column + 1 : column;
        out[row][column] =
            next_heat(in[row][column], in[north][column], in[south][column], in[row][west], in[row][east]);
      }
    }
  }
}

// The number of cells that differ from those of the plain loop. The tiles are on this rank.
static int count_wrong(plate tiles) {
  static double plates[2][SIDE][SIDE];
  static tile here;
  run_serially(plates);
  int wrong = 0;
  for (int at = 0; at < TILES * TILES; at++) {
    require(weir_read(tiles[at / TILES][at % TILES], 0, sizeof here, &here));
    for (int i = 0; i < CELLS * CELLS; i++) {
      int row = at / TILES * CELLS + i / CELLS, column = at % TILES * CELLS + i % CELLS;
      wrong += here.cells[i / CELLS][i % CELLS] != plates[STEPS % 2][row][column];
    }
  }
  return wrong;
}

int main(int argc, char **argv) {
  int threads, wrong = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &threads);
  weir_context *context;
  weir_mpi *mpi;
  require(weir_context_create(NULL, &context));
  require(weir_mpi_create(context, NULL, &mpi));
  plate plates[2];
  create(mpi, plates[0], plates[1]);
  for (int i = 0; i < STEPS; i++) step(mpi, plates[i % 2], plates[(i + 1) % 2]);
  require(weir_mpi_finish(mpi));
  weir_mpi_statistics counts;
  require(weir_mpi_get_statistics(mpi, &counts));
  printf("rank %u of %u: %llu tasks here, %llu bytes sent\n", weir_mpi_rank(mpi), weir_mpi_size(mpi),
         (unsigned long long)counts.tasks, (unsigned long long)counts.bytes_sent);
  for (int at = 0; at < TILES * TILES; at++)
    require(weir_mpi_fetch(mpi, plates[STEPS % 2][at / TILES][at % TILES], 0, WEIR_WHOLE, 0));
  require(weir_mpi_finish(mpi));
  if (weir_mpi_rank(mpi) == 0) {
    wrong = count_wrong(plates[STEPS % 2]);
    printf("%d of %d cells differ from a plain loop\n", wrong, SIDE * SIDE);
  }
  require(weir_mpi_release(mpi));
  weir_context_release(context);
  MPI_Finalize();
  return wrong == 0 && fflush(stdout) == 0 ? 0 : 1;
}
