// SPDX-License-Identifier: Apache-2.0
//
// Copies and fills as nodes of graphs, on every kind of device.
#include <string.h>

#include "device/cuda/cuda_device.h"
#include "sequence.h"
#include "stub.h"
#include "weir/cuda.h"

static uint32_t from[COUNT], to[COUNT];

static void three_calls(sequence *s) {
  weir_buffer *x = sequence_buffer(s, "x");
  uint32_t node = 99;
  good(weir_graph_copy_in(s->graph, x, 0, WEIR_WHOLE, from, &node));
  assert_int_equal(node, 0);
  assert_int_equal(sequence_step(s, x, 5), 1);
  good(weir_graph_copy_out(s->graph, x, 0, WEIR_WHOLE, to, &node));
  assert_int_equal(node, 2);
  for (uint32_t run = 0; run < 5; run++) { // the same memory, other bytes
    sequence_set(from, 100 * run);
    good(weir_graph_evaluate(s->graph, WEIR_FOREVER));
    for (uint32_t i = 0; i < COUNT; i++) assert_int_equal(to[i], stepped(100 * run + i, 5));
  }
}

static void a_sequence_brings_in_and_out(void **state) {
  (void)state;
  sequence_run(three_calls);
}

static void ranges(sequence *s) {
  weir_buffer *x = sequence_buffer(s, "x"), *y = sequence_buffer(s, "y");
  sequence_set(from, 0);
  memset(to, 0xee, sizeof to);
  good(weir_graph_fill(s->graph, x, 0, WEIR_WHOLE, 7, NULL));
  good(weir_graph_copy_in(s->graph, x, 40, 80, from, NULL)); // 10 to 29 are 0 to 19
  good(weir_graph_copy(s->graph, y, 0, x, 20, 400, NULL));   // y: 0 to 4 are 7, 5 to 24 are 0 to 19
  good(weir_graph_fill(s->graph, y, 400, WEIR_WHOLE, 9, NULL));
  good(weir_graph_copy(s->graph, y, 1200, y, 16, 40, NULL)); // within a buffer
  good(weir_graph_copy_out(s->graph, y, 0, WEIR_WHOLE, to, NULL));
  good(weir_graph_evaluate(s->graph, WEIR_FOREVER));
  for (uint32_t i = 0; i < COUNT; i++) {
    uint32_t wanted = i < 5 ? 7 : i < 25 ? i - 5 : i < 100 ? 7 : i == 300 ? 7 : i > 300 && i < 310 ? i - 301 : 9;
    if (to[i] != wanted) fail_msg("number %u is %u, not %u", i, to[i], wanted);
  }
}

static void copies_of_ranges_are_in_order(void **state) {
  (void)state;
  sequence_run(ranges);
}

static void replace(sequence *s) {
  static uint32_t other[COUNT], elsewhere[COUNT];
  weir_buffer *x = sequence_buffer(s, "x"), *y = sequence_buffer(s, "y");
  uint32_t in, out, fill;
  sequence_set(from, 10);
  sequence_set(other, 20);
  good(weir_graph_copy_in(s->graph, x, 0, WEIR_WHOLE, from, &in));
  good(weir_graph_fill(s->graph, x, 0, 4, 1, &fill));
  good(weir_graph_copy_out(s->graph, x, 0, WEIR_WHOLE, to, &out));
  good(weir_graph_evaluate(s->graph, WEIR_FOREVER));
  assert_int_equal(to[0], 1);
  assert_int_equal(to[1], 11);
  good(weir_graph_set_host_memory(s->graph, in, other));
  good(weir_graph_set_host_memory(s->graph, out, elsewhere));
  uint32_t pattern = 20;
  weir_arg arg = weir_value(&pattern, sizeof pattern);
  good(weir_graph_set_arg(s->graph, fill, 1, &arg));
  good(weir_graph_replace_buffer(s->graph, x, y));
  good(weir_buffer_release(x));
  good(weir_graph_evaluate(s->graph, WEIR_FOREVER));
  sequence_expect(elsewhere, 20);
  sequence_read(y, elsewhere);
  sequence_expect(elsewhere, 20);
  assert_int_equal(to[1], 11); // not touched any more
}

static void memory_patterns_and_buffers_are_replaced(void **state) {
  (void)state;
  sequence_run(replace);
}

