// SPDX-License-Identifier: Apache-2.0
//
// No task is reported before its commands are over, nor before those that it comes after, where calls of the driver
// fail. A user event keeps commands from being over.
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#include "base/allocate.h"
#include "enqueued.h"

enum {
  SIZE = 4096,
  LARGE = 2 << 20,
  SOON = 20000000,
  OUT_OF_RESOURCES = -5,
  MOST_MARKERS = 6,
  MOST_ALLOCATIONS = 8,
  MOST_ATTEMPTS = 60
};

static cl_event gate; // of the last call
static void *last_filled;
static _Atomic uint32_t calls;

// Fills argument 0 once the gate opens.
static weir_status fill_behind_gate(const weir_enqueue *call) {
  const uint32_t pattern = 7;
  cl_int result;
  gate = clCreateUserEvent(call->native_context, &result);
  last_filled = (void *)(uintptr_t)call->args[0].pointer;
  if (result == CL_SUCCESS)
    result =
        clEnqueueSVMMemFill(call->queue, last_filled, &pattern, sizeof pattern, call->args[0].bytes, 1, &gate, NULL);
  atomic_fetch_add(&calls, 1);
  return result == CL_SUCCESS ? WEIR_OK : WEIR_ERROR_IO;
}

static const weir_enqueue_code behind_gate = {.function = fill_behind_gate};

static void open_gate(void) {
  assert_int_equal(clSetUserEventStatus(gate, CL_COMPLETE), CL_SUCCESS);
  assert_int_equal(clReleaseEvent(gate), CL_SUCCESS);
}

static weir_buffer *make_buffer(void) {
  weir_buffer *buffer;
  assert_int_equal(weir_buffer_create(context, SIZE, &buffer), WEIR_OK);
  assert_int_equal(weir_fill(buffer, 0, SIZE, 1, NULL), WEIR_OK);
  assert_int_equal(weir_finish(context), WEIR_OK);
  return buffer;
}

static void begin(void) {
  atomic_store(&calls, 0);
  enqueued_open("opencl", "host", &(weir_context_options){.queues = 2});
}

static void end(int64_t live) {
  fault_loader_fail("", 0, 0);
  weir_finish(context);
  enqueued_close();
  assert_int_equal(fault_loader_live(), live);
}

// Whether the function was called; it is not called any more once the task is done.
static bool is_called(weir_event *event) {
  const struct timespec nap = {.tv_nsec = 100000};
  while (atomic_load(&calls) == 0 && weir_event_poll(event) == WEIR_PENDING) nanosleep(&nap, NULL);
  return atomic_load(&calls) > 0;
}

// The task is done once the gate is open, and not before.
static weir_status expect_end_behind_gate(weir_event *event) {
  assert_int_equal(weir_event_wait(event, SOON), WEIR_TIMEOUT);
  open_gate();
  return weir_event_wait(event, WEIR_FOREVER);
}

static void submit(weir_kernel *of, weir_buffer *buffer, weir_event **out_event) {
  const weir_arg arg = weir_updates(buffer);
  assert_int_equal(weir_submit(context, &(weir_task){.kernel = of, .args = &arg, .arg_count = 1}, out_event), WEIR_OK);
}

// ---------------------------------------------------------------------------------------------------------------
// Graphs

// A timed launch in a queue of its own waits for the task before it, and cannot.
static void launches_that_are_timed(void **state) {
  (void)state;
  for (uint32_t queue = 1; queue <= 2; queue++) {
    int64_t live = fault_loader_live();
    begin();
    weir_event *before, *event;
    weir_graph *graph;
    weir_buffer *buffer = make_buffer(), *to = make_buffer();
    submit(enqueued_kernel("held", &behind_gate), buffer, &before);
    assert_true(is_called(before));
    const weir_graph_options options = {.queue = queue, .timing = true};
    assert_int_equal(weir_graph_create(context, &options, &graph), WEIR_OK);
    assert_int_equal(weir_graph_copy(graph, to, 0, buffer, 0, SIZE, NULL), WEIR_OK);
    fault_loader_fail("clWaitForEvents", 1, OUT_OF_RESOURCES);
    assert_int_equal(weir_graph_launch(graph, &event), WEIR_OK);
    assert_int_not_equal(expect_end_behind_gate(event), WEIR_OK);
    assert_true(fault_loader_failed());
    weir_event_release(event);
    weir_event_release(before);
    end(live);
  }
}

