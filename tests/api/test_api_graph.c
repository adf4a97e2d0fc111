// SPDX-License-Identifier: Apache-2.0
//
// Graphs: recorded once, launched many times, changed in between; and every misuse.
#include <string.h>

#include "api.h"
#include "graph_info.h"

static weir_context *context;
static weir_kernel *add;
static weir_graph *graph;

static int set_up(void **state) {
  (void)state;
  context = api_context("cpu:2", 0, 0);
  add = api_kernel(context, "add", api_add);
  assert_int_equal(weir_graph_create(context, NULL, &graph), WEIR_OK);
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  weir_context_release(context);
  return 0;
}

static uint32_t record(weir_arg first, weir_arg second) {
  const weir_arg args[] = {first, second};
  weir_task task = {.kernel = add, .args = args, .arg_count = 2};
  uint32_t node = UINT32_MAX;
  if (weir_graph_add(graph, &task, &node) != WEIR_OK) fail_msg("%s", weir_last_error());
  return node;
}

static weir_status launch(void) {
  weir_event *event = NULL;
  weir_status status = weir_graph_launch(graph, &event);
  return status == WEIR_OK ? api_await(event) : status;
}

static void launches_repeat_what_was_recorded(void **state) {
  (void)state;
  weir_buffer *x = api_number(context, 1), *y = api_number(context, 0);
  assert_int_equal(record(weir_reads(x), weir_updates(y)), 0);
  assert_int_equal(record(weir_reads(y), weir_updates(x)), 1);
  assert_int_equal(graph_info(graph).tasks, 2);
  assert_true(graph_edges(graph) >= 1);
  assert_int_equal(api_read_number(y), 0); // nothing ran yet
  uint64_t a = 1, b = 0;
  for (int i = 0; i < 50; i++) {
    assert_int_equal(weir_graph_launch(graph, NULL), WEIR_OK);
    b += a;
    a += b;
  }
  assert_int_equal(api_read_number(x), a);
  assert_int_equal(api_read_number(y), b);
  assert_int_equal(graph_info(graph).tasks, 2);
  assert_int_equal(weir_graph_release(graph), WEIR_OK);
}

static void launches_are_in_order_with_other_tasks(void **state) {
  (void)state;
  weir_buffer *x = api_number(context, 1), *y = api_number(context, 0);
  record(weir_reads(x), weir_updates(y));
  for (uint64_t i = 1; i <= 20; i++) {
    assert_int_equal(weir_copy_in(x, 0, 8, &i, NULL), WEIR_OK);
    assert_int_equal(launch(), WEIR_OK);
  }
  assert_int_equal(api_read_number(y), 210);
}

static void values_are_replaced(void **state) {
  (void)state;
  weir_buffer *y = api_number(context, 0);
  uint64_t value = 5;
  uint32_t node = record(weir_value(&value, sizeof value), weir_updates(y));
  value = 1000;
  assert_int_equal(launch(), WEIR_OK);
  assert_int_equal(api_read_number(y), 5);
  weir_arg arg = weir_value(&value, sizeof value);
  assert_int_equal(weir_graph_set_arg(graph, node, 0, &arg), WEIR_OK);
  value = 7;
  assert_int_equal(launch(), WEIR_OK);
  assert_int_equal(launch(), WEIR_OK);
  assert_int_equal(api_read_number(y), 2005);
}

// A launch in flight keeps the values that it was launched with.
static void replacing_does_not_change_launches_in_flight(void **state) {
  (void)state;
  gate door = {0};
  weir_buffer *y = api_number(context, 0);
  uint64_t value = 1;
  weir_arg arg = weir_value(&value, sizeof value), hold = weir_updates(y);
  uint32_t node = record(arg, weir_updates(y));
  assert_int_equal(gate_submit(context, &door, &hold, 1, NULL), WEIR_OK);
  for (int i = 0; i < 5; i++) {
    assert_int_equal(weir_graph_set_arg(graph, node, 0, &arg), WEIR_OK);
    assert_int_equal(weir_graph_launch(graph, NULL), WEIR_OK);
    value *= 10;
  }
  assert_int_equal(weir_graph_release(graph), WEIR_OK);
  gate_open(&door);
  assert_int_equal(api_read_number(y), 11111);
}

