// SPDX-License-Identifier: Apache-2.0
//
// Renaming happens only where something can overlap by it, and holds a bounded amount of memory.
#include <string.h>

#include "api.h"
#include "random.h"

enum { BYTES = 64 << 10, NUMBERS = BYTES / sizeof(uint32_t), STEPS = 200 };

static weir_statistics statistics_of(weir_context *context) {
  weir_statistics statistics;
  weir_context_statistics(context, &statistics);
  return statistics;
}

static void add_one(const weir_work *work) {
  const uint32_t *from = work->args[0];
  uint32_t *to = work->args[1];
  for (int i = 0; i < NUMBERS; i++) to[i] = from[i] + 1;
}

static void submit(weir_context *context, weir_function host, const weir_arg *args, uint32_t arg_count) {
  weir_task task = {.host = host, .args = args, .arg_count = arg_count};
  assert_int_equal(weir_submit(context, &task, NULL), WEIR_OK);
}

// Step by step from one buffer to the next of `count`, all of it in flight behind a gate.
static void steps_keep_their_buffers(const char *devices, uint32_t count) {
  weir_context *context = api_context(devices, 0, 0);
  gate door = {0};
  weir_buffer *buffers[3];
  uint32_t numbers[NUMBERS];
  for (uint32_t i = 0; i < count; i++) {
    buffers[i] = api_buffer(context, BYTES, NULL);
    assert_int_equal(weir_fill(buffers[i], 0, BYTES, 0, NULL), WEIR_OK);
  }
  assert_int_equal(weir_finish(context), WEIR_OK);
  weir_arg first = weir_updates(buffers[0]);
  assert_int_equal(gate_submit(context, &door, &first, 1, NULL), WEIR_OK);
  for (uint32_t i = 0; i < STEPS; i++) {
    weir_arg args[] = {weir_reads(buffers[i % count]), weir_writes(buffers[(i + 1) % count])};
    submit(context, add_one, args, 2);
  }
  assert_int_equal(statistics_of(context).renamed, 0);
  gate_open(&door);
  assert_int_equal(api_read(buffers[STEPS % count], 0, BYTES, numbers), WEIR_OK);
  assert_int_equal(numbers[0], STEPS);
  assert_int_equal(numbers[NUMBERS - 1], STEPS);
  assert_int_equal(statistics_of(context).peak_bytes, count * BYTES);
  weir_context_release(context);
}

static void ping_pong_keeps_its_two_buffers(void **state) {
  (void)state;
  steps_keep_their_buffers("cpu:2", 2);
  steps_keep_their_buffers("cpu:1", 2);
}

static void a_ring_of_three_keeps_its_buffers(void **state) {
  (void)state;
  steps_keep_their_buffers("cpu:2", 3);
}

// More tiles than the 64 tasks whose order is known by way of others: each reads three tiles, and overwrites what three tasks
// of the step before read, which wrote just those.
static void a_stencil_in_tiles_keeps_its_buffers(void **state) {
  (void)state;
  enum { TILES = 100 };
  weir_context *context = api_context("cpu:2", 0, 0);
  gate door = {0};
  weir_buffer *tiles[2][TILES];
  for (int side = 0; side < 2; side++) {
    for (int i = 0; i < TILES; i++) {
      tiles[side][i] = api_buffer(context, 2048, NULL);
      assert_int_equal(weir_fill(tiles[side][i], 0, 2048, 0, NULL), WEIR_OK);
    }
  }
  assert_int_equal(weir_finish(context), WEIR_OK);
  weir_arg all[TILES];
  for (int i = 0; i < TILES; i++) all[i] = weir_updates(tiles[0][i]);
  assert_int_equal(gate_submit(context, &door, all, TILES, NULL), WEIR_OK);
  for (int step = 0; step < 8; step++) {
    for (int i = 0; i < TILES; i++) {
      weir_buffer **from = tiles[step & 1];
      weir_arg args[] = {weir_reads(from[i]), weir_reads(from[(i + 1) % TILES]),
                         weir_reads(from[(i + TILES - 1) % TILES]), weir_writes(tiles[~step & 1][i])};
      submit(context, api_nothing, args, 4);
    }
  }
  assert_int_equal(statistics_of(context).renamed, 0);
  gate_open(&door);
  assert_int_equal(weir_finish(context), WEIR_OK);
  weir_context_release(context);
}

