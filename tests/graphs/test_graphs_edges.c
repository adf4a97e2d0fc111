// SPDX-License-Identifier: Apache-2.0
//
// Edges of graphs against brute force: of random small graphs, they order what conflicts and nothing else, and none is implied by
// others. WEIR_TEST_SEED seeds it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

#include "graph/graph.h"
#include "random_graph.h"

#ifdef WEIR_SMALL_TESTS
enum { GRAPHS = 300 };
#else
enum { GRAPHS = 5000 };
#endif

static weir_context *context;
static weir_buffer *buffers[GRAPH_BUFFERS];

static uint64_t seed_given(void) {
  const char *text = getenv("WEIR_TEST_SEED");
  return text == NULL ? 1 : strtoull(text, NULL, 0);
}

static void set_up(uint32_t flags) {
  const weir_context_options options = {.devices = "cpu:1", .flags = flags};
  assert_int_equal(weir_context_create(&options, &context), WEIR_OK);
  for (int i = 0; i < GRAPH_BUFFERS; i++)
    assert_int_equal(weir_buffer_create(context, GRAPH_BYTES, &buffers[i]), WEIR_OK);
}

// Ancestors of each node by all conflicts.
static void find_ancestors(const graph_program *program, bool in_order, uint64_t *ancestors) {
  for (uint32_t i = 0; i < program->node_count; i++) {
    ancestors[i] = 0;
    for (uint32_t j = 0; j < i; j++) {
      if (in_order || graph_conflict(&program->nodes[j], &program->nodes[i]))
        ancestors[i] |= ancestors[j] | UINT64_C(1) << j;
    }
  }
}

// The fewest edges with the same ancestors.
static uint64_t needed_predecessors(uint64_t all, const uint64_t *ancestors) {
  uint64_t needed = all;
  for (uint64_t rest = all; rest != 0; rest &= rest - 1) needed &= ~ancestors[__builtin_ctzll(rest)];
  return needed;
}

static void check_plan(const weir__graph_plan *plan, const graph_program *program, bool in_order, uint64_t seed) {
  uint64_t ancestors[GRAPH_MOST_NODES], found[GRAPH_MOST_NODES], edges = 0, back = 0;
  find_ancestors(program, in_order, ancestors);
  for (uint32_t i = 0; i < plan->node_count; i++) {
    const weir__graph_node *node = &plan->nodes[i];
    uint64_t predecessors = 0;
    found[i] = 0;
    for (uint32_t j = 0; j < node->predecessor_count; j++) {
      uint32_t before = plan->predecessors[node->first_predecessor + j];
      assert_true(before < i);
      predecessors |= UINT64_C(1) << before;
      found[i] |= found[before] | UINT64_C(1) << before;
    }
    edges += node->predecessor_count;
    for (uint32_t j = 0; j < node->successor_count; j++) {
      uint32_t next = plan->successors[node->first_successor + j];
      assert_true(next > i && next < plan->node_count);
      back++;
    }
    if (found[i] != ancestors[i])
      fail_msg("seed %llu: node %u has ancestors %llx, not %llx", (unsigned long long)seed, i,
               (unsigned long long)found[i], (unsigned long long)ancestors[i]);
    if (predecessors != needed_predecessors(ancestors[i], ancestors))
      fail_msg("seed %llu: node %u has predecessors %llx, of ancestors %llx", (unsigned long long)seed, i,
               (unsigned long long)predecessors, (unsigned long long)ancestors[i]);
  }
  assert_int_equal(edges, plan->edge_count);
  assert_int_equal(back, plan->edge_count);
}

static void check_graphs(uint32_t flags, bool boxes) {
  set_up(flags);
  for (uint64_t seed = seed_given() * 100000, end = seed + GRAPHS; seed < end; seed++) {
    random_state random = {seed};
    static graph_program program;
    graph_generate(&program, &random, random_between(&random, 1, GRAPH_MOST_NODES), boxes);
    weir_graph *graph;
    assert_int_equal(weir_graph_create(context, NULL, &graph), WEIR_OK);
    const char *error = graph_record(&program, graph, buffers);
    if (error != NULL) fail_msg("seed %llu: %s", (unsigned long long)seed, error);
    assert_int_equal(weir_graph_build(graph), WEIR_OK);
    check_plan(graph->plan, &program, (flags & WEIR_CONTEXT_IN_ORDER) != 0, seed);
    weir_graph_release(graph);
  }
  weir_context_release(context);
}

static void edges_are_the_fewest_that_order_conflicts(void **state) {
  (void)state;
  check_graphs(0, false);
}

static void edges_of_boxes_are_the_fewest_too(void **state) {
  (void)state;
  check_graphs(0, true);
}

static void in_order_there_is_one_chain(void **state) {
  (void)state;
  check_graphs(WEIR_CONTEXT_IN_ORDER, false);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(edges_are_the_fewest_that_order_conflicts),
                                     cmocka_unit_test(edges_of_boxes_are_the_fewest_too),
                                     cmocka_unit_test(in_order_there_is_one_chain)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
