// SPDX-License-Identifier: Apache-2.0
#include "vulkan_spin.h"
#include "vulkan_ways.h"

enum { CHAIN = 100 };

typedef struct spin_state {
  vulkan_commands commands;
  VkQueryPool queries;
  double device_us; // of the last run, between its timestamps
} spin_state;

static double run_once(void *argument) {
  spin_state *state = argument;
  double us = vulkan_run(card.compute->queues[0], state->commands.buffer);
  uint64_t times[2] = {0};
  if (state->queries) {
    VULKAN(GetQueryPoolResults(card.device, state->queries, 0, 2, sizeof times, times, sizeof *times,
                               VK_QUERY_RESULT_64_BIT));
    state->device_us = (double)(times[1] - times[0]) * (double)card.properties.limits.timestampPeriod * 1e-3;
  }
  return us;
}

// Kernels of `us` in a chain: what each takes by the host's clock and by timestamps.
static void chain_rows(vulkan_clock clock, double us) {
  static const char *const names[] = {"clockRealtimeEXT", "clockARB"};
  spin_state state = {0};
  uint32_t length = options.quick ? 10 : CHAIN;
  if (card.compute->timestamps) {
    VkQueryPoolCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO, .queryType = VK_QUERY_TYPE_TIMESTAMP, .queryCount = 2};
    VULKAN(CreateQueryPool(card.device, &info, NULL, &state.queries));
  }
  vulkan_commands_create(card.compute, &state.commands);
  vulkan_begin(&state.commands);
  VkCommandBuffer commands = state.commands.buffer;
  if (state.queries) {
    vk.CmdResetQueryPool(commands, state.queries, 0, 2);
    vk.CmdWriteTimestamp(commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, state.queries, 0);
  }
  vk.CmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, vulkan_spin_pipeline(clock, 128, 0));
  for (uint32_t i = 0; i < length; i++) {
    vulkan_spin_put(commands, clock, 1, us);
    vulkan_barrier(commands);
  }
  if (state.queries) vk.CmdWriteTimestamp(commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, state.queries, 1);
  vulkan_end(&state.commands);
  double host[VULKAN_MOST_RUNS], device[VULKAN_MOST_RUNS];
  run_once(&state);
  for (uint32_t run = 0; run < options.runs; run++) {
    host[run] = run_once(&state);
    device[run] = state.device_us;
  }
  gpu_stat stat = vulkan_scaled(gpu_statistics(host, options.runs), vulkan_empty_us(card.compute), 1.0 / length);
  vulkan_row('f', stat, "us", "spin %.0f us by %s, chain of %u, by the host's clock: each", us, names[clock], length);
  stat = vulkan_scaled(gpu_statistics(device, options.runs), 0, 1.0 / length);
  if (state.queries)
    vulkan_row('f', stat, "us", "    by timestamps: each");
  else
    vulkan_row_missing('f', "the family has no timestamps", "    by timestamps: each");
  vulkan_commands_destroy(&state.commands);
  vk.DestroyQueryPool(card.device, state.queries, NULL);
}

void vulkan_ways_clocks(void) {
  vulkan_fact('f', "clockRealtimeEXT",
              "%.3f ticks a us by the host's clock; a shader sees steps of %.1f ticks, at least %.0f",
              vulkan_spin.ticks_per_us[VULKAN_REALTIME], vulkan_spin.step_ticks, vulkan_spin.step_low);
  vulkan_fact('f', "clockARB", "%.3f ticks a us after 20 ms of spinning", vulkan_spin.ticks_per_us[VULKAN_SUBGROUP]);
  vulkan_fact('f', "spin by", "%s", vulkan_spin.clock == VULKAN_REALTIME ? "clockRealtimeEXT" : "clockARB");
  vulkan_fact('f', "timestamps", "%.4f ns a tick", (double)card.properties.limits.timestampPeriod);
  for (vulkan_clock clock = VULKAN_REALTIME; clock <= VULKAN_SUBGROUP; clock++) {
    chain_rows(clock, 0);
    chain_rows(clock, 5);
    chain_rows(clock, 10);
    chain_rows(clock, 50);
  }
}
