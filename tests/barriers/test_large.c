// SPDX-License-Identifier: Apache-2.0
//
// Large random graphs: plans are correct, the proofs that they are the shortest hold, and every failed allocation is
// reported.
#include <stdlib.h>

#include "base/allocate.h"
#include "dag.h"
#include "plan/barriers.h"
#include "plan/barriers_check.h"
#include "plan/barriers_in_order.h"
#include "plan/barriers_queues.h"
#include "plan/paths.h"

enum { TASKS = 100000 };

typedef struct arrays {
  uint32_t *levels, *order, *epochs, *chain;
  weir__plan_edge *reasons;
  double *times;
} arrays;

static arrays make_arrays(uint32_t count) {
  arrays made = {malloc(count * sizeof(uint32_t)),        malloc(count * sizeof(uint32_t)),
                 malloc(count * sizeof(uint32_t)),        malloc(count * sizeof(uint32_t)),
                 malloc(count * sizeof(weir__plan_edge)), malloc(count * sizeof(double))};
  assert_true(made.levels && made.order && made.epochs && made.chain && made.reasons && made.times);
  uint64_t seed = 5;
  for (uint32_t t = 0; t < count; t++) made.times[t] = (double)(next_random(&seed) % 100) / 10;
  return made;
}

static void free_arrays(arrays *made) {
  free(made->levels);
  free(made->order);
  free(made->epochs);
  free(made->chain);
  free(made->reasons);
  free(made->times);
}

static void check_order(const weir__plan_graph *graph, const uint32_t *order, const arrays *use, uint32_t expected) {
  weir__barrier_plan plan;
  uint32_t barriers = weir__barriers_in_order(graph, order, use->epochs, use->reasons);
  if (expected != UINT32_MAX) assert_int_equal(barriers, expected);
  assert_int_equal(weir__barrier_plan_create(graph->task_count, order, use->epochs, &plan), WEIR_OK);
  assert_int_equal(plan.barriers, barriers);
  assert_int_equal(weir__barrier_check_plan(graph, &plan), WEIR_OK);
  assert_int_equal(weir__barrier_check_reasons(graph, order, use->reasons, barriers), WEIR_OK);
  weir__barrier_plan_free(&plan);
}

static void check_queues(const weir__plan_graph *graph, const arrays *use, const uint32_t *order) {
  for (uint32_t count = 2; count <= 8; count *= 2) {
    weir__barrier_queues asked = {
        .queue_count = count, .order = order, .times = use->times, .barrier_time = 1, .semaphore_time = 3};
    weir__barrier_plan plan;
    assert_int_equal(weir__barrier_plan_queues(graph, &asked, &plan, NULL), WEIR_OK);
    assert_int_equal(weir__barrier_check_plan(graph, &plan), WEIR_OK);
    weir__barrier_plan_free(&plan);
  }
}

static void large_graphs(void **state) {
  (void)state;
  static const uint32_t reaches[] = {1, 8, 100, 5000, TASKS};
  arrays use = make_arrays(TASKS);
  for (uint32_t i = 0; i < sizeof reaches / sizeof *reaches; i++) {
    weir__plan_graph graph = random_graph(TASKS, reaches[i], 4, i + 1);
    uint32_t levels = weir__plan_levels(&graph, use.levels);
    assert_int_equal(weir__barriers_chain(&graph, use.levels, levels, use.chain), levels);
    assert_int_equal(weir__barrier_check_chain(&graph, use.chain, levels), WEIR_OK);
    assert_int_equal(weir__barriers_level_order(TASKS, use.levels, levels, use.order), WEIR_OK);
    check_order(&graph, NULL, &use, UINT32_MAX);
    check_order(&graph, use.order, &use, levels - 1);
    check_queues(&graph, &use, NULL);
    check_queues(&graph, &use, use.order);
    weir__plan_graph_free(&graph);
  }
  free_arrays(&use);
}

typedef weir_status (*attempt)(const weir__plan_graph *graph, const arrays *use);

static weir_status attempt_order(const weir__plan_graph *graph, const arrays *use) {
  return weir__barriers_level_order(graph->task_count, use->levels, graph->task_count, use->order);
}

static weir_status attempt_plan(const weir__plan_graph *graph, const arrays *use) {
  weir__barrier_plan plan;
  weir_status status = weir__barrier_plan_create(graph->task_count, NULL, use->epochs, &plan);
  if (status == WEIR_OK) status = weir__barrier_check_plan(graph, &plan);
  weir__barrier_plan_free(&plan);
  return status;
}

static weir_status attempt_queues(const weir__plan_graph *graph, const arrays *use) {
  (void)use;
  weir__barrier_queues asked = {.queue_count = 3};
  weir__barrier_plan plan;
  weir_status status = weir__barrier_plan_queues(graph, &asked, &plan, NULL);
  if (status != WEIR_OK) assert_null(plan.steps);
  if (status == WEIR_OK) status = weir__barrier_check_plan(graph, &plan);
  weir__barrier_plan_free(&plan);
  return status;
}

static weir_status attempt_proof(const weir__plan_graph *graph, const arrays *use) {
  return weir__barrier_check_reasons(graph, use->order, use->reasons, 1);
}

static void every_failed_allocation_is_reported(void **state) {
  (void)state;
  static const attempt attempts[] = {attempt_order, attempt_plan, attempt_queues, attempt_proof};
  weir__plan_graph graph = random_graph(100, 10, 4, 1);
  arrays use = make_arrays(100);
  weir__plan_levels(&graph, use.levels);
  weir__barriers_in_order(&graph, NULL, use.epochs, use.reasons);
  for (uint32_t i = 0; i < sizeof attempts / sizeof *attempts; i++) {
    uint64_t n = 0;
    weir_status status;
    do {
      weir__allocate_fail_at(++n);
      status = attempts[i](&graph, &use);
      weir__allocate_fail_at(0);
      assert_true(status == WEIR_OK || status == WEIR_ERROR_OUT_OF_MEMORY);
    } while (status != WEIR_OK);
    assert_true(n > 1);
  }
  free_arrays(&use);
  weir__plan_graph_free(&graph);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(large_graphs),
      cmocka_unit_test(every_failed_allocation_is_reported),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