// The graph overwrites the buffer: what it held before, here poison, does not matter.
static void overwrite(sequence *s) {
  weir_buffer *x = sequence_buffer(s, "x"), *y = sequence_buffer(s, "y");
  weir_arg arg = weir_writes(x);
  weir_event *event;
  weir_device *cpu = weir_context_device(s->context, s->on_cpu ? 0 : 1);
  good(weir_submit(s->context, &(weir_task){.kernel = s->broken, .args = &arg, .arg_count = 1, .device = cpu}, &event));
  assert_int_equal(weir_event_wait(event, WEIR_FOREVER), WEIR_ERROR_TASK_FAILED);
  weir_event_release(event);
  sequence_set(from, 3);
  memset(to, 0, sizeof to);
  good(weir_graph_copy(s->graph, y, 0, x, 0, WEIR_WHOLE, NULL));
  good(weir_graph_copy_out(s->graph, y, 0, WEIR_WHOLE, to, NULL));
  assert_int_equal(weir_graph_evaluate(s->graph, WEIR_FOREVER), WEIR_ERROR_UPSTREAM_FAILED);
  assert_int_equal(to[0], 0); // a copy that is skipped leaves it as it was
  good(weir_graph_clear(s->graph));
  good(weir_graph_copy_in(s->graph, x, 0, WEIR_WHOLE, from, NULL));
  good(weir_graph_copy_out(s->graph, x, 0, WEIR_WHOLE, to, NULL));
  good(weir_graph_evaluate(s->graph, WEIR_FOREVER));
  sequence_expect(to, 3);
  (void)weir_finish(s->context);
}

static void poison_is_skipped_and_overwritten(void **state) {
  (void)state;
  sequence_run(overwrite);
}

static void filled(sequence *s) {
  weir_buffer *x = sequence_buffer(s, "x");
  good(weir_fill(x, 0, WEIR_WHOLE, 0x01020304, NULL));
  sequence_step(s, x, 1);
  good(weir_graph_evaluate(s->graph, WEIR_FOREVER)); // now it is where the graph runs
  good(weir_fill(x, 4, 8, 6, NULL));
  weir_event *event;
  good(weir_fill(x, 12, 4, 5, &event));
  good(weir_event_wait(event, WEIR_FOREVER));
  weir_event_release(event);
  sequence_read(x, to);
  for (uint32_t i = 0; i < COUNT; i++)
    assert_int_equal(to[i], i == 1 || i == 2 ? 6 : i == 3 ? 5 : stepped(0x01020304, 1));
  refused(weir_fill(x, 2, 4, 0, NULL), WEIR_ERROR_INVALID_ARGUMENT, "multiples of 4", NULL);
  refused(weir_fill(x, 0, 6, 0, NULL), WEIR_ERROR_INVALID_ARGUMENT, "multiples of 4", NULL);
  refused(weir_fill(x, 0, BYTES + 4, 0, NULL), WEIR_ERROR_OUT_OF_RANGE, "'x'", NULL);
  refused(weir_fill(x, 0, 0, 0, NULL), WEIR_ERROR_INVALID_ARGUMENT, "empty", NULL);
  refused(weir_fill(NULL, 0, 4, 0, NULL), WEIR_ERROR_INVALID_ARGUMENT, "NULL", NULL);
}

static void buffers_are_filled(void **state) {
  (void)state;
  sequence_run(filled);
}

// Where the driver does not take Weir's kernel, copies and fills are nodes of CUDA graphs, and set anew where memory has changed;
// what the driver refuses in a graph is launched task by task.
static void nodes(sequence *s) {
  if (!s->on_cuda) return;
  stub_fail_nth("cuModuleLoadDataEx", 1, 222); // PTX of a version that it does not know
  const char *const refusals[] = {NULL, "cuGraphAddMemcpyNode", "cuGraphAddMemsetNode", "cuGraphInstantiateWithFlags",
                                  "cuGraphExecMemcpyNodeSetParams"};
  weir_buffer *buffers[2] = {sequence_buffer(s, "x"), sequence_buffer(s, "y")};
  for (uint32_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
    good(weir_graph_clear(s->graph));
    good(weir_graph_copy_in(s->graph, buffers[0], 0, WEIR_WHOLE, from, NULL));
    good(weir_graph_fill(s->graph, buffers[0], 0, 4, 5, NULL));
    sequence_step(s, buffers[0], i);
    good(weir_graph_copy_out(s->graph, buffers[0], 0, WEIR_WHOLE, to, NULL));
    if (refusals[i] != NULL) stub_fail_nth(refusals[i], 1, 1); // an invalid value
    uint64_t launches = stub_calls("cuGraphLaunch");
    for (uint32_t run = 0; run < 4; run++) {
      sequence_set(from, 10 * run);
      memset(to, 0, sizeof to);
      if (run == 2) good(weir_graph_replace_buffer(s->graph, buffers[0], buffers[1]));
      good(weir_graph_evaluate(s->graph, WEIR_FOREVER));
      for (uint32_t j = 0; j < COUNT; j++) assert_int_equal(to[j], stepped(j == 0 ? 5 : 10 * run + j, i));
    }
    if (refusals[i] == NULL) assert_int_equal(stub_calls("cuGraphLaunch") - launches, 4);
    if (i == 1 || i == 2 || i == 3) assert_int_equal(stub_calls("cuGraphLaunch") - launches, 0);
    stub_fail_nth(NULL, 0, 0);
  }
}

