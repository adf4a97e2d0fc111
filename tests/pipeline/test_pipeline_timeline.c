// SPDX-License-Identifier: Apache-2.0
//
// Timelines of pipelines: the checker proves that lines, tokens and stages kept their rules, and that lines kept to their own buffers;
// it finds a planted buffer that they share. Usage: PROGRAM TOKENS.
#include "rig.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check/check.h"
#include "weir/graph.h"
#include "weir/sim.h"

enum { LINES = 4, NUMBERS = 64 };

static uint64_t token_count;

typedef struct program {
  weir_context *context;
  weir_kernel *kernel;
  weir_buffer *weights; // all lines read them
  weir_buffer *shared;  // planted: all lines write it; NULL: not there
  weir_buffer *buffers[2][LINES];
  uint64_t tokens; // of a run
  uint64_t first;  // of the run
  _Atomic uint32_t computed;
  _Atomic bool hold;
} program;

static void work(const weir_work *work) {
  double *out = work->args[1];
  out[0] += 1;
}

static weir_status open_line(void *user, uint32_t line, void **out_state) {
  program *p = user;
  (void)out_state;
  for (int i = 0; i < 2; i++) rig_check(weir_buffer_create(p->context, NUMBERS * 8, &p->buffers[i][line]) == WEIR_OK);
  return WEIR_OK;
}

static weir_status submit(weir_token *token, int buffer) {
  program *p = token->user;
  weir_arg args[] = {weir_reads(p->weights), weir_updates(p->buffers[buffer][token->line]), weir_updates(p->shared)};
  uint32_t count = p->shared != NULL ? 3 : 2;
  return weir_token_submit(token, &(weir_task){.kernel = p->kernel, .args = args, .arg_count = count});
}

static weir_status begin(weir_token *token) {
  program *p = token->user;
  static const double numbers[NUMBERS];
  if (token->number == p->first + p->tokens) return weir_token_end_input(token);
  for (int i = 0; i < 2; i++)
    rig_check(weir_copy_in(p->buffers[i][token->line], 0, WEIR_WHOLE, numbers, NULL) == WEIR_OK);
  return WEIR_OK;
}

// Some tokens skip, are dropped or fail.
static weir_status compute(weir_token *token) {
  program *p = token->user;
  rig_check(submit(token, 0) == WEIR_OK);
  atomic_fetch_add(&p->computed, 1);
  if (token->number % 7 == 3) return weir_token_skip_to(token, 3);
  if (token->number % 11 == 5) return weir_token_drop(token);
  if (token->number % 13 == 6) return weir_token_fail(token, WEIR_ERROR_IO, "planned");
  return WEIR_OK;
}

static weir_status compute_more(weir_token *token) {
  return submit(token, 1);
}

// The first token of the program that shares is here until another one is on a line of its own.
static weir_status in_order(weir_token *token) {
  program *p = token->user;
  while (p->shared != NULL && token->number == 0 && atomic_load(&p->computed) < 2) sched_yield();
  return WEIR_OK;
}

static void deliver(weir_token *token) {
  (void)token;
}

static void open_program(program *p, const char *devices) {
  p->context = rig_tracing_context(devices, rig_seed());
  rig_ok(weir_kernel_create(p->context, "count", &p->kernel));
  rig_ok(weir_kernel_set_cpu(p->kernel, work));
  weir_sim_launch launch = {.name = "count", .blocks = 3, .threads = 64, .registers = 32, .us = 2.5};
  rig_ok(weir_kernel_set_sim(p->kernel, &launch, 1));
  rig_ok(weir_buffer_create(p->context, 64, &p->weights));
}

static weir_pipeline *make_pipeline(program *p) {
  weir_stage stages[] = {
      {.function = begin, .user = p, .name = "begin"},
      {.function = compute, .user = p, .flags = WEIR_STAGE_PARALLEL | WEIR_STAGE_AWAIT, .name = "compute"},
      {.function = in_order, .user = p, .name = "in order"},
      {.function = compute_more, .user = p, .flags = WEIR_STAGE_AWAIT | WEIR_STAGE_GRAPH}};
  weir_pipeline_options options = {.stages = stages, .stage_count = 4, .lines = LINES, .threads = 3};
  options.open_line = open_line;
  options.deliver = deliver;
  options.user = p;
  return rig_pipeline(p->context, &options);
}

