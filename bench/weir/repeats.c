// SPDX-License-Identifier: Apache-2.0
//
// `repeats`: passes of the same empty tasks, with a wait after each: 2 reads and 1 write on random buffers out of 64. What a task
// costs to submit, and in all, when it is submitted alone, with the trace cache, and as part of a graph that was recorded before.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "weir/graph.h"
#include "weir_bench.h"

typedef struct passes {
  weir_context *context;
  weir_kernel *kernel;
  weir_buffer *cells[WEIR__BENCH_CELLS];
  const weir__bench_access *accesses;
  uint64_t tasks;
  weir_graph *graph; // NULL: tasks are submitted
} passes;

static void nothing(const weir_work *work) {
  (void)work;
}

static void each(passes *self, bool record) {
  for (uint64_t i = 0; i < self->tasks; i++) {
    const weir__bench_access *access = &self->accesses[i];
    const weir_arg args[] = {weir_reads(self->cells[access->read[0]]), weir_reads(self->cells[access->read[1]]),
                             weir_writes(self->cells[access->write])};
    const weir_task task = {.kernel = self->kernel, .args = args, .arg_count = 3};
    weir__bench_require(record ? weir_graph_add(self->graph, &task, NULL) : weir_submit(self->context, &task, NULL));
  }
}

static int by_value(const void *left, const void *right) {
  double a = *(const double *)left, b = *(const double *)right;
  return (a > b) - (a < b);
}

static void print(const char *name, const char *what, double *seconds, uint64_t count, uint64_t tasks) {
  qsort(seconds, count, sizeof *seconds, by_value);
  char unit[64];
  snprintf(unit, sizeof unit, "ns/task, %s", what);
  weir__bench_print("64 buffers", name, unit, seconds[count / 2] / (double)tasks * 1e9);
}

static void measure(const char *name, const char *devices, uint32_t flags, bool graph, passes self, uint64_t count) {
  const weir_context_options options = {.devices = devices, .flags = flags};
  weir__bench_require(weir_context_create(&options, &self.context));
  weir__bench_require(weir_kernel_create(self.context, "nothing", &self.kernel));
  weir__bench_require(weir_kernel_set_cpu(self.kernel, nothing));
  weir__bench_buffers(self.context, self.cells);
  if (graph) {
    weir__bench_require(weir_graph_create(self.context, NULL, &self.graph));
    each(&self, true);
  }
  double *submission = malloc(count * sizeof *submission), *all = malloc(count * sizeof *all);
  if (submission == NULL || all == NULL) exit(1);
  for (uint64_t i = 0; i < count; i++) {
    double start = weir__bench_seconds();
    if (graph)
      weir__bench_require(weir_graph_launch(self.graph, NULL));
    else
      each(&self, false);
    submission[i] = weir__bench_seconds() - start;
    weir__bench_require(weir_finish(self.context));
    all[i] = weir__bench_seconds() - start;
  }
  print(name, "submit", submission, count, self.tasks);
  print(name, "in all", all, count, self.tasks);
  free(submission);
  free(all);
  weir__bench_require(weir_context_release(self.context));
}

int weir__bench_repeats_main(int argc, char **argv) {
  const char *devices = argv[2];
  uint64_t tasks = weir__bench_option(argc, argv, "--tasks", 1000);
  uint64_t count = weir__bench_option(argc, argv, "--passes", 300);
  weir__bench_access *accesses = malloc(tasks * sizeof *accesses);
  if (accesses == NULL) return 1;
  weir__bench_sequence(WEIR__BENCH_SEED, accesses, tasks);
  const passes self = {.accesses = accesses, .tasks = tasks};
  measure("weir", devices, 0, false, self, count);
  measure("weir, trace cache", devices, WEIR_CONTEXT_REPEATS, false, self, count);
  measure("weir, recorded graph", devices, 0, true, self, count);
  free(accesses);
  return 0;
}
