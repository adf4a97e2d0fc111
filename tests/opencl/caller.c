// SPDX-License-Identifier: Apache-2.0
#include "caller.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

caller mine;
weir_context *context;
weir_device *device;
weir_kernel *kernel;
char name[32];

static const char source[] = "__kernel void add(__global uint *words, uint value) {\n"
                             "  words[get_global_id(0)] += value;\n"
                             "}\n";

cl_command_queue make_queue(cl_context in, cl_ulong properties) {
  cl_int result;
  const cl_ulong wanted[] = {CL_QUEUE_PROPERTIES, properties, 0};
  cl_command_queue queue = clCreateCommandQueueWithProperties(in, mine.device, wanted, &result);
  assert_non_null(queue);
  return queue;
}

cl_mem make_memory(cl_context in, cl_bitfield flags, size_t bytes) {
  cl_int result;
  cl_mem memory = clCreateBuffer(in, flags, bytes, NULL, &result);
  assert_non_null(memory);
  return memory;
}

int caller_open(void **state) {
  (void)state;
  cl_int result;
  const char *text = source;
  if (clGetPlatformIDs(1, &mine.platform, NULL) != CL_SUCCESS ||
      clGetDeviceIDs(mine.platform, CL_DEVICE_TYPE_ALL, 1, &mine.device, NULL) != CL_SUCCESS)
    return -1;
  mine.context = clCreateContext(NULL, 1, &mine.device, NULL, NULL, &result);
  mine.other = clCreateContext(NULL, 1, &mine.device, NULL, NULL, &result);
  mine.queues[0] = make_queue(mine.context, CL_QUEUE_PROFILING_ENABLE);
  mine.queues[1] = make_queue(mine.context, CL_QUEUE_PROFILING_ENABLE);
  mine.own = make_queue(mine.context, 0);
  mine.program = clCreateProgramWithSource(mine.context, 1, &text, NULL, &result);
  if (clBuildProgram(mine.program, 1, &mine.device, "", NULL, NULL) != CL_SUCCESS) return -1;
  mine.kernel = clCreateKernel(mine.program, "add", &result);
  return 0;
}

int caller_close(void **state) {
  (void)state;
  clReleaseKernel(mine.kernel);
  clReleaseProgram(mine.program);
  clReleaseCommandQueue(mine.own);
  clReleaseCommandQueue(mine.queues[0]);
  clReleaseCommandQueue(mine.queues[1]);
  clReleaseContext(mine.context);
  clReleaseContext(mine.other);
  if (fault_loader_live() != 0) {
    fprintf(stderr, "%lld objects are left\n", (long long)fault_loader_live());
    return -1;
  }
  check_leaks();
  return 0;
}

weir_opencl_handles handles_of_mine(void) {
  static void *queues[2];
  for (int i = 0; i < 2; i++) queues[i] = mine.queues[i];
  return (weir_opencl_handles){.context = mine.context, .device = mine.device, .queues = queues, .queue_count = 2};
}

void caller_open_weir(const char *more, uint32_t flags) {
  char devices[64];
  const weir_opencl_handles handles = handles_of_mine();
  assert_int_equal(weir_opencl_register(&handles, name, sizeof name), WEIR_OK);
  snprintf(devices, sizeof devices, "%s%s", name, more);
  assert_int_equal(weir_context_create(&(weir_context_options){.devices = devices, .flags = flags}, &context), WEIR_OK);
  device = weir_context_device(context, 0);
  assert_int_equal(weir_kernel_create(context, "add", &kernel), WEIR_OK);
  const weir_opencl_code code = {.source = source};
  assert_int_equal(weir_kernel_set_opencl(kernel, &code, &(weir_opencl_launch){.entry = "add"}), WEIR_OK);
}

int caller_open_context(void **state) {
  (void)state;
  caller_open_weir(",cpu:1", 0);
  return 0;
}

int caller_close_context(void **state) {
  (void)state;
  weir_kernel_release(kernel);
  weir_context_release(context);
  assert_int_equal(weir_opencl_unregister(name), WEIR_OK);
  return 0;
}

void caller_expect_refusal(weir_status found, weir_status wanted, const char *text) {
  assert_int_equal(found, wanted);
  if (strstr(weir_last_error(), text) == NULL) fail_msg("'%s' does not say '%s'", weir_last_error(), text);
}

weir_event *add_words(weir_buffer *buffer, uint64_t offset, uint32_t words, uint32_t value) {
  weir_event *event;
  weir_arg args[] = {weir_updates_range(buffer, offset, (uint64_t)words * 4), weir_value(&value, sizeof value)};
  const weir_task task = {.kernel = kernel, .args = args, .arg_count = 2, .groups = {words}};
  assert_int_equal(weir_submit(context, &task, &event), WEIR_OK);
  return event;
}

// A kernel of the caller's in a queue of the caller's.
void add_by_caller(cl_mem memory, uint32_t value, cl_event after, cl_event *out_event) {
  const size_t words = WORDS;
  assert_int_equal(clSetKernelArg(mine.kernel, 0, sizeof memory, &memory), CL_SUCCESS);
  assert_int_equal(clSetKernelArg(mine.kernel, 1, sizeof value, &value), CL_SUCCESS);
  assert_int_equal(clEnqueueNDRangeKernel(mine.own, mine.kernel, 1, NULL, &words, NULL, after != NULL,
                                          after != NULL ? &after : NULL, out_event),
                   CL_SUCCESS);
  assert_int_equal(clFlush(mine.own), CL_SUCCESS);
}

void expect_words(cl_mem memory, uint32_t wanted) {
  uint32_t words[WORDS];
  assert_int_equal(clEnqueueReadBuffer(mine.own, memory, CL_TRUE, 0, BYTES, words, 0, NULL, NULL), CL_SUCCESS);
  for (uint32_t i = 0; i < WORDS; i++) assert_int_equal(words[i], wanted);
}

cl_mem make_zeros(void) {
  cl_mem memory = make_memory(mine.context, CL_MEM_READ_WRITE, BYTES);
  const uint32_t zero = 0;
  assert_int_equal(clEnqueueFillBuffer(mine.own, memory, &zero, 4, 0, BYTES, 0, NULL, NULL), CL_SUCCESS);
  assert_int_equal(clFinish(mine.own), CL_SUCCESS);
  return memory;
}

void add_on_host(const weir_work *work) {
  uint32_t *words = work->args[0];
  for (uint32_t i = 0; i < WORDS; i++) words[i] += 100;
}
