// SPDX-License-Identifier: Apache-2.0
//
// The OpenCL device on the machine's first one: names, kernels and what is refused, arguments, graphs, times, the cache on disk.
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "device/device.h"
#include "leaks.h"
#include "scratch.h"
#include "weir/opencl.h"

enum { SKIPPED = 77, COUNT = 1000 };

static const char source[] =
    "__kernel void add(__global uint *to, __global const uint *from, uint value) {\n"
    "  to[get_global_id(0)] = from[get_global_id(0)] + value;\n"
    "}\n"
    "__kernel void bytes(__global uchar *to, uchar value) { to[get_global_id(0)] = value; }\n"
    "__kernel __attribute__((reqd_work_group_size(8, 2, 1))) void shape(__global uint *to) {\n"
    "  to[get_global_id(1) * get_global_size(0) + get_global_id(0)] = get_local_size(0) * 100 + get_num_groups(0);\n"
    "}\n"
    "__kernel void turn(__global uint *to, __local uint *group) {\n"
    "  group[get_local_id(0)] = to[get_global_id(0)];\n"
    "  barrier(CLK_LOCAL_MEM_FENCE);\n"
    "  to[get_global_id(0)] = group[get_local_size(0) - 1 - get_local_id(0)];\n"
    "}\n"
    "__kernel void nothing(ulong value) {}\n"
    "__kernel void gate(__global uint *to, __global volatile uint *flag) {\n"
    "  while (flag[0] == 0) {\n"
    "  }\n"
    "  to[0] *= 2;\n"
    "}\n"
    "__kernel void number(__global uint *to) { to[0] = NUMBER; }\n";

static weir_context *context;
static weir_kernel *kernel;

static weir_status set(const char *options, const weir_opencl_launch *launch) {
  const weir_opencl_code code = {.source = source, .options = options};
  return weir_kernel_set_opencl(kernel, &code, launch);
}

static void expect_error(weir_status found, weir_status wanted, const char *text) {
  assert_int_equal(found, wanted);
  if (strstr(weir_last_error(), text) == NULL) fail_msg("'%s' does not say '%s'", weir_last_error(), text);
}

static int open_context(void **state) {
  (void)state;
  assert_int_equal(weir_context_create(&(weir_context_options){.devices = "opencl"}, &context), WEIR_OK);
  assert_int_equal(weir_kernel_create(context, "test", &kernel), WEIR_OK);
  return 0;
}

static int close_context(void **state) {
  (void)state;
  assert_int_equal(weir_kernel_release(kernel), WEIR_OK);
  weir_context_release(context);
  return 0;
}

static void no_device(const char *name, weir_status wanted, const char *text) {
  weir_context *none;
  expect_error(weir_context_create(&(weir_context_options){.devices = name}, &none), wanted, text);
  assert_null(none);
}

static void missing_loaders(void **state) {
  (void)state;
  setenv("WEIR_OPENCL_LOADER", "/nonexistent/loader.so", 1);
  no_device("opencl", WEIR_ERROR_UNAVAILABLE, "no OpenCL loader: /nonexistent/loader.so");
  setenv("WEIR_OPENCL_LOADER", EMPTY_LIBRARY, 1);
  no_device("opencl", WEIR_ERROR_UNAVAILABLE, "the loader lacks clGetPlatformIDs");
  unsetenv("WEIR_OPENCL_LOADER");
}

