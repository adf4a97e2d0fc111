// SPDX-License-Identifier: Apache-2.0
//
// Threads that have waited for long come first: for the lock, and for a slot of the window.
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "crowd.h"
#include "engine/context.h"
#include "gate.h"

typedef struct waiter {
  weir__lock lock;
  _Atomic int stage; // 1: has the lock, 2: may release it
} waiter;

static void reach(_Atomic int *stage, int value) {
  while (atomic_load(stage) < value) sched_yield();
}

static void *wait_for_lock(void *user) {
  waiter *one = user;
  weir__lock_acquire(&one->lock);
  atomic_store(&one->stage, 1);
  reach(&one->stage, 2);
  weir__lock_release(&one->lock);
  return NULL;
}

// A thread that releases the lock does not get it again before one that has waited for a millisecond.
static void who_waited_for_long_is_next(void **state) {
  (void)state;
  for (int round = 0; round < 20; round++) {
    waiter one = {0};
    weir__lock_acquire(&one.lock);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, wait_for_lock, &one), 0);
    while (atomic_load(&one.lock.state) != WEIR__LOCK_STARVES) sched_yield();
    weir__lock_release(&one.lock);
    while (atomic_load(&one.stage) < 1) assert_false(weir__lock_try(&one.lock));
    atomic_store(&one.stage, 2);
    weir__lock_acquire(&one.lock);
    assert_int_equal(pthread_join(thread, NULL), 0);
    weir__lock_release(&one.lock);
  }
}

typedef struct shared {
  weir__lock lock;
  uint64_t count;
} shared;

// Now and then holds the lock for so long that others starve.
static void count_up(void *user, uint32_t number) {
  shared *all = user;
  for (uint32_t i = 0; i < 2000; i++) {
    weir__lock_acquire(&all->lock);
    all->count++;
    if ((i + 200 * number) % 500 == 0) {
      _Atomic uint32_t nobody = 0;
      for (int pause = 0; pause < 20; pause++) weir__sleep_on(&nobody, 0, 100000);
    }
    weir__lock_release(&all->lock);
  }
}

static void the_lock_is_exclusive(void **state) {
  (void)state;
  shared all = {0};
  crowd_run(count_up, &all);
  assert_int_equal(all.count, CROWD * 2000);
  assert_int_equal(atomic_load(&all.lock.state), WEIR__LOCK_FREE);
}

enum { SMALL_WINDOW = 8, ROUNDS = 100 };

static void do_nothing(const weir_work *work) {
  (void)work;
}

static const weir_task nothing = {.host = do_nothing};

typedef struct newcomer {
  weir_context *context;
  weir_event *event;
  _Atomic bool is_in;
} newcomer;

static void *submit_one(void *user) {
  newcomer *one = user;
  assert_int_equal(weir_submit(one->context, &nothing, &one->event), WEIR_OK);
  atomic_store(&one->is_in, true);
  return NULL;
}

// Takes the slot that came free before the newcomer is awake.
static void take_slot(void *user, weir_status status) {
  (void)status;
  (void)weir_submit(user, &nothing, NULL);
}

static bool is_claimed(weir_context *context) {
  weir__context_lock(context);
  bool claimed = context->host.window.claimed;
  weir__context_unlock(context);
  return claimed;
}

// The window is full. Twice the newcomer loses the slot that comes free; then those who come later do not pass it. Returns
// whether it did lose twice.
static bool newcomer_is_next(weir_context *context) {
  newcomer one = {.context = context};
  gate gates[3] = {0};
  for (int i = 0; i < 3; i++) {
    weir_event *event;
    assert_int_equal(gate_submit(context, &gates[i], NULL, 0, &event), WEIR_OK);
    if (i < 2) assert_int_equal(weir_event_on_done(event, take_slot, context), WEIR_OK);
    weir_event_release(event);
  }
  for (int i = 3; i < SMALL_WINDOW; i++) assert_int_equal(weir_submit(context, &nothing, NULL), WEIR_OK);
  pthread_t thread;
  assert_int_equal(pthread_create(&thread, NULL, submit_one, &one), 0);
  for (int i = 0; i < 2; i++) {
    usleep(3000);
    gate_open(&gates[i]);
    gate_await(&gates[i + 1], 1);
  }
  // A newcomer that was late has lost one slot only, and waits for the next.
  for (int i = 0; i < 1000 && !is_claimed(context) && !atomic_load(&one.is_in); i++) usleep(100);
  bool lost_twice = is_claimed(context);
  gate_open(&gates[2]);
  weir_event *later;
  assert_int_equal(weir_submit(context, &nothing, &later), WEIR_OK);
  assert_int_equal(pthread_join(thread, NULL), 0);
  if (lost_twice) assert_true(one.event->task < later->task);
  assert_false(is_claimed(context));
  weir_event_release(one.event);
  weir_event_release(later);
  assert_int_equal(weir_finish(context), WEIR_OK);
  return lost_twice;
}

static void a_submission_that_waited_for_long_is_next(void **state) {
  (void)state;
  const weir_context_options options = {.devices = "cpu:1", .window = SMALL_WINDOW};
  weir_context *context;
  assert_int_equal(weir_context_create(&options, &context), WEIR_OK);
  int seen = 0;
  for (int round = 0; round < ROUNDS && seen < 3; round++) seen += newcomer_is_next(context);
  assert_int_equal(seen, 3);
  weir_context_release(context);
}

// Slots that a split has set aside are its own, whoever claims the next one.
static void a_claim_leaves_reserved_slots(void **state) {
  (void)state;
  enum { FREE = 2 };
  weir__window window = {
      .size = SMALL_WINDOW, .live = {.oldest = 1}, .next = 1 + SMALL_WINDOW - FREE, .reserved = FREE};
  for (int i = 0; i < 2; i++) {
    window.claimed = i == 1;
    assert_int_equal(weir__window_room(&window, FREE), FREE);
    assert_int_equal(weir__window_room(&window, 0), 0);
    assert_int_equal(weir__window_room(&window, WEIR__CLAIMED_SLOT), 0);
  }
  window.next--;
  assert_int_equal(weir__window_room(&window, 0), 0);
  assert_int_equal(weir__window_room(&window, WEIR__CLAIMED_SLOT), 1);
  window.closed = true; // by a launch whose parts must be side by side
  assert_int_equal(weir__window_room(&window, WEIR__CLAIMED_SLOT), 0);
  assert_int_equal(weir__window_room(&window, FREE), FREE + 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(who_waited_for_long_is_next),
      cmocka_unit_test(the_lock_is_exclusive),
      cmocka_unit_test(a_submission_that_waited_for_long_is_next),
      cmocka_unit_test(a_claim_leaves_reserved_slots),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
