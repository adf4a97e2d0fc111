// SPDX-License-Identifier: Apache-2.0
//
// Random programs of tasks with whole buffers, which go the shortest way into the window (engine/plain_whole.h), and of
// others between them. They give what their tasks give one at a time: each word of a buffer is the same number, which
// follows from those that the task found.
//
//   test_random_whole [PROGRAMS]     WEIR_TEST_SEED: which ones
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "part.h"
#include "random.h"
#include "weir/batch.h"

enum { BUFFERS = 12, TASKS = 5000, MOST_ARGS = 9, MOST_WORDS = 300 };

typedef struct task_case {
  uint64_t number;
  uint32_t count;
  uint32_t buffer[MOST_ARGS];
  weir_mode mode[MOST_ARGS];
  uint64_t words[MOST_ARGS]; // of the buffers
} task_case;

typedef struct program {
  random_state random;
  weir_context *context;
  weir_kernel *kernel;
  weir_buffer *buffers[BUFFERS];
  uint64_t words[BUFFERS], values[BUFFERS];
  task_case *tasks;
} program;

static uint32_t program_count = 1000;

static void run_task(const weir_work *work) {
  const task_case *task = work->user;
  uint64_t sum = task->number;
  for (uint32_t i = 0; i < task->count; i++) {
    const uint64_t *cell = work->args[i];
    if (task->mode[i] == WEIR_READ || task->mode[i] == WEIR_READ_WRITE)
      sum = random_mix(sum ^ cell[0]) + random_mix(sum ^ cell[task->words[i] - 1]);
  }
  for (uint32_t i = 0; i < task->count; i++) {
    uint64_t *cell = work->args[i];
    if (task->mode[i] == WEIR_READ) continue;
    uint64_t value = task->mode[i] == WEIR_COMMUTE ? cell[0] + task->number : sum + i;
    for (uint64_t word = 0; word < task->words[i]; word++) cell[word] = value;
  }
}

static void run_alone(program *self, const task_case *task) {
  uint64_t sum = task->number;
  for (uint32_t i = 0; i < task->count; i++) {
    uint64_t value = self->values[task->buffer[i]];
    if (task->mode[i] == WEIR_READ || task->mode[i] == WEIR_READ_WRITE)
      sum = random_mix(sum ^ value) + random_mix(sum ^ value);
  }
  for (uint32_t i = 0; i < task->count; i++) {
    uint64_t *value = &self->values[task->buffer[i]];
    if (task->mode[i] != WEIR_READ) *value = task->mode[i] == WEIR_COMMUTE ? *value + task->number : sum + i;
  }
}

// Buffers that differ, or, now and then, one that is read twice.
static void choose(program *self, task_case *task, uint64_t number, bool odd) {
  *task = (task_case){.number = random_mix(number)};
  uint32_t most = random_chance(&self->random, 5) ? MOST_ARGS : 3, taken = 0;
  task->count = random_between(&self->random, 0, most);
  for (uint32_t i = 0; i < task->count; i++) {
    uint32_t buffer = random_below(&self->random, BUFFERS);
    while (taken >> buffer & 1) buffer = (buffer + 1) % BUFFERS;
    taken |= 1u << buffer;
    task->buffer[i] = buffer;
    task->mode[i] = random_chance(&self->random, 45)   ? WEIR_READ
                    : random_chance(&self->random, 70) ? WEIR_WRITE
                                                       : WEIR_READ_WRITE;
    if (odd && random_chance(&self->random, 30)) task->mode[i] = WEIR_COMMUTE;
    task->words[i] = self->words[buffer];
  }
  if (odd && task->count == 2 && task->mode[0] == WEIR_READ && task->mode[1] == WEIR_READ)
    task->buffer[1] = task->buffer[0], task->words[1] = task->words[0];
}

static uint32_t make_args(program *self, const task_case *task, bool odd, weir_arg *args) {
  for (uint32_t i = 0; i < task->count; i++) {
    weir_buffer *buffer = self->buffers[task->buffer[i]];
    args[i] = (weir_arg){.mode = task->mode[i], .buffer = buffer, .bytes = WEIR_WHOLE};
    if (odd && random_chance(&self->random, 50)) args[i].bytes = task->words[i] * sizeof(uint64_t);
    if (odd && task->mode[i] == WEIR_READ && task->words[i] > 2 && random_chance(&self->random, 20)) {
      // A part of the words is as good, if the function finds its end.
      args[i].offset = sizeof(uint64_t);
      args[i].bytes = (task->words[i] - 1) * sizeof(uint64_t);
    }
  }
  return task->count;
}

static void submit(program *self, task_case *task, bool odd) {
  weir_arg args[MOST_ARGS];
  weir_task asked = {.user = task, .args = args, .arg_count = make_args(self, task, odd, args)};
  for (uint32_t i = 0; i < task->count; i++) {
    if (args[i].offset != 0) task->words[i]--;
  }
  if (random_chance(&self->random, 50))
    asked.kernel = self->kernel;
  else
    asked.host = run_task;
  if (odd && random_chance(&self->random, 20)) asked.label = "labelled";
  if (odd && random_chance(&self->random, 20)) asked.priority = 2;
  weir_event *event = NULL;
  bool wants_event = random_chance(&self->random, 10);
  assert_int_equal(weir_submit(self->context, &asked, wants_event ? &event : NULL), WEIR_OK);
  if (!wants_event) return;
  if (random_chance(&self->random, 20)) assert_int_equal(weir_event_wait(event, UINT64_MAX), WEIR_OK);
  weir_event_release(event);
}

