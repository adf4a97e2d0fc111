// SPDX-License-Identifier: Apache-2.0
//
// Events of the caller's as predecessors of single tasks and as the state of single buffers, and events of single
// buffers for the caller.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "caller.h"
#include "weir/external.h"

enum { ROUNDS = 20, IMPORTS = 40, SOON = 20000000, EVENT_REFERENCE_COUNT = 0x11D2 };

static weir_event *import(cl_event event) {
  weir_event *outside = NULL;
  assert_int_equal(weir_opencl_import_event(device, event, &outside), WEIR_OK);
  return outside;
}

static cl_event make_gate(void) {
  cl_int result;
  cl_event gate = clCreateUserEvent(mine.context, &result);
  assert_int_equal(result, CL_SUCCESS);
  return gate;
}

static weir_event *add_after(weir_buffer *buffer, weir_event *after, bool on_host) {
  uint32_t value = 100;
  weir_event *event = NULL;
  weir_arg args[] = {weir_updates(buffer), weir_value(&value, sizeof value)};
  weir_task task = {.args = args, .arg_count = on_host ? 1 : 2, .after = &after, .after_count = 1};
  if (on_host)
    task.host = add_on_host;
  else
    task.kernel = kernel;
  task.groups[0] = on_host ? 1 : WORDS;
  assert_int_equal(weir_submit(context, &task, &event), WEIR_OK);
  return event;
}

static weir_buffer *make_buffer(void) {
  weir_buffer *buffer;
  assert_int_equal(weir_buffer_create(context, BYTES, &buffer), WEIR_OK);
  assert_int_equal(weir_fill(buffer, 0, BYTES, 0, NULL), WEIR_OK);
  return buffer;
}

static void one_task_waits(void **state) {
  (void)state;
  weir_buffer *buffer = make_buffer(), *other = make_buffer();
  cl_event gate = make_gate();
  weir_event *outside = import(gate), *host = add_after(other, outside, true),
             *card = add_after(buffer, outside, false);
  for (int i = 0; i < 4; i++) {
    weir_buffer *apart = make_buffer();
    weir_event *added = add_words(apart, 0, WORDS, 1);
    assert_int_equal(weir_event_wait(added, WEIR_FOREVER), WEIR_OK);
    weir_event_release(added);
    weir_buffer_release(apart);
  }
  assert_int_equal(weir_event_wait(card, SOON), WEIR_TIMEOUT);
  assert_non_null(strstr(weir_last_error(), "waits for cl_event 0x"));
  assert_int_equal(weir_event_poll(host), WEIR_PENDING);
  assert_int_equal(clSetUserEventStatus(gate, CL_COMPLETE), CL_SUCCESS);
  assert_int_equal(clReleaseEvent(gate), CL_SUCCESS);
  assert_int_equal(weir_event_wait(card, WEIR_FOREVER), WEIR_OK);
  assert_int_equal(weir_event_wait(host, WEIR_FOREVER), WEIR_OK);
  assert_int_equal(weir_event_wait(outside, WEIR_FOREVER), WEIR_OK);
  weir_event_release(outside);
  weir_event_release(card);
  weir_event_release(host);
  weir_buffer_release(buffer);
  weir_buffer_release(other);
  assert_int_equal(weir_finish(context), WEIR_OK);
}

