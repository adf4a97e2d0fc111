// SPDX-License-Identifier: Apache-2.0
//
// A program records itself: what weir_trace_save writes as a stream has the order of the program, and what the host waited
// for.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api.h"
#include "base/allocate.h"
#include "base/random.h"
#include "engine/context.h"
#include "plan/stream_plan.h"
#include "weir/box.h"
#include "weir/graph.h"
#include "weir/sim.h"

enum { MOST_TASKS = 200, BUFFERS = 5, BYTES = 64 };

static char path[64];

static weir__stream *save_and_read(weir_context *context) {
  snprintf(path, sizeof path, "/tmp/weir-record-%ld.jsonl", (long)getpid());
  api_expect(weir_trace_save(context, path, "recorded"), WEIR_OK, NULL);
  weir__stream *stream = NULL;
  char message[512];
  if (weir__stream_read(path, message, sizeof message, &stream) != WEIR_OK) fail_msg("%s", message);
  assert_string_equal(stream->name, "recorded");
  unlink(path);
  return stream;
}

// Which tasks, by number, come after which.
typedef struct order {
  bool after[MOST_TASKS + 1][MOST_TASKS + 1];
} order;

static void close_order(order *closed) {
  for (int k = 1; k <= MOST_TASKS; k++) {
    for (int i = 1; i <= MOST_TASKS; i++) {
      for (int j = 1; closed->after[i][k] && j <= MOST_TASKS; j++) closed->after[i][j] |= closed->after[k][j];
    }
  }
}

static void order_of_plan(const weir__stream *stream, weir__plan_mode mode, order *out_order) {
  weir__stream_plan plan;
  assert_int_equal(weir__stream_plan_create(stream, mode, 0, &plan), WEIR_OK);
  memset(out_order, 0, sizeof *out_order);
  for (uint32_t t = 0; t < stream->task_count; t++) {
    for (uint64_t i = plan.graph.first[t]; i < plan.graph.first[t + 1]; i++) {
      uint64_t from = stream->tasks[plan.graph.predecessors[i]].number, to = stream->tasks[t].number;
      assert_true(from <= MOST_TASKS && to <= MOST_TASKS);
      out_order->after[to][from] = true;
    }
  }
  weir__stream_plan_free(&plan);
  close_order(out_order);
}

static void order_of_context(const weir_context *context, order *out_order) {
  const weir__trace *trace = context->host.trace;
  memset(out_order, 0, sizeof *out_order);
  for (size_t i = 0; i < weir__trace_task_count(trace); i++) {
    const weir__trace_task *task = weir__trace_task_at(trace, i);
    for (uint32_t j = 0; j < task->wait_count; j++) out_order->after[task->id][task->waits[j].task] = true;
  }
  close_order(out_order);
}

static weir_arg random_arg(weir__random *random, weir_buffer *const *buffers, uint32_t buffer) {
  uint64_t lo = weir__random_next(random) % BYTES / 4 * 4, hi = weir__random_next(random) % BYTES / 4 * 4;
  bool whole = weir__random_next(random) % 4 == 0;
  if (hi <= lo) whole = true;
  return (weir_arg){.mode = (weir_mode)(1 + weir__random_next(random) % 3),
                    .buffer = buffers[buffer],
                    .offset = whole ? 0 : lo,
                    .bytes = whole ? BYTES : hi - lo};
}

