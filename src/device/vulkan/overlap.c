// SPDX-License-Identifier: Apache-2.0
#include "device/vulkan/overlap.h"

#include <string.h>

#include "base/allocate.h"
#include "base/clock.h"
#include "base/disk_cache.h"

enum {
  KERNELS = 32,   // of a chain
  CHAIN_US = 400, // at least
  MOST_ROUNDS = 1 << 22,
  TIMES = 5, // of which the least counts
};

static const double OVERLAPS_BELOW = 1.5; // times the one chain's

static const uint32_t delay_words[] = {
#include "device/vulkan/delay.inc"
};

// What the answer is kept under.
typedef struct overlap_key {
  char what[24];
  uint32_t vendor, device, driver, family;
  uint8_t uuid[VK_UUID_SIZE];
} overlap_key;

static overlap_key make_key(const weir__vulkan_device *device, uint32_t family) {
  overlap_key key;
  memset(&key, 0, sizeof key); // the bytes between as well
  const VkPhysicalDeviceProperties *properties = &device->facts.properties;
  memcpy(key.what, "vulkan queues overlap 1", sizeof "vulkan queues overlap 1");
  key.vendor = properties->vendorID;
  key.device = properties->deviceID;
  key.driver = properties->driverVersion;
  key.family = family;
  memcpy(key.uuid, properties->pipelineCacheUUID, sizeof key.uuid);
  return key;
}

static bool is_known(const overlap_key *key, bool *out_overlaps) {
  void *value;
  size_t bytes;
  if (!weir__disk_cache_get(key, sizeof *key, &value, &bytes)) return false;
  bool known = bytes == 1;
  if (known) *out_overlaps = *(const uint8_t *)value != 0;
  weir__free(value);
  return known;
}

// A chain on a queue: one command buffer, one fence.
typedef struct overlap_chain {
  weir__vulkan_queue *queue;
  VkCommandPool pool;
  VkCommandBuffer commands;
  VkFence fence;
} overlap_chain;

// What both chains run.
typedef struct overlap_kernel {
  weir__vulkan_kernel *kernel;
  weir__vulkan_chunk *memory;
  weir__vulkan_sets sets;
} overlap_kernel;

static VkResult open_chain(weir__vulkan_device *device, weir__vulkan_queue *queue, overlap_chain *chain) {
  const VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                        .queueFamilyIndex = queue->family};
  const VkFenceCreateInfo fence = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
  chain->queue = queue;
  VkResult result =
      weir__vulkan_made(device->calls.vkCreateCommandPool(device->device, &pool, NULL, &chain->pool), &chain->pool);
  const VkCommandBufferAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                                .commandPool = chain->pool,
                                                .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                                .commandBufferCount = 1};
  if (result == VK_SUCCESS)
    result = device->calls.vkAllocateCommandBuffers(device->device, &allocate, &chain->commands);
  if (result != VK_SUCCESS) return result;
  return weir__vulkan_made(device->calls.vkCreateFence(device->device, &fence, NULL, &chain->fence), &chain->fence);
}

static void close_chain(weir__vulkan_device *device, const overlap_chain *chain) {
  if (chain->pool != VK_NULL_HANDLE) device->calls.vkDestroyCommandPool(device->device, chain->pool, NULL);
  if (chain->fence != VK_NULL_HANDLE) device->calls.vkDestroyFence(device->device, chain->fence, NULL);
}

static VkResult record_chain(weir__vulkan_device *device, overlap_kernel *kernel, const overlap_chain *chain,
                             uint32_t rounds) {
  const VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
  const VkPipelineStageFlags compute = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT;
  const weir__vulkan_arg args[] = {{.address = (void *)kernel->memory->address, .bytes = sizeof(uint32_t)},
                                   {.address = &rounds, .bytes = sizeof rounds, .is_value = true}};
  const uint32_t groups[3] = {1, 1, 1};
  weir__vulkan_recorder recorder = {.commands = chain->commands, .sets = &kernel->sets};
  VkResult result = device->calls.vkResetCommandPool(device->device, chain->pool, 0);
  if (result == VK_SUCCESS) result = device->calls.vkBeginCommandBuffer(chain->commands, &begin);
  for (int i = 0; i < KERNELS && result == VK_SUCCESS; i++) {
    result = weir__vulkan_record_kernel(device, &recorder, kernel->kernel, groups, args, 2);
    weir__vulkan_record_barrier(device, chain->commands, compute, compute);
  }
  return result == VK_SUCCESS ? device->calls.vkEndCommandBuffer(chain->commands) : result;
}

