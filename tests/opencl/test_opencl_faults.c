// SPDX-License-Identifier: Apache-2.0
//
// The Nth call of each function of OpenCL fails, for every N, in a scenario of tasks, copies and graphs: nothing leaks, nothing
// hangs, what is reported as done is right, and what is not says why.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/allocate.h"
#include "fault_loader.h"
#include "faults.h"
#include "leaks.h"
#include "sweep.h"
#include "weir/opencl.h"

enum { MANY = 400, POLLS = 25, OUT_OF_RESOURCES = -5, OUT_OF_HOST_MEMORY = -6 };

static const char source[] = "__kernel void mixed(__global uint *to, __global const uint *from, uint value) {\n"
                             "  to[get_global_id(0)] = from[get_global_id(0)] * 3 + value;\n"
                             "}\n";

static weir_status make_kernel(weir_context *context, weir_kernel **out_kernel) {
  weir_status status = weir_kernel_create(context, "mix", out_kernel);
  if (status != WEIR_OK) return status;
  const weir_opencl_code code = {.source = source};
  const weir_opencl_launch launch = {.entry = "mixed", .groups = {WORDS / 16, 1, 1}, .local = {16, 1, 1}};
  status = weir_kernel_set_opencl(*out_kernel, &code, &launch);
  if (status == WEIR_OK) return weir_kernel_set_cpu(*out_kernel, faults_mix_on_cpu);
  weir_kernel_release(*out_kernel);
  *out_kernel = NULL;
  return status;
}

static const char *failed_function;

static const char *failed(void) {
  return fault_loader_failed() ? failed_function : NULL;
}

// Runs the scenario with the Nth call of the function failing. False: it makes fewer.
static bool run(const weir_context_options *options, const char *function, uint64_t n, int32_t result) {
  char what[160];
  snprintf(what, sizeof what, "%s, call %llu of %s gives %d", options->devices, (unsigned long long)n, function,
           result);
  faults_scenario s = {.make_kernel = make_kernel, .failed = failed, .spread = true};
  failed_function = function;
  alarm(60);
  fault_loader_fail(function, n, result);
  weir_status status = faults_play(&s, options, what);
  if (status == WEIR_OK) faults_check(&s, what);
  faults_release(&s);
  alarm(0);
  bool came = fault_loader_failed();
  fault_loader_fail("", 0, 0);
  if (status != WEIR_OK && !came) faults_wrong("%s: %s though no call failed", what, weir_last_error());
  if (fault_loader_live() != 0) faults_wrong("%s: %lld objects are left", what, (long long)fault_loader_live());
  return came;
}

static void sweep(const char *devices, const char *function, uint32_t flags, int32_t result, bool must_come) {
  const weir_context_options options = {.devices = devices, .queues = 2, .flags = flags};
  uint64_t n = 1;
  while (n < MANY && run(&options, function, n, result)) n = sweep_after(n);
  if (must_come && n == 1) faults_wrong("%s was never called on %s", function, devices);
  assert_true(n < MANY);
}

static void refused_calls(void **state) {
  (void)state;
  static const char *const functions[] = {"clCreateContext",
                                          "clCreateCommandQueueWithProperties",
                                          "clCreateKernel",
                                          "clGetKernelInfo",
                                          "clSetKernelArg",
                                          "clSetKernelArgSVMPointer",
                                          "clEnqueueNDRangeKernel",
                                          "clFlush",
                                          "clEnqueueMarkerWithWaitList"};
  sweep("opencl:0/2.1", "clCreateSubDevices", 0, OUT_OF_RESOURCES, true); // first: parts are kept
  for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
    sweep("opencl", functions[i], 0, OUT_OF_RESOURCES, true);
    sweep("opencl:0/2.0,opencl:0/2.1,cpu:1", functions[i], WEIR_CONTEXT_TRACE, OUT_OF_HOST_MEMORY, true);
  }
  sweep("opencl", "clSetEventCallback", 0, OUT_OF_RESOURCES, false);
  sweep("opencl", "clGetKernelArgInfo", 0, OUT_OF_RESOURCES, true);
  sweep("opencl", "clGetEventProfilingInfo", WEIR_CONTEXT_TRACE, OUT_OF_RESOURCES, true);
  faults_expect_none();
}