static void copies_are_nodes_of_cuda_graphs(void **state) {
  (void)state;
  sequence_run(nodes);
}

// Launches a graph whose first node copies in and whose fifth copies out, from and to other memory than before.
static void launch_moved(sequence *s, uint32_t *const memory[2], uint32_t first) {
  good(weir_graph_set_host_memory(s->graph, 0, memory[0]));
  good(weir_graph_set_host_memory(s->graph, 4, memory[1]));
  sequence_set(memory[0], first);
  memset(memory[1], 0, BYTES);
  good(weir_graph_launch(s->graph, NULL));
}

static void expect_moved(uint32_t *const memory[2], uint32_t first) {
  for (uint32_t i = 0; i < COUNT; i++) assert_int_equal(memory[1][i], i == 0 || i == 999 ? 5 : first + i);
}

// Small copies and fills are launches of a kernel of Weir's; those that begin the graph are one, and so are those that end it.
// Where memory comes that Weir does not know, which the kernel might not reach, they are nodes again.
static void moved(sequence *s) {
  if (!s->on_cuda) return;
  weir_device *cuda = weir_context_device(s->context, 0);
  weir__cuda_device *inside = weir__cuda_of(cuda);
  uint32_t *known[2], *others[2], *unknown[2];
  for (int i = 0; i < 2; i++) {
    good(weir_host_allocate(cuda, BYTES, (void **)&known[i]));
    good(weir_host_allocate(cuda, BYTES, (void **)&others[i]));
    assert_int_equal(weir__cuda_enter(inside), CUDA_SUCCESS);
    assert_int_equal(inside->driver->cuMemHostAlloc((void **)&unknown[i], BYTES, 0), CUDA_SUCCESS);
    weir__cuda_leave(inside);
  }
  weir_buffer *x = sequence_buffer(s, "x"), *y = sequence_buffer(s, "y");
  good(weir_graph_copy_in(s->graph, x, 0, WEIR_WHOLE, known[0], NULL));
  good(weir_graph_fill(s->graph, y, 0, WEIR_WHOLE, 5, NULL));
  good(weir_graph_copy(s->graph, x, 0, y, 4, 4, NULL));
  good(weir_graph_copy(s->graph, x, BYTES - 4, y, 2000, 4, NULL));
  good(weir_graph_copy_out(s->graph, x, 0, WEIR_WHOLE, known[1], NULL));
  sequence_step(s, y, 1);
  uint64_t copies = stub_calls("cuGraphAddMemcpyNode"), fills = stub_calls("cuGraphAddMemsetNode"),
           kernels = stub_calls("cuGraphAddKernelNode"), launches = stub_calls("cuGraphLaunch");
  launch_moved(s, known, 10);
  good(weir_graph_wait(s->graph, WEIR_FOREVER));
  expect_moved(known, 10);
  launch_moved(s, others, 20);
  good(weir_graph_wait(s->graph, WEIR_FOREVER));
  expect_moved(others, 20);
  assert_int_equal(stub_calls("cuGraphAddMemcpyNode"), copies);
  assert_int_equal(stub_calls("cuGraphAddMemsetNode"), fills);
  assert_int_equal(stub_calls("cuGraphAddKernelNode") - kernels, 5);
  launch_moved(s, known, 30); // while this one is in flight
  launch_moved(s, unknown, 40);
  launch_moved(s, others, 50);
  good(weir_graph_wait(s->graph, WEIR_FOREVER));
  expect_moved(known, 30);
  expect_moved(unknown, 40);
  expect_moved(others, 50);
  assert_int_equal(stub_calls("cuGraphAddMemcpyNode") - copies, 4);
  assert_int_equal(stub_calls("cuGraphLaunch") - launches, 5);
  good(weir_finish(s->context));
  for (int i = 0; i < 2; i++) {
    weir_host_free(cuda, known[i]);
    weir_host_free(cuda, others[i]);
    assert_int_equal(weir__cuda_enter(inside), CUDA_SUCCESS);
    inside->driver->cuMemFreeHost(unknown[i]);
    weir__cuda_leave(inside);
  }
}

static void copies_are_moved_by_a_kernel(void **state) {
  (void)state;
  sequence_run(moved);
}