static void names(void **state) {
  (void)state;
  no_device("opencl:7000", WEIR_ERROR_UNAVAILABLE, "opencl:7000: this machine has ");
  no_device("opencl:x", WEIR_ERROR_INVALID_ARGUMENT, "'x' is no number of a device");
  no_device("opencl:0x", WEIR_ERROR_INVALID_ARGUMENT, "'0x' is no number of a device");
  no_device("opencl:-1", WEIR_ERROR_INVALID_ARGUMENT, "'-1' is no number of a device");
  no_device("opencl:0/", WEIR_ERROR_INVALID_ARGUMENT, "'0/' is no number");
  no_device("opencl:0/0.0", WEIR_ERROR_INVALID_ARGUMENT, "'0/0.0' is no number");
  no_device("opencl:0/1", WEIR_ERROR_INVALID_ARGUMENT, "opencl:0/1.0 is the first");
  no_device("opencl:0/1.", WEIR_ERROR_INVALID_ARGUMENT, "'0/1.' is no number");
  no_device("opencl:0/1.0.", WEIR_ERROR_INVALID_ARGUMENT, "'0/1.0.' is no number");
  no_device("opencl:0/1.1", WEIR_ERROR_INVALID_ARGUMENT, "of 1 parts the last is 0");
  no_device("opencl:0/100000.1", WEIR_ERROR_INVALID_ARGUMENT, "for 100000 parts");
  weir_context *made;
  assert_int_equal(weir_context_create(&(weir_context_options){.devices = "opencl,opencl:0/1.0", .queues = 3}, &made),
                   WEIR_OK);
  assert_int_equal(weir_context_device_count(made), 2);
  assert_string_equal(weir_device_information(weir_context_device(made, 0))->name, "opencl:0");
  assert_string_equal(weir_device_information(weir_context_device(made, 1))->name, "opencl:0/1.0");
  assert_string_equal(weir_device_information(weir_context_device(made, 1))->kind, "opencl");
  assert_int_equal(weir_device_information(weir_context_device(made, 0))->queues, 3);
  assert_non_null(strstr(weir_device_information(weir_context_device(made, 0))->description, "3 queues"));
  weir_context_release(made);
  assert_int_equal(weir_context_create(&(weir_context_options){.devices = "opencl", .queues = 65}, &made),
                   WEIR_ERROR_INVALID_ARGUMENT);
}

static void refused_code(void **state) {
  (void)state;
  weir_opencl_launch launch = {.entry = "add"};
  const weir_opencl_code wrong = {.source = "__kernel void add(__global uint *to) { to[0] = nowhere; }"};
  expect_error(weir_kernel_set_opencl(kernel, &wrong, &launch), WEIR_ERROR_INVALID_ARGUMENT, "nowhere");
  const weir_opencl_code both = {.source = source, .spirv = source, .spirv_bytes = 4}, none = {0};
  expect_error(weir_kernel_set_opencl(kernel, &both, &launch), WEIR_ERROR_INVALID_ARGUMENT, "and not both");
  expect_error(weir_kernel_set_opencl(kernel, &none, &launch), WEIR_ERROR_INVALID_ARGUMENT, "a source or SPIR-V");
  expect_error(weir_kernel_set_opencl(kernel, NULL, &launch), WEIR_ERROR_INVALID_ARGUMENT, "the code is NULL");
  expect_error(set(NULL, NULL), WEIR_ERROR_INVALID_ARGUMENT, "the launch is NULL");
  expect_error(set("-DNUMBER=1", &(weir_opencl_launch){0}), WEIR_ERROR_INVALID_ARGUMENT, "names no kernel");
  expect_error(set("-DNUMBER=1", &(weir_opencl_launch){.entry = "sub"}), WEIR_ERROR_INVALID_ARGUMENT,
               "no kernel 'sub'");
  launch.local[0] = 1u << 30;
  expect_error(set("-DNUMBER=1", &launch), WEIR_ERROR_INVALID_ARGUMENT, "1073741824 x 1 x 1 work-items; at most");
  launch = (weir_opencl_launch){.entry = "shape", .local = {4, 4, 1}};
  expect_error(set("-DNUMBER=1", &launch), WEIR_ERROR_INVALID_ARGUMENT, "the code asks for 8 x 2 x 1");
  launch = (weir_opencl_launch){.entry = "turn"};
  expect_error(set("-DNUMBER=1", &launch), WEIR_ERROR_INVALID_ARGUMENT, "argument 1 of 2 is one of local memory");
  launch = (weir_opencl_launch){.entry = "add", .local_count = 1, .local_bytes = {16}};
  expect_error(set("-DNUMBER=1", &launch), WEIR_ERROR_INVALID_ARGUMENT, "argument 2 of 3 is none of local memory");
  launch = (weir_opencl_launch){.entry = "number", .local_count = 2, .local_bytes = {16, 16}};
  expect_error(set("-DNUMBER=1", &launch), WEIR_ERROR_INVALID_ARGUMENT,
               "2 arguments of local memory; the kernel has 1");
  launch = (weir_opencl_launch){.entry = "turn", .local_count = 1, .local_bytes = {UINT64_C(1) << 50}};
  expect_error(set("-DNUMBER=1", &launch), WEIR_ERROR_INVALID_ARGUMENT, "bytes of local memory; at most");
  launch.local_bytes[0] = 0;
  expect_error(set("-DNUMBER=1", &launch), WEIR_ERROR_INVALID_ARGUMENT, "has no bytes");
  launch.local_count = WEIR_OPENCL_MOST_LOCAL + 1;
  expect_error(set("-DNUMBER=1", &launch), WEIR_ERROR_INVALID_ARGUMENT, "WEIR_OPENCL_MOST_LOCAL");
  launch = (weir_opencl_launch){.entry = "add", .value = source, .value_bytes = 8};
  expect_error(set("-DNUMBER=1", &launch), WEIR_ERROR_INVALID_ARGUMENT, "3 arguments; the launch has one value");
  launch.value_bytes = 0;
  expect_error(set("-DNUMBER=1", &launch), WEIR_ERROR_INVALID_ARGUMENT, "the launch's value has no bytes");
  // Not SPIR-V, whether or not the device takes some.
  const weir_opencl_code words = {.spirv = source, .spirv_bytes = 64};
  weir_status status = weir_kernel_set_opencl(kernel, &words, &(weir_opencl_launch){.entry = "add"});
  if (status != WEIR_ERROR_INVALID_ARGUMENT) expect_error(status, WEIR_ERROR_UNAVAILABLE, "takes no SPIR-V");
  weir_context *plain;
  weir_kernel *other;
  assert_int_equal(weir_context_create(&(weir_context_options){.devices = "cpu:1"}, &plain), WEIR_OK);
  assert_int_equal(weir_kernel_create(plain, "other", &other), WEIR_OK);
  const weir_opencl_code code = {.source = source};
  expect_error(weir_kernel_set_opencl(other, &code, &(weir_opencl_launch){.entry = "add"}), WEIR_ERROR_UNAVAILABLE,
               "no OpenCL device");
  weir_context_release(plain);
}

