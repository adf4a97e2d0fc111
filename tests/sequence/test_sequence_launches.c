// SPDX-License-Identifier: Apache-2.0
//
// Launches in flight: cleared and recorded over, waited for, counted, on chosen queues, timed.
#include <stdio.h>
#include <string.h>

#include "sequence.h"
#include "stub.h"

enum { LITTLE_NS = 1000000 };

static void hold(const sequence *s, gate *door, weir_buffer *buffer) {
  weir_arg arg = weir_updates(buffer);
  good(gate_submit(s->context, door, &arg, 1, NULL));
}

static void record_over(sequence *s) {
  gate door = {0};
  weir_buffer *x = sequence_numbered(s, "x", 1);
  hold(s, &door, x);
  uint32_t values[10];
  for (uint32_t i = 0; i < 10; i++) {
    values[i] = i + 1;
    good(weir_graph_clear(s->graph));
    assert_int_equal(graph_info(s->graph).tasks, 0);
    assert_int_equal(sequence_step(s, x, values[i]), 0);
    good(weir_graph_launch(s->graph, NULL));
  }
  good(weir_graph_clear(s->graph));
  assert_int_equal(graph_info(s->graph).running, 10);
  refused(weir_graph_launch(s->graph, NULL), WEIR_ERROR_INVALID_ARGUMENT, "no tasks", NULL);
  gate_open(&door);
  good(weir_graph_wait(s->graph, WEIR_FOREVER));
  assert_int_equal(graph_info(s->graph).running, 0);
  sequence_expect_steps(x, 1, values, 10);
}

static void launches_in_flight_outlive_a_clear(void **state) {
  (void)state;
  sequence_run(record_over);
}

static void time_out(sequence *s) {
  gate door = {0};
  weir_buffer *x = sequence_numbered(s, "x", 1);
  sequence_step(s, x, 1);
  good(weir_graph_wait(s->graph, WEIR_FOREVER)); // nothing is in flight
  hold(s, &door, x);
  refused(weir_graph_evaluate(s->graph, LITTLE_NS), WEIR_TIMEOUT, "still runs", "1000000 ns", NULL);
  refused(weir_graph_evaluate(s->graph, 0), WEIR_TIMEOUT, "0 ns", NULL);
  weir_event *event;
  good(weir_graph_launch(s->graph, &event));
  assert_int_equal(graph_info(s->graph).running, 3);
  refused(weir_graph_wait(s->graph, 0), WEIR_TIMEOUT, "3 launches", NULL);
  refused(weir_graph_wait(s->graph, LITTLE_NS), WEIR_TIMEOUT, "3 launches still run", "go on", NULL);
  assert_int_equal(weir_event_poll(event), WEIR_PENDING);
  gate_open(&door);
  good(weir_graph_wait(s->graph, WEIR_FOREVER));
  assert_int_equal(weir_event_poll(event), WEIR_OK);
  weir_event_release(event);
  sequence_expect_steps(x, 1, (uint32_t[]){1, 1, 1}, 3);
}

static void time_outs_lose_nothing(void **state) {
  (void)state;
  sequence_run(time_out);
}

static void failing(sequence *s) {
  if (!s->fails) return;
  weir_buffer *x = sequence_numbered(s, "x", 1), *y = sequence_numbered(s, "y", 1);
  weir_arg arg = weir_updates(x);
  good(weir_graph_add(s->graph, &(weir_task){.kernel = s->broken, .args = &arg, .arg_count = 1}, NULL));
  sequence_step(s, y, 1);
  refused(weir_graph_evaluate(s->graph, WEIR_FOREVER), WEIR_ERROR_TASK_FAILED, "on purpose", "node 0", NULL);
  assert_int_equal(graph_info(s->graph).running, 0);
  good(weir_graph_wait(s->graph, WEIR_FOREVER)); // it was reported
  good(weir_graph_launch(s->graph, NULL));
  good(weir_graph_launch(s->graph, NULL));
  assert_int_equal(weir_graph_wait(s->graph, WEIR_FOREVER), WEIR_ERROR_UPSTREAM_FAILED);
  good(weir_graph_wait(s->graph, WEIR_FOREVER));
  sequence_expect_steps(y, 1, (uint32_t[]){1, 1, 1}, 3);
  (void)weir_finish(s->context);
}

