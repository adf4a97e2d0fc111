// SPDX-License-Identifier: Apache-2.0
//
// Vulkan devices: made, described, destroyed.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/allocate.h"
#include "base/clock.h"
#include "base/error.h"
#include "device/cpu/cpu.h"
#include "device/vulkan/enqueue.h"
#include "device/vulkan/logical.h"
#include "device/vulkan/open_task.h"
#include "device/vulkan/overlap.h"
#include "device/vulkan/vulkan.h"

enum {
  DEFAULT_KERNEL_QUEUES = 10, // at most; more help no graph
  DEFAULT_KERNEL_LANES = 4,   // at least: lanes may share a queue
  MOST_KERNEL_LANES = 60,
  COPY_LANES = 2,
  SMALLEST_CHUNK = 16 << 20, // of device memory
  LARGEST_CHUNK = 128 << 20,
  SMALLEST_HOST_CHUNK = 4 << 20,
  LARGEST_HOST_CHUNK = 64 << 20,
  SPIN_NS = 2000000, // the thread spins so long, where there are cores for it
  SPIN_NS_FEW_CORES = 20000,
  LEAST_TIMESTAMP_BITS = 36, // with fewer they begin anew every few seconds
  LARGEST_TEXEL = 16,        // of an image, in bytes
};

static_assert(MOST_KERNEL_LANES * WEIR__VULKAN_CALLS_AT_ONCE + WEIR__MOST_OPEN <= WEIR__ENQUEUE_MOST_LANES,
              "lanes of functions");

extern const weir__device_ops weir__vulkan_ops;

static const weir__in_order_table table = {.operation_bytes = sizeof(weir__vulkan_op),
                                           .pauses = 1,
                                           .rounds_per_clock = 16,
                                           .work = weir__vulkan_work,
                                           .rest = weir__vulkan_rest,
                                           .may_sleep = weir__vulkan_may_sleep,
                                           .enqueue = weir__vulkan_enqueue,
                                           .discard = weir__vulkan_discard,
                                           .look = weir__vulkan_look,
                                           .last_done = weir__vulkan_last_done,
                                           .finish = weir__vulkan_finish,
                                           .report = weir__vulkan_report,
                                           .await = weir__vulkan_await,
                                           .lose = weir__vulkan_lose,
                                           .drain = weir__vulkan_drain,
                                           .fence_is_over = weir__vulkan_fence_is_over,
                                           .fence_destroy = weir__vulkan_fence_destroy};

weir__vulkan_pipelines *weir__vulkan_device_pipelines(weir_device *device) {
  return weir__vulkan_of(device)->pipelines;
}

const weir__vulkan_facts *weir__vulkan_device_facts(const weir_device *device) {
  return &((const weir__vulkan_device *)(const void *)device)->enabled;
}

static void memory_sources(weir_device *base, weir__memory_source *out_device_memory,
                           weir__memory_source *out_host_memory) {
  weir__vulkan_device *device = weir__vulkan_of(base);
  *out_device_memory = weir__arena_source(&device->arena);
  *out_host_memory = weir__arena_source(&device->host_arena);
}

static bool can_access_host(weir_device *base, const void *memory, uint64_t bytes, bool writes) {
  weir__vulkan_device *device = weir__vulkan_of(base);
  if (writes ? device->memory.reads_mapped : device->memory.writes_mapped) return true;
  const weir__vulkan_chunk *chunk = weir__vulkan_chunk_find(&device->memory, memory);
  return chunk != NULL && chunk->buffer != VK_NULL_HANDLE &&
         bytes <= chunk->bytes - ((uintptr_t)memory - chunk->address);
}

// What commands can copy, also with images: not what the host copies in their place.
static bool graph_can_access_host(weir_device *base, const void *memory, uint64_t bytes, bool ask) {
  if (!ask) return false; // chunks have a lock
  const weir__vulkan_chunk *chunk = weir__vulkan_chunk_find(&weir__vulkan_of(base)->memory, memory);
  return chunk != NULL && chunk->buffer != VK_NULL_HANDLE && (uintptr_t)memory % LARGEST_TEXEL == 0 &&
         bytes <= chunk->bytes - ((uintptr_t)memory - chunk->address);
}

static void destroy_lanes(weir__vulkan_device *device) {
  for (uint32_t i = 0; i < device->lane_count; i++) {
    weir__vulkan_destroy_batches(device, &device->lanes[i]);
    if (device->lanes[i].semaphore != VK_NULL_HANDLE)
      device->calls.vkDestroySemaphore(device->device, device->lanes[i].semaphore, NULL);
  }
}

