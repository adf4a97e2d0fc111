// SPDX-License-Identifier: Apache-2.0
//
// Sequences of tasks that come again (WEIR_CONTEXT_REPEATS): they break off at every position, and nothing is lost, done twice,
// or done in another order.
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "engine/context.h"
#include "weir/batch.h"
#include "weir/external.h"
#include "weir/graph.h"
#include "weir/group.h"
#include "weir/sim.h"
#include "weir/weir.h"

enum { TASKS = 40, BUFFERS = 7, WORDS = 4, SPARE = 3 };

// What each task does to words[to] from words[a], words[b] and a value, which is its user pointer and its tag, too.
typedef struct step {
  uint32_t to, a, b, value;
} step;

typedef struct program {
  weir_context *context;
  weir_kernel *mix, *fail;
  weir_buffer *buffers[BUFFERS];
  uint32_t wanted[BUFFERS][WORDS]; // by serial execution
  step steps[TASKS];
} program;

static uint32_t mixed(uint32_t to, uint32_t a, uint32_t b, uint32_t value) {
  return (to * 31 + a) * 31 + b * 7 + value;
}

static void mix(const weir_work *work) {
  uint32_t *to = work->args[0];
  const uint32_t *a = work->args[1], *b = work->args[2];
  uint32_t value;
  memcpy(&value, work->args[3], sizeof value);
  if ((uintptr_t)work->user != value) abort();
  for (int i = 0; i < WORDS; i++) to[i] = mixed(to[i], a[i], b[i], value);
}

static void fails(const weir_work *work) {
  uint32_t value;
  memcpy(&value, work->args[1], sizeof value);
  if (value == 1) weir_work_fail(work, "as told");
}

static weir_kernel *kernel(weir_context *context, const char *name, weir_function function) {
  weir_kernel *made;
  assert_int_equal(weir_kernel_create(context, name, &made), WEIR_OK);
  assert_int_equal(weir_kernel_set_cpu(made, function), WEIR_OK);
  const weir_sim_launch launch = {.name = name, .threads = 64, .us = 1};
  assert_int_equal(weir_kernel_set_sim(made, &launch, 1), WEIR_OK);
  return made;
}

static void new_buffer(program *self, uint32_t index) {
  assert_int_equal(weir_buffer_create(self->context, sizeof self->wanted[0], &self->buffers[index]), WEIR_OK);
  static uint32_t first[BUFFERS][WORDS]; // stays, since copies read it later
  for (int i = 0; i < WORDS; i++) self->wanted[index][i] = first[index][i];
  assert_int_equal(weir_copy_in(self->buffers[index], 0, WEIR_WHOLE, first[index], NULL), WEIR_OK);
}

static void open_with(program *self, weir_context_options options) {
  *self = (program){.context = NULL};
  assert_int_equal(weir_context_create(&options, &self->context), WEIR_OK);
  self->mix = kernel(self->context, "mix", mix);
  self->fail = kernel(self->context, "fail", fails);
  for (uint32_t i = 0; i < BUFFERS; i++) new_buffer(self, i);
  uint32_t random = 12345;
  for (uint32_t i = 0; i < TASKS; i++) {
    uint32_t numbers[4];
    for (int j = 0; j < 4; j++) numbers[j] = (random = random * 1664525 + 1013904223) >> 8;
    step *made = &self->steps[i];
    *made = (step){.to = numbers[0] % BUFFERS, .value = i};
    made->a = (made->to + 1 + numbers[1] % (BUFFERS - 1)) % BUFFERS;
    made->b = (made->to + 1 + numbers[2] % (BUFFERS - 1)) % BUFFERS;
  }
}

static void open(program *self, const char *devices) {
  open_with(self, (weir_context_options){.devices = devices, .flags = WEIR_CONTEXT_REPEATS});
}

static void submit(program *self, const step *asked, weir_event **out_event) {
  const weir_arg args[] = {weir_updates(self->buffers[asked->to]), weir_reads(self->buffers[asked->a]),
                           weir_reads(self->buffers[asked->b]), weir_value(&asked->value, sizeof asked->value)};
  const weir_task task = {
      .kernel = self->mix, .user = (void *)(uintptr_t)asked->value, .args = args, .arg_count = 4, .tag = asked->value};
  assert_int_equal(weir_submit(self->context, &task, out_event), WEIR_OK);
  for (int i = 0; i < WORDS; i++)
    self->wanted[asked->to][i] =
        mixed(self->wanted[asked->to][i], self->wanted[asked->a][i], self->wanted[asked->b][i], asked->value);
}

// The tasks [first, end) of a pass, with values of its own.
static void pass(program *self, uint32_t first, uint32_t end, uint32_t number) {
  for (uint32_t i = first; i < end; i++) {
    step now = self->steps[i];
    now.value += number * 1000;
    submit(self, &now, NULL);
  }
}

static void expect(program *self) {
  uint32_t words[BUFFERS][WORDS];
  for (uint32_t i = 0; i < BUFFERS; i++)
    assert_int_equal(weir_copy_out(self->buffers[i], 0, WEIR_WHOLE, words[i], NULL), WEIR_OK);
  assert_int_equal(weir_finish(self->context), WEIR_OK);
  assert_memory_equal(words, self->wanted, sizeof words);
}

static weir_statistics statistics(const program *self) {
  weir_statistics now;
  weir_context_statistics(self->context, &now);
  return now;
}

