// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>
#include <string.h>

#include "device/vulkan/vulkan.h"
#include "program_calls.h"
#include "program_vulkan.h"

enum { SETS = 64, MOST_PUSH_BYTES = 256 };

// Sets that a lane's calls took; they are used for as long as there may be recordings of graphs.
typedef struct lane_sets {
  VkDescriptorPool *pools;
  uint32_t pool_count, used; // used: of the last one
} lane_sets;

typedef struct vulkan_call {
  program_call head;
  program_vulkan_module module;
  const weir__vulkan_device *devices[PROGRAM_MOST_DEVICES];
  const weir__vulkan_pipeline *pipelines[PROGRAM_MOST_DEVICES][PROGRAM_MOST_LANES];
  lane_sets lanes[PROGRAM_MOST_DEVICES][PROGRAM_MOST_LANES];
} vulkan_call;

static void destroy(program_call *head) {
  vulkan_call *own = (vulkan_call *)(void *)head;
  for (uint32_t i = 0; i < PROGRAM_MOST_DEVICES; i++) {
    for (uint32_t j = 0; j < PROGRAM_MOST_LANES; j++) {
      for (uint32_t k = 0; k < own->lanes[i][j].pool_count; k++)
        own->devices[i]->calls.vkDestroyDescriptorPool(own->devices[i]->device, own->lanes[i][j].pools[k], NULL);
      free(own->lanes[i][j].pools);
    }
  }
  free(own->module.words);
  free(own);
}

static weir_status prepare(const weir_enqueue *call) {
  vulkan_call *own = call->data;
  const weir_vulkan_code code = {own->module.words, own->module.bytes};
  const weir_vulkan_launch launch = {0};
  own->devices[call->device->index] = weir__vulkan_of(call->device);
  return weir__vulkan_pipeline_get(weir__vulkan_device_pipelines(call->device), "the caller's", &code, &launch,
                                   &own->pipelines[call->device->index][call->lane]);
}

static VkResult add_pool(const weir__vulkan_device *device, lane_sets *lane) {
  const VkDescriptorPoolSize sizes = {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, SETS * PROGRAM_MAX_ACCESSES};
  const VkDescriptorPoolCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
                                           .maxSets = SETS,
                                           .poolSizeCount = 1,
                                           .pPoolSizes = &sizes};
  VkDescriptorPool *more = realloc(lane->pools, (lane->pool_count + 1) * sizeof *more);
  if (more == NULL) return VK_ERROR_OUT_OF_HOST_MEMORY;
  lane->pools = more;
  VkResult result = device->calls.vkCreateDescriptorPool(device->device, &info, NULL, &more[lane->pool_count]);
  lane->pool_count += result == VK_SUCCESS;
  lane->used = 0;
  return result;
}

static VkResult make_set(const weir__vulkan_device *device, lane_sets *lane, const weir__vulkan_layout *layout,
                         const weir_enqueue *call, VkDescriptorSet *out_set) {
  VkResult result = lane->pool_count == 0 || lane->used == SETS ? add_pool(device, lane) : VK_SUCCESS;
  if (result != VK_SUCCESS) return result;
  const VkDescriptorSetAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                                .descriptorPool = lane->pools[lane->pool_count - 1],
                                                .descriptorSetCount = 1,
                                                .pSetLayouts = &layout->set};
  result = device->calls.vkAllocateDescriptorSets(device->device, &allocate, out_set);
  lane->used++;
  for (uint32_t i = 0, binding = 0; i < call->arg_count && result == VK_SUCCESS; i++) {
    const weir_enqueue_arg *arg = &call->args[i];
    if (arg->value != NULL) continue;
    const VkDescriptorBufferInfo bound = {(VkBuffer)arg->handle, arg->offset, arg->bytes};
    const VkWriteDescriptorSet write = {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                        .dstSet = *out_set,
                                        .dstBinding = binding++,
                                        .descriptorCount = 1,
                                        .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                        .pBufferInfo = &bound};
    device->calls.vkUpdateDescriptorSets(device->device, 1, &write, 0, NULL);
  }
  return result;
}

static VkResult record(vulkan_call *own, const weir_enqueue *call) {
  const weir__vulkan_device *device = own->devices[call->device->index];
  const weir__vulkan_pipeline *pipeline = own->pipelines[call->device->index][call->lane];
  const weir__vulkan_layout *layout = pipeline->layout;
  VkCommandBuffer commands = call->queue;
  VkDescriptorSet set = VK_NULL_HANDLE;
  unsigned char values[MOST_PUSH_BYTES];
  size_t used = 0;
  for (uint32_t i = 0; i < call->arg_count; i++) {
    if (call->args[i].value == NULL) continue;
    memcpy(values + used, call->args[i].value, call->args[i].bytes);
    used += call->args[i].bytes;
  }
  if (layout->binding_count > 0) {
    VkResult result = make_set(device, &own->lanes[call->device->index][call->lane], layout, call, &set);
    if (result != VK_SUCCESS) return result;
    device->calls.vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, layout->pipeline, 0, 1, &set, 0,
                                          NULL);
  }
  device->calls.vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline->pipeline);
  device->calls.vkCmdPushConstants(commands, layout->pipeline, VK_SHADER_STAGE_COMPUTE_BIT, 0, layout->push_bytes,
                                   values);
  device->calls.vkCmdDispatch(commands, call->groups[0], call->groups[1], call->groups[2]);
  return VK_SUCCESS;
}

static weir_status run(const weir_enqueue *call) {
  vulkan_call *own = call->data;
  const weir__vulkan_device *device = own->devices[call->device->index];
  const weir_enqueue_arg *scratch = &call->scratch;
  if (scratch->bytes != PROGRAM_SCRATCH_BYTES) return WEIR_ERROR_OUT_OF_MEMORY;
  // Junk, which nobody reads.
  device->calls.vkCmdFillBuffer(call->queue, (VkBuffer)scratch->handle, scratch->offset, scratch->bytes, 0x5a5a5a5a);
  VkResult result = record(own, call);
  if (result != VK_SUCCESS) weir_enqueue_fail(call, "a call of Vulkan failed");
  return result != VK_SUCCESS || program_call_fails(call) ? WEIR_ERROR_TASK_FAILED : WEIR_OK;
}

static vulkan_call *make(uint32_t form, program_call **list) {
  vulkan_call *own = program_memory(sizeof *own);
  own->head = (program_call){.next = *list, .destroy = destroy, .form = form};
  own->module = program_vulkan_module_of(form);
  *list = &own->head;
  return own;
}

weir_status program_vulkan_open(const weir_enqueue *call, const uint32_t groups[3], uint32_t form,
                                program_call **list) {
  vulkan_call *own = (vulkan_call *)(void *)program_call_find(*list, form, destroy);
  if (own == NULL) own = make(form, list);
  own->head.opens = true;
  const weir_enqueue made = program_call_of_open(call, groups, &own->head);
  bool is_ready = own->pipelines[made.device->index][made.lane] != NULL;
  weir_status status = is_ready ? WEIR_OK : prepare(&made);
  if (status != WEIR_OK) return status;
  return record(own, &made) == VK_SUCCESS ? WEIR_OK : WEIR_ERROR_TASK_FAILED;
}

weir_status program_vulkan_set_call(weir_kernel *kernel, uint32_t form, program_call **list) {
  vulkan_call *own = make(form, list);
  const weir_enqueue_code code = {
      .function = run, .prepare = prepare, .scratch_bytes = PROGRAM_SCRATCH_BYTES, .data = own};
  return weir_kernel_set_enqueue(kernel, "vulkan", &code);
}
