// SPDX-License-Identifier: Apache-2.0
//
// Tasks that come again, in virtual time: which of them are launched as graphs, what that costs the host, and that nothing else
// is changed by it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "../support/sweep.h"
#include "base/allocate.h"
#include "weir/sim.h"
#include "weir/weir.h"

// Times are in ns. Events cost nothing, so that the host pays for launches and graphs alone.
#define COSTS                                                                                                          \
  "sim:plain+event_record_us=0+event_wait_us=0+launch_us=1+graph_launch_us=2+graph_build_node_us=1"                    \
  "+graph_instantiate_node_us=3+graph_set_parameters_us=0.5+graph_set_function_us=1.5"

enum { LAUNCH = 1000, GRAPH_LAUNCH = 2000, MAKE_NODE = 4000, SET_PARAMETERS = 500, SET_FUNCTION = 1500, LENGTH = 40 };

typedef struct scene {
  weir_context *context;
  weir_device *device;
  weir_kernel *add, *multiply, *failing;
  weir_buffer *buffer, *other;
  uint32_t memory, other_memory;
} scene;

static void check(weir_status status) {
  if (status != WEIR_OK) fail_msg("%s", weir_last_error());
}

static void add(const weir_work *work) {
  *(uint32_t *)work->args[0] += *(const uint32_t *)work->args[1];
}

static void multiply(const weir_work *work) {
  *(uint32_t *)work->args[0] *= 3;
  *(uint32_t *)work->args[0] += *(const uint32_t *)work->args[1];
}

static void fail_task(const weir_work *work) {
  weir_work_fail(work, "as told");
}

static weir_status make_kernel(const scene *s, const char *name, weir_function function, weir_kernel **out_kernel) {
  static const weir_sim_launch launch = {.blocks = 4, .threads = 64, .us = 2};
  weir_status status = weir_kernel_create(s->context, name, out_kernel);
  if (status == WEIR_OK) status = weir_kernel_set_sim(*out_kernel, &launch, 1);
  return status == WEIR_OK ? weir_kernel_set_cpu(*out_kernel, function) : status;
}

static weir_status try_open(scene *s, const weir_context_options *options) {
  *s = (scene){.memory = 0};
  weir_status status = weir_context_create(options, &s->context);
  if (status != WEIR_OK) return status;
  s->device = weir_context_device(s->context, 0);
  status = make_kernel(s, "add", add, &s->add);
  if (status == WEIR_OK) status = make_kernel(s, "multiply", multiply, &s->multiply);
  if (status == WEIR_OK) status = make_kernel(s, "failing", fail_task, &s->failing);
  if (status == WEIR_OK) status = weir_buffer_wrap(s->context, &s->memory, sizeof s->memory, &s->buffer);
  if (status == WEIR_OK) status = weir_buffer_wrap(s->context, &s->other_memory, sizeof s->other_memory, &s->other);
  return status;
}

static void open_scene(scene *s, const char *device, weir_issue issue) {
  check(try_open(s, &(weir_context_options){.devices = device, .issue = issue}));
}

static weir_status submit_groups(const scene *s, weir_kernel *kernel, weir_buffer *buffer, uint32_t groups,
                                 uint32_t value, weir_event **out_event) {
  weir_arg args[] = {weir_updates(buffer), weir_value(&value, sizeof value)};
  weir_task task = {.kernel = kernel, .args = args, .arg_count = 2, .groups = {groups, 1, 1}};
  return weir_submit(s->context, &task, out_event);
}

static weir_status submit_to(const scene *s, weir_kernel *kernel, weir_buffer *buffer, uint32_t value,
                             weir_event **out_event) {
  return submit_groups(s, kernel, buffer, 1, value, out_event);
}

// A chain of tasks, each of another size, and what it cost the host until all of it was launched.
static uint64_t pass(scene *s, weir_kernel *kernel, uint32_t values) {
  uint64_t start = weir_device_time(s->device);
  weir_event *event;
  for (uint32_t i = 0; i < LENGTH; i++)
    check(submit_groups(s, kernel, s->buffer, i + 1, i * values, i + 1 < LENGTH ? NULL : &event));
  assert_int_equal(weir_event_poll(event), WEIR_PENDING); // launches what was collected
  uint64_t cost = weir_device_time(s->device) - start;
  check(weir_event_wait(event, WEIR_FOREVER));
  weir_event_release(event);
  return cost;
}

static void queues_launch_each_task_by_itself(void **state) {
  (void)state;
  for (int way = 0; way < 2; way++) {
    scene s;
    open_scene(&s, COSTS, way == 0 ? WEIR_ISSUE_QUEUES : WEIR_ISSUE_AUTO);
    for (int i = 0; i < 5; i++) assert_int_equal(pass(&s, s.add, 1), LENGTH * LAUNCH);
    weir_context_release(s.context);
  }
}

