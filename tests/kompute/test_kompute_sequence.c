// SPDX-License-Identifier: Apache-2.0
//
// kp::Sequence: recorded once and evaluated often, asynchronously too, on chosen queues, timed, from several threads.
#include <pthread.h>

#include "gate.h"
#include "kompute.h"

static void record_once_evaluate_often(void **state) {
  (void)state;
  weir_buffer *buffer = make_numbers(1);
  weir_graph *sequence = make_sequence();
  record_scale(sequence, make_scale(2), buffer, 1);
  for (int i = 0; i < 3; i++) good(weir_graph_evaluate(sequence, WEIR_FOREVER));
  expect_numbers(buffer, 1, 8, 7);
}

// Kompute's eval<Operation>: without a sequence at all.
static void one_operation(void **state) {
  (void)state;
  weir_buffer *buffer = make_numbers(1);
  const uint32_t add = 5;
  const weir_arg args[] = {weir_updates(buffer), weir_value(&add, sizeof add)};
  const weir_task task = {.kernel = make_scale(2), .args = args, .arg_count = 2, .groups = {COUNT / 32}};
  weir_event *event;
  good(weir_submit(context, &task, &event));
  good(weir_event_wait(event, WEIR_FOREVER));
  weir_event_release(event);
  expect_numbers(buffer, 1, 2, 5);
}

// Several evaluations are in flight at once; nobody waits in between.
static void launches_need_no_wait_in_between(void **state) {
  (void)state;
  gate door = {0};
  weir_buffer *buffer = make_numbers(1);
  weir_graph *sequence = make_sequence();
  record_scale(sequence, make_scale(2), buffer, 1);
  const weir_arg held = weir_updates(buffer);
  good(gate_submit(context, &door, &held, 1, NULL));
  for (int i = 0; i < 10; i++) good(weir_graph_launch(sequence, NULL));
  assert_int_equal(graph_info(sequence).running, 10);
  gate_open(&door);
  good(weir_graph_wait(sequence, WEIR_FOREVER));
  assert_int_equal(graph_info(sequence).running, 0);
  expect_numbers(buffer, 1, 1024, 1023);
}

// A wait that is too short says so, the work goes on, is still running, and can be waited for again.
static void time_outs_are_nanoseconds_and_lose_nothing(void **state) {
  (void)state;
  gate door = {0};
  weir_buffer *buffer = make_numbers(1);
  weir_graph *sequence = make_sequence();
  record_scale(sequence, make_scale(2), buffer, 1);
  const weir_arg held = weir_updates(buffer);
  good(gate_submit(context, &door, &held, 1, NULL));
  good(weir_graph_launch(sequence, NULL));
  refused(weir_graph_wait(sequence, 1000000), WEIR_TIMEOUT, "1000000 ns");
  assert_int_equal(graph_info(sequence).running, 1);
  refused(weir_graph_wait(sequence, 0), WEIR_TIMEOUT, "go");
  refused(weir_graph_evaluate(sequence, 1000), WEIR_TIMEOUT, "still runs"); // a second launch, behind the first
  assert_int_equal(graph_info(sequence).running, 2);
  gate_open(&door);
  good(weir_graph_wait(sequence, WEIR_FOREVER));
  expect_numbers(buffer, 1, 4, 3);
}

static void waiting_for_nothing_is_right(void **state) {
  (void)state;
  weir_graph *sequence = make_sequence();
  good(weir_graph_wait(sequence, WEIR_FOREVER));
  assert_int_equal(graph_info(sequence).running, 0);
}

// Kompute's begin() and end(): a sequence can always be recorded. What is added runs behind what was there.
static void recording_goes_on_after_evaluations(void **state) {
  (void)state;
  weir_buffer *buffer = make_numbers(1);
  weir_kernel *scale = make_scale(2);
  weir_graph *sequence = make_sequence();
  record_scale(sequence, scale, buffer, 1);
  good(weir_graph_evaluate(sequence, WEIR_FOREVER));
  assert_int_equal(record_scale(sequence, scale, buffer, 5), 1);
  good(weir_graph_evaluate(sequence, WEIR_FOREVER));
  expect_numbers(buffer, 1, 8, (1 * 2 + 1) * 2 + 5);
  assert_int_equal(graph_info(sequence).tasks, 2);
}