// Runs `count` chains at once; the least time of some runs.
static VkResult time_chains(weir__vulkan_device *device, const overlap_chain *chains, uint32_t count, double *out_us) {
  *out_us = 0;
  for (int run = 0; run <= TIMES; run++) { // the first one does not count
    uint64_t start = weir__clock_ns();
    VkResult result = VK_SUCCESS;
    for (uint32_t i = 0; i < count && result == VK_SUCCESS; i++) {
      const VkSubmitInfo info = {
          .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &chains[i].commands};
      result = device->calls.vkResetFences(device->device, 1, &chains[i].fence);
      weir__vulkan_queue_acquire(device, chains[i].queue);
      if (result == VK_SUCCESS) result = device->calls.vkQueueSubmit(chains[i].queue->queue, 1, &info, chains[i].fence);
      weir__vulkan_queue_release(device, chains[i].queue);
    }
    for (uint32_t i = 0; i < count && result == VK_SUCCESS; i++)
      result = device->calls.vkWaitForFences(device->device, 1, &chains[i].fence, VK_TRUE, UINT64_MAX);
    if (result != VK_SUCCESS) return result;
    double us = (double)(weir__clock_ns() - start) / 1000;
    if (run == 1 || us < *out_us) *out_us = us;
    if (run == 0) *out_us = us;
  }
  return VK_SUCCESS;
}

static VkResult measure(weir__vulkan_device *device, overlap_kernel *kernel, const overlap_chain *chains,
                        bool *out_overlaps) {
  double one = 0, both = 0;
  VkResult result = VK_SUCCESS;
  for (uint32_t rounds = 256; rounds <= MOST_ROUNDS && one < CHAIN_US && result == VK_SUCCESS; rounds *= 2) {
    for (int i = 0; i < 2 && result == VK_SUCCESS; i++) result = record_chain(device, kernel, &chains[i], rounds);
    if (result == VK_SUCCESS) result = time_chains(device, chains, 1, &one);
  }
  if (result == VK_SUCCESS) result = time_chains(device, chains, 2, &both);
  *out_overlaps = both < OVERLAPS_BELOW * one;
  return result;
}

static weir_status make_kernel(weir__vulkan_device *device, overlap_kernel *kernel) {
  const weir_vulkan_code code = {.words = delay_words, .bytes = sizeof delay_words};
  const weir_vulkan_launch launch = {0};
  weir__vulkan_sets_initialize(&kernel->sets, &device->calls, device->device);
  kernel->kernel = weir__allocate_zeroed(sizeof *kernel->kernel + sizeof kernel->kernel->launches[0]);
  kernel->memory = weir__vulkan_chunk_create(&device->memory, 1 << 16, false);
  if (kernel->kernel == NULL || kernel->memory == NULL)
    return weir__vulkan_error(VK_ERROR_OUT_OF_HOST_MEMORY, "device %s: queues", device->base.device.name);
  kernel->kernel->count = 1;
  return weir__vulkan_pipeline_get(device->pipelines, "delay", &code, &launch,
                                   &kernel->kernel->launches[0].pipelines[device->base.device.index]);
}

weir_status weir__vulkan_find_overlap(weir__vulkan_device *device, weir__vulkan_queue *first,
                                      weir__vulkan_queue *second, bool *out_overlaps) {
  overlap_key key = make_key(device, first->family);
  if (is_known(&key, out_overlaps)) return WEIR_OK;
  overlap_kernel kernel = {0};
  overlap_chain chains[2] = {0};
  weir_status status = make_kernel(device, &kernel);
  if (status == WEIR_OK) {
    VkResult result = open_chain(device, first, &chains[0]);
    if (result == VK_SUCCESS) result = open_chain(device, second, &chains[1]);
    if (result == VK_SUCCESS) result = measure(device, &kernel, chains, out_overlaps);
    status = weir__vulkan_error(result, "device %s: measuring its queues", device->base.device.name);
  }
  if (status == WEIR_OK) {
    uint8_t answer = *out_overlaps;
    weir__disk_cache_put(&key, sizeof key, &answer, 1);
  }
  if (status != WEIR_OK) weir__vulkan_wait_idle(device); // one chain may have been submitted
  close_chain(device, &chains[0]);
  close_chain(device, &chains[1]);
  weir__vulkan_sets_deinitialize(&kernel.sets);
  if (kernel.memory != NULL) weir__vulkan_chunk_destroy(&device->memory, kernel.memory);
  weir__free(kernel.kernel);
  return status;
}
