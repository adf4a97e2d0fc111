// SPDX-License-Identifier: Apache-2.0
#define VK_NO_PROTOTYPES
#include "interposer.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <vulkan/vulkan_core.h>

enum { MOST_SEMAPHORES = 8192, MOST_QUEUES = 16, MOST_COMMANDS = 1024 };

INTERPOSER_API PFN_vkVoidFunction vkGetInstanceProcAddr(VkInstance instance, const char *name);

// A timeline semaphore: up to where submissions wait for it, and up to where they signal it.
typedef struct timeline {
  VkSemaphore semaphore;
  uint64_t waited, signalled;
} timeline;

// A command buffer, and how many barriers in front of kernels it has.
typedef struct recorded {
  VkCommandBuffer commands;
  uint32_t barriers;
} recorded;

static struct {
  pthread_mutex_t mutex;
  const char *name, *failed;
  uint64_t n, times, seen;
  VkResult result;
  bool lost, removed;
  uint64_t undefined_used;
  int64_t live;
  timeline timelines[MOST_SEMAPHORES];
  VkQueue busy[MOST_QUEUES]; // with a submission that signals nothing: only an idle queue tells its end
  uint64_t destroyed_early;
  recorded recorded[MOST_COMMANDS];
  uint64_t barriers;
  VkDevice device; // the last one
} state = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static PFN_vkGetInstanceProcAddr real_instance;
static PFN_vkGetDeviceProcAddr real_device;

// All functions that are passed on by way of a wrapper.
// clang-format off
#define CREATES(X) \
  X(Buffer) X(Image) X(ImageView) X(Sampler) X(ShaderModule) X(PipelineCache) X(PipelineLayout) X(DescriptorSetLayout) \
  X(DescriptorPool) X(CommandPool) X(QueryPool) X(Fence)
#define OTHERS(X) \
  X(vkDestroyDevice) X(vkDeviceWaitIdle) X(vkQueueSubmit) X(vkQueueWaitIdle) X(vkAllocateMemory) X(vkFreeMemory) \
  X(vkMapMemory) X(vkBindBufferMemory) X(vkBindImageMemory) X(vkWaitForFences) X(vkResetFences) X(vkGetBufferMemoryRequirements) X(vkGetImageMemoryRequirements) \
  X(vkAllocateDescriptorSets) X(vkAllocateCommandBuffers) X(vkBeginCommandBuffer) X(vkEndCommandBuffer) \
  X(vkResetCommandPool) X(vkCmdPipelineBarrier) X(vkCreateSemaphore) X(vkDestroySemaphore) X(vkGetSemaphoreCounterValue) X(vkWaitSemaphores) \
  X(vkSignalSemaphore) X(vkGetQueryPoolResults) X(vkCreateComputePipelines) X(vkDestroyPipeline)
// clang-format on

static struct {
#define MEMBER(kind)                                                                                                   \
  PFN_vkCreate##kind vkCreate##kind;                                                                                   \
  PFN_vkDestroy##kind vkDestroy##kind;
  CREATES(MEMBER)
#undef MEMBER
#define MEMBER(name) PFN_##name name;
  OTHERS(MEMBER)
#undef MEMBER
} real;

static PFN_vkCreateDevice real_create_device;
static PFN_vkGetPhysicalDeviceMemoryProperties real_memory;

static void end_all(void);

// Calls that are made as long as something runs.
static bool asks(const char *name) {
  return strcmp(name, "vkGetSemaphoreCounterValue") == 0 || strcmp(name, "vkWaitSemaphores") == 0;
}

// What a call is to return; VK_SUCCESS: what the real one does. `can_lose`: it may return VK_ERROR_DEVICE_LOST.
static VkResult enter(const char *name, bool can_lose) {
  pthread_mutex_lock(&state.mutex);
  VkResult result = state.lost && can_lose ? VK_ERROR_DEVICE_LOST : VK_SUCCESS;
  bool named = state.name == NULL ? !asks(name) : strcmp(state.name, name) == 0;
  bool counts = state.n > 0 && !state.lost && named && (can_lose || state.result != VK_ERROR_DEVICE_LOST);
  if (counts && ++state.seen >= state.n && state.seen - state.n < state.times) {
    state.failed = name;
    result = state.result;
    if (result == VK_ERROR_DEVICE_LOST) {
      state.lost = true;
      end_all();
    }
  }
  pthread_mutex_unlock(&state.mutex);
  return result;
}

