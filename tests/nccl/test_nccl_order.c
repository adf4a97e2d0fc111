// SPDX-License-Identifier: Apache-2.0
//
// Collectives among all other tasks: random programs on two cards and the CPU against a model, deadlocks that must not
// be, and several threads.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nccl_case.h"
#include "random.h"
#include "weir/external.h"

enum { COUNT = 16, BYTES = COUNT * 4 };

// ---------------------------------------------------------------------------------------------------------------
// Random programs

enum { BUFFERS = 6, TASKS = 60 };

typedef struct program {
  share *s;
  random_state random;
  weir_nccl *communicators[2]; // the second one has the devices the other way round
  weir_buffer *buffers[BUFFERS];
  uint32_t model[BUFFERS][COUNT];
} program;

static weir_device *any_device(program *p) {
  weir_device *devices[] = {p->s->cuda, p->s->second, p->s->cpu};
  return devices[random_below(&p->random, 3)];
}

static void submit_kernel(program *p, uint32_t at) {
  uint32_t value = random_below(&p->random, 100), other = random_below(&p->random, BUFFERS);
  uint32_t third = random_below(&p->random, BUFFERS), *out = p->model[at];
  switch (random_below(&p->random, 3)) {
  case 0:
    share_submit(p->s, p->s->set, any_device(p), p->buffers[at], COUNT, value, NULL);
    for (uint32_t i = 0; i < COUNT; i++) out[i] = value + i;
    break;
  case 1:
    share_submit(p->s, p->s->step, any_device(p), p->buffers[at], COUNT, value, NULL);
    for (uint32_t i = 0; i < COUNT; i++) out[i] = stepped(out[i], value);
    break;
  default:
    if (at == other || at == third) return;
    share_sum(p->s, any_device(p), p->buffers[at], p->buffers[other], p->buffers[third], COUNT, NULL);
    for (uint32_t i = 0; i < COUNT; i++) out[i] = p->model[other][i] + p->model[third][i];
  }
}

static void submit_collective(program *p, uint32_t a) {
  uint32_t b = (a + 1 + random_below(&p->random, BUFFERS - 1)) % BUFFERS, root = random_below(&p->random, 2);
  weir_nccl *nccl = p->communicators[random_below(&p->random, 2)];
  weir_buffer *buffers[] = {p->buffers[a], p->buffers[b]};
  uint32_t first = random_below(&p->random, COUNT), count = 1 + random_below(&p->random, COUNT - first);
  uint32_t *at[] = {&p->model[a][first], &p->model[b][first]};
  uint32_t kind = random_below(&p->random, 3);
  if (kind == 0)
    share_ok(weir_nccl_broadcast(nccl, buffers, first * 4, count * 4, root, NULL));
  else if (kind == 1)
    share_ok(weir_nccl_reduce(nccl, buffers, first * 4, count * 4, WEIR_REDUCE_SUM, WEIR_REDUCE_U32, root, NULL));
  else
    share_ok(weir_nccl_all_reduce(nccl, buffers, first * 4, count * 4, WEIR_REDUCE_SUM, WEIR_REDUCE_I32, NULL));
  for (uint32_t i = 0; i < count; i++) {
    uint32_t sum = at[0][i] + at[1][i];
    if (kind == 0) at[1 - root][i] = at[root][i];
    if (kind == 1) at[root][i] = sum;
    if (kind == 2) at[0][i] = at[1][i] = sum;
  }
}

static void run_program(share *s, uint64_t seed) {
  program p = {.s = s, .random = {seed}};
  weir_device *turned[] = {s->second, s->cuda};
  uint32_t numbers[BUFFERS][COUNT];
  p.communicators[0] = nccl_make(s);
  share_ok(
      weir_nccl_create(s->context, &(weir_nccl_options){.devices = turned, .device_count = 2}, &p.communicators[1]));
  for (uint32_t i = 0; i < BUFFERS; i++) {
    p.buffers[i] = share_buffer(s, COUNT);
    share_submit(s, s->set, any_device(&p), p.buffers[i], COUNT, i, NULL);
    for (uint32_t j = 0; j < COUNT; j++) p.model[i][j] = i + j;
  }
  for (uint32_t i = 0; i < TASKS; i++) {
    uint32_t at = random_below(&p.random, BUFFERS);
    if (random_below(&p.random, 3) == 0)
      submit_collective(&p, at);
    else
      submit_kernel(&p, at);
  }
  for (uint32_t i = 0; i < BUFFERS; i++) share_ok(weir_copy_out(p.buffers[i], 0, BYTES, numbers[i], NULL));
  share_ok(weir_finish(s->context));
  for (uint32_t i = 0; i < BUFFERS; i++) {
    if (memcmp(numbers[i], p.model[i], BYTES) != 0) fail_msg("seed %llu: buffer %u", (unsigned long long)seed, i);
    share_ok(weir_buffer_release(p.buffers[i]));
  }
  for (int i = 0; i < 2; i++) share_ok(weir_nccl_release(p.communicators[i]));
}

