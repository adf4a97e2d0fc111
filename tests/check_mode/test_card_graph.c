// SPDX-License-Identifier: Apache-2.0
//
// Nodes of graphs are checked on a card, with the CUDA driver without one: contents stay there, nodes that do not depend on each
// other are checked at once, and a finding names its node.
#include <stdio.h>
#include <string.h>

#include "planted.h"
#include "stub.h"
#include "weir/graph.h"

enum { NODES = 10, WORDS = 63, BYTES = 4 * WORDS, PATTERN = 77 };

typedef struct rig {
  weir_context *context;
  weir_kernel *kernel;
  weir_buffer *from, *filled, *copied, *to[NODES];
  weir_graph *graph;
  uint32_t words[WORDS], results[2][WORDS];
} rig;

static void open_rig(rig *with) {
  assert_true(stub_configure(&(stub_options){.seed = 7}));
  const weir_context_options options = {.devices = "cuda", .flags = WEIR_CONTEXT_CHECK, .issue = WEIR_ISSUE_QUEUES};
  planted_ok(weir_context_create(&options, &with->context));
  with->kernel = planted_kernel_on_card(with->context);
  planted_ok(weir_buffer_create(with->context, BYTES, &with->from));
  planted_ok(weir_buffer_create(with->context, BYTES, &with->filled));
  planted_ok(weir_buffer_create(with->context, BYTES, &with->copied));
  for (int i = 0; i < NODES; i++) planted_ok(weir_buffer_create(with->context, BYTES, &with->to[i]));
  planted_ok(weir_graph_create(with->context, NULL, &with->graph));
  for (uint32_t i = 0; i < WORDS; i++) with->words[i] = 100 + i;
}

static void close_rig(rig *with) {
  weir_graph_release(with->graph);
  weir_buffer_release(with->from);
  weir_buffer_release(with->filled);
  weir_buffer_release(with->copied);
  for (int i = 0; i < NODES; i++) weir_buffer_release(with->to[i]);
  weir_kernel_release(with->kernel);
  weir_context_release(with->context);
  assert_int_equal(stub_live_count(), 0);
  assert_string_equal(stub_violation_text(), "");
}

static uint32_t add(rig *with, weir_buffer *from, weir_buffer *to, planted_kind kind) {
  const planted_value value = {.kind = kind, .words = WORDS};
  const weir_arg args[] = {weir_reads(from), weir_writes(to), weir_value(&value, sizeof value)};
  uint32_t node;
  planted_ok(weir_graph_add(
      with->graph, &(weir_task){.kernel = with->kernel, .args = args, .arg_count = 3, .groups = {WORDS}}, &node));
  return node;
}

static void test_contents_stay(void **state) {
  (void)state;
  rig with;
  open_rig(&with);
  planted_ok(weir_graph_copy_in(with.graph, with.from, 0, WEIR_WHOLE, with.words, NULL));
  planted_ok(weir_graph_fill(with.graph, with.filled, 0, WEIR_WHOLE, PATTERN, NULL));
  for (int i = 0; i < NODES; i++) add(&with, i % 2 == 0 ? with.from : with.filled, with.to[i], PLANTED_NOTHING);
  planted_ok(weir_graph_copy(with.graph, with.copied, 4, with.to[2], 0, BYTES - 4, NULL));
  planted_ok(weir_graph_copy(with.graph, with.copied, 0, with.to[1], 0, 4, NULL));
  planted_ok(weir_graph_copy_out(with.graph, with.copied, 0, WEIR_WHOLE, with.results[0], NULL));
  planted_ok(weir_graph_copy_out(with.graph, with.to[1], 0, WEIR_WHOLE, with.results[1], NULL));
  for (int launch = 0; launch < 3; launch++) {
    memset(with.results, 0, sizeof with.results);
    uint64_t launches = stub_calls("cuLaunchKernel"), copies = stub_calls("cuMemcpyAsync");
    planted_ok(weir_graph_launch(with.graph, NULL));
    planted_ok(weir_finish(with.context));
    for (uint32_t i = 0; i < WORDS; i++) {
      uint32_t expected = i == 0 ? PATTERN * 3 + 1 : with.words[i - 1] * 3 + 1;
      assert_int_equal(with.results[0][i], expected);
      assert_int_equal(with.results[1][i], PATTERN * 3 + 1);
    }
    if (launch == 0) continue; // junk was uploaded
    // One launch each of prepare, compare and commit for all kernels; a launch to or from the checker's memory for each end of a
    // copy or fill that is on the card, and a copy for each other one, and for regions.
    assert_int_equal(stub_calls("cuLaunchKernel") - launches, 2 * NODES + 3 + 1 + 1 + 4 + 2);
    assert_int_equal(stub_calls("cuMemcpyAsync") - copies, 1 + 1 + 2 + 1);
  }
  close_rig(&with);
}