static void refused_tasks(void **state) {
  (void)state;
  uint32_t value = 1;
  weir_buffer *buffer;
  assert_int_equal(set("-DNUMBER=1", &(weir_opencl_launch){.entry = "add"}), WEIR_OK);
  assert_int_equal(weir_buffer_create(context, 64, &buffer), WEIR_OK);
  weir_arg args[] = {weir_writes_range(buffer, 0, 32), weir_value(&value, 4), weir_value(&value, 4)};
  weir_task task = {.kernel = kernel, .args = args, .arg_count = 2, .label = "wrong"};
  expect_error(weir_submit(context, &task, NULL), WEIR_ERROR_INVALID_ARGUMENT,
               "2 arguments; the OpenCL kernel 'add' has 3");
  task.arg_count = 3;
  expect_error(weir_submit(context, &task, NULL), WEIR_ERROR_INVALID_ARGUMENT, "argument 1: a value");
  args[1] = args[2] = weir_reads_range(buffer, 32, 32);
  expect_error(weir_submit(context, &task, NULL), WEIR_ERROR_INVALID_ARGUMENT, "argument 2: a buffer");
  const uint64_t large[2] = {0};
  args[1] = weir_writes_range(buffer, 32, 32);
  args[2] = weir_value(large, 4);
  expect_error(weir_submit(context, &task, NULL), WEIR_ERROR_INVALID_ARGUMENT, "never writes it; declare weir_reads");
  args[1] = weir_reads_range(buffer, 32, 32);
  args[2] = weir_value(large, sizeof large);
  expect_error(weir_submit(context, &task, NULL), WEIR_ERROR_INVALID_ARGUMENT,
               "argument 2: a value of 16 bytes; the OpenCL kernel 'add' takes 4 bytes there");
  weir_buffer_release(buffer);
}

static void run(weir_arg *args, uint32_t count, uint32_t groups) {
  const weir_task task = {.kernel = kernel, .args = args, .arg_count = count, .groups = {groups, 1, 1}};
  assert_int_equal(weir_submit(context, &task, NULL), WEIR_OK);
}

