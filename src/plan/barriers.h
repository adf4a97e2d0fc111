// SPDX-License-Identifier: Apache-2.0
//
// Global barriers in one queue, where tasks go level by level.
//
// Commands of a Vulkan or D3D12 queue start in order and may overlap, unless a barrier stands between them. A global
// barrier separates everything before it from everything after it: it cuts the queue into epochs. So a plan is an order
// and an epoch for each task, and it is correct when every predecessor has a lower epoch than its task.
#ifndef WEIR_PLAN_BARRIERS_H
#define WEIR_PLAN_BARRIERS_H

#include <stdint.h>

#include "weir/weir.h"

// The order of tasks by level, within a level as in the program. `levels` are those of weir__plan_levels or others in
// which every predecessor has a lower one; each is below `level_count`. `out_order` has room for task_count. With a
// barrier between levels that is level_count - 1 barriers; with the levels of weir__plan_levels no order needs fewer.
// Errors: OUT_OF_MEMORY. O(tasks).
weir_status weir__barriers_level_order(uint32_t task_count, const uint32_t *levels, uint32_t level_count,
                                       uint32_t *out_order);

#endif // WEIR_PLAN_BARRIERS_H