// What a call that failed leaves where its result would be: Vulkan does not say.
#define UNDEFINED 0xdeadbeefdeadbe00u

// Whether an object is to be destroyed: not if it is none.
static bool is_object(uint64_t object) {
  pthread_mutex_lock(&state.mutex);
  state.undefined_used += object == UNDEFINED;
  pthread_mutex_unlock(&state.mutex);
  return object != 0 && object != UNDEFINED;
}

static bool is_removed(void) {
  pthread_mutex_lock(&state.mutex);
  bool removed = state.removed;
  pthread_mutex_unlock(&state.mutex);
  return removed;
}

static void count(int64_t change) {
  pthread_mutex_lock(&state.mutex);
  state.live += change;
  for (int i = 0; i < MOST_QUEUES && change < 0; i++) state.destroyed_early += state.busy[i] != VK_NULL_HANDLE;
  pthread_mutex_unlock(&state.mutex);
}

// The mutex is held. VK_NULL_HANDLE: all queues.
static void note_idle(VkQueue queue) {
  for (int i = 0; i < MOST_QUEUES; i++)
    if (queue == VK_NULL_HANDLE || state.busy[i] == queue) state.busy[i] = VK_NULL_HANDLE;
}

static void note_busy(VkQueue queue) {
  note_idle(queue);
  for (int i = 0; i < MOST_QUEUES; i++) {
    if (state.busy[i] != VK_NULL_HANDLE) continue;
    state.busy[i] = queue;
    return;
  }
}

// The entry of a command buffer, which is begun anew if there was none. The mutex is held.
static recorded *find_recorded(VkCommandBuffer commands) {
  recorded *free_one = NULL;
  for (int i = 0; i < MOST_COMMANDS; i++) {
    if (state.recorded[i].commands == commands) return &state.recorded[i];
    if (state.recorded[i].commands == VK_NULL_HANDLE && free_one == NULL) free_one = &state.recorded[i];
  }
  if (free_one == NULL) free_one = &state.recorded[0];
  *free_one = (recorded){.commands = commands};
  return free_one;
}

static timeline *find(VkSemaphore semaphore) {
  for (int i = 0; i < MOST_SEMAPHORES; i++)
    if (state.timelines[i].semaphore == semaphore) return &state.timelines[i];
  return NULL;
}

// What was submitted must come to its end, even where it waits for the host: nothing may be in use when it is destroyed.
static void end_all(void) {
  for (int i = 0; i < MOST_SEMAPHORES; i++) {
    timeline *each = &state.timelines[i];
    if (each->semaphore == VK_NULL_HANDLE || each->waited <= each->signalled) continue;
    const VkSemaphoreSignalInfo info = {
        .sType = VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO, .semaphore = each->semaphore, .value = each->waited};
    real.vkSignalSemaphore(state.device, &info);
  }
  real.vkDeviceWaitIdle(state.device);
  note_idle(VK_NULL_HANDLE);
}

static const char *memory_kind(void) {
  const char *kind = getenv("WEIR_INTERPOSER_MEMORY");
  return kind != NULL && kind[0] != '\0' ? kind : NULL;
}

#define WRAPPER(kind)                                                                                                  \
  static VKAPI_ATTR VkResult VKAPI_CALL create##kind(VkDevice device, const Vk##kind##CreateInfo *info,                \
                                                     const VkAllocationCallbacks *allocator, Vk##kind *out) {          \
    VkResult result = enter("vkCreate" #kind, false);                                                                  \
    if (result == VK_SUCCESS) result = real.vkCreate##kind(device, info, allocator, out);                              \
    if (result == VK_SUCCESS)                                                                                          \
      count(1);                                                                                                        \
    else                                                                                                               \
      *out = (Vk##kind)UNDEFINED;                                                                                      \
    return result;                                                                                                     \
  }                                                                                                                    \
  static VKAPI_ATTR void VKAPI_CALL destroy##kind(VkDevice device, Vk##kind object,                                    \
                                                  const VkAllocationCallbacks *allocator) {                            \
    if (!is_object((uint64_t)object)) return;                                                                          \
    count(-1);                                                                                                         \
    real.vkDestroy##kind(device, object, allocator);                                                                   \
  }
