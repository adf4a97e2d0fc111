// SPDX-License-Identifier: Apache-2.0
//
// What may go and where: order among tasks of the resident kernel and of queues.
#include "base/clock.h"
#include "device/cuda/resident/resident.h"

static bool args_fit(const weir__task *task) {
  uint64_t words = 0;
  for (uint32_t i = 0; i < task->arg_count && words <= WEIR__R_ARGS; i++)
    words += weir__task_is_value(task, i) ? weir__resident_words(weir__task_value_bytes(task, i)) : 1;
  return words <= WEIR__R_ARGS;
}

static bool groups_fit(const uint32_t groups[3], uint64_t *sum) {
  uint64_t plane = (uint64_t)groups[0] * groups[1];
  bool fit = plane <= WEIR__RESIDENT_MOST_UNITS && plane * groups[2] <= WEIR__RESIDENT_MOST_UNITS;
  if (fit) *sum += plane * groups[2];
  return fit;
}

bool weir__resident_fits(const weir__cuda_device *device, const weir__task *task, uint64_t *groups) {
  if (task->move != NULL) return weir__resident_takes_move(device, task->move);
  if (task->kernel == NULL || task->run != NULL) return false;
  const weir__cuda_kernel *kernel = task->code;
  if (kernel->head.enqueue != NULL) return false;
  if (kernel->empty) return device->resident == NULL || device->resident->module.module != NULL;
  bool good = true, takes_args = false;
  for (uint32_t i = 0; i < kernel->count && good; i++) {
    const weir__cuda_launch *launch = &kernel->launches[i];
    good = launch->resident[device->base.device.index] != 0 && groups_fit(weir__resident_groups(task, launch), groups);
    takes_args = takes_args || launch->value == NULL;
  }
  return good && (!takes_args || args_fit(task));
}

// With `automatic`, tasks that were put into queues without being deferred have no slot before somebody waits for them.
static weir__resident_slot *find_in_queue(weir__cuda_device *device, weir__id id) {
  if (device->automatic == NULL || device->base.operation_count == 0 || weir__in_order_find(&device->base, id) == NULL)
    return NULL;
  weir__resident_slot *slot = weir__resident_slot_of(device, id);
  *slot = (weir__resident_slot){.id = id, .state = WEIR__RESIDENT_QUEUED};
  return slot;
}

// Whether a copy or fill is done sooner in the ring: it comes after something there, or after nothing if it `begins`.
static bool is_near_ring(weir__cuda_device *device, const weir__task *task, bool begins) {
  bool queued = false;
  for (uint32_t i = 0; i < task->predecessor_count; i++) {
    const weir__resident_slot *before = weir__resident_slot_of(device, task->predecessors[i]);
    if (before->id != task->predecessors[i] || before->state == WEIR__RESIDENT_NONE) continue;
    if (before->state != WEIR__RESIDENT_QUEUED) return true;
    queued = true;
  }
  return !queued && begins;
}

// A predecessor that the task must wait for here; NULL: none. Of two in the same place the card, or the queues, keep the order.
static weir__resident_slot *find_obstacle(weir__cuda_device *device, const weir__task *task, bool resident) {
  for (uint32_t i = 0; i < task->predecessor_count; i++) {
    weir__resident_slot *before = weir__resident_slot_of(device, task->predecessors[i]);
    if (before->id != task->predecessors[i]) {
      before = resident ? find_in_queue(device, task->predecessors[i]) : NULL;
      if (before != NULL) return before;
      continue;
    }
    if (before->state == WEIR__RESIDENT_NONE) continue;
    if (before->state != (resident ? WEIR__RESIDENT_PUBLISHED : WEIR__RESIDENT_QUEUED)) return before;
  }
  return NULL;
}

static void leave(weir__cuda_device *device, weir__resident_slot *slot) {
  device->resident->deferred--;
  if (device->resident->timed) slot->since_ns = weir__clock_ns() - device->base.device.host->start_ns;
  weir__resident_wake_waiters(device, slot);
}

static void put_in_queue(weir__cuda_device *device, weir__task *task, weir__resident_slot *slot) {
  weir__id id = task->id;
  slot->state = WEIR__RESIDENT_QUEUED;
  leave(device, slot);
  if (weir__resident_is_in_the_way(task)) weir__resident_make_room(device->resident);
  weir__cuda_issue(device, task);
  // There may have been no memory for it.
  if (device->base.operations.slots[id & device->base.operations.mask] == NULL) weir__resident_ended(device, id);
}

// Whether code of a task that fits was refused. Links what is new.
static bool is_refused(weir__cuda_device *device, const weir__task *task) {
  const weir__cuda_kernel *kernel = task->code;
  if (task->move != NULL) return false;
  for (uint32_t i = 0; i < kernel->count; i++) {
    if (weir__resident_function(device, kernel->launches[i].resident[device->base.device.index] - 1) == 0) return true;
  }
  return false;
}

bool weir__resident_examine(weir__cuda_device *device, weir__task *task) {
  weir__resident *resident = device->resident;
  weir__resident_slot *slot = weir__resident_slot_of(device, task->id);
  uint64_t groups = 0;
  bool may = !slot->queue_only && weir__resident_fits(device, task, &groups) &&
             (task->move == NULL || is_near_ring(device, task, slot->begins));
  for (;;) {
    may = may && device->base.lost == WEIR_OK && !resident->given_up;
    weir__resident_slot *obstacle = find_obstacle(device, task, may);
    if (obstacle != NULL) {
      slot->next = obstacle->waiters;
      obstacle->waiters = (uint32_t)(slot - resident->slots) + 1;
      return true;
    }
    if (!may) {
      put_in_queue(device, task, slot);
      return true;
    }
    // All that could still poison it is done. To link its code may take long, and the device may be lost meanwhile.
    may = weir__host_skip_status(device->base.device.host, task) == WEIR_OK && !is_refused(device, task);
    if (!may || device->base.lost != WEIR_OK || resident->given_up) continue;
    if (!weir__resident_write(device, task)) return false;
    leave(device, slot);
    return true;
  }
}
