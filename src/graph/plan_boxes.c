// SPDX-License-Identifier: Apache-2.0
#include "graph/plan_boxes.h"

#include "base/allocate.h"

bool weir__plan_make_boxes(const weir_graph *graph, weir__graph_plan *plan) {
  uint64_t count = 0;
  for (uint32_t i = 0; i < graph->recorded_count; i++) {
    const weir_task *task = &graph->recorded[i].task;
    for (uint32_t j = 0; j < task->arg_count; j++)
      count += task->args[j].mode != WEIR_VALUE && task->args[j].shape == WEIR_BOX;
  }
  if (count == 0) return true;
  plan->boxes = weir__allocate(count * sizeof *plan->boxes);
  return plan->boxes != NULL;
}

const weir_box *weir__plan_take_box(weir__graph_plan *plan, const weir_arg *arg, uint32_t *count) {
  if (arg->shape != WEIR_BOX) return NULL;
  weir_box *box = &plan->boxes[*count];
  uint64_t bytes;
  weir__box_take(arg->value, box, &bytes);
  if (box->rows == 1) return NULL;
  ++*count;
  return box;
}

uint64_t weir__plan_count_uses(const weir_task *task, bool *out_by_rows) {
  uint64_t rows = 0, args = 0;
  for (uint32_t i = 0; i < task->arg_count; i++) {
    const weir_arg *arg = &task->args[i];
    if (arg->mode == WEIR_VALUE) continue;
    args++;
    rows++;
    if (arg->shape != WEIR_BOX) continue;
    weir_box box;
    uint64_t bytes;
    weir__box_take(arg->value, &box, &bytes);
    if (box.rows > 1) rows += weir__box_row_count(&box) - 1;
  }
  *out_by_rows = rows <= WEIR__PLAN_MOST_ROWS || rows == args;
  return *out_by_rows ? rows : args;
}

uint32_t weir__plan_make_uses(const weir__plan_use *whole, const weir__graph_arg *arg, weir__plan_use *uses) {
  uses[0] = *whole;
  if (arg->box != NULL && !arg->by_rows) {
    if (arg->mode == WEIR_WRITE) uses[0].mode = WEIR_READ_WRITE; // what it leaves as it was comes from outside
    return 1;
  }
  uint64_t rows = weir__box_row_count(arg->box);
  for (uint64_t i = 0; i < rows; i++) {
    uses[i] = *whole;
    uses[i].lo = weir__box_row(whole->lo, whole->hi, arg->box, i, &uses[i].hi);
  }
  return (uint32_t)rows;
}