CREATES(WRAPPER)
#undef WRAPPER

static VKAPI_ATTR VkResult VKAPI_CALL my_vkCreateDevice(VkPhysicalDevice physical, const VkDeviceCreateInfo *info,
                                                        const VkAllocationCallbacks *allocator, VkDevice *out) {
  VkResult result = enter("vkCreateDevice", false);
  if (result == VK_SUCCESS) result = real_create_device(physical, info, allocator, out);
  if (result != VK_SUCCESS) {
    *out = (VkDevice)UNDEFINED;
    return result;
  }
  count(1);
#define LOOK_UP(kind)                                                                                                  \
  real.vkCreate##kind = (PFN_vkCreate##kind)real_device(*out, "vkCreate" #kind);                                       \
  real.vkDestroy##kind = (PFN_vkDestroy##kind)real_device(*out, "vkDestroy" #kind);
  CREATES(LOOK_UP)
#undef LOOK_UP
#define LOOK_UP(name) real.name = (PFN_##name)real_device(*out, #name);
  OTHERS(LOOK_UP)
#undef LOOK_UP
  state.device = *out;
  return VK_SUCCESS;
}

static VKAPI_ATTR void VKAPI_CALL my_vkDestroyDevice(VkDevice device, const VkAllocationCallbacks *allocator) {
  if (!is_object((uint64_t)device)) return;
  count(-1);
  real.vkDestroyDevice(device, allocator);
}

static VKAPI_ATTR VkResult VKAPI_CALL my_vkDeviceWaitIdle(VkDevice device) {
  VkResult result = enter("vkDeviceWaitIdle", true);
  if (result == VK_SUCCESS) result = real.vkDeviceWaitIdle(device);
  pthread_mutex_lock(&state.mutex);
  if (result == VK_SUCCESS) note_idle(VK_NULL_HANDLE);
  pthread_mutex_unlock(&state.mutex);
  return result;
}

static VKAPI_ATTR VkResult VKAPI_CALL my_vkQueueWaitIdle(VkQueue queue) {
  VkResult result = enter("vkQueueWaitIdle", true);
  if (result == VK_SUCCESS) result = real.vkQueueWaitIdle(queue);
  pthread_mutex_lock(&state.mutex);
  if (result == VK_SUCCESS) note_idle(queue);
  pthread_mutex_unlock(&state.mutex);
  return result;
}

static void note(VkSemaphore semaphore, uint64_t value, bool waits) {
  timeline *found = find(semaphore);
  if (found == NULL) return;
  uint64_t *noted = waits ? &found->waited : &found->signalled;
  if (value > *noted) *noted = value;
}

static VKAPI_ATTR VkResult VKAPI_CALL my_vkQueueSubmit(VkQueue queue, uint32_t submits, const VkSubmitInfo *infos,
                                                       VkFence fence) {
  VkResult result = enter("vkQueueSubmit", true);
  if (result != VK_SUCCESS) return result;
  pthread_mutex_lock(&state.mutex);
  for (uint32_t i = 0; i < submits; i++) {
    const VkTimelineSemaphoreSubmitInfo *values = infos[i].pNext;
    for (uint32_t j = 0; values != NULL && j < infos[i].waitSemaphoreCount; j++)
      note(infos[i].pWaitSemaphores[j], values->pWaitSemaphoreValues[j], true);
    for (uint32_t j = 0; values != NULL && j < infos[i].signalSemaphoreCount; j++)
      note(infos[i].pSignalSemaphores[j], values->pSignalSemaphoreValues[j], false);
    for (uint32_t j = 0; j < infos[i].commandBufferCount; j++)
      state.barriers += find_recorded(infos[i].pCommandBuffers[j])->barriers;
    if (infos[i].signalSemaphoreCount == 0 && fence == VK_NULL_HANDLE) note_busy(queue);
  }
  // With the mutex held: what is lost meanwhile waits until this is submitted, too.
  result = state.lost ? VK_ERROR_DEVICE_LOST : real.vkQueueSubmit(queue, submits, infos, fence);
  pthread_mutex_unlock(&state.mutex);
  return result;
}