static void failures_are_reported_once(void **state) {
  (void)state;
  sequence_run(failing);
}

static void release_early(sequence *s) {
  for (uint32_t round = 0; round < 70; round++) { // more than are kept
    gate door = {0};
    weir_buffer *x = sequence_numbered(s, "x", round);
    weir_graph *graph;
    good(weir_graph_create(s->context, NULL, &graph));
    weir_graph *kept = s->graph;
    s->graph = graph;
    sequence_step(s, x, 4);
    hold(s, &door, x);
    good(weir_graph_launch(graph, NULL));
    good(weir_graph_launch(graph, NULL));
    good(weir_graph_release(graph));
    refused(weir_graph_clear(graph), WEIR_ERROR_RELEASED, NULL);
    s->graph = kept;
    gate_open(&door);
    sequence_expect_steps(x, round, (uint32_t[]){4, 4}, 2);
    good(weir_buffer_release(x));
  }
}

static void graphs_are_released_in_flight(void **state) {
  (void)state;
  sequence_run(release_early);
}

// Several graphs in flight on queues of their own: a buffer of each, and one that all change.
static void many_on_queues(sequence *s) {
  enum { GRAPHS = 8, ROUNDS = 20 };
  uint32_t queues = weir_device_information(weir_context_device(s->context, 0))->queues;
  assert_int_equal(queues > 0, s->stages || s->on_opencl || strncmp(s->devices, "sim:h200", 8) == 0);
  weir_buffer *shared = sequence_numbered(s, "shared", 1), *own[GRAPHS];
  weir_graph *graphs[GRAPHS], *kept = s->graph;
  uint32_t steps[GRAPHS * ROUNDS], own_steps[ROUNDS];
  for (uint32_t i = 0; i < GRAPHS; i++) {
    const weir_graph_options options = {.queue = queues > 0 ? 1 + i % queues : i};
    good(weir_graph_create(s->context, &options, &graphs[i]));
    s->graph = graphs[i];
    own[i] = sequence_numbered(s, "own", i);
    sequence_step(s, own[i], 7);
    sequence_step(s, shared, i);
  }
  for (uint32_t round = 0; round < ROUNDS; round++) {
    own_steps[round] = 7;
    for (uint32_t i = 0; i < GRAPHS; i++) {
      good(weir_graph_launch(graphs[i], NULL));
      steps[round * GRAPHS + i] = i;
    }
  }
  for (uint32_t i = 0; i < GRAPHS; i++) good(weir_graph_wait(graphs[i], WEIR_FOREVER));
  sequence_expect_steps(shared, 1, steps, GRAPHS * ROUNDS);
  for (uint32_t i = 0; i < GRAPHS; i++) sequence_expect_steps(own[i], i, own_steps, ROUNDS);
  s->graph = kept;
}

static void graphs_run_on_chosen_queues(void **state) {
  (void)state;
  sequence_run(many_on_queues);
}

static void wrong_queue(sequence *s) {
  weir_buffer *x = sequence_numbered(s, "x", 1);
  uint32_t queues = weir_device_information(weir_context_device(s->context, 0))->queues;
  sequence_new_graph(s, &(weir_graph_options){.queue = 100000}); // its device is not known yet
  sequence_step(s, x, 1);
  if (queues == 0) {
    good(weir_graph_evaluate(s->graph, WEIR_FOREVER));
    return;
  }
  char number[32];
  snprintf(number, sizeof number, "has %u", queues);
  refused(weir_graph_launch(s->graph, NULL), WEIR_ERROR_OUT_OF_RANGE, "100000", number, NULL);
  refused(weir_graph_build(s->graph), WEIR_ERROR_OUT_OF_RANGE, "100000", number, NULL);
  weir_graph *made = s->graph;
  weir_graph_options options = {.device = weir_context_device(s->context, 0), .queue = queues + 1};
  refused(weir_graph_create(s->context, &options, &made), WEIR_ERROR_OUT_OF_RANGE, number, NULL);
  assert_null(made);
  for (options.queue = 0; options.queue <= queues; options.queue += queues) {
    sequence_new_graph(s, &options);
    sequence_step(s, x, 1);
    good(weir_graph_evaluate(s->graph, WEIR_FOREVER));
  }
}

