// SPDX-License-Identifier: Apache-2.0
//
// The number of barriers against brute force: on every graph of six ordered tasks, and through them on every set of six
// tasks that read, write or leave alone each of three resources.
//
// A plan depends on which pairs of tasks conflict, and on nothing else. The conflicts through one resource follow from
// one of 3^6 columns (what each task does with it), and those of a task set are the union of three columns; so all
// 27^6 task sets are the unions of three columns, and each union is one of the graphs that were compared.
#include <stdlib.h>
#include <string.h>

#include "dag.h"
#include "plan/barriers.h"
#include "plan/barriers_check.h"
#include "plan/barriers_in_order.h"
#include "plan/hazards.h"
#include "plan/paths.h"

enum { COLUMNS = 729, NOT_FOUND = 255 };

// What the planner said of each graph, once it was compared with brute force.
static struct {
  uint32_t epochs; // fixed order: 4 bits a task
  uint8_t fixed, reordered;
} planned[DAG_COUNT];

// Fewest barriers in program order, over all sets of places for them: bit i of a set is the place before task i + 1.
static uint32_t fewest_in_order(uint32_t dag) {
  uint32_t fewest = NOT_FOUND;
  for (uint32_t places = 0; places < 1u << (DAG_TASKS - 1); places++) {
    bool correct = true;
    for (uint32_t t = 1; t < DAG_TASKS; t++) {
      for (uint32_t p = 0; p < t; p++) {
        uint32_t between = ((1u << t) - 1) & ~((1u << p) - 1);
        if (dag & dag_edge(p, t) && !(places & between)) correct = false;
      }
    }
    uint32_t count = (uint32_t)__builtin_popcount(places);
    if (correct && count < fewest) fewest = count;
  }
  return fewest;
}

// Fewest barriers over all orders and all places for barriers: every next task, with a barrier before it and without.
static void try_orders(uint32_t dag, uint32_t done, uint32_t epoch, uint32_t barriers, uint32_t *fewest) {
  if (barriers >= *fewest) return;
  if ((done | epoch) == (1u << DAG_TASKS) - 1) {
    *fewest = barriers;
    return;
  }
  for (uint32_t t = 0; t < DAG_TASKS; t++) {
    if ((done | epoch) & 1u << t) continue;
    uint32_t predecessors = dag_predecessors(dag, t);
    if ((predecessors & ~done) == 0) try_orders(dag, done, epoch | 1u << t, barriers, fewest);
    if ((predecessors & ~(done | epoch)) == 0) try_orders(dag, done | epoch, 1u << t, barriers + 1, fewest);
  }
}

static uint32_t fewest_reordered(uint32_t dag) {
  uint32_t fewest = NOT_FOUND;
  try_orders(dag, 0, 0, 0, &fewest);
  return fewest;
}

// The plan in program order is correct, as few as brute force finds, and proved.
static void check_fixed(uint32_t dag, const weir__plan_graph *graph) {
  uint32_t epochs[DAG_TASKS];
  weir__plan_edge reasons[DAG_TASKS];
  uint32_t barriers = weir__barriers_in_order(graph, NULL, epochs, reasons);
  assert_int_equal(barriers, fewest_in_order(dag));
  assert_int_equal(weir__barrier_check_reasons(graph, NULL, reasons, barriers), WEIR_OK);
  weir__barrier_plan plan;
  assert_int_equal(weir__barrier_plan_create(DAG_TASKS, NULL, epochs, &plan), WEIR_OK);
  assert_int_equal(plan.barriers, barriers);
  assert_int_equal(weir__barrier_check_plan(graph, &plan), WEIR_OK);
  weir__barrier_plan_free(&plan);

  uint32_t packed = 0;
  for (uint32_t t = 0; t < DAG_TASKS; t++) packed |= epochs[t] << 4 * t;
  planned[dag].epochs = packed;
  planned[dag].fixed = (uint8_t)barriers;
}

static void check_reordered(uint32_t dag, const weir__plan_graph *graph) {
  uint32_t levels[DAG_TASKS], order[DAG_TASKS], chain[DAG_TASKS], epochs[DAG_TASKS];
  uint32_t level_count = weir__plan_levels(graph, levels);
  assert_int_equal(level_count - 1, fewest_reordered(dag));
  assert_int_equal(weir__barriers_chain(graph, levels, level_count, chain), level_count);
  assert_int_equal(weir__barrier_check_chain(graph, chain, level_count), WEIR_OK);
  assert_int_equal(weir__barriers_level_order(DAG_TASKS, levels, level_count, order), WEIR_OK);
  assert_int_equal(weir__barriers_in_order(graph, order, epochs, NULL), level_count - 1);
  weir__barrier_plan plan;
  assert_int_equal(weir__barrier_plan_create(DAG_TASKS, order, levels, &plan), WEIR_OK);
  assert_int_equal(plan.barriers, level_count - 1);
  assert_int_equal(weir__barrier_check_plan(graph, &plan), WEIR_OK);
  weir__barrier_plan_free(&plan);
  planned[dag].reordered = (uint8_t)(level_count - 1);
}

