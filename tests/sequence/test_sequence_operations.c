// SPDX-License-Identifier: Apache-2.0
//
// Operations: they record, are told of every launch, recorded anew, destroyed.
#include <stdio.h>
#include <string.h>

#include "sequence.h"

// What an operation notes: a letter for each call.
typedef struct notes {
  char text[256];
  weir_status last;
  uint32_t node, steps, value;
  weir_status record_status, before_status;
  sequence *s;
  weir_buffer *buffer;
  char letter;
  struct notes *all; // where the order of several is noted
} notes;

static void note(notes *self, char letter) {
  size_t length = strlen(self->text);
  if (length + 1 < sizeof self->text) self->text[length] = letter;
}

static weir_status op_record(weir_graph *graph, void *user) {
  notes *self = user;
  note(self, 'r');
  assert_ptr_equal(graph, self->s->graph);
  for (uint32_t i = 0; i < self->steps; i++) self->node = sequence_step(self->s, self->buffer, self->value + i);
  return self->record_status;
}

static weir_status op_before(weir_graph *graph, void *user) {
  notes *self = user;
  note(self, 'b');
  if (self->all != NULL) note(self->all, self->letter);
  if (self->before_status == WEIR_OK && self->steps == 1) {
    self->value += 10; // constants that differ from launch to launch
    weir_arg arg = weir_value(&self->value, sizeof self->value);
    good(weir_graph_set_arg(graph, self->node, 1, &arg));
  }
  return self->before_status;
}

static void op_after(weir_graph *graph, void *user, weir_status status) {
  notes *self = user;
  assert_ptr_equal(graph, self->s->graph);
  note(self, 'a');
  if (self->all != NULL) note(self->all, self->letter);
  self->last = status;
}

static void op_destroy(void *user) {
  note(user, 'd');
}

static weir_operation operation_of(notes *self) {
  return (weir_operation){
      .record = op_record, .before = op_before, .after = op_after, .destroy = op_destroy, .user = self};
}

static void add(sequence *s, notes *self) {
  weir_operation operation = operation_of(self);
  self->s = s;
  good(weir_graph_add_operation(s->graph, &operation));
}

static void hooks(sequence *s) {
  weir_buffer *x = sequence_numbered(s, "x", 1);
  notes order = {0};
  notes first = {.buffer = x, .steps = 1, .letter = '1', .all = &order}, second = {.letter = '2', .all = &order};
  add(s, &first);
  add(s, &second);
  for (int i = 0; i < 3; i++) good(weir_graph_evaluate(s->graph, WEIR_FOREVER));
  assert_string_equal(first.text, "rbababa");
  assert_string_equal(second.text, "rbababa");
  assert_string_equal(order.text, "121212121212");
  sequence_expect_steps(x, 1, (uint32_t[]){10, 20, 30}, 3);
  good(weir_graph_clear(s->graph));
  assert_string_equal(first.text, "rbababad");
  assert_string_equal(second.text, "rbababad");
}

static void operations_are_told_of_launches(void **state) {
  (void)state;
  sequence_run(hooks);
}

// An event is done only when the operations were told; who is in flight keeps them.
static void in_flight(sequence *s) {
  gate door = {0};
  weir_buffer *x = sequence_numbered(s, "x", 1);
  notes one = {.buffer = x, .steps = 1};
  add(s, &one);
  weir_arg arg = weir_updates(x);
  good(gate_submit(s->context, &door, &arg, 1, NULL));
  weir_event *event;
  good(weir_graph_launch(s->graph, NULL));
  good(weir_graph_launch(s->graph, &event));
  good(weir_graph_clear(s->graph));
  assert_string_equal(one.text, "rbb"); // not destroyed yet
  gate_open(&door);
  good(weir_event_wait(event, WEIR_FOREVER));
  weir_event_release(event);
  good(weir_graph_wait(s->graph, WEIR_FOREVER));
  good(weir_finish(s->context));
  assert_string_equal(one.text, "rbbaad"); // by the last launch
  sequence_expect_steps(x, 1, (uint32_t[]){10, 20}, 2);
  weir_graph *released;
  good(weir_graph_create(s->context, &released));
  notes two = {0};
  weir_graph *kept = s->graph;
  s->graph = released;
  add(s, &two);
  sequence_step(s, x, 3);
  good(weir_graph_evaluate(released, WEIR_FOREVER));
  good(weir_graph_release(released));
  assert_string_equal(two.text, "rbad");
  s->graph = kept;
}

