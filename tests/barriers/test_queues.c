// SPDX-License-Identifier: Apache-2.0
//
// Plans over several queues: every graph of five tasks over one to three queues, chosen and wanted, against what the
// steps mean by definition; no barrier and no wait can be left out; bad plans are refused.
#include <string.h>

#include "dag.h"
#include "plan/barriers_check.h"
#include "plan/barriers_in_order.h"
#include "plan/barriers_queues.h"
#include "weir/weir.h"

enum { TASKS = 5, DAGS = 1 << 10, WAYS_TO_QUEUES = 243, MOST_STEPS = 40 };

// Small tests try some of the ways to put tasks into queues, others for each graph.
#ifdef WEIR_SMALL_TESTS
enum { WAYS_STEP = 7 };
#else
enum { WAYS_STEP = 1 };
#endif

// What a step comes after, by what each kind means and nothing else: dispatches before a barrier or a signal of their
// queue; barriers and waits before a dispatch of their queue; the signal of what a wait waits for.
static bool comes_after(const weir__barrier_step *earlier, const weir__barrier_step *later) {
  bool is_cut = earlier->kind == WEIR__BARRIER_BARRIER || earlier->kind == WEIR__BARRIER_WAIT;
  bool is_end = later->kind == WEIR__BARRIER_BARRIER || later->kind == WEIR__BARRIER_SIGNAL;
  if (earlier->kind == WEIR__BARRIER_SIGNAL && later->kind == WEIR__BARRIER_WAIT)
    return earlier->semaphore == later->semaphore && earlier->value == later->value;
  if (earlier->queue != later->queue) return false;
  return (earlier->kind == WEIR__BARRIER_DISPATCH && is_end) || (is_cut && later->kind == WEIR__BARRIER_DISPATCH);
}

// Whether the steps put every predecessor before its task.
static bool keeps_order(uint32_t dag, const weir__barrier_plan *plan) {
  bool after[MOST_STEPS][MOST_STEPS] = {{false}};
  size_t count = plan->step_count, at[TASKS];
  assert_true(count <= MOST_STEPS);
  for (size_t j = 0; j < count; j++) {
    for (size_t i = 0; i < j; i++) {
      if (!comes_after(&plan->steps[i], &plan->steps[j])) continue;
      after[j][i] = true;
      for (size_t k = 0; k < i; k++) after[j][k] = after[j][k] || after[i][k];
    }
    if (plan->steps[j].kind == WEIR__BARRIER_DISPATCH) at[plan->steps[j].task] = j;
  }
  for (uint32_t t = 1; t < TASKS; t++) {
    for (uint32_t p = 0; p < t; p++) {
      if (dag & dag_edge(p, t) && !after[at[t]][at[p]]) return false;
    }
  }
  return true;
}

// The plan without one of its barriers or waits.
static weir__barrier_plan without(const weir__barrier_plan *plan, size_t step, weir__barrier_step *steps) {
  weir__barrier_plan less = *plan;
  less.steps = steps;
  memcpy(steps, plan->steps, step * sizeof *steps);
  memcpy(steps + step, plan->steps + step + 1, (plan->step_count - step - 1) * sizeof *steps);
  less.step_count--;
  if (plan->steps[step].kind == WEIR__BARRIER_BARRIER) less.barriers--;
  if (plan->steps[step].kind == WEIR__BARRIER_WAIT) less.waits--;
  return less;
}

static void check_plan(uint32_t dag, const weir__plan_graph *graph, const weir__barrier_plan *plan) {
  if (weir__barrier_check_plan(graph, plan) != WEIR_OK) fail_msg("graph %u: %s", dag, weir_last_error());
  assert_true(keeps_order(dag, plan));
  for (size_t i = 0; i < plan->step_count; i++) {
    weir__barrier_step steps[MOST_STEPS];
    if (plan->steps[i].kind != WEIR__BARRIER_BARRIER && plan->steps[i].kind != WEIR__BARRIER_WAIT) continue;
    weir__barrier_plan less = without(plan, i, steps);
    assert_false(keeps_order(dag, &less));
    assert_int_equal(weir__barrier_check_plan(graph, &less), WEIR_ERROR_INVALID_ARGUMENT);
  }
}

static void every_graph_over_chosen_queues(void **state) {
  (void)state;
  static const double times[TASKS] = {3, 1, 2, 5, 1};
  for (uint32_t dag = 0; dag < DAGS; dag++) {
    dag_rows rows;
    weir__plan_graph graph = dag_graph(dag, TASKS, &rows);
    for (uint32_t count = 1; count <= 3; count++) {
      weir__barrier_queues asked = {.queue_count = count, .times = times, .semaphore_time = 0.5};
      weir__barrier_plan plan;
      double makespan;
      assert_int_equal(weir__barrier_plan_queues(&graph, &asked, &plan, &makespan), WEIR_OK);
      check_plan(dag, &graph, &plan);
      assert_true(makespan >= 5 && makespan <= 12 + 0.5 * TASKS);
      weir__barrier_plan_free(&plan);
    }
  }
}

