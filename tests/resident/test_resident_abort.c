// SPDX-License-Identifier: Apache-2.0
//
// A host that wants to abort: the scheduler sees it wherever it is, and the launch ends with all that it has, also with a task that
// never ends. A card of the rig's that faults ends its threads; if one of them goes on, or the scheduler does not look, the test hangs.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "counting.h"
#include "part.h"
#include "random.h"

static const uint64_t LONG_NS = UINT64_C(3600000000000);
static uint64_t base_seed = 20261122;

// ---------------------------------------------------------------------------------------------------------------
// Tasks.

typedef struct endless_task {
  const test_rig *rig;
  bool begun; // atomic
} endless_task;

// Ends when the card has faulted, as no thread of a card would notice; the thread does at its next point.
static void run_endless(const weir__r_group *group) {
  endless_task *task = (endless_task *)(uintptr_t)group->args[0];
  __atomic_store_n(&task->begun, true, __ATOMIC_RELEASE);
  while (!rig_has_faulted(task->rig)) sched_yield();
}

// Publishes one more task; `endless` NULL: it runs nothing. `behind`: the number of the one that it comes after; 0: of none.
static bool publish(test_rig *rig, endless_task *endless, uint32_t behind) {
  weir__r_task *slot = rig_next_slot(rig);
  if (slot == NULL) return false;
  *slot = (weir__r_task){.function = endless != NULL ? (uint64_t)(uintptr_t)run_endless : 0,
                         .number = rig->published + 1,
                         .units = 1,
                         .edge_count = behind != 0,
                         .edges = {behind},
                         .args = {(uint64_t)(uintptr_t)endless}};
  rig_wrote(rig);
  rig_publish(rig);
  return true;
}

// A launch that finds no worker soon leaves.
static void let_run(test_rig *rig) {
  if (!rig_is_resident(rig)) rig_launch(rig);
  sched_yield();
}

static void publish_endless(test_rig *rig, endless_task *endless) {
  *endless = (endless_task){.rig = rig};
  assert_true(publish(rig, endless, 0));
  while (!__atomic_load_n(&endless->begun, __ATOMIC_ACQUIRE)) let_run(rig);
}

static void make(test_rig *rig, uint32_t workers, uint64_t idle_ns, uint64_t most_ns) {
  rig_create(rig, &(rig_options){.workers = workers, .idle_ns = idle_ns, .most_ns = most_ns, .seed = base_seed});
}

// Aborts, and then nothing more was reported than was before.
static void abort_and_destroy(test_rig *rig) {
  uint32_t number;
  rig_abort(rig);
  RIG_CHECK(rig, !rig_reported(rig, &number), number);
  rig_destroy(rig);
}

// ---------------------------------------------------------------------------------------------------------------
// Where the scheduler is.

static void test_idle(void **state) {
  (void)state;
  test_rig rig;
  unit_counter counter = {0};
  make(&rig, 2, LONG_NS, LONG_NS);
  counting_run(&rig, &counter, 5, 2);
  assert_true(rig_is_resident(&rig));
  abort_and_destroy(&rig);
}

// The next launch sees it, whatever it would do else: it was told to stop, too, or its time is over when it begins.
static void test_no_launch_on_the_card(void **state) {
  (void)state;
  for (int i = 0; i < 3; i++) {
    test_rig rig;
    unit_counter counter = {0};
    make(&rig, 2, i == 0 ? LONG_NS : 0, i == 0 ? LONG_NS : 0);
    if (i == 2) {
      counting_run(&rig, &counter, 5, 2);
      rig_stop(&rig);
      weir__r_host_store_release(&rig.host->stop, rig.epoch + 1);
      assert_true(publish(&rig, NULL, 0));
    }
    abort_and_destroy(&rig);
  }
}

// As much as fits is held behind a task that never ends. With room for more, and without; when the launch's time is over, and before.
static void test_tasks_are_held(void **state) {
  (void)state;
  for (int i = 0; i < 8; i++) {
    test_rig rig;
    endless_task endless;
    make(&rig, i & 1 ? 1 : 3, LONG_NS, i & 2 ? 0 : LONG_NS);
    publish_endless(&rig, &endless);
    uint32_t held = 0, first = rig.published;
    while (held < (i & 4 ? 1 : WEIR__R_SLOTS) && publish(&rig, NULL, first)) held++;
    assert_true(i & 4 || held == WEIR__R_SLOTS - 1);
    usleep(20000); // so that it has taken in what it can
    abort_and_destroy(&rig);
  }
}

