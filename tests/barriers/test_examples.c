// SPDX-License-Identifier: Apache-2.0
//
// Programs whose barriers everybody can count: the two of the DirectML documentation, readers, writers of parts.
#include "dag.h"
#include "plan/barriers.h"
#include "plan/barriers_check.h"
#include "plan/barriers_in_order.h"
#include "plan/hazards.h"
#include "plan/paths.h"

enum { MOST_TASKS = 8, BUFFERS = 8, BYTES = 64 };

typedef struct counted {
  uint32_t fixed, reordered;
  uint32_t epochs[MOST_TASKS]; // in program order
} counted;

// Plans tasks of up to three accesses; those of no bytes count as none.
static counted plan_tasks(weir__plan_access accesses[][3], uint32_t task_count) {
  weir__plan_buffer buffers[BUFFERS];
  weir__plan_task tasks[MOST_TASKS];
  for (uint32_t b = 0; b < BUFFERS; b++) buffers[b] = (weir__plan_buffer){BYTES, 1000 * b};
  for (uint32_t t = 0; t < task_count; t++) {
    uint32_t count = 0;
    while (count < 3 && accesses[t][count].bytes > 0) count++;
    tasks[t] = (weir__plan_task){accesses[t], count, false};
  }
  weir__plan_program program = {buffers, BUFFERS, tasks, task_count};
  weir__plan_hazards hazards;
  weir__plan_graph graph;
  counted result;
  uint32_t levels[MOST_TASKS];
  weir__plan_edge reasons[MOST_TASKS];
  assert_int_equal(weir__plan_find_hazards(&program, WEIR__PLAN_ADDRESS, &hazards), WEIR_OK);
  assert_int_equal(weir__plan_hazard_graph(task_count, &hazards, false, &graph), WEIR_OK);
  result.fixed = weir__barriers_in_order(&graph, NULL, result.epochs, reasons);
  result.reordered = weir__plan_levels(&graph, levels) - 1;
  assert_int_equal(weir__barrier_check_reasons(&graph, NULL, reasons, result.fixed), WEIR_OK);
  weir__plan_graph_free(&graph);
  weir__plan_hazards_free(&hazards);
  return result;
}

#define READS(buffer)                                                                                                  \
  { WEIR_READ, buffer, 0, BYTES }
#define WRITES(buffer)                                                                                                 \
  { WEIR_WRITE, buffer, 0, BYTES }
#define READS_PART(buffer, offset, bytes)                                                                              \
  { WEIR_READ, buffer, offset, bytes }
#define WRITES_PART(buffer, offset, bytes)                                                                             \
  { WEIR_WRITE, buffer, offset, bytes }

static void a_chain_takes_a_barrier_between_each_pair(void **state) {
  (void)state;
  weir__plan_access convolution_relu_normalisation[][3] = {
      {READS(0), WRITES(1)},
      {READS(1), WRITES(2)},
      {READS(2), WRITES(3)},
  };
  counted plan = plan_tasks(convolution_relu_normalisation, 3);
  assert_int_equal(plan.fixed, 2);
  assert_int_equal(plan.reordered, 2);
}

static void two_convolutions_run_together(void **state) {
  (void)state;
  weir__plan_access pooling_convolutions_join[][3] = {
      {READS(0), WRITES(1)},
      {READS(1), WRITES(2)},
      {READS(1), WRITES(3)},
      {READS(2), READS(3), WRITES(4)},
  };
  counted plan = plan_tasks(pooling_convolutions_join, 4);
  assert_int_equal(plan.fixed, 2);
  assert_int_equal(plan.reordered, 2);
  assert_int_equal(plan.epochs[0], 0);
  assert_int_equal(plan.epochs[1], 1);
  assert_int_equal(plan.epochs[2], 1);
  assert_int_equal(plan.epochs[3], 2);
}

static void readers_need_no_barrier(void **state) {
  (void)state;
  weir__plan_access tasks[][3] = {{READS(0), WRITES(1)}, {READS(0), WRITES(2)}, {READS(0), WRITES(3)}};
  assert_int_equal(plan_tasks(tasks, 3).fixed, 0);
}

static void writers_of_other_bytes_need_no_barrier(void **state) {
  (void)state;
  weir__plan_access apart[][3] = {
      {WRITES_PART(0, 0, 16)}, {WRITES_PART(0, 16, 16)}, {WRITES_PART(0, 48, 16)}, {WRITES_PART(0, 32, 16)}};
  assert_int_equal(plan_tasks(apart, 4).fixed, 0);
  weir__plan_access one_byte[][3] = {{WRITES_PART(0, 0, 16)}, {WRITES_PART(0, 15, 16)}};
  assert_int_equal(plan_tasks(one_byte, 2).fixed, 1);
  weir__plan_access read_apart[][3] = {{WRITES_PART(0, 0, 16)}, {READS_PART(0, 16, 16)}, {READS_PART(0, 0, 1)}};
  assert_int_equal(plan_tasks(read_apart, 3).fixed, 1);
}

static void a_later_task_runs_before_a_barrier_only_when_reordered(void **state) {
  (void)state;
  weir__plan_access two_chains[][3] = {{WRITES(0)},           {READS(0), WRITES(1)}, {WRITES(2)},
                                       {READS(2), WRITES(3)}, {WRITES(4)},           {READS(4), WRITES(5)}};
  counted plan = plan_tasks(two_chains, 6);
  assert_int_equal(plan.fixed, 3);
  assert_int_equal(plan.reordered, 1);
}

static void a_program_without_tasks_has_no_barrier(void **state) {
  (void)state;
  weir__plan_graph graph;
  weir__barrier_plan plan;
  uint32_t nothing;
  assert_int_equal(weir__plan_graph_build(0, NULL, 0, &graph), WEIR_OK);
  assert_int_equal(weir__barriers_in_order(&graph, NULL, &nothing, NULL), 0);
  assert_int_equal(weir__barriers_chain(&graph, &nothing, 0, &nothing), 0);
  assert_int_equal(weir__barriers_level_order(0, &nothing, 0, &nothing), WEIR_OK);
  assert_int_equal(weir__barrier_plan_create(0, NULL, &nothing, &plan), WEIR_OK);
  assert_int_equal(weir__barrier_check_plan(&graph, &plan), WEIR_OK);
  assert_int_equal(plan.step_count, 0);
  weir__barrier_plan_free(&plan);
  weir__plan_graph_free(&graph);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_chain_takes_a_barrier_between_each_pair),
      cmocka_unit_test(two_convolutions_run_together),
      cmocka_unit_test(readers_need_no_barrier),
      cmocka_unit_test(writers_of_other_bytes_need_no_barrier),
      cmocka_unit_test(a_later_task_runs_before_a_barrier_only_when_reordered),
      cmocka_unit_test(a_program_without_tasks_has_no_barrier),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
