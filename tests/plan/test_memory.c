// SPDX-License-Identifier: Apache-2.0
//
// Every allocation of planning fails once: the call says so, leaves its output empty and leaks nothing (which the
// address sanitizer and valgrind watch).
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/allocate.h"
#include "plan/hazards.h"
#include "plan/reduction.h"

enum { TASKS = 600 };

static weir__plan_access accesses[TASKS][2];
static weir__plan_task tasks[TASKS];
static const weir__plan_buffer buffers[2] = {{4096, 0}, {4096, 4096}};
static const weir__plan_program program = {buffers, 2, tasks, TASKS};

// Enough readers and hazards that their arrays grow several times.
static void fill_program(void) {
  for (uint32_t t = 0; t < TASKS; t++) {
    accesses[t][0] = (weir__plan_access){t % 100 ? WEIR_READ : WEIR_WRITE, 0, 0, 4096};
    accesses[t][1] = (weir__plan_access){WEIR_READ_WRITE, 1, t, 2};
    tasks[t] = (weir__plan_task){accesses[t], 2, false};
  }
}

static weir_status plan_all(weir__plan_hazards *hazards, weir__plan_graph *graph, weir__plan_graph *reduced) {
  *graph = *reduced = (weir__plan_graph){0};
  weir_status status = weir__plan_find_hazards(&program, WEIR__PLAN_ADDRESS, hazards);
  if (status != WEIR_OK) {
    assert_true(hazards->items == NULL && hazards->count == 0);
    return status;
  }
  status = weir__plan_hazard_graph(TASKS, hazards, false, graph);
  if (status != WEIR_OK) {
    assert_true(graph->first == NULL && graph->predecessors == NULL);
    return status;
  }
  status = weir__plan_reduce(graph, reduced);
  if (status != WEIR_OK) assert_true(reduced->first == NULL && reduced->predecessors == NULL);
  return status;
}

static void every_allocation_fails_once(void **state) {
  (void)state;
  fill_program();
  uint64_t n = 0;
  weir_status status;
  do {
    weir__plan_hazards hazards;
    weir__plan_graph graph, reduced;
    weir__allocate_fail_at(++n);
    status = plan_all(&hazards, &graph, &reduced);
    weir__allocate_fail_at(0);
    if (status != WEIR_OK) {
      assert_int_equal(status, WEIR_ERROR_OUT_OF_MEMORY);
      assert_true(weir_last_error()[0] != '\0');
    }
    weir__plan_hazards_free(&hazards);
    weir__plan_graph_free(&graph);
    weir__plan_graph_free(&reduced);
  } while (status != WEIR_OK);
  assert_true(n > 15); // four for the pieces, three at least as readers and hazards grow, one, four and four for graphs
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_allocation_fails_once)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
