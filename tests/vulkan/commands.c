// SPDX-License-Identifier: Apache-2.0
#include "commands.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "device/vulkan/pipeline.h"
#include "device/vulkan/vulkan.h"
#include "scale.spv.h"

enum { MOST_SETS = 4096, GROUP = 64 };

weir_context *commands_context;
weir_device *commands_device;
weir__vulkan_calls commands_calls;

static struct {
  VkDevice device;
  weir__vulkan_pipelines *pipelines;
  const weir__vulkan_pipeline *scale;
  VkDescriptorPool pool;
} own;

// Of the pool: functions of Weir's thread take sets, and so do threads with open tasks.
static pthread_mutex_t pool_lock = PTHREAD_MUTEX_INITIALIZER;

void commands_good(weir_status status) {
  if (status != WEIR_OK) fail_msg("%s: %s", weir_status_name(status), weir_last_error());
}

static void make_own(void) {
  const weir__vulkan_device *device = weir__vulkan_of(commands_device);
  own.device = device->device;
  commands_calls = device->calls;
  own.pipelines = weir__vulkan_pipelines_create(&commands_calls, own.device, &device->enabled);
  const weir_vulkan_constant size = {.id = 0, .bytes = 4, .u32 = GROUP};
  const weir_vulkan_code code = {scale_spv, sizeof scale_spv};
  const weir_vulkan_launch launch = {.constants = &size, .constant_count = 1};
  commands_good(weir__vulkan_pipeline_get(own.pipelines, "the caller's scale", &code, &launch, &own.scale));
  const VkDescriptorPoolSize sizes = {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, MOST_SETS};
  const VkDescriptorPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
                                           .maxSets = MOST_SETS,
                                           .poolSizeCount = 1,
                                           .pPoolSizes = &sizes};
  assert_int_equal(commands_calls.vkCreateDescriptorPool(own.device, &pool, NULL, &own.pool), VK_SUCCESS);
}

void commands_open(const weir_context_options *options) {
  weir_context_options chosen = options != NULL ? *options : (weir_context_options){0};
  if (chosen.devices == NULL) chosen.devices = "vulkan";
  commands_good(weir_context_create(&chosen, &commands_context));
  commands_device = weir_context_device(commands_context, 0);
  make_own();
}

void commands_close(void) {
  weir_finish(commands_context);
  commands_calls.vkDestroyDescriptorPool(own.device, own.pool, NULL);
  weir__vulkan_pipelines_destroy(own.pipelines);
  commands_good(weir_context_release(commands_context));
}

VkDevice commands_vk_device(void) {
  return own.device;
}

void commands_expect(weir_buffer *buffer, uint64_t offset, uint64_t bytes, uint32_t wanted) {
  uint32_t *words = malloc(bytes);
  assert_non_null(words);
  commands_good(weir_read(buffer, offset, bytes, words));
  for (uint64_t i = 0; i < bytes / 4; i++) {
    if (words[i] != wanted) fail_msg("byte %llu: %u, not %u", (unsigned long long)(offset + 4 * i), words[i], wanted);
  }
  free(words);
}

weir_kernel *commands_kernel(const char *label, const weir_enqueue_code *code) {
  weir_kernel *made;
  commands_good(weir_kernel_create(commands_context, label, &made));
  commands_good(weir_kernel_set_enqueue(made, "vulkan", code));
  return made;
}

void commands_fill(const weir_enqueue *call, const weir_enqueue_arg *to, uint32_t pattern) {
  commands_calls.vkCmdFillBuffer(call->queue, (VkBuffer)to->handle, to->offset, to->bytes, pattern);
}

void commands_copy(const weir_enqueue *call, const weir_enqueue_arg *to, const weir_enqueue_arg *from) {
  const VkBufferCopy region = {.srcOffset = from->offset, .dstOffset = to->offset, .size = to->bytes};
  commands_calls.vkCmdCopyBuffer(call->queue, (VkBuffer)from->handle, (VkBuffer)to->handle, 1, &region);
}

void commands_barrier(const weir_enqueue *call) {
  const VkPipelineStageFlags stages = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT;
  const VkMemoryBarrier barrier = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                                   .srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT,
                                   .dstAccessMask = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT};
  commands_calls.vkCmdPipelineBarrier(call->queue, stages, stages, 0, 1, &barrier, 0, NULL, 0, NULL);
}

static VkDescriptorSet make_set(const weir_enqueue_arg *numbers) {
  const VkDescriptorSetAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                                .descriptorPool = own.pool,
                                                .descriptorSetCount = 1,
                                                .pSetLayouts = &own.scale->layout->set};
  VkDescriptorSet set;
  pthread_mutex_lock(&pool_lock);
  VkResult result = commands_calls.vkAllocateDescriptorSets(own.device, &allocate, &set);
  pthread_mutex_unlock(&pool_lock);
  assert_int_equal(result, VK_SUCCESS);
  const VkDescriptorBufferInfo bound = {(VkBuffer)numbers->handle, numbers->offset, numbers->bytes};
  const VkWriteDescriptorSet write = {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                      .dstSet = set,
                                      .descriptorCount = 1,
                                      .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                      .pBufferInfo = &bound};
  commands_calls.vkUpdateDescriptorSets(own.device, 1, &write, 0, NULL);
  return set;
}

void commands_scale(const weir_enqueue *call, const weir_enqueue_arg *numbers, uint32_t add) {
  VkCommandBuffer commands = call->queue;
  VkPipelineLayout layout = own.scale->layout->pipeline;
  VkDescriptorSet set = make_set(numbers);
  const uint32_t values[] = {add, (uint32_t)(numbers->bytes / 4)};
  commands_calls.vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, own.scale->pipeline);
  commands_calls.vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, layout, 0, 1, &set, 0, NULL);
  commands_calls.vkCmdPushConstants(commands, layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof values, values);
  commands_calls.vkCmdDispatch(commands, (values[1] + GROUP - 1) / GROUP, 1, 1);
}

static uint32_t value_of(const weir_enqueue *call) {
  uint32_t value;
  memcpy(&value, call->args[1].value, sizeof value);
  return value;
}

weir_status commands_fill_task(const weir_enqueue *call) {
  commands_fill(call, &call->args[0], value_of(call));
  return WEIR_OK;
}

weir_status commands_copy_task(const weir_enqueue *call) {
  commands_copy(call, &call->args[0], &call->args[1]);
  return WEIR_OK;
}

weir_status commands_scale_task(const weir_enqueue *call) {
  commands_scale(call, &call->args[0], value_of(call));
  return WEIR_OK;
}
