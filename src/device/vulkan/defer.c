// SPDX-License-Identifier: Apache-2.0
//
// Tasks that are deferred until the device has little to do, and then issued level by level. A dispatch's level is one more
// than the largest of those that it comes after and that are deferred as well: dispatches of its predecessors, and the one
// before it in its own task. With one barrier between levels that is the fewest barriers that any order has (plan/barriers.h).
#include "base/allocate.h"
#include "device/vulkan/vulkan.h"

enum {
  STEPS = WEIR__VULKAN_DEFERRED_AT_MOST * WEIR__VULKAN_MOST_STEPS,
  LEVELS = STEPS + 2, // the first may come behind a barrier
};

// Per slot of the window.
typedef struct deferred_task {
  weir__id id; // 0: nothing is deferred here
  uint32_t level, steps;
  weir__vulkan_op *op; // once the first step was issued; NULL: it was reported as failed
} deferred_task;

typedef struct deferred_step {
  weir__task *task;
  uint32_t level, index;
} deferred_step;

struct weir__vulkan_deferred {
  deferred_task *slots;
  weir__task *tasks[WEIR__VULKAN_DEFERRED_AT_MOST]; // as they came
  uint32_t count, step_count, levels;
  deferred_step sorted[STEPS];
  uint32_t firsts[2 * LEVELS + 1];
};

weir__vulkan_deferred *weir__vulkan_deferred_create(uint32_t window) {
  weir__vulkan_deferred *deferred = weir__allocate_zeroed(sizeof *deferred);
  if (deferred == NULL) return NULL;
  deferred->slots = weir__allocate_sparse(window * sizeof *deferred->slots);
  if (deferred->slots != NULL) return deferred;
  weir__free(deferred);
  return NULL;
}

void weir__vulkan_deferred_destroy(weir__vulkan_deferred *deferred, uint32_t window) {
  if (deferred == NULL) return;
  weir__free_sparse(deferred->slots, window * sizeof *deferred->slots);
  weir__free(deferred);
}

uint32_t weir__vulkan_deferred_count(const weir__vulkan_device *device) {
  return device->deferred->count;
}

void weir__vulkan_defer(weir__vulkan_device *device, weir__task *task) {
  weir__vulkan_deferred *deferred = device->deferred;
  uint32_t mask = device->base.device.host->window.live.mask, level = 0;
  for (uint32_t i = 0; i < task->predecessor_count; i++) {
    weir__id id = task->predecessors[i];
    const deferred_task *before = &deferred->slots[id & mask];
    if (before->id == id) {
      if (before->level + before->steps > level) level = before->level + before->steps;
      continue;
    }
    // One that was issued already, and that no barrier separates from what comes next.
    const weir__vulkan_op *op = level == 0 ? weir__vulkan_find(device, id) : NULL;
    if (op != NULL && op->epoch == device->lanes[op->head.place->queue].epoch) level = 1;
  }
  deferred_task *entry = &deferred->slots[task->id & mask];
  *entry = (deferred_task){.id = task->id, .level = level, .steps = weir__vulkan_steps(task)};
  deferred->tasks[deferred->count++] = task;
  deferred->step_count += entry->steps;
  if (level + entry->steps > deferred->levels) deferred->levels = level + entry->steps;
}

// Sorts steps by level; within a level the order stays as it is, but copies come last, since they go to other lanes.
static void sort(weir__vulkan_device *device) {
  weir__vulkan_deferred *deferred = device->deferred;
  uint32_t mask = device->base.device.host->window.live.mask;
  for (uint32_t i = 0; i <= 2 * deferred->levels; i++) deferred->firsts[i] = 0;
  for (uint32_t i = 0; i < deferred->count; i++) {
    const deferred_task *entry = &deferred->slots[deferred->tasks[i]->id & mask];
    uint32_t last = deferred->tasks[i]->move != NULL || weir__task_fence(deferred->tasks[i]) != NULL;
    for (uint32_t step = 0; step < entry->steps; step++) deferred->firsts[2 * (entry->level + step) + last + 1]++;
  }
  for (uint32_t i = 0; i < 2 * deferred->levels; i++) deferred->firsts[i + 1] += deferred->firsts[i];
  for (uint32_t i = 0; i < deferred->count; i++) {
    weir__task *task = deferred->tasks[i];
    const deferred_task *entry = &deferred->slots[task->id & mask];
    uint32_t last = task->move != NULL || weir__task_fence(task) != NULL;
    for (uint32_t step = 0; step < entry->steps; step++)
      deferred->sorted[deferred->firsts[2 * (entry->level + step) + last]++] =
          (deferred_step){.task = task, .index = step};
  }
}

void weir__vulkan_issue_deferred(weir__vulkan_device *device) {
  weir__vulkan_deferred *deferred = device->deferred;
  uint32_t mask = device->base.device.host->window.live.mask, count = deferred->step_count;
  sort(device);
  deferred->count = deferred->step_count = deferred->levels = 0;
  for (uint32_t i = 0; i < count; i++) {
    weir__task *task = deferred->sorted[i].task;
    deferred_task *entry = &deferred->slots[task->id & mask];
    uint32_t index = deferred->sorted[i].index, steps = entry->steps;
    if (index == 0) entry->op = weir__vulkan_issue(device, task);
    if (entry->op != NULL && steps > 1)
      entry->op = weir__vulkan_issue_step(device, entry->op, index, index + 1 == steps);
    if (index + 1 == steps) entry->id = 0;
  }
  weir__vulkan_submit_all(device);
}
