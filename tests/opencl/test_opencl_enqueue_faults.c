// SPDX-License-Identifier: Apache-2.0
//
// Enqueue functions on OpenCL devices that fail, or do what they must not; calls of the driver that fail around them.
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "device/opencl/opencl.h"
#include "enqueue_allocations.h"
#include "enqueued.h"
#include "gate.h"

enum { SIZE = 4096 };

static const weir_enqueue_code fill_code = {.function = enqueued_fill_task};
static const weir_enqueue_code copy_code = {.function = enqueued_copy_task};

static weir_buffer *make_buffer(void) {
  weir_buffer *buffer;
  assert_int_equal(weir_buffer_create(context, SIZE, &buffer), WEIR_OK);
  return buffer;
}

static void expect_end(weir_event *event, weir_status wanted, const char *text) {
  weir_status found = weir_event_wait(event, WEIR_FOREVER);
  const char *message = weir_event_message(event);
  if (found != wanted) fail_msg("%s, not %s: %s", weir_status_name(found), weir_status_name(wanted), message);
  if (strstr(message, text) == NULL) fail_msg("'%s' does not say '%s'", message, text);
  weir_event_release(event);
}

// ---------------------------------------------------------------------------------------------------------------
// Failures

static uint32_t aside[SIZE / 4]; // the host's memory, which functions fill, too

// Puts work on the queue, and fails if the value is odd.
static weir_status fail_half_way(const weir_enqueue *call) {
  const weir_enqueue_arg outside = {.pointer = (uintptr_t)aside, .bytes = sizeof aside};
  uint32_t value;
  memcpy(&value, call->args[1].value, sizeof value);
  weir_status status = enqueued_fill(call, &outside, value);
  if (status == WEIR_OK) status = enqueued_fill_task(call);
  if (status != WEIR_OK || value % 2 == 0) return status;
  weir_enqueue_fail(call, "no plan");
  return value == 1 ? WEIR_OK : value == 3 ? WEIR_ERROR_OUT_OF_MEMORY : value == 5 ? WEIR_PENDING : WEIR_ERROR_IO;
}

static void failures_are_the_tasks(void **state) {
  (void)state;
  static const weir_status statuses[] = {WEIR_ERROR_TASK_FAILED, WEIR_ERROR_OUT_OF_MEMORY, WEIR_ERROR_TASK_FAILED,
                                         WEIR_ERROR_IO};
  enqueued_open("opencl", "host", NULL);
  weir_kernel *fails = enqueued_kernel("fails", &(weir_enqueue_code){.function = fail_half_way});
  weir_kernel *copy = enqueued_kernel("copy", &copy_code);
  weir_buffer *first = make_buffer(), *second = make_buffer();
  for (uint32_t i = 0; i < 4; i++) {
    weir_event *event, *after, *again;
    enqueued_submit_fill(fails, first, 0, SIZE, 2 * i + 1, &event);
    enqueued_submit_copy(copy, second, first, 0, SIZE, &after);
    enqueued_submit_fill(fails, first, 0, SIZE, 100, &again);
    expect_end(after, WEIR_ERROR_UPSTREAM_FAILED, "'copy'");
    expect_end(event, statuses[i], "no plan");
    expect_end(again, WEIR_OK, "");
    assert_int_equal(weir_finish(context), statuses[i]);
    if (strstr(weir_last_error(), "'fill'") == NULL) fail_msg("%s", weir_last_error());
    enqueued_expect(first, 0, SIZE, 100);
  }
  // What a function had put on its queue is done when its task ends.
  weir_event *event;
  enqueued_submit_fill(fails, first, 0, SIZE, 77, &event);
  expect_end(event, WEIR_ERROR_IO, "no plan");
  for (int i = 0; i < SIZE / 4; i++) assert_int_equal(aside[i], 77);
  assert_int_equal(weir_finish(context), WEIR_ERROR_IO);
  enqueued_close();
}

