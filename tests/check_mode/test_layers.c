// SPDX-License-Identifier: Apache-2.0
//
// Graphs, callbacks, small windows and several threads in check mode.
#include <pthread.h>
#include <string.h>

#include "planted.h"
#include "weir/graph.h"

enum { WORDS = 16, BYTES = 4 * WORDS, THREADS = 4, TASKS = 60 };

static void test_graph_node_is_named(void **state) {
  (void)state;
  weir_context *context = planted_open("cpu:2", 0);
  weir_kernel *kernel = planted_kernel(context);
  weir_buffer *buffers[3];
  for (int i = 0; i < 3; i++) planted_ok(weir_buffer_create(context, BYTES, &buffers[i]));
  weir_graph *graph;
  planted_ok(weir_graph_create(context, NULL, &graph));
  uint32_t words[WORDS] = {7}, results[WORDS];
  planted_ok(weir_graph_copy_in(graph, buffers[0], 0, WEIR_WHOLE, words, NULL));
  const planted_value values[2] = {{.words = WORDS}, {.kind = PLANTED_PARTIAL, .words = WORDS}};
  for (int i = 0; i < 2; i++) {
    const weir_arg args[] = {weir_reads(buffers[i]), weir_writes(buffers[i + 1]),
                             weir_value(&values[0], sizeof values[0])};
    planted_ok(
        weir_graph_add(graph, &(weir_task){.kernel = kernel, .args = args, .arg_count = 3, .groups = {WORDS}}, NULL));
  }
  planted_ok(weir_graph_copy_out(graph, buffers[2], 0, WEIR_WHOLE, results, NULL));
  for (int i = 0; i < 3; i++) planted_ok(weir_graph_launch(graph, NULL));
  planted_ok(weir_finish(context));
  for (uint32_t i = 0; i < WORDS; i++) assert_int_equal(results[i], (words[i] * 3 + 1) * 3 + 1);
  planted_ok(weir_graph_clear(graph));
  const weir_arg args[] = {weir_reads(buffers[0]), weir_writes(buffers[1]), weir_value(&values[1], sizeof values[1])};
  planted_ok(weir_graph_add(
      graph, &(weir_task){.kernel = kernel, .args = args, .arg_count = 3, .groups = {WORDS}, .label = "half"}, NULL));
  planted_ok(weir_graph_launch(graph, NULL));
  assert_int_equal(weir_finish(context), WEIR_ERROR_TASK_FAILED);
  assert_non_null(strstr(weir_last_error(), "node 0 'half': argument 1 (writes [0, 64) of buffer 2"));
  assert_non_null(strstr(weir_last_error(), "bytes [48, 64) were not overwritten"));
  weir_context_release(context);
}

typedef struct submitter {
  weir_context *context;
  weir_kernel *kernel;
  weir_buffer *own, *shared;
} submitter;

static void submit_one(const submitter *by, weir_event **out_event) {
  const planted_value value = {.words = WORDS};
  const weir_arg args[] = {weir_reads(by->shared), weir_writes(by->own), weir_value(&value, sizeof value)};
  const weir_task task = {.kernel = by->kernel, .args = args, .arg_count = 3, .groups = {WORDS}};
  planted_ok(weir_submit(by->context, &task, out_event));
}

static void *submit_many(void *argument) {
  for (int i = 0; i < TASKS; i++) submit_one(argument, NULL);
  return NULL;
}

static void submit_another(void *user, weir_status status) {
  assert_int_equal(status, WEIR_OK);
  submit_one(user, NULL);
}

static void play_threads(const char *devices, uint32_t flags) {
  weir_context *context = NULL;
  planted_ok(weir_context_create(
      &(weir_context_options){.devices = devices, .window = 8, .flags = WEIR_CONTEXT_CHECK | flags}, &context));
  submitter submitters[THREADS];
  weir_buffer *shared;
  weir_kernel *kernel = planted_kernel(context);
  planted_ok(weir_buffer_create(context, BYTES, &shared));
  planted_ok(weir_fill(shared, 0, WEIR_WHOLE, 1, NULL));
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; i++) {
    submitters[i] = (submitter){.context = context, .kernel = kernel, .shared = shared};
    planted_ok(weir_buffer_create(context, BYTES, &submitters[i].own));
    assert_int_equal(pthread_create(&threads[i], NULL, submit_many, &submitters[i]), 0);
  }
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  planted_ok(weir_finish(context));
  weir_event *event;
  submit_one(&submitters[0], &event);
  planted_ok(weir_event_on_done(event, submit_another, &submitters[1]));
  weir_event_release(event);
  planted_ok(weir_finish(context));
  weir_context_release(context); // and what the callback submitted
}

static void test_threads(void **state) {
  (void)state;
  play_threads("cpu:2", 0);
  play_threads("cpu:2", WEIR_CONTEXT_IN_ORDER | WEIR_CONTEXT_TRACE);
  play_threads("sim:ideal", 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_graph_node_is_named), cmocka_unit_test(test_threads)};
  return cmocka_run_group_tests_name("check_mode_layers", tests, NULL, NULL);
}
