// SPDX-License-Identifier: Apache-2.0
//
// Batches: command buffers that many tasks are recorded into, submitted as a whole.
#include <string.h>

#include "base/allocate.h"
#include "device/vulkan/validation.h"
#include "device/vulkan/vulkan.h"

enum {
  TOLD = 1, // the value of a semaphore that is used once
};

// The validation layer (1.3.239) takes a timeline semaphore for a binary one, that one wait consumes, and does not know what
// the host has seen of its value. It does know what the host waits for with a fence. So there submissions have fences too, and
// a semaphore for each lane that may wait for them, used once.
struct weir__vulkan_told {
  VkSemaphore signals[WEIR__VULKAN_MOST_LANES]; // per lane that may wait
  VkSemaphore waits[WEIR__VULKAN_MOST_LANES];   // that it waited for
  VkSemaphore old[2 * WEIR__VULKAN_MOST_LANES]; // of its submission before
};

// Those of a submission that is done are destroyed when the next one is, too: only then lavapipe (Mesa 22.3) has let go of them.
static void destroy_old_semaphores(weir__vulkan_device *device, struct weir__vulkan_told *told) {
  for (uint32_t i = 0; i < 2 * WEIR__VULKAN_MOST_LANES; i++) {
    VkSemaphore *from = i < WEIR__VULKAN_MOST_LANES ? &told->signals[i] : &told->waits[i - WEIR__VULKAN_MOST_LANES];
    if (told->old[i] != VK_NULL_HANDLE) device->calls.vkDestroySemaphore(device->device, told->old[i], NULL);
    told->old[i] = *from;
    *from = VK_NULL_HANDLE;
  }
}

static void destroy_batch(weir__vulkan_device *device, weir__vulkan_batch *batch) {
  if (batch->fence != VK_NULL_HANDLE) device->calls.vkDestroyFence(device->device, batch->fence, NULL);
  for (int i = 0; i < 2 && batch->told != NULL; i++) destroy_old_semaphores(device, batch->told);
  weir__free(batch->told);
  if (batch->pool != VK_NULL_HANDLE) device->calls.vkDestroyCommandPool(device->device, batch->pool, NULL);
  if (batch->queries != VK_NULL_HANDLE) device->calls.vkDestroyQueryPool(device->device, batch->queries, NULL);
  weir__free(batch);
}

void weir__vulkan_destroy_batches(weir__vulkan_device *device, weir__vulkan_lane *lane) {
  if (lane->open != NULL) weir__vulkan_give_batch(device, lane, lane->open);
  lane->open = NULL;
  while (lane->free != NULL) {
    weir__vulkan_batch *batch = lane->free;
    lane->free = batch->next;
    destroy_batch(device, batch);
  }
}

static bool make_commands(weir__vulkan_device *device, const weir__vulkan_lane *lane, weir__vulkan_batch *batch) {
  const VkCommandPoolCreateInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                        .flags = VK_COMMAND_POOL_CREATE_TRANSIENT_BIT,
                                        .queueFamilyIndex = lane->queue->family};
  VkResult result = device->calls.vkCreateCommandPool(device->device, &info, NULL, &batch->pool);
  if (weir__vulkan_made(result, &batch->pool) != VK_SUCCESS) return false;
  const VkCommandBufferAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                                .commandPool = batch->pool,
                                                .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                                .commandBufferCount = 1};
  if (device->calls.vkAllocateCommandBuffers(device->device, &allocate, &batch->commands) != VK_SUCCESS) return false;
  if (device->base.device.host->trace == NULL || !lane->queue->has_timestamps) return true;
  const VkQueryPoolCreateInfo queries = {.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
                                         .queryType = VK_QUERY_TYPE_TIMESTAMP,
                                         .queryCount = WEIR__VULKAN_QUERIES};
  result = device->calls.vkCreateQueryPool(device->device, &queries, NULL, &batch->queries);
  return weir__vulkan_made(result, &batch->queries) == VK_SUCCESS;
}

