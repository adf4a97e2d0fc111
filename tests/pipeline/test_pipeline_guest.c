// SPDX-License-Identifier: Apache-2.0
//
// Threads of pipelines that run short tasks by themselves: results, failures and cancellation are as ever, there are never more tasks
// at a time than workers, also with other threads that submit, and it does happen.
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "part.h"
#include "rig.h"

enum { LINES = 6, STAGES = 4, TASKS = 3, TOKENS = 400, THREADS = 3, OTHERS = 300 };

static _Atomic uint32_t running, most_running;
static _Atomic uint64_t at_home; // tasks that ran in the thread that submitted them
static _Thread_local uint32_t in_stage;

typedef struct scene {
  weir_context *context;
  weir_kernel *add;
  weir_buffer *cells[LINES], *shared;
  uint64_t values[LINES];
  uint32_t flags;
  uint64_t count, first, fails; // every so manieth token has a task that fails; 0: none
  uint32_t rounds;              // of a task's loop
  uint64_t delivered, failed;
  bool cancelled; // tokens may fail
} scene;

typedef struct task_value {
  uint32_t rounds, fails;
} task_value;

static void enter_task(void) {
  uint32_t now = atomic_fetch_add(&running, 1) + 1, most = atomic_load(&most_running);
  while (now > most && !atomic_compare_exchange_weak(&most_running, &most, now)) continue;
  if (in_stage > 0) atomic_fetch_add(&at_home, 1);
}

// Of tasks that run at the same time, no two have the same number, guests included.
static _Atomic bool taken[64];

static void add(const weir_work *work) {
  enter_task();
  if (work->worker >= work->worker_count || work->worker >= 64 || atomic_exchange(&taken[work->worker], true)) abort();
  uint64_t *cell = work->args[0];
  task_value value;
  memcpy(&value, work->args[1], sizeof value);
  for (volatile uint32_t i = 0; i < value.rounds; i++) continue;
  if (value.fails)
    weir_work_fail(work, "told to");
  else
    *cell += 1;
  atomic_store(&taken[work->worker], false);
  atomic_fetch_sub(&running, 1);
}

static weir_status submit(weir_token *token, weir_buffer *buffer, bool fails) {
  const scene *s = token->user;
  task_value value = {s->rounds, fails};
  weir_arg args[] = {weir_updates(buffer), weir_value(&value, sizeof value)};
  return weir_token_submit(token, &(weir_task){.kernel = s->add, .args = args, .arg_count = 2});
}

static weir_status stage(weir_token *token) {
  scene *s = token->user;
  if (token->stage == 0 && token->number == s->first + s->count) return weir_token_end_input(token);
  weir_status status = WEIR_OK;
  in_stage++;
  if (token->stage == 0) status = weir_token_fill(token, s->cells[token->line], 0, WEIR_WHOLE, 0);
  for (uint32_t i = 0; i < TASKS && status == WEIR_OK; i++) status = submit(token, s->cells[token->line], false);
  if (token->stage == 1 && status == WEIR_OK) status = submit(token, s->shared, false);
  bool fails = s->fails > 0 && token->number % s->fails == 1 && token->stage == 2;
  if (fails && status == WEIR_OK) status = submit(token, s->cells[token->line], true);
  if (token->stage == STAGES - 1 && status == WEIR_OK)
    status = weir_token_copy_out(token, s->cells[token->line], 0, WEIR_WHOLE, &s->values[token->line]);
  in_stage--;
  return status;
}

static void deliver(weir_token *token) {
  scene *s = token->user;
  if (s->fails > 0 && token->number % s->fails == 1) {
    rig_check(token->status == WEIR_ERROR_TASK_FAILED);
    rig_check(strstr(token->message, "told to") != NULL);
    s->failed++;
    return;
  }
  if (s->cancelled && token->status != WEIR_OK) return;
  rig_check(token->status == WEIR_OK);
  rig_check(s->values[token->line] == STAGES * TASKS);
  s->delivered++;
}

static void open_scene(scene *s, const char *devices, uint64_t seed) {
  s->context = rig_context(devices, seed);
  rig_ok(weir_kernel_create(s->context, "add", &s->add));
  rig_ok(weir_kernel_set_cpu(s->add, add));
  rig_ok(weir_buffer_create(s->context, sizeof(uint64_t), &s->shared));
  rig_ok(weir_fill(s->shared, 0, WEIR_WHOLE, 0, NULL));
  for (uint32_t i = 0; i < LINES; i++) rig_ok(weir_buffer_create(s->context, sizeof(uint64_t), &s->cells[i]));
}

static weir_pipeline *make(scene *s) {
  weir_stage stages[STAGES];
  for (uint32_t i = 0; i < STAGES; i++)
    stages[i] =
        (weir_stage){.function = stage, .user = s, .flags = s->flags | (i == 0 || i == 3 ? 0u : WEIR_STAGE_PARALLEL)};
  return rig_pipeline(
      s->context,
      &(weir_pipeline_options){
          .stages = stages, .stage_count = STAGES, .lines = LINES, .threads = THREADS, .deliver = deliver, .user = s});
}

static uint64_t shared_value(const scene *s) {
  uint64_t value = 0;
  rig_ok(weir_copy_out(s->shared, 0, WEIR_WHOLE, &value, NULL));
  rig_ok(weir_finish(s->context));
  return value;
}