// All tasks are in flight at once, so that the context finds every hazard; nothing is renamed, as in the mode ADDRESS.
static void streams_have_the_order_of_the_program(void **state) {
  (void)state;
  const char *seed = getenv("WEIR_TEST_SEED");
  weir__random random = {.state = 77 + (seed != NULL ? strtoull(seed, NULL, 10) : 0) * 2 + 1};
  for (int round = 0; round < 20; round++) {
    weir_context *context = api_context("cpu:1", 512, WEIR_CONTEXT_TRACE | WEIR_CONTEXT_NO_RENAME);
    weir_buffer *buffers[BUFFERS];
    for (int i = 0; i < BUFFERS; i++) buffers[i] = api_buffer(context, BYTES, NULL);
    gate door = {0};
    weir_event *held = NULL, *events[MOST_TASKS];
    assert_int_equal(gate_submit(context, &door, NULL, 0, &held), WEIR_OK);
    gate_await(&door, 1);
    int count = 0;
    static char bytes[BYTES];
    for (; count < 60; count++) {
      uint64_t what = weir__random_next(&random) % 8;
      if (what == 0) {
        assert_int_equal(weir_copy(buffers[0], 8, buffers[1], 0, 16, &events[count]), WEIR_OK);
      } else if (what == 1) {
        assert_int_equal(weir_copy_out(buffers[2], 0, 32, bytes, &events[count]), WEIR_OK);
      } else {
        weir_arg args[3];
        uint32_t args_made = 0, first = (uint32_t)(weir__random_next(&random) % BUFFERS);
        for (; args_made < weir__random_next(&random) % 4 && args_made < 3; args_made++)
          args[args_made] = random_arg(&random, buffers, (first + args_made) % BUFFERS);
        weir_event *after[] = {count > 0 ? events[weir__random_next(&random) % (uint64_t)count] : NULL};
        const weir_task task = {.host = api_nothing,
                                .args = args,
                                .arg_count = args_made,
                                .after = after,
                                .after_count = count > 0 && weir__random_next(&random) % 3 == 0,
                                .label = "task"};
        assert_int_equal(weir_submit(context, &task, &events[count]), WEIR_OK);
      }
    }
    gate_open(&door);
    static order ours, plans;
    weir__stream *stream = save_and_read(context);
    assert_int_equal(stream->task_count, count + 1);
    order_of_context(context, &ours);
    order_of_plan(stream, WEIR__PLAN_ADDRESS, &plans);
    assert_memory_equal(&ours, &plans, sizeof ours);
    weir__stream_destroy(stream);
    for (int i = 0; i < count; i++) weir_event_release(events[i]);
    weir_event_release(held);
    weir_context_release(context);
  }
}

static const weir__stream_task *numbered(const weir__stream *stream, uint64_t number) {
  uint32_t index = weir__stream_find(stream, number);
  assert_int_not_equal(index, stream->task_count);
  return &stream->tasks[index];
}

static void waits_of_the_host_are_recorded(void **state) {
  (void)state;
  weir_context *context = api_context("cpu:2", 0, WEIR_CONTEXT_TRACE);
  weir_buffer *a = api_buffer(context, 64, "a"), *b = api_buffer(context, 64, "b");
  weir_kernel *kernel = api_kernel(context, "work", api_nothing);
  const weir_arg first[] = {weir_updates(a)}, second[] = {weir_updates(b)};
  weir_event *one = api_submit(context, kernel, first, 1);  // task 1
  weir_event *two = api_submit(context, kernel, second, 1); // task 2
  assert_int_equal(weir_event_wait(two, WEIR_FOREVER), WEIR_OK);
  weir_event *three = api_submit(context, kernel, second, 1); // task 3
  assert_int_equal(weir_event_wait(one, WEIR_FOREVER), WEIR_OK);
  weir_event_release(api_submit(context, kernel, first, 1)); // task 4
  assert_int_equal(weir_finish(context), WEIR_OK);
  char byte;
  assert_int_equal(weir_read(a, 0, 1, &byte), WEIR_OK); // task 5
  assert_int_equal(weir_buffer_release(b), WEIR_OK);
  weir_event_release(api_submit(context, kernel, first, 1)); // task 6
  weir__stream *stream = save_and_read(context);
  assert_int_equal(stream->task_count, 8);
  static const bool waited[] = {false, true, false, false, true, false};
  for (uint64_t i = 0; i < 6; i++) assert_int_equal(numbered(stream, i + 1)->host_wait, waited[i]);
  // The wait for task 1 comes after task 3, that for all after task 4.
  assert_string_equal(stream->tasks[3].op, "wait");
  assert_true(stream->tasks[3].host_wait && stream->tasks[3].kernel_count == 0 && stream->tasks[3].access_count == 1);
  assert_string_equal(stream->tasks[5].op, "finish");
  assert_true(stream->tasks[5].host_wait && stream->tasks[5].access_count == 2);
  assert_string_equal(stream->tasks[0].op, "work");
  assert_string_equal(stream->tasks[0].kernels[0].name, "work");
  assert_string_equal(stream->tasks[6].op, "copy out");
  assert_int_equal(stream->tasks[6].kernels[0].copy_bytes, 1);
  bool freed = false;
  for (uint32_t i = 0; i < stream->buffer_count; i++)
    freed |= stream->buffers[i].freed && stream->buffers[i].bytes == 64;
  assert_true(freed);
  weir__stream_destroy(stream);
  weir_event_release(one);
  weir_event_release(two);
  weir_event_release(three);
  weir_context_release(context);
}