static void save(const program *p, char path[64]) {
  snprintf(path, 64, "/tmp/weir-pipeline-XXXXXX.json");
  int file = mkstemps(path, 5);
  assert_true(file >= 0);
  close(file);
  rig_ok(weir_trace_save(p->context, path, "test"));
}

// Saves the timeline and checks it.
static void check(const program *p, bool lines_apart, weir__check_report *report) {
  char path[64];
  save(p, path);
  weir__check_pipelines_file(path, &(weir__check_options){.lines_apart = lines_apart}, report);
  unlink(path);
}

static void run(program *p, weir_pipeline *pipeline) {
  weir_status status = weir_pipeline_run(pipeline, WEIR_FOREVER);
  rig_check(status == WEIR_OK || status == WEIR_ERROR_IO);
  weir_finish(p->context);
  rig_no_problems();
}

static void two_runs_are_proved(const char *devices) {
  program p = {.tokens = token_count};
  weir__check_report report;
  open_program(&p, devices);
  weir_pipeline *pipeline = make_pipeline(&p);
  run(&p, pipeline);
  p.first = token_count;
  run(&p, pipeline);
  weir_pipeline_statistics statistics;
  rig_ok(weir_pipeline_get_statistics(pipeline, &statistics));
  assert_true(statistics.latency_most_ns > 0); // a context that traces notes times
  weir_pipeline_release(pipeline);             // what it did stays
  check(&p, true, &report);
  assert_string_equal(report.text, "");
  assert_int_equal(report.result, WEIR__CHECK_PROVED);
  assert_int_equal(report.pipelines, 1);
  assert_int_equal(report.tokens, 2 * token_count);
  assert_true(report.spans >= 2 * token_count * 3);
  assert_true(report.tasks >= 2 * token_count * 3); // two copies, and a task or two
  weir_trace_clear(p.context);
  check(&p, false, &report);
  assert_string_equal(report.text, "the timeline has no pipelines\n"); // it is released
  weir_context_release(p.context);
}

static void runs_are_proved(void **state) {
  (void)state;
  two_runs_are_proved("cpu:2");
  two_runs_are_proved("sim:ideal");
  two_runs_are_proved("cpu:1,sim:h200");
}

static void a_shared_buffer_is_found(void **state) {
  (void)state;
  program p = {.tokens = 60};
  weir__check_report report;
  open_program(&p, "cpu:1");
  rig_ok(weir_buffer_create(p.context, 64, &p.shared));
  weir_pipeline *pipeline = make_pipeline(&p);
  run(&p, pipeline);
  check(&p, false, &report); // it is allowed: tasks were in order
  assert_string_equal(report.text, "");
  check(&p, true, &report);
  assert_int_equal(report.result, WEIR__CHECK_BROKEN);
  assert_int_equal(report.broken, 1);
  assert_non_null(strstr(report.text, "LINES not apart in pipeline 0: buffer "));
  assert_non_null(strstr(report.text, ": task 'compute' (id "));
  assert_non_null(strstr(report.text, ", token "));
  assert_non_null(strstr(report.text, ") writes bytes [0, 64); task '"));
  weir_pipeline_release(pipeline);
  weir_context_release(p.context);
}

// Timelines that are saved and cleared while the pipeline runs are right as far as they go.
static void saved_while_it_runs(void **state) {
  (void)state;
  program p = {.tokens = 4 * token_count};
  weir__check_report report;
  open_program(&p, "cpu:1");
  weir_pipeline *pipeline = make_pipeline(&p);
  rig_ok(weir_pipeline_start(pipeline));
  for (int i = 0; i < 6; i++) {
    check(&p, true, &report);
    assert_string_equal(report.text, "");
    if (i % 2) weir_trace_clear(p.context);
  }
  weir_status status = weir_pipeline_wait(pipeline, WEIR_FOREVER);
  rig_check(status == WEIR_OK || status == WEIR_ERROR_IO);
  weir_finish(p.context);
  check(&p, true, &report);
  assert_string_equal(report.text, "");
  weir_context_release(p.context); // and the pipeline with it
  rig_no_problems();
}

