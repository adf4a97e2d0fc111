// SPDX-License-Identifier: Apache-2.0
//
// The inbox of a device's thread: order, wrap-around, flushes, and that no task is missed by a thread that sleeps.
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/random.h"
#include "issue/inbox.h"

enum { WINDOW = 8, TASKS = 20000 };

static weir__task tasks[WINDOW];

static void test_order(void **state) {
  (void)state;
  weir__inbox inbox = {0};
  assert_true(weir__inbox_initialize(&inbox, WINDOW));
  for (int round = 0; round < 3; round++) {
    for (int i = 0; i < WINDOW - 1; i++) weir__inbox_push(&inbox, &tasks[i]);
    assert_int_equal(weir__inbox_count(&inbox), WINDOW - 1);
    assert_ptr_equal(weir__inbox_peek(&inbox, 2), &tasks[2]);
    for (int i = 0; i < WINDOW - 1; i++) assert_ptr_equal(weir__inbox_take(&inbox), &tasks[i]);
    assert_int_equal(weir__inbox_count(&inbox), 0);
  }
  weir__inbox_deinitialize(&inbox);
}

static void test_flush(void **state) {
  (void)state;
  weir__inbox inbox = {0};
  assert_true(weir__inbox_initialize(&inbox, WINDOW));
  assert_false(weir__inbox_take_flush(&inbox));
  weir__inbox_flush(&inbox);
  weir__inbox_flush(&inbox);
  assert_true(weir__inbox_take_flush(&inbox));
  assert_false(weir__inbox_take_flush(&inbox));
  weir__inbox_deinitialize(&inbox);
}

// What came before the thread announced that it sleeps is found by it; a thread that must stop does not sleep.
static void test_no_sleep(void **state) {
  (void)state;
  weir__inbox inbox = {0};
  assert_true(weir__inbox_initialize(&inbox, WINDOW));
  weir__inbox_push(&inbox, &tasks[0]);
  weir__inbox_announce_sleep(&inbox, true);
  assert_false(weir__inbox_sleep(&inbox, UINT64_MAX));
  weir__inbox_take(&inbox);
  weir__inbox_announce_sleep(&inbox, true);
  weir__inbox_ring(&inbox);
  assert_true(weir__inbox_sleep(&inbox, UINT64_MAX)); // woken at once
  weir__inbox_stop(&inbox);
  assert_true(weir__inbox_is_stopping(&inbox));
  weir__inbox_announce_sleep(&inbox, true);
  assert_false(weir__inbox_sleep(&inbox, UINT64_MAX));
  weir__inbox_deinitialize(&inbox);
}

typedef struct shared {
  weir__inbox inbox;
  _Atomic uint64_t taken;
  uint64_t disorder, seed;
} shared;

// Sleeps as soon as there is nothing to do: without a limit where it may, else for a while.
static void *receive(void *argument) {
  shared *s = argument;
  uint64_t next = 0;
  while (next < TASKS) {
    if (weir__inbox_count(&s->inbox) == 0) {
      bool sure = weir__inbox_announce_sleep(&s->inbox, true);
      weir__inbox_sleep(&s->inbox, sure ? UINT64_MAX : 1000000);
      continue;
    }
    if (weir__inbox_take(&s->inbox) != &tasks[next % WINDOW]) s->disorder++;
    atomic_store_explicit(&s->taken, ++next, memory_order_release);
  }
  return NULL;
}

static void test_threads(void **state) {
  (void)state;
  shared s = {.seed = 1};
  const char *seed = getenv("WEIR_TEST_SEED");
  if (seed != NULL) s.seed = strtoull(seed, NULL, 10);
  pthread_t thread;
  assert_true(weir__inbox_initialize(&s.inbox, WINDOW));
  assert_int_equal(pthread_create(&thread, NULL, receive, &s), 0);
  weir__random random = {.state = s.seed * 2 + 1};
  for (uint64_t i = 0; i < TASKS; i++) {
    while (i - atomic_load_explicit(&s.taken, memory_order_acquire) >= WINDOW - 1) weir__pause();
    weir__inbox_push(&s.inbox, &tasks[i % WINDOW]);
    // Often long enough for the thread to fall asleep.
    uint32_t pauses = weir__random_next(&random) % 4 == 0 ? weir__random_next(&random) % 2000 : 0;
    for (; pauses > 0; pauses--) weir__pause();
  }
  pthread_join(thread, NULL);
  assert_int_equal(s.disorder, 0);
  weir__inbox_deinitialize(&s.inbox);
}

int main(void) {
  const struct CMUnitTest all[] = {
      cmocka_unit_test(test_order),
      cmocka_unit_test(test_flush),
      cmocka_unit_test(test_no_sleep),
      cmocka_unit_test(test_threads),
  };
  return cmocka_run_group_tests(all, NULL, NULL);
}
