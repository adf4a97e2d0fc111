// SPDX-License-Identifier: Apache-2.0
//
// Sequences of tasks that come again (WEIR_CONTEXT_REPEATS): they break off at every position, and nothing is lost, done twice,
// or done in another order.
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "engine/context.h"
#include "rig.h"

enum { SPARE = 3 };

static const char *const devices[] = {"cpu:1", "cpu:3", "sim:ideal"};
enum { DEVICES = sizeof devices / sizeof devices[0] };

// Ways in which a pass goes on other than before.
typedef enum way { OTHER_VALUES, OTHER_TASK, FINISH, EVENT, COPY, SHORTER, OTHER_BUFFER, WAYS } way;

static void break_off(rig *self, way chosen, uint32_t position) {
  const step other = {.to = 1, .a = 2, .b = 3, .value = 77};
  weir_event *event = NULL;
  rig_pass(self, 0, position, 9);
  switch (chosen) {
  case OTHER_TASK:
    rig_submit(self, &other, NULL);
    break;
  case FINISH:
    assert_int_equal(weir_finish(self->context), WEIR_OK);
    break;
  case EVENT:
    rig_submit(self, &other, &event);
    assert_int_equal(weir_event_wait(event, WEIR_FOREVER), WEIR_OK);
    weir_event_release(event);
    break;
  case COPY:
  case SHORTER:
    rig_expect(self);
    break;
  case OTHER_BUFFER:
    if (position == TASKS) break;
    assert_int_equal(weir_buffer_release(self->buffers[self->steps[position].a]), WEIR_OK);
    rig_new_buffer(self, self->steps[position].a);
    break;
  default:
    break;
  }
  if (chosen != SHORTER) rig_pass(self, position, TASKS, 9);
  rig_expect(self);
}

static void passes_break_off_at_every_position(void **state) {
  (void)state;
  for (uint32_t device = 0; device < DEVICES; device++) {
    for (way chosen = OTHER_VALUES; chosen < WAYS; chosen++) {
      rig self;
      rig_open(&self, devices[device]);
      for (uint32_t position = 0; position <= TASKS; position++) {
        if (position % 10 == 0) rig_learn(&self);
        break_off(&self, chosen, position);
      }
      rig_close(&self);
    }
  }
}

// No call waits, so that passes follow each other without an end. On a device with queues of its own they are submitted one by one.
static void loops_come_again(void **state) {
  (void)state;
  for (int device = 0; device < 2; device++) {
    rig self;
    rig_open(&self, devices[device]);
    for (uint32_t i = 0; i < 200 || (i < 10000 && rig_statistics(&self).repeated == 0); i++)
      rig_pass(&self, 0, i % 50 == 49 ? TASKS / 2 : TASKS, i);
    rig_expect(&self);
    assert_true(rig_statistics(&self).repeated > 0);
    rig_close(&self);
  }
}

// Each pass has other buffers, which are released before it runs.
static void buffers_are_new_in_each_pass(void **state) {
  (void)state;
  for (uint32_t device = 0; device < DEVICES; device++) {
    rig self;
    rig_open(&self, devices[device]);
    for (uint32_t i = 0; i < 20 || rig_statistics(&self).repeated == 0; i++) {
      assert_true(i < 10000);
      weir_buffer *kept[BUFFERS];
      memcpy(kept, self.buffers, sizeof kept);
      for (uint32_t j = 0; j < BUFFERS; j++) rig_new_buffer(&self, j);
      rig_pass(&self, 0, TASKS, i);
      for (uint32_t j = 0; j < BUFFERS; j++) assert_int_equal(weir_buffer_release(kept[j]), WEIR_OK);
      rig_expect(&self);
    }
    assert_true(rig_statistics(&self).repeated > 0);
    rig_close(&self);
  }
}

static void released_buffers_are_refused(void **state) {
  (void)state;
  rig self;
  rig_open(&self, "sim:ideal"); // no thread of its own makes what is wrong here a race, too
  rig_learn(&self);
  rig_pass(&self, 0, 5, 0);
  weir_buffer *buffer = self.buffers[self.steps[4].to];
  assert_int_equal(weir_buffer_release(buffer), WEIR_OK);
  assert_int_equal(weir_buffer_release(buffer), WEIR_ERROR_RELEASED);
  const weir_arg args[] = {weir_updates(buffer), weir_reads(self.buffers[0]), weir_reads(self.buffers[0]),
                           weir_value(&self.steps[0].value, 4)};
  const weir_task task = {.kernel = self.mix, .args = args, .arg_count = 4};
  assert_int_equal(weir_submit(self.context, &task, NULL), WEIR_ERROR_RELEASED);
  assert_int_equal(weir_finish(self.context), WEIR_OK);
  rig_close(&self);
}