static VKAPI_ATTR VkResult VKAPI_CALL my_vkAllocateMemory(VkDevice device, const VkMemoryAllocateInfo *info,
                                                          const VkAllocationCallbacks *allocator, VkDeviceMemory *out) {
  VkResult result = enter("vkAllocateMemory", false);
  VkMemoryAllocateInfo copy = *info;
  if (memory_kind() != NULL) copy.memoryTypeIndex = 0;
  if (result == VK_SUCCESS) result = real.vkAllocateMemory(device, &copy, allocator, out);
  if (result == VK_SUCCESS)
    count(1);
  else
    *out = (VkDeviceMemory)UNDEFINED;
  return result;
}

static VKAPI_ATTR void VKAPI_CALL my_vkFreeMemory(VkDevice device, VkDeviceMemory memory,
                                                  const VkAllocationCallbacks *allocator) {
  if (!is_object((uint64_t)memory)) return;
  count(-1);
  real.vkFreeMemory(device, memory, allocator);
}

static VKAPI_ATTR VkResult VKAPI_CALL my_vkMapMemory(VkDevice device, VkDeviceMemory memory, VkDeviceSize offset,
                                                     VkDeviceSize size, VkMemoryMapFlags flags, void **data) {
  VkResult result = enter("vkMapMemory", false);
  if (result == VK_SUCCESS) return real.vkMapMemory(device, memory, offset, size, flags, data);
  *data = (void *)UNDEFINED;
  return result;
}

static VKAPI_ATTR VkResult VKAPI_CALL my_vkBindBufferMemory(VkDevice device, VkBuffer buffer, VkDeviceMemory memory,
                                                            VkDeviceSize offset) {
  VkResult result = enter("vkBindBufferMemory", false);
  return result == VK_SUCCESS ? real.vkBindBufferMemory(device, buffer, memory, offset) : result;
}

static VKAPI_ATTR VkResult VKAPI_CALL my_vkBindImageMemory(VkDevice device, VkImage image, VkDeviceMemory memory,
                                                           VkDeviceSize offset) {
  VkResult result = enter("vkBindImageMemory", false);
  return result == VK_SUCCESS ? real.vkBindImageMemory(device, image, memory, offset) : result;
}

static VKAPI_ATTR VkResult VKAPI_CALL my_vkWaitForFences(VkDevice device, uint32_t fences, const VkFence *list,
                                                         VkBool32 all, uint64_t timeout) {
  VkResult result = enter("vkWaitForFences", true);
  return result == VK_SUCCESS ? real.vkWaitForFences(device, fences, list, all, timeout) : result;
}

static VKAPI_ATTR VkResult VKAPI_CALL my_vkResetFences(VkDevice device, uint32_t fences, const VkFence *list) {
  VkResult result = enter("vkResetFences", false);
  return result == VK_SUCCESS ? real.vkResetFences(device, fences, list) : result;
}

static VKAPI_ATTR void VKAPI_CALL my_vkGetBufferMemoryRequirements(VkDevice device, VkBuffer buffer,
                                                                   VkMemoryRequirements *out) {
  real.vkGetBufferMemoryRequirements(device, buffer, out);
  if (memory_kind() != NULL) out->memoryTypeBits = 3;
}

static VKAPI_ATTR void VKAPI_CALL my_vkGetImageMemoryRequirements(VkDevice device, VkImage image,
                                                                  VkMemoryRequirements *out) {
  real.vkGetImageMemoryRequirements(device, image, out);
  if (memory_kind() != NULL) out->memoryTypeBits = 3;
}