static void buffers_are_replaced(void **state) {
  (void)state;
  weir_buffer *x = api_number(context, 1), *y = api_number(context, 0), *z = api_number(context, 100);
  uint32_t first = record(weir_reads(x), weir_updates(y));
  record(weir_reads(x), weir_updates(y));
  assert_int_equal(launch(), WEIR_OK);
  assert_int_equal(api_read_number(y), 2);
  weir_arg arg = weir_reads(z);
  assert_int_equal(weir_graph_set_arg(graph, first, 0, &arg), WEIR_OK);
  assert_int_equal(launch(), WEIR_OK);
  assert_int_equal(api_read_number(y), 103);
  weir_buffer *w = api_number(context, 0);
  assert_int_equal(weir_graph_replace_buffer(graph, y, w), WEIR_OK);
  assert_int_equal(launch(), WEIR_OK);
  assert_int_equal(api_read_number(y), 103);
  assert_int_equal(api_read_number(w), 101);
  assert_int_equal(weir_buffer_release(y), WEIR_OK); // the graph does not name it any more
  assert_int_equal(launch(), WEIR_OK);
  assert_int_equal(api_read_number(w), 202);
}

static void graph_of_many_tasks_keeps_their_order(void **state) {
  (void)state;
  enum { NUMBERS = 7, TASKS = 500 };
  weir_buffer *numbers[NUMBERS];
  uint64_t wanted[NUMBERS];
  for (uint64_t i = 0; i < NUMBERS; i++) numbers[i] = api_number(context, wanted[i] = i);
  for (int i = 0; i < TASKS; i++) {
    int from = i * 5 % NUMBERS, to = (i * 3 + 1) % NUMBERS;
    if (from != to) record(weir_reads(numbers[from]), weir_updates(numbers[to]));
  }
  for (int run = 0; run < 10; run++) {
    assert_int_equal(weir_graph_launch(graph, NULL), WEIR_OK);
    for (int i = 0; i < TASKS; i++) {
      int from = i * 5 % NUMBERS, to = (i * 3 + 1) % NUMBERS;
      if (from != to) wanted[to] += wanted[from];
    }
  }
  for (int i = 0; i < NUMBERS; i++) assert_true(api_read_number(numbers[i]) == wanted[i]);
}

enum { WIDTH = 100 };

static void add_slowly(const weir_work *work) {
  for (volatile int i = 0; i < 3000; i++) continue;
  api_add(work);
}

static void sum_all(const weir_work *work) {
  const uint64_t *numbers = work->args[0];
  uint64_t *sum = work->args[1];
  for (int i = 0; i < WIDTH; i++) *sum += numbers[i];
}

// One task, then a hundred that can run side by side, then one that needs them all; more than a worker takes at a time.
static void wide_graphs_are_shared_by_workers(void **state) {
  (void)state;
  weir_context *many = api_context("cpu:4", 0, 0);
  weir_graph *wide = NULL;
  assert_int_equal(weir_graph_create(many, NULL, &wide), WEIR_OK);
  weir_kernel *slow = api_kernel(many, "slow", add_slowly), *sum = api_kernel(many, "sum", sum_all);
  static const uint64_t zeros[WIDTH];
  uint64_t one = 1;
  weir_buffer *source = api_number(many, 0), *total = api_number(many, 0);
  weir_buffer *numbers = api_buffer(many, sizeof zeros, NULL);
  assert_int_equal(weir_copy_in(numbers, 0, sizeof zeros, zeros, NULL), WEIR_OK);
  weir_arg args[] = {weir_value(&one, sizeof one), weir_updates(source)};
  weir_task task = {.kernel = slow, .args = args, .arg_count = 2};
  assert_int_equal(weir_graph_add(wide, &task, NULL), WEIR_OK);
  for (uint64_t i = 0; i < WIDTH; i++) {
    args[0] = weir_reads(source);
    args[1] = weir_updates_range(numbers, i * 8, 8);
    assert_int_equal(weir_graph_add(wide, &task, NULL), WEIR_OK);
  }
  args[0] = weir_reads(numbers);
  args[1] = weir_updates(total);
  task.kernel = sum;
  assert_int_equal(weir_graph_add(wide, &task, NULL), WEIR_OK);
  assert_int_equal(graph_info(wide).tasks, WIDTH + 2);
  assert_int_equal(graph_edges(wide), 2 * WIDTH);
  uint64_t wanted = 0;
  for (uint64_t launched = 1; launched <= 30; launched++) {
    assert_int_equal(weir_graph_launch(wide, NULL), WEIR_OK);
    wanted += WIDTH * (launched * (launched + 1) / 2);
  }
  assert_int_equal(api_read_number(total), wanted);
  weir_context_release(many);
}