static void refused_memory(void **state) {
  (void)state;
  setenv("WEIR_OPENCL_MEMORY", "device", 1);
  sweep("opencl", "clSVMAlloc", 0, OUT_OF_HOST_MEMORY, true);
  sweep("cpu:1,opencl", "clEnqueueSVMMemcpy", 0, OUT_OF_RESOURCES, true);
  sweep("opencl", "clEnqueueSVMMemcpy", WEIR_CONTEXT_TRACE, OUT_OF_RESOURCES, true);
  unsetenv("WEIR_OPENCL_MEMORY");
  faults_expect_none();
}

// The same in memory objects.
static void refused_objects(void **state) {
  (void)state;
  setenv("WEIR_OPENCL_MEMORY", "objects", 1);
  sweep("opencl", "clCreateBuffer", 0, OUT_OF_HOST_MEMORY, true);
  sweep("opencl", "clCreateSubBuffer", 0, OUT_OF_RESOURCES, true);
  sweep("opencl:0/2.0,opencl:0/2.1,cpu:1", "clCreateSubBuffer", WEIR_CONTEXT_TRACE, OUT_OF_HOST_MEMORY, true);
  sweep("opencl", "clSetKernelArg", 0, OUT_OF_RESOURCES, true);
  sweep("cpu:1,opencl", "clEnqueueReadBuffer", 0, OUT_OF_RESOURCES, true);
  sweep("cpu:1,opencl", "clEnqueueWriteBuffer", 0, OUT_OF_RESOURCES, true);
  unsetenv("WEIR_OPENCL_MEMORY");
  faults_expect_none();
}

// How often statuses are asked for depends on time; once they always are.
static void commands_that_fail_lose_the_device(void **state) {
  (void)state;
  const weir_context_options options[] = {
      {.devices = "opencl", .queues = 3}, {.devices = "opencl,cpu:1"}, {.devices = "opencl:0/2.0,opencl:0/2.1"}};
  for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
    assert_true(run(&options[i], "clGetEventInfo", 1, OUT_OF_RESOURCES));
    for (uint64_t n = 2; n <= POLLS; n++) run(&options[i], "clGetEventInfo", n, OUT_OF_RESOURCES);
  }
  faults_expect_none();
}

static const char *allocation_failed(void) {
  return "an allocation";
}

// The Nth allocation of Weir's own fails.
static void no_memory_in(const char *memory) {
  setenv("WEIR_OPENCL_MEMORY", memory, 1);
  const weir_context_options options[] = {{.devices = "opencl", .queues = 2, .window = 8, .flags = WEIR_CONTEXT_TRACE},
                                          {.devices = "opencl:0/2.0,cpu:1,opencl:0/2.1", .queues = 2, .window = 8}};
  for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
    uint64_t n = 0;
    bool came = true;
    while (came && n < 10 * MANY) {
      n = sweep_after(n);
      char what[160];
      snprintf(what, sizeof what, "%s, allocation %llu fails", options[i].devices, (unsigned long long)n);
      faults_scenario s = {.make_kernel = make_kernel, .failed = allocation_failed, .spread = true};
      uint64_t before = weir__allocate_count();
      alarm(60);
      weir__allocate_fail_at(n);
      weir_status status = faults_play(&s, &options[i], what);
      if (status == WEIR_OK) faults_check(&s, what);
      faults_release(&s);
      weir__allocate_fail_at(0);
      alarm(0);
      came = weir__allocate_count() - before >= n;
      if (fault_loader_live() != 0) faults_wrong("%s: %lld objects are left", what, (long long)fault_loader_live());
    }
    assert_true(n > 40);
  }
  unsetenv("WEIR_OPENCL_MEMORY");
  faults_expect_none();
}

static void no_memory(void **state) {
  (void)state;
  no_memory_in("");
  no_memory_in("objects");
}