static void cleared_while_it_runs(void **state) {
  (void)state;
  gate door = {0};
  weir_buffer *buffer = make_numbers(1);
  weir_kernel *scale = make_scale(2);
  weir_graph *sequence = make_sequence();
  record_scale(sequence, scale, buffer, 1);
  const weir_arg held = weir_updates(buffer);
  good(gate_submit(context, &door, &held, 1, NULL));
  good(weir_graph_launch(sequence, NULL));
  good(weir_graph_clear(sequence));
  assert_int_equal(graph_info(sequence).tasks, 0);
  refused(weir_graph_launch(sequence, NULL), WEIR_ERROR_INVALID_ARGUMENT, "no tasks");
  record_scale(sequence, scale, buffer, 9);
  good(weir_graph_launch(sequence, NULL));
  gate_open(&door);
  good(weir_graph_wait(sequence, WEIR_FOREVER));
  expect_numbers(buffer, 1, 4, 2 + 9);
}

static void queues_are_chosen_by_number(void **state) {
  (void)state;
  const uint32_t queues = weir_device_information(weir_context_device(context, 0))->queues;
  weir_buffer *buffer = make_numbers(1);
  weir_kernel *scale = make_scale(1);
  for (uint32_t i = 0; i < 8; i++) {
    weir_graph *sequence = make_sequence_with(&(weir_graph_options){.queue = 1 + i % queues});
    record_scale(sequence, scale, buffer, 1);
    good(weir_graph_launch(sequence, NULL));
    good(weir_graph_release(sequence));
  }
  good(weir_finish(context));
  expect_numbers(buffer, 1, 1, 8);
  weir_graph *sequence;
  const weir_graph_options options = {.device = weir_context_device(context, 0), .queue = queues + 1};
  refused(weir_graph_create(context, &options, &sequence), WEIR_ERROR_OUT_OF_RANGE, "has ");
}

// Two sequences on one buffer, on different queues where there are several, take turns without a wait in between.
static void sequences_are_ordered_by_their_data(void **state) {
  (void)state;
  enum { ROUNDS = 20 };
  const uint32_t queues = weir_device_information(weir_context_device(context, 0))->queues;
  weir_buffer *buffer = make_numbers(1);
  weir_graph *twice = make_sequence_with(&(weir_graph_options){.queue = 1});
  weir_graph *plus = make_sequence_with(&(weir_graph_options){.queue = queues});
  record_scale(twice, make_scale(2), buffer, 0);
  record_scale(plus, make_scale(1), buffer, 1);
  for (int i = 0; i < ROUNDS; i++) {
    good(weir_graph_launch(twice, NULL));
    good(weir_graph_launch(plus, NULL));
  }
  good(weir_finish(context));
  expect_numbers(buffer, 1, 1u << ROUNDS, (1u << ROUNDS) - 1);
}

static void times_are_read_twice(void **state) {
  (void)state;
  weir_buffer *buffer = make_numbers(1);
  weir_kernel *scale = make_scale(2);
  weir_graph *untimed = make_sequence(), *sequence = make_sequence_with(&(weir_graph_options){.timing = true});
  uint64_t start[2], end[2], start_again[2], end_again[2];
  for (uint32_t i = 0; i < 2; i++) {
    record_scale(untimed, scale, buffer, i);
    record_scale(sequence, scale, buffer, i);
  }
  good(weir_graph_evaluate(untimed, WEIR_FOREVER));
  refused(weir_graph_times(untimed, 2, start, end), WEIR_ERROR_UNAVAILABLE, "weir_graph_options.timing");
  good(weir_graph_evaluate(sequence, WEIR_FOREVER));
  good(weir_graph_times(sequence, 2, start, end));
  good(weir_graph_times(sequence, 2, start_again, end_again));
  assert_memory_equal(start, start_again, sizeof start);
  assert_memory_equal(end, end_again, sizeof end);
  assert_true(start[0] <= end[0] && end[0] <= start[1] && start[1] <= end[1]); // one depends on the other
}