static void failures_in_graphs(void **state) {
  (void)state;
  enqueued_open("opencl", "host", NULL);
  weir_kernel *fails = enqueued_kernel("fails", &(weir_enqueue_code){.function = fail_half_way});
  weir_kernel *copy = enqueued_kernel("copy", &copy_code);
  weir_buffer *buffers[3] = {make_buffer(), make_buffer(), make_buffer()};
  for (uint32_t queue = 0; queue < 2; queue++) {
    weir_graph *graph;
    uint32_t value = 8;
    assert_int_equal(weir_graph_create(context, &(weir_graph_options){.queue = queue}, &graph), WEIR_OK);
    for (int i = 0; i < 2; i++) {
      const weir_arg args[] = {weir_writes(buffers[i]), weir_value(&value, sizeof value)};
      assert_int_equal(weir_graph_add(graph, &(weir_task){.kernel = fails, .args = args, .arg_count = 2}, NULL),
                       WEIR_OK);
    }
    const weir_arg args[] = {weir_writes(buffers[2]), weir_reads(buffers[1])};
    assert_int_equal(weir_graph_add(graph, &(weir_task){.kernel = copy, .args = args, .arg_count = 2}, NULL), WEIR_OK);
    for (uint32_t i = 0; i < 4; i++) {
      weir_event *event;
      value = i % 2 == 0 ? 7 : 8;
      const weir_arg given = weir_value(&value, sizeof value);
      assert_int_equal(weir_graph_set_arg(graph, 1, 1, &given), WEIR_OK);
      assert_int_equal(weir_graph_launch(graph, &event), WEIR_OK);
      expect_end(event, i % 2 == 0 ? WEIR_ERROR_TASK_FAILED : WEIR_OK, i % 2 == 0 ? "node 1 'fails'" : "");
      enqueued_expect(buffers[0], 0, SIZE, 8);
      uint32_t word;
      assert_int_equal(weir_read(buffers[2], 0, 4, &word), i % 2 == 0 ? WEIR_ERROR_UPSTREAM_FAILED : WEIR_OK);
      weir_finish(context);
    }
    assert_int_equal(weir_graph_release(graph), WEIR_OK);
  }
  enqueued_close();
}

// It fails in its first call with each lane, and then not.
static _Atomic uint32_t prepares;

static weir_status prepare_at_last(const weir_enqueue *call) {
  if (atomic_fetch_add(&prepares, 1) > 1) return WEIR_OK;
  weir_enqueue_fail(call, "the library is not ready");
  return WEIR_ERROR_UNAVAILABLE;
}

static void failures_to_prepare(void **state) {
  (void)state;
  enqueued_open("opencl", NULL, &(weir_context_options){.queues = 1});
  weir_kernel *fill =
      enqueued_kernel("fill", &(weir_enqueue_code){.function = enqueued_fill_task, .prepare = prepare_at_last});
  weir_buffer *buffer = make_buffer();
  for (uint32_t i = 0; i < 4; i++) {
    weir_event *event;
    enqueued_submit_fill(fill, buffer, 0, SIZE, i, &event);
    expect_end(event, i < 2 ? WEIR_ERROR_UNAVAILABLE : WEIR_OK, i < 2 ? "the library is not ready" : "");
    weir_finish(context);
  }
  assert_int_equal(atomic_load(&prepares), 3);
  enqueued_expect(buffer, 0, SIZE, 3);
  enqueued_close();
}

// ---------------------------------------------------------------------------------------------------------------
// Functions that do what they must not, or next to nothing

static weir_status wait_for_the_queue(const weir_enqueue *call) {
  weir_status status = enqueued_fill_task(call);
  return clFinish(call->queue) == CL_SUCCESS ? status : WEIR_ERROR_IO;
}

static weir_status wait_for_tasks(const weir_enqueue *call) {
  weir_event *event = call->user;
  if (weir_finish(context) != WEIR_ERROR_INVALID_ARGUMENT ||
      weir_event_wait(event, WEIR_FOREVER) != WEIR_ERROR_INVALID_ARGUMENT)
    return WEIR_ERROR_IO;
  return enqueued_fill_task(call);
}

static weir_status enqueue_nothing(const weir_enqueue *call) {
  (void)call;
  return WEIR_OK;
}

static weir_status submit_another(const weir_enqueue *call) {
  weir_kernel *fill = call->user;
  enqueued_submit_fill(fill, call->data, 0, SIZE, 12, NULL);
  return enqueued_fill_task(call);
}

static weir_status release_the_queue(const weir_enqueue *call) {
  weir_status status = enqueued_fill_task(call);
  clFinish(call->queue); // so that no command has a reference
  clReleaseCommandQueue(call->queue);
  return status;
}