static void the_text_names_the_error(void **state) {
  (void)state;
  weir_context *context;
  weir_kernel *kernel;
  weir_buffer *buffer;
  weir_event *event, *after;
  uint32_t value = 1;
  assert_int_equal(weir_context_create(&(weir_context_options){.devices = "opencl"}, &context), WEIR_OK);
  assert_int_equal(make_kernel(context, &kernel), WEIR_OK);
  assert_int_equal(weir_buffer_create(context, 2 * WORDS * sizeof value, &buffer), WEIR_OK);
  uint32_t zero = 0;
  assert_int_equal(weir_fill(buffer, 0, WEIR_WHOLE, zero, NULL), WEIR_OK);
  weir_arg args[] = {weir_writes_range(buffer, 0, WORDS * 4), weir_reads_range(buffer, WORDS * 4, WORDS * 4),
                     weir_value(&value, sizeof value)};
  weir_task task = {.kernel = kernel, .args = args, .arg_count = 3};
  fault_loader_fail("clEnqueueNDRangeKernel", 1, OUT_OF_RESOURCES);
  assert_int_equal(weir_submit(context, &task, &event), WEIR_OK);
  weir_arg reads[] = {weir_writes_range(buffer, WORDS * 4, WORDS * 4), weir_reads_range(buffer, 0, WORDS * 4),
                      weir_value(&value, sizeof value)};
  task.args = reads;
  assert_int_equal(weir_submit(context, &task, &after), WEIR_OK);
  assert_int_equal(weir_event_wait(event, WEIR_FOREVER), WEIR_ERROR_OUT_OF_MEMORY);
  assert_non_null(strstr(weir_event_message(event), "CL_OUT_OF_RESOURCES"));
  assert_int_equal(weir_event_wait(after, WEIR_FOREVER), WEIR_ERROR_UPSTREAM_FAILED);
  weir_event_release(event);
  weir_event_release(after);
  assert_int_equal(weir_fill(buffer, 0, WEIR_WHOLE, zero, NULL), WEIR_OK);
  fault_loader_fail("clGetEventInfo", 1, -9999);
  task.args = args;
  assert_int_equal(weir_submit(context, &task, &event), WEIR_OK);
  assert_int_equal(weir_event_wait(event, WEIR_FOREVER), WEIR_ERROR_DEVICE_LOST);
  assert_non_null(strstr(weir_event_message(event), "the device is lost: OpenCL error -9999"));
  assert_int_equal(weir_submit(context, &task, &after), WEIR_OK);
  assert_int_equal(weir_event_wait(after, WEIR_FOREVER), WEIR_ERROR_DEVICE_LOST);
  weir_event_release(event);
  weir_event_release(after);
  weir_context_release(context);
  assert_int_equal(fault_loader_live(), 0);
}

static void nothing_to_use(void **state) {
  (void)state;
  weir_context *context;
  fault_loader_hide(true, false);
  assert_int_equal(weir_context_create(&(weir_context_options){.devices = "opencl"}, &context), WEIR_ERROR_UNAVAILABLE);
  assert_non_null(strstr(weir_last_error(), "no OpenCL platform: CL_PLATFORM_NOT_FOUND_KHR"));
  fault_loader_hide(false, false);
  fault_loader_fail("clGetDeviceIDs", 1, -1);
  assert_int_equal(weir_context_create(&(weir_context_options){.devices = "opencl"}, &context), WEIR_ERROR_UNAVAILABLE);
  assert_non_null(strstr(weir_last_error(), "no OpenCL device on 1 platform"));
  fault_loader_fail("", 0, 0);
}

static void nothing_leaked(void **state) {
  (void)state;
  check_leaks();
}

int main(void) {
  fault_loader_use_or_skip(FAULT_LOADER);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(nothing_to_use), // first: what is found stays
      cmocka_unit_test(the_text_names_the_error),
      cmocka_unit_test(refused_calls),
      cmocka_unit_test(refused_memory),
      cmocka_unit_test(refused_objects),
      cmocka_unit_test(no_memory),
      cmocka_unit_test(nothing_leaked),
      cmocka_unit_test(commands_that_fail_lose_the_device),
  };
  return cmocka_run_group_tests_name("OpenCL: failing calls", tests, NULL, NULL);
}
