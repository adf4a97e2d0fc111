// SPDX-License-Identifier: Apache-2.0
#include "vulkan_objects.h"

#include <stdio.h>
#include <stdlib.h>

#include "vulkan.h"

#define MOST_WAIT_US 20e6 // until a device counts as hung

static vulkan_layout layouts[2]; // without and with a buffer
static VkPipeline *pipelines;
static uint32_t pipeline_count, pipeline_capacity;
static vulkan_timeline runs;

void vulkan_objects_open(void) {
  vulkan_timeline_create(&runs);
}

void vulkan_objects_close(void) {
  vulkan_timeline_destroy(&runs);
  for (uint32_t i = 0; i < pipeline_count; i++) vk.DestroyPipeline(card.device, pipelines[i], NULL);
  free(pipelines);
  for (int i = 0; i < 2; i++) {
    vk.DestroyPipelineLayout(card.device, layouts[i].pipeline, NULL);
    vk.DestroyDescriptorSetLayout(card.device, layouts[i].set, NULL);
  }
}

// ---------------------------------------------------------------------------------------------------------------
// Command buffers and counters

void vulkan_commands_create(const vulkan_family *family, vulkan_commands *out_commands) {
  *out_commands = (vulkan_commands){.family = family};
  VkCommandPoolCreateInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                  .queueFamilyIndex = family->index};
  VULKAN(CreateCommandPool(card.device, &info, NULL, &out_commands->pool));
  VkCommandBufferAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                          .commandPool = out_commands->pool,
                                          .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                          .commandBufferCount = 1};
  VULKAN(AllocateCommandBuffers(card.device, &allocate, &out_commands->buffer));
}

void vulkan_commands_destroy(vulkan_commands *commands) {
  vk.DestroyCommandPool(card.device, commands->pool, NULL);
  *commands = (vulkan_commands){0};
}

void vulkan_begin(vulkan_commands *commands) {
  VULKAN(ResetCommandPool(card.device, commands->pool, 0));
  VkCommandBufferBeginInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
  VULKAN(BeginCommandBuffer(commands->buffer, &info));
}

void vulkan_end(vulkan_commands *commands) {
  VULKAN(EndCommandBuffer(commands->buffer));
}

void vulkan_timeline_create(vulkan_timeline *out_timeline) {
  *out_timeline = (vulkan_timeline){0};
  VkSemaphoreTypeCreateInfo type = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
                                    .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE};
  VkSemaphoreCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, .pNext = &type};
  VULKAN(CreateSemaphore(card.device, &info, NULL, &out_timeline->semaphore));
}

void vulkan_timeline_destroy(vulkan_timeline *timeline) {
  vk.DestroySemaphore(card.device, timeline->semaphore, NULL);
  *timeline = (vulkan_timeline){0};
}

void vulkan_submit(VkQueue queue, VkCommandBuffer commands, vulkan_timeline *timeline) {
  uint64_t value = ++timeline->value;
  VkTimelineSemaphoreSubmitInfo values = {.sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
                                          .signalSemaphoreValueCount = 1,
                                          .pSignalSemaphoreValues = &value};
  VkSubmitInfo info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                       .pNext = &values,
                       .commandBufferCount = 1,
                       .pCommandBuffers = &commands,
                       .signalSemaphoreCount = 1,
                       .pSignalSemaphores = &timeline->semaphore};
  VULKAN(QueueSubmit(queue, 1, &info, VK_NULL_HANDLE));
}

void vulkan_await(const vulkan_timeline *timeline) {
  double start = gpu_now_us();
  uint64_t value = 0;
  while (value < timeline->value) {
    VULKAN(GetSemaphoreCounterValue(card.device, timeline->semaphore, &value));
    if (gpu_now_us() - start < MOST_WAIT_US) continue;
    fprintf(stderr, "weir-gpu-vulkan: the device did not finish in 20 s\n");
    exit(1);
  }
}

double vulkan_run(VkQueue queue, VkCommandBuffer commands) {
  double start = gpu_now_us();
  vulkan_submit(queue, commands, &runs);
  vulkan_await(&runs);
  return gpu_now_us() - start;
}

// ---------------------------------------------------------------------------------------------------------------
// Buffers