// A node in another queue than the launch's fails after it has put commands there.
static void nodes_in_other_queues(bool twice) {
  uint32_t called = 0, failed = 0;
  for (uint64_t n = 1; n <= MOST_MARKERS; n++) {
    int64_t live = fault_loader_live();
    begin();
    weir_event *event;
    weir_graph *graph;
    weir_buffer *first = make_buffer(), *second = make_buffer();
    const weir_arg arg = weir_updates(second);
    const weir_task task = {.kernel = enqueued_kernel("held", &behind_gate), .args = &arg, .arg_count = 1};
    assert_int_equal(weir_graph_create(context, NULL, &graph), WEIR_OK);
    assert_int_equal(weir_graph_fill(graph, first, 0, SIZE, 9, NULL), WEIR_OK);
    assert_int_equal(weir_graph_add(graph, &task, NULL), WEIR_OK);
    fault_loader_fail("clEnqueueMarkerWithWaitList", n, OUT_OF_RESOURCES);
    fault_loader_fail_also("clEnqueueMarkerWithWaitList", twice);
    assert_int_equal(weir_graph_launch(graph, &event), WEIR_OK);
    if (is_called(event)) {
      called++;
      if (expect_end_behind_gate(event) != WEIR_OK) failed++;
    }
    weir_event_release(event);
    end(live);
  }
  assert_true(called >= 3 && failed >= 1);
}

static void launches_that_fail(void **state) {
  (void)state;
  nodes_in_other_queues(false);
  nodes_in_other_queues(true);
}

// ---------------------------------------------------------------------------------------------------------------
// Open tasks

static weir_open_task *open_behind_gate(void) {
  weir_open_task *open;
  const weir_enqueue *call;
  const weir_arg arg = weir_updates(make_buffer());
  assert_int_equal(weir_task_begin(context, &(weir_task){.args = &arg, .arg_count = 1}, &open, &call), WEIR_OK);
  assert_int_equal(fill_behind_gate(call), WEIR_OK);
  return open;
}

// There is no memory to keep track of the task, when it is issued.
static void open_tasks_without_memory(void **state) {
  (void)state;
  uint32_t failed = 0;
  for (uint64_t n = 1; n <= MOST_ALLOCATIONS; n++) {
    int64_t live = fault_loader_live();
    begin();
    weir_event *event;
    weir_open_task *open = open_behind_gate();
    weir__allocate_fail_at(n);
    assert_int_equal(weir_task_end(open, NULL, 0, &event), WEIR_OK);
    if (expect_end_behind_gate(event) != WEIR_OK) failed++;
    weir__allocate_fail_at(0);
    weir_event_release(event);
    end(live);
  }
  assert_true(failed >= 1);
}

// ---------------------------------------------------------------------------------------------------------------
// Devices that are lost

static weir_kernel *next_kernel;
static weir_buffer *next_buffer;
static _Atomic uint32_t next_calls;

static weir_status count_next(const weir_enqueue *call) {
  (void)call;
  atomic_fetch_add(&next_calls, 1);
  return WEIR_OK;
}

// Submits a task that comes after this one, too: the device's thread takes it next.
static weir_status fill_and_submit(const weir_enqueue *call) {
  submit(next_kernel, next_buffer, NULL);
  return fill_behind_gate(call);
}