static void launches_keep_their_operations(void **state) {
  (void)state;
  sequence_run(in_flight);
}

static void refusal(sequence *s) {
  weir_buffer *x = sequence_numbered(s, "x", 1);
  notes first = {.buffer = x, .steps = 2}, second = {.before_status = WEIR_ERROR_UNAVAILABLE}, third = {0};
  add(s, &first);
  add(s, &second);
  add(s, &third);
  weir_event *event = (weir_event *)s->graph;
  refused(weir_graph_launch(s->graph, &event), WEIR_ERROR_UNAVAILABLE, "operation 1", NULL);
  assert_null(event);
  assert_string_equal(first.text, "rba"); // told of what it was asked about
  assert_int_equal(first.last, WEIR_ERROR_UNAVAILABLE);
  assert_string_equal(second.text, "rb");
  assert_string_equal(third.text, "r");
  assert_int_equal(weir_graph_running(s->graph), 0);
  second.before_status = WEIR_OK;
  good(weir_graph_evaluate(s->graph, WEIR_FOREVER));
  assert_string_equal(third.text, "rba");
  assert_int_equal(third.last, WEIR_OK);
  // Whatever refuses a launch after they were asked, they are told.
  good(weir_graph_clear(s->graph));
  notes lone = {0};
  add(s, &lone);
  refused(weir_graph_launch(s->graph, NULL), WEIR_ERROR_INVALID_ARGUMENT, "no tasks", NULL);
  assert_string_equal(lone.text, "rba");
  assert_int_equal(lone.last, WEIR_ERROR_INVALID_ARGUMENT);
  good(weir_graph_clear(s->graph));
}

static void operations_refuse_launches(void **state) {
  (void)state;
  sequence_run(refusal);
}

static void failed_launch(sequence *s) {
  if (!s->fails) return;
  weir_buffer *x = sequence_numbered(s, "x", 1);
  notes one = {0};
  add(s, &one);
  weir_arg arg = weir_updates(x);
  good(weir_graph_add(s->graph, &(weir_task){.kernel = s->broken, .args = &arg, .arg_count = 1}, NULL));
  assert_int_equal(weir_graph_evaluate(s->graph, WEIR_FOREVER), WEIR_ERROR_TASK_FAILED);
  assert_int_equal(one.last, WEIR_ERROR_TASK_FAILED);
  good(weir_graph_clear(s->graph));
  (void)weir_finish(s->context);
}

static void operations_learn_how_launches_end(void **state) {
  (void)state;
  sequence_run(failed_launch);
}

