// SPDX-License-Identifier: Apache-2.0
//
// Failures, stops, time-outs, pipelines that are released while they run, and memory that runs out at each allocation.
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "allocation_ledger.h"
#include "base/allocate.h"
#include "rig.h"
#include "weir/sim.h"

enum { MILLISECOND = 1000000 };

// What the stages of a test do, by number and stage of the token.
typedef struct plan {
  uint64_t count;
  uint64_t bad;       // this token
  uint32_t bad_stage; // does in this stage
  weir_status (*act)(weir_token *token);
  _Atomic uint64_t calls[4];
  _Atomic uint32_t gate; // 1: open
  _Atomic uint64_t delivered, failed;
  weir_status failed_status;
  char failed_text[256];
} plan;

static weir_status follow(weir_token *token) {
  plan *p = token->user;
  if (token->stage == 0 && token->number == p->count) return weir_token_end_input(token);
  atomic_fetch_add(&p->calls[token->stage], 1);
  return token->number == p->bad && token->stage == p->bad_stage ? p->act(token) : WEIR_OK;
}

static void note(weir_token *token) {
  plan *p = token->user;
  if (token->status == WEIR_OK) {
    atomic_fetch_add(&p->delivered, 1);
    return;
  }
  atomic_fetch_add(&p->failed, 1);
  p->failed_status = token->status;
  snprintf(p->failed_text, sizeof p->failed_text, "%s", token->message);
}

static weir_pipeline *make(weir_context *context, plan *p, uint32_t lines, uint32_t flags) {
  weir_stage stages[4] = {
      {.function = follow, .user = p, .name = "read"},
      {.function = follow, .user = p, .flags = WEIR_STAGE_PARALLEL, .name = "turn"},
      {.function = follow, .user = p, .flags = WEIR_STAGE_PARALLEL | WEIR_STAGE_AWAIT, .name = "work"},
      {.function = follow, .user = p, .name = "write"}};
  return rig_pipeline(context, &(weir_pipeline_options){.stages = stages,
                                                        .stage_count = 4,
                                                        .lines = lines,
                                                        .threads = 2,
                                                        .flags = flags,
                                                        .deliver = note,
                                                        .user = p});
}

static void assert_text(const char *text, const char *part) {
  if (strstr(text, part) == NULL) fail_msg("'%s' is not in '%s'", part, text);
}

// ---------------------------------------------------------------------------------------------------------------
// One token fails

static weir_status return_failure(weir_token *token) {
  (void)token;
  return WEIR_ERROR_IO;
}

static weir_status fail_with_text(weir_token *token) {
  return weir_token_fail(token, WEIR_ERROR_IO, "the frame is damaged");
}

static weir_status fail_and_return_ok(weir_token *token) {
  weir_token_fail(token, WEIR_OK, NULL);
  return WEIR_OK;
}

static void fail_task(const weir_work *work) {
  weir_work_fail(work, "out of luck");
}

static weir_status submit_failing_task(weir_token *token) {
  weir_task task = {.host = fail_task};
  return weir_token_submit(token, &task);
}

static void play_failure(weir_status (*act)(weir_token *), uint32_t stage, weir_status status, const char *text) {
  weir_context *context = rig_context("cpu:1", 0);
  plan p = {.count = 50, .bad = 17, .bad_stage = stage, .act = act};
  weir_pipeline *pipeline = make(context, &p, 4, 0);
  assert_int_equal(weir_pipeline_run(pipeline, WEIR_FOREVER), status);
  char where[64];
  snprintf(where, sizeof where, "token 17 on line ");
  assert_text(weir_last_error(), where);
  assert_text(weir_last_error(), text);
  assert_int_equal(p.delivered, 49);
  assert_int_equal(p.failed, 1);
  assert_int_equal(p.failed_status, status);
  assert_text(p.failed_text, text);
  rig_ok(weir_pipeline_wait(pipeline, WEIR_FOREVER)); // it was reported
  weir_pipeline_statistics statistics;
  rig_ok(weir_pipeline_get_statistics(pipeline, &statistics));
  assert_int_equal(statistics.failed, 1);
  rig_ok(weir_pipeline_release(pipeline));
  weir_context_release(context);
}