// No event stands for the end of a task, and the driver does not wait for it either.
static void end_without_event(weir_enqueue_function function) {
  int64_t live = fault_loader_live();
  begin();
  weir_event *event;
  next_kernel = enqueued_kernel("next", &(weir_enqueue_code){.function = count_next});
  next_buffer = make_buffer();
  fault_loader_fail("clEnqueueMarkerWithWaitList", 1, OUT_OF_RESOURCES);
  fault_loader_fail_also("clFinish", 1);
  submit(enqueued_kernel("held", &(weir_enqueue_code){.function = function}), next_buffer, &event);
  assert_true(is_called(event));
  assert_int_equal(expect_end_behind_gate(event), WEIR_ERROR_DEVICE_LOST);
  assert_int_equal(weir_finish(context), WEIR_ERROR_DEVICE_LOST);
  assert_int_equal(atomic_load(&next_calls), 0);
  weir_event_release(event);
  end(live);
}

static void ends_that_no_event_tells(void **state) {
  (void)state;
  end_without_event(fill_behind_gate);
}

static void tasks_behind_such_an_end(void **state) {
  (void)state;
  end_without_event(fill_and_submit);
}

static void ends_of_open_tasks(void **state) {
  (void)state;
  int64_t live = fault_loader_live();
  begin();
  weir_event *event;
  weir_open_task *open = open_behind_gate();
  fault_loader_fail("clEnqueueMarkerWithWaitList", 1, OUT_OF_RESOURCES);
  fault_loader_fail_also("clFinish", 1);
  assert_int_equal(weir_task_end(open, NULL, 0, &event), WEIR_OK);
  assert_int_equal(expect_end_behind_gate(event), WEIR_ERROR_DEVICE_LOST);
  weir_event_release(event);
  end(live);
}

static weir_event *hold_and_lose(const char *function, const char *also) {
  weir_event *event;
  begin();
  weir_buffer *buffer = make_buffer();
  fault_loader_fail(function, 1, OUT_OF_RESOURCES);
  fault_loader_fail_also(also, 3);
  submit(enqueued_kernel("held", &behind_gate), buffer, &event);
  assert_true(is_called(event));
  return event;
}

// The device is lost for a status; then the driver does not tell statuses for some time.
static void statuses_that_are_refused(void **state) {
  (void)state;
  int64_t live = fault_loader_live();
  weir_event *event = hold_and_lose("clGetEventInfo", "clGetEventInfo");
  assert_int_equal(expect_end_behind_gate(event), WEIR_ERROR_DEVICE_LOST);
  weir_event_release(event);
  end(live);
}

// What was not flushed would never end on some drivers.
static void flushes_that_are_refused(void **state) {
  (void)state;
  int64_t live = fault_loader_live();
  weir_event *event = hold_and_lose("clFlush", "");
  assert_int_equal(weir_event_wait(event, SOON), WEIR_TIMEOUT);
  assert_true(fault_loader_failed());
  assert_int_equal(fault_loader_unflushed(), 0);
  assert_int_equal(expect_end_behind_gate(event), WEIR_ERROR_DEVICE_LOST);
  weir_event_release(event);
  end(live);
}

// The launch is reported, and its graph given up. The next question is for the task before it, if that was not reported before.
static void release_and_lose(void *graph, weir_status status) {
  if (status == WEIR_OK) fault_loader_fail("clGetEventInfo", 1, OUT_OF_RESOURCES);
  assert_int_equal(weir_graph_release(graph), WEIR_OK);
}