static VKAPI_ATTR VkResult VKAPI_CALL my_vkAllocateDescriptorSets(VkDevice device,
                                                                  const VkDescriptorSetAllocateInfo *info,
                                                                  VkDescriptorSet *out) {
  VkResult result = enter("vkAllocateDescriptorSets", false);
  return result == VK_SUCCESS ? real.vkAllocateDescriptorSets(device, info, out) : result;
}

static VKAPI_ATTR VkResult VKAPI_CALL my_vkAllocateCommandBuffers(VkDevice device,
                                                                  const VkCommandBufferAllocateInfo *info,
                                                                  VkCommandBuffer *out) {
  VkResult result = enter("vkAllocateCommandBuffers", false);
  return result == VK_SUCCESS ? real.vkAllocateCommandBuffers(device, info, out) : result;
}

static VKAPI_ATTR VkResult VKAPI_CALL my_vkBeginCommandBuffer(VkCommandBuffer commands,
                                                              const VkCommandBufferBeginInfo *info) {
  VkResult result = enter("vkBeginCommandBuffer", false);
  pthread_mutex_lock(&state.mutex);
  find_recorded(commands)->barriers = 0;
  pthread_mutex_unlock(&state.mutex);
  return result == VK_SUCCESS ? real.vkBeginCommandBuffer(commands, info) : result;
}

static VKAPI_ATTR void VKAPI_CALL my_vkCmdPipelineBarrier(VkCommandBuffer commands, VkPipelineStageFlags before,
                                                          VkPipelineStageFlags after, VkDependencyFlags flags,
                                                          uint32_t memory_count, const VkMemoryBarrier *memory,
                                                          uint32_t buffer_count, const VkBufferMemoryBarrier *buffers,
                                                          uint32_t image_count, const VkImageMemoryBarrier *images) {
  pthread_mutex_lock(&state.mutex);
  if (memory_count > 0 && (after & VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT) != 0) find_recorded(commands)->barriers++;
  pthread_mutex_unlock(&state.mutex);
  real.vkCmdPipelineBarrier(commands, before, after, flags, memory_count, memory, buffer_count, buffers, image_count,
                            images);
}

// One that fails leaves the buffer invalid: it is ended all the same, and never submitted.
static VKAPI_ATTR VkResult VKAPI_CALL my_vkEndCommandBuffer(VkCommandBuffer commands) {
  VkResult result = enter("vkEndCommandBuffer", false), ended = real.vkEndCommandBuffer(commands);
  return result == VK_SUCCESS ? ended : result;
}

static VKAPI_ATTR VkResult VKAPI_CALL my_vkResetCommandPool(VkDevice device, VkCommandPool pool,
                                                            VkCommandPoolResetFlags flags) {
  VkResult result = enter("vkResetCommandPool", false);
  return result == VK_SUCCESS ? real.vkResetCommandPool(device, pool, flags) : result;
}

static VKAPI_ATTR VkResult VKAPI_CALL my_vkCreateSemaphore(VkDevice device, const VkSemaphoreCreateInfo *info,
                                                           const VkAllocationCallbacks *allocator, VkSemaphore *out) {
  VkResult result = enter("vkCreateSemaphore", false);
  if (result == VK_SUCCESS) result = real.vkCreateSemaphore(device, info, allocator, out);
  if (result != VK_SUCCESS) {
    *out = (VkSemaphore)UNDEFINED;
    return result;
  }
  count(1);
  pthread_mutex_lock(&state.mutex);
  timeline *place = find(VK_NULL_HANDLE);
  if (place != NULL) *place = (timeline){.semaphore = *out};
  pthread_mutex_unlock(&state.mutex);
  return VK_SUCCESS;
}

static VKAPI_ATTR void VKAPI_CALL my_vkDestroySemaphore(VkDevice device, VkSemaphore semaphore,
                                                        const VkAllocationCallbacks *allocator) {
  if (!is_object((uint64_t)semaphore)) return;
  pthread_mutex_lock(&state.mutex);
  timeline *place = find(semaphore);
  if (place != NULL) *place = (timeline){0};
  state.live--;
  pthread_mutex_unlock(&state.mutex);
  real.vkDestroySemaphore(device, semaphore, allocator);
}

