// SPDX-License-Identifier: Apache-2.0
//
// Order between a caller's commands and Weir's tasks, by events.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "caller.h"

enum { ROUNDS = 20, SOON = 50000000 };

// Turns of the caller and of Weir, ordered by events only.
static void turns(void **state) {
  (void)state;
  weir_buffer *buffer;
  cl_mem memory = make_zeros();
  assert_int_equal(weir_buffer_wrap_opencl(device, memory, 0, BYTES, &buffer), WEIR_OK);
  void *after = NULL;
  for (uint32_t i = 0; i < ROUNDS; i++) {
    cl_event before;
    add_by_caller(memory, 1, after, &before);
    if (after != NULL) clReleaseEvent(after);
    assert_int_equal(weir_opencl_wait_event(device, before), WEIR_OK);
    clReleaseEvent(before);
    weir_event *event = add_words(buffer, 0, WORDS, 100);
    assert_int_equal(weir_opencl_create_event(device, i % 2 == 0 ? event : NULL, &after), WEIR_OK);
    weir_event_release(event);
  }
  cl_event last = after;
  assert_int_equal(clWaitForEvents(1, &last), CL_SUCCESS);
  clReleaseEvent(last);
  assert_int_equal(weir_finish(context), WEIR_OK);
  expect_words(memory, 101 * ROUNDS);
  weir_buffer_release(buffer);
  clReleaseMemObject(memory);
}

// A wait holds up what comes later, on every device, and nothing that came before.
static void waits_hold_up_what_follows(void **state) {
  (void)state;
  cl_int result;
  weir_buffer *buffer;
  weir_event *host;
  cl_event gate = clCreateUserEvent(mine.context, &result);
  assert_int_equal(weir_buffer_create(context, BYTES, &buffer), WEIR_OK);
  assert_int_equal(weir_fill(buffer, 0, BYTES, 0, NULL), WEIR_OK);
  weir_event *before = add_words(buffer, 0, WORDS, 1);
  assert_int_equal(weir_opencl_wait_event(device, gate), WEIR_OK);
  weir_event *after = add_words(buffer, 0, WORDS, 1);
  weir_arg args[] = {weir_updates(buffer)};
  const weir_task task = {.host = add_on_host, .args = args, .arg_count = 1};
  assert_int_equal(weir_submit(context, &task, &host), WEIR_OK);
  assert_int_equal(weir_event_wait(before, WEIR_FOREVER), WEIR_OK);
  assert_int_equal(weir_event_wait(after, SOON), WEIR_TIMEOUT);
  assert_int_equal(weir_event_poll(host), WEIR_PENDING);
  assert_int_equal(clSetUserEventStatus(gate, CL_COMPLETE), CL_SUCCESS);
  assert_int_equal(weir_event_wait(host, WEIR_FOREVER), WEIR_OK);
  assert_int_equal(weir_finish(context), WEIR_OK);
  weir_event_release(before);
  weir_event_release(after);
  weir_event_release(host);
  clReleaseEvent(gate);
  weir_buffer_release(buffer);
}

static void events_that_fail(void **state) {
  (void)state;
  cl_int result;
  weir_buffer *buffer;
  cl_event gate = clCreateUserEvent(mine.context, &result);
  assert_int_equal(weir_buffer_create(context, BYTES, &buffer), WEIR_OK);
  assert_int_equal(weir_opencl_wait_event(device, gate), WEIR_OK);
  assert_int_equal(weir_fill(buffer, 0, BYTES, 0, NULL), WEIR_OK);
  weir_event *after = add_words(buffer, 0, WORDS, 1);
  assert_int_equal(clSetUserEventStatus(gate, -5), CL_SUCCESS);
  assert_int_equal(weir_event_wait(after, WEIR_FOREVER), WEIR_OK);
  weir_event_release(after);
  clReleaseEvent(gate);
  caller_expect_refusal(weir_finish(context), WEIR_ERROR_TASK_FAILED, "the caller's event failed: CL_OUT_OF_RESOURCES");
  caller_expect_refusal(weir_opencl_wait_event(device, NULL), WEIR_ERROR_INVALID_ARGUMENT, "the cl_event is NULL");
  caller_expect_refusal(weir_opencl_wait_event(weir_context_device(context, 1), gate), WEIR_ERROR_INVALID_ARGUMENT,
                        "cpu:1 is no OpenCL device");
  caller_expect_refusal(weir_opencl_create_event(device, NULL, NULL), WEIR_ERROR_INVALID_ARGUMENT,
                        "out_cl_event is NULL");
  weir_buffer_release(buffer);
}

// A task that fails ends the caller's event with an error; all tasks so far, whether they fail or not.
static void tasks_that_fail(void **state) {
  (void)state;
  void *of_task, *of_all;
  weir_buffer *buffer;
  assert_int_equal(weir_buffer_create(context, BYTES, &buffer), WEIR_OK);
  assert_int_equal(weir_fill(buffer, 0, BYTES, 0, NULL), WEIR_OK);
  assert_int_equal(weir_finish(context), WEIR_OK);
  fault_loader_fail("clEnqueueNDRangeKernel", 1, -5);
  weir_event *event = add_words(buffer, 0, WORDS, 1);
  assert_int_equal(weir_opencl_create_event(device, event, &of_task), WEIR_OK);
  assert_int_equal(weir_opencl_create_event(device, NULL, &of_all), WEIR_OK);
  cl_event waited = of_all;
  assert_int_equal(clWaitForEvents(1, &waited), CL_SUCCESS);
  assert_int_not_equal(weir_finish(context), WEIR_OK);
  cl_int status = CL_COMPLETE;
  assert_int_equal(clGetEventInfo(of_task, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL),
                   CL_SUCCESS);
  assert_int_equal(status, CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
  fault_loader_fail("", 0, 0);
  clReleaseEvent(of_task);
  clReleaseEvent(of_all);
  weir_event_release(event);
  weir_buffer_release(buffer);
}

static void cancelled_waits(void **state) {
  (void)state;
  cl_int result;
  void *made;
  cl_event never = clCreateUserEvent(mine.context, &result);
  assert_int_equal(weir_opencl_wait_event(device, never), WEIR_OK);
  assert_int_equal(weir_opencl_create_event(device, NULL, &made), WEIR_OK);
  weir_context_cancel(context);
  cl_event waited = made;
  assert_int_equal(clWaitForEvents(1, &waited), CL_SUCCESS);
  weir_finish(context);
  clReleaseEvent(made);
  clSetUserEventStatus(never, CL_COMPLETE);
  clReleaseEvent(never);
}

int main(void) {
  fault_loader_use_or_skip(FAULT_LOADER);
#define WITH_CONTEXT(test) cmocka_unit_test_setup_teardown(test, caller_open_context, caller_close_context)
  const struct CMUnitTest tests[] = {
      WITH_CONTEXT(turns),
      WITH_CONTEXT(waits_hold_up_what_follows),
      WITH_CONTEXT(events_that_fail),
      WITH_CONTEXT(tasks_that_fail),
      WITH_CONTEXT(cancelled_waits),
  };
  return cmocka_run_group_tests_name("OpenCL: order", tests, caller_open, caller_close);
}
