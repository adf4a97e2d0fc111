// SPDX-License-Identifier: Apache-2.0
//
// Workers that sleep are woken: bursts of tasks after pauses of all lengths, from outside and from tasks that end.
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "device/cpu/ready.h"
#include "meeting.h"
#include "random.h"

static void count_up(const weir_work *work) {
  atomic_fetch_add((atomic_uint *)work->user, 1);
}

static void rest_a_little(const weir_work *work) {
  usleep(20);
  count_up(work);
}

// From nothing to longer than a worker's own naps.
static void pause_at_random(random_state *random) {
  uint32_t dice = random_below(random, 100);
  if (dice < 30) return;
  if (dice < 60) {
    for (volatile uint32_t i = random_below(random, 20000); i > 0; i--) continue;
  } else if (dice < 98) {
    usleep(random_below(random, 200));
  } else {
    usleep(1000 + random_below(random, 2000));
  }
}

static void check_bursts(uint32_t workers, uint64_t seed, int bursts) {
  random_state random = {seed};
  weir_context *context = open_cpu(workers);
  weir_kernel *kernel;
  assert_int_equal(weir_kernel_create(context, "count", &kernel), WEIR_OK);
  assert_int_equal(weir_kernel_set_cpu(kernel, count_up), WEIR_OK);
  weir_buffer *buffers[4];
  for (int i = 0; i < 4; i++) assert_int_equal(weir_buffer_create(context, 64, &buffers[i]), WEIR_OK);
  atomic_uint count = 0;
  unsigned submitted = 0;
  for (int burst = 0; burst < bursts; burst++) {
    pause_at_random(&random);
    uint32_t tasks = random_between(&random, 1, random_chance(&random, 10) ? 40 : 4);
    for (uint32_t i = 0; i < tasks; i++) {
      weir_arg arg = weir_updates(buffers[random_below(&random, 4)]); // some become ready by others
      weir_task task = {.user = &count, .args = &arg, .arg_count = random_below(&random, 2)};
      task.priority = random_chance(&random, 20) ? (int32_t)random_between(&random, 0, 7) - 4 : 0;
      if (random_chance(&random, 50))
        task.kernel = kernel;
      else
        task.host = random_chance(&random, 80) ? count_up : rest_a_little;
      assert_int_equal(weir_submit(context, &task, NULL), WEIR_OK);
      submitted++;
    }
    if (random_chance(&random, 80)) {
      finish_all(context);
      assert_int_equal(atomic_load(&count), submitted);
    }
  }
  finish_all(context);
  assert_int_equal(atomic_load(&count), submitted);
  weir_context_release(context);
}

static void one_worker(void **state) {
  (void)state;
  check_bursts(1, 1, 3000);
}

static void two_workers(void **state) {
  (void)state;
  check_bursts(2, 2, 3000);
}

static void more_workers_than_cores(void **state) {
  (void)state;
  check_bursts(13, 3, 2000);
  check_bursts(64, 4, 200);
}

// The answer to each task is the next one: every wake-up counts.
static void ping_pong(void **state) {
  (void)state;
  for (uint32_t workers = 1; workers <= 3; workers++) {
    weir_context *context = open_cpu(workers);
    atomic_uint count = 0;
    for (unsigned i = 0; i < 2000; i++) {
      weir_event *event;
      weir_task task = {.host = count_up, .user = &count};
      assert_int_equal(weir_submit(context, &task, &event), WEIR_OK);
      assert_int_equal(weir_event_wait(event, UINT64_C(60000000000)), WEIR_OK);
      assert_int_equal(atomic_load(&count), i + 1);
      weir_event_release(event);
    }
    weir_context_release(context);
  }
}

typedef struct relay {
  weir_context *context;
  atomic_uint left;
} relay;

static void pass_on(void *user, weir_status status);

static void submit_relay(relay *self) {
  weir_event *event;
  static atomic_uint ignored;
  weir_task task = {.host = count_up, .user = &ignored};
  if (weir_submit(self->context, &task, &event) != WEIR_OK) return;
  weir_event_on_done(event, pass_on, self);
  weir_event_release(event);
}

static void pass_on(void *user, weir_status status) {
  relay *self = user;
  if (status == WEIR_OK && atomic_fetch_sub(&self->left, 1) > 1) submit_relay(self);
}

// Callbacks that submit: work that appears while the last worker is about to sleep.
static void tasks_submitted_by_callbacks(void **state) {
  (void)state;
  for (uint32_t workers = 1; workers <= 3; workers++) {
    relay self = {.context = open_cpu(workers)};
    atomic_init(&self.left, 5000);
    submit_relay(&self);
    for (int i = 0; atomic_load(&self.left) > 0; i++) {
      assert_true(i < 60000);
      usleep(1000);
    }
    weir_context_release(self.context);
  }
}

static void sleeping_workers_stop(void **state) {
  (void)state;
  for (int round = 0; round < 30; round++) {
    weir_context *context = open_cpu((uint32_t)(1 + round % 5));
    if (round % 3 == 0) finish_all(context);
    usleep((unsigned)(round % 7) * 500);
    weir_context_release(context);
  }
}

// The program's thread stays on one core, which may be that of the first worker.
static void on_core(uint32_t core, const cpu_set_t *allowed) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(core, &one);
  assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
  void *state = NULL;
  ping_pong(&state);
  check_bursts(1, 5, 500);
  check_bursts(2, 6, 500);
  assert_int_equal(sched_setaffinity(0, sizeof *allowed, allowed), 0);
}

static void a_thread_and_workers_that_share_a_core(void **state) {
  (void)state;
  cpu_set_t allowed;
  assert_int_equal(sched_getaffinity(0, sizeof allowed, &allowed), 0);
  for (uint32_t core = 0, left = 2; core < CPU_SETSIZE && left > 0; core++) {
    if (!CPU_ISSET(core, &allowed)) continue;
    on_core(core, &allowed);
    left--;
  }
}

// It is told to sleep on for less long, and is not at hand: awake it took tiny tasks over from the worker that had them.
static void watchers_are_appointed_asleep(void **state) {
  (void)state;
  static weir__host host;
  weir__worker workers[2] = {{.word = 0}, {.word = 1}};
  weir__cpu cpu = {.base.host = &host, .worker_count = 2, .workers = workers};
  cpu.sleepers = &workers[1];
  cpu.sleeper_count = 1;
  weir__cpu_appoint_watcher(&cpu);
  assert_ptr_equal(cpu.watcher, &workers[1]);
  assert_ptr_equal(cpu.sleepers, &workers[1]);
  assert_int_equal(cpu.sleeper_count, 1);
  assert_int_equal(weir__cpu_at_hand(&cpu), 1);
  assert_true(workers[1].watches);
  assert_int_equal(workers[1].word, 2);
  assert_int_equal(host.notices.wake_count, 1);
  assert_ptr_equal(host.notices.wakes[0], &workers[1].word);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(watchers_are_appointed_asleep),
      cmocka_unit_test(one_worker),
      cmocka_unit_test(two_workers),
      cmocka_unit_test(more_workers_than_cores),
      cmocka_unit_test(ping_pong),
      cmocka_unit_test(a_thread_and_workers_that_share_a_core),
      cmocka_unit_test(tasks_submitted_by_callbacks),
      cmocka_unit_test(sleeping_workers_stop),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