static void submit(weir_kernel *of, weir_buffer *to, uint32_t value, void *user, weir_event **out_event) {
  const weir_arg args[] = {weir_writes(to), weir_value(&value, sizeof value)};
  const weir_task task = {.kernel = of, .args = args, .arg_count = 2, .user = user, .label = "misuse"};
  assert_int_equal(weir_submit(context, &task, out_event), WEIR_OK);
}

static void misuse(void **state) {
  (void)state;
  weir_event *event, *gate_event;
  gate closed = {false};
  enqueued_open("opencl,cpu:1", "host", &(weir_context_options){.queues = 2});
  weir_buffer *buffer = make_buffer(), *other = make_buffer();
  weir_kernel *fill = enqueued_kernel("fill", &fill_code);
  weir_kernel *waits = enqueued_kernel("waits", &(weir_enqueue_code){.function = wait_for_the_queue});
  weir_kernel *joins = enqueued_kernel("joins", &(weir_enqueue_code){.function = wait_for_tasks});
  weir_kernel *nothing = enqueued_kernel("nothing", &(weir_enqueue_code){.function = enqueue_nothing});
  weir_kernel *submits = enqueued_kernel("submits", &(weir_enqueue_code){.function = submit_another, .data = other});
  for (uint32_t i = 0; i < 20; i++) submit(waits, buffer, i, NULL, NULL);
  enqueued_expect(buffer, 0, SIZE, 19);
  assert_int_equal(gate_submit(context, &closed, NULL, 0, &gate_event), WEIR_OK);
  submit(joins, buffer, 20, gate_event, &event);
  expect_end(event, WEIR_OK, "");
  gate_open(&closed);
  weir_event_release(gate_event);
  submit(nothing, other, 0, NULL, &event);
  expect_end(event, WEIR_OK, "");
  submit(submits, buffer, 21, fill, NULL);
  assert_int_equal(weir_finish(context), WEIR_OK);
  enqueued_expect(buffer, 0, SIZE, 21);
  enqueued_expect(other, 0, SIZE, 12);
  enqueued_close();
}

static cl_command_queue released;
static _Atomic uint32_t releases_made;

static weir_status release_and_note(const weir_enqueue *call) {
  released = call->queue;
  atomic_fetch_add(&releases_made, 1);
  return release_the_queue(call);
}

// References of commands and events may hide it for some time. The queue is there until then, and afterwards; in the
// end it is left to the driver.
static void released_queues(void **state) {
  (void)state;
  weir_status status = WEIR_OK;
  enqueued_open("opencl", "host", &(weir_context_options){.queues = 1});
  weir_buffer *buffer = make_buffer();
  weir_kernel *fill = enqueued_kernel("fill", &fill_code);
  weir_kernel *releases = enqueued_kernel("releases", &(weir_enqueue_code){.function = release_and_note});
  for (int i = 0; i < 8 && status == WEIR_OK; i++) {
    weir_event *event;
    submit(releases, buffer, 22, NULL, &event);
    status = weir_event_wait(event, WEIR_FOREVER);
    if (status != WEIR_OK && strstr(weir_event_message(event), "released the device's cl_command_queue") == NULL)
      fail_msg("%s", weir_event_message(event));
    weir_event_release(event);
    weir_finish(context);
  }
  assert_int_equal(status, WEIR_ERROR_TASK_FAILED);
  for (uint32_t i = 0; i < 50; i++) submit(i % 2 == 0 ? fill : releases, buffer, i, NULL, NULL);
  enqueued_expect(buffer, 0, SIZE, 49);
  assert_int_equal(weir_finish(context), WEIR_OK);
  enqueued_close();
  uint32_t left = 1 + WEIR__OPENCL_GUARDS + WEIR__OPENCL_MORE_GUARDS - atomic_load(&releases_made);
  for (; left > 0; left--) clReleaseCommandQueue(released);
}

static _Atomic uint32_t calls;

static weir_status count(const weir_enqueue *call) {
  atomic_fetch_add(&calls, 1);
  return enqueued_fill_task(call);
}