static void again(sequence *s) {
  weir_buffer *x = sequence_numbered(s, "x", 1);
  notes first = {.buffer = x, .steps = 2, .value = 1}, second = {.buffer = x, .steps = 2, .value = 5};
  sequence_step(s, x, 100);
  add(s, &first);
  sequence_step(s, x, 200);
  sequence_step(s, x, 300);
  add(s, &second);
  good(weir_graph_evaluate(s->graph, WEIR_FOREVER));
  sequence_expect_steps(x, 1, (uint32_t[]){100, 1, 2, 200, 300, 5, 6}, 7);
  first.steps = 3;
  first.value = 7;
  second.steps = 0;
  good(weir_graph_rerecord(s->graph));
  assert_int_equal(weir_graph_node_count(s->graph), 6);
  good(weir_graph_evaluate(s->graph, WEIR_FOREVER));
  const uint32_t all[] = {100, 1, 2, 200, 300, 5, 6, 100, 7, 8, 9, 200, 300};
  sequence_expect_steps(x, 1, all, 13);
  assert_memory_equal(first.text, "rbarba", 6);
  // An operation that fails leaves everything as it was.
  first.steps = 5;
  second.record_status = WEIR_ERROR_IO;
  refused(weir_graph_rerecord(s->graph), WEIR_ERROR_IO, "operation 1", "WEIR_ERROR_IO", NULL);
  assert_int_equal(weir_graph_node_count(s->graph), 6);
  good(weir_graph_evaluate(s->graph, WEIR_FOREVER));
  notes third = {.s = s, .buffer = x, .steps = 2, .record_status = WEIR_ERROR_UNAVAILABLE};
  weir_operation operation = operation_of(&third);
  refused(weir_graph_add_operation(s->graph, &operation), WEIR_ERROR_UNAVAILABLE, "could not record", NULL);
  assert_int_equal(weir_graph_node_count(s->graph), 6);
  assert_string_equal(third.text, "r"); // not destroyed: it never was in the graph
  second.record_status = WEIR_OK;
  second.steps = 1;
  first.steps = 2;
  good(weir_graph_rerecord(s->graph));
  good(weir_graph_rerecord(s->graph));
  assert_int_equal(weir_graph_node_count(s->graph), 6);
  good(weir_graph_evaluate(s->graph, WEIR_FOREVER));
  good(weir_graph_clear(s->graph));
}

static void operations_are_recorded_anew(void **state) {
  (void)state;
  sequence_run(again);
}

static weir_status meddle(weir_graph *graph, void *user) {
  sequence *s = user;
  weir_operation operation = {0};
  refused(weir_graph_add_operation(graph, &operation), WEIR_ERROR_INVALID_ARGUMENT, "recording", NULL);
  refused(weir_graph_rerecord(graph), WEIR_ERROR_INVALID_ARGUMENT, "recording", NULL);
  refused(weir_graph_clear(graph), WEIR_ERROR_INVALID_ARGUMENT, "recording", NULL);
  refused(weir_graph_release(graph), WEIR_ERROR_INVALID_ARGUMENT, "recording", NULL);
  sequence_step(s, sequence_buffer(s, "made"), 1);
  refused(weir_graph_launch(graph, NULL), WEIR_ERROR_INVALID_ARGUMENT, "recording", NULL);
  return WEIR_OK;
}

static void meddled(sequence *s) {
  weir_operation operation = {.record = meddle, .user = s};
  good(weir_graph_add_operation(s->graph, &operation));
  good(weir_graph_rerecord(s->graph));
  good(weir_graph_evaluate(s->graph, WEIR_FOREVER));
  refused(weir_graph_add_operation(s->graph, NULL), WEIR_ERROR_INVALID_ARGUMENT, "NULL", NULL);
  refused(weir_graph_add_operation(NULL, &operation), WEIR_ERROR_INVALID_ARGUMENT, "NULL", NULL);
  refused(weir_graph_rerecord(NULL), WEIR_ERROR_INVALID_ARGUMENT, "NULL", NULL);
}

static void recording_operations_may_only_record(void **state) {
  (void)state;
  sequence_run(meddled);
}

// Operations that are left when the context goes are destroyed with it.
static void left_over(void **state) {
  (void)state;
  weir_context *context;
  good(weir_context_create(&(weir_context_options){.devices = "cpu:1"}, &context));
  sequence s = {.context = context};
  good(weir_graph_create(context, &s.graph));
  notes one = {0};
  add(&s, &one);
  weir_context_release(context);
  assert_string_equal(one.text, "rd");
}

int main(int argc, char **argv) {
  sequence_choose(argc, argv);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(operations_are_told_of_launches),
      cmocka_unit_test(launches_keep_their_operations),
      cmocka_unit_test(operations_refuse_launches),
      cmocka_unit_test(operations_learn_how_launches_end),
      cmocka_unit_test(operations_are_recorded_anew),
      cmocka_unit_test(recording_operations_may_only_record),
      cmocka_unit_test(left_over),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