enum { THREADS = 4, LAUNCHES = 25 };

static void *launch_often(void *user) {
  for (int i = 0; i < LAUNCHES; i++)
    if (weir_graph_launch(user, NULL) != WEIR_OK) return user;
  return weir_graph_wait(user, WEIR_FOREVER) == WEIR_OK ? NULL : user;
}

// Sequences of several threads on one queue, all of which change one buffer and one of their own.
static void threads_submit_at_once(void **state) {
  (void)state;
  weir_buffer *shared = make_numbers(1), *own[THREADS];
  weir_kernel *plus = make_scale(1);
  weir_graph *sequences[THREADS];
  pthread_t threads[THREADS];
  for (uint32_t i = 0; i < THREADS; i++) {
    own[i] = make_numbers(i);
    sequences[i] = make_sequence_with(&(weir_graph_options){.queue = 1});
    record_scale(sequences[i], plus, shared, i);
    record_scale(sequences[i], plus, own[i], 1);
  }
  for (uint32_t i = 0; i < THREADS; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, launch_often, sequences[i]), 0);
  for (uint32_t i = 0; i < THREADS; i++) {
    void *failed;
    assert_int_equal(pthread_join(threads[i], &failed), 0);
    assert_null(failed);
  }
  expect_numbers(shared, 1, 1, LAUNCHES * (0 + 1 + 2 + 3));
  for (uint32_t i = 0; i < THREADS; i++) expect_numbers(own[i], i, 1, LAUNCHES);
}

// One sequence, launched by several threads: Kompute wants an evalAwait between any two.
static void threads_share_a_sequence(void **state) {
  (void)state;
  weir_buffer *buffer = make_numbers(1);
  weir_graph *sequence = make_sequence();
  pthread_t threads[THREADS];
  record_scale(sequence, make_scale(1), buffer, 1);
  for (uint32_t i = 0; i < THREADS; i++) assert_int_equal(pthread_create(&threads[i], NULL, launch_often, sequence), 0);
  for (uint32_t i = 0; i < THREADS; i++) {
    void *failed;
    assert_int_equal(pthread_join(threads[i], &failed), 0);
    assert_null(failed);
  }
  expect_numbers(buffer, 1, 1, THREADS * LAUNCHES);
}

static void on_done(void *user, weir_status status) {
  *(weir_status *)user = status;
}

static void events_call_back(void **state) {
  (void)state;
  weir_status ended = WEIR_PENDING;
  weir_buffer *buffer = make_numbers(1);
  weir_graph *sequence = make_sequence();
  record_scale(sequence, make_scale(2), buffer, 1);
  weir_event *event;
  good(weir_graph_launch(sequence, &event));
  good(weir_event_on_done(event, on_done, &ended));
  weir_event_release(event);
  good(weir_graph_wait(sequence, WEIR_FOREVER));
  good(weir_finish(context));
  weir_context_release(context); // waits for the callback
  assert_int_equal(ended, WEIR_OK);
  kompute_create(state);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      KOMPUTE_TEST(record_once_evaluate_often),
      KOMPUTE_TEST(one_operation),
      KOMPUTE_TEST(launches_need_no_wait_in_between),
      KOMPUTE_TEST(time_outs_are_nanoseconds_and_lose_nothing),
      KOMPUTE_TEST(waiting_for_nothing_is_right),
      KOMPUTE_TEST(recording_goes_on_after_evaluations),
      KOMPUTE_TEST(cleared_while_it_runs),
      KOMPUTE_TEST(queues_are_chosen_by_number),
      KOMPUTE_TEST(sequences_are_ordered_by_their_data),
      KOMPUTE_TEST(times_are_read_twice),
      KOMPUTE_TEST(threads_submit_at_once),
      KOMPUTE_TEST(threads_share_a_sequence),
      KOMPUTE_TEST(events_call_back),
  };
  kompute_skip_without_device();
  return cmocka_run_group_tests(tests, NULL, NULL);
}
