// SPDX-License-Identifier: Apache-2.0
//
// Tasks that run no kernel: copies, fills, and order with the caller's work.
#include "base/allocate.h"
#include "device/vulkan/vulkan.h"

enum { SMALL_COPY_BYTES = 256 << 10 };

// Large copies between the device and the host have lanes of their own, where there are queues for them.
static uint32_t copy_lane(const weir__vulkan_device *device, bool from_host, uint64_t bytes, uint32_t count) {
  uint32_t copy_lanes = device->lane_count - 1 - device->kernel_lanes;
  bool small = bytes < (device->random & 1 ? 1 : SMALL_COPY_BYTES); // at random in tests
  if (copy_lanes == 0 || small) return weir__vulkan_choose_lane(device, count);
  return device->kernel_lanes + (from_host || copy_lanes == 1 ? 0 : 1);
}

// A copy that the device makes. The lane is chosen; the op is placed. False: no memory.
static bool put_copy(weir__vulkan_device *device, weir__vulkan_op *op, uint32_t count, uint32_t lane_index,
                     void *destination, const void *source, uint64_t bytes) {
  if (!weir__vulkan_place(device, op, count, lane_index)) return false;
  weir__vulkan_lane *lane = &device->lanes[lane_index];
  lane->stages |= VK_PIPELINE_STAGE_TRANSFER_BIT;
  weir__vulkan_lay_out(device, lane, destination);
  weir__vulkan_lay_out(device, lane, source);
  weir__vulkan_mark(device, op, lane, false);
  weir__vulkan_record_copy(device, lane->open->commands, destination, source, bytes);
  weir__vulkan_mark(device, op, lane, true);
  lane->open->for_host = lane->open->for_host || weir__vulkan_chunk_find(&device->memory, destination)->mapped != NULL;
  weir__vulkan_append(device, op);
  return true;
}

// A copy that the host makes.
static bool put_host_copy(weir__vulkan_device *device, weir__vulkan_op *op, uint32_t count, void *destination,
                          const void *source, uint64_t bytes) {
  if (!weir__vulkan_place(device, op, count, device->lane_count - 1)) return false;
  weir__vulkan_batch *batch = weir__vulkan_host_lane(device)->open;
  batch->to = destination;
  batch->from = source;
  batch->bytes = bytes;
  weir__vulkan_append(device, op);
  return true;
}

static weir__vulkan_chunk *take_staging(weir__vulkan_device *device, uint64_t bytes) {
  weir__vulkan_chunk *chunk = device->idle_staging;
  if (chunk == NULL || chunk->bytes < bytes) return weir__vulkan_chunk_create(&device->memory, bytes, true);
  device->idle_staging = NULL;
  return chunk;
}

// Between memory of the caller's that the device does not reach, and device memory that the host does not reach: by way of
// staging memory, in two halves, the first of which is an op without a task.
static bool put_staged_copy(weir__vulkan_device *device, weir__vulkan_op *op, uint32_t count, bool from_host) {
  const weir__move *move = op->head.task->move;
  weir__operation *first_half = weir__operations_take(&device->base.operations);
  if (first_half == NULL) return false;
  weir__vulkan_op *half = weir__vulkan_op_of(first_half);
  weir__vulkan_op_clear(device, half);
  half->rest = op;
  op->staging = take_staging(device, move->bytes);
  bool good = op->staging != NULL;
  void *staging = good ? op->staging->mapped : NULL;
  if (good && from_host)
    good = put_host_copy(device, half, count, staging, move->source, move->bytes);
  else if (good)
    good =
        put_copy(device, half, count, copy_lane(device, false, move->bytes, count), staging, move->source, move->bytes);
  if (!good) {
    if (half->head.place != NULL) weir__queues_done(device->base.queues, half->head.place);
    weir__operations_give(&device->base.operations, first_half);
    return false;
  }
  device->base.operations.places[0] = half->head.place;
  return from_host
             ? put_copy(device, op, 1, copy_lane(device, true, move->bytes, 1), move->destination, staging, move->bytes)
             : put_host_copy(device, op, 1, move->destination, staging, move->bytes);
}

