// SPDX-License-Identifier: Apache-2.0
//
// The blocks by Weir: a buffer for each layer's activations, a task for each layer.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <weir/cuda.h>
#include <weir/enqueue.h>
#include <weir/graph.h>

#include "branches.h"
#include "weir_calls.h"

typedef struct weir_run {
  const branches *net;
  weir_calls calls;
  weir_kernel *kernels[2]; // without and with scratch memory
  weir_buffer *activations[BRANCHES_MOST_LAYERS];
  weir_graph *graph;
} weir_run;

// The task's value is the number of its layer.
static weir_status enqueue(const weir_enqueue *call) {
  const weir_run *run = call->user;
  const int *number = call->args[0].value;
  call_lane own = weir_calls_lane(&run->calls, call);
  int result = branches_call(run->net, &run->net->layers[*number], own.blas, call->queue, call->args[1].pointer,
                             call->args[2].pointer, call->scratch.pointer);
  return result == 0 ? WEIR_OK : WEIR_ERROR_TASK_FAILED;
}

static void submit_all(weir_run *run) {
  for (int i = 0; i < run->net->layer_count; i++) {
    const net_layer *layer = &run->net->layers[i];
    weir_arg args[] = {weir_value(&i, sizeof i), weir_reads(run->activations[layer->input]),
                       weir_writes_range(run->activations[layer->output], branches_bytes(run->net, layer->output_first),
                                         branches_bytes(run->net, layer->to))};
    weir_task task = {.kernel = run->kernels[layer->wide * layer->high > 1], .user = run, .args = args, .arg_count = 3};
    WEIR_CHECK_CALL(run->graph != NULL ? weir_graph_add(run->graph, &task, NULL)
                                       : weir_submit(run->calls.context, &task, NULL));
  }
}

static void create(weir_run *run, const branches *net, int issue) {
  run->net = net;
  weir_calls_open(&run->calls, issue, 1);
  weir_context *context = run->calls.context;
  for (int i = 0; i < 2; i++) {
    weir_enqueue_code code = {.function = enqueue,
                              .prepare = weir_calls_prepare,
                              .scratch_bytes = i == 1 ? net->scratch_bytes : 0,
                              .flags = weir_calls_flags,
                              .data = &run->calls};
    WEIR_CHECK_CALL(weir_kernel_create(context, i == 1 ? "convolution" : "layer", &run->kernels[i]));
    WEIR_CHECK_CALL(weir_kernel_set_enqueue(run->kernels[i], "cuda", &code));
  }
  for (int i = 0; i < net->activation_count; i++)
    WEIR_CHECK_CALL(weir_buffer_create(context, branches_bytes(net, net->channels[i]), &run->activations[i]));
  weir_buffer *first;
  WEIR_CHECK_CALL(weir_buffer_wrap_cuda(weir_context_device(context, 0), net->activations[0],
                                        branches_bytes(net, net->channels[0]), &first));
  WEIR_CHECK_CALL(weir_copy(run->activations[0], 0, first, 0, WEIR_WHOLE, NULL));
  WEIR_CHECK_CALL(weir_buffer_release(first));
  WEIR_CHECK_CALL(weir_finish(context));
}

static void compare(weir_run *run, double expected) {
  int last = run->net->layers[run->net->layer_count - 1].output, channels = run->net->channels[last];
  size_t bytes = branches_bytes(run->net, channels);
  float *host = gpu_memory(bytes, 1);
  WEIR_CHECK_CALL(weir_read(run->activations[last], 0, WEIR_WHOLE, host));
  double sum = branches_sum(host, bytes / sizeof *host);
  free(host);
  if (fabs(sum - expected) <= 1e-3 * expected) return;
  fprintf(stderr, "weir-bench-library: %s: a sum of %g, not of %g\n", run->net->name, sum, expected);
  exit(1);
}

void branches_by_weir(const branches *net, int issue, bool graph, double expected, int passes, table *report) {
  weir_run run = {.graph = NULL};
  create(&run, net, issue);
  double times[REPORT_MOST];
  for (int pass = 0; pass <= passes; pass++) {
    double start = gpu_now_us();
    if (!graph || run.graph == NULL) {
      if (graph) WEIR_CHECK_CALL(weir_graph_create(run.calls.context, NULL, &run.graph));
      submit_all(&run);
    }
    if (graph) WEIR_CHECK_CALL(weir_graph_launch(run.graph, NULL));
    WEIR_CHECK_CALL(weir_finish(run.calls.context));
    times[pass] = gpu_now_us() - start;
  }
  compare(&run, expected);
  report_add(report, net->name,
             graph                        ? "Weir, graph"
             : issue == WEIR_ISSUE_QUEUES ? "Weir, queues"
                                          : "Weir, auto",
             "us", times, passes + 1);
  WEIR_CHECK_CALL(weir_graph_release(run.graph));
  weir_calls_close(&run.calls);
}
