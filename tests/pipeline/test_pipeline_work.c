// SPDX-License-Identifier: Apache-2.0
//
// What stages submit: more tasks than the window has room for, launches over several devices, graphs, chains; waiting in a stage.
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "engine/context.h"
#include "rig.h"
#include "weir/chain.h"
#include "weir/sim.h"
#include "weir/split.h"

enum { TOKENS = 40, LINES = 3, CELLS = 24 };

typedef struct line_state {
  weir_buffer *cells;
  weir_graph *graph;
  uint32_t found[CELLS];
} line_state;

typedef struct scene {
  weir_context *context;
  weir_kernel *kernel;
  weir_split *split;
  weir_chain *chain;
  line_state lines[LINES];
  uint32_t steps; // that a token's cells go through
  uint64_t delivered;
} scene;

static void add_one(const weir_work *work) {
  uint32_t *cells = work->args[0];
  for (uint64_t i = work->first; i < work->end; i++) cells[i]++;
}

static weir_task task_of(const scene *s, const weir_arg *arg) {
  return (weir_task){.kernel = s->kernel, .args = arg, .arg_count = 1, .groups = {CELLS, 1, 1}};
}

static weir_status open_line(void *user, uint32_t number, void **out_state) {
  scene *s = user;
  line_state *line = &s->lines[number];
  *out_state = line;
  rig_ok(weir_buffer_create(s->context, sizeof line->found, &line->cells));
  rig_ok(weir_graph_create(s->context, NULL, &line->graph));
  weir_arg arg = weir_updates(line->cells);
  weir_task task = task_of(s, &arg);
  for (int i = 0; i < 3; i++) rig_ok(weir_graph_add(line->graph, &task, NULL));
  return WEIR_OK;
}

static void close_line(void *user, uint32_t number, void *state) {
  (void)user, (void)number;
  line_state *line = state;
  rig_ok(weir_graph_release(line->graph));
  rig_ok(weir_buffer_release(line->cells));
}

static weir_status begin(weir_token *token) {
  line_state *line = token->line_state;
  if (token->number == TOKENS) return weir_token_end_input(token);
  return weir_fill(line->cells, 0, WEIR_WHOLE, (uint32_t)token->number * 100, NULL);
}

static weir_status await(weir_token *token, weir_status status, weir_event *event) {
  if (status != WEIR_OK) return status;
  status = weir_token_await(token, event);
  weir_event_release(event);
  return status;
}

static weir_status many_tasks(weir_token *token) {
  const scene *s = token->user;
  const line_state *line = token->line_state;
  weir_arg arg = weir_updates(line->cells);
  weir_task task = task_of(s, &arg);
  for (int i = 0; i < 100; i++) {
    weir_status status = weir_token_submit(token, &task);
    if (status != WEIR_OK) return status;
  }
  return WEIR_OK;
}

static weir_status launch_graph(weir_token *token) {
  const line_state *line = token->line_state;
  weir_event *event;
  weir_status status = weir_graph_launch(line->graph, &event);
  return await(token, status, event);
}

static weir_status launch_split(weir_token *token) {
  const scene *s = token->user;
  const line_state *line = token->line_state;
  weir_split_arg arg = weir_split_block(weir_updates(line->cells), sizeof(uint32_t));
  weir_split_launch launch = {.kernel = s->kernel, .args = &arg, .arg_count = 1, .groups = {CELLS, 1, 1}};
  weir_event *event;
  weir_status status = weir_split_submit(s->split, &launch, &event);
  return await(token, status, event);
}

static weir_status submit_item(weir_token *token) {
  const scene *s = token->user;
  const line_state *line = token->line_state;
  weir_arg arg = weir_updates(line->cells);
  weir_event *event;
  weir_status status = weir_chain_submit(s->chain, &(weir_chain_item){.args = &arg, .arg_count = 1}, &event);
  return await(token, status, event);
}

// Looks at the result within the stage.
static weir_status copy_and_wait(weir_token *token) {
  const scene *s = token->user;
  line_state *line = token->line_state;
  weir_event *event;
  weir_status status = weir_copy_out(line->cells, 0, WEIR_WHOLE, line->found, &event);
  if (status != WEIR_OK) return status;
  status = weir_event_wait(event, WEIR_FOREVER);
  weir_event_release(event);
  for (uint32_t i = 0; i < CELLS; i++) rig_check(line->found[i] == token->number * 100 + s->steps);
  return status;
}

