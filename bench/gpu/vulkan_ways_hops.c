// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>

#include "vulkan_ways.h"

enum { MOST_HOPS = 128, MOST_BATCH = 16 };

// A chain of submissions that alternates between two queues. Each waits for the one before and signals the next value.
typedef struct hops {
  const vulkan_family *families[2];
  VkQueue queues[2];
  uint32_t count, batch; // submissions; so many in one call
  bool gated;            // the first one waits until the host says go, when all are submitted
  vulkan_commands commands[MOST_HOPS];
  vulkan_timeline timeline;
  double host_us; // of the last run: submitting
} hops;

static void create(hops *chain) {
  VkPipeline pipeline = vulkan_touch_pipeline(0, false, 32);
  vulkan_timeline_create(&chain->timeline);
  for (uint32_t h = 0; h < chain->count; h++) {
    vulkan_commands_create(chain->families[h % 2], &chain->commands[h]);
    vulkan_begin(&chain->commands[h]);
    vk.CmdBindPipeline(chain->commands[h].buffer, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
    vk.CmdDispatch(chain->commands[h].buffer, 1, 1, 1);
    vulkan_end(&chain->commands[h]);
  }
}

static void destroy(hops *chain) {
  for (uint32_t h = 0; h < chain->count; h++) vulkan_commands_destroy(&chain->commands[h]);
  vulkan_timeline_destroy(&chain->timeline);
}

// Submits hops `first`, `first` + 2, ... on their queue in one call.
static void submit(hops *chain, uint32_t first, uint64_t base) {
  VkSubmitInfo infos[MOST_BATCH];
  VkTimelineSemaphoreSubmitInfo values[MOST_BATCH];
  uint64_t waits[MOST_BATCH], signals[MOST_BATCH];
  const VkPipelineStageFlags stage = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT;
  uint32_t count = 0;
  for (uint32_t h = first; h < chain->count && count < chain->batch; h += 2, count++) {
    waits[count] = base + h;
    signals[count] = base + h + 1;
    values[count] = (VkTimelineSemaphoreSubmitInfo){.sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
                                                    .waitSemaphoreValueCount = 1,
                                                    .pWaitSemaphoreValues = &waits[count],
                                                    .signalSemaphoreValueCount = 1,
                                                    .pSignalSemaphoreValues = &signals[count]};
    infos[count] = (VkSubmitInfo){.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                                  .pNext = &values[count],
                                  .waitSemaphoreCount = 1,
                                  .pWaitSemaphores = &chain->timeline.semaphore,
                                  .pWaitDstStageMask = &stage,
                                  .commandBufferCount = 1,
                                  .pCommandBuffers = &chain->commands[h].buffer,
                                  .signalSemaphoreCount = 1,
                                  .pSignalSemaphores = &chain->timeline.semaphore};
  }
  VULKAN(QueueSubmit(chain->queues[first % 2], count, infos, VK_NULL_HANDLE));
}

static double run_once(void *argument) {
  hops *chain = argument;
  uint64_t base = chain->timeline.value + chain->gated;
  double start = gpu_now_us();
  for (uint32_t h = 0; h < chain->count; h += 2 * chain->batch) {
    submit(chain, h, base);
    if (h + 1 < chain->count) submit(chain, h + 1, base);
  }
  chain->host_us = gpu_now_us() - start;
  if (chain->gated) {
    VkSemaphoreSignalInfo go = {
        .sType = VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO, .semaphore = chain->timeline.semaphore, .value = base};
    start = gpu_now_us();
    VULKAN(SignalSemaphore(card.device, &go));
  }
  chain->timeline.value = base + chain->count;
  vulkan_await(&chain->timeline);
  return gpu_now_us() - start;
}

static void rows(hops *chain, const char *name) {
  double host[VULKAN_MOST_RUNS], total[VULKAN_MOST_RUNS];
  create(chain);
  run_once(chain);
  for (uint32_t run = 0; run < options.runs; run++) {
    total[run] = run_once(chain) / chain->count;
    host[run] = chain->host_us / chain->count;
  }
  vulkan_row('d', gpu_statistics(total, options.runs), "us", "%s: %u hops, %u a call, %s: each hop", name, chain->count,
             chain->batch,
             chain->gated ? "all submitted before the host lets the first go" : "from the first submission on");
  vulkan_row('d', gpu_statistics(host, options.runs), "us", "    host time for each submission");
  destroy(chain);
}

static void all_rows(const vulkan_family *left, uint32_t left_queue, const vulkan_family *right, uint32_t right_queue,
                     const char *name) {
  static hops chain;
  for (uint32_t batch = 1; batch <= MOST_BATCH; batch *= 4) {
    for (int gated = 0; gated < 2; gated++) {
      chain = (hops){.families = {left, right},
                     .queues = {left->queues[left_queue], right->queues[right_queue]},
                     .count = options.quick ? 8 : MOST_HOPS,
                     .batch = batch,
                     .gated = gated};
      // On one queue a call may not hold back what the next call's submissions must signal.
      if (chain.queues[0] == chain.queues[1] && batch > 1) continue;
      rows(&chain, name);
    }
  }
}

void vulkan_ways_hops(void) {
  const vulkan_family *compute = card.compute, *other = NULL;
  for (uint32_t f = 0; f < card.family_count; f++) {
    if (&card.families[f] != compute && vulkan_computes(&card.families[f])) other = &card.families[f];
  }
  all_rows(compute, 0, compute, 0, "submissions that wait for each other on one queue");
  if (compute->queue_count > 1)
    all_rows(compute, 0, compute, 1, "between two queues of the compute family");
  else
    vulkan_row_missing('d', "it has one queue", "hops between two queues of %s", compute->name);
  if (other)
    all_rows(compute, 0, other, 0, "between a queue of the compute family and one of the graphics family");
  else
    vulkan_row_missing('d', "only one family computes", "hops between two families");
}
