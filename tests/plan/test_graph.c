// SPDX-License-Identifier: Apache-2.0
//
// Graph, paths, reduction and schedules: on every graph of up to six tasks, and on random ones, against brute force.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "brute_force.h"
#include "plan/critical_path.h"
#include "plan/paths.h"
#include "plan/reduction.h"
#include "plan/schedule.h"

static void check_paths(const dense_graph *dense, const weir__plan_graph *graph, const double *weights) {
  uint32_t count = dense->task_count, levels[MAX_TASKS], path[MAX_TASKS], level_count = 0;
  double ends[MAX_TASKS], ranks[MAX_TASKS], ones[MAX_TASKS], longest = 0;
  for (uint32_t t = 0; t < count; t++) ones[t] = 1;

  uint32_t found_levels = weir__plan_levels(graph, levels);
  double found_longest = weir__plan_earliest_ends(graph, weights, ends);
  weir__plan_upward_ranks(graph, weights, ranks);
  for (uint32_t t = 0; t < count; t++) {
    double steps = heaviest_path(dense, ones, t, false), end = heaviest_path(dense, weights, t, false);
    assert_true(levels[t] + 1 == (uint32_t)steps);
    assert_true(ends[t] == end);
    assert_true(ranks[t] == heaviest_path(dense, weights, t, true));
    if (levels[t] + 1 > level_count) level_count = levels[t] + 1;
    if (end > longest) longest = end;
  }
  assert_int_equal(found_levels, level_count);
  assert_true(found_longest == longest);

  uint32_t length = weir__plan_critical_path(graph, ends, path);
  double weight = 0;
  assert_true(length > 0 || count == 0);
  for (uint32_t i = 0; i < length; i++) {
    weight += weights[path[i]];
    if (i > 0) assert_true(dense->edge[path[i - 1]][path[i]]);
  }
  assert_true(weight == longest);
}

static void check_descendants(const dense_graph *dense, const weir__plan_graph *graph) {
  dense_graph closure = dense_closure(dense);
  for (uint32_t task = 0; task < dense->task_count; task++) {
    bool marks[MAX_TASKS];
    uint32_t count = 0, found = weir__plan_descendants(graph, task, marks);
    for (uint32_t t = 0; t < dense->task_count; t++) {
      assert_int_equal(marks[t], closure.edge[task][t]);
      count += closure.edge[task][t];
    }
    assert_int_equal(found, count);
  }
}

// The reduction forces the same order, and without any one of its edges it would not.
static void check_reduction(const dense_graph *dense, const weir__plan_graph *graph) {
  weir__plan_graph reduced;
  assert_int_equal(weir__plan_reduce(graph, &reduced), WEIR_OK);
  dense_graph fewest = dense_from(&reduced), closure = dense_closure(dense), reduced_closure = dense_closure(&fewest);
  assert_memory_equal(&closure, &reduced_closure, sizeof closure);
  for (uint32_t p = 0; p < dense->task_count; p++) {
    for (uint32_t t = 0; t < dense->task_count; t++) {
      if (!fewest.edge[p][t]) continue;
      assert_true(dense->edge[p][t]);
      dense_graph without = fewest;
      without.edge[p][t] = false;
      without = dense_closure(&without);
      assert_false(without.edge[p][t]);
    }
  }
  weir__plan_graph_free(&reduced);
}

static void check_schedule(const dense_graph *dense, const weir__plan_graph *graph, const double *weights,
                           uint32_t window) {
  double ends[MAX_TASKS];
  assert_true(weir__plan_window_schedule(graph, weights, window, ends) == stepped_makespan(dense, weights, window));
}

static void check_everything(const dense_graph *dense, const double *weights) {
  weir__plan_graph graph;
  graph_from(dense, &graph);
  dense_graph back = dense_from(&graph);
  assert_memory_equal(dense, &back, sizeof back);
  check_paths(dense, &graph, weights);
  check_descendants(dense, &graph);
  check_reduction(dense, &graph);
  for (uint32_t window = 0; window <= dense->task_count + 1 && window < 8; window++)
    check_schedule(dense, &graph, weights, window);
  weir__plan_graph_free(&graph);
  assert_int_equal(weir__plan_graph_edge_count(&graph), 0);
}