static void submit_prepared(program *self, task_case *task) {
  weir_arg args[MOST_ARGS];
  weir_buffer *named[MOST_ARGS];
  for (uint32_t i = 0; i < task->count; i++) {
    args[i] = (weir_arg){.mode = task->mode[i], .bytes = WEIR_WHOLE};
    named[i] = self->buffers[task->buffer[i]];
  }
  const weir_task asked = {.kernel = self->kernel, .user = task, .args = args, .arg_count = task->count};
  weir_prepared *prepared = NULL;
  assert_int_equal(weir_prepare(self->context, &asked, &prepared), WEIR_OK);
  assert_int_equal(weir_prepared_submit(prepared, named, NULL, NULL), WEIR_OK);
  assert_int_equal(weir_prepared_release(prepared), WEIR_OK);
}

static void check(program *self, uint32_t buffer) {
  uint64_t found[MOST_WORDS];
  assert_int_equal(weir_read(self->buffers[buffer], 0, self->words[buffer] * sizeof *found, found), WEIR_OK);
  for (uint64_t word = 0; word < self->words[buffer]; word++) assert_int_equal(found[word], self->values[buffer]);
}

// Another buffer takes the place of one.
static void renew(program *self, uint32_t buffer) {
  static const uint64_t sizes[] = {1, 4, 40, 128, 129, MOST_WORDS};
  if (self->buffers[buffer] != NULL) assert_int_equal(weir_buffer_release(self->buffers[buffer]), WEIR_OK);
  self->words[buffer] = sizes[random_below(&self->random, sizeof sizes / sizeof sizes[0])];
  self->values[buffer] = random_next(&self->random);
  uint64_t words[MOST_WORDS];
  for (uint64_t word = 0; word < self->words[buffer]; word++) words[word] = self->values[buffer];
  uint64_t bytes = self->words[buffer] * sizeof *words;
  assert_int_equal(weir_buffer_create(self->context, bytes, &self->buffers[buffer]), WEIR_OK);
  assert_int_equal(weir_copy_in(self->buffers[buffer], 0, bytes, words, NULL), WEIR_OK);
  assert_int_equal(weir_finish(self->context), WEIR_OK);
}

static void run_program(uint64_t seed, task_case *tasks) {
  program self = {.random = {seed}, .tasks = tasks};
  static const char *const devices[] = {"cpu:1", "cpu:2", "cpu:3", "cpu:1,cpu:2"};
  weir_context_options options = {.devices = devices[random_below(&self.random, 4)]};
  options.window = random_chance(&self.random, 50) ? 1u << random_between(&self.random, 3, 7) : 0;
  if (random_chance(&self.random, 20)) options.flags = WEIR_CONTEXT_NO_RENAME;
  if (random_chance(&self.random, 20)) options.rename_limit = 4096;
  if (random_chance(&self.random, 20)) options.memory_limit = BUFFERS * MOST_WORDS * sizeof(uint64_t) * 5 / 4 + 4096;
  assert_int_equal(weir_context_create(&options, &self.context), WEIR_OK);
  assert_int_equal(weir_kernel_create(self.context, "whole", &self.kernel), WEIR_OK);
  assert_int_equal(weir_kernel_set_cpu(self.kernel, run_task), WEIR_OK);
  for (uint32_t i = 0; i < BUFFERS; i++) renew(&self, i);
  uint32_t odd = random_chance(&self.random, 50) ? random_between(&self.random, 1, 30) : 0;
  uint32_t count = random_chance(&self.random, 50) ? TASKS : TASKS / 20;
  for (uint32_t i = 0; i < count; i++) {
    bool is_odd = random_chance(&self.random, odd);
    choose(&self, &tasks[i], i, is_odd);
    run_alone(&self, &tasks[i]);
    if (is_odd || random_chance(&self.random, 80))
      submit(&self, &tasks[i], is_odd);
    else
      submit_prepared(&self, &tasks[i]);
    if (odd > 0 && random_below(&self.random, 500) == 0) check(&self, random_below(&self.random, BUFFERS));
    if (odd > 0 && random_below(&self.random, 1000) == 0) renew(&self, random_below(&self.random, BUFFERS));
  }
  for (uint32_t i = 0; i < BUFFERS; i++) check(&self, i);
  assert_int_equal(weir_finish(self.context), WEIR_OK);
  weir_context_release(self.context);
}

static void whole_buffers_equal_serial_execution(void **state) {
  (void)state;
  task_case *tasks = calloc(TASKS, sizeof *tasks);
  assert_non_null(tasks);
  uint64_t first = (uint64_t)part_random() << 32, count = part_count(program_count);
  for (uint64_t i = 0; i < count; i++) {
    printf("seed %llu\r", (unsigned long long)(first + i)); // the last one is left where a program fails
    run_program(first + i, tasks);
  }
  free(tasks);
}

int main(int argc, char **argv) {
  if (argc > 1) program_count = (uint32_t)strtoul(argv[1], NULL, 10);
  const struct CMUnitTest tests[] = {cmocka_unit_test(whole_buffers_equal_serial_execution)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