static weir_status begin_two(weir_token *token) {
  return token->number == 2 ? weir_token_end_input(token) : WEIR_OK;
}

static weir_status hold(weir_token *token) {
  program *p = token->user;
  while (atomic_load(&p->hold)) sched_yield();
  return WEIR_OK;
}

static bool has(const program *p, const char *text) {
  char path[64];
  static char content[1 << 16];
  save(p, path);
  FILE *file = fopen(path, "r");
  assert_non_null(file);
  content[fread(content, 1, sizeof content - 1, file)] = '\0';
  fclose(file);
  unlink(path);
  return strstr(content, text) != NULL;
}

// What goes on when it is saved is there: one token is held in a stage, the next waits for its turn there.
static void shows_what_goes_on(void **state) {
  (void)state;
  program p = {.hold = true};
  open_program(&p, "cpu:1");
  weir_stage stages[] = {{.function = begin_two, .name = "begin"}, {.function = hold, .user = &p, .name = "hold"}};
  weir_pipeline_options options = {.stages = stages, .stage_count = 2, .lines = 2, .threads = 2};
  weir_pipeline *pipeline = rig_pipeline(p.context, &options);
  rig_ok(weir_pipeline_start(pipeline));
  // Token 1 may be there before the thread that has token 0 has called its stage.
  while (!has(&p, "{\"name\":\"hold\",\"cat\":\"line\",\"ph\":\"X\",")) sched_yield();
  while (!has(&p, "\"state\":\"turn\",\"stage\":1,\"token\":1,")) sched_yield();
  assert_true(has(&p, "\"open\":true}}"));
  weir__check_report report;
  check(&p, true, &report);
  assert_string_equal(report.text, "");
  atomic_store(&p.hold, false);
  rig_ok(weir_pipeline_wait(pipeline, WEIR_FOREVER));
  assert_false(has(&p, "\"open\""));
  assert_true(has(&p, "\"state\":\"thread\",\"stage\":1,\"token\":1,")); // it was given its turn
  check(&p, true, &report);
  assert_string_equal(report.text, "");
  assert_int_equal(report.tokens, 2);
  weir_context_release(p.context);
}

// Tasks of a graph's launch have the launch's token.
static weir_status launch_graph(weir_token *token) {
  weir_event *done = NULL;
  weir_status status = weir_graph_launch(token->data, &done);
  if (status == WEIR_OK) status = weir_token_await(token, done);
  weir_event_release(done);
  return status;
}

static weir_graph *graph;

static weir_status begin_graph(weir_token *token) {
  token->data = graph;
  return token->number == 3 ? weir_token_end_input(token) : WEIR_OK;
}

static void nodes_have_tokens(void **state) {
  (void)state;
  program p = {0};
  open_program(&p, "cpu:1");
  rig_ok(weir_graph_create(p.context, NULL, &graph));
  weir_arg args[] = {weir_reads(p.weights), weir_updates(p.weights)};
  weir_buffer *own = NULL;
  rig_ok(weir_buffer_create(p.context, 64, &own));
  args[1] = weir_updates(own);
  rig_ok(weir_graph_add(graph, &(weir_task){.kernel = p.kernel, .args = args, .arg_count = 2}, NULL));
  weir_stage stages[] = {{.function = begin_graph, .name = "begin"}, {.function = launch_graph, .name = "launch"}};
  weir_pipeline_options options = {.stages = stages, .stage_count = 2, .lines = 1, .threads = 1};
  weir_pipeline *pipeline = rig_pipeline(p.context, &options);
  rig_ok(weir_pipeline_run(pipeline, WEIR_FOREVER));
  weir__check_report report;
  check(&p, true, &report);
  assert_string_equal(report.text, "");
  assert_int_equal(report.tasks, 3);
  weir_context_release(p.context);
}

int main(int argc, char **argv) {
  token_count = argc > 1 ? strtoull(argv[1], NULL, 10) : 300;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(runs_are_proved),     cmocka_unit_test(a_shared_buffer_is_found),
      cmocka_unit_test(saved_while_it_runs), cmocka_unit_test(shows_what_goes_on),
      cmocka_unit_test(nodes_have_tokens),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
