// SPDX-License-Identifier: Apache-2.0
//
// Commands: dispatches with what they bind, barriers, copies between chunks.
#include <string.h>

#include "device/vulkan/vulkan.h"

enum {
  SETS_PER_GENERATION = 4096,
  MOST_PUSH_BYTES = 4096, // that a task's values may have (WEIR__MAX_VALUE_BYTES)
};

void weir__vulkan_record_barrier(const weir__vulkan_device *device, VkCommandBuffer commands,
                                 VkPipelineStageFlags before, VkPipelineStageFlags after) {
  const VkAccessFlags reads = (after & VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT ? VK_ACCESS_SHADER_READ_BIT : 0) |
                              (after & VK_PIPELINE_STAGE_TRANSFER_BIT ? VK_ACCESS_TRANSFER_READ_BIT : 0);
  const VkAccessFlags later_writes = (after & VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT ? VK_ACCESS_SHADER_WRITE_BIT : 0) |
                                     (after & VK_PIPELINE_STAGE_TRANSFER_BIT ? VK_ACCESS_TRANSFER_WRITE_BIT : 0);
  const VkAccessFlags writes = (before & VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT ? VK_ACCESS_SHADER_WRITE_BIT : 0) |
                               (before & VK_PIPELINE_STAGE_TRANSFER_BIT ? VK_ACCESS_TRANSFER_WRITE_BIT : 0);
  const VkMemoryBarrier barrier = {
      .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER, .srcAccessMask = writes, .dstAccessMask = reads | later_writes};
  device->calls.vkCmdPipelineBarrier(commands, before, after, 0, 1, &barrier, 0, NULL, 0, NULL);
}

// All sets of the generation before the one in use are done with when the lanes have come as far as they had when it was
// used last.
static bool are_old_sets_idle(const weir__vulkan_device *device) {
  for (uint32_t i = 0; i < device->lane_count; i++) {
    const weir__vulkan_lane *lane = &device->lanes[i];
    if (lane->first != NULL && lane->first->value <= device->old_values[i]) return false;
  }
  return true;
}

static void await_old_sets(weir__vulkan_device *device) {
  weir__vulkan_submit_all(device);
  while (!are_old_sets_idle(device) && weir__in_order_is_well(&device->base)) {
    bool any = weir__in_order_poll(&device->base, true);
    weir__vulkan_give_reported(device);
    if (!any) weir__vulkan_wait_any(device, UINT64_MAX);
  }
  if (!weir__in_order_is_well(&device->base)) weir__vulkan_drain(&device->base);
}

// Whether an open batch has commands with old sets, and no task yet: it cannot be submitted before the last steps of some task
// are recorded.
static bool has_first_steps(const weir__vulkan_device *device) {
  for (uint32_t i = 0; i < device->lane_count; i++) {
    const weir__vulkan_batch *open = device->lanes[i].open;
    if (open != NULL && open->count == 0 && open->value <= device->old_values[i]) return true;
  }
  return false;
}

weir__vulkan_sets *weir__vulkan_current_sets(weir__vulkan_device *device) {
  weir__vulkan_sets *sets = &device->sets[device->young];
  if (sets->count < SETS_PER_GENERATION || has_first_steps(device)) return sets;
  device->young = 1 - device->young;
  sets = &device->sets[device->young];
  if (sets->count > 0) {
    await_old_sets(device);
    weir__vulkan_sets_reset(sets);
  }
  for (uint32_t i = 0; i < device->lane_count; i++) device->old_values[i] = device->lanes[i].value;
  return sets;
}

static weir__vulkan_chunk *find_chunk(weir__vulkan_device *device, weir__vulkan_recorder *recorder,
                                      const void *address) {
  const weir__vulkan_chunk *last = recorder->chunk;
  if (last == NULL || (uintptr_t)address - last->address >= last->bytes)
    recorder->chunk = weir__vulkan_chunk_find(&device->memory, address);
  return recorder->chunk;
}

static VkResult find_set(weir__vulkan_device *device, weir__vulkan_recorder *recorder,
                         const weir__vulkan_layout *layout, const weir__vulkan_arg *args, uint32_t count,
                         VkDescriptorSet *out_set) {
  weir__vulkan_bound bound[WEIR_MAX_ARGS];
  uint32_t bindings = 0;
  for (uint32_t i = 0; i < count && bindings < layout->binding_count; i++) {
    if (args[i].is_value) continue;
    weir__vulkan_chunk *chunk = find_chunk(device, recorder, args[i].address);
    if (chunk->image != NULL) {
      bool ignored = layout->types[bindings] == VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
      bound[bindings++] = (weir__vulkan_bound){.chunk = ignored ? NULL : chunk};
      continue;
    }
    bound[bindings++] = (weir__vulkan_bound){
        .chunk = chunk, .offset = (uintptr_t)args[i].address - chunk->address, .bytes = args[i].bytes};
  }
  while (bindings < layout->binding_count) bound[bindings++] = (weir__vulkan_bound){0};
  return weir__vulkan_sets_get(recorder->sets, layout, bound, out_set);
}

