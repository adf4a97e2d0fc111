// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>

#include "vulkan_ways.h"

enum { MOST_SETS = 64 };

typedef enum barrier_kind { NO_BARRIER, GLOBAL, GLOBAL2, ONE_BUFFER, FOUR_BUFFERS } barrier_kind;

typedef struct record_case {
  const char *name;
  uint32_t push_bytes, buffers;
  bool pushed, pipelines; // push descriptors; bind another pipeline each time
  barrier_kind barrier;
} record_case;

static const record_case cases[] = {
    {.name = "dispatch only"},
    {.name = "16 bytes of push constants", .push_bytes = 16},
    {.name = "128 bytes of push constants", .push_bytes = 128},
    {.name = "16 bytes, bind a set of 1 buffer", .push_bytes = 16, .buffers = 1},
    {.name = "16 bytes, bind a set of 2 buffers", .push_bytes = 16, .buffers = 2},
    {.name = "16 bytes, bind a set of 4 buffers", .push_bytes = 16, .buffers = 4},
    {.name = "16 bytes, push descriptors of 1 buffer", .push_bytes = 16, .buffers = 1, .pushed = true},
    {.name = "16 bytes, push descriptors of 2 buffers", .push_bytes = 16, .buffers = 2, .pushed = true},
    {.name = "16 bytes, push descriptors of 4 buffers", .push_bytes = 16, .buffers = 4, .pushed = true},
    {.name = "16 bytes, bind another pipeline", .push_bytes = 16, .pipelines = true},
    {.name = "16 bytes, bind another pipeline and a set of 2 buffers",
     .push_bytes = 16,
     .buffers = 2,
     .pipelines = true},
    {.name = "16 bytes, global barrier", .push_bytes = 16, .barrier = GLOBAL},
    {.name = "16 bytes, global barrier by vkCmdPipelineBarrier2", .push_bytes = 16, .barrier = GLOBAL2},
    {.name = "16 bytes, barrier on 1 buffer", .push_bytes = 16, .barrier = ONE_BUFFER},
    {.name = "16 bytes, barrier on 4 buffers", .push_bytes = 16, .barrier = FOUR_BUFFERS},
    {.name = "16 bytes, another pipeline, a set of 2 buffers, global barrier",
     .push_bytes = 16,
     .buffers = 2,
     .pipelines = true,
     .barrier = GLOBAL},
};

typedef struct record_state {
  const record_case *what;
  uint32_t dispatches;
  vulkan_commands commands;
  vulkan_buffer buffer;
  VkDescriptorPool pool;
  VkDescriptorSet sets[MOST_SETS];
  VkPipeline pipeline[2];
} record_state;

// A set of `buffers` buffers is 256 bytes of the same one each.
static void fill_writes(const record_state *state, uint32_t buffers, VkDescriptorSet set,
                        VkDescriptorBufferInfo ranges[VULKAN_MOST_BUFFERS],
                        VkWriteDescriptorSet writes[VULKAN_MOST_BUFFERS]) {
  for (uint32_t b = 0; b < buffers; b++) {
    ranges[b] = (VkDescriptorBufferInfo){.buffer = state->buffer.buffer, .offset = 256 * b, .range = 256};
    writes[b] = (VkWriteDescriptorSet){.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                       .dstSet = set,
                                       .dstBinding = b,
                                       .descriptorCount = 1,
                                       .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                       .pBufferInfo = &ranges[b]};
  }
}

static void create_sets(record_state *state, uint32_t buffers) {
  VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, MOST_SETS * VULKAN_MOST_BUFFERS};
  VkDescriptorPoolCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
                                     .maxSets = MOST_SETS,
                                     .poolSizeCount = 1,
                                     .pPoolSizes = &size};
  VULKAN(CreateDescriptorPool(card.device, &info, NULL, &state->pool));
  VkDescriptorSetLayout layouts[MOST_SETS];
  for (int s = 0; s < MOST_SETS; s++) layouts[s] = vulkan_layout_of(buffers, false)->set;
  VkDescriptorSetAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                          .descriptorPool = state->pool,
                                          .descriptorSetCount = MOST_SETS,
                                          .pSetLayouts = layouts};
  VULKAN(AllocateDescriptorSets(card.device, &allocate, state->sets));
  for (int s = 0; s < MOST_SETS; s++) {
    VkDescriptorBufferInfo ranges[VULKAN_MOST_BUFFERS];
    VkWriteDescriptorSet writes[VULKAN_MOST_BUFFERS];
    fill_writes(state, buffers, state->sets[s], ranges, writes);
    vk.UpdateDescriptorSets(card.device, buffers, writes, 0, NULL);
  }
}

