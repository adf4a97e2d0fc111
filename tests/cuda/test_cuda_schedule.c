// SPDX-License-Identifier: Apache-2.0
//
// Which launcher's queue a kernel goes to, by guesses of when it starts. No device is needed.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/clock.h"
#include "device/cuda/kernel.h"
#include "device/cuda/queue/schedule.h"

enum { QUEUES = 4, CHAIN = 100 };

static const uint64_t SECOND_NS = 1000000000;

typedef struct scene {
  weir__cuda_device *device;
  weir__cuda_kernel *kernel;
  weir__task *task; // one, for all
  weir__cuda_op *ops;
  weir__queue_task *places[2];
} scene;

static scene make(uint32_t launchers) {
  scene s = {.device = calloc(1, sizeof *s.device),
             .kernel = calloc(1, sizeof *s.kernel),
             .task = calloc(1, sizeof *s.task),
             .ops = calloc(CHAIN, sizeof *s.ops)};
  assert_true(s.device != NULL && s.kernel != NULL && s.task != NULL && s.ops != NULL);
  s.device->launcher_count = launchers;
  s.device->queue_count = QUEUES + WEIR__CUDA_COPY_QUEUES;
  s.device->streams = aligned_alloc(64, QUEUES * sizeof *s.device->streams);
  assert_non_null(s.device->streams);
  for (uint32_t i = 0; i < QUEUES; i++) s.device->streams[i] = (weir__cuda_queue){0};
  s.kernel->count = 1;
  s.task->code = s.kernel;
  for (int i = 0; i < 2; i++) assert_non_null(s.places[i] = calloc(1, sizeof *s.places[i]));
  return s;
}

static void drop(scene *s) {
  for (int i = 0; i < 2; i++) free(s->places[i]);
  free(s->device->streams);
  free(s->device);
  free(s->kernel);
  free(s->task);
  free(s->ops);
}

// Schedules an op behind those of the first `count` places, and makes its place the first one.
static uint32_t schedule(scene *s, uint32_t index, uint32_t count) {
  s->device->base.operations.places = s->places;
  uint32_t queue = weir__cuda_schedule(s->device, &s->ops[index], s->task, count);
  s->places[0]->queue = queue;
  s->places[0]->user = &s->ops[index];
  return queue;
}

static uint32_t chain(scene *s) {
  uint32_t queue = schedule(s, 0, 0);
  for (uint32_t i = 1; i < CHAIN; i++) assert_int_equal(schedule(s, i, 1), queue);
  return queue;
}

// What comes after one kernel follows it in its queue, where it needs no event.
static void test_chain(void **state) {
  (void)state;
  scene s = make(QUEUES);
  assert_int_equal(chain(&s), 0);
  drop(&s);
}

// A queue that had much to do, and has done it, is as good as another one.
static void test_afterwards(void **state) {
  (void)state;
  scene s = make(QUEUES);
  uint32_t queue = chain(&s);
  while (weir__clock_ns() < s.ops[CHAIN - 1].done_ns) {
  }
  assert_int_equal(schedule(&s, 0, 0), queue);
  drop(&s);
}

static void test_busy(void **state) {
  (void)state;
  scene s = make(QUEUES);
  uint64_t later = weir__clock_ns() + 1000 * SECOND_NS;
  for (uint32_t i = 0; i < QUEUES; i++) s.device->launcher_free_ns[i] = later * (i != 2);
  assert_int_equal(schedule(&s, 0, 0), 2);
  for (uint32_t i = 0; i < QUEUES; i++) s.device->launcher_free_ns[i] = 0;
  for (uint32_t i = 0; i < QUEUES; i++) s.device->streams[i].free_ns = later * (i != 3);
  assert_int_equal(schedule(&s, 0, 0), 3);
  drop(&s);
}

// The later of two predecessors decides: the other one has been seen long before that one is done.
static void test_later_predecessor(void **state) {
  (void)state;
  scene s = make(QUEUES);
  uint64_t now = weir__clock_ns();
  s.ops[1].launched_ns = s.ops[2].launched_ns = now;
  s.ops[1].done_ns = now + 1000 * SECOND_NS;
  s.ops[2].done_ns = now + 1001 * SECOND_NS;
  for (uint32_t i = 0; i < 2; i++) {
    s.places[i]->queue = i + 1;
    s.places[i]->user = &s.ops[i + 1];
  }
  assert_int_equal(schedule(&s, 0, 2), 2);
  drop(&s);
}

// Kernels that one launcher launches overlap all the same.
static void test_shared_launcher(void **state) {
  (void)state;
  scene s = make(1);
  uint64_t later = weir__clock_ns() + 1000 * SECOND_NS;
  s.device->streams[0].free_ns = s.device->streams[1].free_ns = later;
  assert_int_equal(schedule(&s, 0, 0), 2);
  drop(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_chain),
      cmocka_unit_test(test_afterwards),
      cmocka_unit_test(test_busy),
      cmocka_unit_test(test_later_predecessor),
      cmocka_unit_test(test_shared_launcher),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
