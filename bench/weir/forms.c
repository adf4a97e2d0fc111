// SPDX-License-Identifier: Apache-2.0
//
// `forms`: what the forms of submission cost, on workers. Passes of the same empty tasks, with a wait after each: 2 reads and
// 1 write on random buffers out of 64. "submit" is the time that the program spends on a task in calls, "in all" the time from
// the first call to the end of the wait.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "weir/graph.h"
#include "weir_bench.h"

typedef struct form {
  const char *case_name, *runtime;
  weir__bench_submission submit; // NULL: a graph that was recorded before is launched
  weir_issue issue;              // of the context
} form;

static const form forms[] = {
    {"submit", "weir", weir__bench_submit_random, WEIR_ISSUE_QUEUES},
    {"many", "weir, many", weir__bench_submit_many, WEIR_ISSUE_QUEUES},
    {"prepared", "weir, prepared", weir__bench_submit_prepared, WEIR_ISSUE_QUEUES},
    {"prepared many", "weir, prepared many", weir__bench_submit_prepared_many, WEIR_ISSUE_QUEUES},
    {"trace cache", "weir, trace cache", weir__bench_submit_random, WEIR_ISSUE_AUTO},
    {"recorded graph", "weir, recorded graph", NULL, WEIR_ISSUE_AUTO},
};
enum { FORMS = sizeof forms / sizeof *forms };

typedef struct passes {
  weir_context *context;
  weir_kernel *kernel;
  weir_buffer *cells[WEIR__BENCH_CELLS];
  const weir__bench_access *accesses;
  uint64_t tasks;
  weir_graph *graph;      // NULL: tasks are submitted
  double *calls, *in_all; // seconds of each pass
} passes;

static void nothing(const weir_work *work) {
  (void)work;
}

static void record(passes *self) {
  weir__bench_require(weir_graph_create(self->context, NULL, &self->graph));
  for (uint64_t i = 0; i < self->tasks; i++) {
    const weir__bench_access *access = &self->accesses[i];
    const weir_arg args[] = {weir_reads(self->cells[access->read[0]]), weir_reads(self->cells[access->read[1]]),
                             weir_writes(self->cells[access->write])};
    const weir_task task = {.kernel = self->kernel, .args = args, .arg_count = 3};
    weir__bench_require(weir_graph_add(self->graph, &task, NULL));
  }
}

static int by_value(const void *left, const void *right) {
  double a = *(const double *)left, b = *(const double *)right;
  return (a > b) - (a < b);
}

static void print(const char *case_name, const form *which, double *seconds, uint64_t count, uint64_t tasks) {
  qsort(seconds, count, sizeof *seconds, by_value);
  weir__bench_print(case_name, which->runtime, "ns/task", seconds[count / 2] / (double)tasks * 1e9);
}

static void create(passes *self, const form *which, const char *devices) {
  const weir_context_options options = {.devices = devices, .issue = which->issue};
  weir__bench_require(weir_context_create(&options, &self->context));
  weir__bench_require(weir_kernel_create(self->context, "nothing", &self->kernel));
  weir__bench_require(weir_kernel_set_cpu(self->kernel, nothing));
  weir__bench_buffers(self->context, self->cells);
  if (which->submit == NULL) record(self);
}

static void run_pass(const passes *self, const form *which, uint64_t number) {
  double start = weir__bench_seconds();
  if (self->graph != NULL)
    weir__bench_require(weir_graph_launch(self->graph, NULL));
  else
    which->submit(self->context, self->kernel, self->cells, self->accesses, 0, self->tasks);
  self->calls[number] = weir__bench_seconds() - start;
  weir__bench_require(weir_finish(self->context));
  self->in_all[number] = weir__bench_seconds() - start;
}

static void measure(passes *self, const form *which, const char *devices, uint64_t count) {
  create(self, which, devices);
  for (uint64_t i = 0; i < count; i++) run_pass(self, which, i);
  print("submit", which, self->calls, count, self->tasks);
  print("in all", which, self->in_all, count, self->tasks);
  weir__bench_require(weir_context_release(self->context));
}

int weir__bench_forms_main(int argc, char **argv) {
  const char *devices = weir__bench_text_option(argc, argv, "--device", "cpu");
  uint64_t tasks = weir__bench_option(argc, argv, "--tasks", 1000);
  uint64_t count = weir__bench_option(argc, argv, "--passes", 300);
  int which = 0;
  while (which < FORMS && strcmp(argv[2], forms[which].case_name) != 0) which++;
  if (which == FORMS || tasks == 0 || count == 0) {
    fprintf(stderr, which == FORMS ? "\"%s\" is no case of forms\n" : "%s: there must be a task and a pass\n", argv[2]);
    return 2;
  }
  weir__bench_access *accesses = malloc(tasks * sizeof *accesses);
  passes self = {.accesses = accesses, .tasks = tasks};
  self.calls = malloc(count * sizeof *self.calls);
  self.in_all = malloc(count * sizeof *self.in_all);
  bool has_memory = accesses != NULL && self.calls != NULL && self.in_all != NULL;
  if (has_memory) {
    weir__bench_sequence(WEIR__BENCH_SEED, accesses, tasks);
    measure(&self, &forms[which], devices, count);
  }
  free(self.in_all);
  free(self.calls);
  free(accesses);
  return has_memory ? 0 : 1;
}