// Each pair overwrites the buffer and reads it, so that pairs may overlap. How much memory `pairs` of them took while none could
// end.
static uint64_t peak_of_pairs(const weir_context_options *options, int pairs) {
  weir_context *context = NULL;
  assert_int_equal(weir_context_create(options, &context), WEIR_OK);
  gate door = {0};
  weir_buffer *buffer = api_buffer(context, BYTES, NULL);
  weir_arg write = weir_writes(buffer), read = weir_reads(buffer);
  assert_int_equal(gate_submit(context, &door, &write, 1, NULL), WEIR_OK);
  gate_await(&door, 1);
  for (int i = 0; i < pairs; i++) {
    submit(context, api_nothing, &read, 1);
    submit(context, api_nothing, &write, 1);
  }
  uint64_t peak = statistics_of(context).peak_bytes;
  gate_open(&door);
  assert_int_equal(weir_finish(context), WEIR_OK);
  weir_context_release(context);
  return peak;
}

// Workers that all stand at a gate, so that nothing submitted later can end.
static uint64_t peak_of_stuck_pairs(const weir_context_options *options, uint32_t workers, int pairs) {
  weir_context *context = NULL;
  assert_int_equal(weir_context_create(options, &context), WEIR_OK);
  gate door = {0};
  for (uint32_t i = 0; i < workers; i++) assert_int_equal(gate_submit(context, &door, NULL, 0, NULL), WEIR_OK);
  gate_await(&door, workers);
  weir_buffer *buffer = api_buffer(context, BYTES, NULL);
  weir_arg write = weir_writes(buffer), read = weir_reads(buffer);
  for (int i = 0; i < pairs; i++) {
    submit(context, api_nothing, &write, 1);
    submit(context, api_nothing, &read, 1);
  }
  uint64_t peak = statistics_of(context).peak_bytes;
  gate_open(&door);
  assert_int_equal(weir_finish(context), WEIR_OK);
  weir_context_release(context);
  return peak;
}

static void versions_are_no_more_than_what_runs_at_once(void **state) {
  (void)state;
  weir_context_options two = {.devices = "cpu:2"}, five = {.devices = "cpu:5"};
  assert_int_equal(peak_of_stuck_pairs(&two, 2, 100), 2 * BYTES);
  assert_int_equal(peak_of_stuck_pairs(&five, 5, 100), 5 * BYTES);
}

static void one_worker_never_renames(void **state) {
  (void)state;
  weir_context_options one = {.devices = "cpu:1"};
  assert_int_equal(peak_of_pairs(&one, 100), BYTES);
}

static void in_order_never_renames(void **state) {
  (void)state;
  weir_context_options options = {.devices = "cpu:4", .flags = WEIR_CONTEXT_IN_ORDER};
  assert_int_equal(peak_of_pairs(&options, 100), BYTES);
}

static void the_rename_limit_bounds_what_is_left_behind(void **state) {
  (void)state;
  weir_context_options options = {.devices = "cpu:8", .rename_limit = 3 * BYTES};
  assert_int_equal(peak_of_stuck_pairs(&options, 8, 100), 4 * BYTES);
  options.rename_limit = 1; // less than a buffer: none is renamed
  assert_int_equal(peak_of_stuck_pairs(&options, 8, 100), BYTES);
}

