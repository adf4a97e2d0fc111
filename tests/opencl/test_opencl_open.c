// SPDX-License-Identifier: Apache-2.0
//
// Open tasks on OpenCL devices: the cases of all kinds in each kind of memory, buffers that are made meanwhile, queues
// that are released, and calls of the driver that fail.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "enqueued.h"
#include "open_cases.h"
#include "sweep.h"

enum { OUT_OF_RESOURCES = -5, MOST_CALLS = 60 };

static const char *memory_now; // of WEIR_OPENCL_MEMORY
static int64_t live_before;

static void open(const char *devices, const weir_context_options *options) {
  live_before = fault_loader_live();
  enqueued_open(devices, memory_now, options);
}

static void close_and_count(void) {
  enqueued_close();
  assert_int_equal(fault_loader_live(), live_before);
}

static bool fill(const weir_enqueue *call, const weir_enqueue_arg *to, uint32_t pattern) {
  return enqueued_fill(call, to, pattern) == WEIR_OK;
}

static bool copy(const weir_enqueue *call, const weir_enqueue_arg *to, const weir_enqueue_arg *from) {
  return enqueued_copy(call, to, from) == WEIR_OK;
}

static const open_rig rig = {
    .kind = "opencl", .open = open, .close = close_and_count, .context = &context, .fill = fill, .copy = copy};

static int in_memory(const char *memory) {
  const struct CMUnitTest tests[] = {OPEN_CASES};
  memory_now = memory;
  char text[64];
  snprintf(text, sizeof text, "OpenCL: open tasks in memory '%s'", memory);
  return cmocka_run_group_tests_name(text, tests, NULL, NULL);
}

// ---------------------------------------------------------------------------------------------------------------
// In a cl_context of the caller's

static void made_meanwhile(void **state) {
  (void)state;
  enum { ROUNDS = 6 };
  weir_buffer *buffers[ROUNDS + 1];
  cl_mem memory[ROUNDS + 1] = {make_zeros()};
  const cl_uint pattern = 3;
  assert_int_equal(clEnqueueFillBuffer(mine.own, memory[0], &pattern, 4, 0, BYTES, 0, NULL, NULL), CL_SUCCESS);
  assert_int_equal(clFinish(mine.own), CL_SUCCESS);
  open_good(weir_buffer_wrap_opencl(device, memory[0], 0, BYTES, &buffers[0]));
  for (int i = 0; i < ROUNDS; i++) {
    const weir_enqueue *call;
    const weir_arg arg = weir_reads(buffers[i]);
    weir_open_task *open_now = open_begin(&arg, 1, &call);
    assert_ptr_equal(call->native_context, mine.context);
    memory[i + 1] = make_memory(mine.context, CL_MEM_READ_WRITE, BYTES);
    open_good(weir_buffer_wrap_opencl(device, memory[i + 1], 0, BYTES, &buffers[i + 1]));
    assert_int_equal(clEnqueueCopyBuffer(call->queue, (cl_mem)(uintptr_t)call->args[0].handle, memory[i + 1],
                                         call->args[0].offset, 0, BYTES, 0, NULL, NULL),
                     CL_SUCCESS);
    const weir_arg made = weir_writes(buffers[i + 1]);
    open_good(weir_task_end(open_now, &made, 1, NULL));
  }
  open_good(weir_finish(context));
  expect_words(memory[ROUNDS], 3);
  for (int i = 0; i <= ROUNDS; i++) {
    open_good(weir_buffer_release(buffers[i]));
    clReleaseMemObject(memory[i]);
  }
}

// The caller's own kernel, beside Weir's.
static void own_kernels(void **state) {
  (void)state;
  weir_buffer *buffer;
  cl_mem memory = make_zeros();
  open_good(weir_buffer_wrap_opencl(device, memory, 0, BYTES, &buffer));
  for (uint32_t i = 0; i < 20; i++) {
    const weir_enqueue *call;
    const weir_arg arg = weir_updates(buffer);
    const size_t words = WORDS;
    weir_open_task *open_now = open_begin(&arg, 1, &call);
    cl_mem object = (cl_mem)(uintptr_t)call->args[0].handle;
    assert_int_equal(clSetKernelArg(mine.kernel, 0, sizeof object, &object), CL_SUCCESS);
    assert_int_equal(clSetKernelArg(mine.kernel, 1, sizeof i, &i), CL_SUCCESS);
    assert_int_equal(clEnqueueNDRangeKernel(call->queue, mine.kernel, 1, NULL, &words, NULL, 0, NULL, NULL),
                     CL_SUCCESS);
    open_end(open_now);
    weir_event_release(add_words(buffer, 0, WORDS, 1));
  }
  open_good(weir_finish(context));
  expect_words(memory, 19 * 20 / 2 + 20);
  weir_buffer_release(buffer);
  clReleaseMemObject(memory);
}

