// SPDX-License-Identifier: Apache-2.0
#include "vulkan_spin.h"
#include "vulkan_ways.h"

typedef struct execute_case {
  const char *name;
  uint32_t every;            // a barrier after so many dispatches; 0: none
  bool buffer, memory, wide; // a barrier on a buffer; with memory accesses; all stages and all accesses
} execute_case;

static const execute_case cases[] = {
    {.name = "no barrier"},
    {.name = "barrier after 8", .every = 8, .memory = true},
    {.name = "barrier after each", .every = 1, .memory = true},
    {.name = "barrier after each, of execution only", .every = 1},
    {.name = "barrier after each, on a buffer", .every = 1, .memory = true, .buffer = true},
    {.name = "barrier after each, all stages and accesses", .every = 1, .memory = true, .wide = true},
};

static void put_barrier(VkCommandBuffer commands, const execute_case *what, VkBuffer buffer) {
  VkPipelineStageFlags stage = what->wide ? VK_PIPELINE_STAGE_ALL_COMMANDS_BIT : VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT;
  VkAccessFlags from = what->wide ? VK_ACCESS_MEMORY_WRITE_BIT : VK_ACCESS_SHADER_WRITE_BIT;
  VkAccessFlags to = what->wide ? VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT
                                : VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT;
  VkMemoryBarrier memory = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER, .srcAccessMask = from, .dstAccessMask = to};
  VkBufferMemoryBarrier range = {.sType = VK_STRUCTURE_TYPE_BUFFER_MEMORY_BARRIER,
                                 .srcAccessMask = from,
                                 .dstAccessMask = to,
                                 .srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
                                 .dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
                                 .buffer = buffer,
                                 .size = VK_WHOLE_SIZE};
  vk.CmdPipelineBarrier(commands, stage, stage, 0, what->memory && !what->buffer, &memory, what->buffer, &range, 0,
                        NULL);
}

static void execute_rows(const vulkan_family *family, const execute_case *what, double us, uint32_t dispatches) {
  vulkan_commands commands;
  vulkan_buffer buffer;
  vulkan_buffer_create(4096, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, 0, &buffer);
  vulkan_commands_create(family, &commands);
  vulkan_begin(&commands);
  VkPipeline pipeline = us > 0 ? vulkan_spin_pipeline(vulkan_spin.clock, 128, 0) : vulkan_touch_pipeline(0, false, 128);
  vk.CmdBindPipeline(commands.buffer, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
  for (uint32_t i = 0; i < dispatches; i++) {
    if (us > 0)
      vulkan_spin_put(commands.buffer, vulkan_spin.clock, 1, us);
    else
      vk.CmdDispatch(commands.buffer, 1, 1, 1);
    if (what->every > 0 && (i + 1) % what->every == 0) put_barrier(commands.buffer, what, buffer.buffer);
  }
  vulkan_end(&commands);
  gpu_stat stat = vulkan_scaled(vulkan_sample_run(&commands), vulkan_empty_us(family), 1.0 / dispatches);
  if (us > 0)
    vulkan_row('b', stat, "us", "%s: each of %u dispatches of %.0f us, one group: %s", family->name, dispatches, us,
               what->name);
  else
    vulkan_row('b', stat, "us", "%s: each of %u empty dispatches: %s", family->name, dispatches, what->name);
  vulkan_commands_destroy(&commands);
  vulkan_buffer_destroy(&buffer);
}

void vulkan_ways_execute(void) {
  for (uint32_t f = 0; f < card.family_count; f++) {
    if (!vulkan_computes(&card.families[f])) continue;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
      execute_rows(&card.families[f], &cases[i], 0, options.quick ? 16 : 1024);
    for (size_t i = 0; i < 3; i++) execute_rows(&card.families[f], &cases[i], 10, options.quick ? 16 : 256);
  }
}
