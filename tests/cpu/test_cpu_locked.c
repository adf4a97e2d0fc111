// SPDX-License-Identifier: Apache-2.0
//
// Functions under a lock (weir_task.lock_key): one worker runs the short ones. Where one of them waits, for long and
// though none did before, others go on, and what was finished is known.
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "gate.h"
#include "meeting.h"
#include "random.h"

enum { KEY = 4711, LEARNED = 2000, BURST = 40 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void count_up(const weir_work *work) {
  pthread_mutex_lock(&lock);
  (*(unsigned *)work->user)++;
  pthread_mutex_unlock(&lock);
}

static void nothing(const weir_work *work) {
  (void)work;
}

static weir_event *submit(weir_context *context, weir_function function, void *user, uint64_t key) {
  weir_event *event;
  assert_int_equal(weir_submit(context, &(weir_task){.host = function, .user = user, .lock_key = key}, &event),
                   WEIR_OK);
  return event;
}

// A context that knows the functions of the key to be short.
static weir_context *open_learned(uint32_t workers) {
  weir_context *context = open_cpu(workers);
  unsigned count = 0;
  for (int i = 0; i < LEARNED; i++) weir_event_release(submit(context, count_up, &count, KEY));
  finish_all(context);
  assert_int_equal(count, LEARNED);
  return context;
}

static void wait_for(weir_event *event) {
  assert_int_equal(weir_event_wait(event, UINT64_C(60000000000)), WEIR_OK);
  weir_event_release(event);
}

// The gate opens when all others are done, whether they came before the function that waits at it or after.
static void one_that_waits(void **state) {
  (void)state;
  random_state random = {7};
  for (uint32_t workers = 2; workers <= 5; workers += 3) {
    weir_context *context = open_learned(workers);
    weir_kernel *kernel;
    assert_int_equal(weir_kernel_create(context, "nothing", &kernel), WEIR_OK);
    assert_int_equal(weir_kernel_set_cpu(kernel, nothing), WEIR_OK);
    for (int round = 0; round < 20; round++) {
      gate door = {false};
      unsigned count = 0, waits = random_below(&random, BURST);
      weir_event *events[BURST];
      for (unsigned i = 0; i < BURST; i++) {
        if (i == waits)
          events[i] = submit(context, gate_function, &door, KEY);
        else if (i % 4 == 3)
          assert_int_equal(weir_submit(context, &(weir_task){.kernel = kernel}, &events[i]), WEIR_OK);
        else
          events[i] = submit(context, count_up, &count, KEY);
      }
      for (unsigned i = 0; i < BURST; i++)
        if (i != waits) wait_for(events[i]);
      gate_open(&door);
      wait_for(events[waits]);
      for (int i = 0; i < 200; i++) weir_event_release(submit(context, count_up, &count, KEY));
      finish_all(context);
    }
    weir_context_release(context);
  }
}

// As many as there are workers wait for each other.
static void all_that_wait(void **state) {
  (void)state;
  for (uint32_t workers = 2; workers <= 5; workers++) {
    weir_context *context = open_learned(workers);
    for (int round = 0; round < 5; round++) {
      meeting all;
      meeting_initialize(&all, workers);
      for (uint32_t i = 0; i < workers; i++) weir_event_release(submit(context, meeting_attend, &all, KEY));
      finish_all(context);
      assert_true(meeting_held(&all));
    }
    weir_context_release(context);
  }
}

// Functions of many keys, some of which share a class, some long, with pauses in which workers sleep.
static void many_keys(void **state) {
  (void)state;
  random_state random = {11};
  weir_context *context = open_cpu(3);
  unsigned count = 0;
  for (unsigned i = 1; i <= 20000; i++) {
    uint64_t key =
        random_chance(&random, 20) ? UINT64_C(0x7f0000001000) + 64 * (uint64_t)random_below(&random, 1000) : KEY;
    weir_event_release(submit(context, count_up, &count, key));
    if (random_chance(&random, 1)) usleep(random_below(&random, 300));
    if (i % 5000 == 0) {
      finish_all(context);
      assert_int_equal(count, i);
    }
  }
  weir_context_release(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(one_that_waits),
      cmocka_unit_test(all_that_wait),
      cmocka_unit_test(many_keys),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
