// SPDX-License-Identifier: Apache-2.0
#include "device/vulkan/open_task.h"

#include <stdio.h>

#include "base/allocate.h"
#include "base/error.h"
#include "device/vulkan/enqueue.h"

static void destroy_one(const weir__vulkan_device *device, weir__vulkan_opened *own) {
  if (own->pool != VK_NULL_HANDLE) device->calls.vkDestroyCommandPool(device->device, own->pool, NULL);
  if (own->queries != VK_NULL_HANDLE) device->calls.vkDestroyQueryPool(device->device, own->queries, NULL);
  weir__free(own);
}

void weir__vulkan_opens_destroy(weir__vulkan_device *device) {
  while (device->free_opened != NULL) {
    weir__vulkan_opened *own = device->free_opened;
    device->free_opened = own->next;
    destroy_one(device, own);
  }
}

static uint32_t lane_of(const weir__vulkan_device *device, uint32_t slot) {
  return device->spreads ? slot % device->kernel_lanes : 0;
}

// One that is free and was made for the lane's queue family; NULL: none.
static weir__vulkan_opened *take_free(weir__vulkan_device *device, uint32_t family) {
  weir__lock_acquire(&device->opened_lock);
  weir__vulkan_opened **link = &device->free_opened;
  while (*link != NULL && device->lanes[(*link)->lane].queue->family != family) link = &(*link)->next;
  weir__vulkan_opened *own = *link;
  if (own != NULL) *link = own->next;
  weir__lock_release(&device->opened_lock);
  return own;
}

static void give_free(weir__vulkan_device *device, weir__vulkan_opened *own) {
  weir__lock_acquire(&device->opened_lock);
  own->next = device->free_opened;
  device->free_opened = own;
  weir__lock_release(&device->opened_lock);
}

static VkResult make_objects(const weir__vulkan_device *device, const weir__vulkan_queue *queue,
                             weir__vulkan_opened *own) {
  const VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                        .queueFamilyIndex = queue->family};
  const VkQueryPoolCreateInfo queries = {
      .sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO, .queryType = VK_QUERY_TYPE_TIMESTAMP, .queryCount = 2};
  VkResult result =
      weir__vulkan_made(device->calls.vkCreateCommandPool(device->device, &pool, NULL, &own->pool), &own->pool);
  if (result != VK_SUCCESS) return result;
  const VkCommandBufferAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                                .commandPool = own->pool,
                                                .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                                .commandBufferCount = 1};
  result = device->calls.vkAllocateCommandBuffers(device->device, &allocate, &own->commands);
  if (result != VK_SUCCESS || device->base.device.host->trace == NULL || !queue->has_timestamps) return result;
  result = device->calls.vkCreateQueryPool(device->device, &queries, NULL, &own->queries);
  return weir__vulkan_made(result, &own->queries);
}

// Takes what is free, or makes it, for a slot.
static VkResult make(weir__vulkan_device *device, const weir__open_slot *slot, weir__vulkan_opened **out_own) {
  const weir__vulkan_queue *queue = device->lanes[lane_of(device, slot->index)].queue;
  weir__vulkan_opened *own = take_free(device, queue->family);
  *out_own = own;
  if (own != NULL) return VK_SUCCESS;
  own = weir__allocate_zeroed(sizeof *own);
  if (own == NULL) return VK_ERROR_OUT_OF_HOST_MEMORY;
  VkResult result = make_objects(device, queue, own);
  if (result == VK_SUCCESS)
    *out_own = own;
  else
    destroy_one(device, own);
  return result;
}

static weir_status begin(weir_device *base, weir__open *open) {
  weir__vulkan_device *device = weir__vulkan_of(base);
  const VkCommandBufferBeginInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                         .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT};
  weir__open_slot slot;
  weir__vulkan_opened *own;
  weir__opens_take(&device->base.opens, NULL, NULL, &slot);
  VkResult result = make(device, &slot, &own);
  if (result != VK_SUCCESS) {
    weir__opens_give(&device->base.opens, &slot);
    return weir__vulkan_error(result, "task begin on %s", base->name);
  }
  own->slot = slot;
  own->lane = lane_of(device, slot.index);
  open->native = own;
  result = device->calls.vkResetCommandPool(device->device, own->pool, 0);
  if (result == VK_SUCCESS) result = device->calls.vkBeginCommandBuffer(own->commands, &info);
  open->call.call.queue = own->commands;
  open->call.call.native_context = device->device;
  open->call.call.lane = device->kernel_lanes * WEIR__VULKAN_CALLS_AT_ONCE + slot.index;
  return weir__vulkan_error(result, "task begin on %s", base->name);
}

// What is recorded comes behind the tasks when it is submitted.
static weir_status order(weir_device *base, weir__open *open, const weir__id *tasks, uint32_t count) {
  (void)tasks;
  (void)count;
  weir__vulkan_device *device = weir__vulkan_of(base);
  const weir__vulkan_opened *own = open->native;
  for (uint32_t i = 0; i < open->call.arg_count; i++) {
    if (open->call.args[i].value == NULL) weir__vulkan_name_range(device, &open->call.args[i]);
  }
  if (own->queries == VK_NULL_HANDLE) return WEIR_OK;
  device->calls.vkCmdResetQueryPool(own->commands, own->queries, 0, 2);
  device->calls.vkCmdWriteTimestamp(own->commands, VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT, own->queries, 0);
  return WEIR_OK;
}

// Where the host reads the device's memory, what was written must be made visible to it.
static void record_for_host(const weir__vulkan_device *device, VkCommandBuffer commands) {
  const VkMemoryBarrier barrier = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                                   .srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT,
                                   .dstAccessMask = VK_ACCESS_HOST_READ_BIT};
  device->calls.vkCmdPipelineBarrier(commands, WEIR__VULKAN_CALL_STAGES, VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &barrier, 0,
                                     NULL, 0, NULL);
}

static void end(weir_device *base, weir__open *open) {
  const weir__vulkan_device *device = weir__vulkan_of(base);
  const weir__vulkan_opened *own = open->native;
  if (open->status != WEIR_OK) return; // it is not submitted
  if (device->memory.reads_mapped) record_for_host(device, own->commands);
  if (own->queries != VK_NULL_HANDLE)
    device->calls.vkCmdWriteTimestamp(own->commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, own->queries, 1);
  VkResult result = device->calls.vkEndCommandBuffer(own->commands);
  if (result == VK_SUCCESS) return;
  char what[96];
  snprintf(what, sizeof what, "its command buffer could not be ended: %s", weir__vulkan_result_name(result));
  weir__open_accuse(open, weir__vulkan_status(result), what);
}

static void issued(weir_device *base, weir__open *open) {
  weir__vulkan_opened *own = open->native;
  weir__opens_give(&weir__vulkan_of(base)->base.opens, &own->slot);
}

static void destroy(weir_device *base, weir__open *open) {
  weir__vulkan_device *device = weir__vulkan_of(base);
  weir__vulkan_opened *own = open->native;
  weir__opens_give(&device->base.opens, &own->slot);
  give_free(device, own);
}

const weir__open_ops weir__vulkan_opens = {
    .begin = begin, .order = order, .end = end, .issued = issued, .destroy = destroy};