static VKAPI_ATTR VkResult VKAPI_CALL my_vkGetSemaphoreCounterValue(VkDevice device, VkSemaphore semaphore,
                                                                    uint64_t *out) {
  VkResult result = enter("vkGetSemaphoreCounterValue", true);
  if (result == VK_SUCCESS && is_removed()) {
    *out = UINT64_MAX;
    return VK_SUCCESS;
  }
  if (result == VK_SUCCESS) return real.vkGetSemaphoreCounterValue(device, semaphore, out);
  *out = UNDEFINED;
  return result;
}

static VKAPI_ATTR VkResult VKAPI_CALL my_vkWaitSemaphores(VkDevice device, const VkSemaphoreWaitInfo *info,
                                                          uint64_t timeout) {
  VkResult result = enter("vkWaitSemaphores", true);
  return result == VK_SUCCESS && !is_removed() ? real.vkWaitSemaphores(device, info, timeout) : result;
}

static VKAPI_ATTR VkResult VKAPI_CALL my_vkSignalSemaphore(VkDevice device, const VkSemaphoreSignalInfo *info) {
  VkResult result = enter("vkSignalSemaphore", false);
  if (result != VK_SUCCESS) return result;
  pthread_mutex_lock(&state.mutex);
  note(info->semaphore, info->value, false);
  if (!state.lost) result = real.vkSignalSemaphore(device, info);
  pthread_mutex_unlock(&state.mutex);
  return result;
}

static VKAPI_ATTR VkResult VKAPI_CALL my_vkGetQueryPoolResults(VkDevice device, VkQueryPool pool, uint32_t first,
                                                               uint32_t queries, size_t bytes, void *data,
                                                               VkDeviceSize stride, VkQueryResultFlags flags) {
  VkResult result = enter("vkGetQueryPoolResults", true);
  return result == VK_SUCCESS ? real.vkGetQueryPoolResults(device, pool, first, queries, bytes, data, stride, flags)
                              : result;
}

static VKAPI_ATTR VkResult VKAPI_CALL my_vkCreateComputePipelines(VkDevice device, VkPipelineCache cache,
                                                                  uint32_t pipelines,
                                                                  const VkComputePipelineCreateInfo *infos,
                                                                  const VkAllocationCallbacks *allocator,
                                                                  VkPipeline *out) {
  VkResult result = enter("vkCreateComputePipelines", false);
  for (uint32_t i = 0; i < pipelines; i++) out[i] = VK_NULL_HANDLE;
  if (result == VK_SUCCESS) result = real.vkCreateComputePipelines(device, cache, pipelines, infos, allocator, out);
  if (result == VK_SUCCESS) count(pipelines);
  return result;
}

static VKAPI_ATTR void VKAPI_CALL my_vkDestroyPipeline(VkDevice device, VkPipeline pipeline,
                                                       const VkAllocationCallbacks *allocator) {
  if (pipeline != VK_NULL_HANDLE) count(-1);
  real.vkDestroyPipeline(device, pipeline, allocator);
}

static VKAPI_ATTR void VKAPI_CALL my_vkGetPhysicalDeviceMemoryProperties(VkPhysicalDevice physical,
                                                                         VkPhysicalDeviceMemoryProperties *out) {
  const VkMemoryPropertyFlags reached = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  real_memory(physical, out);
  const char *kind = memory_kind();
  if (kind == NULL) return;
  bool bar = strcmp(kind, "bar") == 0;
  out->memoryTypeCount = 2;
  out->memoryTypes[0] =
      (VkMemoryType){.propertyFlags = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT | (bar ? reached : 0), .heapIndex = 0};
  out->memoryTypes[1] = (VkMemoryType){.propertyFlags = reached | VK_MEMORY_PROPERTY_HOST_CACHED_BIT, .heapIndex = 1};
  out->memoryHeapCount = 2;
  out->memoryHeaps[0].flags = VK_MEMORY_HEAP_DEVICE_LOCAL_BIT;
  out->memoryHeaps[1] = (VkMemoryHeap){.size = out->memoryHeaps[0].size};
}