static void play(const char *devices, uint32_t workers, uint64_t seed, uint32_t flags, uint32_t rounds,
                 uint64_t fails) {
  scene s = {.flags = flags, .rounds = rounds, .fails = fails, .count = TOKENS};
  atomic_store(&most_running, 0);
  open_scene(&s, devices, seed);
  weir_pipeline *pipeline = make(&s);
  weir_status status = weir_pipeline_run(pipeline, WEIR_FOREVER);
  assert_int_equal(status, fails > 0 ? WEIR_ERROR_TASK_FAILED : WEIR_OK);
  assert_int_equal(s.delivered + s.failed, TOKENS);
  assert_int_equal(shared_value(&s), TOKENS);
  assert_true(atomic_load(&most_running) <= workers);
  rig_ok(weir_pipeline_release(pipeline));
  weir_context_release(s.context);
  rig_no_problems();
}

static void test_results(void **state) {
  (void)state;
  const struct {
    const char *devices;
    uint32_t workers;
  } places[] = {{"cpu:1", 1}, {"cpu:2", 2}, {"cpu:3", 3}};
  test_part some = part_of(3); // of the seeds
  for (uint32_t i = 0; i < 3; i++) {
    for (uint64_t seed = some.first; seed < some.end; seed++) {
      for (uint32_t graph = 0; graph < 2; graph++) {
        uint32_t flags = graph ? WEIR_STAGE_GRAPH : 0;
        play(places[i].devices, places[i].workers, seed, flags, seed == 1 ? 400 : 5, 0);
        play(places[i].devices, places[i].workers, seed, flags, 5, 7);
      }
    }
  }
}

// ---------------------------------------------------------------------------------------------------------------
// Beside a thread that submits by itself

typedef struct other {
  const scene *scene;
  pthread_t thread;
} other;

static void *submit_others(void *argument) {
  const scene *s = ((other *)argument)->scene;
  for (uint32_t i = 0; i < OTHERS; i++) {
    task_value value = {i % 50 == 0 ? 20000 : 300, 0};
    weir_arg args[] = {weir_updates(s->shared), weir_value(&value, sizeof value)};
    rig_check(weir_submit(s->context,
                          &(weir_task){.kernel = s->add, .args = args, .arg_count = 2, .priority = i % 3 == 0},
                          NULL) == WEIR_OK);
  }
  return NULL;
}

static void test_beside_others(void **state) {
  (void)state;
  const char *const devices[] = {"cpu:1", "cpu:2"};
  test_part some = part_of(8);
  for (uint32_t i = some.first; i < some.end; i++) {
    scene s = {.flags = i / 2 % 2 ? WEIR_STAGE_GRAPH : 0, .rounds = 5, .count = TOKENS};
    atomic_store(&most_running, 0);
    open_scene(&s, devices[i % 2], i / 4);
    weir_pipeline *pipeline = make(&s);
    other others[2];
    rig_ok(weir_pipeline_start(pipeline));
    for (int j = 0; j < 2; j++) {
      others[j].scene = &s;
      assert_int_equal(pthread_create(&others[j].thread, NULL, submit_others, &others[j]), 0);
    }
    rig_ok(weir_pipeline_wait(pipeline, WEIR_FOREVER));
    for (int j = 0; j < 2; j++) pthread_join(others[j].thread, NULL);
    assert_int_equal(s.delivered, TOKENS);
    assert_int_equal(shared_value(&s), TOKENS + 2 * OTHERS);
    assert_true(atomic_load(&most_running) <= 1 + i % 2);
    rig_ok(weir_pipeline_release(pipeline));
    weir_context_release(s.context);
    rig_no_problems();
  }
}

#ifdef WEIR_PLAIN_TESTS
enum { MOST_ROUNDS = 2000 };
#else
enum { MOST_ROUNDS = 40 }; // on a busy machine it may never happen
#endif

// It happens: as soon as the kernel is known to be short, which it may not be where it is watched, and a worker sleeps.
static void test_happens(void **state) {
  (void)state;
  for (uint32_t graph = 0; graph < 2; graph++) {
    scene s = {.flags = graph ? WEIR_STAGE_GRAPH : 0, .rounds = 1, .count = TOKENS};
    open_scene(&s, "cpu:2", 0);
    weir_pipeline *pipeline = make(&s);
    atomic_store(&at_home, 0);
    int rounds = graph ? 1 : MOST_ROUNDS;
    for (int round = 0; round < rounds && atomic_load(&at_home) == 0; round++) {
      rig_ok(weir_pipeline_run(pipeline, WEIR_FOREVER));
      s.first += TOKENS;
    }
#ifdef WEIR_PLAIN_TESTS
    if (!graph) assert_true(atomic_load(&at_home) > 0); // a graph runs when its stage is over
#endif
    rig_ok(weir_pipeline_release(pipeline));
    weir_context_release(s.context);
    rig_no_problems();
  }
}

// Released while tasks run, by itself and with its context.
static void test_release(void **state) {
  (void)state;
  test_part some = part_of(40);
  for (uint32_t i = some.first; i < some.end; i++) {
    scene s = {.flags = i % 2 ? WEIR_STAGE_GRAPH : 0, .rounds = 5, .count = UINT32_MAX, .cancelled = true};
    open_scene(&s, i % 4 < 2 ? "cpu:1" : "cpu:2", 0);
    weir_pipeline *pipeline = make(&s);
    rig_ok(weir_pipeline_start(pipeline));
    weir_pipeline_statistics statistics = {0};
    while (statistics.delivered < i * 5) rig_ok(weir_pipeline_get_statistics(pipeline, &statistics));
    if (i % 3 == 0) weir_context_cancel(s.context);
    if (i % 8 < 4) rig_ok(weir_pipeline_release(pipeline));
    weir_context_release(s.context);
    rig_no_problems();
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_results),
      cmocka_unit_test(test_beside_others),
      cmocka_unit_test(test_happens),
      cmocka_unit_test(test_release),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