static void queues_that_are_not_there_are_refused(void **state) {
  (void)state;
  sequence_run(wrong_queue);
}

// A graph of CUDA's gets what has changed since its last launch, and nothing else.
static void changed(sequence *s) {
  if (!s->on_cuda) return;
  enum { STEPS = 6, LAUNCHES = 7 };
  static const uint32_t wanted[LAUNCHES] = {
      0, 0, 1, 0, 2, STEPS, 0}; // of the kernels, how many are set; the first of all does not count
  weir_buffer *buffers[2] = {sequence_buffer(s, "x"), sequence_buffer(s, "y")};
  uint32_t values[STEPS] = {0}, numbers[COUNT], read[COUNT], current = 0;
  for (uint32_t i = 0; i < STEPS; i++) sequence_step(s, buffers[0], values[i]);
  for (uint32_t launch = 0; launch < LAUNCHES; launch++) {
    for (uint32_t i = 0; i < wanted[launch] % STEPS; i++) {
      values[2 * i] += 7;
      weir_arg value = weir_value(&values[2 * i], sizeof values[2 * i]);
      good(weir_graph_set_arg(s->graph, 2 * i, 1, &value));
    }
    if (wanted[launch] == STEPS) {
      current = 1;
      good(weir_graph_replace_buffer(s->graph, buffers[0], buffers[1]));
    }
    sequence_set(numbers, launch);
    good(weir_copy_in(buffers[current], 0, BYTES, numbers, NULL));
    good(weir_finish(s->context));
    uint64_t set = stub_calls("cuGraphExecKernelNodeSetParams");
    good(weir_graph_evaluate(s->graph, WEIR_FOREVER));
    if (launch > 0) assert_int_equal(stub_calls("cuGraphExecKernelNodeSetParams") - set, wanted[launch]);
    good(weir_copy_out(buffers[current], 0, BYTES, read, NULL));
    good(weir_finish(s->context));
    for (uint32_t i = 0; i < COUNT; i++) {
      for (uint32_t j = 0; j < STEPS; j++) numbers[i] = stepped(numbers[i], values[j]);
      assert_int_equal(read[i], numbers[i]);
    }
  }
}

static void only_what_has_changed_is_set(void **state) {
  (void)state;
  sequence_run(changed);
}

// What could not be set is set by the next launch, though that changes nothing.
static void refused_change(sequence *s) {
  if (!s->on_cuda) return;
  weir_buffer *x = sequence_buffer(s, "x");
  sequence_step(s, x, 1);
  sequence_step(s, x, 2);
  uint32_t numbers[COUNT], value = 9;
  sequence_set(numbers, 0);
  good(weir_copy_in(x, 0, BYTES, numbers, NULL));
  good(weir_graph_evaluate(s->graph, WEIR_FOREVER));
  weir_arg arg = weir_value(&value, sizeof value);
  good(weir_graph_set_arg(s->graph, 1, 1, &arg));
  stub_fail_nth("cuGraphExecKernelNodeSetParams", 1, 1); // an invalid value
  refused(weir_graph_evaluate(s->graph, WEIR_FOREVER), WEIR_ERROR_INVALID_ARGUMENT, NULL);
  stub_fail_nth(NULL, 0, 0);
  good(weir_copy_in(x, 0, BYTES, numbers, NULL));
  good(weir_graph_evaluate(s->graph, WEIR_FOREVER));
  sequence_read(x, numbers);
  for (uint32_t i = 0; i < COUNT; i++) assert_int_equal(numbers[i], stepped(stepped(i, 1), 9));
}

static void what_could_not_be_set_is_set_later(void **state) {
  (void)state;
  sequence_run(refused_change);
}

static void record_timed(sequence *s, weir_buffer *x, weir_buffer *y) {
  static uint32_t from[COUNT], to[COUNT];
  good(weir_graph_copy_in(s->graph, x, 0, WEIR_WHOLE, from, NULL));
  sequence_step(s, x, 1);
  sequence_sum(s, y, x, x);
  good(weir_graph_copy_out(s->graph, y, 0, WEIR_WHOLE, to, NULL));
}