static bool put_fill(weir__vulkan_device *device, weir__vulkan_op *op, uint32_t count) {
  const weir__move *move = op->head.task->move;
  uint32_t lane_index = weir__vulkan_choose_lane(device, count);
  if (!weir__vulkan_place(device, op, count, lane_index)) return false;
  weir__vulkan_lane *lane = &device->lanes[lane_index];
  lane->stages |= VK_PIPELINE_STAGE_TRANSFER_BIT;
  weir__vulkan_lay_out(device, lane, move->destination);
  weir__vulkan_mark(device, op, lane, false);
  weir__vulkan_record_fill(device, lane->open->commands, move->destination, move->bytes, move->pattern);
  weir__vulkan_mark(device, op, lane, true);
  lane->open->for_host =
      lane->open->for_host || weir__vulkan_chunk_find(&device->memory, move->destination)->mapped != NULL;
  weir__vulkan_append(device, op);
  return true;
}

// No bytes, but an order with the caller's work: the lane's batch waits for a semaphore, or signals one.
static bool put_fence(weir__vulkan_device *device, weir__vulkan_op *op, uint32_t count) {
  weir__vulkan_fence *fence = (weir__vulkan_fence *)weir__task_fence(op->head.task);
  uint32_t lane_index = weir__vulkan_choose_lane(device, count);
  weir__vulkan_lane *lane = &device->lanes[lane_index];
  bool marker = fence->semaphore == VK_NULL_HANDLE;
  if (!fence->head.signals) weir__vulkan_submit(device, lane); // a wait comes before all that is in its batch
  if (!weir__vulkan_place(device, op, count, lane_index)) return false;
  if (!marker) *(fence->head.signals ? &lane->open->signal : &lane->open->await) = fence;
  weir__vulkan_append(device, op);
  if (fence->head.signals && !marker) weir__vulkan_submit(device, lane); // and a signal behind all
  return true;
}

static bool is_of_device(const weir__vulkan_chunk *chunk) {
  return chunk != NULL && (chunk->buffer != VK_NULL_HANDLE || chunk->image != NULL);
}

// Whether the device itself can copy. What does not suit an image is memory of the host's that begins at no texel, which is
// copied as memory that the device does not reach.
static bool suits(const weir__move *move, const weir__vulkan_chunk *to, const weir__vulkan_chunk *from) {
  return (to->image == NULL && from->image == NULL) ||
         weir__vulkan_image_suits(to, (uintptr_t)move->destination - to->address, from,
                                  (uintptr_t)move->source - from->address);
}

bool weir__vulkan_put_move(weir__vulkan_device *device, weir__vulkan_op *op, uint32_t count) {
  const weir__move *move = op->head.task->move;
  if (weir__task_fence(op->head.task) != NULL) return put_fence(device, op, count);
  if (move->fill) return put_fill(device, op, count);
  const weir__vulkan_chunk *to = weir__vulkan_chunk_find(&device->memory, move->destination);
  const weir__vulkan_chunk *from = weir__vulkan_chunk_find(&device->memory, move->source);
  bool to_device = is_of_device(to), from_device = is_of_device(from);
  if (to_device && from_device && suits(move, to, from)) {
    uint32_t lane = to->on_host || from->on_host ? copy_lane(device, from->on_host, move->bytes, count)
                                                 : weir__vulkan_choose_lane(device, count);
    return put_copy(device, op, count, lane, move->destination, move->source, move->bytes);
  }
  if (to_device && from_device)
    *(to->image != NULL ? &from_device : &to_device) = false; // the other side is the host's
  bool direct = to_device ? to->mapped != NULL : from->mapped != NULL && (from->on_host || device->memory.reads_mapped);
  if (direct) return put_host_copy(device, op, count, move->destination, move->source, move->bytes);
  return put_staged_copy(device, op, count, to_device);
}