// Passes until one was launched as a whole. A thread that is kept from its core for long has it broken off.
static void learn(program *self) {
  uint64_t before = statistics(self).repeated;
  for (uint32_t i = 0; statistics(self).repeated < before + TASKS; i++) {
    assert_true(i < 100000);
    pass(self, 0, TASKS, i);
    assert_int_equal(weir_finish(self->context), WEIR_OK);
  }
}

static void close(program *self) {
  weir_statistics last = statistics(self);
  assert_int_equal(last.tasks, last.done);
  assert_int_equal(weir_context_release(self->context), WEIR_OK);
}

static const char *const devices[] = {"cpu:1", "cpu:3", "sim:ideal"};
enum { DEVICES = sizeof devices / sizeof devices[0] };

// Ways in which a pass goes on other than before.
typedef enum way { OTHER_VALUES, OTHER_TASK, FINISH, EVENT, COPY, SHORTER, OTHER_BUFFER, WAYS } way;

static void break_off(program *self, way chosen, uint32_t position) {
  const step other = {.to = 1, .a = 2, .b = 3, .value = 77};
  weir_event *event = NULL;
  pass(self, 0, position, 9);
  switch (chosen) {
  case OTHER_TASK:
    submit(self, &other, NULL);
    break;
  case FINISH:
    assert_int_equal(weir_finish(self->context), WEIR_OK);
    break;
  case EVENT:
    submit(self, &other, &event);
    assert_int_equal(weir_event_wait(event, WEIR_FOREVER), WEIR_OK);
    weir_event_release(event);
    break;
  case COPY:
  case SHORTER:
    expect(self);
    break;
  case OTHER_BUFFER:
    if (position == TASKS) break;
    assert_int_equal(weir_buffer_release(self->buffers[self->steps[position].a]), WEIR_OK);
    new_buffer(self, self->steps[position].a);
    break;
  default:
    break;
  }
  if (chosen != SHORTER) pass(self, position, TASKS, 9);
  expect(self);
}

static void passes_break_off_at_every_position(void **state) {
  (void)state;
  for (uint32_t device = 0; device < DEVICES; device++) {
    for (way chosen = OTHER_VALUES; chosen < WAYS; chosen++) {
      program self;
      open(&self, devices[device]);
      for (uint32_t position = 0; position <= TASKS; position++) {
        if (position % 10 == 0) learn(&self);
        break_off(&self, chosen, position);
      }
      close(&self);
    }
  }
}

// No call waits, so that passes follow each other without an end. On a device with queues of its own they are submitted one by one.
static void loops_come_again(void **state) {
  (void)state;
  for (int device = 0; device < 2; device++) {
    program self;
    open(&self, devices[device]);
    for (uint32_t i = 0; i < 200 || (i < 10000 && statistics(&self).repeated == 0); i++)
      pass(&self, 0, i % 50 == 49 ? TASKS / 2 : TASKS, i);
    expect(&self);
    assert_true(statistics(&self).repeated > 0);
    close(&self);
  }
}

// Each pass has other buffers, which are released before it runs.
static void buffers_are_new_in_each_pass(void **state) {
  (void)state;
  for (uint32_t device = 0; device < DEVICES; device++) {
    program self;
    open(&self, devices[device]);
    for (uint32_t i = 0; i < 20 || statistics(&self).repeated == 0; i++) {
      assert_true(i < 10000);
      weir_buffer *kept[BUFFERS];
      memcpy(kept, self.buffers, sizeof kept);
      for (uint32_t j = 0; j < BUFFERS; j++) new_buffer(&self, j);
      pass(&self, 0, TASKS, i);
      for (uint32_t j = 0; j < BUFFERS; j++) assert_int_equal(weir_buffer_release(kept[j]), WEIR_OK);
      expect(&self);
    }
    assert_true(statistics(&self).repeated > 0);
    close(&self);
  }
}

static void released_buffers_are_refused(void **state) {
  (void)state;
  program self;
  open(&self, "sim:ideal"); // no thread of its own makes what is wrong here a race, too
  learn(&self);
  pass(&self, 0, 5, 0);
  weir_buffer *buffer = self.buffers[self.steps[4].to];
  assert_int_equal(weir_buffer_release(buffer), WEIR_OK);
  assert_int_equal(weir_buffer_release(buffer), WEIR_ERROR_RELEASED);
  const weir_arg args[] = {weir_updates(buffer), weir_reads(self.buffers[0]), weir_reads(self.buffers[0]),
                           weir_value(&self.steps[0].value, 4)};
  const weir_task task = {.kernel = self.mix, .args = args, .arg_count = 4};
  assert_int_equal(weir_submit(self.context, &task, NULL), WEIR_ERROR_RELEASED);
  assert_int_equal(weir_finish(self.context), WEIR_OK);
  close(&self);
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
    program self;
    open(&self, devices[device]);
    weir_kernel *noting = kernel(self.context, "note", note);
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
    close(&self);
  }
}

// What an idle thread saw of a run may be old news when it has got the lock: then the next run, which has just begun, stays.
static void idle_threads_break_off_what_they_saw(void **state) {
  (void)state;
  for (int device = 0; device < DEVICES; device++) {
    program self;
    open(&self, devices[device]);
    weir__host *host = &self.context->host;
    uint64_t told;
    do { // again where a thread that is idle was quicker
      learn(&self);
      pass(&self, 0, TASKS / 2, 3);
      weir__host_lock(host);
      told = atomic_load(&host->held);
      if (told == 0) weir__host_unlock(host);
      pass(&self, TASKS / 2, told == 0 ? TASKS : TASKS / 2, 3);
    } while (told == 0);
    weir__host_settle(host, told - WEIR__HELD_RUN);
    assert_true(atomic_load(&host->held) == told);
    weir__host_settle(host, told);
    assert_true(atomic_load(&host->held) == 0);
    weir__host_unlock(host);
    pass(&self, TASKS / 2, TASKS, 3);
    expect(&self);
    close(&self);
  }
}

