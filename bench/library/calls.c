// SPDX-License-Identifier: Apache-2.0
//
// What a call of a library costs the host: small products, alone and as tasks of Weir, one by one and as a graph.
#include <stdio.h>
#include <stdlib.h>

#include <weir/cuda.h>
#include <weir/enqueue.h>
#include <weir/graph.h>

#include "calls.h"
#include "weir_calls.h"

enum { ROWS = 64, BUFFERS = 16, CALLS = 2000, GRAPH_CALLS = 200, BYTES = ROWS * ROWS * sizeof(float) };

static float *of(CUdeviceptr address) {
  return (float *)(uintptr_t)address; // NOLINT: an address of the card
}

static int multiply(cublasHandle_t blas, CUdeviceptr a, CUdeviceptr c) {
  static const float one = 1, half = 0.5f;
  return (int)lib.p_cublasSgemm(blas, CUBLAS_OP_N, CUBLAS_OP_N, ROWS, ROWS, ROWS, &one, of(a), ROWS, of(a), ROWS, &half,
                                of(c), ROWS);
}

// ---------------------------------------------------------------------------------------------------------------
// Alone, in one stream

static void alone(int passes, table *report) {
  call_lane own = lane_create(ROWS, NULL, 0);
  CUdeviceptr memory;
  CHECK(lib.p_cuMemAlloc(&memory, (BUFFERS + 1) * BYTES));
  CHECK(lib.p_cuMemsetD32(memory, 0, (BUFFERS + 1) * BYTES / 4));
  double submit[REPORT_MOST], whole[REPORT_MOST];
  for (int pass = 0; pass <= passes; pass++) {
    CHECK(lib.p_cuCtxSynchronize());
    double start = gpu_now_us();
    for (int i = 0; i < CALLS; i++) CHECK(multiply(own.blas, memory, memory + (size_t)(1 + i % BUFFERS) * BYTES));
    submit[pass] = (gpu_now_us() - start) / CALLS;
    CHECK(lib.p_cuStreamSynchronize(own.stream));
    whole[pass] = (gpu_now_us() - start) / CALLS;
  }
  report_add(report, "calls, the caller's time", "one stream", "us", submit, passes + 1);
  report_add(report, "calls, until done", "one stream", "us", whole, passes + 1);
  CUgraph graph;
  CUgraphExec exec;
  CHECK(lib.p_cuStreamBeginCapture(own.stream, CU_STREAM_CAPTURE_MODE_RELAXED));
  for (int i = 0; i < GRAPH_CALLS; i++) CHECK(multiply(own.blas, memory, memory + (size_t)(1 + i % BUFFERS) * BYTES));
  CHECK(lib.p_cuStreamEndCapture(own.stream, &graph));
  CHECK(lib.p_cuGraphInstantiateWithFlags(&exec, graph, 0));
  for (int pass = 0; pass <= passes; pass++) {
    double start = gpu_now_us();
    CHECK(lib.p_cuGraphLaunch(exec, own.stream));
    submit[pass] = gpu_now_us() - start;
    CHECK(lib.p_cuStreamSynchronize(own.stream));
    whole[pass] = gpu_now_us() - start;
  }
  report_add(report, "graph of 200, caller's time", "captured in one stream", "us", submit, passes + 1);
  report_add(report, "graph of 200, until done", "captured in one stream", "us", whole, passes + 1);
  CHECK(lib.p_cuGraphExecDestroy(exec));
  CHECK(lib.p_cuGraphDestroy(graph));
  CHECK(lib.p_cuMemFree(memory));
  lane_destroy(&own, true);
}

// ---------------------------------------------------------------------------------------------------------------
// As tasks

static weir_status enqueue(const weir_enqueue *call) {
  call_lane own = weir_calls_lane(call->data, call);
  return multiply(own.blas, call->args[0].pointer, call->args[1].pointer) == 0 ? WEIR_OK : WEIR_ERROR_TASK_FAILED;
}

// What Weir takes by itself: the library's part of a call is left out.
static weir_status enqueue_nothing(const weir_enqueue *call) {
  (void)call;
  return WEIR_OK;
}

static const char own_source[] = "extern \"C\" __global__ void halve(const float *a, float *c) {"
                                 "  int i = blockIdx.x * blockDim.x + threadIdx.x;"
                                 "  c[i] = a[i] + 0.5f * c[i];"
                                 "}";

