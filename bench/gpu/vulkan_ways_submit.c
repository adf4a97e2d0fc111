// SPDX-License-Identifier: Apache-2.0
#include "vulkan_ways.h"

enum { MOST_INFOS = 16 };

typedef enum submit_kind { PLAIN, SIGNAL, SIGNAL_AND_WAIT, WITH_FENCE, SUBMIT2 } submit_kind;
static const char *const kind_names[] = {"no semaphore", "timeline signal each", "timeline signal and wait each",
                                         "a fence", "vkQueueSubmit2, timeline signal and wait each"};

typedef struct submit_state {
  submit_kind kind;
  uint32_t infos;
  vulkan_commands commands[MOST_INFOS];
  vulkan_timeline timeline;
  VkFence fence;
} submit_state;

static void create(submit_state *state) {
  VkPipeline pipeline = vulkan_touch_pipeline(0, false, 32);
  for (int i = 0; i < MOST_INFOS; i++) {
    vulkan_commands_create(card.compute, &state->commands[i]);
    vulkan_begin(&state->commands[i]);
    vk.CmdBindPipeline(state->commands[i].buffer, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
    vk.CmdDispatch(state->commands[i].buffer, 1, 1, 1);
    vulkan_end(&state->commands[i]);
  }
  vulkan_timeline_create(&state->timeline);
  VkFenceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
  VULKAN(CreateFence(card.device, &info, NULL, &state->fence));
}

static void destroy(submit_state *state) {
  for (int i = 0; i < MOST_INFOS; i++) vulkan_commands_destroy(&state->commands[i]);
  vulkan_timeline_destroy(&state->timeline);
  vk.DestroyFence(card.device, state->fence, NULL);
}

static void submit(submit_state *state, VkQueue queue) {
  VkSubmitInfo infos[MOST_INFOS];
  VkTimelineSemaphoreSubmitInfo values[MOST_INFOS];
  uint64_t signals[MOST_INFOS], wait = state->timeline.value;
  const VkPipelineStageFlags stage = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT;
  bool waits = state->kind == SIGNAL_AND_WAIT, has_signal = waits || state->kind == SIGNAL;
  for (uint32_t i = 0; i < state->infos; i++) {
    signals[i] = ++state->timeline.value;
    values[i] = (VkTimelineSemaphoreSubmitInfo){.sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
                                                .waitSemaphoreValueCount = waits,
                                                .pWaitSemaphoreValues = &wait,
                                                .signalSemaphoreValueCount = 1,
                                                .pSignalSemaphoreValues = &signals[i]};
    infos[i] = (VkSubmitInfo){.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                              .pNext = has_signal ? &values[i] : NULL,
                              .waitSemaphoreCount = waits,
                              .pWaitSemaphores = &state->timeline.semaphore,
                              .pWaitDstStageMask = &stage,
                              .commandBufferCount = 1,
                              .pCommandBuffers = &state->commands[i].buffer,
                              .signalSemaphoreCount = has_signal,
                              .pSignalSemaphores = &state->timeline.semaphore};
  }
  if (!has_signal) state->timeline.value = wait;
  VULKAN(QueueSubmit(queue, state->infos, infos, state->kind == WITH_FENCE ? state->fence : VK_NULL_HANDLE));
}

static void submit2(submit_state *state, VkQueue queue) {
  VkSubmitInfo2KHR infos[MOST_INFOS];
  VkSemaphoreSubmitInfoKHR signals[MOST_INFOS];
  VkCommandBufferSubmitInfoKHR commands[MOST_INFOS];
  VkSemaphoreSubmitInfoKHR wait = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SUBMIT_INFO_KHR,
                                   .semaphore = state->timeline.semaphore,
                                   .value = state->timeline.value,
                                   .stageMask = VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT_KHR};
  for (uint32_t i = 0; i < state->infos; i++) {
    signals[i] = wait;
    signals[i].value = ++state->timeline.value;
    commands[i] = (VkCommandBufferSubmitInfoKHR){.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO_KHR,
                                                 .commandBuffer = state->commands[i].buffer};
    infos[i] = (VkSubmitInfo2KHR){.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO_2_KHR,
                                  .waitSemaphoreInfoCount = 1,
                                  .pWaitSemaphoreInfos = &wait,
                                  .commandBufferInfoCount = 1,
                                  .pCommandBufferInfos = &commands[i],
                                  .signalSemaphoreInfoCount = 1,
                                  .pSignalSemaphoreInfos = &signals[i]};
  }
  VULKAN(QueueSubmit2KHR(queue, state->infos, infos, VK_NULL_HANDLE));
}

