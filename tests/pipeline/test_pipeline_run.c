// SPDX-License-Identifier: Apache-2.0
//
// What pipelines promise: order, the bound of lines, state of lines, skipped and dropped tokens, delivery, several runs.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "rig.h"

enum { MOST_TOKENS = 5000, RUNS = 5000 };

typedef struct line_state {
  _Atomic int inside;
  uint32_t line;
} line_state;

// A run of a pipeline whose stages watch each other.
typedef struct scene {
  uint64_t count; // of tokens
  uint32_t lines;
  uint64_t next[WEIR_PIPELINE_MOST_STAGES]; // token that the serial stage expects
  _Atomic uint32_t in_flight, most_in_flight;
  _Atomic uint64_t seen[MOST_TOKENS]; // bit per stage
  uint64_t next_delivered;
  _Atomic uint64_t delivered;
  line_state states[WEIR_PIPELINE_MOST_LINES];
  uint32_t opened, closed;
  bool serial[WEIR_PIPELINE_MOST_STAGES];
} scene;

static weir_status open_line(void *user, uint32_t line, void **out_state) {
  scene *s = user;
  s->opened++;
  s->states[line].line = line;
  *out_state = &s->states[line];
  return WEIR_OK;
}

static void close_line(void *user, uint32_t line, void *state) {
  scene *s = user;
  s->closed++;
  assert_ptr_equal(state, &s->states[line]);
}

static void enter_line(const weir_token *token) {
  line_state *state = token->line_state;
  rig_check(state->line == token->line);
  rig_check(atomic_exchange(&state->inside, 1) == 0);
}

static void leave_line(const weir_token *token) {
  atomic_store(&((line_state *)token->line_state)->inside, 0);
}

static weir_status watch(weir_token *token) {
  scene *s = token->user;
  enter_line(token);
  if (token->stage == 0) {
    rig_check(token->data == NULL);
    if (token->number == s->count) {
      leave_line(token);
      return weir_token_end_input(token);
    }
    uint32_t now = atomic_fetch_add(&s->in_flight, 1) + 1;
    if (now > atomic_load(&s->most_in_flight)) atomic_store(&s->most_in_flight, now); // stage 0 is serial
    token->data = (void *)(uintptr_t)(token->number + 1);
  }
  rig_check(token->data == (void *)(uintptr_t)(token->number + 1));
  if (s->serial[token->stage]) rig_check(s->next[token->stage]++ == token->number);
  uint64_t before = atomic_fetch_or(&s->seen[token->number], 1ull << token->stage);
  rig_check(before == (1ull << token->stage) - 1);
  leave_line(token);
  return WEIR_OK;
}

static void deliver(weir_token *token) {
  scene *s = token->user;
  enter_line(token);
  rig_check(token->status == WEIR_OK && token->message[0] == '\0');
  rig_check(s->next_delivered++ == token->number);
  atomic_fetch_sub(&s->in_flight, 1);
  leave_line(token);
}

static void deliver_unordered(weir_token *token) {
  scene *s = token->user;
  enter_line(token);
  atomic_fetch_add(&s->delivered, 1);
  atomic_fetch_sub(&s->in_flight, 1);
  leave_line(token);
}

// `kinds`: a letter a stage, s serial or p parallel.
static void play(const char *kinds, uint32_t lines, uint32_t threads, uint64_t count, uint32_t flags, uint64_t seed) {
  static scene s;
  memset(&s, 0, sizeof s);
  s.count = count;
  weir_stage stages[WEIR_PIPELINE_MOST_STAGES] = {0};
  uint32_t stage_count = (uint32_t)strlen(kinds);
  for (uint32_t i = 0; i < stage_count; i++) {
    s.serial[i] = kinds[i] == 's';
    stages[i] = (weir_stage){.function = watch, .user = &s, .flags = s.serial[i] ? 0 : WEIR_STAGE_PARALLEL};
  }
  weir_context *context = rig_context("cpu:1", seed);
  bool ordered = (flags & WEIR_PIPELINE_UNORDERED) == 0;
  weir_pipeline_options options = {.stages = stages,
                                   .stage_count = stage_count,
                                   .lines = lines,
                                   .threads = threads,
                                   .flags = flags,
                                   .deliver = ordered ? deliver : deliver_unordered,
                                   .open_line = open_line,
                                   .close_line = close_line,
                                   .user = &s};
  weir_pipeline *pipeline = rig_pipeline(context, &options);
  assert_int_equal(s.opened, lines);
  rig_ok(weir_pipeline_run(pipeline, WEIR_FOREVER));
  weir_pipeline_statistics statistics;
  rig_ok(weir_pipeline_get_statistics(pipeline, &statistics));
  assert_int_equal(statistics.tokens, count);
  assert_int_equal(statistics.delivered, count);
  assert_int_equal(statistics.failed + statistics.dropped + statistics.in_flight, 0);
  uint64_t on_lines = 0;
  for (uint32_t i = 0; i < lines; i++) on_lines += statistics.lines[i].tokens;
  assert_int_equal(on_lines, count);
  rig_ok(weir_pipeline_release(pipeline));
  assert_int_equal(s.closed, lines);
  assert_int_equal(ordered ? s.next_delivered : atomic_load(&s.delivered), count);
  assert_true(atomic_load(&s.most_in_flight) <= lines);
  for (uint64_t i = 0; i < count; i++) assert_int_equal(atomic_load(&s.seen[i]), (1ull << stage_count) - 1);
  weir_context_release(context);
  rig_no_problems();
}

