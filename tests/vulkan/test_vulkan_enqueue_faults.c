// SPDX-License-Identifier: Apache-2.0
//
// Enqueue functions on Vulkan devices that fail, or do what they must not.
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "commands.h"
#include "enqueue_allocations.h"
#include "gate.h"
#include "rig.h"

enum { SIZE = 4096 };

static const weir_enqueue_code fill_code = {.function = commands_fill_task};
static const weir_enqueue_code copy_code = {.function = commands_copy_task};

static _Atomic uint32_t calls;

static weir_buffer *make_buffer(void) {
  weir_buffer *buffer;
  commands_good(weir_buffer_create(commands_context, SIZE, &buffer));
  return buffer;
}

static void submit_fill(weir_kernel *of, weir_buffer *to, uint32_t value, void *user, weir_event **out_event) {
  const weir_arg args[] = {weir_writes(to), weir_value(&value, sizeof value)};
  const weir_task task = {.kernel = of, .args = args, .arg_count = 2, .user = user, .label = "fill"};
  commands_good(weir_submit(commands_context, &task, out_event));
}

static void submit_copy(weir_kernel *of, weir_buffer *to, weir_buffer *from, weir_event **out_event) {
  const weir_arg args[] = {weir_writes(to), weir_reads(from)};
  const weir_task task = {.kernel = of, .args = args, .arg_count = 2, .label = "copy"};
  commands_good(weir_submit(commands_context, &task, out_event));
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

// Records commands, and fails if the value is odd.
static weir_status fail_half_way(const weir_enqueue *call) {
  uint32_t value;
  memcpy(&value, call->args[1].value, sizeof value);
  atomic_fetch_add(&calls, 1);
  commands_scale(call, &call->args[0], value);
  commands_barrier(call);
  commands_fill(call, &call->args[0], value);
  if (value % 2 == 0) return WEIR_OK;
  weir_enqueue_fail(call, "no plan");
  return value == 1 ? WEIR_OK : value == 3 ? WEIR_ERROR_OUT_OF_MEMORY : value == 5 ? WEIR_PENDING : WEIR_ERROR_IO;
}

static void failures_are_the_tasks(void **state) {
  (void)state;
  static const weir_status statuses[] = {WEIR_ERROR_TASK_FAILED, WEIR_ERROR_OUT_OF_MEMORY, WEIR_ERROR_TASK_FAILED,
                                         WEIR_ERROR_IO};
  commands_open(NULL);
  weir_kernel *fails = commands_kernel("fails", &(weir_enqueue_code){.function = fail_half_way});
  weir_kernel *copy = commands_kernel("copy", &copy_code);
  weir_buffer *first = make_buffer(), *second = make_buffer();
  for (uint32_t i = 0; i < 4; i++) {
    weir_event *event, *after, *again;
    submit_fill(fails, first, 2 * i + 1, NULL, &event);
    submit_copy(copy, second, first, &after);
    submit_fill(fails, first, 100, NULL, &again);
    expect_end(after, WEIR_ERROR_UPSTREAM_FAILED, "'copy'");
    expect_end(event, statuses[i], "no plan");
    expect_end(again, WEIR_OK, "");
    assert_int_equal(weir_finish(commands_context), statuses[i]);
    if (strstr(weir_last_error(), "'fill'") == NULL) fail_msg("%s", weir_last_error());
    commands_expect(first, 0, SIZE, 100);
  }
  commands_close();
}

// A node that fails while the graph is recorded; the recording is not used again, and what follows is skipped.
static void failures_in_graphs(void **state) {
  (void)state;
  for (uint32_t flags = 0; flags <= WEIR_CONTEXT_TRACE; flags += WEIR_CONTEXT_TRACE) {
    commands_open(&(weir_context_options){.flags = flags});
    weir_kernel *fails = commands_kernel("fails", &(weir_enqueue_code){.function = fail_half_way});
    weir_kernel *copy = commands_kernel("copy", &copy_code);
    weir_buffer *buffers[3] = {make_buffer(), make_buffer(), make_buffer()};
    weir_graph *graph;
    uint32_t value = 8;
    commands_good(weir_graph_create(commands_context, NULL, &graph));
    for (int i = 0; i < 2; i++) {
      const weir_arg args[] = {weir_writes(buffers[i]), weir_value(&value, sizeof value)};
      commands_good(weir_graph_add(graph, &(weir_task){.kernel = fails, .args = args, .arg_count = 2}, NULL));
    }
    const weir_arg args[] = {weir_writes(buffers[2]), weir_reads(buffers[1])};
    commands_good(weir_graph_add(graph, &(weir_task){.kernel = copy, .args = args, .arg_count = 2}, NULL));
    commands_good(weir_graph_fill(graph, buffers[1], 0, SIZE, 9, NULL));
    for (uint32_t i = 0; i < 6; i++) {
      weir_event *event;
      bool bad = i / 2 % 2 == 0;
      value = bad ? 7 : 8;
      const weir_arg given = weir_value(&value, sizeof value);
      commands_good(weir_graph_set_arg(graph, 1, 1, &given));
      uint32_t before = atomic_load(&calls);
      commands_good(weir_graph_launch(graph, &event));
      expect_end(event, bad ? WEIR_ERROR_TASK_FAILED : WEIR_OK, bad ? "node 1 'fails'" : "");
      if (bad) assert_true(atomic_load(&calls) > before);
      commands_expect(buffers[0], 0, SIZE, 8);
      commands_expect(buffers[1], 0, SIZE, 9);
      uint32_t word = 0;
      assert_int_equal(weir_read(buffers[2], 0, 4, &word), bad ? WEIR_ERROR_UPSTREAM_FAILED : WEIR_OK);
      assert_int_equal(word, bad ? 0 : 8);
      weir_finish(commands_context);
    }
    commands_good(weir_graph_release(graph));
    commands_close();
  }
}

// The device's thread waits for all that is in flight before it goes on behind a launch that failed: also for a copy
// that the host makes, which was not handed over yet, and when the device has nothing else left to do.
static void failures_beside_copies_of_the_host(void **state) {
  (void)state;
  enum { ROUNDS = 300 };
  static uint32_t words[SIZE / 4];
  commands_open(NULL);
  weir_kernel *fails = commands_kernel("fails", &(weir_enqueue_code){.function = fail_half_way});
  weir_kernel *fill = commands_kernel("fill", &fill_code);
  weir_buffer *buffer = make_buffer(), *other = make_buffer();
  weir_graph *graph;
  const uint32_t value = 7;
  const weir_arg args[] = {weir_updates(buffer), weir_value(&value, sizeof value)};
  commands_good(weir_graph_create(commands_context, NULL, &graph));
  commands_good(weir_graph_add(graph, &(weir_task){.kernel = fails, .args = args, .arg_count = 2}, NULL));
  for (uint32_t i = 0; i < ROUNDS; i++) {
    submit_fill(fill, buffer, i, NULL, NULL);
    commands_good(weir_copy_in(other, 0, SIZE, words, NULL));
    commands_good(weir_graph_launch(graph, NULL));
    assert_int_equal(weir_finish_for(commands_context, 60000000000), WEIR_ERROR_TASK_FAILED);
  }
  commands_good(weir_graph_release(graph));
  commands_close();
}

static _Atomic uint32_t prepares;

// It fails at first.
static weir_status prepare_at_last(const weir_enqueue *call) {
  if (atomic_fetch_add(&prepares, 1) > 1) return WEIR_OK;
  weir_enqueue_fail(call, "the library is not ready");
  return WEIR_ERROR_UNAVAILABLE;
}

static void failures_to_prepare(void **state) {
  (void)state;
  commands_open(&(weir_context_options){.queues = 1});
  weir_kernel *fill =
      commands_kernel("fill", &(weir_enqueue_code){.function = commands_fill_task, .prepare = prepare_at_last});
  weir_buffer *buffer = make_buffer();
  for (uint32_t i = 0; i < 4; i++) {
    weir_event *event;
    submit_fill(fill, buffer, i, NULL, &event);
    weir_status status = weir_event_wait(event, WEIR_FOREVER);
    assert_int_equal(status, i < 2 ? WEIR_ERROR_UNAVAILABLE : WEIR_OK);
    expect_end(event, status, i < 2 ? "the library is not ready" : "");
    weir_finish(commands_context);
  }
  commands_expect(buffer, 0, SIZE, 3);
  commands_close();
}

// ---------------------------------------------------------------------------------------------------------------
// Functions that do what they must not, or next to nothing

static weir_status wait_for_tasks(const weir_enqueue *call) {
  if (weir_finish(commands_context) != WEIR_ERROR_INVALID_ARGUMENT ||
      weir_event_wait(call->user, WEIR_FOREVER) != WEIR_ERROR_INVALID_ARGUMENT)
    return WEIR_ERROR_IO;
  return commands_fill_task(call);
}

static weir_status record_nothing(const weir_enqueue *call) {
  (void)call;
  return WEIR_OK;
}

static weir_status submit_another(const weir_enqueue *call) {
  submit_fill(call->user, call->data, 12, NULL, NULL);
  return commands_fill_task(call);
}

static weir_status count(const weir_enqueue *call) {
  atomic_fetch_add(&calls, 1);
  return commands_fill_task(call);
}

static void misuse(void **state) {
  (void)state;
  weir_event *event, *gate_event;
  gate closed = {false}, again = {false};
  commands_open(&(weir_context_options){.devices = "vulkan,cpu:1"});
  weir_buffer *buffer = make_buffer(), *other = make_buffer();
  weir_kernel *fill = commands_kernel("fill", &fill_code);
  weir_kernel *joins = commands_kernel("joins", &(weir_enqueue_code){.function = wait_for_tasks});
  weir_kernel *nothing = commands_kernel("nothing", &(weir_enqueue_code){.function = record_nothing});
  weir_kernel *submits = commands_kernel("submits", &(weir_enqueue_code){.function = submit_another, .data = other});
  weir_kernel *counts = commands_kernel("counts", &(weir_enqueue_code){.function = count});
  commands_good(gate_submit(commands_context, &closed, NULL, 0, &gate_event));
  submit_fill(joins, buffer, 20, gate_event, &event);
  expect_end(event, WEIR_OK, "");
  gate_open(&closed);
  weir_event_release(gate_event);
  submit_fill(nothing, other, 0, NULL, &event);
  expect_end(event, WEIR_OK, "");
  submit_fill(submits, buffer, 21, fill, NULL);
  commands_good(weir_finish(commands_context));
  commands_expect(buffer, 0, SIZE, 21);
  commands_expect(other, 0, SIZE, 12);
  // A function is not called for a task that was cancelled before its turn.
  const weir_arg args[] = {weir_updates(buffer)};
  commands_good(gate_submit(commands_context, &again, args, 1, NULL));
  const uint32_t before = atomic_load(&calls), value = 1;
  const weir_arg updates[] = {weir_updates(buffer), weir_value(&value, sizeof value)};
  for (int i = 0; i < 10; i++)
    commands_good(weir_submit(commands_context, &(weir_task){.kernel = counts, .args = updates, .arg_count = 2}, NULL));
  weir_context_cancel(commands_context);
  gate_open(&again);
  weir_finish(commands_context);
  assert_int_equal(atomic_load(&calls), before);
  commands_close();
}

// ---------------------------------------------------------------------------------------------------------------
// Allocations

static weir_status fill_all(const weir_enqueue *call) {
  for (uint32_t i = 0; i < call->arg_count; i++) commands_fill(call, &call->args[i], ENQUEUE_ALLOCATIONS_PATTERN);
  return WEIR_OK;
}

static void failing_allocations(void **state) {
  (void)state;
  commands_open(NULL);
  enqueue_allocations_fail(commands_context, "vulkan", fill_all, commands_expect);
  commands_close();
}

int main(void) {
  rig_skip_without_device();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(failures_are_the_tasks),
      cmocka_unit_test(failures_in_graphs),
      cmocka_unit_test(failures_beside_copies_of_the_host),
      cmocka_unit_test(failures_to_prepare),
      cmocka_unit_test(misuse),
      cmocka_unit_test(failing_allocations),
  };
  return cmocka_run_group_tests_name("Vulkan: failing enqueue functions", tests, NULL, NULL);
}