// A mistake in one of the nodes that are checked at once, and nodes that read what it wrote, and that do not.
static void test_node_is_named(void **state) {
  (void)state;
  rig with;
  open_rig(&with);
  planted_ok(weir_graph_copy_in(with.graph, with.from, 0, WEIR_WHOLE, with.words, NULL));
  add(&with, with.from, with.to[0], PLANTED_NOTHING);
  uint32_t wrong = add(&with, with.from, with.to[1], PLANTED_PARTIAL);
  add(&with, with.from, with.to[2], PLANTED_NOTHING);
  add(&with, with.to[1], with.to[3], PLANTED_NOTHING);
  add(&with, with.to[2], with.to[4], PLANTED_NOTHING);
  weir_event *event;
  planted_ok(weir_graph_launch(with.graph, &event));
  assert_int_equal(weir_event_wait(event, WEIR_FOREVER), WEIR_ERROR_TASK_FAILED);
  char name[64];
  snprintf(name, sizeof name, "node %u 'planted': argument 1 (writes [0, 252)", wrong);
  assert_non_null(strstr(weir_event_message(event), name));
  assert_non_null(strstr(weir_event_message(event), "bytes [236, 252) were not overwritten"));
  weir_event_release(event);
  planted_ok(weir_copy_out(with.to[4], 0, WEIR_WHOLE, with.results[0], NULL));
  weir_event *poisoned[2];
  planted_ok(weir_copy_out(with.to[1], 0, WEIR_WHOLE, with.results[1], &poisoned[0]));
  planted_ok(weir_copy_out(with.to[3], 0, WEIR_WHOLE, with.results[1], &poisoned[1]));
  for (int i = 0; i < 2; i++) {
    assert_int_equal(weir_event_wait(poisoned[i], WEIR_FOREVER), WEIR_ERROR_UPSTREAM_FAILED);
    weir_event_release(poisoned[i]);
  }
  weir_finish(with.context);
  for (uint32_t i = 0; i < WORDS; i++) assert_int_equal(with.results[0][i], (with.words[i] * 3 + 1) * 3 + 1);
  close_rig(&with);
}

// Each launch and copy fails in turn: either the launch of the graph does, or all is well.
static void test_failing_calls(void **state) {
  (void)state;
  static const char *const calls[] = {"cuLaunchKernel", "cuMemcpyAsync", "cuMemAlloc"};
  uint32_t failures = 0;
  for (size_t c = 0; c < sizeof calls / sizeof calls[0]; c++) {
    for (uint64_t nth = 1; nth <= 14; nth++) {
      rig with;
      open_rig(&with);
      planted_ok(weir_graph_copy_in(with.graph, with.from, 0, WEIR_WHOLE, with.words, NULL));
      planted_ok(weir_graph_fill(with.graph, with.filled, 0, WEIR_WHOLE, PATTERN, NULL));
      add(&with, with.from, with.to[0], PLANTED_NOTHING);
      add(&with, with.filled, with.to[1], PLANTED_NOTHING);
      planted_ok(weir_graph_copy(with.graph, with.copied, 0, with.to[0], 0, BYTES, NULL));
      planted_ok(weir_graph_copy_out(with.graph, with.copied, 0, WEIR_WHOLE, with.results[0], NULL));
      stub_fail_nth(calls[c], nth, 2);
      weir_status status = weir_graph_launch(with.graph, NULL), ended = weir_finish(with.context);
      stub_fail_nth(NULL, 0, 0);
      if (status == WEIR_OK && ended == WEIR_OK)
        for (uint32_t i = 0; i < WORDS; i++) assert_int_equal(with.results[0][i], with.words[i] * 3 + 1);
      else
        failures++;
      close_rig(&with);
    }
  }
  assert_true(failures > 0);
}

int main(void) {
  planted_use_stub();
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_contents_stay), cmocka_unit_test(test_node_is_named),
                                     cmocka_unit_test(test_failing_calls)};
  return cmocka_run_group_tests_name("check_mode_card_graph", tests, NULL, NULL);
}