static bool make_fence(weir__vulkan_device *device, weir__vulkan_batch *batch) {
  const VkFenceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
  if (!weir__vulkan_validation_wanted()) return true;
  batch->told = weir__allocate_zeroed(sizeof *batch->told);
  if (batch->told == NULL) return false;
  VkResult result = device->calls.vkCreateFence(device->device, &info, NULL, &batch->fence);
  return weir__vulkan_made(result, &batch->fence) == VK_SUCCESS;
}

// Adds fresh semaphores for the lanes that may wait; their number.
static uint32_t add_told_signals(weir__vulkan_device *device, weir__vulkan_batch *batch, VkSemaphore *signals,
                                 uint64_t *values) {
  const VkSemaphoreTypeCreateInfo type = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
                                          .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE};
  const VkSemaphoreCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, .pNext = &type};
  uint32_t count = 0;
  for (uint32_t i = 0; i + 1 < device->lane_count; i++) {
    VkSemaphore *semaphore = &batch->told->signals[i];
    if (*semaphore == VK_NULL_HANDLE)
      weir__vulkan_made(device->calls.vkCreateSemaphore(device->device, &info, NULL, semaphore), semaphore);
    if (*semaphore == VK_NULL_HANDLE) continue;
    signals[count] = *semaphore;
    values[count++] = TOLD;
  }
  return count;
}

// The semaphore by which the layer learns that a lane waits for a batch in flight; it now belongs to who waits.
static VkSemaphore tell_wait(weir__vulkan_lane *other, uint64_t value, uint32_t lane_index, weir__vulkan_batch *batch) {
  for (weir__vulkan_batch *before = other->first; before != NULL && batch->told != NULL; before = before->next) {
    if (before->value != value || before->told == NULL) continue;
    VkSemaphore semaphore = before->told->signals[lane_index];
    for (uint32_t i = 0; semaphore != VK_NULL_HANDLE; i++) {
      if (batch->told->waits[i] != VK_NULL_HANDLE) continue;
      batch->told->waits[i] = semaphore;
      before->told->signals[lane_index] = VK_NULL_HANDLE;
      return semaphore;
    }
  }
  return VK_NULL_HANDLE;
}

// Of a batch that was seen to be done.
static void tell_layer(weir__vulkan_device *device, weir__vulkan_batch *batch) {
  if (!batch->fenced) return;
  device->calls.vkWaitForFences(device->device, 1, &batch->fence, VK_TRUE, UINT64_MAX);
  device->calls.vkResetFences(device->device, 1, &batch->fence);
  destroy_old_semaphores(device, batch->told);
  batch->fenced = false;
}

static weir__vulkan_batch *take_batch(weir__vulkan_device *device, weir__vulkan_lane *lane) {
  weir__vulkan_batch *batch = lane->free;
  if (batch != NULL) {
    lane->free = batch->next;
    return batch;
  }
  batch = weir__allocate_zeroed(sizeof *batch);
  if (batch == NULL) return NULL;
  if (lane->queue == NULL || (make_commands(device, lane, batch) && make_fence(device, batch))) return batch;
  destroy_batch(device, batch);
  return NULL;
}

// Starts the batch's command buffer.
static bool begin(weir__vulkan_device *device, const weir__vulkan_lane *lane, weir__vulkan_batch *batch) {
  const VkCommandBufferBeginInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                         .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT};
  if (device->calls.vkBeginCommandBuffer(batch->commands, &info) != VK_SUCCESS) return false;
  // Queues that only copy cannot do it.
  if (batch->queries != VK_NULL_HANDLE && !lane->queue->computes)
    device->calls.vkResetQueryPool(device->device, batch->queries, 0, WEIR__VULKAN_QUERIES);
  else if (batch->queries != VK_NULL_HANDLE)
    device->calls.vkCmdResetQueryPool(batch->commands, batch->queries, 0, WEIR__VULKAN_QUERIES);
  batch->query_count = 0;
  return true;
}

static VkPipelineStageFlags stages_of(const weir__vulkan_lane *lane) {
  return lane->queue->computes ? VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT
                               : VK_PIPELINE_STAGE_TRANSFER_BIT;
}