static _Atomic uint32_t seen;

static void note(const weir_work *work) {
  uint32_t value;
  memcpy(&value, work->args[1], sizeof value);
  atomic_store(&seen, value);
}

// A program that looks at memory, and calls nothing, sees its tasks run, though they are the beginning of a run that came before.
static void tasks_run_without_another_call(void **state) {
  (void)state;
  for (int device = 0; device < 2; device++) {
    rig self;
    rig_open(&self, devices[device]);
    weir_kernel *noting = rig_kernel(self.context, "note", note);
    uint32_t value = 0;
    for (uint32_t i = 0; i < 12; i++) {
      uint32_t end = i < 6 ? TASKS : 10;
      for (uint32_t j = 0; j < end; j++) {
        value++;
        const weir_arg args[] = {weir_updates(self.buffers[0]), weir_value(&value, sizeof value)};
        const weir_task task = {.kernel = noting, .args = args, .arg_count = 2};
        assert_int_equal(weir_submit(self.context, &task, NULL), WEIR_OK);
      }
      for (uint32_t waits = 0; atomic_load(&seen) != value; waits++) {
        assert_true(waits < 60000);
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
      }
      if (end == TASKS) assert_int_equal(weir_finish(self.context), WEIR_OK);
    }
    rig_close(&self);
  }
}

// What an idle thread saw of a run may be old news when it has got the lock: then the next run, which has just begun, stays.
static void idle_threads_break_off_what_they_saw(void **state) {
  (void)state;
  for (int device = 0; device < DEVICES; device++) {
    rig self;
    rig_open(&self, devices[device]);
    weir__host *host = &self.context->host;
    uint64_t told;
    do { // again where a thread that is idle was quicker
      rig_learn(&self);
      rig_pass(&self, 0, TASKS / 2, 3);
      weir__host_lock(host);
      told = atomic_load(&host->held);
      if (told == 0) weir__host_unlock(host);
      rig_pass(&self, TASKS / 2, told == 0 ? TASKS : TASKS / 2, 3);
    } while (told == 0);
    weir__host_settle(host, told - WEIR__HELD_RUN);
    assert_true(atomic_load(&host->held) == told);
    weir__host_settle(host, told);
    assert_true(atomic_load(&host->held) == 0);
    weir__host_unlock(host);
    rig_pass(&self, TASKS / 2, TASKS, 3);
    rig_expect(&self);
    rig_close(&self);
  }
}

// The event of the last task says how that ended, whatever happens to others.
static void failures_stay_where_they_are(void **state) {
  (void)state;
  for (uint32_t failing = 0; failing < 30; failing++) {
    rig self;
    rig_open(&self, "cpu:2");
    for (uint32_t i = 0; i < 5; i++) {
      weir_event *event = NULL;
      for (uint32_t j = 0; j < 30; j++) {
        uint32_t value = i == 4 && j == failing;
        const weir_arg args[] = {weir_updates(self.buffers[j % 2]), weir_value(&value, sizeof value)};
        const weir_task task = {.kernel = self.fail,
                                .args = args,
                                .arg_count = 2,
                                .tag = j % 7 == 0 ? 100 * i + j + 1 : 0,
                                .label = j % 5 == 0 ? "fifth" : NULL};
        assert_int_equal(weir_submit(self.context, &task, j == 29 ? &event : NULL), WEIR_OK);
      }
      weir_status wanted = i < 4 || failing % 2 == 0 ? WEIR_OK
                           : failing == 29           ? WEIR_ERROR_TASK_FAILED
                                                     : WEIR_ERROR_UPSTREAM_FAILED;
      assert_int_equal(weir_event_wait(event, WEIR_FOREVER), wanted);
      weir_event_release(event);
      assert_int_equal(weir_finish(self.context), i < 4 ? WEIR_OK : WEIR_ERROR_TASK_FAILED);
    }
    assert_non_null(strstr(weir_last_error(), "as told"));
    char tag[20];
    snprintf(tag, sizeof tag, "tag %u)", 400 + failing + 1);
    assert_true(failing % 7 != 0 || strstr(weir_last_error(), tag) != NULL);
    assert_int_equal(rig_statistics(&self).failed, 30 - failing - (29 - failing + 1) / 2);
    rig_close(&self);
  }
}