// A cl_event that fails keeps no task from running; a buffer that follows it is poisoned.
static void failures(void **state) {
  (void)state;
  weir_buffer *buffer = make_buffer(), *wrapped;
  cl_mem memory = make_zeros();
  cl_event gate = make_gate();
  assert_int_equal(weir_buffer_wrap_opencl(device, memory, 0, BYTES, &wrapped), WEIR_OK);
  weir_event *outside = import(gate), *after = add_after(buffer, outside, false);
  assert_int_equal(weir_buffer_follow(wrapped, WEIR_READ_WRITE, outside), WEIR_OK);
  weir_event *reader = add_words(wrapped, 0, WORDS, 1);
  assert_int_equal(clSetUserEventStatus(gate, -5), CL_SUCCESS);
  assert_int_equal(weir_event_wait(after, WEIR_FOREVER), WEIR_OK);
  assert_int_equal(weir_event_wait(reader, WEIR_FOREVER), WEIR_ERROR_UPSTREAM_FAILED);
  assert_int_equal(weir_event_wait(outside, WEIR_FOREVER), WEIR_ERROR_TASK_FAILED);
  assert_non_null(strstr(weir_event_message(outside), "cl_event 0x"));
  assert_int_equal(weir_finish(context), WEIR_ERROR_TASK_FAILED);
  clReleaseEvent(gate);
  weir_event_release(outside);
  weir_event_release(after);
  weir_event_release(reader);
  weir_buffer_release(buffer);
  weir_buffer_release(wrapped);
  assert_int_equal(weir_finish(context), WEIR_OK);
  clReleaseMemObject(memory);
}

// Many imports that end in no order.
static void many(void **state) {
  (void)state;
  cl_event gates[IMPORTS];
  weir_event *events[IMPORTS];
  weir_buffer *buffer = make_buffer();
  for (uint32_t i = 0; i < IMPORTS; i++) {
    gates[i] = make_gate();
    weir_event *outside = import(gates[i]);
    events[i] = add_after(buffer, outside, i % 3 == 0);
    weir_event_release(outside);
  }
  for (uint32_t i = 0; i < IMPORTS; i++) {
    assert_int_equal(clSetUserEventStatus(gates[i * 7 % IMPORTS], CL_COMPLETE), CL_SUCCESS);
    clReleaseEvent(gates[i * 7 % IMPORTS]);
  }
  for (uint32_t i = 0; i < IMPORTS; i++) {
    assert_int_equal(weir_event_wait(events[i], WEIR_FOREVER), WEIR_OK);
    weir_event_release(events[i]);
  }
  uint32_t words[WORDS];
  assert_int_equal(weir_read(buffer, 0, BYTES, words), WEIR_OK);
  assert_int_equal(words[WORDS - 1], 100 * IMPORTS);
  weir_buffer_release(buffer);
}

// Turns of the caller and of Weir on one buffer, by events of it, while another buffer waits for something else all the
// time.
static void turns_on_one_buffer(void **state) {
  (void)state;
  weir_buffer *buffer, *other = make_buffer();
  cl_mem memory = make_zeros();
  cl_event never = make_gate();
  void *after = NULL;
  weir_event *held = import(never), *stuck = add_after(other, held, false);
  assert_int_equal(weir_buffer_wrap_opencl(device, memory, 0, BYTES, &buffer), WEIR_OK);
  for (uint32_t i = 0; i < ROUNDS; i++) {
    cl_event before;
    add_by_caller(memory, 1, after, &before);
    if (after != NULL) clReleaseEvent(after);
    weir_event *outside = import(before), *users = NULL;
    clReleaseEvent(before);
    assert_int_equal(weir_buffer_follow(buffer, WEIR_READ_WRITE, outside), WEIR_OK);
    weir_event_release(outside);
    weir_event_release(add_words(buffer, 0, WORDS, 100));
    assert_int_equal(weir_buffer_event(buffer, WEIR_READ_WRITE, &users), WEIR_OK);
    assert_int_equal(weir_opencl_create_event(device, users, &after), WEIR_OK);
    weir_event_release(users);
  }
  cl_event last = after;
  assert_int_equal(clWaitForEvents(1, &last), CL_SUCCESS);
  clReleaseEvent(last);
  expect_words(memory, 101 * ROUNDS);
  assert_int_equal(weir_event_poll(stuck), WEIR_PENDING);
  weir_context_cancel(context);
  assert_int_equal(weir_event_wait(stuck, WEIR_FOREVER), WEIR_ERROR_CANCELLED);
  assert_int_equal(weir_finish(context), WEIR_ERROR_CANCELLED);
  assert_int_equal(clSetUserEventStatus(never, CL_COMPLETE), CL_SUCCESS);
  clReleaseEvent(never);
  weir_event_release(held);
  weir_event_release(stuck);
  weir_buffer_release(buffer);
  weir_buffer_release(other);
  assert_int_equal(weir_finish(context), WEIR_OK);
  clReleaseMemObject(memory);
}