// ---------------------------------------------------------------------------------------------------------------
// Misuse, and calls that fail

static void released_queues(void **state) {
  (void)state;
  enqueued_open("opencl", NULL, NULL);
  weir_buffer *buffer = open_buffer(1);
  bool found = false;
  for (uint32_t i = 0; i < 8 && !found; i++) {
    const weir_enqueue *call;
    const weir_arg arg = weir_writes(buffer);
    weir_open_task *open_now = open_begin(&arg, 1, &call);
    for (int j = 0; j < 4; j++) clReleaseCommandQueue(call->queue); // commands and events hide one
    open_end(open_now);
    weir_status status = weir_finish(context);
    found = status == WEIR_ERROR_TASK_FAILED;
    if (found && strstr(weir_last_error(), "was released") == NULL) fail_msg("%s", weir_last_error());
  }
  assert_true(found);
  open_good(weir_fill(buffer, 0, OPEN_BYTES, 4, NULL));
  open_expect(buffer, 0, OPEN_BYTES, 4);
  enqueued_close();
}

static bool play(uint32_t flags) {
  weir_context_options options = {.queues = 2, .flags = flags};
  bool good = true;
  enqueued_open("opencl", memory_now, &options);
  weir_buffer *buffer = open_buffer(1), *to = open_buffer(2);
  for (uint32_t i = 0; i < 3; i++) {
    weir_open_task *open_now;
    const weir_enqueue *call;
    const weir_arg args[] = {weir_writes_range(buffer, 0, 2048), weir_reads_range(to, 2048, 2048)};
    const weir_task task = {.args = args, .arg_count = 2};
    weir_status status = weir_task_begin(context, &task, &open_now, &call);
    if (status == WEIR_OK) {
      bool put = fill(call, &call->args[0], 20 + i);
      status = put ? weir_task_end(open_now, NULL, 0, NULL) : weir_task_abandon(open_now, WEIR_ERROR_IO, "not put");
      good = good && put;
    }
    if (status == WEIR_OK) status = weir_copy(to, 0, buffer, 0, 2048, NULL);
    good = good && status == WEIR_OK;
  }
  good = weir_finish(context) == WEIR_OK && good;
  uint32_t words[512];
  good = weir_read(to, 0, sizeof words, words) == WEIR_OK && good; // which a call that fails can concern, too
  if (good) assert_true(words[0] == 22 && words[511] == 22);
  assert_int_equal(weir_context_release(context), WEIR_OK);
  return good;
}

static void calls_fail(void **state) {
  (void)state;
  static const char *const functions[] = {"clCreateCommandQueueWithProperties",
                                          "clRetainCommandQueue",
                                          "clEnqueueMarkerWithWaitList",
                                          "clFlush",
                                          "clRetainMemObject",
                                          "clCreateSubBuffer",
                                          "clFinish"};
  for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
    memory_now = i % 2 == 0 ? "objects" : "device";
    if (strcmp(functions[i], "clCreateSubBuffer") == 0 || strcmp(functions[i], "clRetainMemObject") == 0)
      memory_now = "objects";
    bool came = true;
    for (uint64_t n = 3; came && n < MOST_CALLS; n = sweep_after(n)) { // after the first two: the device's own queues
      int64_t before = fault_loader_live();
      alarm(60);
      fault_loader_fail(functions[i], n, OUT_OF_RESOURCES);
      play(n % 2 == 0 ? WEIR_CONTEXT_TRACE : 0);
      came = fault_loader_failed();
      fault_loader_fail("", 0, 0);
      alarm(0);
      if (fault_loader_live() != before)
        fail_msg("%s, call %llu: %lld objects are left", functions[i], (unsigned long long)n,
                 (long long)(fault_loader_live() - before));
    }
  }
}

int main(void) {
  fault_loader_use_or_skip(FAULT_LOADER);
  open_rig_now = &rig;
  int failures = in_memory("host") + in_memory("device") + in_memory("objects");
  const struct CMUnitTest sharing[] = {
      cmocka_unit_test_setup_teardown(made_meanwhile, caller_open_context, caller_close_context),
      cmocka_unit_test_setup_teardown(own_kernels, caller_open_context, caller_close_context)};
  failures += cmocka_run_group_tests_name("OpenCL: open tasks that share", sharing, caller_open, caller_close);
  const struct CMUnitTest misuses[] = {cmocka_unit_test(released_queues), cmocka_unit_test(calls_fail)};
  return failures + cmocka_run_group_tests_name("OpenCL: open tasks that fail", misuses, NULL, NULL);
}