static void launches_are_their_nodes(void **state) {
  (void)state;
  static const char *const devices[] = {"cpu:2", "sim:ideal"};
  for (int i = 0; i < 2; i++) {
    weir_context *context = api_context(devices[i], 0, WEIR_CONTEXT_TRACE);
    weir_buffer *a = api_buffer(context, 64, "a");
    weir_kernel *kernel = api_kernel(context, "work", api_nothing);
    weir_graph *graph = NULL;
    if (i == 1) assert_int_equal(weir_kernel_set_sim(kernel, &(weir_sim_launch){.threads = 32, .us = 5}, 1), WEIR_OK);
    assert_int_equal(weir_graph_create(context, NULL, &graph), WEIR_OK);
    const weir_arg args[] = {weir_updates(a)};
    const weir_task task = {.kernel = kernel, .label = "node", .args = args, .arg_count = 1, .groups = {3, 2, 1}};
    for (int n = 0; n < 3; n++) assert_int_equal(weir_graph_add(graph, &task, NULL), WEIR_OK);
    weir_event *launch = NULL;
    assert_int_equal(weir_graph_launch(graph, &launch), WEIR_OK);
    const weir_task behind = {.kernel = kernel, .label = "behind", .after = &launch, .after_count = 1};
    assert_int_equal(weir_submit(context, &behind, NULL), WEIR_OK);
    weir__stream *stream = save_and_read(context);
    assert_int_equal(stream->task_count, 4);
    for (int n = 0; n < 3; n++) {
      assert_string_equal(stream->tasks[n].op, "node");
      assert_int_equal(stream->tasks[n].number, weir__trace_node_id(1, (uint32_t)n));
      assert_int_equal(stream->tasks[n].kernels[0].grid[0], 3);
      assert_int_equal(stream->tasks[n].kernels[0].grid[1], 2);
    }
    weir__stream_plan plan;
    assert_int_equal(weir__stream_plan_create(stream, WEIR__PLAN_BUFFER, 0, &plan), WEIR_OK);
    assert_int_equal(plan.level_count, 4);
    weir__stream_plan_free(&plan);
    weir__stream_destroy(stream);
    weir_event_release(launch);
    weir_context_release(context);
  }
}

static void boxes_are_their_rows(void **state) {
  (void)state;
  weir_context *context = api_context("cpu:1", 0, WEIR_CONTEXT_TRACE);
  weir_buffer *a = api_buffer(context, 64, "a"), *large = api_buffer(context, 1 << 16, "large");
  const weir_box box = {.width = 4, .pitch = 16, .rows = 3}, tall = {.width = 1, .pitch = 2, .rows = 2000};
  const weir_arg args[] = {weir_updates_box(a, 8, &box)};
  weir_event_release(api_submit_host(context, api_nothing, NULL, args, 1));
  weir__stream *stream = save_and_read(context);
  assert_int_equal(stream->task_count, 1);
  assert_int_equal(stream->tasks[0].access_count, 3);
  for (uint64_t row = 0; row < 3; row++) {
    assert_int_equal(stream->tasks[0].accesses[row].mode, WEIR_READ_WRITE);
    assert_int_equal(stream->tasks[0].accesses[row].offset, 8 + 16 * row);
    assert_int_equal(stream->tasks[0].accesses[row].bytes, 4);
  }
  weir__stream_destroy(stream);
  const weir_arg too_tall[] = {weir_updates_box(large, 0, &tall)};
  weir_event_release(api_submit_host(context, api_nothing, NULL, too_tall, 1));
  api_expect(weir_trace_save(context, path, NULL), WEIR_ERROR_INVALID_ARGUMENT, "more rows than a stream can express",
             NULL);
  assert_int_equal(access(path, F_OK), -1);
  weir_context_release(context);
}

