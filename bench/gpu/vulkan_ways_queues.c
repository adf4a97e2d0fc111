// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>

#include "vulkan_spin.h"
#include "vulkan_ways.h"

enum { MOST = VULKAN_MOST_FAMILIES * VULKAN_MOST_QUEUES };

// Command buffers that run beside each other, a queue each.
typedef struct beside {
  uint32_t count;
  VkQueue queues[MOST];
  vulkan_commands commands[MOST];
  vulkan_timeline timelines[MOST];
} beside;

// A chain: kernels of one group, a barrier after each. `us` 0: empty ones.
static void add_chain(beside *all, const vulkan_family *family, uint32_t queue, uint32_t length, double us) {
  uint32_t i = all->count++;
  all->queues[i] = family->queues[queue];
  vulkan_timeline_create(&all->timelines[i]);
  vulkan_commands_create(family, &all->commands[i]);
  vulkan_begin(&all->commands[i]);
  VkCommandBuffer commands = all->commands[i].buffer;
  vk.CmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, vulkan_spin_pipeline(vulkan_spin.clock, 128, 0));
  for (uint32_t k = 0; k < length; k++) {
    vulkan_spin_put(commands, vulkan_spin.clock, 1, us);
    vulkan_barrier(commands);
  }
  vulkan_end(&all->commands[i]);
}

static double run_once(void *argument) {
  beside *all = argument;
  double start = gpu_now_us();
  for (uint32_t i = 0; i < all->count; i++) vulkan_submit(all->queues[i], all->commands[i].buffer, &all->timelines[i]);
  for (uint32_t i = 0; i < all->count; i++) vulkan_await(&all->timelines[i]);
  return gpu_now_us() - start;
}

static gpu_stat run_and_destroy(beside *all) {
  gpu_stat stat = vulkan_sample(run_once, all);
  for (uint32_t i = 0; i < all->count; i++) {
    vulkan_commands_destroy(&all->commands[i]);
    vulkan_timeline_destroy(&all->timelines[i]);
  }
  all->count = 0;
  return stat;
}

static uint32_t length_of(double us) {
  if (options.quick) return 8;
  return us > 0 ? 64 : 1000;
}

// How much 2, 4, ... queues of a family do in the time in which one does a chain.
static void family_rows(const vulkan_family *family, double us) {
  static beside all;
  double one = 0;
  uint32_t length = length_of(us);
  for (uint32_t queues = 1; queues <= family->queue_count; queues *= 2) {
    for (uint32_t q = 0; q < queues; q++) add_chain(&all, family, q, length, us);
    gpu_stat stat = run_and_destroy(&all);
    if (queues == 1) one = stat.median;
    vulkan_row('d', stat, "us", "%s: %u queues, a chain of %u x %.0f us on each (%.2fx the work of one queue)",
               family->name, queues, length, us, queues * one / stat.median);
  }
  if (family->queue_count < 2) vulkan_row_missing('d', "it has one queue", "%s: several queues", family->name);
}

// One queue of each family that computes, and `most` of each.
static void mixed_row(uint32_t most) {
  static beside all;
  uint32_t length = length_of(10);
  for (uint32_t f = 0; f < card.family_count; f++) {
    for (uint32_t q = 0; vulkan_computes(&card.families[f]) && q < most && q < card.families[f].queue_count; q++)
      add_chain(&all, &card.families[f], q, length, 10);
  }
  uint32_t queues = all.count;
  gpu_stat stat = run_and_destroy(&all);
  vulkan_row('d', stat, "us", "up to %u queues of each family, %u in all, a chain of %u x 10 us on each", most, queues,
             length);
}

// A long kernel on one queue beside chains on others.
static void beside_long_rows(const vulkan_family *family) {
  static beside all;
  uint32_t length = length_of(10);
  double us = 30 * length;
  for (uint32_t others = 0; others <= family->queue_count - 1 && others <= 7; others = others * 2 + 1) {
    add_chain(&all, family, 0, 1, us);
    for (uint32_t q = 1; q <= others; q++) add_chain(&all, family, q, length, 10);
    vulkan_row('e', run_and_destroy(&all), "us",
               "%s: one kernel of %.0f us, and chains of %u x 10 us on %u other queues", family->name, us, length,
               others);
  }
}

void vulkan_ways_queues(void) {
  for (uint32_t f = 0; f < card.family_count; f++) {
    if (!vulkan_computes(&card.families[f])) continue;
    family_rows(&card.families[f], 0);
    family_rows(&card.families[f], 10);
  }
  mixed_row(1);
  mixed_row(8);
  for (uint32_t f = 0; f < card.family_count; f++) {
    if (vulkan_computes(&card.families[f])) beside_long_rows(&card.families[f]);
  }
}