static void every_small_graph(void **state) {
  (void)state;
  static const double weights[6] = {2, 3, 1, 0, 2, 5};
  for (uint32_t count = 0; count <= 6; count++) {
    uint32_t pairs = count ? count * (count - 1) / 2 : 0;
    for (uint32_t bits = 0; bits < 1u << pairs; bits++) {
      dense_graph dense = {.task_count = count};
      uint32_t pair = 0;
      for (uint32_t t = 1; t < count; t++) {
        for (uint32_t p = 0; p < t; p++) dense.edge[p][t] = bits >> pair++ & 1;
      }
      check_everything(&dense, weights);
    }
  }
}

static void random_graphs(void **state) {
  (void)state;
  uint64_t seed = 1;
  for (int round = 0; round < 60; round++) {
    dense_graph dense = {.task_count = 7 + random_below(&seed, 14)};
    double weights[MAX_TASKS];
    uint32_t one_in = 2 + random_below(&seed, 6);
    for (uint32_t t = 0; t < dense.task_count; t++) {
      weights[t] = random_below(&seed, 9);
      for (uint32_t p = 0; p < t; p++) dense.edge[p][t] = random_below(&seed, one_in) == 0;
    }
    check_everything(&dense, weights);
  }
}

// Longer than one strip of the reduction: a chain with shortcuts of every length keeps the chain alone.
static void reduction_across_strips(void **state) {
  (void)state;
  enum { TASKS = 3000 };
  static weir__plan_edge edges[TASKS * 14];
  size_t count = 0;
  for (uint32_t t = 1; t < TASKS; t++) {
    for (uint32_t step = 1; step <= t && step <= 4096; step *= 2) edges[count++] = (weir__plan_edge){t - step, t};
  }
  weir__plan_graph graph, reduced;
  assert_int_equal(weir__plan_graph_build(TASKS, edges, count, &graph), WEIR_OK);
  assert_int_equal(weir__plan_graph_edge_count(&graph), count);
  assert_int_equal(weir__plan_reduce(&graph, &reduced), WEIR_OK);
  assert_int_equal(weir__plan_graph_edge_count(&reduced), TASKS - 1);
  for (uint32_t t = 1; t < TASKS; t++) assert_int_equal(reduced.predecessors[reduced.first[t]], t - 1);
  weir__plan_graph_free(&graph);
  weir__plan_graph_free(&reduced);
}

// Two halves without an edge between neighbours: nothing is implied, and nothing is lost.
static void reduction_keeps_what_is_needed_across_strips(void **state) {
  (void)state;
  enum { TASKS = 2600, HALF = TASKS / 2 };
  static weir__plan_edge edges[HALF * 3];
  size_t count = 0;
  for (uint32_t t = HALF; t < TASKS; t++) {
    edges[count++] = (weir__plan_edge){t - HALF, t};
    edges[count++] = (weir__plan_edge){(t * 7 + 1) % HALF, t};
    edges[count++] = (weir__plan_edge){t - HALF, t};
  }
  weir__plan_graph graph, reduced;
  assert_int_equal(weir__plan_graph_build(TASKS, edges, count, &graph), WEIR_OK);
  assert_int_equal(weir__plan_reduce(&graph, &reduced), WEIR_OK);
  assert_int_equal(weir__plan_graph_edge_count(&reduced), weir__plan_graph_edge_count(&graph));
  assert_memory_equal(graph.predecessors, reduced.predecessors,
                      weir__plan_graph_edge_count(&graph) * sizeof *graph.predecessors);
  weir__plan_graph_free(&graph);
  weir__plan_graph_free(&reduced);
}

static void edges_out_of_order_are_refused(void **state) {
  (void)state;
  static const weir__plan_edge wrong[] = {{0, 0}, {2, 1}, {0, 3}, {UINT32_MAX, 0}};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    weir__plan_edge edges[2] = {{0, 1}, wrong[i]};
    weir__plan_graph graph;
    assert_int_equal(weir__plan_graph_build(3, edges, 2, &graph), WEIR_ERROR_INVALID_ARGUMENT);
    assert_null(graph.first);
    assert_non_null(strstr(weir_last_error(), "edge 1 from task"));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_small_graph),
      cmocka_unit_test(random_graphs),
      cmocka_unit_test(reduction_across_strips),
      cmocka_unit_test(reduction_keeps_what_is_needed_across_strips),
      cmocka_unit_test(edges_out_of_order_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