static void run_programs(share *s) {
  static uint64_t runs;
  const char *text = getenv("WEIR_TEST_SEED");
  uint64_t first = text != NULL ? strtoull(text, NULL, 0) : 1;
#ifdef WEIR_SMALL_TESTS
  enum { PROGRAMS = 4 };
#else
  enum { PROGRAMS = 40 };
#endif
  for (int i = 0; i < PROGRAMS; i++) run_program(s, first * 1000000 + runs++);
}

static void test_random(void **state) {
  (void)state;
  nccl_run(NULL, run_programs);
  nccl_run(&(weir_context_options){.queues = 1}, run_programs);
  nccl_run(&(weir_context_options){.window = 16, .queues = 2}, run_programs);
  nccl_run(&(weir_context_options){.flags = WEIR_CONTEXT_TRACE}, run_programs);
  nccl_run(&(weir_context_options){.flags = WEIR_CONTEXT_PLACE | WEIR_CONTEXT_NO_RENAME}, run_programs);
}

// ---------------------------------------------------------------------------------------------------------------
// One order

enum { PAIRS = 24 };

// Collectives that have nothing in common and may all start at the same moment, each of another length.
static void start_together(share *s) {
  weir_device *turned[] = {s->second, s->cuda};
  weir_nccl *both = nccl_make(s), *other;
  weir_buffer *buffers[PAIRS][2];
  weir_event *begin;
  char wanted[PAIRS * 32] = "";
  share_ok(weir_nccl_create(s->context, &(weir_nccl_options){.devices = turned, .device_count = 2}, &other));
  share_ok(weir_host_event_create(s->context, "begin", &begin));
  for (uint32_t i = 0; i < PAIRS; i++) {
    nccl_buffers(s, COUNT, i, 7, buffers[i]);
    uint32_t count = COUNT, value = 1;
    weir_arg args[] = {weir_updates(buffers[i][i % 2]), weir_value(&count, 4), weir_value(&value, 4)};
    const weir_task task = {.kernel = s->step,
                            .device = i % 2 == 0 ? s->cuda : s->second,
                            .args = args,
                            .arg_count = 3,
                            .after = &begin,
                            .after_count = 1};
    share_ok(weir_submit(s->context, &task, NULL));
  }
  for (uint32_t i = 0; i < PAIRS; i++) {
    uint32_t count = 1 + i * 5 % COUNT;
    share_ok(weir_nccl_all_reduce(i % 3 == 0 ? other : both, buffers[i], 0, count * 4, WEIR_REDUCE_MAX, WEIR_REDUCE_U32,
                                  NULL));
    snprintf(wanted + strlen(wanted), sizeof wanted - strlen(wanted), "all-reduce %u;", count);
  }
  share_ok(weir_host_event_signal(begin, WEIR_OK));
  share_ok(weir_finish(s->context));
  weir_event_release(begin);
  assert_string_equal(nccl_stub_record(0), wanted);
  assert_string_equal(nccl_stub_record(1), wanted);
  share_ok(weir_nccl_release(both));
  share_ok(weir_nccl_release(other));
}

static void test_one_order(void **state) {
  (void)state;
  nccl_run(&(weir_context_options){.window = 256}, start_together);
}

// ---------------------------------------------------------------------------------------------------------------
// Deadlocks

// One part could start long before the other one, which waits for a task that would be put behind the first: in the
// only queue of the first card.
static void wait_for_what_comes_behind(share *s) {
  weir_nccl *nccl = nccl_make(s);
  weir_event *begin;
  weir_buffer *buffers[2], *far = share_buffer(s, COUNT);
  nccl_buffers(s, COUNT, 1, 2, buffers);
  share_ok(weir_host_event_create(s->context, "begin", &begin));
  uint32_t count = COUNT, value = 5;
  weir_arg args[] = {weir_writes(far), weir_value(&count, 4), weir_value(&value, 4)};
  share_ok(weir_submit(
      s->context,
      &(weir_task){
          .kernel = s->set, .device = s->cuda, .args = args, .arg_count = 3, .after = &begin, .after_count = 1},
      NULL));
  share_sum(s, s->second, buffers[1], far, far, COUNT, NULL);
  share_ok(weir_nccl_all_reduce(nccl, buffers, 0, WEIR_WHOLE, WEIR_REDUCE_SUM, WEIR_REDUCE_U32, NULL));
  // On the first card something waits for the result: if it did so in its queue, `far` would be set behind it.
  share_submit(s, s->step, s->cuda, buffers[0], COUNT, 1, NULL);
  // Until here the first buffer is ready, and only the task that waits for `begin` keeps the second one.
  assert_int_equal(weir_finish_for(s->context, 20000000), WEIR_TIMEOUT);
  share_ok(weir_host_event_signal(begin, WEIR_OK));
  nccl_expect(buffers[0], COUNT, stepped(11, 1), 9);
  nccl_expect(buffers[1], COUNT, 11, 3);
  weir_event_release(begin);
  share_ok(weir_nccl_release(nccl));
}

static void test_no_deadlock(void **state) {
  (void)state;
  nccl_run(&(weir_context_options){.queues = 1}, wait_for_what_comes_behind);
  nccl_run(NULL, wait_for_what_comes_behind);
}