typedef struct speaker {
  rig *shared;
  rig own;
} speaker;

static void *speak(void *argument) {
  speaker *self = argument;
  self->own.context = self->shared->context;
  self->own.mix = self->shared->mix;
  memcpy(self->own.steps, self->shared->steps, sizeof self->own.steps);
  for (uint32_t i = 0; i < BUFFERS; i++) rig_new_buffer(&self->own, i);
  for (uint32_t i = 0; i < 60; i++) {
    rig_pass(&self->own, 0, TASKS, i);
    if (i % 4 == 3) assert_int_equal(weir_finish(self->own.context), WEIR_OK);
  }
  return NULL;
}

// Threads that submit the same passes at the same time.
static void threads_break_into_each_other(void **state) {
  (void)state;
  for (uint32_t device = 0; device < DEVICES; device++) {
    rig self;
    rig_open(&self, devices[device]);
    rig_learn(&self);
    speaker speakers[SPARE];
    pthread_t threads[SPARE];
    for (int i = 0; i < SPARE; i++) {
      speakers[i] = (speaker){.shared = &self};
      assert_int_equal(pthread_create(&threads[i], NULL, speak, &speakers[i]), 0);
    }
    for (int i = 0; i < SPARE; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < SPARE; i++) rig_expect(&speakers[i].own);
    rig_close(&self);
  }
}

// Passes of the program, each of which is waited for.
static void passes(rig *self, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    rig_pass(self, 0, TASKS, i);
    assert_int_equal(weir_finish(self->context), WEIR_OK);
  }
}

// Without the flag, too, short kernels on the CPU are followed, when they came three times.
static void short_kernels_are_followed_by_default(void **state) {
  (void)state;
  rig self;
  rig_open_with(&self, (weir_context_options){.devices = "cpu:2"});
  passes(&self, 3);
  assert_int_equal(rig_statistics(&self).repeated, 0);
  rig_learn(&self);
  rig_expect(&self);
  rig_close(&self);
}

// Beside other flags, with a way of issue, and by default on a device with queues of its own.
static void nothing_is_followed_elsewhere(void **state) {
  (void)state;
  static const weir_context_options options[] = {
      {.devices = "cpu:2", .flags = WEIR_CONTEXT_REPEATS | WEIR_CONTEXT_IN_ORDER},
      {.devices = "cpu:2", .flags = WEIR_CONTEXT_REPEATS | WEIR_CONTEXT_TRACE},
      {.devices = "cpu:2", .issue = WEIR_ISSUE_QUEUES},
      {.devices = "sim:ideal"},
  };
  for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
    rig self;
    rig_open_with(&self, options[i]);
    passes(&self, 12);
    rig_expect(&self);
    assert_int_equal(rig_statistics(&self).repeated, 0);
    rig_close(&self);
  }
}

static void lasts(const weir_work *work) {
  struct timespec start, now;
  clock_gettime(CLOCK_MONOTONIC, &start);
  do {
    clock_gettime(CLOCK_MONOTONIC, &now);
  } while ((now.tv_sec - start.tv_sec) * 1000000000 + now.tv_nsec - start.tv_nsec < 20000);
  rig_mix(work);
}

static void host_mix(const weir_work *work) {
  rig_mix(work);
}

// Nor are kernels that take long, and host tasks.
static void long_and_host_tasks_are_not_followed_by_default(void **state) {
  (void)state;
  rig self;
  rig_open_with(&self, (weir_context_options){.devices = "cpu:2"});
  self.mix = rig_kernel(self.context, "lasts", lasts);
  passes(&self, 12);
  rig_expect(&self);
  assert_int_equal(rig_statistics(&self).repeated, 0);
  for (uint32_t i = 0; i < 12 * TASKS; i++) {
    const step *asked = &self.steps[i % TASKS];
    const weir_arg args[] = {weir_updates(self.buffers[asked->to]), weir_reads(self.buffers[asked->a]),
                             weir_reads(self.buffers[asked->b]), weir_value(&asked->value, sizeof asked->value)};
    const weir_task task = {.host = host_mix, .user = (void *)(uintptr_t)asked->value, .args = args, .arg_count = 4};
    assert_int_equal(weir_submit(self.context, &task, NULL), WEIR_OK);
    if (i % TASKS == TASKS - 1) assert_int_equal(weir_finish(self.context), WEIR_OK);
  }
  assert_int_equal(rig_statistics(&self).repeated, 0);
  rig_close(&self);
}

