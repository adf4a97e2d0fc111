// SPDX-License-Identifier: Apache-2.0
//
// Long tasks spread over all workers, wherever they become ready: those that run meet.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "device/cpu/cpu.h"
#include "meeting.h"
#include "part.h"
#include "weir/external.h"
#include "weir/graph.h"

static const uint32_t worker_counts[] = {1, 2, 5, 13};
enum { WORKER_COUNTS = sizeof worker_counts / sizeof worker_counts[0], ROUNDS = 40 };

static int rounds(void) {
  return (int)part_count(ROUNDS);
}

static void do_nothing(const weir_work *work) {
  (void)work;
}

// Pauses after which the workers spin, nap, or sleep.
static void pause_in_round(int round) {
  if (round % 4 != 0) usleep((unsigned)(round % 4) * 700);
}

static void tasks_from_outside(void **state) {
  (void)state;
  for (size_t w = 0; w < WORKER_COUNTS; w++) {
    weir_context *context = open_cpu(worker_counts[w]);
    for (int round = 0; round < rounds(); round++) {
      meeting all;
      meeting_initialize(&all, worker_counts[w]);
      pause_in_round(round);
      for (uint32_t i = 0; i < worker_counts[w]; i++) submit_host(context, meeting_attend, &all, NULL, 0);
      finish_all(context);
      assert_true(meeting_held(&all));
    }
    weir_context_release(context);
  }
}

// One task makes all others ready: they are in the queue of the worker that ran it.
static void successors_of_one_task(void **state) {
  (void)state;
  for (size_t w = 0; w < WORKER_COUNTS; w++) {
    weir_context *context = open_cpu(worker_counts[w]);
    weir_buffer *buffer;
    assert_int_equal(weir_buffer_create(context, 64, &buffer), WEIR_OK);
    weir_arg writes = weir_writes(buffer), reads = weir_reads(buffer);
    for (int round = 0; round < rounds(); round++) {
      meeting all, hub;
      meeting_initialize(&all, worker_counts[w]);
      meeting_initialize(&hub, 2); // the task and this thread
      pause_in_round(round);
      submit_host(context, meeting_attend, &hub, &writes, 1);
      for (uint32_t i = 0; i < worker_counts[w]; i++) submit_host(context, meeting_attend, &all, &reads, 1);
      atomic_fetch_add(&hub.arrived, 1);
      finish_all(context);
      assert_true(meeting_held(&all));
    }
    weir_context_release(context);
  }
}

// More of them than a worker's queue holds, short ones in front.
static void successors_that_overflow_a_queue(void **state) {
  (void)state;
  enum { SHORT = 600 };
  weir_context *context = open_cpu(5);
  weir_buffer *buffer;
  assert_int_equal(weir_buffer_create(context, 64, &buffer), WEIR_OK);
  weir_arg writes = weir_writes(buffer), reads = weir_reads(buffer);
  for (int round = 0; round < rounds(); round++) {
    meeting all, hub;
    meeting_initialize(&all, 5);
    meeting_initialize(&hub, 2);
    pause_in_round(round);
    submit_host(context, meeting_attend, &hub, &writes, 1);
    for (int i = 0; i < SHORT; i++) submit_host(context, do_nothing, NULL, &reads, 1);
    for (int i = 0; i < 5; i++) submit_host(context, meeting_attend, &all, &reads, 1);
    atomic_fetch_add(&hub.arrived, 1);
    finish_all(context);
    assert_true(meeting_held(&all));
  }
  weir_context_release(context);
}

// Kernels whose length is known by then.
static void kernels_that_are_known_to_be_long(void **state) {
  (void)state;
  for (size_t w = 0; w < WORKER_COUNTS; w++) {
    weir_context *context = open_cpu(worker_counts[w]);
    weir_kernel *kernel;
    assert_int_equal(weir_kernel_create(context, "meeting", &kernel), WEIR_OK);
    assert_int_equal(weir_kernel_set_cpu(kernel, meeting_attend), WEIR_OK);
    for (int round = 0; round < rounds(); round++) {
      meeting all;
      meeting_initialize(&all, worker_counts[w]);
      pause_in_round(round);
      for (uint32_t i = 0; i < worker_counts[w]; i++) {
        weir_task task = {.kernel = kernel, .user = &all};
        assert_int_equal(weir_submit(context, &task, NULL), WEIR_OK);
      }
      finish_all(context);
      assert_true(meeting_held(&all));
    }
    weir_context_release(context);
  }
}