static void arguments(void **state) {
  (void)state;
  uint32_t memory[COUNT], value = 3;
  weir_buffer *first, *second;
  assert_int_equal(set("-DNUMBER=1", &(weir_opencl_launch){.entry = "add", .local = {4, 1, 1}}), WEIR_OK);
  assert_int_equal(weir_buffer_create(context, sizeof memory, &first), WEIR_OK);
  assert_int_equal(weir_buffer_create(context, sizeof memory, &second), WEIR_OK);
  for (uint32_t i = 0; i < COUNT; i++) memory[i] = i;
  assert_int_equal(weir_copy_in(first, 0, WEIR_WHOLE, memory, NULL), WEIR_OK);
  assert_int_equal(weir_fill(second, 0, WEIR_WHOLE, 9, NULL), WEIR_OK);
  weir_arg args[] = {weir_writes_range(second, 20, 400), weir_reads_range(first, 36, 400), weir_value(&value, 4)};
  run(args, 3, 25);
  assert_int_equal(weir_copy_out(second, 0, WEIR_WHOLE, memory, NULL), WEIR_OK);
  assert_int_equal(weir_finish(context), WEIR_OK);
  for (uint32_t i = 0; i < COUNT; i++) assert_int_equal(memory[i], i < 5 || i >= 105 ? 9 : i + 4 + 3);
  // Any byte.
  uint8_t byte = 0xab;
  assert_int_equal(set("-DNUMBER=1", &(weir_opencl_launch){.entry = "bytes"}), WEIR_OK);
  weir_arg odd[] = {weir_writes_range(second, 3, 7), weir_value(&byte, 1)};
  run(odd, 2, 7);
  assert_int_equal(weir_copy_out(second, 0, WEIR_WHOLE, memory, NULL), WEIR_OK);
  assert_int_equal(weir_finish(context), WEIR_OK);
  assert_int_equal(memory[0], 0xab000009);
  assert_int_equal(memory[2], 0x0000abab);
  weir_buffer_release(first);
  weir_buffer_release(second);
}

static void shapes_and_local_memory(void **state) {
  (void)state;
  uint32_t memory[64];
  weir_buffer *buffer;
  assert_int_equal(weir_buffer_wrap(context, memory, sizeof memory, &buffer), WEIR_OK);
  assert_int_equal(set("-DNUMBER=1", &(weir_opencl_launch){.entry = "shape", .local = {8, 2, 1}, .groups = {2, 2, 1}}),
                   WEIR_OK);
  weir_arg args[] = {weir_writes(buffer)};
  run(args, 1, 77); // the launch's own
  assert_int_equal(weir_finish(context), WEIR_OK);
  for (int i = 0; i < 64; i++) assert_int_equal(memory[i], 802);
  assert_int_equal(weir_buffer_release(buffer), WEIR_OK);
  for (uint32_t i = 0; i < 64; i++) memory[i] = i;
  assert_int_equal(weir_buffer_wrap(context, memory, sizeof memory, &buffer), WEIR_OK);
  const weir_opencl_launch turn = {.entry = "turn", .local = {16, 1, 1}, .local_count = 1, .local_bytes = {64}};
  assert_int_equal(set("-DNUMBER=1", &turn), WEIR_OK);
  args[0] = weir_updates(buffer);
  run(args, 1, 4);
  assert_int_equal(weir_finish(context), WEIR_OK);
  for (uint32_t i = 0; i < 64; i++) assert_int_equal(memory[i], i / 16 * 16 + 15 - i % 16);
  // A value of the launch's in place of the task's arguments.
  const uint64_t value = 7;
  const weir_opencl_launch nothing = {.entry = "nothing", .value = &value, .value_bytes = sizeof value};
  assert_int_equal(set("-DNUMBER=1", &nothing), WEIR_OK);
  run(args, 1, 4);
  assert_int_equal(weir_finish(context), WEIR_OK);
  weir_buffer_release(buffer);
}