// The event of the last task says how that ended, whatever happens to others.
static void failures_stay_where_they_are(void **state) {
  (void)state;
  for (uint32_t failing = 0; failing < 30; failing++) {
    program self;
    open(&self, "cpu:2");
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
    assert_int_equal(statistics(&self).failed, 30 - failing - (29 - failing + 1) / 2);
    close(&self);
  }
}

typedef struct speaker {
  program *shared;
  program own;
} speaker;

static void *speak(void *argument) {
  speaker *self = argument;
  self->own.context = self->shared->context;
  self->own.mix = self->shared->mix;
  memcpy(self->own.steps, self->shared->steps, sizeof self->own.steps);
  for (uint32_t i = 0; i < BUFFERS; i++) new_buffer(&self->own, i);
  for (uint32_t i = 0; i < 60; i++) {
    pass(&self->own, 0, TASKS, i);
    if (i % 4 == 3) assert_int_equal(weir_finish(self->own.context), WEIR_OK);
  }
  return NULL;
}

// Threads that submit the same passes at the same time.
static void threads_break_into_each_other(void **state) {
  (void)state;
  for (uint32_t device = 0; device < DEVICES; device++) {
    program self;
    open(&self, devices[device]);
    learn(&self);
    speaker speakers[SPARE];
    pthread_t threads[SPARE];
    for (int i = 0; i < SPARE; i++) {
      speakers[i] = (speaker){.shared = &self};
      assert_int_equal(pthread_create(&threads[i], NULL, speak, &speakers[i]), 0);
    }
    for (int i = 0; i < SPARE; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < SPARE; i++) expect(&speakers[i].own);
    close(&self);
  }
}

static void nap(long ns) {
  nanosleep(&(struct timespec){.tv_nsec = ns}, NULL);
}

typedef struct gate {
  _Atomic bool open, begun;
  _Atomic uint32_t entered; // tasks that came to it
  program *shared;
} gate;

static void stands(const weir_work *work) {
  gate *self = work->user;
  atomic_fetch_add(&self->entered, 1);
  while (!atomic_load(&self->open)) nap(100000);
}

static uint64_t room(weir_context *context) {
  weir__context_lock_to_submit(context);
  uint64_t slots = weir__window_room(&context->host.window, 0);
  weir__context_unlock(context);
  return slots;
}

// Puts the trace cache to sleep while the other thread waits for room, and opens the gate. Where runs of a slow thread were broken off,
// their tasks fill the window, and this thread would wait for the gate, too: then it submits no more.
static void *bore(void *argument) {
  enum { NEW = 2500, MARGIN = 256 }; // more tasks than are looked at while nothing comes again
  gate *self = argument;
  weir_context *context = self->shared->context;
  weir_buffer *buffer;
  assert_int_equal(weir_buffer_create(context, NEW * sizeof(uint32_t), &buffer), WEIR_OK);
  while (!atomic_load(&self->begun)) nap(100000);
  nap(20000000);
  for (uint32_t i = 0; i < NEW && room(context) > MARGIN; i++) {
    const uint32_t no = 0;
    const weir_arg args[] = {weir_updates_range(buffer, i * sizeof no, sizeof no), weir_value(&no, sizeof no)};
    weir_event *event; // a run ends with each, so that none is begun
    assert_int_equal(
        weir_submit(context, &(weir_task){.kernel = self->shared->fail, .args = args, .arg_count = 2}, &event),
        WEIR_OK);
    weir_event_release(event);
  }
  atomic_store(&self->open, true);
  weir_buffer_release(buffer);
  return NULL;
}

// A run that waits for room is not begun if nothing is looked at any more: its first task would be held back, and overtaken.
static void the_cache_falls_asleep_while_a_run_waits_for_room(void **state) {
  (void)state;
  enum { WINDOW = 4096, PASSES = 3 }; // in a run: the window is full before too many launches are in flight
  program self;
  // By default runs whose tasks come slowly are given up, and then the window is full before the gate opens.
  open_with(&self, (weir_context_options){.devices = "cpu:2", .window = WINDOW, .flags = WEIR_CONTEXT_REPEATS});
  for (uint32_t i = 0; i < 8; i++) {
    for (uint32_t j = 0; j < PASSES; j++) pass(&self, 0, TASKS, i);
    assert_int_equal(weir_finish(self.context), WEIR_OK);
  }
  assert_true(statistics(&self).repeated > 0);
  gate before = {.shared = &self};
  pthread_t thread;
  assert_int_equal(pthread_create(&thread, NULL, bore, &before), 0);
  weir_kernel *stand = kernel(self.context, "stand", stands);
  weir_arg args[BUFFERS];
  for (uint32_t i = 0; i < BUFFERS; i++) args[i] = weir_updates(self.buffers[i]);
  const weir_task task = {.kernel = stand, .user = &before, .args = args, .arg_count = BUFFERS};
  assert_int_equal(weir_submit(self.context, &task, NULL), WEIR_OK);
  (void)statistics(&self); // a run may begin with the next task
  const uint32_t runs = WINDOW / (PASSES * TASKS) + 2;
  for (uint32_t i = 0; i < runs; i++) {
    if (i == runs - 2) atomic_store(&before.begun, true);
    for (uint32_t j = 0; j < PASSES; j++) pass(&self, 0, TASKS, i);
  }
  expect(&self);
  pthread_join(thread, NULL);
  close(&self);
}