// A new beginning has batches of 8 and 32. Once it is known they grow: 8, which are those of before, 24, and 8 that are left.
static void graphs_are_made_at_once_and_used_again(void **state) {
  (void)state;
  scene s;
  open_scene(&s, COSTS, WEIR_ISSUE_GRAPHS);
  assert_int_equal(pass(&s, s.add, 0), (8 + 32) * MAKE_NODE + 2 * GRAPH_LAUNCH);
  assert_int_equal(pass(&s, s.add, 0), (24 + 8) * MAKE_NODE + 3 * GRAPH_LAUNCH);
  for (int i = 0; i < 3; i++) assert_int_equal(pass(&s, s.add, 0), 3 * GRAPH_LAUNCH);
  weir_context_release(s.context);
}

static void other_parameters_are_set(void **state) {
  (void)state;
  scene s;
  open_scene(&s, COSTS, WEIR_ISSUE_GRAPHS);
  for (int i = 0; i < 2; i++) pass(&s, s.add, 0);
  // All but the first value, which is 0 again.
  assert_int_equal(pass(&s, s.add, 1), (LENGTH - 1) * SET_PARAMETERS + 3 * GRAPH_LAUNCH);
  assert_int_equal(pass(&s, s.add, 1), 3 * GRAPH_LAUNCH);
  weir_context_release(s.context);
}

// Graphs of another shape are set anew while a beginning is new; later on it gets graphs of its own.
static void other_kernels_are_set_where_they_are_new(void **state) {
  (void)state;
  scene s;
  open_scene(&s, COSTS, WEIR_ISSUE_GRAPHS);
  pass(&s, s.add, 0);
  assert_int_equal(pass(&s, s.multiply, 0), (8 + 32) * SET_FUNCTION + 2 * GRAPH_LAUNCH);
  assert_int_equal(pass(&s, s.multiply, 0), (24 + 8) * MAKE_NODE + 3 * GRAPH_LAUNCH);
  for (int i = 0; i < 3; i++) assert_int_equal(pass(&s, s.multiply, 0), 3 * GRAPH_LAUNCH);
  weir_context_release(s.context);
}

static void let_time_pass(const scene *s) {
  for (int i = 0; i < 100; i++) {
    weir_event *event;
    check(submit_to(s, s->add, s->other, 0, &event));
    check(weir_event_wait(event, WEIR_FOREVER));
    weir_event_release(event);
  }
}

// The first pass finds nothing. The second one finds the graph of the first 8 tasks; its other batches are met for the first time.
// The host never pays for making a graph.
static void auto_has_graphs_made_on_the_side(void **state) {
  (void)state;
  scene s;
  open_scene(&s, COSTS "+auto_graphs=1", WEIR_ISSUE_AUTO);
  assert_int_equal(pass(&s, s.add, 0), LENGTH * LAUNCH);
  let_time_pass(&s);
  assert_int_equal(pass(&s, s.add, 0), (24 + 8) * LAUNCH + GRAPH_LAUNCH);
  let_time_pass(&s);
  for (int i = 0; i < 3; i++) assert_int_equal(pass(&s, s.add, 0), 3 * GRAPH_LAUNCH);
  weir_context_release(s.context);
}

static uint64_t time_of_program(const char *device, weir_issue issue, uint32_t *out_result) {
  scene s;
  open_scene(&s, device, issue);
  uint64_t start = weir_device_time(s.device);
  for (uint32_t round = 0; round < 8; round++) {
    for (uint32_t i = 0; i < 100; i++) {
      check(submit_to(&s, i % 7 == 3 ? s.multiply : s.add, i % 3 == 0 ? s.other : s.buffer, i * (round % 2), NULL));
      if (i == 60 && round % 3 == 0) check(weir_finish(s.context));
    }
  }
  check(weir_finish(s.context));
  uint64_t ns = weir_device_time(s.device) - start;
  *out_result = s.memory ^ s.other_memory;
  weir_context_release(s.context);
  return ns;
}

static void the_same_program_takes_the_same_time_and_has_the_same_effect(void **state) {
  (void)state;
  static const char *const devices[] = {"sim:ideal", "sim:h200", "sim:h200+auto_graphs=1", COSTS, "sim:h200,sim:ideal"};
  uint32_t expected, result;
  time_of_program("sim:ideal", WEIR_ISSUE_QUEUES, &expected);
  for (size_t i = 0; i < sizeof devices / sizeof devices[0]; i++) {
    for (int issue = WEIR_ISSUE_AUTO; issue <= WEIR_ISSUE_GRAPHS; issue++) {
      uint64_t ns = time_of_program(devices[i], (weir_issue)issue, &result);
      assert_int_equal(result, expected);
      assert_int_equal(time_of_program(devices[i], (weir_issue)issue, &result), ns);
      assert_int_equal(result, expected);
    }
  }
}