static PFN_vkVoidFunction find_wrapper(const char *name) {
#define FIND(kind)                                                                                                     \
  if (strcmp(name, "vkCreate" #kind) == 0) return (PFN_vkVoidFunction)create##kind;                                    \
  if (strcmp(name, "vkDestroy" #kind) == 0) return (PFN_vkVoidFunction)destroy##kind;
  CREATES(FIND)
#undef FIND
#define FIND(each)                                                                                                     \
  if (strcmp(name, #each) == 0) return (PFN_vkVoidFunction)my_##each;
  OTHERS(FIND)
#undef FIND
  return NULL;
}

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL get_device(VkDevice device, const char *name) {
  PFN_vkVoidFunction function = find_wrapper(name);
  return function != NULL ? function : real_device(device, name);
}

PFN_vkVoidFunction vkGetInstanceProcAddr(VkInstance instance, const char *name) {
  if (real_instance == NULL) {
    void *library = dlopen("libvulkan.so.1", RTLD_NOW | RTLD_LOCAL);
    void *found = library != NULL ? dlsym(library, "vkGetInstanceProcAddr") : NULL;
    if (found == NULL) return NULL;
    memcpy(&real_instance, &found, sizeof found);
  }
  PFN_vkVoidFunction function = real_instance(instance, name);
  if (function == NULL) return NULL;
  if (strcmp(name, "vkGetDeviceProcAddr") == 0) {
    real_device = (PFN_vkGetDeviceProcAddr)function;
    return (PFN_vkVoidFunction)get_device;
  }
  if (strcmp(name, "vkCreateDevice") == 0) {
    real_create_device = (PFN_vkCreateDevice)function;
    return (PFN_vkVoidFunction)my_vkCreateDevice;
  }
  if (strcmp(name, "vkGetPhysicalDeviceMemoryProperties") == 0) {
    real_memory = (PFN_vkGetPhysicalDeviceMemoryProperties)function;
    return (PFN_vkVoidFunction)my_vkGetPhysicalDeviceMemoryProperties;
  }
  return function;
}

void interposer_fail(const char *name, uint64_t n, int result) {
  interposer_fail_times(name, n, 1, result);
}

void interposer_fail_times(const char *name, uint64_t n, uint64_t times, int result) {
  pthread_mutex_lock(&state.mutex);
  state.name = name;
  state.n = n;
  state.times = times;
  state.seen = state.undefined_used = state.barriers = 0;
  state.result = (VkResult)result;
  state.failed = NULL;
  state.lost = state.removed = false;
  state.destroyed_early = 0;
  pthread_mutex_unlock(&state.mutex);
}

void interposer_remove(void) {
  pthread_mutex_lock(&state.mutex);
  state.removed = true;
  pthread_mutex_unlock(&state.mutex);
}

const char *interposer_failed(void) {
  pthread_mutex_lock(&state.mutex);
  const char *failed = state.failed;
  pthread_mutex_unlock(&state.mutex);
  return failed;
}

uint64_t interposer_destroyed_early(void) {
  pthread_mutex_lock(&state.mutex);
  uint64_t early = state.destroyed_early;
  pthread_mutex_unlock(&state.mutex);
  return early;
}

uint64_t interposer_undefined_used(void) {
  pthread_mutex_lock(&state.mutex);
  uint64_t used = state.undefined_used;
  pthread_mutex_unlock(&state.mutex);
  return used;
}

uint64_t interposer_barriers(void) {
  pthread_mutex_lock(&state.mutex);
  uint64_t barriers = state.barriers;
  pthread_mutex_unlock(&state.mutex);
  return barriers;
}

int64_t interposer_live(void) {
  pthread_mutex_lock(&state.mutex);
  int64_t live = state.live;
  pthread_mutex_unlock(&state.mutex);
  return live;
}