// A task that never ends has a segment without which those that are next cannot be written.
#if WEIR__R_SEGMENTS == WEIR__R_SLOTS
enum { GROUP = RESIDENT_LANES * WEIR__R_LOOKS }; // segments that are verified at once

static void await_reports(test_rig *rig, uint32_t count) {
  uint32_t number;
  while (rig->reported < count) {
    if (!rig_reported(rig, &number)) let_run(rig);
  }
}

static void test_segments_are_awaited(void **state) {
  (void)state;
  test_rig rig;
  endless_task endless;
  make(&rig, 3, LONG_NS, LONG_NS);
  for (uint32_t i = 1; i < GROUP; i++) {
    assert_true(publish(&rig, NULL, 0));
    await_reports(&rig, i);
  }
  publish_endless(&rig, &endless);
  for (uint32_t i = GROUP; i < WEIR__R_SEGMENTS; i++) {
    assert_true(publish(&rig, NULL, 0));
    await_reports(&rig, i);
  }
  uint32_t more = 0;
  while (publish(&rig, NULL, 0)) more++;
  assert_int_equal(more, GROUP - 1);
  usleep(20000);
  abort_and_destroy(&rig);
}
#endif

static void test_no_worker(void **state) {
  (void)state;
  for (int i = 0; i < 2; i++) {
    test_rig rig;
    rig_create(&rig,
               &(rig_options){.workers = 2, .idle_ns = LONG_NS, .most_ns = LONG_NS, .late = 2, .seed = base_seed});
    assert_true(publish(&rig, NULL, 0));
    if (i == 0) rig_launch(&rig);
    abort_and_destroy(&rig);
  }
}

// ---------------------------------------------------------------------------------------------------------------
// At any time.

typedef struct abort_thread {
  test_rig *rig;
  uint64_t seed;
} abort_thread;

static void *abort_some_time(void *argument) {
  const abort_thread *self = argument;
  random_state random = {self->seed};
  if (random_chance(&random, 80)) usleep(random_below(&random, 3000));
  for (uint32_t times = random_between(&random, 1, 2); times > 0; times--)
    weir__r_host_store_release(&self->rig->host->abort, 1);
  return NULL;
}

// The host goes on publishing and launching meanwhile. With a task that never ends among the others, or without.
static void run_until_fault(test_rig *rig, pthread_t aborter, random_state *random) {
  unit_counter counter = {0};
  endless_task endless = {.rig = rig};
  uint32_t number, ends = random_chance(random, 50) ? 0 : random_between(random, 1, 200);
  while (!rig_has_faulted(rig)) {
    bool moved = false;
    uint32_t before = rig->published - rig->options.base;
    if (before + 1 == ends)
      moved = publish(rig, &endless, 0);
    else if (random_chance(random, 50))
      moved = counting_publish(rig, &counter, random_between(random, 1, 5), before > 0);
    if (moved) rig_publish(rig);
    if (!rig_is_resident(rig)) rig_launch(rig);
    while (rig_reported(rig, &number)) moved = true;
    if (!moved) sched_yield();
  }
  pthread_join(aborter, NULL);
  rig_destroy(rig); // its threads may still use what is on this function's stack
}

static void test_any_time(void **state) {
  (void)state;
  static const uint64_t idle[] = {0, 1000, 200000}, most[] = {0, 1, 20000, 50000000};
  uint32_t count = part_count(RESIDENT_SCALE);
  for (uint32_t i = 0; i < count; i++) {
    random_state random = {base_seed + i};
    test_rig rig;
    pthread_t thread;
    abort_thread aborter = {.rig = &rig, .seed = random_next(&random)};
    rig_create(&rig, &(rig_options){.workers = random_between(&random, 1, 5),
                                    .idle_ns = idle[random_below(&random, 3)],
                                    .most_ns = most[random_below(&random, 4)],
                                    .base = random_chance(&random, 50) ? 0u - random_between(&random, 1, 60) : 0,
                                    .yields_of_1000 = random_below(&random, 300),
                                    .seed = base_seed + i});
    pthread_create(&thread, NULL, abort_some_time, &aborter);
    run_until_fault(&rig, thread, &random);
  }
}

int main(void) {
  const char *text = getenv("WEIR_TEST_SEED");
  if (text != NULL) base_seed = strtoull(text, NULL, 10);
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_idle),
    cmocka_unit_test(test_no_launch_on_the_card),
    cmocka_unit_test(test_tasks_are_held),
#if WEIR__R_SEGMENTS == WEIR__R_SLOTS
    cmocka_unit_test(test_segments_are_awaited),
#endif
    cmocka_unit_test(test_no_worker),
    cmocka_unit_test(test_any_time),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
