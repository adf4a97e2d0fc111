// SPDX-License-Identifier: Apache-2.0
//
// Random programs with events of the host, which other threads signal at any time, and buffers that follow them: what
// tasks and the threads did is what serial execution gives.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api.h"
#include "part.h"
#include "random.h"
#include "weir/external.h"

#ifdef WEIR_SMALL_TESTS
enum { PROGRAMS = 40 };
#else
enum { PROGRAMS = 600 };
#endif
enum { BUFFERS = 4, STEPS = 60, SIGNALLERS = 2 };

// A piece of work outside Weir: a thread steps a buffer, and signals.
typedef struct outside {
  struct outside *next;
  uint64_t *target, value;
  weir_event *before; // it waits for this: tasks that use the buffer; NULL: the event of a task, and no work
  weir_event *event;
} outside;

typedef struct program {
  weir_context *context;
  uint64_t memory[BUFFERS], expected[BUFFERS];
  weir_buffer *buffers[BUFFERS];
  pthread_t threads[SIGNALLERS];
  pthread_mutex_t lock;
  pthread_cond_t changed;
  outside *first;
  bool ends;
  random_state random;
} program;

static uint64_t step(uint64_t number, uint64_t value) {
  return number * 3 + value;
}

static void *signaller(void *argument) {
  program *self = argument;
  for (;;) {
    pthread_mutex_lock(&self->lock);
    while (self->first == NULL && !self->ends) pthread_cond_wait(&self->changed, &self->lock);
    outside *work = self->first;
    if (work != NULL) self->first = work->next;
    pthread_mutex_unlock(&self->lock);
    if (work == NULL) return NULL;
    if (work->before != NULL && weir_event_wait(work->before, WEIR_FOREVER) != WEIR_OK) abort();
    if (work->target != NULL) *work->target = step(*work->target, work->value);
    if (weir_host_event_signal(work->event, WEIR_OK) != WEIR_OK) abort();
    weir_event_release(work->before);
    weir_event_release(work->event);
    free(work);
  }
}

static void hand_over(program *self, outside *work) {
  pthread_mutex_lock(&self->lock);
  outside **end = &self->first;
  while (*end != NULL) end = &(*end)->next;
  *end = work;
  pthread_cond_signal(&self->changed);
  pthread_mutex_unlock(&self->lock);
}

static outside *outside_new(program *self) {
  outside *work = calloc(1, sizeof *work);
  assert_non_null(work);
  assert_int_equal(weir_host_event_create(self->context, NULL, &work->event), WEIR_OK);
  return work;
}

static void step_task(const weir_work *work) {
  uint64_t *number = work->args[0];
  *number = step(*number, *(const uint64_t *)work->args[1]);
}

static void add_task(const weir_work *work) {
  *(uint64_t *)work->args[0] += *(const uint64_t *)work->args[1];
}

static uint32_t draw(program *self, uint32_t below) {
  return random_below(&self->random, below);
}

// A task that steps a buffer, perhaps after an event of the host.
static void submit_step(program *self, uint64_t value) {
  uint32_t buffer = draw(self, BUFFERS);
  weir_arg args[] = {weir_updates(self->buffers[buffer]), weir_value(&value, sizeof value)};
  weir_task task = {.host = step_task, .args = args, .arg_count = 2};
  outside *work = draw(self, 3) == 0 ? outside_new(self) : NULL;
  if (work != NULL) {
    task.after = &work->event;
    task.after_count = 1;
  }
  assert_int_equal(weir_submit(self->context, &task, NULL), WEIR_OK);
  if (work != NULL) hand_over(self, work);
  self->expected[buffer] = step(self->expected[buffer], value);
}

static void submit_add(program *self) {
  uint32_t to = draw(self, BUFFERS), from = (to + 1 + draw(self, BUFFERS - 1)) % BUFFERS;
  weir_arg args[] = {weir_updates(self->buffers[to]), weir_reads(self->buffers[from])};
  weir_event_release(api_submit_host(self->context, add_task, NULL, args, 2));
  self->expected[to] += self->expected[from];
}

// A thread steps a buffer, behind the tasks so far that use it; later tasks come after that.
static void submit_outside(program *self, uint64_t value) {
  uint32_t buffer = draw(self, BUFFERS);
  outside *work = outside_new(self);
  work->target = &self->memory[buffer];
  work->value = value;
  assert_int_equal(weir_buffer_event(self->buffers[buffer], WEIR_READ_WRITE, &work->before), WEIR_OK);
  assert_int_equal(weir_buffer_follow(self->buffers[buffer], WEIR_READ_WRITE, work->event), WEIR_OK);
  hand_over(self, work);
  self->expected[buffer] = step(self->expected[buffer], value);
}

static void run(const char *devices, uint64_t seed) {
  program self = {.random = {seed}};
  const weir_context_options options = {.devices = devices,
                                        .window = 8u << draw(&self, 4),
                                        .seed = seed,
                                        .flags = draw(&self, 4) == 0 ? WEIR_CONTEXT_TRACE : 0};
  assert_int_equal(weir_context_create(&options, &self.context), WEIR_OK);
  pthread_mutex_init(&self.lock, NULL);
  pthread_cond_init(&self.changed, NULL);
  for (uint32_t i = 0; i < BUFFERS; i++) {
    self.memory[i] = self.expected[i] = i;
    assert_int_equal(weir_buffer_wrap(self.context, &self.memory[i], 8, &self.buffers[i]), WEIR_OK);
  }
  for (int i = 0; i < SIGNALLERS; i++) assert_int_equal(pthread_create(&self.threads[i], NULL, signaller, &self), 0);
  for (uint32_t i = 0; i < STEPS; i++) {
    uint32_t what = draw(&self, 8);
    if (what < 4)
      submit_step(&self, i);
    else if (what < 6)
      submit_add(&self);
    else
      submit_outside(&self, i);
  }
  assert_int_equal(weir_finish(self.context), WEIR_OK);
  pthread_mutex_lock(&self.lock);
  self.ends = true;
  pthread_cond_broadcast(&self.changed);
  pthread_mutex_unlock(&self.lock);
  for (int i = 0; i < SIGNALLERS; i++) pthread_join(self.threads[i], NULL);
  if (memcmp(self.memory, self.expected, sizeof self.memory) != 0)
    fail_msg("seed %llu on %s", (unsigned long long)seed, devices);
  assert_int_equal(weir_context_release(self.context), WEIR_OK);
  pthread_cond_destroy(&self.changed);
  pthread_mutex_destroy(&self.lock);
}

static uint64_t first_seed(void) {
  const char *seed = getenv("WEIR_TEST_SEED");
  return seed != NULL ? strtoull(seed, NULL, 10) * 1000 + 1 : 1;
}

static void programs_equal_serial_execution(void **state) {
  (void)state;
  static const char *const lists[] = {"cpu:2", "cpu:5", "sim:ideal,cpu:1", "cpu:1"};
  for (uint64_t i = 0, count = part_count(PROGRAMS); i < count; i++) run(lists[i % 4], first_seed() + i);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(programs_equal_serial_execution)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