// Queues are asked one after the other, so that a launch may be reported before the task that it reads from. That the device
// is lost for that task then is no matter of the launch, whose memory was freed: the address sanitizer tells. Without it they come
// too quickly.
static void launches_that_are_reported_early(void **state) {
  (void)state;
  const struct timespec nap = {.tv_nsec = 200000};
  bool early = false;
  for (uint32_t attempt = 0; attempt < MOST_ATTEMPTS && !early; attempt++) {
    int64_t live = fault_loader_live();
    begin();
    weir_event *before, *event;
    weir_graph *graph;
    weir_buffer *buffer = make_buffer(), *to = make_buffer(), *other = make_buffer();
    submit(enqueued_kernel("held", &behind_gate), buffer, &before);
    assert_true(is_called(before));
    const weir_graph_options options = {.queue = 1 + attempt % 2};
    assert_int_equal(weir_graph_create(context, &options, &graph), WEIR_OK);
    assert_int_equal(weir_graph_copy(graph, to, 0, buffer, 0, SIZE, NULL), WEIR_OK);
    assert_int_equal(weir_graph_launch(graph, &event), WEIR_OK);
    assert_int_equal(weir_event_on_done(event, release_and_lose, graph), WEIR_OK);
    for (int i = 0; i < 8; i++) assert_int_equal(weir_fill(other, 0, SIZE, 1, NULL), WEIR_OK);
    open_gate(); // while tasks come in, what is done is reported now and then, and a queue may be passed over
    for (int i = 0; i < 8; i++) assert_int_equal(weir_fill(other, 0, SIZE, 1, NULL), WEIR_OK);
    nanosleep(&nap, NULL);
    weir_status launch = weir_event_wait(event, WEIR_FOREVER), task = weir_event_wait(before, WEIR_FOREVER);
    early = launch == WEIR_OK && task == WEIR_ERROR_DEVICE_LOST;
    weir_event_release(event);
    weir_event_release(before);
    end(live);
  }
  print_message("%s\n", early ? "a launch was reported before the task that it reads from" : "all came in their order");
}

// A context of its own whose device is lost with a command that does not end.
typedef struct lost {
  weir_context *context;
  weir_buffer *buffer;
  weir_event *event;
  cl_event gate;
} lost;

static void begin_to_lose(lost *self, const char *memory) {
  enqueued_open("opencl,cpu:1", memory, NULL);
  atomic_store(&calls, 0);
  self->context = context;
  assert_int_equal(weir_buffer_create(context, LARGE, &self->buffer), WEIR_OK);
  assert_int_equal(weir_fill(self->buffer, 0, LARGE, 1, NULL), WEIR_OK);
  assert_int_equal(weir_finish(context), WEIR_OK);
  fault_loader_fail("clFlush", 1, OUT_OF_RESOURCES);
  submit(enqueued_kernel("held", &behind_gate), self->buffer, &self->event);
  assert_true(is_called(self->event));
  self->gate = gate;
}

static void end_lost(lost *self) {
  assert_int_equal(weir_event_wait(self->event, WEIR_FOREVER), WEIR_ERROR_DEVICE_LOST);
  weir_event_release(self->event);
  weir_buffer_release(self->buffer);
  context = self->context;
  gate = self->gate;
}

// Commands that never end, as far as the device waits: their memory is left to them. Two at once, for it waits long.
static void commands_that_never_end(void **state) {
  (void)state;
  lost in_host, in_shared;
  weir_buffer *other;
  int64_t shared = fault_loader_shared();
  begin_to_lose(&in_host, "host");
  volatile uint32_t *filled = last_filled;
  while (!fault_loader_failed()) sched_yield();
  begin_to_lose(&in_shared, "device");
  end_lost(&in_shared);
  weir_finish(context);
  enqueued_close();
  assert_int_equal(fault_loader_shared(), shared + 1);
  open_gate();
  end_lost(&in_host);
  weir_finish(context);
  assert_int_equal(weir_buffer_create(context, LARGE, &other), WEIR_OK);
  assert_int_equal(weir_fill(other, 0, LARGE, 1, NULL), WEIR_OK);
  assert_int_equal(weir_finish(context), WEIR_OK);
  open_gate();
  while (filled[LARGE / 4 - 1] != 7) sched_yield();
  enqueued_expect(other, 0, LARGE, 1);
  enqueued_close();
}

int main(void) {
  fault_loader_use_or_skip(FAULT_LOADER);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(launches_that_are_timed),          cmocka_unit_test(launches_that_fail),
      cmocka_unit_test(open_tasks_without_memory),        cmocka_unit_test(ends_that_no_event_tells),
      cmocka_unit_test(tasks_behind_such_an_end),         cmocka_unit_test(ends_of_open_tasks),
      cmocka_unit_test(statuses_that_are_refused),        cmocka_unit_test(flushes_that_are_refused),
      cmocka_unit_test(launches_that_are_reported_early),
      cmocka_unit_test(commands_that_never_end), // last: objects are left
  };
  return cmocka_run_group_tests_name("OpenCL: ends of commands", tests, NULL, NULL);
}