// Passes of the program, each of which is waited for.
static void passes(program *self, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    pass(self, 0, TASKS, i);
    assert_int_equal(weir_finish(self->context), WEIR_OK);
  }
}

// Without the flag, too, short kernels on the CPU are followed, when they came three times.
static void short_kernels_are_followed_by_default(void **state) {
  (void)state;
  program self;
  open_with(&self, (weir_context_options){.devices = "cpu:2"});
  passes(&self, 3);
  assert_int_equal(statistics(&self).repeated, 0);
  learn(&self);
  expect(&self);
  close(&self);
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
    program self;
    open_with(&self, options[i]);
    passes(&self, 12);
    expect(&self);
    assert_int_equal(statistics(&self).repeated, 0);
    close(&self);
  }
}

static void lasts(const weir_work *work) {
  struct timespec start, now;
  clock_gettime(CLOCK_MONOTONIC, &start);
  do {
    clock_gettime(CLOCK_MONOTONIC, &now);
  } while ((now.tv_sec - start.tv_sec) * 1000000000 + now.tv_nsec - start.tv_nsec < 20000);
  mix(work);
}

static void host_mix(const weir_work *work) {
  mix(work);
}

// Nor are kernels that take long, and host tasks.
static void long_and_host_tasks_are_not_followed_by_default(void **state) {
  (void)state;
  program self;
  open_with(&self, (weir_context_options){.devices = "cpu:2"});
  self.mix = kernel(self.context, "lasts", lasts);
  passes(&self, 12);
  expect(&self);
  assert_int_equal(statistics(&self).repeated, 0);
  for (uint32_t i = 0; i < 12 * TASKS; i++) {
    const step *asked = &self.steps[i % TASKS];
    const weir_arg args[] = {weir_updates(self.buffers[asked->to]), weir_reads(self.buffers[asked->a]),
                             weir_reads(self.buffers[asked->b]), weir_value(&asked->value, sizeof asked->value)};
    const weir_task task = {.host = host_mix, .user = (void *)(uintptr_t)asked->value, .args = args, .arg_count = 4};
    assert_int_equal(weir_submit(self.context, &task, NULL), WEIR_OK);
    if (i % TASKS == TASKS - 1) assert_int_equal(weir_finish(self.context), WEIR_OK);
  }
  assert_int_equal(statistics(&self).repeated, 0);
  close(&self);
}

// Passes until ten in a row were not followed, each after some that went on in another way.
static void break_off_until_given_up(program *self) {
  const step other = {.to = 1, .a = 2, .b = 3, .value = 77};
  for (uint32_t i = 0, alone = 0; alone < 10; i++) {
    assert_true(i < 10000);
    for (uint32_t j = 0; j < 3; j++) {
      pass(self, 0, TASKS / 2, j);
      submit(self, &other, NULL);
      assert_int_equal(weir_finish(self->context), WEIR_OK);
    }
    uint64_t before = statistics(self).repeated;
    passes(self, 1);
    alone = statistics(self).repeated == before ? alone + 1 : 0;
  }
}

// By default a run that often goes on in another way is given up, and is followed again when it has come whole for long.
static void runs_that_break_off_are_given_up(void **state) {
  (void)state;
  program self;
  open_with(&self, (weir_context_options){.devices = "cpu:2"});
  learn(&self);
  break_off_until_given_up(&self);
  learn(&self);
  expect(&self);
  close(&self);
}

static uint64_t clock_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

// Passes of a program that does something else between two tasks.
static void slow_passes(program *self, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    for (uint32_t j = 0; j < TASKS; j++) {
      uint64_t begun = clock_ns();
      while (clock_ns() < begun + 1000) continue;
      submit(self, &self->steps[j], NULL);
    }
    assert_int_equal(weir_finish(self->context), WEIR_OK);
  }
}

// By default a run whose tasks come slowly is not held back for long: its device has nothing to do meanwhile.
static void runs_that_come_slowly_are_given_up_by_default(void **state) {
  (void)state;
  program self;
  open_with(&self, (weir_context_options){.devices = "cpu:2"});
  passes(&self, 3);
  learn(&self);
  slow_passes(&self, 30);
  uint64_t repeated = statistics(&self).repeated;
  slow_passes(&self, 30);
  assert_int_equal(statistics(&self).repeated, repeated);
  expect(&self);
  close(&self);
}

// Submits the beginning of a pass, and what does not come next: the beginning is submitted then, and waits for room.
static void *turn_away(void *argument) {
  program *self = argument;
  pass(self, 0, TASKS / 2, 7);
  submit(self, &self->steps[TASKS - 1], NULL);
  return NULL;
}

static uint64_t window_waits(const program *self) {
  weir__context_lock_to_submit(self->context); // not as weir_context_statistics, which is to be tested
  uint64_t waits = self->context->host.statistics.window_waits;
  weir__context_unlock(self->context);
  return waits;
}

