// SPDX-License-Identifier: Apache-2.0
#include "vulkan_ways.h"

gpu_stat vulkan_sample(double (*once)(void *argument), void *argument) {
  double samples[VULKAN_MOST_RUNS];
  once(argument);
  for (uint32_t run = 0; run < options.runs; run++) samples[run] = once(argument);
  return gpu_statistics(samples, options.runs);
}

static double run_once(void *argument) {
  const vulkan_commands *commands = argument;
  return vulkan_run(commands->family->queues[0], commands->buffer);
}

gpu_stat vulkan_sample_run(const vulkan_commands *commands) {
  vulkan_commands copy = *commands;
  return vulkan_sample(run_once, &copy);
}

double vulkan_empty_us(const vulkan_family *family) {
  static double known[VULKAN_MOST_FAMILIES];
  double *us = &known[family - card.families];
  if (*us > 0) return *us;
  vulkan_commands commands;
  vulkan_commands_create(family, &commands);
  vulkan_begin(&commands);
  vk.CmdBindPipeline(commands.buffer, VK_PIPELINE_BIND_POINT_COMPUTE, vulkan_touch_pipeline(0, false, 32));
  vk.CmdDispatch(commands.buffer, 1, 1, 1);
  vulkan_end(&commands);
  *us = vulkan_sample_run(&commands).median;
  vulkan_commands_destroy(&commands);
  return *us;
}