static void every_graph_over_wanted_queues(void **state) {
  (void)state;
  for (uint32_t dag = 0; dag < DAGS; dag++) {
    dag_rows rows;
    weir__plan_graph graph = dag_graph(dag, TASKS, &rows);
    for (uint32_t code = dag % WAYS_STEP; code < WAYS_TO_QUEUES; code += WAYS_STEP) {
      uint32_t wanted[TASKS], rest = code;
      for (uint32_t t = 0; t < TASKS; t++, rest /= 3) wanted[t] = rest % 3;
      weir__barrier_queues asked = {.queue_count = 3, .wanted = wanted};
      weir__barrier_plan plan;
      assert_int_equal(weir__barrier_plan_queues(&graph, &asked, &plan, NULL), WEIR_OK);
      check_plan(dag, &graph, &plan);
      for (size_t i = 0; i < plan.step_count; i++) {
        if (plan.steps[i].kind == WEIR__BARRIER_DISPATCH)
          assert_int_equal(plan.steps[i].queue, wanted[plan.steps[i].task]);
      }
      weir__barrier_plan_free(&plan);
    }
  }
}

// One queue, its order given: the barriers of the fixed order.
static void one_queue_has_the_fewest_barriers(void **state) {
  (void)state;
  for (uint32_t dag = 0; dag < DAGS; dag++) {
    dag_rows rows;
    uint32_t epochs[TASKS];
    weir__plan_graph graph = dag_graph(dag, TASKS, &rows);
    weir__barrier_queues asked = {.queue_count = 1};
    weir__barrier_plan plan;
    assert_int_equal(weir__barrier_plan_queues(&graph, &asked, &plan, NULL), WEIR_OK);
    assert_int_equal(plan.barriers, weir__barriers_in_order(&graph, NULL, epochs, NULL));
    assert_int_equal(plan.signals + plan.waits, 0);
    weir__barrier_plan_free(&plan);
  }
}

static void chains_of_unequal_tasks_go_to_queues_of_their_own(void **state) {
  (void)state;
  enum { CHAINS = 4, LENGTH = 50, COUNT = CHAINS * LENGTH };
  weir__plan_edge edges[COUNT];
  double times[COUNT], longest = 0;
  for (uint32_t t = 0; t < COUNT; t++) {
    times[t] = 1 + t * 7 % 13;
    if (t >= CHAINS) edges[t - CHAINS] = (weir__plan_edge){t - CHAINS, t};
  }
  for (uint32_t c = 0; c < CHAINS; c++) {
    double length = 0;
    for (uint32_t t = c; t < COUNT; t += CHAINS) length += times[t];
    if (length > longest) longest = length;
  }
  weir__plan_graph graph;
  assert_int_equal(weir__plan_graph_build(COUNT, edges, COUNT - CHAINS, &graph), WEIR_OK);
  weir__barrier_queues asked = {.queue_count = CHAINS, .times = times, .semaphore_time = 2};
  weir__barrier_plan plan;
  double makespan, alone;
  assert_int_equal(weir__barrier_plan_queues(&graph, &asked, &plan, &makespan), WEIR_OK);
  assert_int_equal(weir__barrier_check_plan(&graph, &plan), WEIR_OK);
  weir__barrier_plan_free(&plan);
  asked.queue_count = 1;
  assert_int_equal(weir__barrier_plan_queues(&graph, &asked, &plan, &alone), WEIR_OK);
  weir__barrier_plan_free(&plan);
  assert_true(makespan < 1.2 * longest);
  assert_true(makespan < 0.8 * alone);
  weir__plan_graph_free(&graph);
}

static void refuse(const weir__plan_graph *graph, const weir__barrier_plan *plan, const char *text) {
  assert_int_equal(weir__barrier_check_plan(graph, plan), WEIR_ERROR_INVALID_ARGUMENT);
  if (!strstr(weir_last_error(), text)) fail_msg("\"%s\" does not say \"%s\"", weir_last_error(), text);
}