// Rounds of a kernel, a copy and a fill between two buffers; with times, and without.
static void graphs(void **state) {
  (void)state;
  enum { ROUNDS = 5 };
  uint32_t memory[COUNT], value = 2;
  weir_buffer *first, *second;
  weir_graph *graph;
  weir_event *event;
  assert_int_equal(set("-DNUMBER=1", &(weir_opencl_launch){.entry = "add"}), WEIR_OK);
  assert_int_equal(weir_buffer_create(context, sizeof memory, &first), WEIR_OK);
  assert_int_equal(weir_buffer_create(context, sizeof memory, &second), WEIR_OK);
  weir_arg args[] = {weir_writes(second), weir_reads(first), weir_value(&value, 4)};
  const weir_task task = {.kernel = kernel, .args = args, .arg_count = 3, .groups = {COUNT, 1, 1}};
  for (uint32_t timed = 0; timed < 2; timed++) {
    if (timed > 0) assert_int_equal(weir_graph_release(graph), WEIR_OK);
    assert_int_equal(weir_graph_create(context, &(weir_graph_options){.timing = timed > 0}, &graph), WEIR_OK);
    assert_int_equal(weir_graph_add(graph, &task, NULL), WEIR_OK);
    assert_int_equal(weir_graph_fill(graph, second, 0, 4, 1000, NULL), WEIR_OK);
    assert_int_equal(weir_graph_copy(graph, first, 0, second, 0, WEIR_WHOLE, NULL), WEIR_OK);
    assert_int_equal(weir_graph_copy_out(graph, first, 0, WEIR_WHOLE, memory, NULL), WEIR_OK);
    assert_int_equal(weir_fill(first, 0, WEIR_WHOLE, 0, NULL), WEIR_OK);
    for (uint32_t i = 0; i < ROUNDS; i++)
      assert_int_equal(weir_graph_launch(graph, i == ROUNDS - 1 ? &event : NULL), WEIR_OK);
    assert_int_equal(weir_event_wait(event, WEIR_FOREVER), WEIR_OK);
    weir_event_release(event);
    for (uint32_t i = 0; i < COUNT; i++) assert_int_equal(memory[i], i == 0 ? 1000 : 2 * ROUNDS);
  }
  uint64_t starts[4], ends[4];
  assert_int_equal(weir_graph_times(graph, 4, starts, ends), WEIR_OK);
  for (int i = 0; i < 4; i++) assert_true(starts[i] >= (i > 0 ? ends[i - 1] : 1) && ends[i] >= starts[i]);
  weir_graph_release(graph);
  weir_buffer_release(first);
  weir_buffer_release(second);
}

// What was built is found again; a damaged file is as good as none, and is written anew.
static void cache_on_disk(void **state) {
  (void)state;
  char path[PATH_MAX];
  uint32_t found;
  scratch_create();
  for (int round = 0; round < 4; round++) {
    weir_context *again;
    weir_kernel *own;
    weir_buffer *buffer;
    assert_int_equal(weir_context_create(&(weir_context_options){.devices = "opencl"}, &again), WEIR_OK);
    assert_int_equal(weir_kernel_create(again, "own", &own), WEIR_OK);
    assert_int_equal(weir_buffer_create(again, 4, &buffer), WEIR_OK);
    const weir_opencl_code code = {.source = source, .options = "-DNUMBER=4711"};
    assert_int_equal(weir_kernel_set_opencl(own, &code, &(weir_opencl_launch){.entry = "number"}), WEIR_OK);
    weir_arg args[] = {weir_writes(buffer)};
    assert_int_equal(weir_submit(again, &(weir_task){.kernel = own, .args = args, .arg_count = 1}, NULL), WEIR_OK);
    assert_int_equal(weir_copy_out(buffer, 0, 4, &found, NULL), WEIR_OK);
    assert_int_equal(weir_finish(again), WEIR_OK);
    assert_int_equal(found, 4711);
    weir_context_release(again);
    assert_int_equal(scratch_files(path), 1);
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    fseek(file, 0, SEEK_END);
    long size = ftell(file);
    assert_true(size > 500);
    if (round == 1) { // in the middle of the binary
      fseek(file, size - 100, SEEK_SET);
      fputc(0x55, file);
      fputc(0xaa, file);
    }
    fclose(file);
    if (round == 2) {
      file = fopen(path, "wb");
      assert_non_null(file);
      fclose(file);
    }
  }
  scratch_remove();
}

