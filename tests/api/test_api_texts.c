// SPDX-License-Identifier: Apache-2.0
//
// What texts name: the label of a task, the first task that failed and the bytes by way of which that reached others; and
// weir_last_error speaks of the last call that failed.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api.h"
#include "base/random.h"
#include "weir/chain.h"
#include "weir/graph.h"
#include "weir/pipeline.h"
#include "weir/sim.h"
#include "weir/split.h"

typedef struct scene {
  weir_context *context;
  weir_kernel *good, *bad;
  weir_buffer *a, *b, *c;
} scene;

static scene open_scene(const char *devices, uint32_t flags) {
  static const char zeros[100];
  scene s = {.context = api_context(devices, 0, flags)};
  s.good = api_kernel(s.context, "good", api_nothing);
  s.bad = api_kernel(s.context, "bad", api_fail);
  weir_buffer **buffers[] = {&s.a, &s.b, &s.c};
  static const char *const names[] = {"alpha", "beta", "gamma"};
  for (int i = 0; i < 3; i++) {
    *buffers[i] = api_buffer(s.context, 100, names[i]);
    assert_int_equal(weir_copy_in(*buffers[i], 0, 100, zeros, NULL), WEIR_OK);
  }
  assert_int_equal(weir_finish(s.context), WEIR_OK);
  return s;
}

static weir_event *run(scene *s, weir_kernel *kernel, const char *label, const weir_arg *args, uint32_t arg_count) {
  weir_event *event = NULL;
  const weir_task task = {.kernel = kernel, .label = label, .args = args, .arg_count = arg_count, .tag = 7};
  assert_int_equal(weir_submit(s->context, &task, &event), WEIR_OK);
  return event;
}

// Waits for the event, whose task failed, and looks for the texts (NULL ends the list) in its message and the last error.
static void expect_message(weir_event *event, weir_status wanted, const char *const *texts) {
  assert_int_equal(weir_event_wait(event, WEIR_FOREVER), wanted);
  for (; *texts != NULL; texts++) {
    if (strstr(weir_event_message(event), *texts) == NULL || strstr(weir_last_error(), *texts) == NULL)
      fail_msg("'%s' is not in '%s'", *texts, weir_event_message(event));
  }
  weir_event_release(event);
}
#define EXPECT(event, status, ...) expect_message(event, status, (const char *const[]){__VA_ARGS__, NULL})

static void labels_are_kept_without_tracing(void **state) {
  (void)state;
  scene s = open_scene("cpu:2", 0);
  const weir_arg arg = weir_updates(s.a);
  EXPECT(run(&s, s.bad, "rows 3 to 5", &arg, 1), WEIR_ERROR_TASK_FAILED,
         "'rows 3 to 5' (bad, tag 7) on cpu:2: on purpose");
  weir_event *plain = run(&s, s.bad, NULL, &(weir_arg){.mode = WEIR_WRITE, .buffer = s.a, .bytes = WEIR_WHOLE}, 1);
  EXPECT(plain, WEIR_ERROR_TASK_FAILED, "'bad' (tag 7) on cpu:2: on purpose");
  api_expect(weir_finish(s.context), WEIR_ERROR_TASK_FAILED, "'rows 3 to 5' (bad, tag 7)", NULL);
  weir_event *host = NULL;
  const weir_task task = {.host = api_fail, .label = "0123456789012345678901234567890123456789012345678901234567890"};
  assert_int_equal(weir_submit(s.context, &task, &host), WEIR_OK);
  EXPECT(host, WEIR_ERROR_TASK_FAILED, "'01234567890123456789012345678901234567890123456' (tag 0)");
  weir_context_release(s.context);
}

static void time_outs_name_the_label(void **state) {
  (void)state;
  scene s = open_scene("cpu:2", 0);
  gate door = {0};
  const weir_arg arg = weir_updates(s.a);
  weir_event *held = NULL;
  assert_int_equal(gate_submit(s.context, &door, &arg, 1, &held), WEIR_OK);
  weir_event *event = run(&s, s.good, "the late one", &arg, 1);
  api_expect(weir_event_wait(event, 1000), WEIR_TIMEOUT, "'the late one' (good, tag 7) on cpu:2 is not done", NULL);
  gate_open(&door);
  api_await(held);
  assert_int_equal(api_await(event), WEIR_OK);
  weir_context_release(s.context);
}

