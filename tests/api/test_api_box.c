// SPDX-License-Identifier: Apache-2.0
//
// Arguments that are boxes: what is refused, and with which text; what waits for what; failures; graphs; timelines.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "api.h"
#include "gate.h"
#include "weir/box.h"
#include "weir/chain.h"
#include "weir/graph.h"
#include "weir/split.h"

enum { PITCH = 16, ROWS = 8, BYTES = PITCH * ROWS };

static const weir_box left = {.width = 4, .pitch = PITCH, .rows = ROWS};

static weir_status submit_one(weir_context *context, weir_kernel *kernel, weir_arg arg) {
  return weir_submit(context, &(weir_task){.kernel = kernel, .args = &arg, .arg_count = 1, .label = "t"}, NULL);
}

static void wrong_boxes_are_refused(void **state) {
  (void)state;
  weir_context *context = api_context("cpu:1", 0, 0);
  weir_kernel *kernel = api_kernel(context, "k", api_nothing);
  weir_buffer *buffer = api_buffer(context, BYTES, NULL);
  weir_buffer_set_label(buffer, "matrix");
  const weir_status invalid = WEIR_ERROR_INVALID_ARGUMENT, range = WEIR_ERROR_OUT_OF_RANGE;
  const struct {
    weir_box box;
    uint64_t offset;
    weir_status status;
    const char *text;
  } cases[] = {
      {{0, 16, 2, 0, 0}, 0, invalid, "empty"},
      {{17, 16, 2, 0, 0}, 0, invalid, "wider than its pitch"},
      {{4, 0, 0, 0, 0}, 0, invalid, "wider than its pitch"},
      {{4, 16, 2, 31, 2}, 0, invalid, "slice pitch"},
      {{4, 16, 2, UINT64_MAX, 3}, 0, invalid, "larger than any buffer"},
      {{4, UINT64_MAX / 2, 4, 0, 0}, 0, invalid, "larger than any buffer"},
      {{4, 16, 8, 0, 0}, 13, range, "leave buffer"},
      {{4, 16, 9, 0, 0}, 0, range, "leave buffer"},
      {{4, 16, 2, 64, 3}, 0, range, "leave buffer"},
      {{4, 16, 1, 0, 0}, 128, range, "leave buffer"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
    api_expect(submit_one(context, kernel, weir_reads_box(buffer, cases[i].offset, &cases[i].box)), cases[i].status,
               "argument 0", "'matrix'", cases[i].text, NULL);
  api_expect(submit_one(context, kernel, weir_writes_box(buffer, 8, NULL)), invalid, "argument 0", "is NULL", NULL);
  assert_int_equal(submit_one(context, kernel, weir_updates_box(buffer, 12, &left)), WEIR_OK);
  weir_context_release(context);
}

static weir_status submit_two(weir_context *context, weir_kernel *kernel, weir_arg first, weir_arg second) {
  const weir_arg args[] = {first, second};
  return weir_submit(context, &(weir_task){.kernel = kernel, .args = args, .arg_count = 2}, NULL);
}

static void arguments_that_disagree_are_refused(void **state) {
  (void)state;
  weir_context *context = api_context("cpu:1", 0, 0);
  weir_kernel *kernel = api_kernel(context, "k", api_nothing);
  weir_buffer *buffer = api_buffer(context, BYTES, NULL);
  const weir_box wide = {.width = 5, .pitch = PITCH, .rows = 2}, foreign = {.width = 2, .pitch = 5, .rows = 10};
  const weir_box same = {.width = 4, .pitch = PITCH, .rows = ROWS, .slices = 1};
  const weir_arg writes = weir_writes_box(buffer, 0, &left);
  const weir_status invalid = WEIR_ERROR_INVALID_ARGUMENT;
  api_expect(submit_two(context, kernel, writes, weir_reads_box(buffer, 0, &left)), invalid, "overlap", "a box in",
             NULL);
  api_expect(submit_two(context, kernel, writes, weir_writes_box(buffer, 0, &wide)), invalid, "disagree", NULL);
  api_expect(submit_two(context, kernel, writes, weir_reads_range(buffer, 19, 1)), invalid, "[19, 20)", NULL);
  api_expect(submit_two(context, kernel, writes, weir_reads_box(buffer, 5, &foreign)), invalid, "disagree", NULL);
  assert_int_equal(submit_two(context, kernel, writes, weir_writes_box(buffer, 0, &same)), WEIR_OK);
  assert_int_equal(submit_two(context, kernel, writes, weir_writes_box(buffer, 4, &left)), WEIR_OK);
  assert_int_equal(submit_two(context, kernel, writes, weir_reads_range(buffer, 20, 12)), WEIR_OK);
  weir_arg many[30];
  for (uint32_t i = 0; i < 30; i++) many[i] = weir_reads_box(buffer, i % 12, &left);
  weir_task task = {.kernel = kernel, .args = many, .arg_count = 30};
  assert_int_equal(weir_submit(context, &task, NULL), WEIR_OK);
  many[17] = weir_updates_box(buffer, 5, &left);
  api_expect(weir_submit(context, &task, NULL), invalid, "disagree", NULL);
  assert_int_equal(weir_finish(context), WEIR_OK);
  weir_context_release(context);
}

static uint64_t edges_of(weir_context *context) {
  weir_statistics statistics;
  weir_context_statistics(context, &statistics);
  return statistics.edges;
}

static void only_common_bytes_make_tasks_wait(void **state) {
  (void)state;
  weir_context *context = api_context("cpu:2", 0, 0);
  weir_kernel *kernel = api_kernel(context, "k", api_nothing);
  weir_buffer *buffer = api_buffer(context, BYTES, NULL), *other = api_buffer(context, 8, NULL);
  gate closed = {0};
  const weir_arg held[] = {weir_writes_box(buffer, 0, &left), weir_writes(other)};
  weir_event *event;
  assert_int_equal(gate_submit(context, &closed, held, 2, &event), WEIR_OK);
  uint64_t before = edges_of(context);
  assert_int_equal(submit_one(context, kernel, weir_writes_box(buffer, 4, &left)), WEIR_OK);
  assert_int_equal(submit_one(context, kernel, weir_reads_range(buffer, 4, 12)), WEIR_OK);
  assert_true(edges_of(context) <= before + 1); // the read perhaps waits for the write
  before = edges_of(context);
  assert_int_equal(submit_one(context, kernel, weir_reads_range(buffer, 3, 1)), WEIR_OK);
  assert_int_equal(edges_of(context), before + 1);
  gate_open(&closed);
  assert_int_equal(weir_finish(context), WEIR_OK);
  weir_event_release(event);
  weir_context_release(context);
}

static void fails(const weir_work *work) {
  weir_work_fail(work, "as told");
}

static void a_failure_poisons_its_box_only(void **state) {
  (void)state;
  weir_context *context = api_context("cpu:1", 0, 0);
  weir_kernel *kernel = api_kernel(context, "k", api_nothing);
  weir_buffer *buffer = api_buffer(context, BYTES, NULL);
  const weir_arg poisoned = weir_updates_box(buffer, 4, &left);
  unsigned char bytes[BYTES] = {0};
  assert_int_equal(weir_copy_in(buffer, 0, BYTES, bytes, NULL), WEIR_OK);
  assert_int_equal(weir_submit(context, &(weir_task){.host = fails, .args = &poisoned, .arg_count = 1}, NULL), WEIR_OK);
  assert_int_equal(weir_finish(context), WEIR_ERROR_TASK_FAILED);
  assert_int_equal(weir_read(buffer, 0, 4, bytes), WEIR_OK);
  assert_int_equal(weir_read(buffer, 8, 12, bytes), WEIR_OK);
  assert_int_equal(weir_read(buffer, 4, 1, bytes), WEIR_ERROR_UPSTREAM_FAILED);
  assert_int_equal(weir_read(buffer, 20, 4, bytes), WEIR_ERROR_UPSTREAM_FAILED);
  assert_int_equal(submit_one(context, kernel, weir_writes_box(buffer, 4, &left)), WEIR_OK); // heals
  assert_int_equal(weir_read(buffer, 0, BYTES, bytes), WEIR_OK);
  assert_int_equal(weir_finish(context), WEIR_OK);
  weir_context_release(context);
}

// So many values that a box could not be behind them.
static void large_values_leave_boxes_alone(void **state) {
  (void)state;
  enum { VALUES = 150, VALUE_BYTES = 4096 };
  weir_context *context = api_context("cpu:1", 0, 0);
  weir_buffer *buffer = api_buffer(context, BYTES, NULL);
  static unsigned char value[VALUE_BYTES];
  unsigned char bytes[BYTES] = {0};
  weir_arg args[VALUES + 2];
  for (uint32_t i = 0; i < VALUES; i++) args[i] = weir_value(value, VALUE_BYTES);
  args[VALUES] = weir_updates_box(buffer, 8, &left);
  args[VALUES + 1] = weir_reads_box(buffer, 0, &left);
  assert_int_equal(weir_copy_in(buffer, 0, BYTES, bytes, NULL), WEIR_OK);
  const weir_task task = {.host = fails, .args = args, .arg_count = VALUES + 2};
  assert_int_equal(weir_submit(context, &task, NULL), WEIR_OK);
  assert_int_equal(weir_finish(context), WEIR_ERROR_TASK_FAILED);
  for (uint64_t row = 0; row < ROWS; row++) {
    assert_int_equal(weir_read(buffer, row * PITCH, 8, bytes), WEIR_OK);
    assert_int_equal(weir_read(buffer, row * PITCH + 8, 4, bytes), WEIR_ERROR_UPSTREAM_FAILED);
    assert_int_equal(weir_read(buffer, row * PITCH + 12, 4, bytes), WEIR_OK);
  }
  weir_context_release(context);
}

static void graphs_take_boxes(void **state) {
  (void)state;
  weir_context *context = api_context("cpu:2", 0, 0);
  weir_kernel *kernel = api_kernel(context, "k", api_nothing);
  weir_buffer *buffer = api_buffer(context, BYTES, NULL), *second = api_buffer(context, BYTES, NULL);
  weir_graph *graph;
  weir_arg arg = weir_writes_box(buffer, 0, &left);
  weir_task task = {.kernel = kernel, .args = &arg, .arg_count = 1};
  uint32_t node;
  assert_int_equal(weir_graph_create(context, &(weir_graph_options){0}, &graph), WEIR_OK);
  for (uint32_t column = 0; column < 4; column++) {
    arg.offset = 4ull * column;
    assert_int_equal(weir_graph_add(graph, &task, &node), WEIR_OK);
  }
  arg = weir_reads_range(buffer, 0, 4); // of the first one
  assert_int_equal(weir_graph_add(graph, &task, NULL), WEIR_OK);
  assert_int_equal(weir_graph_launch(graph, NULL), WEIR_OK);
  weir_graph_info info;
  weir_graph_information(graph, &info);
  assert_int_equal(info.edges, 1);
  const weir_box taller = {.width = 4, .pitch = PITCH, .rows = 2};
  arg = weir_writes_box(second, 12, &left);
  assert_int_equal(weir_graph_set_arg(graph, node, 0, &arg), WEIR_OK);
  arg = weir_writes_box(second, 12, &taller);
  api_expect(weir_graph_set_arg(graph, node, 0, &arg), WEIR_ERROR_INVALID_ARGUMENT, "shape", NULL);
  arg = weir_writes_range(second, 12, 116);
  api_expect(weir_graph_set_arg(graph, node, 0, &arg), WEIR_ERROR_INVALID_ARGUMENT, "shape", NULL);
  assert_int_equal(weir_graph_launch(graph, NULL), WEIR_OK);
  assert_int_equal(weir_finish(context), WEIR_OK);
  assert_int_equal(weir_graph_release(graph), WEIR_OK);
  weir_context_release(context);
}

static void chains_and_splits_refuse_boxes(void **state) {
  (void)state;
  weir_context *context = api_context("cpu:1", 0, 0);
  weir_kernel *kernel = api_kernel(context, "k", api_nothing);
  weir_buffer *buffer = api_buffer(context, BYTES, NULL);
  const weir_chain_arg fixed = weir_chain_fixed(weir_reads_box(buffer, 0, &left));
  weir_chain_stage stage = {.kernel = kernel, .args = &fixed, .arg_count = 1};
  const weir_chain_options options = {.stages = &stage, .stage_count = 1};
  weir_chain *chain;
  api_expect(weir_chain_create(context, &options, &chain), WEIR_ERROR_INVALID_ARGUMENT, "stage 0", "argument 0",
             "a box", NULL);
  weir_split *split;
  assert_int_equal(weir_split_create(context, &(weir_split_options){0}, &split), WEIR_OK);
  const weir_split_arg whole = weir_split_whole(weir_reads_box(buffer, 0, &left));
  const weir_split_launch launch = {.kernel = kernel, .args = &whole, .arg_count = 1};
  api_expect(weir_split_submit(split, &launch, NULL), WEIR_ERROR_INVALID_ARGUMENT, "argument 0", "a box", NULL);
  weir_split_release(split);
  weir_context_release(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(wrong_boxes_are_refused),           cmocka_unit_test(arguments_that_disagree_are_refused),
      cmocka_unit_test(only_common_bytes_make_tasks_wait), cmocka_unit_test(a_failure_poisons_its_box_only),
      cmocka_unit_test(large_values_leave_boxes_alone),    cmocka_unit_test(graphs_take_boxes),
      cmocka_unit_test(chains_and_splits_refuse_boxes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