static void test_failures(void **state) {
  (void)state;
  play_failure(return_failure, 0, WEIR_ERROR_IO, "stage 0 'read'");
  play_failure(return_failure, 2, WEIR_ERROR_IO, "stage 2 'work'");
  play_failure(return_failure, 3, WEIR_ERROR_IO, "stage 3 'write'");
  play_failure(fail_with_text, 1, WEIR_ERROR_IO, "stage 1 'turn': the frame is damaged");
  play_failure(fail_and_return_ok, 1, WEIR_ERROR_TASK_FAILED, "stage 1 'turn'");
  for (uint32_t stage = 0; stage < 4; stage++) {
    char text[32];
    snprintf(text, sizeof text, "stage %u ", stage);
    play_failure(submit_failing_task, stage, WEIR_ERROR_TASK_FAILED, text);
    play_failure(submit_failing_task, stage, WEIR_ERROR_TASK_FAILED, "out of luck");
  }
}

enum { FAILING_TOKENS = 400, FAILING_TASKS = 3 };

// Tasks that are awaited by an event and tasks of the token's own fail at the same time.
static weir_status submit_failing_tasks(weir_token *token) {
  if (token->stage == 0 && token->number == FAILING_TOKENS) return weir_token_end_input(token);
  weir_task task = {.host = fail_task};
  weir_status status = WEIR_OK;
  for (int i = 0; token->stage == 1 && i < FAILING_TASKS && status == WEIR_OK; i++) {
    weir_event *event = NULL;
    status = weir_submit(token->user, &task, &event);
    if (status == WEIR_OK) status = weir_token_await(token, event);
    weir_event_release(event);
    if (status == WEIR_OK) status = weir_token_submit(token, &task);
  }
  return status;
}

static void count_failures(weir_token *token) {
  _Atomic uint64_t *failures = token->user;
  rig_check(token->status == WEIR_ERROR_TASK_FAILED);
  rig_check(strncmp(token->message, "stage 1 'work': task ", 21) == 0);
  rig_check(strstr(token->message, ": out of luck") != NULL);
  atomic_fetch_add(failures, 1);
}

static void test_many_fail_at_once(void **state) {
  (void)state;
  weir_context *context = rig_context("cpu:4", 0);
  _Atomic uint64_t failures = 0;
  weir_stage stages[] = {
      {.function = submit_failing_tasks, .user = context, .name = "read"},
      {.function = submit_failing_tasks, .user = context, .flags = WEIR_STAGE_PARALLEL, .name = "work"}};
  weir_pipeline *pipeline = rig_pipeline(context, &(weir_pipeline_options){.stages = stages,
                                                                           .stage_count = 2,
                                                                           .lines = 4,
                                                                           .threads = 2,
                                                                           .deliver = count_failures,
                                                                           .user = (void *)&failures});
  assert_int_equal(weir_pipeline_run(pipeline, WEIR_FOREVER), WEIR_ERROR_TASK_FAILED);
  rig_no_problems();
  assert_int_equal(failures, FAILING_TOKENS);
  rig_ok(weir_pipeline_release(pipeline));
  weir_context_release(context);
}

static void test_stop_on_failure(void **state) {
  (void)state;
  weir_context *context = rig_context("cpu:1", 0);
  plan p = {.count = UINT64_MAX, .bad = 17, .bad_stage = 1, .act = return_failure};
  weir_pipeline *pipeline = make(context, &p, 4, WEIR_PIPELINE_STOP_ON_FAILURE);
  assert_int_equal(weir_pipeline_run(pipeline, WEIR_FOREVER), WEIR_ERROR_IO);
  assert_true(p.delivered >= 17);
  assert_int_equal(p.failed, 1);
  assert_int_equal(p.delivered + 1, p.calls[0]);
  rig_ok(weir_pipeline_release(pipeline));
  weir_context_release(context);
}

// ---------------------------------------------------------------------------------------------------------------
// Stops

static weir_status stop(weir_token *token) {
  rig_check(weir_pipeline_stop(token->pipeline) == WEIR_OK);
  rig_check(weir_pipeline_stopping(token->pipeline));
  return WEIR_OK;
}

static weir_status cancel(weir_token *token) {
  return weir_pipeline_cancel(token->pipeline);
}