static void destroy(weir_device *base) {
  weir__vulkan_device *device = weir__vulkan_of(base);
  weir__in_order_stop(&device->base);
  weir__vulkan_copier_stop(device);
  if (device->device != VK_NULL_HANDLE) {
    if (device->calls.vkDeviceWaitIdle != NULL) {
      weir__vulkan_wait_idle(device);
      weir__vulkan_give_reported(device);
      destroy_lanes(device);
      weir__vulkan_opens_destroy(device);
      for (int i = 0; i < 2; i++) weir__vulkan_sets_deinitialize(&device->sets[i]);
      if (device->pipelines != NULL) weir__vulkan_pipelines_destroy(device->pipelines);
      if (device->idle_staging != NULL) weir__vulkan_chunk_destroy(&device->memory, device->idle_staging);
      weir__arena_deinitialize(&device->arena);
      weir__arena_deinitialize(&device->host_arena);
      weir__vulkan_memory_deinitialize(&device->memory);
      if (device->registration == NULL) device->calls.vkDestroyDevice(device->device, NULL);
    }
  }
  if (device->registration != NULL) weir__vulkan_registration_give(device->registration);
  weir__vulkan_deferred_destroy(device->deferred, base->host->window.size);
  weir__in_order_deinitialize(&device->base);
  weir__free(device->queues);
  weir__free(device);
}

static weir_status find_physical(weir__vulkan_device *device, const char *argument) {
  const weir__vulkan_driver *driver = device->driver;
  char *end, reason[160];
  unsigned long ordinal = strtoul(argument, &end, 10);
  if (*end != '\0' || argument[0] == '-')
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "device vulkan: '%.60s' is no number of a device", argument);
  if (ordinal >= driver->device_count)
    return weir__error(WEIR_ERROR_UNAVAILABLE, "device vulkan:%lu: this machine has %u Vulkan device%s", ordinal,
                       driver->device_count, driver->device_count == 1 ? "" : "s");
  // Without a number: the first that can be used.
  for (; ordinal < driver->device_count; ordinal++) {
    device->physical = driver->devices[ordinal];
    weir__vulkan_find_facts(driver, device->physical, &device->facts);
    if (weir__vulkan_is_usable(&device->facts, reason, sizeof reason)) {
      snprintf(device->base.device.name, sizeof device->base.device.name, "vulkan:%lu", ordinal);
      return WEIR_OK;
    }
    if (argument[0] != '\0') break;
  }
  return weir__error(WEIR_ERROR_UNAVAILABLE, "device vulkan:%lu: %s", ordinal, reason);
}

static weir_status find_registered(weir__vulkan_device *device, const char *argument) {
  weir_status status = weir__vulkan_registration_take(argument, &device->registration);
  if (status != WEIR_OK) return status;
  device->driver = &device->registration->driver;
  device->physical = device->registration->handles.physical_device;
  weir__vulkan_find_facts(device->driver, device->physical, &device->facts);
  snprintf(device->base.device.name, sizeof device->base.device.name, "vulkan:%s",
           device->registration->registered.name);
  return WEIR_OK;
}

static weir_status make_logical(weir__vulkan_device *device, uint32_t kernel_lanes, uint32_t copy_lanes,
                                weir__vulkan_queue_plan *out_plan) {
  const weir__vulkan_registration *registration = device->registration;
  if (registration != NULL) {
    weir__vulkan_registration_queues(registration, kernel_lanes, copy_lanes, out_plan);
    device->enabled = registration->enabled;
    device->device = registration->handles.device;
    return WEIR_OK;
  }
  weir__vulkan_plan_queues(&device->facts, kernel_lanes, copy_lanes, out_plan);
  VkResult result = weir__vulkan_create_logical(device->driver, device->physical, &device->facts, out_plan,
                                                &device->enabled, &device->device);
  if (result == VK_SUCCESS) return WEIR_OK;
  device->device = VK_NULL_HANDLE;
  weir_status status = weir__vulkan_error(result, "device %s", device->base.device.name);
  return status == WEIR_ERROR_OUT_OF_MEMORY ? status : WEIR_ERROR_UNAVAILABLE;
}