static void a_failure_skips_what_comes_after_it_in_its_batch(void **state) {
  (void)state;
  scene s;
  open_scene(&s, COSTS, WEIR_ISSUE_GRAPHS);
  for (int round = 0; round < 3; round++) {
    weir_event *before, *failed, *after, *beside;
    s.memory = s.other_memory = 0;
    check(submit_to(&s, s.add, s.buffer, 5, &before));
    check(submit_to(&s, s.failing, s.buffer, 0, &failed));
    check(submit_to(&s, s.add, s.buffer, 1, &after));
    check(submit_to(&s, s.add, s.other, 7, &beside));
    assert_int_equal(weir_event_wait(before, WEIR_FOREVER), WEIR_OK);
    assert_int_equal(weir_event_wait(failed, WEIR_FOREVER), WEIR_ERROR_TASK_FAILED);
    assert_int_equal(weir_event_wait(after, WEIR_FOREVER), WEIR_ERROR_UPSTREAM_FAILED);
    assert_int_equal(weir_event_wait(beside, WEIR_FOREVER), WEIR_OK);
    assert_int_equal(s.memory, 5);
    assert_int_equal(s.other_memory, 7);
    weir_event *events[] = {before, failed, after, beside};
    for (int i = 0; i < 4; i++) weir_event_release(events[i]);
    assert_int_equal(weir_finish(s.context), WEIR_ERROR_TASK_FAILED);
    weir_buffer_release(s.buffer); // its bytes are poisoned
    check(weir_buffer_wrap(s.context, &s.memory, sizeof s.memory, &s.buffer));
  }
  weir_context_release(s.context);
}

// Nobody launches what was collected but who waits for the window to have room, when the device has nothing else to do.
static void a_window_that_is_full_has_room_again(void **state) {
  (void)state;
  for (uint32_t window = 8; window <= 64; window *= 2) {
    scene s;
    check(try_open(&s, &(weir_context_options){.devices = COSTS, .issue = WEIR_ISSUE_GRAPHS, .window = window}));
    for (uint32_t i = 1; i <= 100; i++) check(submit_to(&s, s.add, s.buffer, i, NULL));
    check(weir_finish(s.context));
    assert_int_equal(s.memory, 5050);
    weir_context_release(s.context);
  }
}

static weir_status whole_program(uint32_t *out_result) {
  scene s;
  weir_context_options options = {.devices = COSTS, .issue = WEIR_ISSUE_GRAPHS, .window = 64};
  weir_status status = try_open(&s, &options);
  for (uint32_t i = 0; i < 120 && status == WEIR_OK; i++)
    status = submit_to(&s, s.add, i % 3 == 0 ? s.other : s.buffer, i % 40, NULL);
  weir_status finished = s.context != NULL ? weir_finish(s.context) : WEIR_OK;
  *out_result = s.memory + s.other_memory;
  weir_context_release(s.context);
  return status == WEIR_OK ? finished : status;
}

static void memory_that_fails_fails_tasks_and_nothing_else(void **state) {
  (void)state;
  uint32_t expected, result;
  check(whole_program(&expected));
  bool reached = true;
  for (uint64_t n = 1; reached; n = sweep_after(n)) {
    uint64_t before = weir__allocate_count();
    weir__allocate_fail_at(n);
    weir_status status = whole_program(&result);
    weir__allocate_fail_at(0);
    reached = weir__allocate_count() - before >= n;
    if (status == WEIR_OK)
      assert_int_equal(result, expected);
    else
      assert_int_equal(status, WEIR_ERROR_OUT_OF_MEMORY);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(queues_launch_each_task_by_itself),
      cmocka_unit_test(graphs_are_made_at_once_and_used_again),
      cmocka_unit_test(other_parameters_are_set),
      cmocka_unit_test(other_kernels_are_set_where_they_are_new),
      cmocka_unit_test(auto_has_graphs_made_on_the_side),
      cmocka_unit_test(the_same_program_takes_the_same_time_and_has_the_same_effect),
      cmocka_unit_test(a_failure_skips_what_comes_after_it_in_its_batch),
      cmocka_unit_test(a_window_that_is_full_has_room_again),
      cmocka_unit_test(memory_that_fails_fails_tasks_and_nothing_else),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
