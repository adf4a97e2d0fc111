// SPDX-License-Identifier: Apache-2.0
//
// Weir as one of the runtimes: empty tasks end to end, and the task graphs of Task Bench.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "weir/graph.h"
#include "weir_bench.h"

enum { DEFAULT_WINDOW = 0 };

static weir_context *context;
static weir_kernel *independent_kernel, *chain_kernel, *random_kernel, *grid_kernel;
static weir_buffer *buffers[WEIR__BENCH_CELLS];
static weir_graph *graph;
static uint64_t *independent_cells;
static weir__bench_grid *current_grid;
static weir_buffer **grid_buffers;

void weir__bench_require(weir_status status) {
  if (status == WEIR_OK) return;
  fprintf(stderr, "%s: %s\n", weir_status_name(status), weir_last_error());
  exit(status == WEIR_ERROR_UNAVAILABLE ? 3 : 1);
}

weir_context *weir__bench_context(const char *devices, uint32_t window, bool renaming) {
  weir_context *created = NULL;
  weir_context_options options = {.devices = devices, .window = window};
  if (!renaming) options.flags = WEIR_CONTEXT_NO_RENAME;
  weir__bench_require(weir_context_create(&options, &created));
  return created;
}

void weir__bench_buffers(weir_context *owner, weir_buffer **out_buffers) {
  for (int i = 0; i < WEIR__BENCH_CELLS; i++) {
    weir__bench_require(weir_buffer_create(owner, sizeof(uint64_t), &out_buffers[i]));
  }
}

static void independent_task(const weir_work *work) {
  uint64_t number = (uint64_t)(uintptr_t)work->user;
  independent_cells[number] = weir__bench_mix(number, number, number);
}

static void chain_task(const weir_work *work) {
  uint64_t *cell = work->args[0];
  *cell = weir__bench_mix(*cell, *cell, (uint64_t)(uintptr_t)work->user);
}

void weir__bench_random_task(const weir_work *work) {
  const uint64_t *first = work->args[0], *second = work->args[1];
  uint64_t *output = work->args[2];
  *output = weir__bench_mix(*first, *second, (uint64_t)(uintptr_t)work->user);
}

static void grid_task(const weir_work *work) {
  uint64_t number = (uint64_t)(uintptr_t)work->user;
  const weir__bench_cell *inputs[WEIR__BENCH_MAX_INPUTS];
  uint32_t count = work->arg_count - 1;
  for (uint32_t i = 0; i < count; i++) inputs[i] = work->args[i];
  weir__bench_grid_task(current_grid, (int64_t)(number / WEIR__BENCH_WIDTH), (int64_t)(number % WEIR__BENCH_WIDTH),
                        inputs, work->args[count]);
}

static weir_kernel *create_kernel(const char *name, weir_function function) {
  weir_kernel *kernel = NULL;
  weir__bench_require(weir_kernel_create(context, name, &kernel));
  weir__bench_require(weir_kernel_set_cpu(kernel, function));
  return kernel;
}

static const char *start(const char *variant) {
  bool renaming = strcmp(variant, "no-rename") != 0;
  if (renaming && *variant) return "Weir has no other variant than no-rename";
  context = weir__bench_context("cpu:2", DEFAULT_WINDOW, renaming);
  independent_kernel = create_kernel("independent", independent_task);
  chain_kernel = create_kernel("chain", chain_task);
  random_kernel = create_kernel("random", weir__bench_random_task);
  grid_kernel = create_kernel("grid", grid_task);
  return NULL;
}

static void stop(void) {
  weir__bench_require(weir_kernel_release(independent_kernel));
  weir__bench_require(weir_kernel_release(chain_kernel));
  weir__bench_require(weir_kernel_release(random_kernel));
  weir__bench_require(weir_kernel_release(grid_kernel));
  weir_context_release(context);
}

// Independent tasks write memory of their own; all others use buffers, which get the cells' values.
static const char *prepare(const weir__bench_tasks *tasks) {
  independent_cells = tasks->cells;
  if (!tasks->accesses) return NULL;
  weir__bench_buffers(context, buffers);
  for (int i = 0; i < WEIR__BENCH_CELLS; i++) {
    weir__bench_require(weir_copy_in(buffers[i], 0, sizeof(uint64_t), &tasks->cells[i], NULL));
  }
  weir__bench_require(weir_finish(context));
  return NULL;
}