static void skipped_tasks_name_the_first_that_failed(void **state) {
  (void)state;
  static const char *const devices[] = {"cpu:2", "cpu:1"};
  for (int way = 0; way < 6; way++) {
    scene s = open_scene(devices[way % 2], way / 2 == 1 ? WEIR_CONTEXT_TRACE : way / 2 == 2 ? WEIR_CONTEXT_CHECK : 0);
    bool in_flight = way % 2 == 0;
    gate door = {0};
    weir_event *held = NULL;
    const weir_arg all = weir_updates(s.a);
    if (in_flight && way / 2 < 2) assert_int_equal(gate_submit(s.context, &door, &all, 1, &held), WEIR_OK);
    const weir_arg writes[] = {weir_updates_range(s.a, 10, 20)};
    const weir_arg passes[] = {weir_reads_range(s.a, 0, 15), weir_updates_range(s.b, 4, 4)};
    const weir_arg ends[] = {weir_reads(s.b), weir_updates(s.c)};
    weir_event *first = run(&s, s.bad, "the root", writes, 1);
    if (!in_flight) weir_event_wait(first, WEIR_FOREVER);
    weir_event *second = run(&s, s.good, "the middle", passes, 2);
    if (!in_flight) weir_event_wait(second, WEIR_FOREVER);
    weir_event *third = run(&s, s.good, "the end", ends, 2);
    if (held != NULL) {
      gate_open(&door);
      api_await(held);
    }
    EXPECT(first, WEIR_ERROR_TASK_FAILED, "'the root' (bad, tag 7)");
    EXPECT(second, WEIR_ERROR_UPSTREAM_FAILED, "'the middle' (good, tag 7)", "bytes [10, 15) of buffer ", " 'alpha'",
           "the first task that failed is task ", "'the root' (bad, tag 7) on cpu:", ": on purpose");
    EXPECT(third, WEIR_ERROR_UPSTREAM_FAILED, "'the end' (good, tag 7)", "bytes [4, 8) of buffer ", " 'beta'",
           "'the root' (bad, tag 7)", ": on purpose");
    char byte;
    api_expect(weir_read(s.c, 0, 1, &byte), WEIR_ERROR_UPSTREAM_FAILED, "'copy out'", "bytes [0, 1) of buffer",
               "'gamma'", "'the root' (bad, tag 7)", NULL);
    weir_context_release(s.context);
  }
}

// A failure that others healed since is not taken for the cause.
static void only_what_is_missing_is_named(void **state) {
  (void)state;
  for (int in_flight = 0; in_flight < 2; in_flight++) {
    scene s = open_scene("cpu:2", WEIR_CONTEXT_NO_RENAME);
    gate door = {0};
    weir_event *held = NULL;
    if (in_flight)
      assert_int_equal(gate_submit(s.context, &door, (weir_arg[]){weir_updates(s.a), weir_updates(s.b)}, 2, &held),
                       WEIR_OK);
    weir_event *both = run(&s, s.bad, "both", (weir_arg[]){weir_updates_range(s.a, 0, 50), weir_updates(s.b)}, 2);
    if (!in_flight) weir_event_wait(both, WEIR_FOREVER);
    weir_event *heal = run(&s, s.good, "heals", (weir_arg[]){weir_writes_range(s.a, 0, 50)}, 1);
    weir_event *reads = run(&s, s.good, "reads", (weir_arg[]){weir_reads(s.a), weir_reads(s.b)}, 2);
    if (held != NULL) {
      gate_open(&door);
      api_await(held);
    }
    assert_int_equal(api_await(heal), WEIR_OK);
    EXPECT(reads, WEIR_ERROR_UPSTREAM_FAILED, "bytes [0, 100) of buffer", "'beta'", "'both' (bad, tag 7)");
    api_await(both);
    weir_context_release(s.context);
  }
}

