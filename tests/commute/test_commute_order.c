// SPDX-License-Identifier: Apache-2.0
//
// Tasks that commute run in any order, one at a time on the same bytes, and apart from all others.
#include "api.h"

#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#include "random.h"
#include "weir/box.h"
#include "weir/graph.h"
#include "weir/reduce.h"
#include "weir/sim.h"
#include "weir/split.h"

typedef struct cell {
  uint64_t busy, sum;
} cell;

// Adds 1 to each of its cells, in small steps that would show if another task did the same meanwhile.
static void bump(const weir_work *work) {
  for (uint32_t i = 0; i < work->arg_count; i++) {
    cell *it = work->args[i];
    uint64_t seen = it->sum;
    if (it->busy++ != 0) weir_work_fail(work, "another task is there");
    sched_yield();
    it->sum = seen + 1;
    it->busy--;
  }
}

// Adds the other argument, and 7.
static void add_seen(const weir_work *work) {
  cell *it = work->args[0];
  it->sum += *(const uint64_t *)work->args[1] + 7;
}

static weir_buffer *make_cells(weir_context *context, uint32_t count) {
  weir_buffer *buffer = api_buffer(context, count * sizeof(cell), "cells");
  api_expect(weir_fill(buffer, 0, WEIR_WHOLE, 0, NULL), WEIR_OK, NULL);
  return buffer;
}

static uint64_t read_sum(weir_buffer *buffer, uint32_t index) {
  cell it = {0};
  api_expect(api_read(buffer, index * sizeof it, sizeof it, &it), WEIR_OK, NULL);
  assert_int_equal(it.busy, 0);
  return it.sum;
}

// The first task cannot run yet; the second one does not wait for it, as it would for an update.
static void a_later_task_goes_first(void **state) {
  (void)state;
  weir_context *context = api_context("cpu:2", 0, 0);
  weir_buffer *cells = make_cells(context, 1), *late = api_number(context, 0);
  gate hold = {0};
  api_expect(gate_submit(context, &hold, (weir_arg[]){weir_updates(late)}, 1, NULL), WEIR_OK, NULL);
  weir_arg args[] = {weir_commutes(cells), weir_reads(late)};
  weir_event *waiting = api_submit_host(context, add_seen, NULL, args, 2);
  weir_event *second = api_submit_host(context, bump, NULL, args, 1);
  assert_int_equal(api_await(second), WEIR_OK);
  assert_int_equal(weir_event_poll(waiting), WEIR_PENDING);
  gate_open(&hold);
  assert_int_equal(api_await(waiting), WEIR_OK);
  assert_int_equal(read_sum(cells, 0), 8);
  weir_context_release(context);
}

// A reader waits for all, and who commutes after it waits for the reader.
static void others_come_before_or_after(void **state) {
  (void)state;
  weir_context *context = api_context("cpu:2", 0, 0);
  weir_buffer *cells = make_cells(context, 1), *late = api_number(context, 0), *seen = api_number(context, 0);
  gate hold = {0};
  api_expect(gate_submit(context, &hold, (weir_arg[]){weir_updates(late)}, 1, NULL), WEIR_OK, NULL);
  weir_arg args[] = {weir_commutes(cells), weir_reads(late)};
  weir_event *waiting = NULL, *copied = NULL;
  weir_task task = {.host = api_nothing, .args = args, .arg_count = 2};
  api_expect(weir_submit(context, &task, &waiting), WEIR_OK, NULL);
  weir_event *second = api_submit_host(context, bump, NULL, args, 1);
  api_expect(weir_copy(seen, 0, cells, 8, 8, &copied), WEIR_OK, NULL);
  weir_event *third = api_submit_host(context, bump, NULL, args, 1);
  assert_int_equal(api_await(second), WEIR_OK);
  assert_int_equal(weir_event_poll(copied), WEIR_PENDING);
  assert_int_equal(weir_event_poll(third), WEIR_PENDING);
  gate_open(&hold);
  assert_int_equal(api_await(third), WEIR_OK);
  assert_int_equal(api_await(copied), WEIR_OK);
  weir_event_release(waiting);
  assert_int_equal(api_read_number(seen), 1);
  assert_int_equal(read_sum(cells, 0), 2);
  weir_context_release(context);
}

