// SPDX-License-Identifier: Apache-2.0
//
// `submit`: what it costs to submit a task and find its hazards, when nothing is executed (device "null"): 2 reads and
// 1 write on random buffers out of 64, window 1024. "bare lists" is the least that any such runtime has to do: last
// writer and readers of each cell in plain arrays, no objects, no checks, no threads. "many" submits arrays of tasks,
// "prepared" a task that is prepared once, and "prepared many" so many at a time of that.
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "weir_bench.h"

enum { WINDOW = 1024 };

typedef struct cell_users {
  uint64_t writer;          // number of the last task that wrote the cell, counted from 1
  uint64_t readers[WINDOW]; // tasks that read it since
  uint32_t reader_count;
} cell_users;

static cell_users users[WEIR__BENCH_CELLS];

static uint32_t add_if_live(uint64_t *predecessors, uint32_t count, uint64_t task, uint64_t number) {
  predecessors[count] = task;
  return count + (task != 0 && task + WINDOW > number);
}

// Finds the predecessors of every task; returns how many there are.
static uint64_t find_with_bare_lists(const weir__bench_access *accesses, uint64_t count) {
  uint64_t edges = 0;
  memset(users, 0, sizeof(users));
  for (uint64_t i = 0; i < count; i++) {
    uint64_t predecessors[WINDOW + 4], number = i + 1;
    uint32_t found = 0;
    for (int k = 0; k < 2; k++) {
      cell_users *cell = &users[accesses[i].read[k]];
      found = add_if_live(predecessors, found, cell->writer, number);
      if (cell->reader_count == WINDOW) cell->reader_count = 0; // all of these are done
      cell->readers[cell->reader_count++] = number;
    }
    cell_users *cell = &users[accesses[i].write];
    found = add_if_live(predecessors, found, cell->writer, number);
    for (uint32_t k = 0; k < cell->reader_count; k++) {
      found = add_if_live(predecessors, found, cell->readers[k], number);
    }
    cell->reader_count = 0;
    cell->writer = number;
    edges += found;
    __asm__ volatile("" : : "r"(predecessors) : "memory");
  }
  return edges;
}

static const struct {
  const char *case_name, *runtime;
  weir__bench_submission submit; // NULL: bare lists
  bool renaming;
} ways[] = {{"renaming", "weir", weir__bench_submit_random, true},
            {"no renaming", "weir, no renaming", weir__bench_submit_random, false},
            {"many", "weir, many", weir__bench_submit_many, true},
            {"prepared", "weir, prepared", weir__bench_submit_prepared, true},
            {"prepared many", "weir, prepared many", weir__bench_submit_prepared_many, true},
            {"bare lists", "bare lists", NULL, false}};
enum { WAYS = sizeof ways / sizeof ways[0] };

// Seconds for `count` tasks, after as many untimed ones.
static double time_weir(weir__bench_submission submit, bool renaming, const weir__bench_access *accesses,
                        uint64_t count) {
  weir_context *context = weir__bench_context("null", WINDOW, renaming);
  weir_buffer *buffers[WEIR__BENCH_CELLS];
  weir_kernel *kernel = NULL;
  weir__bench_buffers(context, buffers);
  weir__bench_require(weir_kernel_create(context, "random", &kernel));
  weir__bench_require(weir_kernel_set_cpu(kernel, weir__bench_random_task));
  double begin = 0;
  for (int pass = 0; pass < 2; pass++) {
    begin = weir__bench_seconds();
    submit(context, kernel, buffers, accesses, 0, count);
    weir__bench_require(weir_finish(context));
  }
  double seconds = weir__bench_seconds() - begin;
  for (int i = 0; i < WEIR__BENCH_CELLS; i++) weir__bench_require(weir_buffer_release(buffers[i]));
  weir__bench_require(weir_kernel_release(kernel));
  weir_context_release(context);
  return seconds;
}

static double time_bare_lists(const weir__bench_access *accesses, uint64_t count) {
  find_with_bare_lists(accesses, count);
  double begin = weir__bench_seconds();
  uint64_t edges = find_with_bare_lists(accesses, count);
  double seconds = weir__bench_seconds() - begin;
  return edges ? seconds : 0;
}

int weir__bench_submit_main(int argc, char **argv) {
  uint64_t count = weir__bench_option(argc, argv, "--tasks", 1000000);
  uint64_t repeat = weir__bench_option(argc, argv, "--repeat", 1);
  int way = 0;
  while (way < WAYS && strcmp(argv[2], ways[way].case_name) != 0) way++;
  if (way == WAYS) {
    fprintf(stderr, "\"%s\" is no case of submit\n", argv[2]);
    return 2;
  }
  weir__bench_access *accesses = malloc(count * sizeof(*accesses));
  if (!accesses) return 1;
  weir__bench_sequence(WEIR__BENCH_SEED, accesses, count);
  weir__bench_pin();
  for (uint64_t i = 0; i < repeat; i++) {
    double seconds = ways[way].submit == NULL ? time_bare_lists(accesses, count)
                                              : time_weir(ways[way].submit, ways[way].renaming, accesses, count);
    weir__bench_print("64 buffers", ways[way].runtime, "ns/task", seconds / (double)count * 1e9);
  }
  free(accesses);
  return 0;
}