static void expect_part(weir_buffer *part, uint32_t wanted) {
  uint32_t words[WORDS / 2];
  assert_int_equal(weir_read(part, 0, BYTES / 2, words), WEIR_OK);
  for (int i = 0; i < WORDS / 2; i++) assert_int_equal(words[i], wanted);
}

// Work outside reads a part of a cl_mem: later tasks read that part, and write another one, and who writes it waits.
static void a_part_is_read_outside(void **state) {
  (void)state;
  weir_buffer *parts[2], *own = make_buffer();
  cl_mem memory = make_zeros();
  cl_event gate = make_gate();
  for (uint64_t i = 0; i < 2; i++)
    assert_int_equal(weir_buffer_wrap_opencl(device, memory, i * BYTES / 2, BYTES / 2, &parts[i]), WEIR_OK);
  weir_event *outside = import(gate);
  assert_int_equal(weir_buffer_follow(parts[0], WEIR_READ, outside), WEIR_OK);
  caller_expect_refusal(weir_buffer_follow(own, WEIR_READ, outside), WEIR_ERROR_INVALID_ARGUMENT, "is Weir's own");
  expect_part(parts[0], 0);
  weir_event_release(add_words(parts[1], 0, WORDS / 2, 7));
  expect_part(parts[1], 7);
  weir_event *added = add_words(parts[0], 0, WORDS / 2, 5);
  assert_int_equal(weir_event_wait(added, SOON), WEIR_TIMEOUT);
  assert_int_equal(clSetUserEventStatus(gate, CL_COMPLETE), CL_SUCCESS);
  clReleaseEvent(gate);
  assert_int_equal(weir_event_wait(added, WEIR_FOREVER), WEIR_OK);
  expect_part(parts[0], 5);
  expect_part(parts[1], 7);
  weir_event_release(added);
  weir_event_release(outside);
  for (int i = 0; i < 2; i++) weir_buffer_release(parts[i]);
  weir_buffer_release(own);
  assert_int_equal(weir_finish(context), WEIR_OK);
  clReleaseMemObject(memory);
}

// What the caller gets of an event of the host is set when that is signalled.
static void caller_waits_for_the_host(void **state) {
  (void)state;
  weir_event *flag = NULL;
  void *told = NULL;
  cl_int status = 1;
  assert_int_equal(weir_host_event_create(context, "flag", &flag), WEIR_OK);
  assert_int_equal(weir_opencl_create_event(device, flag, &told), WEIR_OK);
  assert_int_equal(clGetEventInfo(told, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL), CL_SUCCESS);
  assert_true(status > CL_COMPLETE);
  assert_int_equal(weir_host_event_signal(flag, WEIR_OK), WEIR_OK);
  cl_event event = told;
  assert_int_equal(clWaitForEvents(1, &event), CL_SUCCESS);
  clReleaseEvent(event);
  weir_event_release(flag);
}

// A context that is released does not wait for an import, and gives its reference back.
static void left_behind(void **state) {
  (void)state;
  cl_event gate = make_gate();
  weir_event_release(import(gate));
  weir_context_release(context);
  context = NULL;
  kernel = NULL;
  cl_uint references = 0;
  assert_int_equal(clGetEventInfo(gate, EVENT_REFERENCE_COUNT, sizeof references, &references, NULL), CL_SUCCESS);
  assert_int_equal(references, 1);
  assert_int_equal(clSetUserEventStatus(gate, CL_COMPLETE), CL_SUCCESS);
  clReleaseEvent(gate);
}

