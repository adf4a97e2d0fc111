// SPDX-License-Identifier: Apache-2.0
#include "vulkan_spin.h"
#include "vulkan_ways.h"

enum { MOST_EVENTS = 256 };

typedef enum order_kind { UNORDERED, BARRIERS, EVENTS, EVENTS2 } order_kind;
static const char *const order_names[] = {"nothing between", "barriers", "events", "events by vkCmdSetEvent2"};

typedef struct event_state {
  vulkan_commands commands;
  VkEvent events[MOST_EVENTS];
  uint32_t count, next;
  order_kind order;
} event_state;

static const VkMemoryBarrier memory = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                                       .srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT,
                                       .dstAccessMask = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT};
static const VkMemoryBarrier2KHR memory2 = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER_2_KHR,
                                            .srcStageMask = VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT_KHR,
                                            .srcAccessMask = VK_ACCESS_2_SHADER_WRITE_BIT_KHR,
                                            .dstStageMask = VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT_KHR,
                                            .dstAccessMask =
                                                VK_ACCESS_2_SHADER_READ_BIT_KHR | VK_ACCESS_2_SHADER_WRITE_BIT_KHR};
static const VkDependencyInfoKHR dependency = {
    .sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO_KHR, .memoryBarrierCount = 1, .pMemoryBarriers = &memory2};

static void create(event_state *state, order_kind order, uint32_t count) {
  *state = (event_state){.order = order, .count = count};
  vulkan_commands_create(card.compute, &state->commands);
  VkEventCreateInfo info = {.sType = VK_STRUCTURE_TYPE_EVENT_CREATE_INFO};
  for (uint32_t i = 0; i < count; i++) VULKAN(CreateEvent(card.device, &info, NULL, &state->events[i]));
  vulkan_begin(&state->commands);
  vk.CmdBindPipeline(state->commands.buffer, VK_PIPELINE_BIND_POINT_COMPUTE,
                     vulkan_spin_pipeline(vulkan_spin.clock, 128, 0));
}

static void destroy(event_state *state) {
  vulkan_commands_destroy(&state->commands);
  for (uint32_t i = 0; i < state->count; i++) vk.DestroyEvent(card.device, state->events[i], NULL);
}

// What was recorded so far is followed by something that will wait for it. Returns the event.
static VkEvent set(event_state *state) {
  if (state->order != EVENTS && state->order != EVENTS2) return VK_NULL_HANDLE;
  VkEvent event = state->events[state->next++];
  if (state->order == EVENTS)
    vk.CmdSetEvent(state->commands.buffer, event, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT);
  else
    vk.CmdSetEvent2KHR(state->commands.buffer, event, &dependency);
  return event;
}

// What is recorded from now on waits for what was there before set().
static void wait(event_state *state, VkEvent event) {
  const VkPipelineStageFlags stage = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT;
  if (state->order == BARRIERS) vulkan_barrier(state->commands.buffer);
  if (state->order == EVENTS)
    vk.CmdWaitEvents(state->commands.buffer, 1, &event, stage, stage, 1, &memory, 0, NULL, 0, NULL);
  if (state->order == EVENTS2) vk.CmdWaitEvents2KHR(state->commands.buffer, 1, &event, &dependency);
}

static void spin(event_state *state, double us) {
  vulkan_spin_put(state->commands.buffer, vulkan_spin.clock, 1, us);
}

static double run_once(void *argument) {
  event_state *state = argument;
  for (uint32_t i = 0; i < state->count; i++) VULKAN(ResetEvent(card.device, state->events[i]));
  return vulkan_run(card.compute->queues[0], state->commands.buffer);
}

static gpu_stat measure(event_state *state) {
  vulkan_end(&state->commands);
  return vulkan_scaled(vulkan_sample(run_once, state), vulkan_empty_us(card.compute), 1);
}

// A chain of kernels.
static void chain_row(order_kind order, double us, uint32_t length) {
  event_state state;
  create(&state, order, length);
  for (uint32_t i = 0; i < length; i++) {
    if (i > 0) wait(&state, set(&state));
    spin(&state, us);
  }
  gpu_stat stat = vulkan_scaled(measure(&state), 0, 1.0 / length);
  vulkan_row('c', stat, "us", "chain of %u kernels of %.0f us: %s: each", length, us, order_names[order]);
  destroy(&state);
}

// Setting and waiting for many events at once, far from each other.
static void late_wait_row(order_kind order, uint32_t length) {
  event_state state;
  create(&state, order, length);
  VkEvent events[MOST_EVENTS];
  for (uint32_t i = 0; i < length; i++) {
    spin(&state, 0);
    events[i] = set(&state);
  }
  for (uint32_t i = 0; i < length; i++) wait(&state, events[i]);
  spin(&state, 0);
  gpu_stat stat = vulkan_scaled(measure(&state), 0, 1.0 / length);
  vulkan_row('c', stat, "us", "%u empty kernels, an event set after each, all awaited at the end: %s: each", length,
             order_names[order]);
  destroy(&state);
}

// A long kernel first, then a chain that has nothing to do with it.
static void long_first_row(order_kind order) {
  event_state state;
  create(&state, order, 10);
  spin(&state, 200);
  for (uint32_t i = 0; i < 10; i++) {
    if (i > 0) wait(&state, set(&state));
    spin(&state, 10);
  }
  vulkan_row('c', measure(&state), "us", "long kernel (200 us), then chain of 10 x 10 us: %s", order_names[order]);
  destroy(&state);
}

// A short one, a long one that has nothing to do with it, and one that needs the short one.
static void split_row(order_kind order) {
  event_state state;
  create(&state, order, 1);
  spin(&state, 10);
  VkEvent event = set(&state);
  spin(&state, 200);
  wait(&state, event);
  spin(&state, 100);
  vulkan_row('c', measure(&state), "us", "A (10 us), long C (200), B (100) after A, recorded A C B: %s",
             order_names[order]);
  destroy(&state);
}

// The same in the order in which a barrier does no harm.
static void reordered_row(order_kind order) {
  event_state state;
  create(&state, order, 1);
  spin(&state, 10);
  wait(&state, set(&state));
  spin(&state, 200);
  spin(&state, 100);
  vulkan_row('c', measure(&state), "us", "A (10 us), long C (200), B (100) after A, recorded A B C: %s",
             order_names[order]);
  destroy(&state);
}

void vulkan_ways_events(void) {
  for (order_kind order = UNORDERED; order <= EVENTS2; order++) {
    if (order == EVENTS2 && !card.sync2) {
      vulkan_row_missing('c', "it lacks VK_KHR_synchronization2", "%s", order_names[order]);
      continue;
    }
    chain_row(order, 0, options.quick ? 8 : 200);
    chain_row(order, 10, options.quick ? 8 : 100);
    if (order == EVENTS || order == EVENTS2) late_wait_row(order, options.quick ? 8 : 200);
    long_first_row(order);
    split_row(order);
    reordered_row(order);
  }
}
