// SPDX-License-Identifier: Apache-2.0
//
// Tasks that are held back until the device has little to do, and then issued level by level. A dispatch's level is one more
// than the largest of those that it comes after and that are held back as well: dispatches of its predecessors, and the one
// before it in its own task. With one barrier between levels that is the fewest barriers that any order has (plan/barriers.h).
#include "base/allocate.h"
#include "device/vulkan/vulkan.h"

enum {
  STEPS = WEIR__VULKAN_HELD_AT_MOST * WEIR__VULKAN_MOST_STEPS,
  LEVELS = STEPS + 2, // the first may come behind a barrier
};

// Per slot of the window.
typedef struct held_task {
  weir__id id; // 0: nothing is held here
  uint32_t level, steps;
  weir__vulkan_op *op; // once the first step was issued; NULL: it was reported as failed
} held_task;

typedef struct held_step {
  weir__task *task;
  uint32_t level, index;
} held_step;

struct weir__vulkan_held {
  held_task *slots;
  weir__task *tasks[WEIR__VULKAN_HELD_AT_MOST]; // as they came
  uint32_t count, step_count, levels;
  held_step sorted[STEPS];
  uint32_t firsts[2 * LEVELS + 1];
};

weir__vulkan_held *weir__vulkan_held_create(uint32_t window) {
  weir__vulkan_held *held = weir__allocate_zeroed(sizeof *held);
  if (held == NULL) return NULL;
  held->slots = weir__allocate_sparse(window * sizeof *held->slots);
  if (held->slots != NULL) return held;
  weir__free(held);
  return NULL;
}

void weir__vulkan_held_destroy(weir__vulkan_held *held, uint32_t window) {
  if (held == NULL) return;
  weir__free_sparse(held->slots, window * sizeof *held->slots);
  weir__free(held);
}

uint32_t weir__vulkan_held_count(const weir__vulkan_device *device) {
  return device->held->count;
}

void weir__vulkan_hold(weir__vulkan_device *device, weir__task *task) {
  weir__vulkan_held *held = device->held;
  uint32_t mask = device->base.device.host->window.live.mask, level = 0;
  for (uint32_t i = 0; i < task->predecessor_count; i++) {
    weir__id id = task->predecessors[i];
    const held_task *before = &held->slots[id & mask];
    if (before->id == id) {
      if (before->level + before->steps > level) level = before->level + before->steps;
      continue;
    }
    // One that was issued already, and that no barrier separates from what comes next.
    const weir__vulkan_op *op = level == 0 ? weir__vulkan_find(device, id) : NULL;
    if (op != NULL && op->epoch == device->lanes[op->head.place->queue].epoch) level = 1;
  }
  held_task *entry = &held->slots[task->id & mask];
  *entry = (held_task){.id = task->id, .level = level, .steps = weir__vulkan_steps(task)};
  held->tasks[held->count++] = task;
  held->step_count += entry->steps;
  if (level + entry->steps > held->levels) held->levels = level + entry->steps;
}

// Sorts steps by level; within a level the order stays as it is, but copies come last, since they go to other lanes.
static void sort(weir__vulkan_device *device) {
  weir__vulkan_held *held = device->held;
  uint32_t mask = device->base.device.host->window.live.mask;
  for (uint32_t i = 0; i <= 2 * held->levels; i++) held->firsts[i] = 0;
  for (uint32_t i = 0; i < held->count; i++) {
    const held_task *entry = &held->slots[held->tasks[i]->id & mask];
    uint32_t last = held->tasks[i]->move != NULL || held->tasks[i]->fence != NULL;
    for (uint32_t step = 0; step < entry->steps; step++) held->firsts[2 * (entry->level + step) + last + 1]++;
  }
  for (uint32_t i = 0; i < 2 * held->levels; i++) held->firsts[i + 1] += held->firsts[i];
  for (uint32_t i = 0; i < held->count; i++) {
    weir__task *task = held->tasks[i];
    const held_task *entry = &held->slots[task->id & mask];
    uint32_t last = task->move != NULL || task->fence != NULL;
    for (uint32_t step = 0; step < entry->steps; step++)
      held->sorted[held->firsts[2 * (entry->level + step) + last]++] = (held_step){.task = task, .index = step};
  }
}

void weir__vulkan_issue_held(weir__vulkan_device *device) {
  weir__vulkan_held *held = device->held;
  uint32_t mask = device->base.device.host->window.live.mask, count = held->step_count;
  sort(device);
  held->count = held->step_count = held->levels = 0;
  for (uint32_t i = 0; i < count; i++) {
    weir__task *task = held->sorted[i].task;
    held_task *entry = &held->slots[task->id & mask];
    uint32_t index = held->sorted[i].index, steps = entry->steps;
    if (index == 0) entry->op = weir__vulkan_issue(device, task);
    if (entry->op != NULL && steps > 1)
      entry->op = weir__vulkan_issue_step(device, entry->op, index, index + 1 == steps);
    if (index + 1 == steps) entry->id = 0;
  }
  weir__vulkan_submit_all(device);
}