static void times(void **state) {
  (void)state;
  char path[PATH_MAX];
  weir_context *traced;
  weir_kernel *own;
  weir_buffer *buffer;
  uint32_t value = 1;
  const weir_context_options options = {.devices = "opencl", .flags = WEIR_CONTEXT_TRACE};
  assert_int_equal(weir_context_create(&options, &traced), WEIR_OK);
  assert_int_equal(weir_kernel_create(traced, "own", &own), WEIR_OK);
  assert_int_equal(weir_buffer_create(traced, 2 * COUNT * 4, &buffer), WEIR_OK);
  const weir_opencl_code code = {.source = source, .options = "-DNUMBER=1"};
  assert_int_equal(weir_kernel_set_opencl(own, &code, &(weir_opencl_launch){.entry = "add"}), WEIR_OK);
  weir_arg args[] = {weir_writes_range(buffer, 0, COUNT * 4), weir_reads_range(buffer, COUNT * 4, COUNT * 4),
                     weir_value(&value, 4)};
  for (int i = 0; i < 20; i++) {
    assert_int_equal(
        weir_submit(traced, &(weir_task){.kernel = own, .args = args, .arg_count = 3, .groups = {COUNT}}, NULL),
        WEIR_OK);
  }
  assert_int_equal(weir_finish(traced), WEIR_OK);
  uint64_t now_us = weir_device_time(weir_context_device(traced, 0)) / 1000;
  snprintf(path, sizeof path, "%s/timeline.json", scratch_create());
  assert_int_equal(weir_trace_save(traced, path, "times"), WEIR_OK);
  FILE *file = fopen(path, "r");
  assert_non_null(file);
  static char text[1 << 20];
  size_t length = fread(text, 1, sizeof text - 1, file);
  fclose(file);
  text[length] = '\0';
  // Every task took some time, and ended before now.
  int spans = 0;
  for (const char *at = text; (at = strstr(at, "\"ts\":")) != NULL; at++) {
    double start = atof(at + 5);
    const char *duration = strstr(at, "\"dur\":");
    if (duration == NULL) break;
    assert_true(start > 0 && start + atof(duration + 6) <= (double)now_us + 1);
    spans++;
  }
  assert_true(spans >= 20);
  scratch_remove();
  weir_context_release(traced);
}

// The thread that issues the device's tasks has a core that the CPU's workers leave to it.
static void the_cpu_leaves_a_core_to_the_devices_thread(void **state) {
  (void)state;
  weir_context *alone, *both;
  assert_int_equal(weir_context_create(&(weir_context_options){.devices = "cpu"}, &alone), WEIR_OK);
  assert_int_equal(weir_context_create(&(weir_context_options){.devices = "cpu,opencl"}, &both), WEIR_OK);
  uint32_t cores = weir_device_information(weir_context_device(alone, 0))->lanes;
  assert_int_equal(weir_device_information(weir_context_device(both, 0))->lanes, cores == 1 ? 1 : cores - 1);
  weir_context_release(alone);
  weir_context_release(both);
}

static void submit_add(weir_buffer *sum, weir_buffer *one, weir_event **out_event) {
  const uint32_t zero = 0;
  const weir_arg args[] = {weir_updates(sum), weir_reads(one), weir_value(&zero, sizeof zero)};
  assert_int_equal(weir_submit(context, &(weir_task){.kernel = kernel, .args = args, .arg_count = 3}, out_event),
                   WEIR_OK);
}

