// SPDX-License-Identifier: Apache-2.0
//
// What a Vulkan device keeps of a graph's plan: steps, and recordings of them (graph.c, graph_times.c).
#ifndef WEIR_DEVICE_VULKAN_GRAPH_RECORDING_H
#define WEIR_DEVICE_VULKAN_GRAPH_RECORDING_H

#include "device/vulkan/graph_steps.h"
#include "device/vulkan/vulkan.h"

// A command buffer that a plan was recorded into.
typedef struct weir__vulkan_recording {
  struct weir__vulkan_recording *next; // of the plan
  VkCommandPool pool;
  VkCommandBuffer commands;
  VkQueryPool queries; // two per step, for times; else VK_NULL_HANDLE
  weir__vulkan_sets sets;
  uint32_t family;
  uint32_t lane;            // with enqueue functions, whose lanes follow from it; else 0
  uint64_t sets_generation; // when its sets were made
  uint64_t generation;      // of the memory, when it was recorded
  uintptr_t *addresses;     // per argument; 0 for values
  unsigned char *values;    // of all nodes
  VkDescriptorSet *bound;   // per step; VK_NULL_HANDLE: not known
  uint32_t version;         // of the order of steps
  bool step_by_step;        // with a barrier between each two, to time them
  bool valid, in_flight;
  uint64_t last_used;
} weir__vulkan_recording;

// What the device has of a plan.
typedef struct weir__vulkan_plan {
  weir__vulkan_graph_steps steps;
  weir__vulkan_recording *recordings;
  uint32_t recording_count;
  uint32_t calls; // nodes that are enqueue functions
  bool each_time; // some must be called for each launch
  uint64_t launches;
  uintptr_t *addresses; // scratch
} weir__vulkan_plan;

#endif // WEIR_DEVICE_VULKAN_GRAPH_RECORDING_H