// A task that waits for a host event, and others for it.
static void wait_outside(program *self, weir_event **out_host, weir_event **out_task) {
  open_with(self, (weir_context_options){.devices = "cpu:2", .window = 8, .flags = WEIR_CONTEXT_REPEATS});
  learn(self);
  assert_int_equal(weir_host_event_create(self->context, "outside", out_host), WEIR_OK);
  const uint32_t no = 0;
  const weir_arg args[] = {weir_updates(self->buffers[0]), weir_value(&no, sizeof no)};
  const weir_task task = {.kernel = self->fail, .args = args, .arg_count = 2, .after = out_host, .after_count = 1};
  assert_int_equal(weir_submit(self->context, &task, out_task), WEIR_OK);
}

// A window that is full of tasks which wait for a host event, and a thread that waits for room in it.
static void fill_window(program *self, weir_event **out_host, weir_event **out_task, pthread_t *out_thread) {
  wait_outside(self, out_host, out_task);
  uint64_t before = window_waits(self);
  assert_int_equal(pthread_create(out_thread, NULL, turn_away, self), 0);
  while (window_waits(self) == before) nap(100000);
}

// Submits the beginning of a pass, which is held back. Where an idle thread broke it off, this thread waits for room.
typedef struct beginning {
  program *shared;
  pthread_t thread;
  _Atomic bool done;
} beginning;

static void *begin_pass(void *argument) {
  beginning *self = argument;
  pass(self->shared, 0, TASKS / 2, 7);
  atomic_store(&self->done, true);
  return NULL;
}

static void hold_back(program *shared, beginning *self) {
  *self = (beginning){.shared = shared};
  uint64_t before = window_waits(shared);
  assert_int_equal(pthread_create(&self->thread, NULL, begin_pass, self), 0);
  while (!atomic_load(&self->done) && window_waits(shared) == before) nap(100000);
}

static void count_callback(void *user, weir_status status) {
  (void)status;
  ++*(int *)user;
}

// Calls that do not wait do not wait for a thread that submits what was held back: it may wait for them.
static void calls_that_do_not_wait_pass_a_thread_that_waits_for_room(void **state) {
  (void)state;
  program self;
  weir_event *host, *task;
  weir_group *group;
  weir_group_statistics counts;
  pthread_t thread;
  int called = 0;
  fill_window(&self, &host, &task, &thread);
  assert_true(statistics(&self).tasks > 0);
  assert_int_equal(weir_event_poll(task), WEIR_PENDING);
  assert_int_equal(weir_event_on_done(task, count_callback, &called), WEIR_OK);
  assert_int_equal(weir_group_create(self.context, &group), WEIR_OK);
  assert_int_equal(weir_group_cancel(group), WEIR_OK);
  assert_int_equal(weir_group_get_statistics(group, &counts), WEIR_OK);
  assert_int_equal(weir_group_release(group), WEIR_OK);
  assert_int_equal(weir_host_event_hold(host), WEIR_OK);
  weir_kernel *fresh = kernel(self.context, "fresh", fails);
  const weir_arg arg = weir_reads(self.buffers[0]);
  weir_prepared *prepared;
  assert_int_equal(weir_prepare(self.context, &(weir_task){.kernel = fresh, .args = &arg, .arg_count = 1}, &prepared),
                   WEIR_OK);
  assert_int_equal(weir_prepared_release(prepared), WEIR_OK);
  assert_int_equal(weir_kernel_release(fresh), WEIR_OK);
  assert_int_equal(weir_buffer_set_label(self.buffers[0], "first"), WEIR_OK);
  weir_graph *graph;
  weir_graph_info facts;
  assert_int_equal(weir_graph_create(self.context, NULL, &graph), WEIR_OK);
  assert_int_equal(weir_graph_add(graph, &(weir_task){.host = fails, .args = &arg, .arg_count = 1}, NULL), WEIR_OK);
  assert_int_equal(weir_graph_build(graph), WEIR_OK);
  assert_int_equal(weir_graph_information(graph, &facts), WEIR_OK);
  assert_int_equal(weir_graph_release(graph), WEIR_OK);
  assert_int_equal(weir_host_event_signal(host, WEIR_OK), WEIR_OK);
  pthread_join(thread, NULL);
  expect(&self);
  assert_int_equal(called, 1);
  weir_event_release(host);
  weir_event_release(task);
  close(&self);
}

// Nor do they submit what is held back where it has no room.
static void calls_that_do_not_wait_leave_what_has_no_room(void **state) {
  (void)state;
  program self;
  weir_event *host, *task;
  int called = 0;
  beginning begun;
  wait_outside(&self, &host, &task);
  hold_back(&self, &begun);
  assert_true(statistics(&self).tasks > 0);
  assert_int_equal(weir_event_poll(task), WEIR_PENDING);
  assert_int_equal(weir_event_on_done(task, count_callback, &called), WEIR_OK);
  assert_int_equal(weir_host_event_signal(host, WEIR_OK), WEIR_OK);
  pthread_join(begun.thread, NULL);
  expect(&self);
  assert_int_equal(called, 1);
  weir_event_release(host);
  weir_event_release(task);
  close(&self);
}

// Nor does a cancellation, which makes the room.
static void cancel_passes_a_thread_that_waits_for_room(void **state) {
  (void)state;
  program self;
  weir_event *host, *task;
  pthread_t thread;
  fill_window(&self, &host, &task, &thread);
  weir_context_cancel(self.context);
  assert_int_equal(weir_event_wait(task, WEIR_FOREVER), WEIR_ERROR_CANCELLED);
  pthread_join(thread, NULL);
  assert_int_equal(weir_finish(self.context), WEIR_ERROR_CANCELLED);
  weir_event_release(host);
  weir_event_release(task);
  close(&self);
}