static void deliver(weir_token *token) {
  scene *s = token->user;
  rig_check(token->status == WEIR_OK);
  s->delivered++;
}

// A pipeline with these stages between the first and the last; `steps`: how much they add to the cells.
static void play(const char *devices, uint32_t window, const weir_stage_function *functions, uint32_t count,
                 uint32_t steps, uint32_t threads) {
  static scene s;
  memset(&s, 0, sizeof s);
  s.steps = steps;
  rig_ok(weir_context_create(&(weir_context_options){.devices = devices, .window = window}, &s.context));
  const weir_sim_launch launch = {.threads = 64, .us = 2};
  rig_ok(weir_kernel_create(s.context, "add", &s.kernel));
  rig_ok(weir_kernel_set_cpu(s.kernel, add_one));
  rig_ok(weir_kernel_set_sim(s.kernel, &launch, 1));
  rig_ok(weir_split_create(s.context, NULL, &s.split));
  weir_chain_arg arg = weir_chain_item_arg(0);
  weir_chain_stage chain_stages[2];
  for (int i = 0; i < 2; i++)
    chain_stages[i] = (weir_chain_stage){.kernel = s.kernel, .groups = {CELLS, 1, 1}, .args = &arg, .arg_count = 1};
  rig_ok(weir_chain_create(s.context, &(weir_chain_options){.stages = chain_stages, .stage_count = 2}, &s.chain));
  weir_stage stages[8] = {{.function = begin, .user = &s}};
  for (uint32_t i = 0; i < count; i++)
    stages[i + 1] = (weir_stage){
        .function = functions[i], .user = &s, .flags = WEIR_STAGE_PARALLEL | (i % 2 == 0 ? WEIR_STAGE_AWAIT : 0)};
  stages[count + 1] = (weir_stage){.function = copy_and_wait, .user = &s};
  weir_pipeline *pipeline = rig_pipeline(s.context, &(weir_pipeline_options){.stages = stages,
                                                                             .stage_count = count + 2,
                                                                             .lines = LINES,
                                                                             .threads = threads,
                                                                             .deliver = deliver,
                                                                             .open_line = open_line,
                                                                             .close_line = close_line,
                                                                             .user = &s});
  rig_ok(weir_pipeline_run(pipeline, WEIR_FOREVER));
  assert_int_equal(s.delivered, TOKENS);
  rig_ok(weir_pipeline_release(pipeline));
  rig_ok(weir_chain_release(s.chain));
  rig_ok(weir_split_release(s.split));
  rig_ok(weir_finish(s.context));
  weir_context_release(s.context);
  rig_no_problems();
}

static void play_on_all(const weir_stage_function *functions, uint32_t count, uint32_t steps) {
  const char *devices[] = {"cpu:1", "cpu:2", "sim:ideal", "cpu:1,cpu:1"};
  for (size_t i = 0; i < sizeof devices / sizeof devices[0]; i++) {
    for (uint32_t threads = 1; threads <= 3; threads += 2) play(devices[i], 16, functions, count, steps, threads);
  }
}

static void test_small_window(void **state) {
  (void)state;
  play_on_all((weir_stage_function[]){many_tasks, many_tasks}, 2, 200);
}

static void test_graph(void **state) {
  (void)state;
  play_on_all((weir_stage_function[]){launch_graph, launch_graph, launch_graph}, 3, 9);
}

static void test_split(void **state) {
  (void)state;
  play_on_all((weir_stage_function[]){launch_split, launch_split}, 2, 2);
}

static void test_chain(void **state) {
  (void)state;
  play_on_all((weir_stage_function[]){submit_item, submit_item}, 2, 4);
}

static void test_all(void **state) {
  (void)state;
  play_on_all((weir_stage_function[]){submit_item, many_tasks, launch_split, launch_graph}, 4, 106);
}

// ---------------------------------------------------------------------------------------------------------------
// Tasks that submit tasks. Those of a simulated device run in whatever thread looks after it, which may be submitting.