// What is ordered by an event need not be renamed for.
static void a_task_after_the_reader_does_not_rename(void **state) {
  (void)state;
  weir_context *context = api_context("cpu:4", 0, 0);
  gate door = {0};
  weir_buffer *buffer = api_buffer(context, BYTES, NULL);
  assert_int_equal(weir_fill(buffer, 0, BYTES, 0, NULL), WEIR_OK);
  weir_arg read = weir_reads(buffer), write = weir_writes(buffer);
  weir_event *event = NULL;
  assert_int_equal(gate_submit(context, &door, &read, 1, &event), WEIR_OK);
  weir_event *const after[] = {event};
  weir_task task = {.host = api_nothing, .args = &write, .arg_count = 1, .after = after, .after_count = 1};
  assert_int_equal(weir_submit(context, &task, NULL), WEIR_OK);
  assert_int_equal(statistics_of(context).renamed, 0);
  gate_open(&door);
  assert_int_equal(api_await(event), WEIR_OK);
  weir_context_release(context);
}

static void mix(const weir_work *work) {
  const uint32_t *value = work->args[work->arg_count - 1];
  uint32_t *to = work->args[0], sum = *value;
  for (uint32_t i = 1; i + 1 < work->arg_count; i++) sum = sum * 31 + *(const uint32_t *)work->args[i];
  *to = sum;
}

// Random tasks that overwrite one buffer and read up to two others: the results are those of serial execution, and no more
// than two versions of each buffer are held, whatever is in flight.
static void random_programs_take_twice_the_memory_at_most(void **state) {
  (void)state;
  enum { BUFFERS = 8, TASKS = 2000, SEEDS = 20 };
  for (uint64_t seed = 1; seed <= SEEDS; seed++) {
    weir_context *context = NULL;
    weir_context_options options = {.devices = "cpu:2", .seed = seed};
    assert_int_equal(weir_context_create(&options, &context), WEIR_OK);
    random_state random = {seed};
    weir_buffer *buffers[BUFFERS];
    uint32_t expected[BUFFERS] = {0};
    for (int i = 0; i < BUFFERS; i++) {
      buffers[i] = api_buffer(context, BYTES, NULL);
      assert_int_equal(weir_fill(buffers[i], 0, BYTES, 0, NULL), WEIR_OK);
    }
    for (uint32_t t = 0; t < TASKS; t++) {
      uint32_t to = random_below(&random, BUFFERS), reads = random_below(&random, 3), sum = t;
      weir_arg args[4] = {weir_writes(buffers[to])};
      uint32_t count = 1;
      for (uint32_t i = 0; i < reads; i++) {
        uint32_t from = random_below(&random, BUFFERS);
        if (from == to) continue;
        args[count++] = weir_reads(buffers[from]);
        sum = sum * 31 + expected[from];
      }
      args[count++] = weir_value(&t, sizeof t);
      expected[to] = sum;
      submit(context, mix, args, count);
    }
    for (int i = 0; i < BUFFERS; i++) {
      uint32_t found = 0;
      assert_int_equal(api_read(buffers[i], 0, sizeof found, &found), WEIR_OK);
      assert_int_equal(found, expected[i]);
    }
    assert_true(statistics_of(context).renamed > 0);
    assert_true(statistics_of(context).peak_bytes <= 2 * BUFFERS * BYTES);
    weir_context_release(context);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(ping_pong_keeps_its_two_buffers),
      cmocka_unit_test(a_ring_of_three_keeps_its_buffers),
      cmocka_unit_test(a_stencil_in_tiles_keeps_its_buffers),
      cmocka_unit_test(versions_are_no_more_than_what_runs_at_once),
      cmocka_unit_test(one_worker_never_renames),
      cmocka_unit_test(in_order_never_renames),
      cmocka_unit_test(the_rename_limit_bounds_what_is_left_behind),
      cmocka_unit_test(a_task_after_the_reader_does_not_rename),
      cmocka_unit_test(random_programs_take_twice_the_memory_at_most),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
