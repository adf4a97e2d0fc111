// SPDX-License-Identifier: Apache-2.0
//
// Ops in flight: their memory, and which op a task is part of.
#include <string.h>

#include "base/allocate.h"
#include "device/cuda/cuda_device.h"

enum { OPS_AT_ONCE = 128 };

static bool add_ops(weir__cuda_device *device) {
  // The first of each slab links the slabs.
  weir__cuda_op *slab = weir__allocate_zeroed(OPS_AT_ONCE * sizeof *slab);
  if (slab == NULL) return false;
  slab->next = device->op_slabs;
  device->op_slabs = slab;
  for (int i = 1; i < OPS_AT_ONCE; i++) weir__cuda_free_op(device, &slab[i]);
  return true;
}

void weir__cuda_make_ops(weir__cuda_device *device, uint32_t count) {
  for (uint32_t made = 0; made < count && add_ops(device); made += OPS_AT_ONCE) {
  }
}

weir__cuda_op *weir__cuda_new_op(weir__cuda_device *device) {
  if (device->free_ops == NULL && !add_ops(device)) return NULL;
  weir__cuda_op *op = device->free_ops;
  device->free_ops = op->next;
  op->next = NULL;
  op->place = NULL;
  op->event = op->start = op->end = NULL;
  op->task = NULL;
  op->batch = NULL;
  op->finished = op->here = false;
  op->done_ns = 0;
  op->wait_count = 0;
  op->status = WEIR_OK;
  op->message[0] = '\0';
  return op;
}

void weir__cuda_free_op(weir__cuda_device *device, weir__cuda_op *op) {
  op->next = device->free_ops;
  device->free_ops = op;
}

weir__cuda_op *weir__cuda_find(const weir__cuda_device *device, weir__id id) {
  const weir__host *host = device->base.host;
  weir__cuda_op *op = device->slot_ops[id & device->slot_mask];
  return op != NULL && weir__window_task(&host->window, id)->id == id ? op : NULL;
}

bool weir__cuda_reserve_places(weir__cuda_device *device, uint32_t count) {
  if (count <= device->place_capacity) return true;
  weir__queue_task **larger = weir__allocate(2 * (size_t)count * sizeof(weir__queue_task *));
  if (larger == NULL) return false;
  if (device->place_capacity > 0) memcpy(larger, device->places, device->place_capacity * sizeof(weir__queue_task *));
  weir__free(device->places);
  device->places = larger;
  device->place_capacity = 2 * count;
  return true;
}

void weir__cuda_settle(const weir__cuda_queue *queue) {
  while (!weir__cuda_is_issued(queue, queue->placed)) weir__pause();
}
