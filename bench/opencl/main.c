// SPDX-License-Identifier: Apache-2.0
//
// weir-bench-opencl [DEVICE [TASKS [RUNS]]]: random tasks of two reads and one update over 64 cells, empty and with some work, by
// OpenCL's own queues and by Weir. Each way runs in turn, RUNS times; the table has medians. Every result is compared with that of
// serial execution.
#include <stdio.h>
#include <stdlib.h>

#include "ways.h"

enum { MOST_RUNS = 25, WAYS = 8 };

static const struct {
  const char *name;
  int (*run)(const char *device, const bench_work *work, uint32_t queues, bench_result *out_result);
  uint32_t queues;
} ways[WAYS] = {
    {"OpenCL, 1 in-order queue", bench_raw, 1},
    {"OpenCL, 4 in-order queues in turn, event lists by hand", bench_raw, 4},
    {"OpenCL, 8 in-order queues in turn, event lists by hand", bench_raw, 8},
    {"OpenCL, 1 out-of-order queue, event lists by hand", bench_raw, 0},
    {"Weir, 1 queue", bench_weir, 1},
    {"Weir, 2 queues", bench_weir, 2},
    {"Weir, 4 queues", bench_weir, 4},
    {"Weir, 8 queues", bench_weir, 8},
};

static int compare(const void *left, const void *right) {
  double a = *(const double *)left, b = *(const double *)right;
  return (a > b) - (a < b);
}

static double median(double *values, uint32_t count) {
  qsort(values, count, sizeof *values, compare);
  return values[count / 2];
}

// The sequence, and what serial execution gives.
static void make(bench_task *tasks, uint32_t count, uint32_t cells[CELLS]) {
  uint64_t state = 1;
  for (uint32_t i = 0; i < CELLS; i++) cells[i] = 0;
  for (uint32_t i = 0; i < count; i++) {
    uint32_t drawn[3];
    for (int j = 0; j < 3; j++) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      drawn[j] = (uint32_t)(state >> 33) % CELLS;
    }
    // A task's cells are different ones.
    while (drawn[1] == drawn[0]) drawn[1] = (drawn[1] + 1) % CELLS;
    while (drawn[2] == drawn[0] || drawn[2] == drawn[1]) drawn[2] = (drawn[2] + 1) % CELLS;
    tasks[i] = (bench_task){{drawn[0], drawn[1]}, drawn[2]};
    cells[drawn[2]] = bench_mix(cells[drawn[0]], cells[drawn[1]], cells[drawn[2]], i);
  }
}

static int measure(const char *device, const bench_work *work, uint32_t runs) {
  static double submit[WAYS][MOST_RUNS], total[WAYS][MOST_RUNS];
  for (uint32_t run = 0; run <= runs; run++) { // the first is not counted
    for (int way = 0; way < WAYS; way++) {
      bench_result result;
      if (!ways[way].run(device, work, ways[way].queues, &result)) return 0;
      if (run == 0) continue;
      submit[way][run - 1] = result.submit_us / work->count;
      total[way][run - 1] = result.total_us / work->count;
    }
  }
  printf("| %u tasks that count to %u | to submit, us a task | in all, us a task |\n|---|--:|--:|\n", work->count,
         work->rounds);
  for (int way = 0; way < WAYS; way++)
    printf("| %s | %.2f | %.2f |\n", ways[way].name, median(submit[way], runs), median(total[way], runs));
  printf("\n");
  return 1;
}

int main(int argc, char **argv) {
  const char *device = argc > 1 ? argv[1] : "0";
  uint32_t count = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 10000;
  uint32_t runs = argc > 3 ? (uint32_t)strtoul(argv[3], NULL, 10) : 5;
  if (count == 0 || runs == 0 || runs > MOST_RUNS) {
    fprintf(stderr, "usage: weir-bench-opencl [DEVICE [TASKS [RUNS, at most %d]]]\n", MOST_RUNS);
    return 2;
  }
  uint32_t cells[CELLS];
  bench_task *tasks = calloc(count, sizeof *tasks);
  if (tasks == NULL) return 1;
  make(tasks, count, cells);
  bench_work work = {.tasks = tasks, .count = count, .expected = cells};
  int good = measure(device, &work, runs);
  work.rounds = 10000;
  work.count = count / 10 + 1;
  make(tasks, work.count, cells);
  good = good && measure(device, &work, runs);
  free(tasks);
  return good ? 0 : 1;
}
