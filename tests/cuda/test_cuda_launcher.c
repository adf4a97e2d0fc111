// SPDX-License-Identifier: Apache-2.0
//
// Launchers that the system has taken their core from: others launch what is in their rings, each op once, in the order of its queue,
// and behind what it waits for. A signal's handler that does not return stands for the system. No device is needed.
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#include "device/cuda/cuda_device.h"
#include "random.h"

enum { QUEUES = 4, LAUNCHERS = 3, OPS = 3000 };

typedef struct test_op {
  weir__cuda_op op;
  _Atomic uint32_t launches;
} test_op;

typedef struct scene {
  weir__cuda_device *device;
  weir__host *host;
  test_op *ops;
  test_op **placed_in[QUEUES]; // by number
  uint32_t placed;
  _Atomic pthread_t threads[LAUNCHERS]; // that launched the first op of each launcher
} scene;

static scene the_scene;
static _Atomic uint32_t stopped, stops_wanted;
static _Atomic uint64_t stop_ns;

static CUresult set_context(CUcontext context) {
  (void)context;
  return CUDA_SUCCESS;
}

static CUresult wait_event(CUstream stream, CUevent event, unsigned flags) {
  (void)stream, (void)event, (void)flags;
  return CUDA_SUCCESS;
}

static bool is_launched(const weir__cuda_wait *wait) {
  return wait->number == 0 || atomic_load(&the_scene.placed_in[wait->queue][wait->number]->launches) == 1;
}

static CUresult launch(weir__cuda_device *device, weir__cuda_op *op, CUstream stream) {
  (void)stream;
  test_op *self = (test_op *)(void *)op;
  bool good = atomic_load(&device->streams[self->op.head.place->queue].issued) == op->number - 1;
  for (uint32_t i = 0; i < op->wait_count; i++) good = good && is_launched(&op->waits[i]);
  uint32_t launcher = self->op.head.place->queue % device->launcher_count;
  if (op->number == 1 && self->op.head.place->queue < LAUNCHERS)
    atomic_store(&the_scene.threads[launcher], pthread_self());
  atomic_fetch_add(&self->launches, good ? 1 : 2);
  return CUDA_SUCCESS;
}

static const weir__cuda_op_ops test_ops = {.launch = launch};

static void stop_here(int number) {
  (void)number;
  atomic_fetch_add(&stopped, 1);
  uint64_t ns = atomic_load(&stop_ns);
  if (ns > 0) nanosleep(&(struct timespec){.tv_nsec = (long)ns}, NULL);
  while (atomic_load(&stops_wanted) > 0) sched_yield();
}

static void set_up(void) {
  static const weir__cuda_driver driver = {.cuCtxSetCurrent = set_context, .cuStreamWaitEvent = wait_event};
  scene *s = &the_scene;
  *s = (scene){
      .device = calloc(1, sizeof *s->device), .host = calloc(1, sizeof *s->host), .ops = calloc(OPS, sizeof *s->ops)};
  assert_true(s->device != NULL && s->host != NULL && s->ops != NULL);
  s->device->driver = &driver;
  s->device->base.device.host = s->host;
  s->device->base.spin_ns = 20000;
  s->device->queue_count = QUEUES;
  s->device->streams = aligned_alloc(64, QUEUES * sizeof *s->device->streams);
  assert_non_null(s->device->streams);
  for (uint32_t i = 0; i < QUEUES; i++) {
    s->device->streams[i] = (weir__cuda_queue){0};
    assert_non_null(s->placed_in[i] = calloc(OPS + 1, sizeof(test_op *)));
  }
  signal(SIGUSR1, stop_here);
  assert_int_equal(weir__cuda_launchers_start(s->device, LAUNCHERS), WEIR_OK);
}

static void tear_down(void) {
  scene *s = &the_scene;
  weir__cuda_launchers_stop(s->device);
  for (uint32_t i = 0; i < s->placed; i++) free(s->ops[i].op.head.place);
  for (uint32_t i = 0; i < QUEUES; i++) free(s->placed_in[i]);
  free(s->device->streams);
  free(s->device);
  free(s->host);
  free(s->ops);
}

// Places an op in a queue, behind the newest ops of some others.
static void place(uint32_t queue, uint32_t behind) {
  scene *s = &the_scene;
  test_op *self = &s->ops[s->placed];
  self->op.ops = &test_ops;
  assert_non_null(self->op.head.place = calloc(1, sizeof *self->op.head.place));
  self->op.head.place->queue = queue;
  for (uint32_t i = 0; i < QUEUES; i++) {
    if (i == queue || (behind >> i & 1) == 0) continue;
    self->op.waits[self->op.wait_count++] = (weir__cuda_wait){.queue = i, .number = s->device->streams[i].placed};
  }
  self->op.number = ++s->device->streams[queue].placed;
  s->placed_in[queue][self->op.number] = self;
  s->placed++;
  weir__cuda_launcher_push(s->device->launchers[queue % LAUNCHERS], &self->op);
}

static void drain(void) {
  for (uint32_t i = 0; i < QUEUES; i++) weir__cuda_drain(the_scene.device, &the_scene.device->streams[i]);
}

static void check_all(void) {
  for (uint32_t i = 0; i < the_scene.placed; i++) assert_int_equal(atomic_load(&the_scene.ops[i].launches), 1);
}

// One launcher stands still while it has nothing to do, and does not come back before all is launched.
static void a_launcher_that_stands_still_is_helped(void **state) {
  (void)state;
  set_up();
  place(1, 0);
  drain();
  atomic_store(&stopped, 0);
  atomic_store(&stops_wanted, 1);
  pthread_t thread = atomic_load(&the_scene.threads[1]);
  if (pthread_equal(thread, pthread_self())) { // who helps need not be stopped: it is the launcher that had no core
    atomic_store(&stops_wanted, 0);
  } else {
    assert_int_equal(pthread_kill(thread, SIGUSR1), 0);
    while (atomic_load(&stopped) == 0) sched_yield();
  }
  for (uint32_t i = 0; i < 100; i++) place(i % 2 == 0 ? 1 : 2, i % 2 == 0 ? 4 : 2);
  drain();
  check_all();
  atomic_store(&stops_wanted, 0);
  tear_down();
}

static void launchers_stand_still_now_and_then(void **state) {
  (void)state;
  random_state random = {getenv("WEIR_TEST_SEED") == NULL ? 1 : strtoull(getenv("WEIR_TEST_SEED"), NULL, 0)};
  set_up();
  for (uint32_t i = 0; i < LAUNCHERS; i++) place(i, 0);
  drain();
  atomic_store(&stop_ns, 300000);
  while (the_scene.placed < OPS) {
    place(random_below(&random, QUEUES), random_chance(&random, 50) ? random_below(&random, 1 << QUEUES) : 0);
    pthread_t thread = atomic_load(&the_scene.threads[random_below(&random, LAUNCHERS)]);
    if (random_chance(&random, 2) && !pthread_equal(thread, pthread_self())) pthread_kill(thread, SIGUSR1);
    if (random_chance(&random, 1)) drain();
  }
  drain();
  check_all();
  tear_down();
  atomic_store(&stop_ns, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(a_launcher_that_stands_still_is_helped),
                                     cmocka_unit_test(launchers_stand_still_now_and_then)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