// Makes the logical device and finds its queues, for this many lanes of kernels.
static weir_status open_device(weir__vulkan_device *device, uint32_t kernel_lanes, weir__vulkan_queue_plan *out_plan) {
  char reason[160];
  weir_status status = make_logical(device, kernel_lanes, kernel_lanes > 1 ? COPY_LANES : 0, out_plan);
  if (status != WEIR_OK) return status;
  if (!weir__vulkan_calls_open(device->driver, device->device, &device->calls, reason, sizeof reason)) {
    device->calls.vkDeviceWaitIdle = NULL;
    return weir__error(WEIR_ERROR_UNAVAILABLE, "device %s: %s", device->base.device.name, reason);
  }
  uint32_t count = out_plan->kernel_count + out_plan->copy_count;
  device->queues = weir__allocate_zeroed(count * sizeof *device->queues);
  if (device->queues == NULL)
    return weir__error(WEIR_ERROR_OUT_OF_MEMORY, "device %s: no memory", device->base.device.name);
  device->queue_count = count;
  for (uint32_t i = 0; i < device->queue_count; i++) {
    weir__vulkan_queue *queue = &device->queues[i];
    const VkQueueFamilyProperties *family = &device->facts.families[out_plan->families[i]];
    queue->family = out_plan->families[i];
    queue->index = out_plan->indices[i];
    queue->computes = (family->queueFlags & VK_QUEUE_COMPUTE_BIT) != 0;
    uint32_t bits = family->timestampValidBits;
    queue->has_timestamps =
        bits >= LEAST_TIMESTAMP_BITS && (queue->computes || device->enabled.features12.hostQueryReset);
    if (queue->has_timestamps && bits < 64) device->ticks_mask &= ((uint64_t)1 << bits) - 1;
    device->calls.vkGetDeviceQueue(device->device, queue->family, queue->index, &queue->queue);
  }
  return WEIR_OK;
}

static weir_status make_lane(weir__vulkan_device *device, weir__vulkan_queue *queue) {
  const VkSemaphoreTypeCreateInfo type = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
                                          .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE};
  const VkSemaphoreCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, .pNext = &type};
  weir__vulkan_lane *lane = &device->lanes[device->lane_count++];
  lane->queue = queue;
  VkResult result = weir__vulkan_made(device->calls.vkCreateSemaphore(device->device, &info, NULL, &lane->semaphore),
                                      &lane->semaphore);
  return weir__vulkan_error(result, "device %s: semaphore", device->base.device.name);
}

// The queues that lanes of kernels use: of families whose queues take turns only the first. Returns their number.
static weir_status choose_queues(weir__vulkan_device *device, uint32_t kernel_queues, weir__vulkan_queue **out_chosen,
                                 uint32_t *out_count) {
  bool overlaps = true;
  uint32_t count = 0;
  for (uint32_t i = 0; i < kernel_queues; i++) {
    weir__vulkan_queue *queue = &device->queues[i], *first = queue;
    while (first > device->queues && first[-1].family == queue->family) first--;
    if (queue == first + 1) {
      weir_status status = weir__vulkan_find_overlap(device, first, queue, &overlaps);
      if (status != WEIR_OK) return status;
    }
    if (queue == first || overlaps) out_chosen[count++] = queue;
  }
  *out_count = count;
  return WEIR_OK;
}

// Lanes share queues where there are fewer of them. `wanted` 0: a lane for each queue.
static weir_status make_lanes(weir__vulkan_device *device, const weir__vulkan_queue_plan *plan, uint32_t wanted) {
  weir__vulkan_queue *chosen[WEIR__VULKAN_MOST_QUEUES];
  uint32_t count = 0;
  weir_status status = choose_queues(device, plan->kernel_count, chosen, &count);
  uint32_t kernel_lanes = wanted > 0 ? wanted : count < DEFAULT_KERNEL_LANES ? DEFAULT_KERNEL_LANES : count;
  for (uint32_t i = 0; i < kernel_lanes && status == WEIR_OK; i++) status = make_lane(device, chosen[i % count]);
  for (uint32_t i = 0; i < plan->copy_count && status == WEIR_OK; i++)
    status = make_lane(device, &device->queues[plan->kernel_count + i]);
  device->kernel_lanes = device->base.device.queues = kernel_lanes;
  device->base.device.enqueue_lanes = kernel_lanes * WEIR__VULKAN_CALLS_AT_ONCE + WEIR__MOST_OPEN;
  return status == WEIR_OK ? make_lane(device, NULL) : status;
}

static bool allocate(weir__vulkan_device *device) {
  device->deferred = weir__vulkan_deferred_create(device->base.device.host->window.size);
  return device->deferred != NULL &&
         weir__in_order_initialize(&device->base, device->lane_count, device->lane_count - device->kernel_lanes);
}