// Each task takes several of a few cells: by itself, as ranges of one buffer, or as buffers.
static void never_together_and_never_stuck(void **state) {
  (void)state;
  enum { CELLS = 6, TASKS = 400 };
  const char *devices[] = {"cpu:4", "cpu:2", "sim:ideal", "cpu:1"};
  for (uint64_t seed = 1; seed <= 12; seed++) {
    weir_context *context;
    weir_context_options options = {.devices = devices[seed % 4], .window = seed % 3 == 0 ? 8 : 0, .seed = seed};
    api_expect(weir_context_create(&options, &context), WEIR_OK, NULL);
    weir_kernel *kernel = api_kernel(context, "bump", bump);
    api_expect(weir_kernel_set_sim(kernel, &(weir_sim_launch){.threads = 64, .us = 5}, 1), WEIR_OK, NULL);
    weir_buffer *whole = make_cells(context, CELLS), *single[CELLS];
    for (int i = 0; i < CELLS; i++) single[i] = make_cells(context, 1);
    uint64_t expected[2][CELLS] = {{0}};
    random_state random = {seed};
    for (int t = 0; t < TASKS; t++) {
      weir_arg args[2 * CELLS];
      uint32_t count = 0;
      for (uint32_t i = 0; i < 2 * CELLS; i++) {
        if (!random_chance(&random, 25)) continue;
        expected[i >= CELLS][i % CELLS]++;
        args[count++] =
            i < CELLS ? weir_commutes_range(whole, i * sizeof(cell), sizeof(cell)) : weir_commutes(single[i - CELLS]);
      }
      weir_task task = {.kernel = kernel, .args = args, .arg_count = count};
      api_expect(weir_submit(context, &task, NULL), WEIR_OK, NULL);
    }
    api_expect(weir_finish(context), WEIR_OK, NULL);
    for (uint32_t i = 0; i < CELLS; i++) {
      assert_int_equal(read_sum(whole, i), expected[0][i]);
      assert_int_equal(read_sum(single[i], 0), expected[1][i]);
    }
    weir_context_release(context);
  }
}

typedef struct journal {
  atomic_uint count;
  uint32_t numbers[64];
} journal;

static void note(const weir_work *work) {
  journal *self = work->user;
  self->numbers[atomic_fetch_add(&self->count, 1)] = *(const uint32_t *)work->args[1];
}

// As a reference; a reader would not see the difference.
static void in_order(void **state) {
  (void)state;
  weir_context *context = api_context("cpu:3", 0, WEIR_CONTEXT_IN_ORDER);
  weir_buffer *cells = make_cells(context, 1);
  journal noted = {0};
  for (uint32_t i = 0; i < 50; i++) {
    weir_arg args[] = {weir_commutes(cells), weir_value(&i, sizeof i)};
    api_expect(weir_submit(context, &(weir_task){.host = note, .user = &noted, .args = args, .arg_count = 2}, NULL),
               WEIR_OK, NULL);
  }
  api_expect(weir_finish(context), WEIR_OK, NULL);
  for (uint32_t i = 0; i < 50; i++) assert_int_equal(noted.numbers[i], i);
  weir_context_release(context);
}

