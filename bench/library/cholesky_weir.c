// SPDX-License-Identifier: Apache-2.0
//
// The factorisation by Weir: a buffer for each tile, a task for each call, in the textbook's order.
#include <stdio.h>
#include <stdlib.h>

#include <weir/cuda.h>
#include <weir/enqueue.h>
#include <weir/graph.h>

#include "cholesky.h"
#include "weir_calls.h"

typedef struct weir_run {
  cholesky *problem;
  weir_calls calls;
  weir_kernel *kernel;
  weir_buffer *whole; // the matrix, wrapped
  weir_buffer **tiles;
  weir_graph *graph;
} weir_run;

// The task's value is its operation.
static weir_status enqueue(const weir_enqueue *call) {
  const weir_run *run = call->user;
  const cholesky_operation *operation = call->args[0].value;
  call_lane own = weir_calls_lane(&run->calls, call);
  CUdeviceptr a = call->arg_count > 2 ? call->args[1].pointer : 0;
  CUdeviceptr b = call->arg_count > 3 ? call->args[2].pointer : 0;
  int result = cholesky_call(run->problem, operation, &own, a, b, call->args[call->arg_count - 1].pointer);
  return result == 0 ? WEIR_OK : WEIR_ERROR_TASK_FAILED;
}

static void submit(weir_run *run, const cholesky_operation *operation) {
  static const int priorities[] = {[POTRF] = 3, [TRSM] = 2, [SYRK] = 1, [GEMM] = 0};
  int operands[2];
  cholesky_operands(operation, operands);
  weir_arg args[4] = {weir_value(operation, sizeof *operation)};
  uint32_t count = 1;
  for (int o = 0; o < 2; o++) {
    if (operands[o] >= 0) args[count++] = weir_reads(run->tiles[operands[o]]);
  }
  args[count++] = weir_updates(run->tiles[cholesky_number(operation->i, operation->j)]);
  weir_task task = {
      .kernel = run->kernel, .user = run, .args = args, .arg_count = count, .priority = priorities[operation->what]};
  WEIR_CHECK_CALL(run->graph != NULL ? weir_graph_add(run->graph, &task, NULL)
                                     : weir_submit(run->calls.context, &task, NULL));
}

static void submit_all(weir_run *run) {
  for (int i = 0; i < run->problem->operation_count; i++) submit(run, &run->problem->operations[i]);
}

static void create(weir_run *run, cholesky *problem, int issue) {
  run->problem = problem;
  weir_calls_open(&run->calls, issue, problem->tile);
  weir_context *context = run->calls.context;
  weir_enqueue_code code = {
      .function = enqueue, .prepare = weir_calls_prepare, .flags = weir_calls_flags, .data = &run->calls};
  WEIR_CHECK_CALL(weir_kernel_create(context, "tile", &run->kernel));
  WEIR_CHECK_CALL(weir_kernel_set_enqueue(run->kernel, "cuda", &code));
  uint64_t bytes = (uint64_t)problem->stored * problem->tile_bytes;
  WEIR_CHECK_CALL(weir_buffer_wrap_cuda(weir_context_device(context, 0), problem->matrix, bytes, &run->whole));
  run->tiles = gpu_memory((size_t)problem->stored, sizeof *run->tiles);
  for (int i = 0; i < problem->stored; i++)
    WEIR_CHECK_CALL(weir_buffer_create(context, problem->tile_bytes, &run->tiles[i]));
}

static void copy_in(weir_run *run) {
  for (int i = 0; i < run->problem->stored; i++)
    WEIR_CHECK_CALL(weir_copy(run->tiles[i], 0, run->whole, (uint64_t)i * run->problem->tile_bytes,
                              run->problem->tile_bytes, NULL));
  WEIR_CHECK_CALL(weir_finish(run->calls.context));
}

static void compare(weir_run *run, const char *way) {
  CUdeviceptr factors;
  uint64_t bytes = (uint64_t)run->problem->stored * run->problem->tile_bytes;
  weir_buffer *wrapped;
  CHECK(lib.p_cuMemAlloc(&factors, bytes));
  WEIR_CHECK_CALL(weir_buffer_wrap_cuda(weir_context_device(run->calls.context, 0), factors, bytes, &wrapped));
  for (int i = 0; i < run->problem->stored; i++)
    WEIR_CHECK_CALL(
        weir_copy(wrapped, (uint64_t)i * run->problem->tile_bytes, run->tiles[i], 0, run->problem->tile_bytes, NULL));
  WEIR_CHECK_CALL(weir_finish(run->calls.context));
  WEIR_CHECK_CALL(weir_buffer_release(wrapped));
  cholesky_compare(run->problem, way, factors);
  CHECK(lib.p_cuMemFree(factors));
}

void cholesky_by_weir(cholesky *problem, int issue, bool graph, int passes, table *report) {
  weir_run run = {.graph = NULL};
  create(&run, problem, issue);
  double times[REPORT_MOST];
  for (int pass = 0; pass <= passes; pass++) {
    copy_in(&run);
    double start = gpu_now_us();
    if (!graph || run.graph == NULL) {
      if (graph) WEIR_CHECK_CALL(weir_graph_create(run.calls.context, NULL, &run.graph));
      submit_all(&run);
    }
    if (graph) WEIR_CHECK_CALL(weir_graph_launch(run.graph, NULL));
    WEIR_CHECK_CALL(weir_finish(run.calls.context));
    times[pass] = 1e-3 * (gpu_now_us() - start);
  }
  char subject[64], way[64];
  snprintf(subject, sizeof subject, "cholesky %d, tiles of %d", problem->size, problem->tile);
  snprintf(way, sizeof way, "Weir, %s", graph ? "graph" : issue == WEIR_ISSUE_QUEUES ? "queues" : "auto");
  compare(&run, way);
  report_add(report, subject, way, "ms", times, passes + 1);
  WEIR_CHECK_CALL(weir_graph_release(run.graph));
  weir_calls_close(&run.calls);
  free(run.tiles);
}