static VkResult bind_set(weir__vulkan_device *device, weir__vulkan_recorder *recorder,
                         const weir__vulkan_layout *layout, const weir__vulkan_arg *args, uint32_t count) {
  VkDescriptorSet found = VK_NULL_HANDLE, *known = recorder->known != NULL ? recorder->known : &found;
  VkResult result = *known == VK_NULL_HANDLE ? find_set(device, recorder, layout, args, count, known) : VK_SUCCESS;
  VkDescriptorSet set = *known;
  if (result != VK_SUCCESS || (set == recorder->set && layout == recorder->layout)) return result;
  device->calls.vkCmdBindDescriptorSets(recorder->commands, VK_PIPELINE_BIND_POINT_COMPUTE, layout->pipeline, 0, 1,
                                        &set, 0, NULL);
  recorder->set = set;
  recorder->layout = layout;
  return VK_SUCCESS;
}

static void push(weir__vulkan_device *device, const weir__vulkan_recorder *recorder, const weir__vulkan_launch *launch,
                 const weir__vulkan_layout *layout, const weir__vulkan_arg *args, uint32_t count) {
  unsigned char values[MOST_PUSH_BYTES];
  const void *bytes = launch->value;
  if (bytes == NULL) {
    uint64_t used = 0;
    for (uint32_t i = 0; i < count; i++) {
      if (!args[i].is_value || used + args[i].bytes > layout->push_bytes) continue;
      memcpy(values + used, args[i].address, args[i].bytes);
      used += args[i].bytes;
    }
    bytes = values;
  }
  device->calls.vkCmdPushConstants(recorder->commands, layout->pipeline, VK_SHADER_STAGE_COMPUTE_BIT, 0,
                                   layout->push_bytes, bytes);
}

VkResult weir__vulkan_record_dispatch(weir__vulkan_device *device, weir__vulkan_recorder *recorder,
                                      const weir__vulkan_launch *launch, const uint32_t groups[3],
                                      const weir__vulkan_arg *args, uint32_t count) {
  const weir__vulkan_pipeline *pipeline = launch->pipelines[device->base.device.index];
  const weir__vulkan_layout *layout = pipeline->layout;
  if (recorder->pipeline != pipeline->pipeline) {
    device->calls.vkCmdBindPipeline(recorder->commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline->pipeline);
    recorder->pipeline = pipeline->pipeline;
  }
  if (layout->binding_count > 0) {
    VkResult result = bind_set(device, recorder, layout, args, count);
    if (result != VK_SUCCESS) return result;
  }
  if (layout->push_bytes > 0) push(device, recorder, launch, layout, args, count);
  const uint32_t *size = launch->groups[0] == 0 ? groups : launch->groups;
  device->calls.vkCmdDispatch(recorder->commands, size[0], size[1], size[2]);
  return VK_SUCCESS;
}

VkResult weir__vulkan_record_kernel(weir__vulkan_device *device, weir__vulkan_recorder *recorder,
                                    const weir__vulkan_kernel *kernel, const uint32_t groups[3],
                                    const weir__vulkan_arg *args, uint32_t count) {
  const VkPipelineStageFlags compute = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT;
  VkResult result = VK_SUCCESS;
  for (uint32_t i = 0; i < kernel->count && result == VK_SUCCESS; i++) {
    if (i > 0) weir__vulkan_record_barrier(device, recorder->commands, compute, compute);
    result = weir__vulkan_record_dispatch(device, recorder, &kernel->launches[i], groups, args, count);
  }
  return result;
}

void weir__vulkan_record_copy(weir__vulkan_device *device, VkCommandBuffer commands, void *destination,
                              const void *source, uint64_t bytes) {
  weir__vulkan_chunk *to = weir__vulkan_chunk_find(&device->memory, destination);
  weir__vulkan_chunk *from = weir__vulkan_chunk_find(&device->memory, source);
  const VkBufferCopy region = {
      .srcOffset = (uintptr_t)source - from->address, .dstOffset = (uintptr_t)destination - to->address, .size = bytes};
  if (to->image != NULL || from->image != NULL) {
    weir__vulkan_record_image_copy(device, commands, to, region.dstOffset, from, region.srcOffset);
    return;
  }
  device->calls.vkCmdCopyBuffer(commands, from->buffer, to->buffer, 1, &region);
}

void weir__vulkan_record_fill(weir__vulkan_device *device, VkCommandBuffer commands, void *destination, uint64_t bytes,
                              uint32_t pattern) {
  weir__vulkan_chunk *to = weir__vulkan_chunk_find(&device->memory, destination);
  if (to->image != NULL) {
    weir__vulkan_record_clear(device, commands, to);
    return;
  }
  device->calls.vkCmdFillBuffer(commands, to->buffer, (uintptr_t)destination - to->address, bytes, pattern);
}