enum { NESTED_TASKS = 200 };

typedef struct nest {
  weir_context *context;
  weir_kernel *outer, *inner;
  _Atomic uint32_t done[LINES];
} nest;

static void do_nothing(const weir_work *work) {
  (void)work;
}

static void submit_inner(const weir_work *work) {
  nest *n = work->user;
  uint32_t line;
  memcpy(&line, work->args[0], sizeof line);
  weir_event *event = NULL;
  weir_status status = weir_submit(n->context, &(weir_task){.kernel = n->inner}, &event);
  rig_check(status == WEIR_OK || status == WEIR_ERROR_OUT_OF_MEMORY); // it must not wait for room
  weir_event_release(event);
  atomic_fetch_add(&n->done[line], 1);
}

static weir_status submit_outer(weir_token *token) {
  nest *n = token->user;
  if (token->number == TOKENS) return weir_token_end_input(token);
  weir_arg arg = weir_value(&token->line, sizeof token->line);
  weir_task task = {.kernel = n->outer, .user = n, .args = &arg, .arg_count = 1};
  for (int i = 0; i < NESTED_TASKS; i++) rig_check(weir_token_submit(token, &task) == WEIR_OK);
  return WEIR_OK;
}

// All that the token submitted is done, whatever else was.
static void deliver_outer(weir_token *token) {
  nest *n = token->user;
  rig_check(token->status == WEIR_OK);
  rig_check(atomic_exchange(&n->done[token->line], 0) == NESTED_TASKS);
}

static weir_kernel *nest_kernel(weir_context *context, const char *name, weir_function function) {
  const weir_sim_launch launch = {.threads = 64, .us = 2};
  weir_kernel *kernel = NULL;
  rig_ok(weir_kernel_create(context, name, &kernel));
  rig_ok(weir_kernel_set_cpu(kernel, function));
  rig_ok(weir_kernel_set_sim(kernel, &launch, 1));
  return kernel;
}

static void test_tasks_that_submit(void **state) {
  (void)state;
  nest n = {.context = rig_context("sim:h200", 0)};
  n.outer = nest_kernel(n.context, "outer", submit_inner);
  n.inner = nest_kernel(n.context, "inner", do_nothing);
  weir_stage stage = {.function = submit_outer, .user = &n};
  weir_pipeline *pipeline = rig_pipeline(
      n.context,
      &(weir_pipeline_options){
          .stages = &stage, .stage_count = 1, .lines = LINES, .threads = 2, .deliver = deliver_outer, .user = &n});
  rig_ok(weir_pipeline_run(pipeline, WEIR_FOREVER));
  rig_ok(weir_pipeline_release(pipeline));
  rig_ok(weir_finish(n.context));
  weir_context_release(n.context);
  rig_no_problems();
}

// ---------------------------------------------------------------------------------------------------------------
// Beside a thread that makes the context's first split, which adds a device to it.

static void *make_split(void *context) {
  weir_split *split = NULL;
  rig_check(weir_split_create(context, NULL, &split) == WEIR_OK);
  rig_check(weir_split_release(split) == WEIR_OK);
  return NULL;
}

static weir_status end_at_once(weir_token *token) {
  return weir_token_end_input(token);
}

static void test_start_beside_a_new_split(void **state) {
  (void)state;
  for (int round = 0; round < 20; round++) {
    weir_context *context = rig_context("cpu:1", 1);
    context->host.spin_ns = 1000; // as with devices that ask for it: then devices are roused at the start
    weir_stage stage = {.function = end_at_once};
    weir_pipeline *pipeline =
        rig_pipeline(context, &(weir_pipeline_options){.stages = &stage, .stage_count = 1, .lines = 1});
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, make_split, context), 0);
    for (int i = 0; i < 20; i++) rig_ok(weir_pipeline_run(pipeline, WEIR_FOREVER));
    pthread_join(thread, NULL);
    weir_context_release(context);
    rig_no_problems();
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_small_window),
      cmocka_unit_test(test_graph),
      cmocka_unit_test(test_split),
      cmocka_unit_test(test_chain),
      cmocka_unit_test(test_all),
      cmocka_unit_test(test_tasks_that_submit),
      cmocka_unit_test(test_start_beside_a_new_split),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
