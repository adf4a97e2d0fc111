// SPDX-License-Identifier: Apache-2.0
//
// `weir bench sequences`: what a sequence of many small dispatches costs: to record its tasks, to evaluate it again as it is,
// and to evaluate it with a constant, or with a buffer that all of them read, replaced. On devices that keep what they
// recorded (Vulkan, CUDA) the last two make them record all of it anew.
#include <string.h>

#include "base/clock.h"
#include "bench.h"
#include "cli.h"
#include "multiply.h"
#include "weir/graph.h"
#include "weir/weir.h"

enum {
  TASKS = 1000,
  QUICK_TASKS = 50,
  FLOATS = 256, // of a task
  INPUTS = 12,  // to take in turn, more than a device keeps recordings
  SAMPLES = 1000,
  COUNT_ARGUMENT = 3, // of a product: how many floats
  TWO = 0x40000000,   // as a float
  THREE = 0x40400000,
};

typedef struct sequence {
  weir_context *context;
  weir_graph *graph;
  weir_kernel *multiply;
  weir_buffer *inputs[INPUTS], *second, *products[TASKS];
  uint32_t tasks, input; // which of the inputs it reads now
} sequence;

static weir_status record_product(sequence *all, weir_buffer *product) {
  const uint32_t floats = FLOATS;
  const weir_arg args[] = {weir_writes(product), weir_reads(all->inputs[all->input]), weir_reads(all->second),
                           weir_value(&floats, sizeof floats)};
  const weir_task task = {.kernel = all->multiply,
                          .args = args,
                          .arg_count = 4,
                          .groups = {FLOATS / WEIR__MULTIPLY_GROUP},
                          .label = "multiply"};
  return weir_graph_add(all->graph, &task, NULL);
}

static weir_status record(sequence *all, double *out_ns) {
  weir_status status = weir_graph_clear(all->graph);
  uint64_t start = weir__clock_ns();
  for (uint32_t i = 0; i < all->tasks && status == WEIR_OK; i++) status = record_product(all, all->products[i]);
  *out_ns = (double)(weir__clock_ns() - start) / all->tasks;
  return status;
}

static weir_status open_all(const char *device, bool quick, sequence *all) {
  all->tasks = quick ? QUICK_TASKS : TASKS;
  const uint64_t bytes = FLOATS * sizeof(float);
  weir_status status = weir_context_create(&(weir_context_options){.devices = device}, &all->context);
  if (status == WEIR_OK)
    status = weir_graph_create(all->context, &(weir_graph_options){.device = weir_context_device(all->context, 0)},
                               &all->graph);
  if (status == WEIR_OK)
    status = weir__multiply_create(all->context, weir_context_device(all->context, 0), &all->multiply);
  if (status == WEIR_OK) status = weir_buffer_create(all->context, bytes, &all->second);
  if (status == WEIR_OK) status = weir_fill(all->second, 0, bytes, THREE, NULL);
  for (int i = 0; i < INPUTS && status == WEIR_OK; i++) {
    status = weir_buffer_create(all->context, bytes, &all->inputs[i]);
    if (status == WEIR_OK) status = weir_fill(all->inputs[i], 0, bytes, TWO, NULL);
  }
  for (uint32_t i = 0; i < all->tasks && status == WEIR_OK; i++) {
    status = weir_buffer_create(all->context, bytes, &all->products[i]);
  }
  return status == WEIR_OK ? weir_finish(all->context) : status;
}

typedef enum change { NO_CHANGE, CONSTANT, BUFFER } change;

// Changes the sequence and evaluates it. Times: of the call that launches, and until the launch is done.
static weir_status evaluate(sequence *all, change what, uint32_t number, double *out_call_us, double *out_us) {
  weir_event *event = NULL;
  weir_status status = WEIR_OK;
  uint32_t floats = FLOATS - number % (FLOATS / 2); // of one task
  uint64_t start = weir__clock_ns();
  if (what == CONSTANT) {
    const weir_arg arg = weir_value(&floats, sizeof floats);
    status = weir_graph_set_arg(all->graph, 0, COUNT_ARGUMENT, &arg);
  } else if (what == BUFFER) {
    uint32_t next = (all->input + 1) % INPUTS;
    status = weir_graph_replace_buffer(all->graph, all->inputs[all->input], all->inputs[next]);
    all->input = next;
  }
  if (status == WEIR_OK) status = weir_graph_launch(all->graph, &event);
  *out_call_us = (double)(weir__clock_ns() - start) / 1000;
  if (status == WEIR_OK) status = weir_event_wait(event, WEIR_FOREVER);
  *out_us = (double)(weir__clock_ns() - start) / 1000;
  weir_event_release(event);
  return status;
}

static weir_status check(const sequence *all) {
  float last = 0;
  weir_status status =
      weir_copy_out(all->products[all->tasks - 1], (FLOATS - 1) * sizeof last, sizeof last, &last, NULL);
  if (status == WEIR_OK) status = weir_finish(all->context);
  if (status == WEIR_OK && last != 6.0f) {
    weir__cli_error("bench", "sequences: the product of 2 and 3 came out as %g", (double)last);
    return WEIR_ERROR_TASK_FAILED;
  }
  return status;
}

static weir_status measure(sequence *all, const weir__bench_options *options, weir__bench_report *report) {
  static const char *const names[] = {"as it is", "a constant replaced", "a buffer replaced"};
  double samples[SAMPLES], calls[SAMPLES], untimed, base_us = 0;
  weir_status status = WEIR_OK;
  for (uint32_t i = 0; i < options->runs && status == WEIR_OK; i++) status = record(all, &samples[i]);
  if (status == WEIR_OK) weir__bench_add(report, "sequences", "record", "weir", "ns/task", samples, options->runs);
  // The first launches build and time it.
  for (uint32_t i = 0; i < 2 * INPUTS && status == WEIR_OK; i++) status = evaluate(all, BUFFER, i, &untimed, &untimed);
  for (int what = NO_CHANGE; what <= BUFFER && status == WEIR_OK; what++) {
    weir__bench_progress("sequences: %s", names[what]);
    for (uint32_t i = 0; i < INPUTS && status == WEIR_OK; i++)
      status = evaluate(all, (change)what, i, &untimed, &untimed);
    for (uint32_t i = 0; i < options->runs && status == WEIR_OK; i++)
      status = evaluate(all, (change)what, INPUTS + i, &calls[i], &samples[i]);
    if (status != WEIR_OK) break;
    weir__bench_add(report, "sequences", names[what], "weir, the call", "us", calls, options->runs);
    weir__bench_add(report, "sequences", names[what], "weir, until done", "us", samples, options->runs);
    if (what == NO_CHANGE) base_us = samples[0];
    for (uint32_t i = 0; i < options->runs && what == NO_CHANGE; i++)
      if (samples[i] < base_us) base_us = samples[i];
    for (uint32_t i = 0; i < options->runs; i++) samples[i] = (samples[i] - base_us) * 1000 / all->tasks;
    if (what != NO_CHANGE)
      weir__bench_add(report, "sequences", names[what], "weir, more than as it is", "ns/task", samples, options->runs);
  }
  return status == WEIR_OK ? check(all) : status;
}

int weir__bench_sequences(const weir__bench_options *options, weir__bench_report *report) {
  const char *device = options->device ? options->device : "cpu";
  sequence all = {0};
  weir_status status = open_all(device, options->quick, &all);
  if (status == WEIR_OK) status = measure(&all, options, report);
  weir_context_release(all.context);
  if (status != WEIR_OK) weir__cli_error("bench", "sequences: %s", weir_last_error());
  return weir__cli_exit_code(status);
}
