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

bool weir__plan_access(weir_buffer *shadow, weir__range_pool *ranges, const weir__liveness *liveness, weir__id task,
                       weir_mode mode, uint64_t lo, uint64_t hi, const weir_box *box, weir__dependences *dependences) {
  if (!weir__range_pool_reserve(ranges, 1)) return false;
  weir__box_pool_begin(&ranges->boxes, liveness);
  if (box != NULL && !weir__buffer_use_boxes(shadow, ranges, liveness, box)) return false;
  if (!weir__buffer_prepare(shadow, liveness, mode, lo, hi, box)) return false;
  if (box != NULL)
    weir__buffer_access_box(shadow, liveness, task, mode, lo, hi, box, dependences);
  else
    weir__buffer_access(shadow, ranges, liveness, task, mode, lo, hi, dependences);
  return true;
}
