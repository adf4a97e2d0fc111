// SPDX-License-Identifier: Apache-2.0
#include "vulkan_spin.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "shaders/measure.h"
#include "shaders/spin_realtime.h"
#include "shaders/spin_subgroup.h"

enum { MOST_SHAPES = 512, COARSE_NS = 100, STEPS = 64 };

vulkan_spin_facts vulkan_spin;

typedef struct shape {
  vulkan_clock clock;
  uint32_t threads, shared_bytes;
  VkPipeline pipeline;
} shape;

static shape shapes[MOST_SHAPES];
static uint32_t shape_count;

// What measure.comp writes.
typedef struct readings {
  uint32_t now[2], step_sum, step_low, device, subgroup;
} readings;

typedef struct clock_reader {
  vulkan_commands commands;
  VkDescriptorPool pool;
  VkDescriptorSet set;
  vulkan_buffer buffer;
  VkPipeline pipeline;
} clock_reader;

static void reader_create(clock_reader *out_reader) {
  const vulkan_layout *layout = vulkan_layout_of(true);
  *out_reader = (clock_reader){.pipeline = vulkan_pipeline(shader_measure, sizeof shader_measure, layout, 1, 1)};
  VkMemoryPropertyFlags wanted = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  if (!vulkan_buffer_create(sizeof(readings), wanted, &out_reader->buffer))
    vulkan_check(VK_ERROR_OUT_OF_DEVICE_MEMORY, "memory that the host sees");
  VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1};
  VkDescriptorPoolCreateInfo pool = {
      .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO, .maxSets = 1, .poolSizeCount = 1, .pPoolSizes = &size};
  VULKAN(CreateDescriptorPool(card.device, &pool, NULL, &out_reader->pool));
  VkDescriptorSetAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                          .descriptorPool = out_reader->pool,
                                          .descriptorSetCount = 1,
                                          .pSetLayouts = &layout->set};
  VULKAN(AllocateDescriptorSets(card.device, &allocate, &out_reader->set));
  VkDescriptorBufferInfo range = {out_reader->buffer.buffer, 0, VK_WHOLE_SIZE};
  VkWriteDescriptorSet write = {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                .dstSet = out_reader->set,
                                .descriptorCount = 1,
                                .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                .pBufferInfo = &range};
  vk.UpdateDescriptorSets(card.device, 1, &write, 0, NULL);
  vulkan_commands_create(card.compute, &out_reader->commands);
}

static void reader_destroy(clock_reader *reader) {
  vulkan_commands_destroy(&reader->commands);
  vk.DestroyDescriptorPool(card.device, reader->pool, NULL);
  vulkan_buffer_destroy(&reader->buffer);
}

static readings read_clocks(clock_reader *reader, uint32_t steps, uint32_t ticks) {
  uint32_t constants[2] = {steps, ticks};
  const vulkan_layout *layout = vulkan_layout_of(true);
  VkCommandBuffer commands = reader->commands.buffer;
  vulkan_begin(&reader->commands);
  vk.CmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, reader->pipeline);
  vk.CmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, layout->pipeline, 0, 1, &reader->set, 0, NULL);
  vk.CmdPushConstants(commands, layout->pipeline, VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof constants, constants);
  vk.CmdDispatch(commands, 1, 1, 1);
  VkMemoryBarrier barrier = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                             .srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT,
                             .dstAccessMask = VK_ACCESS_HOST_READ_BIT};
  vk.CmdPipelineBarrier(commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &barrier, 0,
                        NULL, 0, NULL);
  vulkan_end(&reader->commands);
  vulkan_run(card.compute->queues[0], commands);
  return *(const readings *)reader->buffer.mapped;
}

// The device's clock and the host's at about the same time: the reading that took the shortest.
static uint64_t device_now(clock_reader *reader, double *out_host_us) {
  double shortest = 1e9;
  *out_host_us = 0;
  uint64_t device = 0;
  for (int i = 0; i < 10; i++) {
    double start = gpu_now_us();
    readings now = read_clocks(reader, 0, 0);
    double us = gpu_now_us() - start;
    if (us >= shortest) continue;
    shortest = us;
    *out_host_us = start + us / 2;
    device = (uint64_t)now.now[1] << 32 | now.now[0];
  }
  return device;
}

void vulkan_spin_open(void) {
  clock_reader reader;
  reader_create(&reader);
  device_now(&reader, &(double){0});
  double host[2] = {0};
  uint64_t device[2];
  device[0] = device_now(&reader, &host[0]);
  struct timespec pause = {.tv_nsec = 100000000};
  nanosleep(&pause, NULL);
  device[1] = device_now(&reader, &host[1]);
  double rate = (double)(device[1] - device[0]) / (host[1] - host[0]);
  if (rate > 990 && rate < 1010) rate = 1000; // nanoseconds
  readings steps = read_clocks(&reader, STEPS, 0);
  read_clocks(&reader, 0, (uint32_t)(rate * 20000)); // lets the device reach its clock
  readings ticks = read_clocks(&reader, 0, (uint32_t)(rate * 20000));
  vulkan_spin = (vulkan_spin_facts){
      .ticks_per_us = {rate, ticks.subgroup * rate / ticks.device},
      .step_ticks = steps.step_sum / (double)STEPS,
      .step_low = steps.step_low,
  };
  vulkan_spin.clock = vulkan_spin.step_ticks * 1000 > COARSE_NS * rate ? VULKAN_SUBGROUP : VULKAN_REALTIME;
  reader_destroy(&reader);
}

VkPipeline vulkan_spin_pipeline(vulkan_clock clock, uint32_t threads, uint32_t shared_bytes) {
  for (uint32_t i = 0; i < shape_count; i++) {
    const shape *known = &shapes[i];
    if (known->clock == clock && known->threads == threads && known->shared_bytes == shared_bytes)
      return known->pipeline;
  }
  if (shape_count == MOST_SHAPES) {
    fprintf(stderr, "weir-gpu-vulkan: more than %d shapes of kernels\n", MOST_SHAPES);
    exit(1);
  }
  const uint32_t *code = clock == VULKAN_REALTIME ? shader_spin_realtime : shader_spin_subgroup;
  size_t bytes = clock == VULKAN_REALTIME ? sizeof shader_spin_realtime : sizeof shader_spin_subgroup;
  uint32_t words = shared_bytes >= 4 ? shared_bytes / 4 : 1;
  VkPipeline pipeline = vulkan_pipeline(code, bytes, vulkan_layout_of(false), threads, words);
  shapes[shape_count++] = (shape){clock, threads, shared_bytes, pipeline};
  return pipeline;
}

void vulkan_spin_put(VkCommandBuffer commands, vulkan_clock clock, const uint32_t groups[3], double us) {
  uint32_t constants[4] = {us > 0 ? (uint32_t)(us * vulkan_spin.ticks_per_us[clock]) : 0}; // keeps nothing
  vk.CmdPushConstants(commands, vulkan_layout_of(false)->pipeline, VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof constants,
                      constants);
  vk.CmdDispatch(commands, groups[0], groups[1], groups[2]);
}