static double submit_once(void *argument) {
  submit_state *state = argument;
  VkQueue queue = card.compute->queues[0];
  double start = gpu_now_us();
  if (state->kind == SUBMIT2)
    submit2(state, queue);
  else
    submit(state, queue);
  double us = gpu_now_us() - start;
  VULKAN(QueueWaitIdle(queue));
  if (state->kind == WITH_FENCE) VULKAN(ResetFences(card.device, 1, &state->fence));
  return us;
}

static double counter_once(void *argument) {
  submit_state *state = argument;
  enum { CALLS = 100 };
  double start = gpu_now_us();
  uint64_t value;
  for (int i = 0; i < CALLS; i++) VULKAN(GetSemaphoreCounterValue(card.device, state->timeline.semaphore, &value));
  return (gpu_now_us() - start) / CALLS;
}

static double poll_counter_once(void *argument) {
  submit_state *state = argument;
  double start = gpu_now_us();
  vulkan_submit(card.compute->queues[0], state->commands[0].buffer, &state->timeline);
  vulkan_await(&state->timeline);
  return gpu_now_us() - start;
}

static double wait_semaphore_once(void *argument) {
  submit_state *state = argument;
  double start = gpu_now_us();
  vulkan_submit(card.compute->queues[0], state->commands[0].buffer, &state->timeline);
  VkSemaphoreWaitInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
                              .semaphoreCount = 1,
                              .pSemaphores = &state->timeline.semaphore,
                              .pValues = &state->timeline.value};
  VULKAN(WaitSemaphores(card.device, &info, UINT64_MAX));
  return gpu_now_us() - start;
}

static double wait_fence_once(void *argument) {
  submit_state *state = argument;
  double start = gpu_now_us();
  submit(state, card.compute->queues[0]);
  VULKAN(WaitForFences(card.device, 1, &state->fence, VK_TRUE, UINT64_MAX));
  double us = gpu_now_us() - start;
  VULKAN(ResetFences(card.device, 1, &state->fence));
  return us;
}

static double poll_fence_once(void *argument) {
  submit_state *state = argument;
  double start = gpu_now_us();
  submit(state, card.compute->queues[0]);
  while (vk.GetFenceStatus(card.device, state->fence) == VK_NOT_READY) {
  }
  double us = gpu_now_us() - start;
  VULKAN(ResetFences(card.device, 1, &state->fence));
  return us;
}

void vulkan_ways_submit(void) {
  submit_state state = {0};
  create(&state);
  for (submit_kind kind = PLAIN; kind <= SUBMIT2; kind++) {
    for (uint32_t infos = 1; infos <= MOST_INFOS; infos *= 4) {
      state.kind = kind;
      state.infos = infos;
      if (kind == SUBMIT2 && !vk.QueueSubmit2KHR)
        vulkan_row_missing('a', "it lacks VK_KHR_synchronization2", "submit, %u VkSubmitInfo in a call: %s", infos,
                           kind_names[kind]);
      else
        vulkan_row('a', vulkan_sample(submit_once, &state), "us", "submit, %u VkSubmitInfo in a call: %s", infos,
                   kind_names[kind]);
    }
  }
  vulkan_row('a', vulkan_sample(counter_once, &state), "us", "vkGetSemaphoreCounterValue");
  vulkan_row('a', vulkan_sample(poll_counter_once, &state), "us",
             "submit until seen: polling vkGetSemaphoreCounterValue");
  vulkan_row('a', vulkan_sample(wait_semaphore_once, &state), "us", "submit until seen: vkWaitSemaphores");
  state.kind = WITH_FENCE;
  state.infos = 1;
  vulkan_row('a', vulkan_sample(poll_fence_once, &state), "us", "submit until seen: polling vkGetFenceStatus");
  vulkan_row('a', vulkan_sample(wait_fence_once, &state), "us", "submit until seen: vkWaitForFences");
  destroy(&state);
}