static void test_shapes(void **state) {
  (void)state;
  const char *kinds[] = {"s", "ss", "sp", "sps", "ssss", "spppp", "spspspsp"};
  for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
    for (uint32_t lines = 1; lines <= 8; lines += lines < 4 ? 1 : 4) {
      for (uint32_t threads = 1; threads <= 3; threads++) {
        play(kinds[i], lines, threads, 300, 0, 0);
        play(kinds[i], lines, threads, 100, WEIR_PIPELINE_UNORDERED | WEIR_PIPELINE_TIMES, rig_seed() + i);
        play(kinds[i], lines, threads, 200, 0, rig_seed() + i);
      }
    }
  }
}

static void test_no_tokens(void **state) {
  (void)state;
  play("sps", 4, 2, 0, 0, 0);
}

static void test_more_lines_than_tokens(void **state) {
  (void)state;
  play("sps", WEIR_PIPELINE_MOST_LINES, 4, 3, 0, 0);
  play("sps", WEIR_PIPELINE_MOST_LINES, 4, MOST_TOKENS - 1, 0, 0);
}

// ---------------------------------------------------------------------------------------------------------------
// Which stages are called

typedef struct route {
  uint64_t count;
  _Atomic uint64_t calls[4];
  uint64_t next_delivered;
  uint64_t number[100];
  uint32_t delivered;
} route;

// Token 3n goes through all stages, 3n + 1 skips stage 1 and 2, 3n + 2 is dropped in stage 1.
static weir_status take_route(weir_token *token) {
  route *r = token->user;
  if (token->stage == 0 && token->number % 100 == r->count) return weir_token_end_input(token);
  atomic_fetch_add(&r->calls[token->stage], 1);
  if (token->stage == 0 && token->number % 3 == 1) return weir_token_skip_to(token, 3);
  if (token->stage == 1 && token->number % 3 == 2) return weir_token_drop(token);
  rig_check(token->stage == 0 || token->stage == 3 || token->number % 3 == 0);
  return WEIR_OK;
}

static void note_delivery(weir_token *token) {
  route *r = token->user;
  r->number[r->delivered++] = token->number;
}

static void test_routes(void **state) {
  (void)state;
  for (uint32_t flags = 0; flags < 2; flags++) {
    route r = {.count = 60};
    weir_stage stages[4];
    for (uint32_t i = 0; i < 4; i++)
      stages[i] = (weir_stage){
          .function = take_route, .user = &r, .flags = i > 0 && flags != 0 ? WEIR_STAGE_PARALLEL : 0, .name = "route"};
    weir_context *context = rig_context("cpu:1", rig_seed());
    weir_pipeline *pipeline = rig_pipeline(
        context,
        &(weir_pipeline_options){
            .stages = stages, .stage_count = 4, .lines = 5, .threads = 3, .deliver = note_delivery, .user = &r});
    rig_ok(weir_pipeline_run(pipeline, WEIR_FOREVER));
    assert_int_equal(r.calls[0], 60);
    assert_int_equal(r.calls[1], 40);
    assert_int_equal(r.calls[2], 20);
    assert_int_equal(r.calls[3], 40);
    assert_int_equal(r.delivered, 40);
    for (uint32_t i = 0; i < 40; i++) assert_int_equal(r.number[i], i / 2 * 3 + i % 2);
    weir_pipeline_statistics statistics;
    rig_ok(weir_pipeline_get_statistics(pipeline, &statistics));
    assert_int_equal(statistics.delivered, 40);
    assert_int_equal(statistics.dropped, 20);
    rig_ok(weir_pipeline_release(pipeline));
    weir_context_release(context);
    rig_no_problems();
  }
}

// ---------------------------------------------------------------------------------------------------------------
// Several runs

typedef struct counter {
  uint64_t left, last;
} counter;

static weir_status count_down(weir_token *token) {
  counter *c = token->user;
  if (c->left == 0) return weir_token_end_input(token);
  c->left--;
  c->last = token->number;
  return WEIR_OK;
}

static weir_status pass(weir_token *token) {
  (void)token;
  return WEIR_OK;
}