static void many_skipped_tasks_keep_the_root(void **state) {
  (void)state;
  scene s = open_scene("cpu:2", 0);
  weir_event_release(run(&s, s.bad, "the root", (weir_arg[]){weir_updates(s.a)}, 1));
  for (int i = 0; i < 3000; i++) {
    const weir_arg args[] = {weir_reads(i % 2 == 0 ? s.a : s.b), weir_writes(i % 2 == 0 ? s.b : s.a)};
    weir_event_release(run(&s, s.good, NULL, args, 2));
  }
  EXPECT(run(&s, s.good, NULL, (weir_arg[]){weir_reads(s.a)}, 1), WEIR_ERROR_UPSTREAM_FAILED,
         "'the root' (bad, tag 7)");
  // Later failures of others take the root's place at some time: the text says so.
  for (int i = 0; i < 300; i++) weir_event_release(run(&s, s.bad, NULL, (weir_arg[]){weir_updates(s.c)}, 1));
  for (int i = 0; i < 300; i++) weir_event_release(run(&s, s.bad, NULL, (weir_arg[]){weir_writes(s.c)}, 1));
  EXPECT(run(&s, s.good, NULL, (weir_arg[]){weir_reads(s.a)}, 1), WEIR_ERROR_UPSTREAM_FAILED, "'alpha'",
         "an earlier one, whose text is not kept any more");
  weir_context_release(s.context);
}

// Random programs in random order: the root that a text names is one whose bytes the task reads, as serial execution has it.
static void roots_of_random_programs_are_right(void **state) {
  (void)state;
  enum { TASKS = 120, BUFFERS = 6 };
  static const char *const devices[] = {"cpu:2", "sim:ideal", "cpu:1,sim:h200"};
  const char *given = getenv("WEIR_TEST_SEED");
  weir__random random = {.state = 99 + (given != NULL ? strtoull(given, NULL, 10) : 0) * 2};
  for (int round = 0; round < 24; round++) {
    weir_context *context;
    const weir_context_options options = {.devices = devices[round % 3], .seed = weir__random_next(&random) + 1u};
    assert_int_equal(weir_context_create(&options, &context), WEIR_OK);
    uint32_t device_count = weir_context_device_count(context);
    weir_kernel *kernels[] = {api_kernel(context, "good", api_nothing), api_kernel(context, "bad", api_fail)};
    for (int i = 0; i < 2; i++)
      assert_int_equal(weir_kernel_set_sim(kernels[i], &(weir_sim_launch){.threads = 32, .us = 3}, 1), WEIR_OK);
    weir_buffer *buffers[BUFFERS];
    bool roots[BUFFERS][TASKS] = {{false}}, wanted[TASKS][TASKS] = {{false}}; // of buffers; of tasks that are skipped
    weir_event *events[TASKS];
    for (int i = 0; i < BUFFERS; i++) {
      buffers[i] = api_buffer(context, 64, "buffer");
      assert_int_equal(weir_fill(buffers[i], 0, 64, 0, NULL), WEIR_OK);
    }
    for (int i = 0; i < TASKS; i++) {
      uint32_t from = weir__random_next(&random) % BUFFERS, to = weir__random_next(&random) % BUFFERS;
      bool fails = weir__random_next(&random) % 10 == 0, updates = weir__random_next(&random) % 3 > 0, skipped = false;
      if (to == from) to = (to + 1) % BUFFERS;
      for (int root = 0; root < TASKS; root++) {
        wanted[i][root] = roots[from][root] || (updates && roots[to][root]);
        skipped |= wanted[i][root];
      }
      memcpy(roots[to], wanted[i], sizeof roots[to]);
      if (!skipped && fails) roots[to][i] = true;
      char label[16];
      snprintf(label, sizeof label, "t%d", i);
      const weir_arg args[] = {weir_reads(buffers[from]),
                               updates ? weir_updates(buffers[to]) : weir_writes(buffers[to])};
      const weir_task task = {.kernel = kernels[fails],
                              .label = label,
                              .args = args,
                              .arg_count = 2,
                              .device = weir_context_device(context, weir__random_next(&random) % device_count)};
      assert_int_equal(weir_submit(context, &task, &events[i]), WEIR_OK);
    }
    for (int i = 0; i < TASKS; i++) {
      weir_status status = weir_event_wait(events[i], WEIR_FOREVER);
      bool skipped = false;
      for (int root = 0; root < TASKS; root++) skipped |= wanted[i][root];
      assert_int_equal(status == WEIR_ERROR_UPSTREAM_FAILED, skipped);
      const char *named = strstr(weir_event_message(events[i]), "the first task that failed is task ");
      int root = -1;
      if (skipped && (named == NULL || sscanf(strchr(named, '\''), "'t%d'", &root) != 1 || !wanted[i][root]))
        fail_msg("task %d: %s", i, weir_event_message(events[i]));
      weir_event_release(events[i]);
    }
    weir_context_release(context);
  }
}