// ---------------------------------------------------------------------------------------------------------------
// Threads

enum { THREADS = 3, ROUNDS = 12 };

typedef struct thread {
  const share *s;
  uint32_t number;
  weir_nccl *nccl;
} thread;

// Each thread has buffers of its own; some share communicators.
static void *submit_many(void *argument) {
  const thread *t = argument;
  weir_buffer *buffers[2];
  nccl_buffers(t->s, COUNT, t->number, 10, buffers);
  uint32_t value = t->number, other = 10, step = 1;
  for (uint32_t i = 0; i < ROUNDS; i++) {
    share_ok(weir_nccl_all_reduce(t->nccl, buffers, 0, WEIR_WHOLE, WEIR_REDUCE_SUM, WEIR_REDUCE_U32, NULL));
    value = other = value + other;
    step *= 2;
    share_submit(t->s, t->s->step, t->s->cuda, buffers[0], COUNT, i, NULL);
    share_submit(t->s, t->s->step, t->s->second, buffers[1], COUNT, i, NULL);
    value = other = stepped(value, i);
    step *= 3;
  }
  nccl_expect(buffers[1], 1, value, step);
  uint32_t numbers[COUNT];
  share_ok(weir_read(buffers[0], 0, BYTES, numbers));
  for (uint32_t i = 0; i < COUNT; i++) assert_int_equal(numbers[i], value + step * i);
  for (int i = 0; i < 2; i++) share_ok(weir_buffer_release(buffers[i]));
  return NULL;
}

static void submit_from_threads(share *s) {
  weir_device *turned[] = {s->second, s->cuda};
  weir_nccl *both = nccl_make(s), *other;
  pthread_t threads[THREADS];
  thread arguments[THREADS];
  share_ok(weir_nccl_create(s->context, &(weir_nccl_options){.devices = turned, .device_count = 2}, &other));
  for (uint32_t i = 0; i < THREADS; i++) {
    arguments[i] = (thread){.s = s, .number = i, .nccl = i == 1 ? other : both};
    assert_int_equal(pthread_create(&threads[i], NULL, submit_many, &arguments[i]), 0);
  }
  for (uint32_t i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  share_ok(weir_finish(s->context));
  assert_int_equal(nccl_stub_done(), THREADS * ROUNDS);
  share_ok(weir_nccl_release(both));
  share_ok(weir_nccl_release(other));
}

enum { SHARED = 4 };

typedef struct user {
  const share *s;
  weir_nccl *nccl; // NULL: it submits kernels
  weir_buffer **buffers;
  random_state random;
} user;

static void use_any(user *u) {
  weir_device *devices[] = {u->s->cuda, u->s->second, u->s->cpu}, *device = devices[random_below(&u->random, 3)];
  uint32_t a = random_below(&u->random, SHARED), b = (a + 1 + random_below(&u->random, SHARED - 1)) % SHARED;
  weir_buffer *both[] = {u->buffers[a], u->buffers[b]};
  if (u->nccl != NULL)
    share_ok(weir_nccl_all_reduce(u->nccl, both, 0, WEIR_WHOLE, WEIR_REDUCE_SUM, WEIR_REDUCE_U32, NULL));
  else if (random_below(&u->random, 2) == 0)
    share_submit(u->s, u->s->step, device, both[0], COUNT, 1, NULL);
  else
    share_sum(u->s, device, both[0], both[1], both[1], COUNT, NULL);
}

static void *use_shared(void *argument) {
  for (uint32_t i = 0; i < 4 * ROUNDS; i++) use_any(argument);
  return NULL;
}

// Threads use the same buffers in any order. What one of them submits must not come between the tasks of a collective.
static void share_buffers(share *s) {
  weir_nccl *nccl = nccl_make(s);
  weir_buffer *buffers[SHARED];
  pthread_t threads[4];
  user users[4];
  for (uint32_t i = 0; i < SHARED; i++) {
    buffers[i] = share_buffer(s, COUNT);
    share_submit(s, s->set, s->cpu, buffers[i], COUNT, i, NULL);
  }
  for (uint32_t i = 0; i < 4; i++) {
    users[i] = (user){.s = s, .nccl = i < 2 ? nccl : NULL, .buffers = buffers, .random = {i + 1}};
    assert_int_equal(pthread_create(&threads[i], NULL, use_shared, &users[i]), 0);
  }
  for (uint32_t i = 0; i < 4; i++) pthread_join(threads[i], NULL);
  share_ok(weir_finish(s->context));
  assert_int_equal(nccl_stub_done(), 2 * 4 * ROUNDS);
  share_ok(weir_nccl_release(nccl));
}

static void test_threads(void **state) {
  (void)state;
  nccl_run(&(weir_context_options){.window = 16, .queues = 1}, share_buffers);
  nccl_run(&(weir_context_options){.window = 16}, submit_from_threads);
  nccl_run(&(weir_context_options){.queues = 1}, submit_from_threads);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_random), cmocka_unit_test(test_one_order),
                                     cmocka_unit_test(test_no_deadlock), cmocka_unit_test(test_threads)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