// What comes after a batch that was refused counts on its barriers, which never ran: between tasks before it and tasks behind
// it, and behind what the host wrote.
static void make_up_for_barriers(weir__vulkan_device *device, const weir__vulkan_lane *lane,
                                 const weir__vulkan_batch *batch) {
  const VkMemoryBarrier barrier = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                                   .srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT | VK_ACCESS_HOST_WRITE_BIT,
                                   .dstAccessMask = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT};
  device->calls.vkCmdPipelineBarrier(batch->commands, stages_of(lane) | VK_PIPELINE_STAGE_HOST_BIT, stages_of(lane), 0,
                                     1, &barrier, 0, NULL, 0, NULL);
}

weir__vulkan_batch *weir__vulkan_open(weir__vulkan_device *device, weir__vulkan_lane *lane) {
  // One without a task cannot be submitted: it may hold the first steps of some, which then get no timestamps.
  if (lane->open != NULL && (lane->open->queries == VK_NULL_HANDLE || lane->open->count == 0 ||
                             lane->open->query_count + 2 <= WEIR__VULKAN_QUERIES))
    return lane->open;
  weir__vulkan_submit(device, lane);
  weir__vulkan_batch *batch = take_batch(device, lane);
  if (batch == NULL) return NULL;
  if (lane->queue != NULL && !begin(device, lane, batch)) {
    destroy_batch(device, batch);
    return NULL;
  }
  if (lane->lost_barriers) make_up_for_barriers(device, lane, batch);
  lane->lost_barriers = false;
  lane->recorder = (weir__vulkan_recorder){.commands = batch->commands};
  lane->open = batch;
  batch->value = ++lane->value;
  batch->lane = (uint32_t)(lane - device->lanes);
  return batch;
}

void weir__vulkan_give_batch(weir__vulkan_device *device, weir__vulkan_lane *lane, weir__vulkan_batch *batch) {
  tell_layer(device, batch);
  if (batch->pool != VK_NULL_HANDLE && device->calls.vkResetCommandPool(device->device, batch->pool, 0) != VK_SUCCESS) {
    destroy_batch(device, batch); // its command buffer cannot be begun again
    return;
  }
  batch->first = batch->last = NULL;
  batch->count = 0;
  memset(batch->waits, 0, device->lane_count * sizeof batch->waits[0]);
  batch->waited = 0;
  batch->await = batch->signal = NULL;
  batch->host_writes = 0;
  batch->graph = VK_NULL_HANDLE;
  batch->graph_timed = false;
  batch->for_host = batch->submitted = false;
  batch->next = lane->free;
  lane->free = batch;
}

// What the host waited for before it copied is not thereby visible to who waits for the copy: that waits for it, too.
static void wait_for_the_same(const weir__vulkan_device *device, weir__vulkan_batch *batch,
                              const weir__vulkan_batch *copy) {
  batch->waited |= copy->waited;
  for (uint32_t i = 0; i < device->lane_count; i++)
    if (batch->waits[i] < copy->waits[i]) batch->waits[i] = copy->waits[i];
}

bool weir__vulkan_let_wait(weir__vulkan_device *device, weir__vulkan_lane *lane, weir__vulkan_batch *batch) {
  uint32_t other = batch->lane;
  weir__vulkan_submit(device, &device->lanes[other]);
  if (lane->open != NULL && lane->open->waits[other] >= batch->value) return true;
  if (lane->open != NULL && lane->open->count > 0) weir__vulkan_submit(device, lane);
  weir__vulkan_batch *open = weir__vulkan_open(device, lane);
  if (open == NULL) return false;
  open->waits[other] = batch->value;
  open->waited |= (uint64_t)1 << other;
  if (device->lanes[other].queue != NULL || lane->queue == NULL) return true;
  wait_for_the_same(device, open, batch);
  if (open->host_writes != 0) return true;
  open->host_writes = stages_of(lane);
  const VkMemoryBarrier barrier = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                                   .srcAccessMask = VK_ACCESS_HOST_WRITE_BIT,
                                   .dstAccessMask = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT};
  device->calls.vkCmdPipelineBarrier(open->commands, VK_PIPELINE_STAGE_HOST_BIT, stages_of(lane), 0, 1, &barrier, 0,
                                     NULL, 0, NULL);
  return true;
}