static void every_graph_of_six_tasks(void **state) {
  (void)state;
  for (uint32_t dag = 0; dag < DAG_COUNT; dag++) {
    dag_rows rows;
    weir__plan_graph graph = dag_graph(dag, DAG_TASKS, &rows);
    check_fixed(dag, &graph);
    check_reordered(dag, &graph);
  }
}

// What task `task` does in a column: 0 nothing, 1 reads, 2 writes.
static uint32_t use_in(uint32_t column, uint32_t task) {
  while (task-- > 0) column /= 3;
  return column % 3;
}

static uint32_t conflicts_of(uint32_t column, uint32_t task_count) {
  uint32_t dag = 0;
  for (uint32_t t = 1; t < task_count; t++) {
    for (uint32_t p = 0; p < t; p++) {
      uint32_t one = use_in(column, p), other = use_in(column, t);
      if (one && other && (one == 2 || other == 2)) dag |= dag_edge(p, t);
    }
  }
  return dag;
}

// The graph that tools/plan finds for tasks that use resource i as column i says.
static uint32_t hazards_of(const uint32_t *columns, uint32_t column_count, uint32_t task_count) {
  weir__plan_buffer buffers[3];
  weir__plan_access accesses[DAG_TASKS][3];
  weir__plan_task tasks[DAG_TASKS] = {0};
  for (uint32_t c = 0; c < column_count; c++) buffers[c] = (weir__plan_buffer){16, 64 * c};
  for (uint32_t t = 0; t < task_count; t++) {
    tasks[t].accesses = accesses[t];
    for (uint32_t c = 0; c < column_count; c++) {
      uint32_t use = use_in(columns[c], t);
      weir_mode mode = use == 1 ? WEIR_READ : WEIR_READ_WRITE;
      if (use) accesses[t][tasks[t].access_count++] = (weir__plan_access){mode, c, 0, 16};
    }
  }
  weir__plan_program program = {buffers, column_count, tasks, task_count};
  weir__plan_hazards hazards;
  weir__plan_graph graph;
  assert_int_equal(weir__plan_find_hazards(&program, WEIR__PLAN_BUFFER, &hazards), WEIR_OK);
  assert_int_equal(weir__plan_hazard_graph(task_count, &hazards, true, &graph), WEIR_OK);
  uint32_t dag = dag_from(&graph);
  weir__plan_graph_free(&graph);
  weir__plan_hazards_free(&hazards);
  return dag;
}

typedef struct column_graphs {
  uint32_t conflicts, hazards;
} column_graphs;

static int compare_graphs(const void *left, const void *right) {
  return memcmp(left, right, sizeof(column_graphs));
}

// The hazards that are found leave out what others imply; the plan for them has the same epochs as that for all
// conflicts. `every_graph_of_six_tasks` ran before and has compared the plan of each graph.
static void every_task_set_of_six_tasks_and_three_resources(void **state) {
  (void)state;
  static column_graphs graphs[COLUMNS];
  for (uint32_t c = 0; c < COLUMNS; c++) graphs[c] = (column_graphs){conflicts_of(c, DAG_TASKS), hazards_of(&c, 1, 6)};
  qsort(graphs, COLUMNS, sizeof *graphs, compare_graphs);
  uint32_t count = 0;
  for (uint32_t c = 0; c < COLUMNS; c++) {
    if (count == 0 || compare_graphs(&graphs[count - 1], &graphs[c]) != 0) graphs[count++] = graphs[c];
  }
  assert_true(count > 300);
  uint64_t different = 0;
  for (uint32_t i = 0; i < count; i++) {
    for (uint32_t j = i; j < count; j++) {
      column_graphs two = {graphs[i].conflicts | graphs[j].conflicts, graphs[i].hazards | graphs[j].hazards};
      for (uint32_t k = j; k < count; k++) {
        uint32_t conflicts = two.conflicts | graphs[k].conflicts, hazards = two.hazards | graphs[k].hazards;
        different += planned[conflicts].epochs != planned[hazards].epochs;
        different += planned[conflicts].fixed != planned[hazards].fixed;
        different += planned[conflicts].reordered != planned[hazards].reordered;
      }
    }
  }
  assert_int_equal(different, 0);
}

// Hazards through several resources are the union of those through each, which the test above relies on.
static void hazards_are_found_for_each_resource_alone(void **state) {
  (void)state;
  enum { TASKS = 4, SMALL_COLUMNS = 81 };
  uint32_t alone[SMALL_COLUMNS];
  for (uint32_t c = 0; c < SMALL_COLUMNS; c++) alone[c] = hazards_of(&c, 1, TASKS);
  for (uint32_t i = 0; i < SMALL_COLUMNS; i++) {
    for (uint32_t j = i; j < SMALL_COLUMNS; j++) {
      for (uint32_t k = j; k < SMALL_COLUMNS; k++) {
        uint32_t columns[3] = {i, j, k};
        assert_int_equal(hazards_of(columns, 3, TASKS), alone[i] | alone[j] | alone[k]);
      }
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_graph_of_six_tasks),
      cmocka_unit_test(every_task_set_of_six_tasks_and_three_resources),
      cmocka_unit_test(hazards_are_found_for_each_resource_alone),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