// A call with a time-out does not wait longer for a thread that submits what was held back, and waits for room. Nothing makes room
// until the calls have returned.
static void time_outs_pass_a_thread_that_waits_for_room(void **state) {
  (void)state;
  enum { TIME_OUT = 50000000 };
  program self;
  weir_event *host, *task, *launched;
  weir_group *group;
  weir_graph *graph;
  pthread_t thread;
  wait_outside(&self, &host, &task);
  assert_int_equal(weir_group_create(self.context, &group), WEIR_OK);
  const uint32_t no = 0;
  const weir_arg args[] = {weir_updates(self.buffers[0]), weir_value(&no, sizeof no)};
  const weir_task behind = {.kernel = self.fail, .args = args, .arg_count = 2, .group = group};
  assert_int_equal(weir_submit(self.context, &behind, NULL), WEIR_OK);
  assert_int_equal(weir_graph_create(self.context, NULL, &graph), WEIR_OK);
  assert_int_equal(weir_graph_add(graph, &(weir_task){.kernel = self.fail, .args = args, .arg_count = 2}, NULL),
                   WEIR_OK);
  assert_int_equal(weir_graph_launch(graph, &launched), WEIR_OK);
  uint64_t before = window_waits(&self);
  assert_int_equal(pthread_create(&thread, NULL, turn_away, &self), 0);
  while (window_waits(&self) == before) nap(100000);
  assert_int_equal(weir_finish_for(self.context, TIME_OUT), WEIR_TIMEOUT);
  assert_non_null(strstr(weir_last_error(), "task"));
  assert_int_equal(weir_event_wait(task, TIME_OUT), WEIR_TIMEOUT);
  assert_int_equal(weir_event_wait(launched, 0), WEIR_TIMEOUT);
  assert_int_equal(weir_group_wait(group, TIME_OUT), WEIR_TIMEOUT);
  assert_int_equal(weir_graph_wait(graph, TIME_OUT), WEIR_TIMEOUT);
  assert_int_equal(weir_host_event_signal(host, WEIR_OK), WEIR_OK);
  pthread_join(thread, NULL);
  assert_int_equal(weir_finish_for(self.context, WEIR_FOREVER), WEIR_OK);
  expect(&self);
  weir_event_release(host);
  weir_event_release(task);
  weir_event_release(launched);
  assert_int_equal(weir_group_release(group), WEIR_OK);
  weir_graph_release(graph);
  close(&self);
}

// Nor does it wait longer for room itself. What is held back is submitted by and by, as far as there is room.
static void time_outs_pass_what_has_no_room(void **state) {
  (void)state;
  enum { TIME_OUT = 50000000 };
  program self;
  weir_event *host, *task;
  beginning begun;
  wait_outside(&self, &host, &task);
  hold_back(&self, &begun);
  assert_int_equal(weir_event_wait(task, TIME_OUT), WEIR_TIMEOUT);
  assert_int_equal(weir_finish_for(self.context, TIME_OUT), WEIR_TIMEOUT);
  assert_int_equal(weir_host_event_signal(host, WEIR_OK), WEIR_OK);
  pthread_join(begun.thread, NULL);
  while (weir_finish_for(self.context, TIME_OUT) == WEIR_TIMEOUT) nap(100000);
  pass(&self, TASKS / 2, TASKS, 7);
  pass(&self, 0, TASKS, 8);
  expect(&self);
  weir_event_release(host);
  weir_event_release(task);
  close(&self);
}

// A task whose function submits the next task of the run that another thread's tasks are held back for, or something else.
typedef struct parent {
  program *shared;
  bool goes_on;
  _Atomic bool ready, done;
} parent;

// Half a pass, which is held back, and then a task of another kernel.
static void *turn_to_another_kernel(void *argument) {
  program *self = argument;
  pass(self, 0, TASKS / 2, 7);
  const uint32_t no = 0;
  const weir_arg args[] = {weir_updates(self->buffers[0]), weir_value(&no, sizeof no)};
  assert_int_equal(weir_submit(self->context, &(weir_task){.kernel = self->fail, .args = args, .arg_count = 2}, NULL),
                   WEIR_OK);
  return NULL;
}

static void release_kernels(const weir_work *work) {
  gate *self = work->user;
  atomic_fetch_add(&self->entered, 1);
  while (!atomic_load(&self->begun)) nap(100000);
  weir_kernel *mix = self->shared->mix;
  if (weir_kernel_release(mix) != WEIR_OK || weir_kernel_release(mix) != WEIR_ERROR_RELEASED) abort();
  for (uint32_t i = 0; i < 2000; i++) { // more than are kept before one is used again
    weir_kernel *other;
    if (weir_kernel_create(self->shared->context, "other", &other) != WEIR_OK || other == mix) abort();
    if (weir_kernel_set_cpu(other, fails) != WEIR_OK || weir_kernel_release(other) != WEIR_OK) abort();
  }
  atomic_store(&self->open, true);
}

static void cancel(const weir_work *work) {
  gate *self = work->user;
  atomic_fetch_add(&self->entered, 1);
  while (!atomic_load(&self->begun)) nap(100000);
  weir_context_cancel(self->shared->context);
  atomic_store(&self->open, true);
}