typedef enum work { PRODUCTS, OWN_KERNELS, NOTHING } work;

static weir_kernel *create_kernel(weir_calls *calls, work of) {
  weir_kernel *kernel;
  WEIR_CHECK_CALL(weir_kernel_create(calls->context, of == OWN_KERNELS ? "halve" : "multiply", &kernel));
  if (of == OWN_KERNELS) {
    weir_cuda_code code = {.source = own_source};
    weir_cuda_launch launch = {.function = "halve", .grid = {ROWS * ROWS / 256}, .block = {256}};
    launch.grid[1] = launch.grid[2] = 1;
    WEIR_CHECK_CALL(weir_kernel_set_cuda(kernel, &code, &launch, 1));
  } else {
    weir_enqueue_code code = {.function = of == NOTHING ? enqueue_nothing : enqueue,
                              .prepare = weir_calls_prepare,
                              .flags = weir_calls_flags,
                              .data = calls};
    WEIR_CHECK_CALL(weir_kernel_set_enqueue(kernel, "cuda", &code));
  }
  return kernel;
}

static void submit_calls(weir_calls *calls, weir_graph *graph, weir_kernel *kernel, weir_buffer **buffers, int count) {
  for (int i = 0; i < count; i++) {
    weir_arg args[] = {weir_reads(buffers[0]), weir_updates(buffers[1 + i % BUFFERS])};
    weir_task task = {.kernel = kernel, .args = args, .arg_count = 2};
    WEIR_CHECK_CALL(graph != NULL ? weir_graph_add(graph, &task, NULL) : weir_submit(calls->context, &task, NULL));
  }
}

static void by_weir(int issue, bool graphs, work of, int passes, table *report) {
  weir_calls calls;
  weir_calls_open(&calls, issue, ROWS);
  weir_kernel *kernel = create_kernel(&calls, of);
  weir_buffer *buffers[BUFFERS + 1];
  for (int i = 0; i <= BUFFERS; i++) {
    WEIR_CHECK_CALL(weir_buffer_create(calls.context, BYTES, &buffers[i]));
    WEIR_CHECK_CALL(weir_fill(buffers[i], 0, WEIR_WHOLE, 0, NULL));
  }
  weir_graph *graph = NULL;
  if (graphs) {
    WEIR_CHECK_CALL(weir_graph_create(calls.context, NULL, &graph));
    submit_calls(&calls, graph, kernel, buffers, GRAPH_CALLS);
  }
  double submit[REPORT_MOST], whole[REPORT_MOST];
  int count = graphs ? 1 : CALLS;
  for (int pass = 0; pass <= passes; pass++) {
    WEIR_CHECK_CALL(weir_finish(calls.context));
    double start = gpu_now_us();
    if (graphs)
      WEIR_CHECK_CALL(weir_graph_launch(graph, NULL));
    else
      submit_calls(&calls, NULL, kernel, buffers, CALLS);
    submit[pass] = (gpu_now_us() - start) / count;
    WEIR_CHECK_CALL(weir_finish(calls.context));
    whole[pass] = (gpu_now_us() - start) / count;
  }
  char way[64];
  snprintf(way, sizeof way, "Weir%s%s",
           graphs                       ? ", graph"
           : issue == WEIR_ISSUE_QUEUES ? ", queues"
                                        : ", auto",
           of == OWN_KERNELS ? " of own kernels"
           : of == NOTHING   ? ", functions that enqueue nothing"
                             : "");
  report_add(report, graphs ? "graph of 200, caller's time" : "calls, the caller's time", way, "us", submit,
             passes + 1);
  report_add(report, graphs ? "graph of 200, until done" : "calls, until done", way, "us", whole, passes + 1);
  WEIR_CHECK_CALL(weir_graph_release(graph));
  weir_calls_close(&calls);
}

void calls_measure(int passes, table *report) {
  alone(passes, report);
  by_weir(WEIR_ISSUE_QUEUES, false, PRODUCTS, passes, report);
  by_weir(WEIR_ISSUE_AUTO, false, PRODUCTS, passes, report);
  by_weir(WEIR_ISSUE_QUEUES, false, NOTHING, passes, report);
  by_weir(WEIR_ISSUE_QUEUES, false, OWN_KERNELS, passes, report);
  by_weir(WEIR_ISSUE_AUTO, true, PRODUCTS, passes, report);
  by_weir(WEIR_ISSUE_AUTO, true, OWN_KERNELS, passes, report);
}