static void add_node(weir_graph *graph, weir_kernel *kernel, const char *label, const weir_arg *args, uint32_t count) {
  const weir_task task = {.kernel = kernel, .label = label, .args = args, .arg_count = count};
  assert_int_equal(weir_graph_add(graph, &task, NULL), WEIR_OK);
}

static void graphs_name_the_node(void **state) {
  (void)state;
  for (int in_flight = 0; in_flight < 2; in_flight++) {
    scene s = open_scene("cpu:2", 0);
    weir_graph *graph, *next;
    assert_int_equal(weir_graph_create(s.context, NULL, &graph), WEIR_OK);
    assert_int_equal(weir_graph_create(s.context, NULL, &next), WEIR_OK);
    add_node(graph, s.good, "fine", (weir_arg[]){weir_updates(s.a)}, 1);
    add_node(graph, s.bad, "node: bad", (weir_arg[]){weir_updates(s.a), weir_updates_range(s.b, 8, 8)}, 2);
    add_node(next, s.good, "reader", (weir_arg[]){weir_reads(s.b), weir_updates(s.c)}, 2);
    gate door = {0};
    weir_event *held = NULL, *launch, *skipped;
    if (in_flight) assert_int_equal(gate_submit(s.context, &door, (weir_arg[]){weir_updates(s.a)}, 1, &held), WEIR_OK);
    assert_int_equal(weir_graph_launch(graph, &launch), WEIR_OK);
    if (!in_flight) weir_event_wait(launch, WEIR_FOREVER);
    assert_int_equal(weir_graph_launch(next, &skipped), WEIR_OK);
    weir_event *task = run(&s, s.good, "the end", (weir_arg[]){weir_reads(s.c)}, 1);
    if (held != NULL) {
      gate_open(&door);
      api_await(held);
    }
    EXPECT(launch, WEIR_ERROR_TASK_FAILED, "node 1 'node: bad': on purpose");
    EXPECT(skipped, WEIR_ERROR_UPSTREAM_FAILED, "node 0 'reader': skipped, for bytes [8, 16) of buffer", "'beta'",
           "node 1 'node: bad': on purpose");
    EXPECT(task, WEIR_ERROR_UPSTREAM_FAILED, "'the end'", "'gamma'", "node 1 'node: bad': on purpose");
    weir_context_release(s.context);
  }
}

// A launch over two devices whose parts fail, and one of the same whose contents are missing.
static void splits_pass_the_root_on(void **state) {
  (void)state;
  for (int resident = 0; resident < 2; resident++) {
    scene s = open_scene("cpu:1,cpu:1", 0);
    weir_split *split = NULL;
    const weir_split_options options = {.policy = "static", .resident = resident == 1};
    assert_int_equal(weir_split_create(s.context, &options, &split), WEIR_OK);
    const weir_split_arg args[] = {weir_split_block(weir_updates(s.a), 10)};
    weir_split_launch launch = {
        .kernel = s.bad, .label = "in parts", .args = args, .arg_count = 1, .groups = {10, 1, 1}};
    weir_event *failed = NULL, *skipped = NULL;
    assert_int_equal(weir_split_submit(split, &launch, &failed), WEIR_OK);
    launch.kernel = s.good;
    launch.label = "again";
    assert_int_equal(weir_split_submit(split, &launch, &skipped), WEIR_OK);
    weir_event *task = run(&s, s.good, "behind", (weir_arg[]){weir_reads(s.a)}, 1);
    EXPECT(failed, WEIR_ERROR_TASK_FAILED, "'in parts'", "on purpose");
    EXPECT(skipped, WEIR_ERROR_UPSTREAM_FAILED, "'again'", "'alpha'", "'in parts'", "on purpose");
    EXPECT(task, WEIR_ERROR_UPSTREAM_FAILED, "'behind'", "'alpha'", "'in parts'", "on purpose");
    weir_split_release(split);
    weir_context_release(s.context);
  }
}

// ---------------------------------------------------------------------------------------------------------------
// The last error

typedef struct trouble {
  weir_context *context;
  weir_kernel *good, *bad;
  weir_buffer *buffer, *poisoned;
  weir_event *failed, *pending;
  weir_graph *graph, *stuck;
  weir_pipeline *pipeline;
  weir_chain *chain;
  char path[64];
} trouble;