// An event in the middle of a chain is done when its task is, while those behind it cannot start. In the host's memory: a kernel waits
// for what the host writes.
static void events_in_the_middle(void **state) {
  (void)state;
  enum { BEFORE = 20, BEHIND = 60 };
  static _Atomic uint32_t flag;
  flag = 0;
  uint32_t result = 0;
  weir_buffer *shared, *sum, *one;
  weir_kernel *gate;
  weir_event *middle;
  const weir_opencl_code code = {.source = source, .options = "-DNUMBER=1"};
  assert_int_equal(weir_kernel_create(context, "gate", &gate), WEIR_OK);
  assert_int_equal(weir_kernel_set_opencl(gate, &code, &(weir_opencl_launch){.entry = "gate"}), WEIR_OK);
  assert_int_equal(set("-DNUMBER=1", &(weir_opencl_launch){.entry = "add"}), WEIR_OK);
  assert_int_equal(weir_buffer_wrap(context, (void *)&flag, sizeof flag, &shared), WEIR_OK);
  assert_int_equal(weir_buffer_create(context, 4, &sum), WEIR_OK);
  assert_int_equal(weir_buffer_create(context, 4, &one), WEIR_OK);
  assert_int_equal(weir_fill(sum, 0, WEIR_WHOLE, 0, NULL), WEIR_OK);
  assert_int_equal(weir_fill(one, 0, WEIR_WHOLE, 1, NULL), WEIR_OK);
  for (int i = 0; i < BEFORE; i++) submit_add(sum, one, NULL);
  submit_add(sum, one, &middle);
  const weir_arg args[] = {weir_updates(sum), weir_reads(shared)};
  assert_int_equal(weir_submit(context, &(weir_task){.kernel = gate, .args = args, .arg_count = 2}, NULL), WEIR_OK);
  for (int i = 0; i < BEHIND; i++) submit_add(sum, one, NULL);
  assert_int_equal(weir_event_wait(middle, WEIR_FOREVER), WEIR_OK);
  flag = 1;
  weir_event_release(middle);
  assert_int_equal(weir_copy_out(sum, 0, 4, &result, NULL), WEIR_OK);
  assert_int_equal(weir_finish(context), WEIR_OK);
  assert_int_equal(result, 1);
  weir_buffer_release(shared);
  weir_buffer_release(sum);
  weir_buffer_release(one);
  assert_int_equal(weir_kernel_release(gate), WEIR_OK);
}

static int only_core(pthread_t thread) {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (pthread_getaffinity_np(thread, sizeof set, &set) != 0 || CPU_COUNT(&set) != 1) return -1;
  int core = 0;
  while (!CPU_ISSET((size_t)core, &set)) core++;
  return core;
}

static void find_core(const weir_work *work) {
  *(int *)work->user = only_core(pthread_self());
}

static void the_devices_thread_has_a_core_without_workers(void **state) {
  (void)state;
  weir_context *both;
  int worker = -1;
  assert_int_equal(weir_context_create(&(weir_context_options){.devices = "opencl,cpu:1"}, &both), WEIR_OK);
  assert_int_equal(weir_submit(both, &(weir_task){.host = find_core, .user = &worker}, NULL), WEIR_OK);
  assert_int_equal(weir_finish(both), WEIR_OK);
  int thread = only_core(*weir_context_device(both, 0)->thread);
  // Nothing is pinned without hwloc, or where other processes have taken the cores.
  if (worker >= 0) assert_int_not_equal(thread, worker);
  weir_context_release(both);
}

int main(void) {
  weir_context *trial;
  missing_loaders(NULL); // first: what is found stays
  if (weir_context_create(&(weir_context_options){.devices = "opencl"}, &trial) != WEIR_OK) {
    printf("%s\n", weir_last_error());
    return SKIPPED;
  }
  weir_context_release(trial);
#define WITH_CONTEXT(test) cmocka_unit_test_setup_teardown(test, open_context, close_context)
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(names),
      WITH_CONTEXT(refused_code),
      WITH_CONTEXT(refused_tasks),
      WITH_CONTEXT(arguments),
      WITH_CONTEXT(shapes_and_local_memory),
      WITH_CONTEXT(graphs),
      cmocka_unit_test(cache_on_disk),
      cmocka_unit_test(times),
  };
  const struct CMUnitTest once[] = {
      WITH_CONTEXT(events_in_the_middle),
      cmocka_unit_test(the_cpu_leaves_a_core_to_the_devices_thread),
      cmocka_unit_test(the_devices_thread_has_a_core_without_workers),
  };
  int failed = cmocka_run_group_tests_name("in the host's memory", tests, NULL, NULL);
  failed += cmocka_run_group_tests_name("once", once, NULL, NULL);
  setenv("WEIR_OPENCL_MEMORY", "device", 1);
  failed += cmocka_run_group_tests_name("in its own memory", tests, NULL, NULL);
  check_leaks();
  return failed;
}