// Keeps both workers busy, so that none breaks off what is held back. A thread submits, and waits for room for what it has held back;
// a task calls `function` meanwhile.
static void call_while_a_thread_waits(program *self, weir_function function, void *(*submits)(void *),
                                      pthread_t *out_thread) {
  gate before = {.shared = self};
  const weir_function functions[] = {stands, function};
  weir_event *events[2]; // a run may begin behind these
  for (uint32_t i = 0; i < 2; i++)
    assert_int_equal(weir_submit(self->context, &(weir_task){.host = functions[i], .user = &before}, &events[i]),
                     WEIR_OK);
  while (atomic_load(&before.entered) < 2) nap(100000);
  uint64_t waits = window_waits(self);
  assert_int_equal(pthread_create(out_thread, NULL, submits, self), 0);
  while (window_waits(self) == waits) nap(100000);
  atomic_store(&before.begun, true);
  for (uint32_t i = 0; i < 2; i++) {
    while (weir_event_poll(events[i]) == WEIR_PENDING) nap(100000);
    weir_event_release(events[i]);
  }
}

// What is held back keeps its kernels, also where a task releases them while a thread waits for room for it.
static void tasks_release_kernels_of_what_is_held_back(void **state) {
  (void)state;
  program self;
  weir_event *host, *task;
  pthread_t thread;
  wait_outside(&self, &host, &task);
  call_while_a_thread_waits(&self, release_kernels, turn_to_another_kernel, &thread);
  assert_int_equal(weir_host_event_signal(host, WEIR_OK), WEIR_OK);
  pthread_join(thread, NULL);
  expect(&self);
  weir_event_release(host);
  weir_event_release(task);
  close(&self);
}

static _Atomic uint32_t ticks;

static void tick(const weir_work *work) {
  (void)work;
  atomic_fetch_add(&ticks, 1);
}

static void submit_ticks(program *self, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) { // no two are alike: they are no loop
    const char label[] = {(char)('0' + i), '\0'};
    const weir_task task = {.host = tick, .label = label};
    assert_int_equal(weir_submit(self->context, &task, NULL), WEIR_OK);
  }
}

static void *turn_from_ticks(void *argument) {
  submit_ticks(argument, TASKS - 1);
  submit(argument, &((program *)argument)->steps[0], NULL);
  return NULL;
}

// A task cancels all that was submitted, and so what is held back while a thread waits for room for it.
static void tasks_cancel_what_is_held_back(void **state) {
  (void)state;
  program self;
  pthread_t thread;
  open_with(&self, (weir_context_options){.devices = "cpu:2", .window = 8, .flags = WEIR_CONTEXT_REPEATS});
  while (statistics(&self).repeated < TASKS) {
    submit_ticks(&self, TASKS);
    assert_int_equal(weir_finish(self.context), WEIR_OK);
  }
  uint32_t before = atomic_load(&ticks);
  call_while_a_thread_waits(&self, cancel, turn_from_ticks, &thread);
  pthread_join(thread, NULL);
  assert_int_equal(weir_finish(self.context), WEIR_ERROR_CANCELLED);
  assert_int_equal(atomic_load(&ticks), before);
  close(&self);
}

// A task that is refused is refused each time.
static void refused_tasks_are_refused_each_time(void **state) {
  (void)state;
  enum { FAULTS = 4 };
  for (int fault = 0; fault < FAULTS; fault++) {
    program self;
    open_with(&self, (weir_context_options){.devices = "cpu:2", .flags = WEIR_CONTEXT_REPEATS});
    const uint32_t no = 0;
    weir_arg args[] = {weir_updates(self.buffers[0]), weir_reads(self.buffers[1]), weir_reads(self.buffers[2]),
                       weir_value(&no, sizeof no)};
    weir_task task = {.kernel = self.mix, .args = args, .arg_count = 4};
    if (fault == 0) args[1].bytes = 0;
    if (fault == 1) args[1].offset = 1000;
    if (fault == 2) args[1].buffer = self.buffers[0];
    if (fault == 3) task.groups[0] = task.groups[1] = task.groups[2] = UINT32_MAX;
    for (uint32_t i = 0; i < 8; i++) {
      pass(&self, 0, TASKS / 2, i);
      assert_int_equal(weir_submit(self.context, &task, NULL),
                       fault == 1 ? WEIR_ERROR_OUT_OF_RANGE : WEIR_ERROR_INVALID_ARGUMENT);
      pass(&self, TASKS / 2, TASKS, i);
      assert_int_equal(weir_finish(self.context), WEIR_OK);
    }
    expect(&self);
    close(&self);
  }
}

static void *launch(void *argument) {
  assert_int_equal(weir_graph_launch(argument, NULL), WEIR_OK);
  return NULL;
}

// Waits until threads that wait for memory have looked for it so often again.
static void await_looks(const program *self, uint64_t count) {
  uint64_t first = 0, now = 0;
  for (bool begun = false; now < first + count; begun = true) {
    if (begun) nap(1000000);
    weir__context_lock_to_submit(self->context);
    now = self->context->host.statistics.memory_waits;
    weir__context_unlock(self->context);
    if (!begun) first = now;
  }
}

// The first step that names a buffer which none before it names, and updates one that some step before it names.
static uint32_t find_late_name(const program *self) {
  bool known[BUFFERS] = {false};
  for (uint32_t i = 0; i < TASKS; i++) {
    const step *at = &self->steps[i];
    if (known[at->to] && !known[at->a] && at->a != at->b) return i;
    known[at->to] = known[at->a] = known[at->b] = true;
  }
  return 0;
}