static const char *finish(const weir__bench_tasks *tasks) {
  weir__bench_require(weir_graph_release(graph));
  graph = NULL;
  if (!tasks->accesses) return NULL;
  for (int i = 0; i < WEIR__BENCH_CELLS; i++) {
    weir__bench_require(weir_copy_out(buffers[i], 0, sizeof(uint64_t), &tasks->cells[i], NULL));
    weir__bench_require(weir_buffer_release(buffers[i]));
  }
  weir__bench_require(weir_finish(context));
  return NULL;
}

static void run_independent(const weir__bench_tasks *tasks) {
  for (uint64_t i = 0; i < tasks->count; i++) {
    const weir_task task = {.kernel = independent_kernel, .user = (void *)(uintptr_t)i};
    weir__bench_require(weir_submit(context, &task, NULL));
  }
  weir__bench_require(weir_finish(context));
}

static void run_chain(const weir__bench_tasks *tasks) {
  const weir_arg arg = weir_updates(buffers[0]);
  for (uint64_t i = 0; i < tasks->count; i++) {
    const weir_task task = {.kernel = chain_kernel, .user = (void *)(uintptr_t)i, .args = &arg, .arg_count = 1};
    weir__bench_require(weir_submit(context, &task, NULL));
  }
  weir__bench_require(weir_finish(context));
}

static void run_random(const weir__bench_tasks *tasks) {
  weir__bench_submit_random(context, random_kernel, buffers, tasks->accesses, 0, tasks->count);
  weir__bench_require(weir_finish(context));
}

static void record(const weir__bench_tasks *tasks) {
  weir__bench_require(weir_graph_create(context, NULL, &graph));
  for (uint64_t i = 0; i < tasks->count; i++) {
    const weir__bench_access *access = &tasks->accesses[i];
    const weir_arg args[] = {weir_reads(buffers[access->read[0]]), weir_reads(buffers[access->read[1]]),
                             weir_writes(buffers[access->write])};
    const weir_task task = {.kernel = random_kernel, .user = (void *)(uintptr_t)i, .args = args, .arg_count = 3};
    weir__bench_require(weir_graph_add(graph, &task, NULL));
  }
}

static void replay(const weir__bench_tasks *tasks) {
  (void)tasks;
  weir__bench_require(weir_graph_launch(graph, NULL));
  weir__bench_require(weir_finish(context));
}

static const char *grid_prepare(weir__bench_grid *grid) {
  current_grid = grid;
  size_t count = (size_t)(grid->steps * WEIR__BENCH_WIDTH);
  grid_buffers = calloc(count, sizeof(weir_buffer *));
  if (!grid_buffers) return "no memory";
  for (size_t i = 0; i < count; i++) {
    weir__bench_require(weir_buffer_create(context, sizeof(weir__bench_cell), &grid_buffers[i]));
  }
  return NULL;
}

static void grid_finish(weir__bench_grid *grid) {
  size_t count = grid_buffers ? (size_t)(grid->steps * WEIR__BENCH_WIDTH) : 0;
  for (size_t i = 0; i < count; i++) weir__bench_require(weir_buffer_release(grid_buffers[i]));
  free(grid_buffers);
  grid_buffers = NULL;
}

static void submit_grid_task(const weir__bench_grid *grid, int64_t step, int64_t point) {
  weir__bench_inputs inputs = weir__bench_grid_inputs(grid, step, point);
  weir_arg args[WEIR__BENCH_MAX_INPUTS + 1];
  int64_t number = step * WEIR__BENCH_WIDTH + point;
  for (uint8_t i = 0; i < inputs.count; i++) {
    args[i] = weir_reads(grid_buffers[number - point - WEIR__BENCH_WIDTH + inputs.points[i]]);
  }
  args[inputs.count] = weir_writes(grid_buffers[number]);
  const weir_task task = {
      .kernel = grid_kernel, .user = (void *)(uintptr_t)number, .args = args, .arg_count = inputs.count + 1u};
  weir__bench_require(weir_submit(context, &task, NULL));
}

static void grid_run(weir__bench_grid *grid) {
  for (int64_t step = 0; step < grid->steps; step++) {
    int64_t end = weir__bench_end_point(grid, step);
    for (int64_t point = weir__bench_first_point(grid, step); point < end; point++) {
      submit_grid_task(grid, step, point);
    }
  }
  weir__bench_require(weir_finish(context));
}

const weir__bench_runtime weir__bench_weir = {
    .name = "weir",
    .start = start,
    .stop = stop,
    .prepare = prepare,
    .finish = finish,
    .independent = run_independent,
    .chain = run_chain,
    .random = run_random,
    .record = record,
    .replay = replay,
    .grid_prepare = grid_prepare,
    .grid_finish = grid_finish,
    .grid_run = grid_run,
};