// A buffer that is overwritten while tasks commute on it starts again: those that commute on the new contents do not wait.
static void renamed_meanwhile(void **state) {
  (void)state;
  weir_context *context = api_context("cpu:3", 0, 0);
  weir_buffer *cells = make_cells(context, 1), *late = api_number(context, 0);
  gate hold = {0};
  api_expect(gate_submit(context, &hold, (weir_arg[]){weir_commutes(cells), weir_updates(late)}, 2, NULL), WEIR_OK,
             NULL);
  gate_await(&hold, 1);
  weir_arg args[] = {weir_commutes(cells), weir_reads(late)};
  weir_event *behind = NULL;
  api_expect(weir_submit(context, &(weir_task){.host = api_nothing, .args = args, .arg_count = 2}, &behind), WEIR_OK,
             NULL);
  api_expect(weir_fill(cells, 0, WEIR_WHOLE, 0, NULL), WEIR_OK, NULL);
  weir_event *event = api_submit_host(context, bump, NULL, args, 1);
  assert_int_equal(api_await(event), WEIR_OK);
  assert_int_equal(weir_event_poll(behind), WEIR_PENDING);
  assert_int_equal(read_sum(cells, 0), 1);
  gate_open(&hold);
  assert_int_equal(api_await(behind), WEIR_OK);
  weir_context_release(context);
}

static void in_a_graph(void **state) {
  (void)state;
  weir_context *context = api_context("cpu:2", 0, 0);
  weir_buffer *cells = make_cells(context, 2), *others = make_cells(context, 2);
  weir_graph *graph;
  api_expect(weir_graph_create(context, NULL, &graph), WEIR_OK, NULL);
  weir_kernel *kernel = api_kernel(context, "bump", bump);
  weir_arg args[] = {weir_commutes_range(cells, 0, sizeof(cell)),
                     weir_commutes_range(cells, sizeof(cell), sizeof(cell))};
  for (int i = 0; i < 5; i++)
    api_expect(weir_graph_add(graph, &(weir_task){.kernel = kernel, .args = args, .arg_count = 2}, NULL), WEIR_OK,
               NULL);
  for (int i = 0; i < 4; i++) {
    api_expect(weir_graph_launch(graph, NULL), WEIR_OK, NULL);
    api_expect(weir_submit(context, &(weir_task){.kernel = kernel, .args = args, .arg_count = 2}, NULL), WEIR_OK, NULL);
  }
  assert_int_equal(read_sum(cells, 0), 24);
  weir_arg other = weir_commutes_range(others, 0, sizeof(cell));
  api_expect(weir_graph_set_arg(graph, 2, 0, &other), WEIR_OK, NULL);
  api_expect(weir_graph_launch(graph, NULL), WEIR_OK, NULL);
  assert_int_equal(read_sum(cells, 0), 28);
  assert_int_equal(read_sum(cells, 1), 29);
  assert_int_equal(read_sum(others, 0), 1);
  weir_context_release(context);
}

// A square of cells, by rows and by columns: a kernel that adds 1 to each cell of its row or column.
enum { SIDE = 8 };

static void bump_line(const weir_work *work) {
  const uint32_t *stride = work->args[1];
  uint64_t *cells = work->args[0];
  for (uint32_t i = 0; i < SIDE; i++) {
    uint64_t seen = cells[i * *stride];
    if (i == 3) sched_yield();
    cells[i * *stride] = seen + 1;
  }
}

static void rows_and_boxes(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= 6; seed++) {
    weir_context *context = api_context("cpu:4", 0, 0);
    weir_buffer *square = api_buffer(context, SIDE * SIDE * 8, "square");
    api_expect(weir_fill(square, 0, WEIR_WHOLE, 0, NULL), WEIR_OK, NULL);
    uint64_t expected[SIDE][SIDE] = {{0}}, found[SIDE][SIDE];
    random_state random = {seed};
    for (int t = 0; t < 200; t++) {
      uint32_t at = random_below(&random, SIDE), stride = t > 60 && random_chance(&random, 40) ? SIDE : 1;
      weir_box column = {.width = 8, .pitch = SIDE * 8, .rows = SIDE};
      weir_arg args[] = {weir_commutes_range(square, at * SIDE * 8, SIDE * 8), weir_value(&stride, sizeof stride)};
      if (stride == SIDE)
        args[0] =
            (weir_arg){.mode = WEIR_COMMUTE, .shape = WEIR_BOX, .buffer = square, .offset = at * 8, .value = &column};
      for (uint32_t i = 0; i < SIDE; i++) (stride == 1 ? &expected[at][i] : &expected[i][at])[0]++;
      weir_event_release(api_submit_host(context, bump_line, NULL, args, 2));
    }
    api_expect(api_read(square, 0, sizeof found, found), WEIR_OK, NULL);
    assert_memory_equal(found, expected, sizeof found);
    weir_context_release(context);
  }
}