bool vulkan_buffer_create(VkDeviceSize bytes, VkMemoryPropertyFlags wanted, vulkan_buffer *out_buffer) {
  *out_buffer = (vulkan_buffer){0};
  VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                             .size = bytes,
                             .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                                      VK_BUFFER_USAGE_TRANSFER_DST_BIT};
  VULKAN(CreateBuffer(card.device, &info, NULL, &out_buffer->buffer));
  VkMemoryRequirements needs;
  vk.GetBufferMemoryRequirements(card.device, out_buffer->buffer, &needs);
  for (uint32_t type = 0; type < card.memory.memoryTypeCount; type++) {
    VkMemoryPropertyFlags flags = card.memory.memoryTypes[type].propertyFlags;
    if (!(needs.memoryTypeBits >> type & 1) || (flags & wanted) != wanted) continue;
    VkMemoryAllocateInfo allocate = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, .allocationSize = needs.size, .memoryTypeIndex = type};
    if (vk.AllocateMemory(card.device, &allocate, NULL, &out_buffer->memory) != VK_SUCCESS) break;
    VULKAN(BindBufferMemory(card.device, out_buffer->buffer, out_buffer->memory, 0));
    if (flags & VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT)
      VULKAN(MapMemory(card.device, out_buffer->memory, 0, VK_WHOLE_SIZE, 0, &out_buffer->mapped));
    return true;
  }
  vulkan_buffer_destroy(out_buffer);
  return false;
}

void vulkan_buffer_destroy(vulkan_buffer *buffer) {
  vk.DestroyBuffer(card.device, buffer->buffer, NULL);
  vk.FreeMemory(card.device, buffer->memory, NULL);
  *buffer = (vulkan_buffer){0};
}

// ---------------------------------------------------------------------------------------------------------------
// Pipelines

const vulkan_layout *vulkan_layout_of(bool buffer) {
  vulkan_layout *layout = &layouts[buffer];
  if (layout->pipeline) return layout;
  VkDescriptorSetLayoutBinding binding = {.descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                          .descriptorCount = 1,
                                          .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT};
  VkDescriptorSetLayoutCreateInfo set = {
      .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO, .bindingCount = buffer, .pBindings = &binding};
  VULKAN(CreateDescriptorSetLayout(card.device, &set, NULL, &layout->set));
  VkPushConstantRange range = {.stageFlags = VK_SHADER_STAGE_COMPUTE_BIT, .size = VULKAN_PUSH_BYTES};
  VkPipelineLayoutCreateInfo info = {.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                     .setLayoutCount = 1,
                                     .pSetLayouts = &layout->set,
                                     .pushConstantRangeCount = 1,
                                     .pPushConstantRanges = &range};
  VULKAN(CreatePipelineLayout(card.device, &info, NULL, &layout->pipeline));
  return layout;
}

static void keep_pipeline(VkPipeline pipeline) {
  if (pipeline_count == pipeline_capacity) {
    pipeline_capacity = pipeline_capacity > 0 ? 2 * pipeline_capacity : 64;
    VkPipeline *grown = realloc(pipelines, pipeline_capacity * sizeof *grown);
    if (!grown) vulkan_check(VK_ERROR_OUT_OF_HOST_MEMORY, "realloc");
    pipelines = grown;
  }
  pipelines[pipeline_count++] = pipeline;
}

VkPipeline vulkan_pipeline(const uint32_t *code, size_t bytes, const vulkan_layout *layout, uint32_t threads,
                           uint32_t shared_words) {
  VkShaderModuleCreateInfo module_info = {
      .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO, .codeSize = bytes, .pCode = code};
  VkShaderModule module;
  VULKAN(CreateShaderModule(card.device, &module_info, NULL, &module));
  uint32_t constants[2] = {threads, shared_words};
  VkSpecializationMapEntry entries[2] = {{.constantID = 0, .offset = 0, .size = 4},
                                         {.constantID = 1, .offset = 4, .size = 4}};
  VkSpecializationInfo specialization = {
      .mapEntryCount = 2, .pMapEntries = entries, .dataSize = sizeof constants, .pData = constants};
  VkComputePipelineCreateInfo info = {.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
                                      .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                                                .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                                                .module = module,
                                                .pName = "main",
                                                .pSpecializationInfo = &specialization},
                                      .layout = layout->pipeline};
  VkPipeline pipeline;
  VULKAN(CreateComputePipelines(card.device, VK_NULL_HANDLE, 1, &info, NULL, &pipeline));
  vk.DestroyShaderModule(card.device, module, NULL);
  keep_pipeline(pipeline);
  return pipeline;
}

void vulkan_barrier(VkCommandBuffer commands) {
  VkMemoryBarrier barrier = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                             .srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT,
                             .dstAccessMask = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT};
  vk.CmdPipelineBarrier(commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, 0, 1,
                        &barrier, 0, NULL, 0, NULL);
}
