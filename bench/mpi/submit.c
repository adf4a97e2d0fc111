// SPDX-License-Identifier: Apache-2.0
//
// What submission costs one rank of many: a stencil of 16 points a rank, of whose ranks one exists (alone.h).
//
// weir-bench-mpi-submit [--ranks N] [--repeat N] [--only 0|1|2]
//
// Prints, of each own task, the nanoseconds that calls take which submit: alone; as one of N ranks (64) that leaves out
// tasks in which it has no part (weir_mpi_skip); and as one that submits all of them. Each is the least of --repeat rounds
// (20) of 40 steps, in turns. Then the ratio of the second to the first. The tasks do nothing. --only runs one of the three, to count instructions.
#include <stdio.h>
#include <stdlib.h>

#include "alone.h"
#include "job.h"
#include "runtime.h"

enum { POINTS = 16, STEPS = 40, MOST_RANKS = 4096 };

typedef struct stencil {
  weir_context *context;
  weir_mpi *mpi;
  weir_kernel *kernel;
  weir_buffer **cells[2];                             // of all points that this rank knows of; NULL for others
  int64_t points, first, end, known_first, known_end; // own ones, and those that it submits tasks of
  uint64_t left_out;
  bool leaves_out;
} stencil;

static void require(weir_status status) {
  if (status == WEIR_OK) return;
  fprintf(stderr, "%s: %s\n", weir_status_name(status), weir_last_error());
  exit(1);
}

static void nothing(const weir_work *work) {
  (void)work;
}

// Calls that were left out are said before the next one that is not.
static void pass(stencil *s) {
  if (s->left_out > 0) require(weir_mpi_skip(s->mpi, s->left_out));
  s->left_out = 0;
}

static void create_cells(stencil *s, int row) {
  s->cells[row] = calloc((size_t)s->points, sizeof(weir_buffer *));
  if (s->cells[row] == NULL) exit(1);
  for (int64_t i = 0; i < s->points; i++) {
    if (i < s->known_first - 1 || i > s->known_end) {
      s->left_out++;
      continue;
    }
    pass(s);
    require(weir_mpi_buffer_create(s->mpi, 16, (uint32_t)(i / POINTS), &s->cells[row][i]));
  }
}

static void open_stencil(stencil *s, uint32_t ranks, bool leaves_out) {
  const weir_context_options options = {.devices = "cpu:1"};
  uint32_t rank = ranks / 2;
  *s = (stencil){.points = (int64_t)ranks * POINTS, .first = (int64_t)rank * POINTS, .leaves_out = leaves_out};
  s->end = s->first + POINTS;
  s->known_first = leaves_out && s->first > 0 ? s->first - 1 : 0;
  s->known_end = leaves_out && s->end < s->points ? s->end + 1 : s->points;
  weir__mpi_transport *transport = weir__bench_alone(rank, ranks);
  if (transport == NULL) exit(1);
  require(weir_context_create(&options, &s->context));
  require(weir__mpi_create_over(s->context, NULL, transport, &s->mpi));
  require(weir_kernel_create(s->context, "cell", &s->kernel));
  require(weir_kernel_set_cpu(s->kernel, nothing));
  for (int row = 0; row < 2; row++) create_cells(s, row);
}

static void close_stencil(stencil *s) {
  pass(s);
  require(weir_mpi_release(s->mpi));
  require(weir_kernel_release(s->kernel));
  require(weir_context_release(s->context));
  for (int row = 0; row < 2; row++) free(s->cells[row]);
}

static void submit_point(stencil *s, int row, int64_t point) {
  weir_arg args[4];
  uint32_t count = 0;
  for (int64_t i = point - 1; i <= point + 1; i++) {
    if (i >= 0 && i < s->points) args[count++] = weir_reads(s->cells[1 - row][i]);
  }
  args[count++] = weir_writes(s->cells[row][point]);
  const weir_task task = {.kernel = s->kernel, .args = args, .arg_count = count};
  require(weir_mpi_submit(s->mpi, &task, WEIR_MPI_OWNER, NULL));
}

// Nanoseconds that submission takes of an own task.
static double run_round(stencil *s) {
  uint64_t begin = weir__mpi_now();
  for (int step = 0; step < STEPS; step++) {
    s->left_out += (uint64_t)s->known_first;
    pass(s);
    for (int64_t point = s->known_first; point < s->known_end; point++) submit_point(s, step % 2, point);
    s->left_out += (uint64_t)(s->points - s->known_end);
  }
  pass(s);
  uint64_t ns = weir__mpi_now() - begin;
  require(weir_mpi_finish(s->mpi));
  return (double)ns / (STEPS * POINTS);
}

int main(int argc, char **argv) {
  uint64_t ranks = weir__bench_option(argc, argv, "--ranks", 64),
           repeat = weir__bench_option(argc, argv, "--repeat", 20);
  if (ranks < 3 || ranks > MOST_RANKS) {
    fprintf(stderr, "Usage: %s [--ranks N] [--repeat N]; 3 to %d ranks\n", argv[0], MOST_RANKS);
    return 2;
  }
  uint64_t only = weir__bench_option(argc, argv, "--only", 3);
  static const char *const names[] = {"one rank", "leaves out", "all"};
  stencil all[3];
  double least[3] = {0};
  for (int i = 0; i < 3; i++) open_stencil(&all[i], i == 0 ? 1 : (uint32_t)ranks, i == 1);
  for (uint64_t round = 0; round < repeat; round++) {
    for (int i = 0; i < 3; i++) {
      if (only < 3 && (uint64_t)i != only) continue;
      if (i == 2 && round % 8 != 0) continue; // it takes that much longer
      double ns = run_round(&all[i]);
      if (round == 0 || ns < least[i]) least[i] = ns;
    }
  }
  for (int i = 0; i < 3; i++) {
    weir__bench_print(names[i], "weir-mpi", "ns", least[i]);
    close_stencil(&all[i]);
  }
  weir__bench_print("leaves out / one rank", "weir-mpi", "ratio", least[1] / least[0]);
  return 0;
}