static weir_status make_memory(weir__vulkan_device *device) {
  uint32_t families[WEIR__VULKAN_MOST_FAMILIES], count = 0;
  for (uint32_t i = 0; i < device->queue_count; i++) {
    bool known = false;
    for (uint32_t j = 0; j < count; j++) known = known || families[j] == device->queues[i].family;
    if (!known) families[count++] = device->queues[i].family;
  }
  if (!weir__vulkan_memory_initialize(&device->memory, &device->calls, device->device, &device->facts, families, count))
    return weir__error(WEIR_ERROR_UNAVAILABLE, "device %s: it has no memory of the kinds that Weir needs",
                       device->base.device.name);
  weir__memory_source on_device = weir__vulkan_device_source(&device->memory);
  weir__memory_source on_host = weir__vulkan_host_source(&device->memory);
  weir__arena_initialize(&device->arena, &on_device, SMALLEST_CHUNK, LARGEST_CHUNK);
  weir__arena_initialize(&device->host_arena, &on_host, SMALLEST_HOST_CHUNK, LARGEST_HOST_CHUNK);
  return WEIR_OK;
}

// Where the device's clock stands against the context's. The context's is read first: no end of a task is later than the
// time at which it is noticed.
static weir_status read_base_time(weir__vulkan_device *device) {
  weir__vulkan_lane *lane = &device->lanes[0];
  if (!lane->queue->has_timestamps) return WEIR_OK;
  weir__vulkan_batch *batch = weir__vulkan_open(device, lane);
  if (batch == NULL) return weir__error(WEIR_ERROR_OUT_OF_MEMORY, "device %s: no memory", device->base.device.name);
  const VkQueryPoolCreateInfo one = {
      .sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO, .queryType = VK_QUERY_TYPE_TIMESTAMP, .queryCount = 1};
  VkQueryPool queries = VK_NULL_HANDLE;
  VkResult result = weir__vulkan_made(device->calls.vkCreateQueryPool(device->device, &one, NULL, &queries), &queries);
  if (result == VK_SUCCESS) {
    device->calls.vkCmdResetQueryPool(batch->commands, queries, 0, 1);
    device->calls.vkCmdWriteTimestamp(batch->commands, VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT, queries, 0);
    result = device->calls.vkEndCommandBuffer(batch->commands);
  }
  device->base_ns = weir__clock_ns() - device->base.device.host->start_ns;
  const VkSubmitInfo info = {
      .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &batch->commands};
  weir__vulkan_queue_acquire(device, lane->queue);
  if (result == VK_SUCCESS) result = device->calls.vkQueueSubmit(lane->queue->queue, 1, &info, VK_NULL_HANDLE);
  weir__vulkan_queue_release(device, lane->queue);
  // Nothing else runs yet. What was submitted must end before its query is destroyed, whatever fails.
  weir__vulkan_wait_idle(device);
  if (result == VK_SUCCESS)
    result =
        device->calls.vkGetQueryPoolResults(device->device, queries, 0, 1, sizeof device->base_ticks,
                                            &device->base_ticks, sizeof device->base_ticks, VK_QUERY_RESULT_64_BIT);
  if (queries != VK_NULL_HANDLE) device->calls.vkDestroyQueryPool(device->device, queries, NULL);
  lane->open = NULL;
  lane->value--;
  weir__vulkan_give_batch(device, lane, batch);
  return weir__vulkan_error(result, "device %s: the first time of the timeline", device->base.device.name);
}

static void describe(weir__vulkan_device *device) {
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < device->facts.memory.memoryHeapCount; i++) {
    const VkMemoryHeap *heap = &device->facts.memory.memoryHeaps[i];
    if ((heap->flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) && heap->size > bytes) bytes = heap->size;
  }
  device->base.device.memory_bytes = bytes;
  uint32_t version = device->facts.version;
  snprintf(device->base.device.description, sizeof device->base.device.description,
           "%.80s, %.0f GB, Vulkan %u.%u, %u lanes on %u queues", device->facts.properties.deviceName,
           (double)bytes / 1e9, VK_API_VERSION_MAJOR(version), VK_API_VERSION_MINOR(version), device->lane_count - 1,
           device->queue_count);
}

