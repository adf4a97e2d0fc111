// SPDX-License-Identifier: Apache-2.0
//
// Small copies and fills go into the ring, as tasks between others: a copy by an engine begins when the host has learnt that what it comes
// after is done, and has called the driver, which is some 10 us later. Large ones stay with the engines, which need no workers; and so
// do those that only come after tasks of queues, since the host would have to learn of these.
#include "device/cuda/pinned.h"
#include "device/cuda/resident/resident.h"

enum { MOST_BYTES = 64 << 10 };

static bool is_reached(const weir__cuda_device *device, const void *memory, uint8_t space, uint64_t bytes) {
  return space == device->base.device.space || (space == WEIR__HOST_SPACE && weir__cuda_pinned_covers(memory, bytes));
}

bool weir__resident_takes_move(const weir__cuda_device *device, const weir__move *move) {
  return device->resident != NULL && device->resident->module.module != NULL && move->bytes > 0 &&
         move->bytes <= MOST_BYTES && is_reached(device, move->destination, move->destination_space, move->bytes) &&
         (move->fill || is_reached(device, move->source, move->source_space, move->bytes));
}

void weir__resident_write_move(weir__r_task *entry, const weir__move *move) {
  entry->function = WEIR__R_MOVE;
  entry->units = entry->groups[0] = (uint32_t)((move->bytes + WEIR__R_MOVE_BYTES - 1) / WEIR__R_MOVE_BYTES);
  entry->args[WEIR__R_MOVE_TO] = (uintptr_t)move->destination;
  entry->args[WEIR__R_MOVE_FROM] = move->fill ? move->pattern : (uintptr_t)move->source;
  entry->args[WEIR__R_MOVE_COUNT] = move->bytes;
  entry->args[WEIR__R_MOVE_IS_FILL] = move->fill;
}
