// SPDX-License-Identifier: Apache-2.0
//
// Which tasks wait here, and at what.
#include "device/cuda/resident/resident.h"

void weir__resident_append(weir__cuda_device *device, weir__resident_list *list, uint32_t slot) {
  weir__resident_slot *slots = device->resident->slots;
  slots[slot - 1].next = 0;
  if (list->first == 0)
    list->first = slot;
  else
    slots[list->last - 1].next = slot;
  list->last = slot;
}

// Those who wait at a task look again: it has gone, or is done.
void weir__resident_wake_waiters(weir__cuda_device *device, weir__resident_slot *slot) {
  uint32_t waiter = slot->waiters;
  slot->waiters = 0;
  while (waiter != 0) {
    uint32_t next = device->resident->slots[waiter - 1].next;
    weir__resident_append(device, &device->resident->again, waiter);
    waiter = next;
  }
}

void weir__resident_ended(weir__cuda_device *device, weir__id id) {
  weir__resident_slot *slot = weir__resident_slot_of(device, id);
  if (slot->id != id || slot->state == WEIR__RESIDENT_NONE) return;
  slot->state = WEIR__RESIDENT_NONE;
  weir__resident_wake_waiters(device, slot);
}

bool weir__resident_has_any(const weir__cuda_device *device, const weir__id *tasks, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    const weir__resident_slot *slot = weir__resident_slot_of(device, tasks[i]);
    if (slot->id == tasks[i] && (slot->state == WEIR__RESIDENT_HELD || slot->state == WEIR__RESIDENT_PUBLISHED))
      return true;
  }
  return false;
}