static weir_status fails_by_finish(trouble *t) {
  const weir_task task = {.kernel = t->bad, .label = "finish"};
  assert_int_equal(weir_submit(t->context, &task, NULL), WEIR_OK);
  return weir_finish(t->context);
}
static weir_status fails_by_finish_for(trouble *t) {
  return weir_finish_for(t->context, 1);
}
static weir_status fails_by_wait(trouble *t) {
  return weir_event_wait(t->failed, 0);
}
static weir_status fails_by_wait_time(trouble *t) {
  return weir_event_wait(t->pending, 1);
}
static weir_status fails_by_poll(trouble *t) {
  return weir_event_poll(t->failed);
}
static weir_status fails_by_read(trouble *t) {
  char byte;
  return weir_read(t->poisoned, 0, 1, &byte);
}
static weir_status fails_by_graph_wait(trouble *t) {
  return weir_graph_wait(t->stuck, 1);
}
static weir_status fails_by_graph_wait_failed(trouble *t) {
  assert_int_equal(weir_graph_launch(t->graph, NULL), WEIR_OK);
  return weir_graph_wait(t->graph, WEIR_FOREVER);
}
static weir_status fails_by_evaluate(trouble *t) {
  return weir_graph_evaluate(t->graph, WEIR_FOREVER);
}
static weir_status fails_by_evaluate_time(trouble *t) {
  return weir_graph_evaluate(t->stuck, 1);
}
static weir_status fails_by_graph_times(trouble *t) {
  return weir_graph_times(t->graph, 0, NULL, NULL);
}
static weir_status fails_by_pipeline_run(trouble *t) {
  return weir_pipeline_run(t->pipeline, WEIR_FOREVER);
}
static weir_status fails_by_submit(trouble *t) {
  const weir_arg arg = weir_reads_range(t->buffer, 90, 20);
  return weir_submit(t->context, &(weir_task){.kernel = t->good, .label = "outside", .args = &arg, .arg_count = 1},
                     NULL);
}
static weir_status fails_by_trace_save(trouble *t) {
  return weir_trace_save(t->context, "x.json", NULL);
}
static weir_status fails_by_fill(trouble *t) {
  return weir_fill(t->buffer, 1, 4, 0, NULL);
}
static weir_status fails_by_fill_behind(trouble *t) {
  return weir_fill(t->buffer, 104, WEIR_WHOLE, 0, NULL);
}
static weir_status fails_by_graph_fill_behind(trouble *t) {
  return weir_graph_fill(t->graph, t->buffer, 104, WEIR_WHOLE, 0, NULL);
}
static weir_status fails_by_create(trouble *t) {
  weir_context *context;
  (void)t;
  return weir_context_create(&(weir_context_options){.devices = "quantum"}, &context);
}

static weir_status fail_the_token(weir_token *token) {
  return weir_token_fail(token, WEIR_ERROR_TASK_FAILED, "by the stage");
}

static weir_pipeline *make_pipeline(weir_context *context);

static const struct {
  weir_status (*call)(trouble *t);
  weir_status wanted;
  const char *text;
} calls[] = {
    {fails_by_finish, WEIR_ERROR_TASK_FAILED, "'finish' (bad, tag 0)"},
    {fails_by_wait, WEIR_ERROR_TASK_FAILED, "event wait: task "},
    {fails_by_poll, WEIR_ERROR_TASK_FAILED, "event poll: task "},
    {fails_by_read, WEIR_ERROR_UPSTREAM_FAILED, "read: task "},
    {fails_by_graph_wait_failed, WEIR_ERROR_TASK_FAILED, "graph wait: task "},
    {fails_by_evaluate, WEIR_ERROR_TASK_FAILED, "graph evaluate: task "},
    {fails_by_graph_times, WEIR_ERROR_UNAVAILABLE, "graph times: "},
    {fails_by_pipeline_run, WEIR_ERROR_TASK_FAILED, "by the stage"},
    {fails_by_submit, WEIR_ERROR_OUT_OF_RANGE, "outside"},
    {fails_by_trace_save, WEIR_ERROR_INVALID_ARGUMENT, "trace save: "},
    {fails_by_fill, WEIR_ERROR_INVALID_ARGUMENT, "fill: "},
    {fails_by_fill_behind, WEIR_ERROR_OUT_OF_RANGE, "all bytes from byte 104 on"},
    {fails_by_graph_fill_behind, WEIR_ERROR_OUT_OF_RANGE, "all bytes from byte 104 on"},
    {fails_by_create, WEIR_ERROR_INVALID_ARGUMENT, "quantum"},
    // From here on with a task that is held.
    {fails_by_finish_for, WEIR_TIMEOUT, "finish: the time is over"},
    {fails_by_wait_time, WEIR_TIMEOUT, "event wait: the time is over; task "},
    {fails_by_graph_wait, WEIR_TIMEOUT, "graph wait: "},
    {fails_by_evaluate_time, WEIR_TIMEOUT, "graph evaluate: "},
};
enum { CALLS = sizeof calls / sizeof *calls, FREE_CALLS = 14 };