static weir_status initialize(weir__vulkan_device *device, const char *argument, uint32_t wanted_lanes) {
  weir__vulkan_queue_plan plan;
  weir_status status = device->driver == NULL ? find_registered(device, argument) : find_physical(device, argument);
  if (status == WEIR_OK) status = open_device(device, wanted_lanes > 0 ? wanted_lanes : DEFAULT_KERNEL_QUEUES, &plan);
  if (status == WEIR_OK) status = make_memory(device);
  if (status != WEIR_OK) return status;
  device->pipelines = weir__vulkan_pipelines_create(&device->calls, device->device, &device->enabled);
  if (device->pipelines == NULL)
    return weir__error(WEIR_ERROR_OUT_OF_MEMORY, "device %s: no memory", device->base.device.name);
  status = make_lanes(device, &plan, wanted_lanes);
  if (status != WEIR_OK) return status;
  device->base.device.lanes = device->lane_count + WEIR__VULKAN_TRACE_LANES;
  for (int i = 0; i < 2; i++) weir__vulkan_sets_initialize(&device->sets[i], &device->calls, device->device);
  if (!allocate(device)) return weir__error(WEIR_ERROR_OUT_OF_MEMORY, "device %s: no memory", device->base.device.name);
  status = read_base_time(device);
  if (status == WEIR_OK) status = weir__vulkan_copier_start(device);
  if (status == WEIR_OK) status = weir__in_order_start(&device->base);
  return status;
}

static weir_status create(weir__host *host, const char *argument, uint32_t queues, weir_device **out_device) {
  char reason[256];
  bool registered = weir__registry_may_name(argument);
  const weir__vulkan_driver *driver = registered ? NULL : weir__vulkan_driver_load(reason, sizeof reason);
  if (driver == NULL && !registered) return weir__error(WEIR_ERROR_UNAVAILABLE, "device vulkan: %s", reason);
  if (queues > MOST_KERNEL_LANES)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "device vulkan: %u queues; 1 to %d are possible", queues,
                       MOST_KERNEL_LANES);
  weir__vulkan_device *device = weir__allocate_zeroed(sizeof *device);
  if (device == NULL) return weir__error(WEIR_ERROR_OUT_OF_MEMORY, "device vulkan: no memory");
  device->base.device = (weir_device){.ops = &weir__vulkan_ops, .host = host};
  device->base.table = &table;
  device->driver = driver;
  device->random = host->seed;
  device->ticks_mask = UINT64_MAX;
  device->base.spin_ns = !weir__may_spin() ? 0 : host->crowded ? SPIN_NS_FEW_CORES : SPIN_NS;
  uint32_t lanes = host->flags & WEIR_CONTEXT_IN_ORDER ? 1 : queues;
  device->spreads = lanes > 1;
  weir_status status = initialize(device, argument, lanes);
  if (status != WEIR_OK) {
    destroy(&device->base.device);
    return status;
  }
  describe(device);
  if (host->spin_ns < device->base.spin_ns) host->spin_ns = device->base.spin_ns;
  *out_device = &device->base.device;
  return WEIR_OK;
}

static bool has_code(const weir_device *device, const weir_kernel *kernel) {
  return kernel != NULL && weir__vulkan_kernel_has_code(weir__vulkan_code_of(kernel), device->index);
}

static uint64_t time_now(weir_device *device) {
  return weir__clock_ns() - device->host->start_ns;
}

static const weir__memory_ops memory_ops = {.sources = memory_sources,
                                            .can_access_host = can_access_host,
                                            .host_allocate = weir__vulkan_host_allocate,
                                            .host_free = weir__vulkan_host_free,
                                            .released = weir__vulkan_released};
static const weir__image_ops image_ops = {.make = weir__vulkan_image_make, .can_copy = weir__vulkan_copies_image};
static const weir__graph_ops graph_ops = {
    .build = weir__vulkan_graph_build, .forget = weir__vulkan_graph_forget, .can_access_host = graph_can_access_host};

const weir__device_ops weir__vulkan_ops = {.kind = "vulkan",
                                           .code = WEIR__CODE_VULKAN,
                                           .run_ahead = true,
                                           .threaded = true,
                                           .probe = weir__vulkan_probe,
                                           .create = create,
                                           .destroy = destroy,
                                           .memory = &memory_ops,
                                           .images = &image_ops,
                                           .graphs = &graph_ops,
                                           .opens = &weir__vulkan_opens,
                                           .check = weir__vulkan_kernel_check,
                                           .use = weir__vulkan_kernel_use,
                                           .set_enqueue = weir__vulkan_set_enqueue,
                                           .has_code = has_code,
                                           .issue = weir__in_order_push,
                                           .stall = weir__in_order_stall,
                                           .marker = weir__vulkan_marker,
                                           .flush = weir__in_order_flush,
                                           .prewake = weir__in_order_prewake,
                                           .time = time_now};