// A buffer that a run has named is known in it, though a thread that waits for memory meanwhile names it again and again.
static void other_threads_name_the_same_buffers(void **state) {
  (void)state;
  enum { LARGE = 100000 };
  program self;
  open_with(&self, (weir_context_options){.devices = "cpu:1", .memory_limit = 150000, .flags = WEIR_CONTEXT_REPEATS});
  learn(&self);
  uint32_t late = find_late_name(&self);
  assert_true(late > 0);
  const step *at = &self.steps[late];
  weir_buffer *held, *wanted;
  assert_int_equal(weir_buffer_create(self.context, LARGE, &held), WEIR_OK);
  assert_int_equal(weir_buffer_create(self.context, LARGE, &wanted), WEIR_OK);
  gate before = {.shared = &self};
  const weir_arg arg = weir_writes(held);
  const weir_task task = {.host = stands, .user = &before, .args = &arg, .arg_count = 1};
  assert_int_equal(weir_submit(self.context, &task, NULL), WEIR_OK);
  weir_graph *graph;
  assert_int_equal(weir_graph_create(self.context, NULL, &graph), WEIR_OK);
  assert_int_equal(weir_graph_fill(graph, wanted, 0, WEIR_WHOLE, 1, NULL), WEIR_OK);
  assert_int_equal(weir_graph_copy(graph, wanted, 0, self.buffers[at->to], 0, WEIR_WHOLE, NULL), WEIR_OK);
  pthread_t thread;
  while (atomic_load(&before.entered) < 1) nap(100000); // no worker is idle, and breaks off what is held back
  assert_int_equal(pthread_create(&thread, NULL, launch, graph), 0);
  await_looks(&self, 1);
  pass(&self, 0, late, 5);
  await_looks(&self, 2);
  const weir_arg args[] = {weir_updates(self.buffers[at->to]), weir_reads(self.buffers[at->to]),
                           weir_reads(self.buffers[at->b]), weir_value(&at->value, sizeof at->value)};
  const weir_task wrong = {.kernel = self.mix, .user = (void *)(uintptr_t)at->value, .args = args, .arg_count = 4};
  assert_int_equal(weir_submit(self.context, &wrong, NULL), WEIR_ERROR_INVALID_ARGUMENT);
  atomic_store(&before.open, true);
  assert_int_equal(weir_buffer_release(held), WEIR_OK);
  pthread_join(thread, NULL);
  expect(&self);
  weir_graph_release(graph);
  assert_int_equal(weir_buffer_release(wanted), WEIR_OK);
  close(&self);
}

static void submits(const weir_work *work) {
  parent *self = work->user;
  while (!atomic_load(&self->ready)) nap(100000);
  submit(self->shared, &self->shared->steps[self->goes_on ? TASKS / 2 : TASKS - 1], NULL);
  atomic_store(&self->done, true);
}

// Children of a task are no part of a run that another thread submits, and that is no part of the task's group.
static void groups_have_their_own_tasks(void **state) {
  (void)state;
  for (int goes_on = 0; goes_on < 2; goes_on++) {
    program self;
    weir_group *group;
    weir_group_statistics counts;
    open(&self, "cpu:1"); // whose worker is busy, and does not submit what is held back
    learn(&self);
    parent shared = {.shared = &self, .goes_on = goes_on != 0};
    assert_int_equal(weir_group_create(self.context, &group), WEIR_OK);
    const weir_task task = {.host = submits, .user = &shared, .group = group};
    assert_int_equal(weir_submit(self.context, &task, NULL), WEIR_OK);
    pass(&self, 0, TASKS / 2, 7);
    atomic_store(&shared.ready, true);
    while (!atomic_load(&shared.done)) nap(100000);
    assert_int_equal(weir_group_wait(group, WEIR_FOREVER), WEIR_OK);
    assert_int_equal(weir_group_get_statistics(group, &counts), WEIR_OK);
    assert_int_equal(counts.tasks, 2);
    assert_int_equal(counts.done, 2);
    assert_int_equal(weir_group_release(group), WEIR_OK);
    expect(&self);
    close(&self);
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
      cmocka_unit_test(the_cache_falls_asleep_while_a_run_waits_for_room),
      cmocka_unit_test(short_kernels_are_followed_by_default),
      cmocka_unit_test(nothing_is_followed_elsewhere),
      cmocka_unit_test(long_and_host_tasks_are_not_followed_by_default),
      cmocka_unit_test(runs_that_break_off_are_given_up),
      cmocka_unit_test(runs_that_come_slowly_are_given_up_by_default),
      cmocka_unit_test(calls_that_do_not_wait_pass_a_thread_that_waits_for_room),
      cmocka_unit_test(calls_that_do_not_wait_leave_what_has_no_room),
      cmocka_unit_test(cancel_passes_a_thread_that_waits_for_room),
      cmocka_unit_test(time_outs_pass_a_thread_that_waits_for_room),
      cmocka_unit_test(time_outs_pass_what_has_no_room),
      cmocka_unit_test(groups_have_their_own_tasks),
      cmocka_unit_test(other_threads_name_the_same_buffers),
      cmocka_unit_test(tasks_release_kernels_of_what_is_held_back),
      cmocka_unit_test(tasks_cancel_what_is_held_back),
      cmocka_unit_test(refused_tasks_are_refused_each_time),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
