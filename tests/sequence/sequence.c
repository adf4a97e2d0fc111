// SPDX-License-Identifier: Apache-2.0
#include "sequence.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "step.spv.h"
#include "stub.h"
#include "sum.spv.h"
#include "weir/cuda.h"
#include "weir/opencl.h"
#include "weir/sim.h"
#include "weir/vulkan.h"

static const char IMAGE[] = "STUB\nstep 256 8 4\nsum 256 8 8 8\nbroken 256 8\n";

void good(weir_status status) {
  if (status != WEIR_OK) fail_msg("%s: %s", weir_status_name(status), weir_last_error());
}

void refused(weir_status status, weir_status wanted, ...) {
  assert_string_equal(weir_status_name(status), weir_status_name(wanted));
  va_list list;
  va_start(list, wanted);
  for (const char *text; (text = va_arg(list, const char *)) != NULL;) {
    if (strstr(weir_last_error(), text) == NULL) fail_msg("\"%s\" does not say \"%s\"", weir_last_error(), text);
  }
  va_end(list);
}

// ---------------------------------------------------------------------------------------------------------------
// Kernels

static void step_numbers(uint32_t *numbers, const void *value) {
  uint32_t number;
  memcpy(&number, value, sizeof number);
  for (uint32_t i = 0; numbers != NULL && i < COUNT; i++) numbers[i] = stepped(numbers[i], number);
}

static void sum_numbers(uint32_t *out, const uint32_t *a, const uint32_t *b) {
  for (uint32_t i = 0; out != NULL && a != NULL && b != NULL && i < COUNT; i++) out[i] = a[i] + b[i];
}

static void cpu_step(const weir_work *work) {
  step_numbers(work->args[0], work->args[1]);
}

static void cpu_sum(const weir_work *work) {
  sum_numbers(work->args[0], work->args[1], work->args[2]);
}

static void cpu_broken(const weir_work *work) {
  weir_work_fail(work, "on purpose");
}

static uint32_t *numbers_of(const stub_launch *launch, uint32_t index) {
  uint64_t pointer;
  memcpy(&pointer, launch->params[index], sizeof pointer);
  return stub_memory(launch, pointer, BYTES);
}

static void cuda_step(const stub_launch *launch) {
  step_numbers(numbers_of(launch, 0), launch->params[1]);
}

static void cuda_sum(const stub_launch *launch) {
  sum_numbers(numbers_of(launch, 0), numbers_of(launch, 1), numbers_of(launch, 2));
}

static void cuda_broken(const stub_launch *launch) {
  stub_fault(launch, 700);
}

// ---------------------------------------------------------------------------------------------------------------
// Fixture

static const char *only; // this list of devices; NULL: all that need nothing of the machine

void sequence_choose(int argc, char **argv) {
  if (argc < 2) return;
  static char devices[64];
  snprintf(devices, sizeof devices, "%s,cpu:1", argv[1]);
  only = devices;
  weir_context *context;
  if (weir_context_create(&(weir_context_options){.devices = devices}, &context) == WEIR_OK) {
    weir_context_release(context);
    return;
  }
  printf("skipped: %s\n", weir_last_error());
  exit(77);
}

static void set_vulkan(weir_kernel *kernel, const char *name) {
  weir_vulkan_code code = {.words = step_spv, .bytes = sizeof step_spv};
  if (strcmp(name, "sum") == 0) code = (weir_vulkan_code){.words = sum_spv, .bytes = sizeof sum_spv};
  if (strcmp(name, "broken") != 0) good(weir_kernel_set_vulkan(kernel, &code, &(weir_vulkan_launch){0}, 1));
}

static void set_opencl(weir_kernel *kernel, const char *name) {
  static const char source[] =
      "__kernel void own_step(__global uint *data, uint value) {\n"
      "  for (uint i = get_local_id(0); i < COUNT; i += get_local_size(0)) data[i] = data[i] * 3 + value;\n"
      "}\n"
      "__kernel void own_sum(__global uint *result, __global const uint *a, __global const uint *b) {\n"
      "  for (uint i = get_local_id(0); i < COUNT; i += get_local_size(0)) result[i] = a[i] + b[i];\n"
      "}\n";
  const weir_opencl_code code = {.source = source, .options = "-DCOUNT=1000"};
  _Static_assert(COUNT == 1000, "as the option says");
  if (strcmp(name, "broken") == 0) return;
  // step is a function of OpenCL's own.
  const char *entry = strcmp(name, "step") == 0 ? "own_step" : "own_sum";
  good(weir_kernel_set_opencl(kernel, &code, &(weir_opencl_launch){.entry = entry, .local = {64, 1, 1}}));
}

static weir_kernel *make_kernel(const sequence *s, const char *name, weir_function cpu) {
  weir_kernel *kernel;
  good(weir_kernel_create(s->context, name, &kernel));
  good(weir_kernel_set_cpu(kernel, cpu));
  good(weir_kernel_set_sim(kernel, &(weir_sim_launch){.threads = 128, .us = 10}, 1));
  if (s->on_cuda)
    good(weir_kernel_set_cuda(kernel, &(weir_cuda_code){.image = IMAGE}, &(weir_cuda_launch){.function = name}, 1));
  if (strncmp(s->devices, "vulkan", 6) == 0) set_vulkan(kernel, name);
  if (s->on_opencl) set_opencl(kernel, name);
  return kernel;
}

