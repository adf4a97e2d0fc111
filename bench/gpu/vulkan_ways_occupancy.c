// SPDX-License-Identifier: Apache-2.0
#include "vulkan_spin.h"
#include "vulkan_ways.h"

// Waves of groups that spin: how many of them run at once. Without the number of multiprocessors as many groups as a small
// card holds.
static void groups_row(uint32_t threads, uint32_t shared_bytes) {
  const VkPhysicalDeviceLimits *limits = &card.properties.limits;
  if (threads > limits->maxComputeWorkGroupInvocations || shared_bytes > limits->maxComputeSharedMemorySize) {
    vulkan_row_missing('g', "over the device's limit", "groups at once: %u threads, %u bytes of shared memory", threads,
                       shared_bytes);
    return;
  }
  double us = options.quick ? 5 : 100;
  uint32_t groups = card.sms > 0 ? 64 * card.sms : 16;
  vulkan_commands commands;
  vulkan_commands_create(card.compute, &commands);
  vulkan_begin(&commands);
  vk.CmdBindPipeline(commands.buffer, VK_PIPELINE_BIND_POINT_COMPUTE,
                     vulkan_spin_pipeline(vulkan_spin.clock, threads, shared_bytes));
  vulkan_spin_put(commands.buffer, vulkan_spin.clock, groups, us);
  vulkan_end(&commands);
  gpu_stat time = vulkan_sample_run(&commands);
  if (time.low > 2 * vulkan_empty_us(card.compute)) time = vulkan_scaled(time, vulkan_empty_us(card.compute), 1);
  double work = groups * us;
  gpu_stat stat = {work / time.median, work / time.high, work / time.low};
  if (card.sms > 0)
    vulkan_row('g', vulkan_scaled(stat, 0, 1.0 / card.sms), "groups an SM",
               "groups at once: %u threads, %u bytes of shared memory, of %u x %.0f us", threads, shared_bytes, groups,
               us);
  else
    vulkan_row('g', stat, "groups", "groups at once: %u threads, %u bytes of shared memory, of %u x %.0f us", threads,
               shared_bytes, groups, us);
  vulkan_commands_destroy(&commands);
}

// Dispatches of one group with no barrier, on one queue.
static void kernels_row(const vulkan_family *family, uint32_t dispatches) {
  double us = options.quick ? 10 : 200;
  vulkan_commands commands;
  vulkan_commands_create(family, &commands);
  vulkan_begin(&commands);
  vk.CmdBindPipeline(commands.buffer, VK_PIPELINE_BIND_POINT_COMPUTE, vulkan_spin_pipeline(vulkan_spin.clock, 128, 0));
  for (uint32_t i = 0; i < dispatches; i++) vulkan_spin_put(commands.buffer, vulkan_spin.clock, 1, us);
  vulkan_end(&commands);
  gpu_stat time = vulkan_scaled(vulkan_sample_run(&commands), vulkan_empty_us(family), 1);
  vulkan_row('g', time, "us", "%s: %u dispatches of one group of %.0f us, no barrier", family->name, dispatches, us);
  vulkan_commands_destroy(&commands);
}

void vulkan_ways_occupancy(void) {
  const VkPhysicalDeviceLimits *limits = &card.properties.limits;
  if (card.sms > 0) vulkan_fact('g', "multiprocessors", "%u", card.sms);
  vulkan_fact(
      'g', "limits",
      "%u bytes of shared memory a group, %u threads a group, %u bytes of push constants, %u storage buffers a stage",
      limits->maxComputeSharedMemorySize, limits->maxComputeWorkGroupInvocations, limits->maxPushConstantsSize,
      limits->maxPerStageDescriptorStorageBuffers);
  static const uint32_t threads[] = {1024, 768, 512, 256, 128, 64, 32};
  for (size_t i = 0; i < sizeof threads / sizeof *threads; i++) groups_row(threads[i], 0);
  static const uint32_t shared[] = {48 << 10, 44 << 10, 32 << 10, 24 << 10, 16 << 10, 12 << 10, 8 << 10, 4 << 10};
  for (size_t i = 0; i < sizeof shared / sizeof *shared; i++) groups_row(32, shared[i]);
  groups_row(1024, 48 << 10);
  groups_row(512, 48 << 10);
  groups_row(256, 48 << 10);
  for (uint32_t f = 0; f < card.family_count; f++) {
    for (uint32_t n = 1; vulkan_computes(&card.families[f]) && n <= (options.quick ? 4 : 512); n *= 2)
      kernels_row(&card.families[f], n);
  }
}