static void test_several_runs(void **state) {
  (void)state;
  counter c = {0};
  weir_stage stages[] = {{.function = count_down, .user = &c}, {.function = pass}};
  weir_context *context = rig_context("cpu:1", 0);
  weir_pipeline *pipeline =
      rig_pipeline(context, &(weir_pipeline_options){.stages = stages, .stage_count = 2, .lines = 3});
  rig_ok(weir_pipeline_wait(pipeline, WEIR_FOREVER)); // it was never started
  for (uint64_t run = 1; run <= 200; run++) {
    c.left = 7;
    rig_ok(weir_pipeline_run(pipeline, WEIR_FOREVER));
    assert_int_equal(c.last, 7 * run - 1);
  }
  rig_ok(weir_pipeline_release(pipeline));
  weir_context_release(context);
}

// Two pipelines of one context at once, one of which waits for the other in a stage.
static weir_status run_other(weir_token *token) {
  weir_pipeline *other = token->user;
  if (token->number == 5) return weir_token_end_input(token);
  return weir_pipeline_run(other, WEIR_FOREVER);
}

static void test_pipeline_in_a_stage(void **state) {
  (void)state;
  counter c = {.left = 100};
  weir_stage inner = {.function = count_down, .user = &c};
  weir_context *context = rig_context("cpu:1", 0);
  weir_pipeline *other =
      rig_pipeline(context, &(weir_pipeline_options){.stages = &inner, .stage_count = 1, .lines = 2});
  weir_stage outer = {.function = run_other, .user = other};
  weir_pipeline *pipeline =
      rig_pipeline(context, &(weir_pipeline_options){.stages = &outer, .stage_count = 1, .lines = 1});
  rig_ok(weir_pipeline_run(pipeline, WEIR_FOREVER));
  assert_int_equal(c.last, 99);
  weir_context_release(context); // takes both
}

// ---------------------------------------------------------------------------------------------------------------
// Times

static weir_status rest(weir_token *token) {
  if (token->stage == 0 && token->number == 20) return weir_token_end_input(token);
  nanosleep(&(struct timespec){.tv_nsec = token->stage == 1 ? 1000000 : 10000}, NULL);
  return WEIR_OK;
}

static void test_times(void **state) {
  (void)state;
  weir_stage stages[] = {{.function = rest}, {.function = rest}, {.function = rest}};
  weir_context *context = rig_context("cpu:1", 0);
  weir_pipeline *pipeline = rig_pipeline(
      context, &(weir_pipeline_options){
                   .stages = stages, .stage_count = 3, .lines = 4, .threads = 2, .flags = WEIR_PIPELINE_TIMES});
  rig_ok(weir_pipeline_run(pipeline, WEIR_FOREVER));
  weir_pipeline_statistics found;
  rig_ok(weir_pipeline_get_statistics(pipeline, &found));
  uint64_t busy = 0, turn = 0;
  for (uint32_t i = 0; i < 4; i++) {
    busy += found.lines[i].busy_ns;
    turn += found.lines[i].turn_ns;
  }
  assert_true(busy >= 20 * 1000000);
  assert_true(turn > 0); // stage 1 is serial and the slowest
  assert_true(found.run_ns >= 20 * 1000000);
  assert_true(found.latency_least_ns >= 1000000);
  assert_true(found.latency_least_ns <= found.latency_median_ns && found.latency_median_ns <= found.latency_90_ns &&
              found.latency_90_ns <= found.latency_99_ns && found.latency_99_ns <= found.latency_most_ns);
  assert_true(found.per_second > 0 && found.per_second <= 1000);
  weir_context_release(context);
}

// Asked for by another thread while runs end and begin.
typedef struct reader {
  weir_pipeline *pipeline;
  _Atomic bool stops;
} reader;

static void *read_statistics(void *argument) {
  reader *r = argument;
  weir_pipeline_statistics found;
  while (!atomic_load(&r->stops)) {
    rig_check(weir_pipeline_get_statistics(r->pipeline, &found) == WEIR_OK);
    rig_check(found.run_ns < 3600ull * 1000000000); // not a negative number
    rig_check(found.per_second < 1e15);
  }
  return NULL;
}

static void test_statistics_between_runs(void **state) {
  (void)state;
  counter c = {0};
  weir_stage stage = {.function = count_down, .user = &c};
  weir_context *context = rig_context("cpu:1", 0);
  weir_pipeline *pipeline =
      rig_pipeline(context, &(weir_pipeline_options){.stages = &stage, .stage_count = 1, .lines = 1, .threads = 1});
  reader r = {.pipeline = pipeline};
  pthread_t thread;
  assert_int_equal(pthread_create(&thread, NULL, read_statistics, &r), 0);
  for (int run = 0; run < RUNS; run++) {
    c.left = 3;
    rig_ok(weir_pipeline_run(pipeline, WEIR_FOREVER));
  }
  atomic_store(&r.stops, true);
  pthread_join(thread, NULL);
  weir_context_release(context);
  rig_no_problems();
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_shapes),       cmocka_unit_test(test_no_tokens),
      cmocka_unit_test(test_routes),       cmocka_unit_test(test_more_lines_than_tokens),
      cmocka_unit_test(test_several_runs), cmocka_unit_test(test_pipeline_in_a_stage),
      cmocka_unit_test(test_times),        cmocka_unit_test(test_statistics_between_runs),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
