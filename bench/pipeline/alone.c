// SPDX-License-Identifier: Apache-2.0
#include "alone.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "host_memory.h"
#include "results.h"
#include "weir/graph.h"

enum { RUNS = 21, WARM = 3 };

// Records the job in a graph whose nodes are the shape's steps. `kernels`: room for one a step.
static weir_status record(weir_context *context, weir_graph *graph, const job_data *data, weir_buffer **buffers,
                          void **results, weir_kernel **kernels) {
  const job_shape *shape = &data->shape;
  weir_status status = WEIR_OK;
  for (uint32_t i = 0; i < shape->step_count && status == WEIR_OK; i++) {
    const job_step *step = &shape->steps[i];
    uint64_t bytes = shape->host_bytes[step->host];
    if (step->kind == JOB_COPY_IN) {
      status = weir_graph_copy_in(graph, buffers[step->buffer], 0, bytes, data->inputs[0][step->host], NULL);
    } else if (step->kind == JOB_COPY_OUT) {
      status = weir_graph_copy_out(graph, buffers[step->buffer], 0, bytes, results[step->host], NULL);
    } else {
      weir_arg args[JOB_MOST_ARGS];
      for (uint32_t j = 0; j < step->arg_count; j++) {
        const job_arg *arg = &step->args[j];
        args[j] = arg->is_value ? weir_value(arg->value, arg->bytes)
                                : (weir_arg){.mode = arg->mode, .buffer = buffers[arg->buffer], .bytes = WEIR_WHOLE};
      }
      for (uint32_t j = 0; j < i && !kernels[i]; j++) {
        if (shape->steps[j].code == step->code) kernels[i] = kernels[j];
      }
      if (!kernels[i]) status = weir_kernel_create_from(context, step->code, &kernels[i]);
      if (status != WEIR_OK) break;
      status = weir_graph_add(graph,
                              &(weir_task){.kernel = kernels[i],
                                           .args = args,
                                           .arg_count = step->arg_count,
                                           .groups = {step->groups[0], step->groups[1], step->groups[2]}},
                              NULL);
    }
  }
  return status;
}

static bool measure(weir_graph *graph, const job_shape *shape, double *kernels, double *copies) {
  uint64_t *start = malloc(2 * shape->step_count * sizeof *start);
  if (!start) return false;
  uint64_t *end = start + shape->step_count;
  bool good = true;
  for (int run = -WARM; run < RUNS && good; run++) {
    double sums[2] = {0};
    good = weir_graph_evaluate(graph, WEIR_FOREVER) == WEIR_OK &&
           weir_graph_times(graph, shape->step_count, start, end) == WEIR_OK;
    for (uint32_t i = 0; i < shape->step_count && good; i++) {
      sums[shape->steps[i].kind != JOB_KERNEL] += (double)(end[i] - start[i]);
    }
    if (run < 0) continue;
    kernels[run] = sums[0];
    copies[run] = sums[1];
  }
  free(start);
  return good;
}

void bench_alone(const char *device, const job_data *data, double *out_kernels_ns, double *out_copies_ns) {
  *out_kernels_ns = *out_copies_ns = NAN;
  const job_shape *shape = &data->shape;
  bool cpu = strncmp(device, "cpu", 3) == 0;
  weir_context *context;
  weir_graph *graph;
  if (weir_context_create(&(weir_context_options){.devices = cpu ? "cpu:1" : device}, &context) != WEIR_OK) return;
  weir_buffer *buffers[JOB_MOST_BUFFERS];
  void *results[JOB_MOST_HOSTS] = {0};
  bool good = weir_graph_create(context, &(weir_graph_options){.timing = true}, &graph) == WEIR_OK;
  for (uint32_t i = 0; i < shape->buffer_count && good; i++) {
    good = weir_buffer_create(context, shape->buffer_bytes[i], &buffers[i]) == WEIR_OK;
  }
  for (uint32_t i = 0; i < shape->host_count && good; i++) {
    results[i] = job_host_allocate(data->device, shape->host_bytes[i]);
    good = results[i] != NULL;
  }
  weir_kernel **kernels = calloc(shape->step_count, sizeof *kernels);
  double kernel_ns[RUNS], copy_ns[RUNS];
  good = good && kernels && record(context, graph, data, buffers, results, kernels) == WEIR_OK;
  if (good && measure(graph, shape, kernel_ns, copy_ns)) {
    *out_kernels_ns = bench_spread_of(kernel_ns, RUNS).median;
    *out_copies_ns = bench_spread_of(copy_ns, RUNS).median;
  }
  weir_context_release(context); // with all that it has
  free(kernels);
  for (uint32_t i = 0; i < shape->host_count; i++) job_host_free(data->device, results[i]);
}