// The kernel is tiny so far, and is submitted as often as there are workers, each time when those before wait for it.
static void meet_though_tiny(weir_context *context, weir_kernel *kernel, uint32_t workers, int round) {
  enum { TINY = 100 };
  meeting all, alone;
  meeting_initialize(&alone, 1);
  weir_task task = {.kernel = kernel, .user = &alone};
  for (int i = 0; i < TINY; i++) assert_int_equal(weir_submit(context, &task, NULL), WEIR_OK);
  finish_all(context);
  meeting_initialize(&all, workers + 1); // and this thread
  task.user = &all;
  pause_in_round(round);
  for (uint32_t i = 0; i < workers; i++) {
    assert_int_equal(weir_submit(context, &task, NULL), WEIR_OK);
    while (atomic_load(&all.arrived) < i + 1 && !atomic_load(&all.given_up)) usleep(100);
    pause_in_round(round);
  }
  const weir__cpu *cpu = (const weir__cpu *)weir_context_device(context, 0);
  for (uint32_t i = 0; i < workers && !atomic_load(&all.given_up); i++) assert_int_equal(cpu->workers[i].word, 0);
  atomic_fetch_add(&all.arrived, 1);
  finish_all(context);
  assert_true(meeting_held(&all));
}

static void check_thought_tiny(uint32_t workers, weir_progress_function progress) {
  weir_context *context = open_cpu(workers);
  weir_kernel *kernel;
  assert_int_equal(weir_kernel_create(context, "meeting", &kernel), WEIR_OK);
  assert_int_equal(weir_kernel_set_cpu(kernel, meeting_attend), WEIR_OK);
  if (progress != NULL) assert_int_equal(weir_context_set_progress(context, progress, NULL), WEIR_OK);
  for (int round = 0; round < rounds() / 3; round++) meet_though_tiny(context, kernel, workers, round);
  weir_context_release(context);
}

// Workers that look after the others come, and count as awake then.
static void kernels_that_were_thought_tiny(void **state) {
  (void)state;
  for (size_t w = 0; w < WORKER_COUNTS; w++) check_thought_tiny(worker_counts[w], NULL);
}

static uint64_t after_a_nap(void *user) {
  (void)user;
  return 50000;
}

static uint64_t at_once(void *user) {
  (void)user;
  return 0;
}

// Also those that never sleep for long, or not at all, since the context has a progress function.
static void kernels_that_were_thought_tiny_beside_progress(void **state) {
  (void)state;
  for (size_t w = 0; w < WORKER_COUNTS; w++) {
    check_thought_tiny(worker_counts[w], after_a_nap);
    check_thought_tiny(worker_counts[w], at_once);
  }
}

// The nodes of one graph that are ready at a time.
static void nodes_of_a_graph(void **state) {
  (void)state;
  for (size_t w = 0; w < WORKER_COUNTS; w++) {
    weir_context *context = open_cpu(worker_counts[w]);
    weir_buffer *buffer;
    assert_int_equal(weir_buffer_create(context, 64, &buffer), WEIR_OK);
    weir_arg writes = weir_writes(buffer), reads = weir_reads(buffer);
    meeting all;
    weir_graph *graph;
    assert_int_equal(weir_graph_create(context, NULL, &graph), WEIR_OK);
    weir_task hub = {.host = do_nothing, .args = &writes, .arg_count = 1};
    assert_int_equal(weir_graph_add(graph, &hub, NULL), WEIR_OK);
    for (uint32_t i = 0; i < worker_counts[w]; i++) {
      weir_task task = {.host = meeting_attend, .user = &all, .args = &reads, .arg_count = 1};
      assert_int_equal(weir_graph_add(graph, &task, NULL), WEIR_OK);
    }
    for (int round = 0; round < rounds(); round++) {
      meeting_initialize(&all, worker_counts[w]);
      pause_in_round(round);
      assert_int_equal(weir_graph_launch(graph, NULL), WEIR_OK);
      finish_all(context);
      assert_true(meeting_held(&all));
    }
    weir_context_release(context);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(tasks_from_outside),
      cmocka_unit_test(successors_of_one_task),
      cmocka_unit_test(successors_that_overflow_a_queue),
      cmocka_unit_test(kernels_that_are_known_to_be_long),
      cmocka_unit_test(kernels_that_were_thought_tiny),
      cmocka_unit_test(kernels_that_were_thought_tiny_beside_progress),
      cmocka_unit_test(nodes_of_a_graph),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