static void bad_plans_are_refused(void **state) {
  (void)state;
  dag_rows rows;
  weir__plan_graph graph = dag_graph(dag_edge(0, 1), 2, &rows);
  weir__barrier_step steps[] = {
      {.kind = WEIR__BARRIER_DISPATCH, .queue = 0, .task = 0},
      {.kind = WEIR__BARRIER_SIGNAL, .queue = 0, .semaphore = 0, .value = 1},
      {.kind = WEIR__BARRIER_WAIT, .queue = 1, .semaphore = 0, .value = 1},
      {.kind = WEIR__BARRIER_DISPATCH, .queue = 1, .task = 1},
  };
  weir__barrier_plan good = {steps, 4, 2, 2, 0, 1, 1}, bad = good;
  assert_int_equal(weir__barrier_check_plan(&graph, &good), WEIR_OK);
  bad.task_count = 3;
  refuse(&graph, &bad, "for 3 tasks");
  bad = good;
  bad.barriers = 1;
  refuse(&graph, &bad, "0 barriers, 1 signals and 1 waits, not 1, 1 and 1");
  bad = (weir__barrier_plan){steps, 3, 2, 2, 0, 1, 1};
  refuse(&graph, &bad, "does not run task 1");

  weir__barrier_step kept[4];
  memcpy(kept, steps, sizeof kept);
#define REFUSE(change, text)                                                                                           \
  do {                                                                                                                 \
    change;                                                                                                            \
    refuse(&graph, &good, text);                                                                                       \
    memcpy(steps, kept, sizeof kept);                                                                                  \
  } while (0)
  REFUSE(steps[0].task = 9, "step 0 of the plan runs a task that does not exist");
  REFUSE(steps[3].task = 0, "step 3 of the plan runs a task again");
  REFUSE(steps[1].value = 2, "not the next one");
  REFUSE(steps[1].semaphore = 1, "another queue's semaphore");
  REFUSE(steps[2].value = 2, "not signalled before");
  REFUSE(steps[2].value = 0, "not signalled before");
  REFUSE(steps[2].semaphore = 7, "semaphore that does not exist");
  REFUSE(steps[2].queue = 0, "nothing says that task 0 is done");
  REFUSE(steps[3].queue = 2, "queue that does not exist");
  REFUSE(steps[3].kind = (weir__barrier_step_kind)9, "unknown kind");
  // The signal in front of the task covers nothing.
  REFUSE((steps[0] = kept[1], steps[1] = kept[0]), "nothing says that task 0 is done");
}

static void bad_proofs_are_refused(void **state) {
  (void)state;
  dag_rows rows;
  weir__plan_graph graph = dag_graph(dag_edge(0, 2) | dag_edge(1, 3) | dag_edge(2, 4), TASKS, &rows);
  weir__plan_edge good[] = {{0, 2}, {2, 4}}, crossing[] = {{0, 2}, {1, 3}}, none[] = {{0, 1}}, far[] = {{0, 9}};
  assert_int_equal(weir__barrier_check_reasons(&graph, NULL, good, 2), WEIR_OK);
  assert_int_equal(weir__barrier_check_reasons(&graph, NULL, crossing, 2), WEIR_ERROR_INVALID_ARGUMENT);
  assert_non_null(strstr(weir_last_error(), "could share a barrier"));
  assert_int_equal(weir__barrier_check_reasons(&graph, NULL, none, 1), WEIR_ERROR_INVALID_ARGUMENT);
  assert_non_null(strstr(weir_last_error(), "task 1 does not have to wait for task 0"));
  assert_int_equal(weir__barrier_check_reasons(&graph, NULL, far, 1), WEIR_ERROR_INVALID_ARGUMENT);
  uint32_t order[] = {0, 2, 1, 3, 4}, backwards[] = {2, 0, 1, 3, 4}, twice[] = {0, 0, 1, 2, 3}, chain[] = {0, 2, 3};
  assert_int_equal(weir__barrier_check_reasons(&graph, order, crossing, 2), WEIR_OK);
  assert_int_equal(weir__barrier_check_reasons(&graph, backwards, good, 2), WEIR_ERROR_INVALID_ARGUMENT);
  assert_int_equal(weir__barrier_check_reasons(&graph, twice, good, 2), WEIR_ERROR_INVALID_ARGUMENT);
  assert_int_equal(weir__barrier_check_chain(&graph, chain, 2), WEIR_OK);
  assert_int_equal(weir__barrier_check_chain(&graph, chain, 3), WEIR_ERROR_INVALID_ARGUMENT);
}

static void bad_requests_are_refused(void **state) {
  (void)state;
  dag_rows rows;
  weir__plan_graph graph = dag_graph(0, TASKS, &rows);
  uint32_t wanted[TASKS] = {0, 1, 2, 0, 1};
  weir__barrier_queues none = {.queue_count = 0}, two = {.queue_count = 2, .wanted = wanted};
  weir__barrier_plan plan;
  assert_int_equal(weir__barrier_plan_queues(&graph, &none, &plan, NULL), WEIR_ERROR_INVALID_ARGUMENT);
  assert_int_equal(weir__barrier_plan_queues(&graph, &two, &plan, NULL), WEIR_ERROR_INVALID_ARGUMENT);
  assert_non_null(strstr(weir_last_error(), "task 2 is wanted in queue 2 of 2"));
  assert_null(plan.steps);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_graph_over_chosen_queues),
      cmocka_unit_test(every_graph_over_wanted_queues),
      cmocka_unit_test(one_queue_has_the_fewest_barriers),
      cmocka_unit_test(chains_of_unequal_tasks_go_to_queues_of_their_own),
      cmocka_unit_test(bad_plans_are_refused),
      cmocka_unit_test(bad_proofs_are_refused),
      cmocka_unit_test(bad_requests_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
