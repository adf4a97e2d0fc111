// SPDX-License-Identifier: Apache-2.0
//
// Misuse of what graphs can do: refused with a text that says what and where, and with nothing changed.
#include <string.h>

#include "sequence.h"

static uint32_t memory[COUNT];

static void copies(sequence *s) {
  weir_buffer *x = sequence_buffer(s, "x"), *gone = sequence_buffer(s, "gone");
  weir_graph *graph = s->graph;
  uint32_t node = 99;
  good(weir_buffer_release(gone));
  refused(weir_graph_copy_in(NULL, x, 0, 4, memory, &node), WEIR_ERROR_INVALID_ARGUMENT, "graph is NULL", NULL);
  assert_int_equal(node, 0);
  refused(weir_graph_copy_in(graph, NULL, 0, 4, memory, NULL), WEIR_ERROR_INVALID_ARGUMENT, "buffer is NULL", NULL);
  refused(weir_graph_copy_in(graph, gone, 0, 4, memory, NULL), WEIR_ERROR_RELEASED, "copy in", NULL);
  refused(weir_graph_copy_in(graph, x, 0, 4, NULL, NULL), WEIR_ERROR_INVALID_ARGUMENT, "source is NULL", NULL);
  refused(weir_graph_copy_in(graph, x, 8, BYTES, memory, NULL), WEIR_ERROR_OUT_OF_RANGE, "copy in", "'x'", "4000",
          NULL);
  refused(weir_graph_copy_in(graph, x, 0, 0, memory, NULL), WEIR_ERROR_INVALID_ARGUMENT, "empty", NULL);
  refused(weir_graph_copy_in(graph, x, BYTES + 1, WEIR_WHOLE, memory, NULL), WEIR_ERROR_OUT_OF_RANGE, "'x'", NULL);
  refused(weir_graph_copy_in(graph, x, UINT64_MAX, 8, memory, NULL), WEIR_ERROR_OUT_OF_RANGE, "'x'", NULL);
  refused(weir_graph_copy_out(graph, x, 0, 4, NULL, NULL), WEIR_ERROR_INVALID_ARGUMENT, "destination is NULL", NULL);
  refused(weir_graph_copy_out(graph, x, BYTES, 4, memory, NULL), WEIR_ERROR_OUT_OF_RANGE, "copy out", NULL);
  refused(weir_graph_copy_out(NULL, x, 0, 4, memory, NULL), WEIR_ERROR_INVALID_ARGUMENT, NULL);
  refused(weir_graph_copy(graph, x, 0, x, 4, 8, NULL), WEIR_ERROR_INVALID_ARGUMENT, "overlap", "'x'", NULL);
  refused(weir_graph_copy(graph, x, 0, gone, 0, 8, NULL), WEIR_ERROR_RELEASED, NULL);
  refused(weir_graph_copy(graph, NULL, 0, x, 0, 8, NULL), WEIR_ERROR_INVALID_ARGUMENT, NULL);
  refused(weir_graph_copy(graph, x, BYTES - 4, x, 0, 8, NULL), WEIR_ERROR_OUT_OF_RANGE, NULL);
  refused(weir_graph_fill(graph, x, 1, 4, 0, NULL), WEIR_ERROR_INVALID_ARGUMENT, "multiples of 4", "'x'", NULL);
  refused(weir_graph_fill(graph, x, 0, 7, 0, NULL), WEIR_ERROR_INVALID_ARGUMENT, "multiples of 4", NULL);
  refused(weir_graph_fill(graph, x, 0, 2 * BYTES, 0, NULL), WEIR_ERROR_OUT_OF_RANGE, "fill", NULL);
  assert_int_equal(graph_info(graph).tasks, 0);
}

static void wrong_copies_are_refused(void **state) {
  (void)state;
  sequence_run(copies);
}

static void changes(sequence *s) {
  weir_graph *graph = s->graph;
  weir_buffer *x = sequence_buffer(s, "x");
  uint32_t in, step;
  uint64_t wide = 0;
  good(weir_graph_copy_in(graph, x, 0, WEIR_WHOLE, memory, &in));
  step = sequence_step(s, x, 1);
  refused(weir_graph_set_host_memory(graph, 2, memory), WEIR_ERROR_OUT_OF_RANGE, "node 2", NULL);
  refused(weir_graph_set_host_memory(graph, step, memory), WEIR_ERROR_INVALID_ARGUMENT, "node 1", NULL);
  refused(weir_graph_set_host_memory(graph, in, NULL), WEIR_ERROR_INVALID_ARGUMENT, "NULL", NULL);
  refused(weir_graph_set_host_memory(NULL, in, memory), WEIR_ERROR_INVALID_ARGUMENT, NULL);
  weir_arg arg = weir_value(&wide, sizeof wide);
  refused(weir_graph_set_arg(graph, in, 1, &arg), WEIR_ERROR_INVALID_ARGUMENT, "weir_graph_set_host_memory", NULL);
  refused(weir_graph_set_arg(graph, step, 1, &arg), WEIR_ERROR_INVALID_ARGUMENT, "4 bytes", NULL);
  weir_context *other;
  good(weir_context_create(&(weir_context_options){.devices = "cpu:1"}, &other));
  weir_device *device = weir_context_device(other, 0);
  weir_graph *made = graph;
  const weir_graph_options options = {.device = device};
  refused(weir_graph_create(s->context, &options, &made), WEIR_ERROR_INVALID_ARGUMENT, "another context", NULL);
  assert_null(made);
  refused(weir_graph_build(NULL), WEIR_ERROR_INVALID_ARGUMENT, NULL);
  weir_context_release(other);
  good(weir_graph_evaluate(graph, WEIR_FOREVER));
}

