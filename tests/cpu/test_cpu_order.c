// SPDX-License-Identifier: Apache-2.0
//
// Which of the tasks that are ready is started first.
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "gate.h"
#include "meeting.h"
#include "random.h"

enum { TASKS = 200 };

typedef struct order {
  int32_t priorities[TASKS]; // in the order in which tasks started
  atomic_uint count;
} order;

typedef struct entry {
  order *order;
  int32_t priority;
} entry;

static void note_start(const weir_work *work) {
  entry *self = work->user;
  self->order->priorities[atomic_fetch_add(&self->order->count, 1)] = self->priority;
}

// Holds the only worker, submits tasks of random priorities, and lets them go. `arg`: what they wait for, or NULL.
static void check_order(bool as_kernels, bool behind_gate, uint64_t seed) {
  random_state random = {seed};
  weir_context *context = open_cpu(1);
  gate closed = {0};
  weir_buffer *buffer;
  assert_int_equal(weir_buffer_create(context, 64, &buffer), WEIR_OK);
  weir_arg writes = weir_writes(buffer), reads = weir_reads(buffer);
  assert_int_equal(gate_submit(context, &closed, &writes, 1, NULL), WEIR_OK);
  gate_await(&closed, 1);
  weir_kernel *kernel;
  assert_int_equal(weir_kernel_create(context, "note", &kernel), WEIR_OK);
  assert_int_equal(weir_kernel_set_cpu(kernel, note_start), WEIR_OK);
  static order started;
  static entry entries[TASKS];
  atomic_store(&started.count, 0);
  for (int i = 0; i < TASKS; i++) {
    int32_t priority = (int32_t)random_below(&random, 8) + WEIR_PRIORITY_LOWEST;
    entries[i] = (entry){&started, priority};
    weir_task task = {.user = &entries[i], .priority = priority};
    if (as_kernels) task.kernel = kernel;
    if (!as_kernels) task.host = note_start;
    if (behind_gate) {
      task.args = &reads;
      task.arg_count = 1;
    }
    assert_int_equal(weir_submit(context, &task, NULL), WEIR_OK);
  }
  gate_open(&closed);
  finish_all(context);
  assert_int_equal(atomic_load(&started.count), TASKS);
  for (int i = 1; i < TASKS; i++) assert_true(started.priorities[i - 1] >= started.priorities[i]);
  weir_context_release(context);
}

static void higher_priorities_first(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= 10; seed++) {
    check_order(false, false, seed);
    check_order(true, false, seed);
  }
}

static void higher_priorities_first_among_successors(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= 10; seed++) {
    check_order(false, true, seed);
    check_order(true, true, seed);
  }
}

static void priorities_beyond_the_limits_count_as_the_limits(void **state) {
  (void)state;
  weir_context *context = open_cpu(1);
  gate closed = {0};
  assert_int_equal(gate_submit(context, &closed, NULL, 0, NULL), WEIR_OK);
  gate_await(&closed, 1);
  static order started;
  const int32_t priorities[] = {-100, WEIR_PRIORITY_LOWEST, 0, WEIR_PRIORITY_HIGHEST, 100};
  entry entries[5];
  atomic_store(&started.count, 0);
  for (int i = 0; i < 5; i++) {
    entries[i] = (entry){&started, i};
    weir_task task = {.host = note_start, .user = &entries[i], .priority = priorities[i]};
    assert_int_equal(weir_submit(context, &task, NULL), WEIR_OK);
  }
  gate_open(&closed);
  finish_all(context);
  assert_true(started.priorities[0] >= 3 && started.priorities[1] >= 3);
  assert_int_equal(started.priorities[2], 2);
  assert_true(started.priorities[3] <= 1 && started.priorities[4] <= 1);
  weir_context_release(context);
}

// An urgent task does not wait for what is in a worker's own queue.
static void urgent_tasks_overtake_many(void **state) {
  (void)state;
  weir_context *context = open_cpu(1);
  gate closed = {0};
  weir_buffer *buffer;
  assert_int_equal(weir_buffer_create(context, 64, &buffer), WEIR_OK);
  weir_arg writes = weir_writes(buffer), reads = weir_reads(buffer);
  assert_int_equal(gate_submit(context, &closed, &writes, 1, NULL), WEIR_OK);
  gate_await(&closed, 1);
  static order started;
  entry plain = {&started, 0}, urgent = {&started, 3};
  atomic_store(&started.count, 0);
  for (int i = 0; i < TASKS - 1; i++) submit_host(context, note_start, &plain, &reads, 1);
  weir_task task = {.host = note_start, .user = &urgent, .args = &reads, .arg_count = 1, .priority = 3};
  assert_int_equal(weir_submit(context, &task, NULL), WEIR_OK);
  gate_open(&closed);
  finish_all(context);
  assert_int_equal(started.priorities[0], 3);
  weir_context_release(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(higher_priorities_first),
      cmocka_unit_test(higher_priorities_first_among_successors),
      cmocka_unit_test(priorities_beyond_the_limits_count_as_the_limits),
      cmocka_unit_test(urgent_tasks_overtake_many),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