// A function is not called for a task that was cancelled before its turn, nor for one that reads poison.
static void cancelled_tasks_are_not_called(void **state) {
  (void)state;
  gate closed = {false};
  atomic_store(&calls, 0);
  enqueued_open("opencl,cpu:1", "host", NULL);
  weir_kernel *counts = enqueued_kernel("counts", &(weir_enqueue_code){.function = count});
  weir_buffer *buffer = make_buffer();
  const weir_arg args[] = {weir_writes(buffer)};
  assert_int_equal(gate_submit(context, &closed, args, 1, NULL), WEIR_OK);
  const uint32_t value = 1;
  const weir_arg updates[] = {weir_updates(buffer), weir_value(&value, sizeof value)};
  for (int i = 0; i < 10; i++)
    assert_int_equal(weir_submit(context, &(weir_task){.kernel = counts, .args = updates, .arg_count = 2}, NULL),
                     WEIR_OK);
  weir_context_cancel(context);
  gate_open(&closed);
  weir_finish(context);
  assert_int_equal(atomic_load(&calls), 0);
  enqueued_close();
}

// ---------------------------------------------------------------------------------------------------------------
// Calls of the driver

// Tasks of functions in several queues that wait for each other, and one that reads both.
static void run_some(const char *memory, uint32_t flags) {
  weir_context_options options = {.devices = "opencl", .queues = 2, .flags = flags};
  setenv("WEIR_OPENCL_MEMORY", memory, 1);
  weir_status status = weir_context_create(&options, &context);
  unsetenv("WEIR_OPENCL_MEMORY");
  if (status != WEIR_OK) return;
  weir_buffer *buffers[3];
  weir_kernel *fill = enqueued_kernel("fill", &fill_code), *copy = enqueued_kernel("copy", &copy_code);
  for (int i = 0; i < 3; i++) assert_int_equal(weir_buffer_create(context, SIZE, &buffers[i]), WEIR_OK);
  for (uint32_t i = 0; i < 3; i++) {
    enqueued_submit_fill(fill, buffers[0], 0, SIZE / 2, i, NULL);
    enqueued_submit_fill(fill, buffers[1], SIZE / 2, SIZE / 2, i, NULL);
    enqueued_submit_copy(copy, buffers[2], buffers[0], 0, SIZE / 2, NULL);
    enqueued_submit_copy(copy, buffers[2], buffers[1], SIZE / 2, SIZE / 2, NULL);
    weir_finish(context);
  }
}

static void failing_calls(void **state) {
  (void)state;
  static const char *const functions[] = {
      "clEnqueueMarkerWithWaitList", "clRetainCommandQueue", "clGetCommandQueueInfo", "clCreateSubBuffer",
      "clEnqueueFillBuffer",         "clEnqueueCopyBuffer",  "clGetEventInfo",        "clFlush",
      "clSetEventCallback"};
  for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
    int64_t before = fault_loader_live();
    bool came = true;
    for (uint64_t n = 1; n < 60 && came; n++) {
      context = NULL;
      fault_loader_fail(functions[i], n, -6);
      run_some("objects", n % 3 == 0 ? WEIR_CONTEXT_TRACE : 0);
      came = fault_loader_failed();
      fault_loader_fail("", 0, 0);
      weir_context_release(context);
      if (fault_loader_live() != before)
        fail_msg("call %llu of %s: %lld objects are left", (unsigned long long)n, functions[i],
                 (long long)(fault_loader_live() - before));
    }
  }
}

// ---------------------------------------------------------------------------------------------------------------
// Allocations

static weir_status fill_all(const weir_enqueue *call) {
  weir_status status = WEIR_OK;
  for (uint32_t i = 0; i < call->arg_count && status == WEIR_OK; i++)
    status = enqueued_fill(call, &call->args[i], ENQUEUE_ALLOCATIONS_PATTERN);
  return status;
}

static void failing_allocations(void **state) {
  (void)state;
  enqueued_open("opencl", "objects", NULL);
  enqueue_allocations_fail(context, "opencl", fill_all, enqueued_expect);
  enqueued_close();
}

int main(void) {
  fault_loader_use_or_skip(FAULT_LOADER);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(failures_are_the_tasks),
      cmocka_unit_test(failures_in_graphs),
      cmocka_unit_test(failures_to_prepare),
      cmocka_unit_test(misuse),
      cmocka_unit_test(failing_allocations),
      cmocka_unit_test(released_queues),
      cmocka_unit_test(cancelled_tasks_are_not_called),
      cmocka_unit_test(failing_calls),
  };
  return cmocka_run_group_tests_name("OpenCL: failing enqueue functions", tests, caller_open, caller_close);
}