// Passes until ten in a row were not followed, each after some that went on in another way.
static void break_off_until_given_up(rig *self) {
  const step other = {.to = 1, .a = 2, .b = 3, .value = 77};
  for (uint32_t i = 0, alone = 0; alone < 10; i++) {
    assert_true(i < 10000);
    for (uint32_t j = 0; j < 3; j++) {
      rig_pass(self, 0, TASKS / 2, j);
      rig_submit(self, &other, NULL);
      assert_int_equal(weir_finish(self->context), WEIR_OK);
    }
    uint64_t before = rig_statistics(self).repeated;
    passes(self, 1);
    alone = rig_statistics(self).repeated == before ? alone + 1 : 0;
  }
}

// By default a run that often goes on in another way is given up, and is followed again when it has come whole for long.
static void runs_that_break_off_are_given_up(void **state) {
  (void)state;
  rig self;
  rig_open_with(&self, (weir_context_options){.devices = "cpu:2"});
  rig_learn(&self);
  break_off_until_given_up(&self);
  rig_learn(&self);
  rig_expect(&self);
  rig_close(&self);
}

static uint64_t clock_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

// Passes of a program that does something else between two tasks.
static void slow_passes(rig *self, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    for (uint32_t j = 0; j < TASKS; j++) {
      uint64_t begun = clock_ns();
      while (clock_ns() < begun + 1000) continue;
      rig_submit(self, &self->steps[j], NULL);
    }
    assert_int_equal(weir_finish(self->context), WEIR_OK);
  }
}

// By default a run whose tasks come slowly is not held back for long: its device has nothing to do meanwhile.
static void runs_that_come_slowly_are_given_up_by_default(void **state) {
  (void)state;
  rig self;
  rig_open_with(&self, (weir_context_options){.devices = "cpu:2"});
  passes(&self, 3);
  rig_learn(&self);
  slow_passes(&self, 30);
  uint64_t repeated = rig_statistics(&self).repeated;
  slow_passes(&self, 30);
  assert_int_equal(rig_statistics(&self).repeated, repeated);
  rig_expect(&self);
  rig_close(&self);
}

// A task that is refused is refused each time.
static void refused_tasks_are_refused_each_time(void **state) {
  (void)state;
  enum { FAULTS = 4 };
  for (int fault = 0; fault < FAULTS; fault++) {
    rig self;
    rig_open_with(&self, (weir_context_options){.devices = "cpu:2", .flags = WEIR_CONTEXT_REPEATS});
    const uint32_t no = 0;
    weir_arg args[] = {weir_updates(self.buffers[0]), weir_reads(self.buffers[1]), weir_reads(self.buffers[2]),
                       weir_value(&no, sizeof no)};
    weir_task task = {.kernel = self.mix, .args = args, .arg_count = 4};
    if (fault == 0) args[1].bytes = 0;
    if (fault == 1) args[1].offset = 1000;
    if (fault == 2) args[1].buffer = self.buffers[0];
    if (fault == 3) task.groups[0] = task.groups[1] = task.groups[2] = UINT32_MAX;
    for (uint32_t i = 0; i < 8; i++) {
      rig_pass(&self, 0, TASKS / 2, i);
      assert_int_equal(weir_submit(self.context, &task, NULL),
                       fault == 1 ? WEIR_ERROR_OUT_OF_RANGE : WEIR_ERROR_INVALID_ARGUMENT);
      rig_pass(&self, TASKS / 2, TASKS, i);
      assert_int_equal(weir_finish(self.context), WEIR_OK);
    }
    rig_expect(&self);
    rig_close(&self);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(passes_break_off_at_every_position),
      cmocka_unit_test(loops_come_again),
      cmocka_unit_test(buffers_are_new_in_each_pass),
      cmocka_unit_test(released_buffers_are_refused),
      cmocka_unit_test(tasks_run_without_another_call),
      cmocka_unit_test(idle_threads_break_off_what_they_saw),
      cmocka_unit_test(failures_stay_where_they_are),
      cmocka_unit_test(threads_break_into_each_other),
      cmocka_unit_test(short_kernels_are_followed_by_default),
      cmocka_unit_test(nothing_is_followed_elsewhere),
      cmocka_unit_test(long_and_host_tasks_are_not_followed_by_default),
      cmocka_unit_test(runs_that_break_off_are_given_up),
      cmocka_unit_test(runs_that_come_slowly_are_given_up_by_default),
      cmocka_unit_test(refused_tasks_are_refused_each_time),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
