// SPDX-License-Identifier: Apache-2.0
#include "plan/barriers_plan.h"

#include "base/allocate.h"
#include "base/error.h"

weir_status weir__barrier_plan_create(uint32_t task_count, const uint32_t *order, const uint32_t *epochs,
                                      weir__barrier_plan *out_plan) {
  weir__barrier_plan plan = {.task_count = task_count, .queue_count = 1};
  *out_plan = (weir__barrier_plan){0};
  plan.steps = weir__allocate((2 * (size_t)task_count + 1) * sizeof *plan.steps);
  if (!plan.steps) return weir__error(WEIR_ERROR_OUT_OF_MEMORY, "no memory for the barriers of %u tasks", task_count);
  for (uint32_t i = 0; i < task_count; i++) {
    uint32_t task = order ? order[i] : i, before = i > 0 ? (order ? order[i - 1] : i - 1) : task;
    if (epochs[task] > epochs[before]) {
      plan.steps[plan.step_count++] = (weir__barrier_step){.kind = WEIR__BARRIER_BARRIER};
      plan.barriers++;
    }
    plan.steps[plan.step_count++] = (weir__barrier_step){.kind = WEIR__BARRIER_DISPATCH, .task = task};
  }
  *out_plan = plan;
  return WEIR_OK;
}

void weir__barrier_plan_free(weir__barrier_plan *plan) {
  weir__free(plan->steps);
  *plan = (weir__barrier_plan){0};
}