static void test_stops(void **state) {
  (void)state;
  for (uint32_t stage = 0; stage < 4; stage++) {
    for (uint32_t lines = 1; lines < 6; lines += 2) {
      weir_context *context = rig_context("cpu:1", 0);
      plan p = {.count = UINT64_MAX, .bad = 10, .bad_stage = stage, .act = stop};
      weir_pipeline *pipeline = make(context, &p, lines, 0);
      rig_ok(weir_pipeline_run(pipeline, WEIR_FOREVER));
      assert_int_equal(p.delivered, p.calls[0]); // all that began
      assert_true(p.delivered >= 11);
      p.act = cancel;
      p.bad = p.calls[0] + 5;
      weir_status status = weir_pipeline_run(pipeline, WEIR_FOREVER);
      // The token that cancels in the last stage may be the last in flight.
      if (stage < 3) assert_int_equal(status, WEIR_ERROR_CANCELLED);
      if (status != WEIR_OK) assert_text(weir_last_error(), "cancelled");
      assert_int_equal(p.delivered + p.failed, p.calls[0]);
      rig_ok(weir_pipeline_release(pipeline));
      weir_context_release(context);
      rig_no_problems();
    }
  }
}

// ---------------------------------------------------------------------------------------------------------------
// Stages and tasks that block

static weir_status wait_for_gate(weir_token *token) {
  plan *p = token->user;
  while (atomic_load(&p->gate) == 0) nanosleep(&(struct timespec){.tv_nsec = 10000}, NULL);
  return WEIR_OK;
}

static weir_status wait_for_stop(weir_token *token) {
  plan *p = token->user;
  atomic_store(&p->gate, 1);
  while (!weir_pipeline_stopping(token->pipeline)) nanosleep(&(struct timespec){.tv_nsec = 10000}, NULL);
  return WEIR_OK;
}

static void block_task(const weir_work *work) {
  plan *p = work->user;
  while (atomic_load(&p->gate) == 0) nanosleep(&(struct timespec){.tv_nsec = 10000}, NULL);
}

static weir_status submit_blocked_task(weir_token *token) {
  return weir_token_submit(token, &(weir_task){.host = block_task, .user = token->user});
}

static void play_block(weir_status (*act)(weir_token *), uint32_t stage, const char *text) {
  weir_context *context = rig_context("cpu:1", 0);
  plan p = {.count = 40, .bad = 9, .bad_stage = stage, .act = act};
  weir_pipeline *pipeline = make(context, &p, 4, 0);
  rig_ok(weir_pipeline_start(pipeline));
  while (atomic_load(&p.delivered) < 9) nanosleep(&(struct timespec){.tv_nsec = 10000}, NULL);
  do assert_int_equal(weir_pipeline_wait(pipeline, MILLISECOND), WEIR_TIMEOUT);
  while (strstr(weir_last_error(), text) == NULL); // until the token is where it blocks
  assert_text(weir_last_error(), "token 9 on line ");
  assert_int_equal(p.delivered, 9);
  atomic_store(&p.gate, 1);
  rig_ok(weir_pipeline_wait(pipeline, WEIR_FOREVER));
  assert_int_equal(p.delivered, 40);
  rig_ok(weir_pipeline_release(pipeline));
  weir_context_release(context);
}

static void test_blocks(void **state) {
  (void)state;
  play_block(wait_for_gate, 0, "is in stage 0 'read'");
  play_block(wait_for_gate, 1, "is in stage 1 'turn'");
  play_block(wait_for_gate, 3, "is in stage 3 'write'");
  play_block(submit_blocked_task, 2, "waits for tasks after stage 2 'work'");
  play_block(submit_blocked_task, 3, "waits for tasks after stage 3 'write'");
}

// Released while tokens and tasks are in flight, by itself and with its context.
static void test_release_running(void **state) {
  (void)state;
  for (int round = 0; round < 40; round++) {
    weir_context *context = rig_context("cpu:1", (uint64_t)round);
    plan p = {.count = UINT64_MAX,
              .bad = (uint64_t)(round * 3),
              .bad_stage = (uint32_t)round / 2 % 4,
              .act = round % 3 == 0 ? wait_for_stop : submit_blocked_task};
    weir_pipeline *pipeline = make(context, &p, 1 + (uint32_t)round % 5, 0);
    rig_ok(weir_pipeline_start(pipeline));
    if (round % 3 == 0)
      while (atomic_load(&p.gate) == 0) nanosleep(&(struct timespec){.tv_nsec = 10000}, NULL);
    atomic_store(&p.gate, 1);
    if (round % 2 == 0) rig_ok(weir_pipeline_release(pipeline));
    weir_context_release(context);
    assert_int_equal(p.delivered + p.failed, p.calls[0]);
  }
  rig_no_problems();
}

// ---------------------------------------------------------------------------------------------------------------
// Memory

typedef struct memory_scene {
  weir_buffer *buffers[2];
  weir_kernel *kernel;
  _Atomic uint64_t delivered, failed;
} memory_scene;

enum { TOKENS = 6, TASKS = 40 };