static void put_barrier(VkCommandBuffer commands, const record_state *state) {
  const VkAccessFlags both = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT;
  if (state->what->barrier == GLOBAL) {
    vulkan_barrier(commands);
  } else if (state->what->barrier == GLOBAL2) {
    VkMemoryBarrier2KHR barrier = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER_2_KHR,
                                   .srcStageMask = VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT_KHR,
                                   .srcAccessMask = VK_ACCESS_2_SHADER_WRITE_BIT_KHR,
                                   .dstStageMask = VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT_KHR,
                                   .dstAccessMask = VK_ACCESS_2_SHADER_READ_BIT_KHR | VK_ACCESS_2_SHADER_WRITE_BIT_KHR};
    VkDependencyInfoKHR info = {
        .sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO_KHR, .memoryBarrierCount = 1, .pMemoryBarriers = &barrier};
    vk.CmdPipelineBarrier2KHR(commands, &info);
  } else {
    uint32_t count = state->what->barrier == ONE_BUFFER ? 1 : 4;
    VkBufferMemoryBarrier barriers[4];
    for (uint32_t b = 0; b < count; b++)
      barriers[b] = (VkBufferMemoryBarrier){.sType = VK_STRUCTURE_TYPE_BUFFER_MEMORY_BARRIER,
                                            .srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT,
                                            .dstAccessMask = both,
                                            .srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
                                            .dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
                                            .buffer = state->buffer.buffer,
                                            .offset = 256 * b,
                                            .size = 256};
    vk.CmdPipelineBarrier(commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, 0, 0,
                          NULL, count, barriers, 0, NULL);
  }
}

static void put_dispatch(record_state *state, uint32_t number) {
  static const uint32_t constants[VULKAN_PUSH_BYTES / 4];
  const record_case *what = state->what;
  VkCommandBuffer commands = state->commands.buffer;
  VkPipelineLayout layout = vulkan_layout_of(what->buffers, what->pushed)->pipeline;
  if (what->pipelines) vk.CmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, state->pipeline[number % 2]);
  if (what->pushed) {
    VkDescriptorBufferInfo ranges[VULKAN_MOST_BUFFERS];
    VkWriteDescriptorSet writes[VULKAN_MOST_BUFFERS];
    fill_writes(state, what->buffers, VK_NULL_HANDLE, ranges, writes);
    vk.CmdPushDescriptorSetKHR(commands, VK_PIPELINE_BIND_POINT_COMPUTE, layout, 0, what->buffers, writes);
  } else if (what->buffers > 0) {
    vk.CmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, layout, 0, 1, &state->sets[number % MOST_SETS],
                             0, NULL);
  }
  if (what->push_bytes > 0)
    vk.CmdPushConstants(commands, layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, what->push_bytes, constants);
  vk.CmdDispatch(commands, 1, 1, 1);
  if (what->barrier != NO_BARRIER) put_barrier(commands, state);
}

static double record_once(void *argument) {
  record_state *state = argument;
  vulkan_begin(&state->commands);
  vk.CmdBindPipeline(state->commands.buffer, VK_PIPELINE_BIND_POINT_COMPUTE, state->pipeline[0]);
  static const uint32_t constants[4];
  vk.CmdPushConstants(state->commands.buffer, vulkan_layout_of(state->what->buffers, state->what->pushed)->pipeline,
                      VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof constants, constants);
  double start = gpu_now_us();
  for (uint32_t i = 0; i < state->dispatches; i++) put_dispatch(state, i);
  double us = gpu_now_us() - start;
  vulkan_end(&state->commands);
  return us / state->dispatches;
}