void weir__vulkan_barrier(weir__vulkan_device *device, weir__vulkan_lane *lane) {
  weir__vulkan_record_barrier(device, lane->open->commands, lane->stages, stages_of(lane));
  lane->epoch++;
  lane->stages = 0;
}

// What the host will read must be made visible to it.
static void end_for_host(weir__vulkan_device *device, const weir__vulkan_lane *lane, const weir__vulkan_batch *batch) {
  const VkMemoryBarrier barrier = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                                   .srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT,
                                   .dstAccessMask = VK_ACCESS_HOST_READ_BIT};
  device->calls.vkCmdPipelineBarrier(batch->commands, stages_of(lane), VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &barrier, 0,
                                     NULL, 0, NULL);
}

// The values of other lanes, and of its own, that a batch waits for: those that it was told, and those that the host has seen.
// Tasks whose predecessors are done are recorded without a wait or barrier, and what only the host knows to be done is not
// visible to a queue. Such a value is reached, so that nothing waits.
static void find_waits(const weir__vulkan_device *device, const weir__vulkan_lane *lane,
                       const weir__vulkan_batch *batch, uint64_t waits[WEIR__VULKAN_MOST_LANES]) {
  for (uint32_t i = 0; i < device->lane_count; i++) {
    const weir__vulkan_lane *other = &device->lanes[i];
    uint64_t seen = other->queue != NULL ? other->reached : 0;
    waits[i] = (batch->waited >> i & 1) != 0 && batch->waits[i] > seen ? batch->waits[i] : seen;
    if (waits[i] <= lane->awaited[i]) waits[i] = 0;
  }
}

// Submits the first `count` command buffers: its own, a graph's. 0: only the signal.
static VkResult submit(weir__vulkan_device *device, weir__vulkan_lane *lane, weir__vulkan_batch *batch,
                       uint32_t command_count) {
  const VkCommandBuffer commands[] = {batch->commands, batch->graph};
  VkSemaphore semaphores[2 * WEIR__VULKAN_MOST_LANES + 1], signals[WEIR__VULKAN_MOST_LANES + 2];
  VkPipelineStageFlags stages[2 * WEIR__VULKAN_MOST_LANES + 1];
  uint64_t waits[WEIR__VULKAN_MOST_LANES], values[2 * WEIR__VULKAN_MOST_LANES + 1];
  uint64_t signal_values[WEIR__VULKAN_MOST_LANES + 2];
  uint32_t count = 0, signal_count = 0;
  find_waits(device, lane, batch, waits);
  for (uint32_t i = 0; i < device->lane_count; i++) {
    if (waits[i] == 0) continue;
    semaphores[count] = device->lanes[i].semaphore;
    values[count] = waits[i];
    stages[count++] = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
    VkSemaphore told = tell_wait(&device->lanes[i], waits[i], (uint32_t)(lane - device->lanes), batch);
    if (told == VK_NULL_HANDLE) continue;
    semaphores[count] = told;
    values[count] = TOLD;
    stages[count++] = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
  }
  if (batch->await != NULL) {
    semaphores[count] = batch->await->semaphore;
    values[count] = batch->await->value;
    stages[count++] = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
  }
  if (batch->told != NULL) signal_count = add_told_signals(device, batch, signals, signal_values);
  if (batch->signal != NULL) {
    signals[signal_count] = batch->signal->semaphore;
    signal_values[signal_count++] = batch->signal->value;
  }
  signals[signal_count] = lane->semaphore; // the last: who sees it may destroy the others
  signal_values[signal_count++] = batch->value;
  const VkTimelineSemaphoreSubmitInfo timeline = {.sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
                                                  .waitSemaphoreValueCount = count,
                                                  .pWaitSemaphoreValues = values,
                                                  .signalSemaphoreValueCount = signal_count,
                                                  .pSignalSemaphoreValues = signal_values};
  const VkSubmitInfo info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                             .pNext = &timeline,
                             .waitSemaphoreCount = count,
                             .pWaitSemaphores = semaphores,
                             .pWaitDstStageMask = stages,
                             .commandBufferCount = command_count,
                             .pCommandBuffers = commands,
                             .signalSemaphoreCount = signal_count,
                             .pSignalSemaphores = signals};
  weir__vulkan_queue_acquire(device, lane->queue);
  VkResult result = device->calls.vkQueueSubmit(lane->queue->queue, 1, &info, batch->fence);
  weir__vulkan_queue_release(device, lane->queue);
  batch->fenced = batch->fence != VK_NULL_HANDLE && result == VK_SUCCESS;
  if (batch->signal != NULL) batch->signal->submitted = result == VK_SUCCESS;
  for (uint32_t i = 0; i < device->lane_count && result == VK_SUCCESS; i++)
    if (waits[i] != 0) lane->awaited[i] = waits[i];
  return result;
}