// Memory that the device reaches takes no detour, and gives the same.
static void pinned(sequence *s) {
  if (!s->on_cuda) return;
  weir_device *cuda = weir_context_device(s->context, 0);
  void *memory;
  good(weir_host_allocate(cuda, BYTES, &memory));
  weir_buffer *x = sequence_buffer(s, "x");
  good(weir_graph_copy_in(s->graph, x, 0, WEIR_WHOLE, memory, NULL));
  sequence_step(s, x, 2);
  good(weir_graph_copy_out(s->graph, x, 0, WEIR_WHOLE, memory, NULL));
  sequence_set(memory, 1);
  good(weir_graph_evaluate(s->graph, WEIR_FOREVER));
  good(weir_graph_evaluate(s->graph, WEIR_FOREVER));
  for (uint32_t i = 0; i < COUNT; i++) assert_int_equal(((uint32_t *)memory)[i], stepped(stepped(1 + i, 2), 2));
  good(weir_finish(s->context));
  weir_host_free(cuda, memory);
}

static void pinned_memory_is_reached(void **state) {
  (void)state;
  sequence_run(pinned);
}

// Launches that end together: each has memory of its own in between where the device does not reach the caller's, and theirs is
// emptied one after another.
static void finished(sequence *s) {
#ifdef __SANITIZE_THREAD__ // which makes a copy a hundred times as long
  enum { LAUNCHES = 12, ROUNDS = 10, LARGE = 1 << 16 };
#else
  enum { LAUNCHES = 12, ROUNDS = 40, LARGE = 1 << 18 };
#endif
  static uint32_t large[LARGE];
  weir_buffer *x;
  uint32_t fill;
  good(weir_buffer_create(s->context, sizeof large, &x));
  good(weir_graph_fill(s->graph, x, 0, WEIR_WHOLE, 0, &fill));
  good(weir_graph_copy_out(s->graph, x, 0, WEIR_WHOLE, large, NULL));
  for (uint32_t round = 0; round < ROUNDS; round++) {
    gate door = {0};
    weir_event *event;
    weir_arg held = weir_updates(x);
    if (round > 0) good(gate_submit(s->context, &door, &held, 1, NULL));
    for (uint32_t i = 1; i <= LAUNCHES; i++) {
      uint32_t pattern = 100 * round + i;
      weir_arg arg = weir_value(&pattern, sizeof pattern);
      good(weir_graph_set_arg(s->graph, fill, 1, &arg));
      good(weir_graph_launch(s->graph, i == LAUNCHES ? &event : NULL));
    }
    gate_open(&door);
    good(weir_finish(s->context));
    assert_int_equal(weir_event_poll(event), WEIR_OK);
    for (uint32_t i = 0; i < LARGE; i++) assert_int_equal(large[i], 100 * round + LAUNCHES);
    weir_event_release(event);
  }
}

static void finishing_waits_for_what_is_copied_out(void **state) {
  (void)state;
  sequence_run(finished);
}

// Copies alone: on the device that is chosen, also after the graph was cleared.
static void chosen(sequence *s) {
  weir_buffer *x = sequence_buffer(s, "x");
  for (uint32_t i = 0; i < 2 * weir_context_device_count(s->context); i++) {
    if (i % 2 == 0)
      sequence_new_graph(s, &(weir_graph_options){.device = weir_context_device(s->context, i / 2)});
    else
      good(weir_graph_clear(s->graph));
    good(weir_graph_copy_in(s->graph, x, 0, WEIR_WHOLE, from, NULL));
    good(weir_graph_copy_out(s->graph, x, 0, WEIR_WHOLE, to, NULL));
    sequence_set(from, 50 + i);
    good(weir_graph_evaluate(s->graph, WEIR_FOREVER));
    sequence_expect(to, 50 + i);
  }
}

static void device_is_chosen(void **state) {
  (void)state;
  sequence_run(chosen);
}

int main(int argc, char **argv) {
  sequence_choose(argc, argv);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_sequence_brings_in_and_out),
      cmocka_unit_test(copies_of_ranges_are_in_order),
      cmocka_unit_test(memory_patterns_and_buffers_are_replaced),
      cmocka_unit_test(poison_is_skipped_and_overwritten),
      cmocka_unit_test(buffers_are_filled),
      cmocka_unit_test(copies_are_nodes_of_cuda_graphs),
      cmocka_unit_test(copies_are_moved_by_a_kernel),
      cmocka_unit_test(pinned_memory_is_reached),
      cmocka_unit_test(finishing_waits_for_what_is_copied_out),
      cmocka_unit_test(device_is_chosen),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