static void add_one(const weir_work *work) {
  *(uint32_t *)work->args[0] += 1;
}

static weir_status submit_many(weir_token *token) {
  memory_scene *s = token->user;
  if (token->stage == 0 && token->number == TOKENS) return weir_token_end_input(token);
  weir_arg arg = weir_updates(s->buffers[token->line]);
  weir_task task = {.kernel = s->kernel, .args = &arg, .arg_count = 1};
  for (int i = 0; i < TASKS; i++) {
    weir_status status = weir_token_submit(token, &task);
    rig_check(status == WEIR_OK || status == WEIR_ERROR_OUT_OF_MEMORY);
    if (status != WEIR_OK) return status;
  }
  return WEIR_OK;
}

static void count_delivery(weir_token *token) {
  memory_scene *s = token->user;
  atomic_fetch_add(token->status == WEIR_OK ? &s->delivered : &s->failed, 1);
}

static bool good(weir_status status) {
  if (status != WEIR_OK && status != WEIR_ERROR_OUT_OF_MEMORY && status != WEIR_ERROR_UPSTREAM_FAILED)
    fail_msg("%s: %s", weir_status_name(status), weir_last_error());
  if (status != WEIR_OK) assert_true(strlen(weir_last_error()) > 0);
  return status == WEIR_OK;
}

static bool play_memory(uint32_t flags) {
  memory_scene s = {.delivered = 0};
  weir_context *context = NULL;
  weir_pipeline *pipeline = NULL;
  if (!good(weir_context_create(&(weir_context_options){.devices = "cpu:1"}, &context))) return false;
  weir_sim_launch launch = {.threads = 64, .us = 1};
  bool all = good(weir_kernel_create(context, "add", &s.kernel)) && good(weir_kernel_set_cpu(s.kernel, add_one)) &&
             good(weir_kernel_set_sim(s.kernel, &launch, 1));
  for (int i = 0; i < 2; i++) {
    all = all && good(weir_buffer_create(context, 4, &s.buffers[i])) && good(weir_fill(s.buffers[i], 0, 4, 0, NULL));
  }
  weir_stage stages[] = {{.function = submit_many, .user = &s, .flags = WEIR_STAGE_AWAIT | flags, .name = "many"},
                         {.function = submit_many, .user = &s, .flags = flags, .name = "more"}};
  weir_pipeline_options options = {.stages = stages,
                                   .stage_count = 2,
                                   .lines = 2,
                                   .threads = 2,
                                   .flags = WEIR_PIPELINE_TIMES,
                                   .deliver = count_delivery,
                                   .user = &s};
  all = all && good(weir_pipeline_create(context, &options, &pipeline));
  if (all) {
    bool ran = good(weir_pipeline_run(pipeline, WEIR_FOREVER));
    assert_int_equal(s.delivered + s.failed, TOKENS);
    assert_int_equal(ran, s.failed == 0);
    weir_pipeline_statistics statistics;
    all = ran & good(weir_pipeline_get_statistics(pipeline, &statistics));
  }
  rig_ok(weir_pipeline_release(pipeline));
  weir_context_release(context);
  return all;
}

// Returns how many of the runs failed.
static uint64_t fail_each_allocation(uint32_t flags) {
  assert_true(play_memory(flags));
  int64_t live = ledger_live();
  int threads = ledger_threads(1);
  uint64_t failures = 0;
  for (uint64_t n = 1;; n++) {
    uint64_t before = weir__allocate_count();
    weir__allocate_fail_at(n);
    bool all = play_memory(flags);
    weir__allocate_fail_at(0);
    assert_int_equal(ledger_live(), live);
    assert_int_equal(ledger_threads(threads), threads);
    failures += !all;
    if (weir__allocate_count() - before < n) break;
    assert_true(n < 5000);
  }
  rig_no_problems();
  return failures;
}

static void test_memory(void **state) {
  (void)state;
  assert_true(fail_each_allocation(0) > 10);
}

// A graph for which there is no memory is no failure: its tasks are submitted one by one.
static void test_memory_of_graphs(void **state) {
  (void)state;
  assert_true(fail_each_allocation(WEIR_STAGE_GRAPH) > 10);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_failures),        cmocka_unit_test(test_many_fail_at_once),
      cmocka_unit_test(test_stop_on_failure), cmocka_unit_test(test_stops),
      cmocka_unit_test(test_blocks),          cmocka_unit_test(test_release_running),
      cmocka_unit_test(test_memory),          cmocka_unit_test(test_memory_of_graphs),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
