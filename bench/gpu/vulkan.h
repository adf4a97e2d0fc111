// SPDX-License-Identifier: Apache-2.0
//
// A Vulkan device for measuring: every queue that can compute or copy, and the few calls that all measurements share. Raw
// Vulkan: nothing of Weir's device. One thread. A call that fails ends the program with a message.
#ifndef WEIR_BENCH_GPU_VULKAN_H
#define WEIR_BENCH_GPU_VULKAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VK_NO_PROTOTYPES
#include <vulkan/vulkan_core.h>

#include "timing.h"
#include "vulkan_calls.h"

enum { VULKAN_MOST_FAMILIES = 8, VULKAN_MOST_QUEUES = 16, VULKAN_PUSH_BYTES = 128 };

typedef struct vulkan_family {
  uint32_t index, queue_count;
  VkQueueFlags flags;
  char name[32]; // "graphics (0)", "compute (2)", "transfer (1)"
  VkQueue queues[VULKAN_MOST_QUEUES];
} vulkan_family;

typedef struct vulkan_card {
  VkInstance instance;
  VkPhysicalDevice physical;
  VkDevice device;
  VkPhysicalDeviceProperties properties;
  VkPhysicalDeviceMemoryProperties memory;
  char driver[VK_MAX_DRIVER_NAME_SIZE + VK_MAX_DRIVER_INFO_SIZE];
  vulkan_family families[VULKAN_MOST_FAMILIES]; // those that compute or copy
  uint32_t family_count;
  vulkan_family *compute; // computes without graphics, else the first that computes
  uint32_t sms;           // multiprocessors; 0: the device does not say
} vulkan_card;

extern vulkan_card card;
extern vulkan_calls vk;

// Opens the device with that number; -1: the first that is not the CPU, else the first. Ends the program with exit code 3 if
// there is none that can be measured: Vulkan 1.2, timeline semaphores, buffer device addresses, VK_KHR_shader_clock.
void vulkan_open(int number);
void vulkan_close(void);

void vulkan_check(VkResult result, const char *what);
#define VULKAN(call) vulkan_check(vk.call, #call)

static inline bool vulkan_computes(const vulkan_family *family) {
  return family->flags & VK_QUEUE_COMPUTE_BIT;
}

// ---------------------------------------------------------------------------------------------------------------
// Objects

// A pool with one command buffer.
typedef struct vulkan_commands {
  const vulkan_family *family;
  VkCommandPool pool;
  VkCommandBuffer buffer;
} vulkan_commands;

void vulkan_commands_create(const vulkan_family *family, vulkan_commands *out_commands);
void vulkan_commands_destroy(vulkan_commands *commands);
void vulkan_begin(vulkan_commands *commands); // resets the pool
void vulkan_end(vulkan_commands *commands);

// A counter that only grows; `value` is what the last submission so far sets it to.
typedef struct vulkan_timeline {
  VkSemaphore semaphore;
  uint64_t value;
} vulkan_timeline;

void vulkan_timeline_create(vulkan_timeline *out_timeline);
void vulkan_timeline_destroy(vulkan_timeline *timeline);

// Submits with a signal of the next value.
void vulkan_submit(VkQueue queue, VkCommandBuffer commands, vulkan_timeline *timeline);

// Polls until the counter has reached its value.
void vulkan_await(const vulkan_timeline *timeline);

// Submits and awaits: microseconds from before the submission until it was seen to be done.
double vulkan_run(VkQueue queue, VkCommandBuffer commands);

typedef struct vulkan_buffer {
  VkBuffer buffer;
  VkDeviceMemory memory;
  void *mapped; // NULL: the host does not see it
} vulkan_buffer;

// Memory of the first type that has all flags `wanted`. False: there is no such type, or no memory.
bool vulkan_buffer_create(VkDeviceSize bytes, VkMemoryPropertyFlags wanted, vulkan_buffer *out_buffer);
void vulkan_buffer_destroy(vulkan_buffer *buffer);

// For 128 bytes of push constants and, with `buffer`, a storage buffer in set 0.
typedef struct vulkan_layout {
  VkDescriptorSetLayout set;
  VkPipelineLayout pipeline;
} vulkan_layout;

const vulkan_layout *vulkan_layout_of(bool buffer);

// A compute pipeline; destroyed by vulkan_close(). Specialization constants 0 and 1: threads, words of shared memory.
VkPipeline vulkan_pipeline(const uint32_t *code, size_t bytes, const vulkan_layout *layout, uint32_t threads,
                           uint32_t shared_words);

// A global memory barrier between dispatches: what the earlier ones wrote, the later ones may read and write.
void vulkan_barrier(VkCommandBuffer commands);

#endif // WEIR_BENCH_GPU_VULKAN_H