static void what_a_stream_needs_is_there(void **state) {
  (void)state;
  weir_context *context = api_context("cpu:1", 0, 0);
  api_expect(weir_trace_save(context, "/tmp/x.jsonl", NULL), WEIR_ERROR_INVALID_ARGUMENT, "WEIR_CONTEXT_TRACE", NULL);
  weir_context_release(context);
  context = api_context("cpu:1", 0, WEIR_CONTEXT_TRACE);
  weir__stream *stream = save_and_read(context);
  assert_int_equal(stream->task_count, 0);
  weir__stream_destroy(stream);
  api_expect(weir_trace_save(context, "/no/such/folder/x.jsonl", NULL), WEIR_ERROR_IO, "/no/such/folder/x.jsonl", NULL);
  weir_context_release(context);
}

// Whichever allocation fails: OUT_OF_MEMORY with a text, and no file; then a root without a text, but the right statuses.
static void little_memory_is_told(void **state) {
  (void)state;
  weir_context *context = api_context("cpu:1", 0, WEIR_CONTEXT_TRACE);
  weir_buffer *a = api_buffer(context, 64, "a");
  weir_kernel *kernel = api_kernel(context, "work", api_nothing), *bad;
  const weir_arg args[] = {weir_updates(a)};
  weir_event *first = api_submit(context, kernel, args, 1), *second = api_submit(context, kernel, args, 1);
  assert_int_equal(weir_finish(context), WEIR_OK);
  snprintf(path, sizeof path, "/tmp/weir-record-%ld.jsonl", (long)getpid());
  weir_status status = WEIR_ERROR_OUT_OF_MEMORY;
  for (uint64_t n = 1; status != WEIR_OK; n++) {
    weir__allocate_fail_at(n);
    status = weir_trace_save(context, path, NULL);
    weir__allocate_fail_at(0);
    if (status == WEIR_OK) break;
    assert_int_equal(status, WEIR_ERROR_OUT_OF_MEMORY);
    assert_non_null(strstr(weir_last_error(), "no memory to write a stream"));
    assert_int_equal(access(path, F_OK), -1);
  }
  assert_int_equal(unlink(path), 0);
  char text[200];
  for (uint64_t n = 1; n < 3; n++) {
    weir__allocate_fail_at(n);
    assert_int_equal(weir_why(first, second, text, sizeof text), WEIR_ERROR_OUT_OF_MEMORY);
    weir__allocate_fail_at(0);
  }
  weir_event_release(first);
  weir_event_release(second);
  weir_context_release(context);
  for (uint64_t n = 1; n < 4; n++) {
    context = api_context("cpu:1", 0, 0);
    a = api_buffer(context, 64, "a");
    bad = api_kernel(context, "bad", api_fail);
    gate door = {0};
    weir_event *held = NULL;
    const weir_arg updates[] = {weir_updates(a)};
    assert_int_equal(gate_submit(context, &door, updates, 1, &held), WEIR_OK);
    first = api_submit(context, bad, updates, 1);
    second = api_submit(context, bad, updates, 1);
    weir__allocate_fail_at(n);
    gate_open(&door);
    assert_int_equal(weir_event_wait(second, WEIR_FOREVER), WEIR_ERROR_UPSTREAM_FAILED);
    weir__allocate_fail_at(0);
    assert_non_null(strstr(weir_event_message(second), "skipped"));
    assert_int_equal(weir_event_wait(first, WEIR_FOREVER), WEIR_ERROR_TASK_FAILED);
    weir_event_release(first);
    weir_event_release(second);
    weir_event_release(held);
    weir_context_release(context);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(streams_have_the_order_of_the_program),
      cmocka_unit_test(waits_of_the_host_are_recorded),
      cmocka_unit_test(launches_are_their_nodes),
      cmocka_unit_test(boxes_are_their_rows),
      cmocka_unit_test(what_a_stream_needs_is_there),
      cmocka_unit_test(little_memory_is_told),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