// Nothing of the batch will run; its place in the order is kept. A copy whose first half is lost has nothing to go on with.
static void refuse(weir__vulkan_device *device, weir__vulkan_lane *lane, const weir__vulkan_batch *batch,
                   VkResult result) {
  device->refusals++;
  lane->refused = batch->value;
  lane->refusal = result;
  lane->lost_barriers = true;
  weir__vulkan_forget_layouts(device, batch);
  for (weir__vulkan_op *op = batch->first;; op = weir__vulkan_op_of(op->head.next)) {
    weir__vulkan_refuse(device, op->head.task != NULL ? op : op->rest, "submit", result);
    if (op == batch->last) break;
  }
}

static void put_in_flight(weir__vulkan_device *device, weir__vulkan_lane *lane, weir__vulkan_batch *batch) {
  batch->submitted = true;
  batch->next = NULL;
  if (lane->last == NULL)
    lane->first = batch;
  else
    lane->last->next = batch;
  lane->last = batch;
  device->batches_in_flight++;
}

// Copies of the host are made in order: each has waited for what those before it waited for.
static void keep_waits(const weir__vulkan_device *device, weir__vulkan_lane *lane, weir__vulkan_batch *batch) {
  for (uint32_t i = 0; i < device->lane_count; i++) {
    if (batch->waits[i] < lane->awaited[i]) batch->waits[i] = lane->awaited[i];
    if (batch->waits[i] != 0) batch->waited |= (uint64_t)1 << i;
    lane->awaited[i] = batch->waits[i];
  }
}

void weir__vulkan_submit(weir__vulkan_device *device, weir__vulkan_lane *lane) {
  weir__vulkan_batch *batch = lane->open;
  if (batch == NULL || batch->count == 0) return;
  lane->open = NULL;
  put_in_flight(device, lane, batch);
  if (lane->queue == NULL) {
    keep_waits(device, lane, batch);
    if (device->next_copy == NULL) device->next_copy = batch;
    return;
  }
  if (weir__vulkan_is_in_trouble(device)) return; // it is reported as lost
  if (batch->for_host || device->memory.reads_mapped) end_for_host(device, lane, batch);
  VkResult result = device->calls.vkEndCommandBuffer(batch->commands);
  if (result == VK_SUCCESS) result = submit(device, lane, batch, batch->graph != VK_NULL_HANDLE ? 2 : 1);
  if (result == VK_SUCCESS) return;
  refuse(device, lane, batch, result);
  if (result != VK_ERROR_DEVICE_LOST) result = submit(device, lane, batch, 0);
  if (result != VK_SUCCESS) weir__vulkan_trouble(device, result);
}

void weir__vulkan_submit_all(weir__vulkan_device *device) {
  for (uint32_t i = 0; i < device->lane_count; i++) weir__vulkan_submit(device, &device->lanes[i]);
}
