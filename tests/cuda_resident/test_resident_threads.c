// SPDX-License-Identifier: Apache-2.0
//
// The device's thread leaves tasks in its inbox for a while, and puts off reports, while tasks come in: what is handed over is run
// and reported all the same, whether somebody waits or not. And tasks that read a buffer twice and overwrite another one.
#include <pthread.h>
#include <sched.h>
#include <string.h>

#include "part.h"
#include "random.h"
#include "rig.h"

enum { SEEDS = 8, TASKS = 300, SUMS = 400, THREADS = 4 };

// What a thread does after some of its submissions.
typedef enum habit { SUBMITS, WAITS, ASKS, FINISHES } habit;

typedef struct submitter {
  rig *r;
  uint64_t seed;
  uint32_t first; // of two buffers, which no other thread uses
  habit habit;
  const char *trouble; // NULL: none
} submitter;

static bool await(submitter *self, weir_event *event) {
  if (self->habit == WAITS) return weir_event_wait(event, WEIR_FOREVER) == WEIR_OK;
  weir_status status;
  while ((status = weir_event_poll(event)) == WEIR_PENDING) sched_yield();
  return status == WEIR_OK;
}

static void *submit_all(void *argument) {
  submitter *self = argument;
  random_state random = {self->seed};
  for (uint32_t i = 0; i < TASKS && self->trouble == NULL; i++) {
    uint32_t to = self->first + random_below(&random, 2), from = 2 * self->first + 1 - to;
    bool ends = random_chance(&random, 30);
    weir_event *event = NULL;
    bool has_event = ends && (self->habit == WAITS || self->habit == ASKS);
    if (rig_submit_after(self->r, RIG_MIX, to, from, i, NULL, 0, has_event ? &event : NULL) != WEIR_OK) {
      self->trouble = "a task was refused";
      break;
    }
    if (has_event && !await(self, event)) self->trouble = "a task failed";
    weir_event_release(event);
    if (ends && self->habit == FINISHES && weir_finish(self->r->context) != WEIR_OK)
      self->trouble = "weir_finish failed";
    if (random_chance(&random, 2)) sched_yield();
  }
  return NULL;
}

static void tasks_of_some_threads(void **state) {
  (void)state;
  test_part some = part_of(SEEDS);
  for (uint64_t seed = 1 + some.first; seed <= some.end; seed++) {
    rig r;
    rig_begin(&r, seed, &(weir_context_options){.seed = seed % 2 == 0 ? 0 : seed});
    submitter all[THREADS];
    pthread_t threads[THREADS];
    for (uint32_t i = 0; i < THREADS; i++) {
      all[i] = (submitter){.r = &r, .seed = seed * THREADS + i, .first = 2 * i, .habit = (habit)i};
      assert_int_equal(pthread_create(&threads[i], NULL, submit_all, &all[i]), 0);
    }
    for (uint32_t i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    for (uint32_t i = 0; i < THREADS; i++) {
      if (all[i].trouble != NULL) fail_msg("seed %llu: %s", (unsigned long long)seed, all[i].trouble);
    }
    rig_end(&r);
  }
}

static void sum_words(uint32_t *to, const uint32_t *first, const uint32_t *second, uint32_t value, uint32_t at,
                      uint32_t end) {
  for (uint32_t i = at; i < end; i++) to[i] = first[i] + 5 * second[i] + value;
}

static void sum_group(const stub_launch *launch, uint64_t group) {
  uint64_t addresses[3];
  uint32_t value;
  for (int i = 0; i < 3; i++) memcpy(&addresses[i], launch->params[i], sizeof addresses[i]);
  memcpy(&value, launch->params[3], sizeof value);
  const uint64_t bytes = RIG_WORDS * sizeof(uint32_t);
  uint32_t *to = stub_memory(launch, addresses[0], bytes);
  const uint32_t *first = stub_memory(launch, addresses[1], bytes), *second = stub_memory(launch, addresses[2], bytes);
  if (to != NULL && first != NULL && second != NULL && group < RIG_GROUPS)
    sum_words(to, first, second, value, (uint32_t)group * RIG_GROUP_WORDS, ((uint32_t)group + 1) * RIG_GROUP_WORDS);
}

static void sum_launch(const stub_launch *launch) {
  for (uint32_t i = 0; i < launch->grid[0]; i++) sum_group(launch, i);
}

static void buffers_that_are_read_twice(void **state) {
  (void)state;
  test_part some = part_of(SEEDS);
  for (uint64_t seed = 1 + some.first; seed <= some.end; seed++) {
    rig r;
    rig_begin(&r, seed, &(weir_context_options){.seed = seed % 2 == 0 ? 0 : seed});
    weir_kernel *kernel = rig_make_kernel(&r, "sum", "STUB\nsum 64 8 8 8 4\n", true);
    random_state random = {seed};
    for (uint32_t i = 0; i < SUMS; i++) {
      uint32_t to = random_below(&random, RIG_BUFFERS), from[2];
      for (int j = 0; j < 2; j++) from[j] = (to + 1 + random_below(&random, RIG_BUFFERS - 1)) % RIG_BUFFERS;
      if (random_chance(&random, 50)) from[1] = from[0];
      const weir_arg args[] = {weir_writes(r.buffers[to]), weir_reads(r.buffers[from[0]]),
                               weir_reads(r.buffers[from[1]]), weir_value(&i, sizeof i)};
      const weir_task task = {
          .kernel = kernel, .args = args, .arg_count = 4, .groups = {RIG_GROUPS, 1, 1}, .device = r.device};
      if (weir_submit(r.context, &task, NULL) != WEIR_OK) fail_msg("%s", weir_last_error());
      sum_words(r.expected[to], r.expected[from[0]], r.expected[from[1]], i, 0, RIG_WORDS);
    }
    assert_int_equal(rig_resident_tasks(&r), SUMS);
    weir_kernel_release(kernel);
    rig_end(&r);
  }
}

int main(void) {
  rig_use_stub();
  stub_register("sum", sum_launch);
  stub_register_groups("sum", sum_group);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(tasks_of_some_threads),
      cmocka_unit_test(buffers_that_are_read_twice),
  };
  return cmocka_run_group_tests_name("resident issue: threads", tests, NULL, NULL);
}