static void host_tasks_can_be_recorded(void **state) {
  (void)state;
  weir_buffer *x = api_number(context, 1), *y = api_number(context, 0);
  const weir_arg args[] = {weir_reads(x), weir_updates(y)};
  weir_task task = {.host = api_add, .args = args, .arg_count = 2, .label = "by hand"};
  assert_int_equal(weir_graph_add(graph, &task, NULL), WEIR_OK);
  assert_int_equal(launch(), WEIR_OK);
  assert_int_equal(api_read_number(y), 1);
}

static void recording_refuses_what_submission_refuses(void **state) {
  (void)state;
  weir_buffer *x = api_buffer(context, 8, "small");
  weir_arg args[] = {weir_reads_range(x, 0, 9)};
  weir_task task = {.kernel = add, .args = args, .arg_count = 1};
  uint32_t node;
  api_expect(weir_graph_add(graph, &task, &node), WEIR_ERROR_OUT_OF_RANGE, "small", NULL);
  task.kernel = NULL;
  api_expect(weir_graph_add(graph, &task, NULL), WEIR_ERROR_INVALID_ARGUMENT, NULL);
  task.kernel = api_kernel(context, "hollow", NULL);
  args[0] = weir_reads(x);
  api_expect(weir_graph_add(graph, &task, NULL), WEIR_ERROR_NO_CODE, "hollow", NULL);
  task.kernel = add;
  weir_event *event = api_submit_host(context, api_nothing, NULL, NULL, 0);
  task.after = &event;
  task.after_count = 1;
  api_expect(weir_graph_add(graph, &task, NULL), WEIR_ERROR_INVALID_ARGUMENT, "after", NULL);
  weir_event_release(event);
  task = (weir_task){.kernel = add, .args = args, .arg_count = 1};
  weir_buffer_release(x);
  api_expect(weir_graph_add(graph, &task, NULL), WEIR_ERROR_RELEASED, NULL);
  api_expect(weir_graph_add(graph, NULL, NULL), WEIR_ERROR_INVALID_ARGUMENT, NULL);
  api_expect(weir_graph_add(NULL, &task, NULL), WEIR_ERROR_INVALID_ARGUMENT, NULL);
  assert_int_equal(graph_info(graph).tasks, 0);
}

static void launched_graphs_take_more_tasks(void **state) {
  (void)state;
  weir_buffer *x = api_number(context, 1), *y = api_number(context, 1);
  gate door = {0};
  weir_arg hold = weir_updates(x);
  record(weir_reads(x), weir_updates(y));
  assert_int_equal(gate_submit(context, &door, &hold, 1, NULL), WEIR_OK);
  assert_int_equal(weir_graph_launch(graph, NULL), WEIR_OK); // in flight while more is recorded
  assert_int_equal(record(weir_reads(x), weir_updates(y)), 1);
  assert_int_equal(weir_graph_launch(graph, NULL), WEIR_OK);
  assert_int_equal(record(weir_reads(y), weir_updates(x)), 2);
  gate_open(&door);
  assert_int_equal(launch(), WEIR_OK);
  assert_int_equal(graph_info(graph).tasks, 3);
  assert_int_equal(api_read_number(y), 6);
  assert_int_equal(api_read_number(x), 7);
}

