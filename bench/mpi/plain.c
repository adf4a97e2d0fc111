// SPDX-License-Identifier: Apache-2.0
//
// Hand-written MPI, one thread a rank: each row's cells are sent as soon as they are written, and received while this
// rank's points of the row before are computed. No task is ever looked for, so it is what any runtime is measured
// against.
#include <stddef.h>

#include "ranks.h"

static MPI_Request requests[2 * WEIR__BENCH_WIDTH * WEIR__BENCH_MAX_RANKS];
static int request_count;
static uint64_t sent_bytes;

static const char *start(void) {
  return NULL;
}

static void stop(void) {}

static void nothing(const weir__bench_ranks *ranks) {
  (void)ranks;
}

static unsigned readers_of(const weir__bench_ranks *ranks, int64_t step, int64_t point) {
  return ranks->readers[step * WEIR__BENCH_WIDTH + point];
}

static void post_receive(const weir__bench_ranks *ranks, int64_t step, int64_t point) {
  int from = weir__bench_rank_of(ranks, point);
  if (from == ranks->rank || (readers_of(ranks, step, point) >> ranks->rank & 1) == 0) return;
  MPI_Irecv(weir__bench_grid_cell(ranks->grid, step, point), sizeof(weir__bench_cell), MPI_BYTE, from, (int)point,
            MPI_COMM_WORLD, &requests[request_count++]);
}

static void run_point(const weir__bench_ranks *ranks, int64_t step, int64_t point) {
  if (weir__bench_rank_of(ranks, point) != ranks->rank) return;
  weir__bench_grid_task_in_place(ranks->grid, step, point);
  for (int to = 0; to < ranks->size; to++) {
    if (to == ranks->rank || (readers_of(ranks, step, point) >> to & 1) == 0) continue;
    MPI_Isend(weir__bench_grid_cell(ranks->grid, step, point), sizeof(weir__bench_cell), MPI_BYTE, to, (int)point,
              MPI_COMM_WORLD, &requests[request_count++]);
    sent_bytes += sizeof(weir__bench_cell);
  }
}

static void run(const weir__bench_ranks *ranks) {
  weir__bench_grid *grid = ranks->grid;
  for (int64_t step = 0; step < grid->steps; step++) {
    int64_t first = weir__bench_first_point(grid, step), end = weir__bench_end_point(grid, step);
    request_count = 0;
    for (int64_t point = first; point < end; point++) post_receive(ranks, step, point);
    for (int64_t point = first; point < end; point++) run_point(ranks, step, point);
    MPI_Waitall(request_count, requests, MPI_STATUSES_IGNORE);
  }
}

static uint64_t sent(const weir__bench_ranks *ranks) {
  (void)ranks;
  return sent_bytes;
}

int main(int argc, char **argv) {
  static const weir__bench_ranks_runtime runtime = {.name = "plain MPI",
                                                    .threads = MPI_THREAD_FUNNELED,
                                                    .start = start,
                                                    .stop = stop,
                                                    .prepare = nothing,
                                                    .finish = nothing,
                                                    .run = run,
                                                    .sent = sent};
  return weir__bench_ranks_main(&runtime, argc, argv);
}