static void record_row(const record_case *what, uint32_t dispatches) {
  if (what->pushed && !card.push_descriptors) {
    vulkan_row_missing('a', "it lacks VK_KHR_push_descriptor", "record a dispatch: %s", what->name);
    return;
  }
  if (what->barrier == GLOBAL2 && !card.sync2) {
    vulkan_row_missing('a', "it lacks VK_KHR_synchronization2", "record a dispatch: %s", what->name);
    return;
  }
  record_state state = {.what = what, .dispatches = dispatches};
  vulkan_buffer_create(4096, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, 0, &state.buffer);
  if (what->buffers > 0 && !what->pushed) create_sets(&state, what->buffers);
  state.pipeline[0] = vulkan_touch_pipeline(what->buffers, what->pushed, 64);
  state.pipeline[1] = vulkan_touch_pipeline(what->buffers, what->pushed, 32);
  vulkan_commands_create(card.compute, &state.commands);
  vulkan_row('a', vulkan_sample(record_once, &state), "us", "record a dispatch: %s", what->name);
  // They also run.
  gpu_stat run = vulkan_scaled(vulkan_sample_run(&state.commands), vulkan_empty_us(card.compute), 1.0 / dispatches);
  vulkan_row('a', run, "us", "    execute it (one group that does nothing)");
  vulkan_commands_destroy(&state.commands);
  vk.DestroyDescriptorPool(card.device, state.pool, NULL);
  vulkan_buffer_destroy(&state.buffer);
}

// ---------------------------------------------------------------------------------------------------------------
// Sets and command buffers

static void update_rows(uint32_t buffers) {
  record_state state = {0};
  vulkan_buffer_create(4096, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, 0, &state.buffer);
  create_sets(&state, buffers);
  double one[VULKAN_MOST_RUNS], all[VULKAN_MOST_RUNS];
  VkDescriptorBufferInfo ranges[MOST_SETS][VULKAN_MOST_BUFFERS];
  VkWriteDescriptorSet writes[MOST_SETS * VULKAN_MOST_BUFFERS];
  for (uint32_t run = 0; run < options.runs; run++) {
    double start = gpu_now_us();
    for (uint32_t s = 0; s < MOST_SETS; s++) {
      fill_writes(&state, buffers, state.sets[s], ranges[s], writes);
      vk.UpdateDescriptorSets(card.device, buffers, writes, 0, NULL);
    }
    one[run] = (gpu_now_us() - start) / MOST_SETS;
    start = gpu_now_us();
    for (uint32_t s = 0; s < MOST_SETS; s++)
      fill_writes(&state, buffers, state.sets[s], ranges[s], writes + s * buffers);
    vk.UpdateDescriptorSets(card.device, MOST_SETS * buffers, writes, 0, NULL);
    all[run] = (gpu_now_us() - start) / MOST_SETS;
  }
  vulkan_row('a', gpu_statistics(one, options.runs), "us", "update a set of %u buffers: a call each", buffers);
  vulkan_row('a', gpu_statistics(all, options.runs), "us", "update a set of %u buffers: %d sets in a call", buffers,
             MOST_SETS);
  vk.DestroyDescriptorPool(card.device, state.pool, NULL);
  vulkan_buffer_destroy(&state.buffer);
}

static void command_rows(uint32_t dispatches) {
  double reset[VULKAN_MOST_RUNS], begin[VULKAN_MOST_RUNS], end[VULKAN_MOST_RUNS];
  record_case what = {.push_bytes = 16};
  record_state state = {.what = &what, .pipeline = {vulkan_touch_pipeline(0, false, 64)}};
  VkCommandBufferBeginInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
  vulkan_commands_create(card.compute, &state.commands);
  for (uint32_t run = 0; run < options.runs; run++) {
    double start = gpu_now_us();
    VULKAN(BeginCommandBuffer(state.commands.buffer, &info));
    begin[run] = gpu_now_us() - start;
    vk.CmdBindPipeline(state.commands.buffer, VK_PIPELINE_BIND_POINT_COMPUTE, state.pipeline[0]);
    for (uint32_t i = 0; i < dispatches; i++) put_dispatch(&state, i);
    start = gpu_now_us();
    VULKAN(EndCommandBuffer(state.commands.buffer));
    end[run] = gpu_now_us() - start;
    start = gpu_now_us();
    VULKAN(ResetCommandPool(card.device, state.commands.pool, 0));
    reset[run] = gpu_now_us() - start;
  }
  vulkan_row('a', gpu_statistics(begin, options.runs), "us", "vkBeginCommandBuffer");
  vulkan_row('a', gpu_statistics(end, options.runs), "us", "vkEndCommandBuffer after %u dispatches", dispatches);
  vulkan_row('a', gpu_statistics(reset, options.runs), "us", "vkResetCommandPool after %u dispatches", dispatches);
  vulkan_commands_destroy(&state.commands);
}

void vulkan_ways_record(void) {
  uint32_t dispatches = options.quick ? 20 : 1000;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) record_row(&cases[i], dispatches);
  update_rows(1);
  update_rows(2);
  update_rows(4);
  command_rows(1);
  command_rows(options.quick ? 20 : 1000);
}