static void wrong_replacements_are_refused(void **state) {
  (void)state;
  weir_buffer *x = api_number(context, 1), *y = api_number(context, 1), *small = api_buffer(context, 4, "small");
  weir_buffer *stranger = api_number(context, 1);
  uint64_t value = 1;
  uint32_t node = record(weir_reads(x), weir_updates(y));
  uint32_t with_value = record(weir_value(&value, 8), weir_updates(y));
  weir_arg arg = weir_updates(stranger);
  api_expect(weir_graph_set_arg(graph, node, 0, &arg), WEIR_ERROR_INVALID_ARGUMENT, NULL); // another mode
  arg = weir_reads_range(stranger, 4, 4);
  api_expect(weir_graph_set_arg(graph, node, 0, &arg), WEIR_ERROR_INVALID_ARGUMENT, NULL); // another range
  arg = weir_reads(stranger);
  api_expect(weir_graph_set_arg(graph, 2, 0, &arg), WEIR_ERROR_OUT_OF_RANGE, NULL); // no such node
  api_expect(weir_graph_set_arg(graph, node, 2, &arg), WEIR_ERROR_OUT_OF_RANGE, NULL);
  api_expect(weir_graph_set_arg(graph, with_value, 0, &arg), WEIR_ERROR_INVALID_ARGUMENT, NULL);
  api_expect(weir_graph_set_arg(graph, node, 0, NULL), WEIR_ERROR_INVALID_ARGUMENT, NULL);
  arg = weir_value(&value, 4);
  api_expect(weir_graph_set_arg(graph, with_value, 0, &arg), WEIR_ERROR_INVALID_ARGUMENT, NULL); // another size
  arg = weir_value(&value, 8);
  api_expect(weir_graph_set_arg(graph, node, 0, &arg), WEIR_ERROR_INVALID_ARGUMENT, NULL);
  arg = weir_reads_range(small, 0, 8);
  assert_int_not_equal(weir_graph_set_arg(graph, node, 0, &arg), WEIR_OK);
  arg = weir_reads(y);
  api_expect(weir_graph_set_arg(graph, node, 0, &arg), WEIR_ERROR_INVALID_ARGUMENT, NULL); // disagrees with argument 1
  assert_int_not_equal(weir_graph_replace_buffer(graph, x, small), WEIR_OK);
  api_expect(weir_graph_replace_buffer(graph, NULL, x), WEIR_ERROR_INVALID_ARGUMENT, NULL);
  api_expect(weir_graph_replace_buffer(graph, x, NULL), WEIR_ERROR_INVALID_ARGUMENT, NULL);
  api_expect(weir_graph_replace_buffer(graph, stranger, small), WEIR_ERROR_INVALID_ARGUMENT, NULL); // larger
  api_expect(weir_graph_replace_buffer(graph, stranger, api_number(context, 2)), WEIR_ERROR_INVALID_ARGUMENT, NULL);
  api_expect(weir_graph_replace_buffer(graph, x, y), WEIR_ERROR_INVALID_ARGUMENT, NULL); // named already
  weir_buffer_release(stranger);
  api_expect(weir_graph_replace_buffer(graph, x, stranger), WEIR_ERROR_RELEASED, NULL);
  assert_int_equal(launch(), WEIR_OK); // nothing has changed
  assert_int_equal(api_read_number(y), 3);
}

static void launch_with_a_released_buffer_is_refused(void **state) {
  (void)state;
  weir_buffer *x = api_number(context, 1), *y = api_number(context, 1);
  record(weir_reads(x), weir_updates(y));
  assert_int_equal(launch(), WEIR_OK);
  assert_int_equal(weir_buffer_set_label(x, "x"), WEIR_OK);
  weir_buffer_release(x);
  weir_event *event = (weir_event *)graph;
  api_expect(weir_graph_launch(graph, &event), WEIR_ERROR_RELEASED, "graph launch: node 0 'add', argument 0: buffer ",
             "'x', of which it names bytes [0, 8), was released before", NULL);
  assert_null(event);
  weir_buffer *z = api_number(context, 5);
  assert_int_equal(weir_graph_replace_buffer(graph, x, z), WEIR_OK); // a released buffer can be replaced
  assert_int_equal(launch(), WEIR_OK);
  assert_int_equal(api_read_number(y), 7);
}

static void launch_with_a_released_kernel_is_refused(void **state) {
  (void)state;
  weir_buffer *x = api_number(context, 1), *y = api_number(context, 1);
  record(weir_reads(x), weir_updates(y));
  assert_int_equal(weir_kernel_release(add), WEIR_OK);
  api_expect(weir_graph_launch(graph, NULL), WEIR_ERROR_RELEASED, "graph launch: node 0 'add': its kernel 'add' was ",
             NULL);
}

static void released_graphs_are_recognised(void **state) {
  (void)state;
  assert_int_equal(weir_graph_release(NULL), WEIR_OK);
  assert_int_equal(weir_graph_release(graph), WEIR_OK);
  api_expect(weir_graph_release(graph), WEIR_ERROR_RELEASED, NULL);
  api_expect(weir_graph_launch(graph, NULL), WEIR_ERROR_RELEASED, NULL);
  weir_task task = {.host = api_nothing};
  api_expect(weir_graph_add(graph, &task, NULL), WEIR_ERROR_RELEASED, NULL);
  weir_graph *made = graph;
  api_expect(weir_graph_create(NULL, NULL, &made), WEIR_ERROR_INVALID_ARGUMENT, NULL);
  assert_null(made);
  api_expect(weir_graph_create(context, NULL, NULL), WEIR_ERROR_INVALID_ARGUMENT, NULL);
}

static void empty_graph_is_not_launched(void **state) {
  (void)state;
  assert_int_equal(graph_edges(graph), 0);
  api_expect(weir_graph_launch(graph, NULL), WEIR_ERROR_INVALID_ARGUMENT, NULL);
}