static void timed(sequence *s) {
  weir_buffer *x = sequence_numbered(s, "x", 1), *y = sequence_buffer(s, "y");
  uint64_t start[4], end[4], again[4];
  record_timed(s, x, y);
  good(weir_graph_evaluate(s->graph, WEIR_FOREVER));
  refused(weir_graph_times(s->graph, 4, start, end), WEIR_ERROR_UNAVAILABLE, "weir_graph_options.timing", NULL);
  sequence_new_graph(s, &(weir_graph_options){.timing = true});
  record_timed(s, x, y);
  uint64_t before = weir_device_time(weir_context_device(s->context, 0));
  for (int i = 0; i < 3; i++) good(weir_graph_evaluate(s->graph, WEIR_FOREVER));
  refused(weir_graph_times(s->graph, 3, start, end), WEIR_ERROR_INVALID_ARGUMENT, "had 4", NULL);
  good(weir_graph_times(s->graph, 4, start, end));
  if (s->on_cpu || s->on_sim) assert_true(start[0] >= before); // others have clocks of their own
  for (int i = 0; i < 4; i++) {
    assert_true(start[i] <= end[i]);
    if (i > 0) assert_true(end[i - 1] <= start[i]); // each reads what the one before wrote
  }
  if (s->on_sim) assert_true(end[1] > start[1]);
  for (int i = 0; i < 2; i++) {
    good(weir_graph_times(s->graph, 4, i == 0 ? again : NULL, i == 0 ? NULL : again));
    assert_memory_equal(again, i == 0 ? start : end, sizeof again);
  }
  good(weir_graph_clear(s->graph)); // they stay until another launch is done
  good(weir_graph_times(s->graph, 4, again, NULL));
  assert_memory_equal(again, start, sizeof again);
  good(weir_graph_times(s->graph, 4, NULL, NULL));
}

static void times_of_tasks_are_kept(void **state) {
  (void)state;
  sequence_run(timed);
}

// Tasks that did not run have no times; where several launches are in flight, each counts.
static void timed_failure(sequence *s) {
  if (!s->fails) return;
  weir_buffer *x = sequence_numbered(s, "x", 1), *y = sequence_numbered(s, "y", 1);
  weir_arg arg = weir_updates(x);
  sequence_new_graph(s, &(weir_graph_options){.timing = true});
  good(weir_graph_add(s->graph, &(weir_task){.kernel = s->broken, .args = &arg, .arg_count = 1}, NULL));
  sequence_step(s, x, 1);
  sequence_step(s, y, 1);
  for (int i = 0; i < 5; i++) good(weir_graph_launch(s->graph, NULL));
  assert_int_not_equal(weir_graph_wait(s->graph, WEIR_FOREVER), WEIR_OK);
  uint64_t start[3], end[3];
  good(weir_graph_times(s->graph, 3, start, end));
  assert_int_equal(start[1], 0);
  assert_int_equal(end[1], 0);
  assert_true(end[2] > 0);
  (void)weir_finish(s->context);
}

static void tasks_that_are_skipped_have_no_times(void **state) {
  (void)state;
  sequence_run(timed_failure);
}

// The same in contexts that keep a timeline, or run everything in order.
static void other_contexts(void **state) {
  (void)state;
  const uint32_t flags[] = {WEIR_CONTEXT_TRACE, WEIR_CONTEXT_IN_ORDER, WEIR_CONTEXT_NO_RENAME};
  for (int i = 0; i < 3; i++) {
    const weir_context_options options = {.window = 64, .flags = flags[i]};
    sequence_run_with(&options, record_over);
    sequence_run_with(&options, timed);
    sequence_run_with(&options, failing);
  }
}

int main(int argc, char **argv) {
  sequence_choose(argc, argv);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(launches_in_flight_outlive_a_clear),
      cmocka_unit_test(time_outs_lose_nothing),
      cmocka_unit_test(failures_are_reported_once),
      cmocka_unit_test(graphs_are_released_in_flight),
      cmocka_unit_test(graphs_run_on_chosen_queues),
      cmocka_unit_test(queues_that_are_not_there_are_refused),
      cmocka_unit_test(only_what_has_changed_is_set),
      cmocka_unit_test(what_could_not_be_set_is_set_later),
      cmocka_unit_test(times_of_tasks_are_kept),
      cmocka_unit_test(tasks_that_are_skipped_have_no_times),
      cmocka_unit_test(other_contexts),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