static void wrong_changes_are_refused(void **state) {
  (void)state;
  sequence_run(changes);
}

static void released(sequence *s) {
  weir_buffer *x = sequence_buffer(s, "x");
  weir_graph *graph = s->graph;
  good(weir_graph_release(graph));
  refused(weir_graph_clear(graph), WEIR_ERROR_RELEASED, "graph clear", NULL);
  refused(weir_graph_wait(graph, 0), WEIR_ERROR_RELEASED, "graph wait", NULL);
  refused(weir_graph_evaluate(graph, 0), WEIR_ERROR_RELEASED, NULL);
  refused(weir_graph_times(graph, 0, NULL, NULL), WEIR_ERROR_RELEASED, NULL);
  refused(weir_graph_fill(graph, x, 0, 4, 0, NULL), WEIR_ERROR_RELEASED, NULL);
  weir_graph_info info = {.running = 9};
  refused(weir_graph_information(graph, &info), WEIR_ERROR_RELEASED, NULL);
  assert_int_equal(info.running, 0);
  refused(weir_graph_information(NULL, &info), WEIR_ERROR_INVALID_ARGUMENT, NULL);
  refused(weir_graph_information(graph, NULL), WEIR_ERROR_INVALID_ARGUMENT, "out_info is NULL", NULL);
  refused(weir_graph_build(graph), WEIR_ERROR_RELEASED, NULL);
  refused(weir_graph_wait(NULL, 0), WEIR_ERROR_INVALID_ARGUMENT, NULL);
  refused(weir_graph_clear(NULL), WEIR_ERROR_INVALID_ARGUMENT, NULL);
  refused(weir_graph_times(NULL, 0, NULL, NULL), WEIR_ERROR_INVALID_ARGUMENT, NULL);
  assert_int_equal(weir_device_information(NULL)->queues, 0);
}

static void released_graphs_are_refused(void **state) {
  (void)state;
  sequence_run(released);
}

typedef struct inside {
  weir_graph *graph;
  weir_status waited, evaluated;
} inside;

static void wait_inside(const weir_work *work) {
  inside *self = work->user;
  self->waited = weir_graph_wait(self->graph, WEIR_FOREVER);
  self->evaluated = weir_graph_evaluate(self->graph, WEIR_FOREVER);
}

static void waiting(sequence *s) {
  inside self = {.graph = s->graph};
  sequence_step(s, sequence_buffer(s, "x"), 1);
  weir_event *event;
  good(weir_submit(s->context, &(weir_task){.host = wait_inside, .user = &self}, &event));
  good(weir_event_wait(event, WEIR_FOREVER));
  weir_event_release(event);
  assert_int_equal(self.waited, WEIR_ERROR_INVALID_ARGUMENT);
  assert_int_equal(self.evaluated, WEIR_ERROR_INVALID_ARGUMENT);
}

static void tasks_may_not_wait_for_graphs(void **state) {
  (void)state;
  sequence_run(waiting);
}

// Where memory in between is over the context's limit, a launch is refused, and says so.
static void limited(sequence *s) {
  static uint32_t large[4 * 1024 * 1024];
  weir_buffer *x;
  good(weir_buffer_create(s->context, sizeof large, &x));
  good(weir_graph_copy_in(s->graph, x, 0, WEIR_WHOLE, large, NULL));
  good(weir_graph_copy_out(s->graph, x, 0, WEIR_WHOLE, large, NULL));
  if (s->stages)
    refused(weir_graph_evaluate(s->graph, WEIR_FOREVER), WEIR_ERROR_OUT_OF_MEMORY, "limit", NULL);
  else
    good(weir_graph_evaluate(s->graph, WEIR_FOREVER));
}

static void memory_in_between_has_a_limit(void **state) {
  (void)state;
  sequence_run_with(&(weir_context_options){.window = 64, .memory_limit = 24 << 20}, limited);
}

int main(int argc, char **argv) {
  sequence_choose(argc, argv);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(wrong_copies_are_refused),      cmocka_unit_test(wrong_changes_are_refused),
      cmocka_unit_test(released_graphs_are_refused),   cmocka_unit_test(tasks_may_not_wait_for_graphs),
      cmocka_unit_test(memory_in_between_has_a_limit),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