static void run_on(const char *devices, const weir_context_options *options, void (*test)(sequence *s)) {
  weir_context_options own = *options;
  own.devices = devices;
  sequence s = {.devices = devices,
                .on_cpu = strncmp(devices, "cpu", 3) == 0,
                .on_sim = strncmp(devices, "sim", 3) == 0,
                .on_cuda = strncmp(devices, "cuda", 4) == 0};
  s.fails = s.on_cpu || s.on_sim;
  s.on_opencl = strncmp(devices, "opencl", 6) == 0;
  s.stages = !s.fails && !s.on_opencl;
  print_message("on %s\n", devices);
  if (s.on_cuda) {
    setenv("WEIR_CUDA_DRIVER", CUDA_STUB, 1);
    stub_configure(&(stub_options){.seed = 7, .executors = 2});
    stub_register("step", cuda_step);
    stub_register("sum", cuda_sum);
    stub_register("broken", cuda_broken);
  }
  good(weir_context_create(&own, &s.context));
  good(weir_graph_create(s.context, NULL, &s.graph));
  s.step = make_kernel(&s, "step", cpu_step);
  s.sum = make_kernel(&s, "sum", cpu_sum);
  s.broken = make_kernel(&s, "broken", cpu_broken);
  test(&s);
  weir_context_release(s.context);
  if (!s.on_cuda) return;
  if (stub_violations() > 0) fail_msg("%s", stub_violation_text());
  assert_int_equal(stub_live_count(), 0);
}

void sequence_run_with(const weir_context_options *options, void (*test)(sequence *s)) {
  static const char *const devices[] = {"cpu:2", "sim:ideal,cpu:1", "sim:h200,cpu:1", "cuda,cpu:1"};
  if (only != NULL) {
    run_on(only, options, test);
    return;
  }
  for (size_t i = 0; i < sizeof devices / sizeof devices[0]; i++) run_on(devices[i], options, test);
}

void sequence_run(void (*test)(sequence *s)) {
  sequence_run_with(&(weir_context_options){.window = 64}, test);
}

// ---------------------------------------------------------------------------------------------------------------
// Helpers

void sequence_new_graph(sequence *s, const weir_graph_options *options) {
  good(weir_graph_release(s->graph));
  good(weir_graph_create(s->context, options, &s->graph));
}

weir_buffer *sequence_buffer(const sequence *s, const char *label) {
  weir_buffer *buffer;
  good(weir_buffer_create(s->context, BYTES, &buffer));
  good(weir_buffer_set_label(buffer, label));
  return buffer;
}

uint32_t sequence_step(const sequence *s, weir_buffer *buffer, uint32_t value) {
  const weir_arg args[] = {weir_updates(buffer), weir_value(&value, sizeof value)};
  uint32_t node;
  good(weir_graph_add(s->graph, &(weir_task){.kernel = s->step, .args = args, .arg_count = 2}, &node));
  return node;
}

uint32_t sequence_sum(const sequence *s, weir_buffer *out, weir_buffer *a, weir_buffer *b) {
  const weir_arg args[] = {weir_writes(out), weir_reads(a), weir_reads(b)};
  uint32_t node;
  good(weir_graph_add(s->graph, &(weir_task){.kernel = s->sum, .args = args, .arg_count = 3}, &node));
  return node;
}

void sequence_set(uint32_t *numbers, uint32_t first) {
  for (uint32_t i = 0; i < COUNT; i++) numbers[i] = first + i;
}

void sequence_expect(const uint32_t *numbers, uint32_t first) {
  for (uint32_t i = 0; i < COUNT; i++) {
    if (numbers[i] != first + i) fail_msg("number %u is %u, not %u", i, numbers[i], first + i);
  }
}

void sequence_read(weir_buffer *buffer, uint32_t *numbers) {
  weir_event *event;
  good(weir_copy_out(buffer, 0, WEIR_WHOLE, numbers, &event));
  good(weir_event_wait(event, WEIR_FOREVER));
  weir_event_release(event);
}

weir_buffer *sequence_numbered(const sequence *s, const char *label, uint32_t first) {
  uint32_t numbers[COUNT];
  weir_buffer *buffer = sequence_buffer(s, label);
  weir_event *event;
  sequence_set(numbers, first);
  good(weir_copy_in(buffer, 0, WEIR_WHOLE, numbers, &event));
  good(weir_event_wait(event, WEIR_FOREVER));
  weir_event_release(event);
  return buffer;
}

void sequence_expect_steps(weir_buffer *buffer, uint32_t first, const uint32_t *values, uint32_t count) {
  uint32_t numbers[COUNT];
  sequence_read(buffer, numbers);
  for (uint32_t i = 0; i < COUNT; i++) {
    uint32_t wanted = first + i;
    for (uint32_t j = 0; j < count; j++) wanted = stepped(wanted, values[j]);
    if (numbers[i] != wanted) fail_msg("number %u is %u, not %u", i, numbers[i], wanted);
  }
}