// Calls of OpenCL fail, each in turn: the import is refused, or all goes well, and nothing is left.
static void refused_calls(void **state) {
  (void)state;
  static const char *const functions[] = {"clRetainEvent", "clSetEventCallback", "clGetEventInfo", "clWaitForEvents"};
  for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
    for (uint64_t n = 1; n < 4; n++) {
      int64_t before = fault_loader_live();
      cl_event gate = make_gate();
      weir_event *outside = NULL;
      fault_loader_fail(functions[i], n, -6);
      weir_status status = weir_opencl_import_event(device, gate, &outside);
      bool refused = fault_loader_failed();
      if (status != WEIR_OK) {
        assert_true(refused);
        assert_null(outside);
      }
      assert_int_equal(clSetUserEventStatus(gate, CL_COMPLETE), CL_SUCCESS);
      if (outside != NULL) (void)weir_event_wait(outside, WEIR_FOREVER);
      fault_loader_fail("", 0, 0);
      weir_event_release(outside);
      clReleaseEvent(gate);
      assert_int_equal(weir_finish(context), WEIR_OK);
      assert_int_equal(fault_loader_live(), before);
    }
  }
}

// The driver does not tell the status of an event for a while: what comes after it waits.
static void statuses_that_are_refused(void **state) {
  (void)state;
  weir_buffer *buffer = make_buffer();
  assert_int_equal(weir_finish(context), WEIR_OK);
  cl_event gate = make_gate();
  fault_loader_fail("clSetEventCallback", 1, -6);
  fault_loader_fail_also("clGetEventInfo", 3);
  weir_event *outside = import(gate), *after = add_after(buffer, outside, false);
  assert_true(fault_loader_failed());
  assert_int_equal(weir_event_wait(after, SOON), WEIR_TIMEOUT);
  assert_int_equal(clSetUserEventStatus(gate, CL_COMPLETE), CL_SUCCESS);
  assert_int_equal(weir_event_wait(outside, WEIR_FOREVER), WEIR_OK);
  assert_int_equal(weir_event_wait(after, WEIR_FOREVER), WEIR_OK);
  fault_loader_fail("", 0, 0);
  clReleaseEvent(gate);
  weir_event_release(outside);
  weir_event_release(after);
  weir_buffer_release(buffer);
}

static void misuse(void **state) {
  (void)state;
  const weir_status invalid = WEIR_ERROR_INVALID_ARGUMENT;
  cl_event gate = make_gate();
  weir_event *outside = NULL;
  caller_expect_refusal(weir_opencl_import_event(NULL, gate, &outside), invalid, "device is NULL");
  caller_expect_refusal(weir_opencl_import_event(weir_context_device(context, 1), gate, &outside), invalid,
                        "no OpenCL device");
  caller_expect_refusal(weir_opencl_import_event(device, NULL, &outside), invalid, "cl_event is NULL");
  caller_expect_refusal(weir_opencl_import_event(device, gate, NULL), invalid, "out_event is NULL");
  assert_int_equal(clSetUserEventStatus(gate, CL_COMPLETE), CL_SUCCESS);
  clReleaseEvent(gate);
}

int main(void) {
  fault_loader_use_or_skip(FAULT_LOADER);
#define WITH_CONTEXT(test) cmocka_unit_test_setup_teardown(test, caller_open_context, caller_close_context)
  const struct CMUnitTest tests[] = {
      WITH_CONTEXT(one_task_waits),
      WITH_CONTEXT(failures),
      WITH_CONTEXT(many),
      WITH_CONTEXT(turns_on_one_buffer),
      WITH_CONTEXT(a_part_is_read_outside),
      WITH_CONTEXT(caller_waits_for_the_host),
      WITH_CONTEXT(left_behind),
      WITH_CONTEXT(refused_calls),
      WITH_CONTEXT(statuses_that_are_refused),
      WITH_CONTEXT(misuse),
  };
  return cmocka_run_group_tests_name("OpenCL: external events", tests, caller_open, caller_close);
}