static weir_pipeline *make_pipeline(weir_context *context) {
  static const weir_stage stages[] = {{.name = "only", .function = fail_the_token}};
  weir_pipeline *pipeline = NULL;
  const weir_pipeline_options options = {
      .stages = stages, .stage_count = 1, .lines = 1, .flags = WEIR_PIPELINE_STOP_ON_FAILURE};
  assert_int_equal(weir_pipeline_create(context, &options, &pipeline), WEIR_OK);
  return pipeline;
}

static void last_error_is_of_the_last_call_that_failed(void **state) {
  (void)state;
  scene s = open_scene("cpu:2", 0);
  trouble t = {.context = s.context, .good = s.good, .bad = s.bad, .buffer = s.a, .poisoned = s.b};
  t.failed = run(&s, s.bad, "the failed one", (weir_arg[]){weir_updates(s.b)}, 1);
  assert_int_equal(weir_event_wait(t.failed, WEIR_FOREVER), WEIR_ERROR_TASK_FAILED);
  assert_int_equal(weir_finish(s.context), WEIR_ERROR_TASK_FAILED);
  assert_int_equal(weir_graph_create(s.context, NULL, &t.graph), WEIR_OK);
  add_node(t.graph, s.bad, "fails", NULL, 0);
  t.pipeline = make_pipeline(s.context);
  gate door = {0};
  for (int i = 0; i < CALLS; i++) {
    if (i == FREE_CALLS) {
      assert_int_equal(weir_graph_create(s.context, NULL, &t.stuck), WEIR_OK);
      add_node(t.stuck, s.good, "held", (weir_arg[]){weir_updates(s.c)}, 1);
      assert_int_equal(gate_submit(s.context, &door, (weir_arg[]){weir_updates(s.c)}, 1, &t.pending), WEIR_OK);
      assert_int_equal(weir_graph_launch(t.stuck, NULL), WEIR_OK);
    }
    // Whatever failed before, this call's text is its own, and stays when other calls succeed.
    assert_int_equal(weir_kernel_create(NULL, "before", &(weir_kernel *){NULL}), WEIR_ERROR_INVALID_ARGUMENT);
    api_expect(calls[i].call(&t), calls[i].wanted, calls[i].text, NULL);
    weir_buffer *buffer;
    assert_int_equal(weir_buffer_create(s.context, 8, &buffer), WEIR_OK);
    assert_int_equal(weir_fill(buffer, 0, 8, 1, NULL), WEIR_OK);
    assert_int_equal(weir_buffer_release(buffer), WEIR_OK);
    assert_non_null(strstr(weir_last_error(), calls[i].text));
  }
  gate_open(&door);
  weir_event_release(t.pending);
  weir_event_release(t.failed);
  weir_graph_wait(t.stuck, WEIR_FOREVER);
  weir_pipeline_release(t.pipeline);
  weir_context_release(s.context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(labels_are_kept_without_tracing),
      cmocka_unit_test(time_outs_name_the_label),
      cmocka_unit_test(skipped_tasks_name_the_first_that_failed),
      cmocka_unit_test(only_what_is_missing_is_named),
      cmocka_unit_test(many_skipped_tasks_keep_the_root),
      cmocka_unit_test(roots_of_random_programs_are_right),
      cmocka_unit_test(graphs_name_the_node),
      cmocka_unit_test(splits_pass_the_root_on),
      cmocka_unit_test(last_error_is_of_the_last_call_that_failed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