static void failing_graph_fails_its_event(void **state) {
  (void)state;
  weir_buffer *x = api_number(context, 1), *y = api_number(context, 1);
  weir_arg arg = weir_updates(x);
  weir_task task = {.kernel = api_kernel(context, "bad", api_fail), .args = &arg, .arg_count = 1};
  record(weir_reads(x), weir_updates(y));
  assert_int_equal(weir_graph_add(graph, &task, NULL), WEIR_OK);
  assert_int_equal(launch(), WEIR_ERROR_TASK_FAILED);
  uint64_t value;
  assert_int_equal(api_read(x, 0, 8, &value), WEIR_ERROR_UPSTREAM_FAILED);
  assert_int_equal(api_read_number(y), 2); // it was done before the failure
  assert_int_equal(weir_finish(context), WEIR_ERROR_TASK_FAILED);
}

static void fail_if_odd(const weir_work *work) {
  uint32_t number;
  memcpy(&number, work->args[0], sizeof number);
  *(char *)work->args[1] = (char)number;
  if (number % 2 == 1) weir_work_fail(work, "odd");
}

// Many tasks in flight, of which every other one fails, each bring one byte of what the graph reads.
static void graph_reads_from_many_failing_tasks(void **state) {
  (void)state;
  enum { BYTES = 400 };
  gate door = {0};
  weir_buffer *bytes = api_buffer(context, BYTES, NULL), *copies = api_buffer(context, BYTES, NULL);
  weir_arg hold = weir_updates(bytes);
  weir_kernel *nothing = api_kernel(context, "nothing", api_nothing);
  for (uint32_t i = 0; i < BYTES; i += 40) {
    const weir_arg args[] = {weir_reads_range(bytes, i, i % 80 == 0 ? 1 : 40), weir_writes_range(copies, i, 40)};
    weir_task task = {.kernel = nothing, .args = args, .arg_count = 2};
    assert_int_equal(weir_graph_add(graph, &task, NULL), WEIR_OK);
  }
  assert_int_equal(gate_submit(context, &door, &hold, 1, NULL), WEIR_OK);
  for (uint32_t i = 0; i < BYTES; i++) {
    const weir_arg args[] = {weir_value(&i, sizeof i), weir_writes_range(bytes, i, 1)};
    weir_task task = {.host = fail_if_odd, .args = args, .arg_count = 2};
    assert_int_equal(weir_submit(context, &task, NULL), WEIR_OK);
  }
  weir_event *event = NULL;
  assert_int_equal(weir_graph_launch(graph, &event), WEIR_OK);
  gate_open(&door);
  assert_int_equal(api_await(event), WEIR_ERROR_UPSTREAM_FAILED);
  char byte;
  for (uint32_t i = 0; i < BYTES; i += 5)
    assert_int_equal(api_read(copies, i, 1, &byte), i % 80 < 40 ? WEIR_OK : WEIR_ERROR_UPSTREAM_FAILED);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(launches_repeat_what_was_recorded, set_up, tear_down),
      cmocka_unit_test_setup_teardown(launches_are_in_order_with_other_tasks, set_up, tear_down),
      cmocka_unit_test_setup_teardown(values_are_replaced, set_up, tear_down),
      cmocka_unit_test_setup_teardown(replacing_does_not_change_launches_in_flight, set_up, tear_down),
      cmocka_unit_test_setup_teardown(buffers_are_replaced, set_up, tear_down),
      cmocka_unit_test_setup_teardown(graph_of_many_tasks_keeps_their_order, set_up, tear_down),
      cmocka_unit_test_setup_teardown(wide_graphs_are_shared_by_workers, set_up, tear_down),
      cmocka_unit_test_setup_teardown(host_tasks_can_be_recorded, set_up, tear_down),
      cmocka_unit_test_setup_teardown(recording_refuses_what_submission_refuses, set_up, tear_down),
      cmocka_unit_test_setup_teardown(launched_graphs_take_more_tasks, set_up, tear_down),
      cmocka_unit_test_setup_teardown(wrong_replacements_are_refused, set_up, tear_down),
      cmocka_unit_test_setup_teardown(launch_with_a_released_buffer_is_refused, set_up, tear_down),
      cmocka_unit_test_setup_teardown(launch_with_a_released_kernel_is_refused, set_up, tear_down),
      cmocka_unit_test_setup_teardown(released_graphs_are_recognised, set_up, tear_down),
      cmocka_unit_test_setup_teardown(empty_graph_is_not_launched, set_up, tear_down),
      cmocka_unit_test_setup_teardown(graph_reads_from_many_failing_tasks, set_up, tear_down),
      cmocka_unit_test_setup_teardown(failing_graph_fails_its_event, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