// The first of two equal arguments ends the use by boxes: for the second one the task has written it all, and does not wait
// for itself.
static void twice_after_boxes(void **state) {
  (void)state;
  weir_context *context = api_context("cpu:2", 0, 0);
  weir_buffer *square = api_buffer(context, SIDE * SIDE * 8, "square");
  weir_box column = {.width = 8, .pitch = SIDE * 8, .rows = SIDE};
  uint64_t all = SIDE * SIDE, found[SIDE * SIDE];
  weir_arg args[] = {weir_writes_box(square, 0, &column), weir_value(&all, sizeof all), weir_commutes(square)};
  api_expect(weir_fill(square, 0, WEIR_WHOLE, 0, NULL), WEIR_OK, NULL);
  weir_event_release(api_submit_host(context, api_nothing, NULL, args, 1));
  args[0] = weir_commutes(square);
  weir_event *twice = api_submit_host(context, api_nothing, NULL, args, 3);
  assert_int_equal(weir_event_wait(twice, 20000000000), WEIR_OK);
  weir_event_release(twice);
  api_expect(api_read(square, 0, sizeof found, found), WEIR_OK, NULL);
  weir_context_release(context);
}

static void what_is_refused(void **state) {
  (void)state;
  weir_context *context = api_context("cpu:2", 0, 0);
  weir_buffer *cells = make_cells(context, 4);
  weir_arg args[] = {weir_commutes_range(cells, 0, 32), weir_updates_range(cells, 16, 32)};
  weir_task task = {.host = api_nothing, .args = args, .arg_count = 2, .label = "both"};
  api_expect(weir_submit(context, &task, NULL), WEIR_ERROR_INVALID_ARGUMENT, "both", "cells",
             "commute of bytes [0, 32)", "read-write of bytes [16, 48)", NULL);
  args[1] = weir_commutes_range(cells, 16, 32);
  api_expect(weir_submit(context, &task, NULL), WEIR_ERROR_INVALID_ARGUMENT, "commute of bytes [16, 48)", NULL);
  args[1].mode = (weir_mode)99;
  api_expect(weir_submit(context, &task, NULL), WEIR_ERROR_INVALID_ARGUMENT, "99 is no mode", NULL);
  weir_split *split;
  api_expect(weir_split_create(context, NULL, &split), WEIR_OK, NULL);
  weir_split_arg arg = weir_split_block(weir_commutes(cells), 16);
  weir_split_launch launch = {.kernel = api_kernel(context, "bump", bump), .args = &arg, .arg_count = 1, .groups = {4}};
  api_expect(weir_split_submit(split, &launch, NULL), WEIR_ERROR_INVALID_ARGUMENT, "argument 0", "bytes [0, 64)",
             "cells", "commute", NULL);
  weir_context_release(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_later_task_goes_first),
      cmocka_unit_test(others_come_before_or_after),
      cmocka_unit_test(never_together_and_never_stuck),
      cmocka_unit_test(in_order),
      cmocka_unit_test(renamed_meanwhile),
      cmocka_unit_test(in_a_graph),
      cmocka_unit_test(rows_and_boxes),
      cmocka_unit_test(twice_after_boxes),
      cmocka_unit_test(what_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
