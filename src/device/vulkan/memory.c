// SPDX-License-Identifier: Apache-2.0
#include "device/vulkan/memory.h"

#include <string.h>
#include <sys/mman.h>

#include "base/allocate.h"

#define NO_TYPE UINT32_MAX
enum { MOST_OF_HEAP = 4 };

static const VkBufferUsageFlags USAGE =
    VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;

// The first type with all of `wanted` and none of `unwanted`, in a heap of at least `least` bytes.
static uint32_t find_type(const weir__vulkan_facts *facts, uint32_t allowed, VkMemoryPropertyFlags wanted,
                          VkMemoryPropertyFlags unwanted, uint64_t least) {
  const VkPhysicalDeviceMemoryProperties *memory = &facts->memory;
  for (uint32_t i = 0; i < memory->memoryTypeCount; i++) {
    VkMemoryPropertyFlags flags = memory->memoryTypes[i].propertyFlags;
    if ((allowed >> i & 1) && (flags & wanted) == wanted && (flags & unwanted) == 0 &&
        memory->memoryHeaps[memory->memoryTypes[i].heapIndex].size >= least)
      return i;
  }
  return (uint32_t)NO_TYPE;
}

static VkResult make_buffer(const weir__vulkan_memory *memory, uint64_t bytes, VkBuffer *out_buffer) {
  const VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                   .size = bytes,
                                   .usage = USAGE,
                                   .sharingMode = memory->family_count > 1 ? VK_SHARING_MODE_CONCURRENT
                                                                           : VK_SHARING_MODE_EXCLUSIVE,
                                   .queueFamilyIndexCount = memory->family_count > 1 ? memory->family_count : 0,
                                   .pQueueFamilyIndices = memory->families};
  *out_buffer = VK_NULL_HANDLE;
  return memory->calls->vkCreateBuffer(memory->device, &info, NULL, out_buffer);
}

static void choose_types(weir__vulkan_memory *memory, uint32_t allowed) {
  const weir__vulkan_facts *facts = memory->facts;
  const VkMemoryPropertyFlags reached = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  const VkMemoryPropertyFlags local = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
  uint64_t largest = 0;
  for (uint32_t i = 0; i < facts->memory.memoryHeapCount; i++) {
    const VkMemoryHeap *heap = &facts->memory.memoryHeaps[i];
    if ((heap->flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) && heap->size > largest) largest = heap->size;
  }
  // The host reaches the device's memory if it reaches most of it: a small window is no use.
  uint64_t most = largest - largest / MOST_OF_HEAP;
  uint32_t cached = find_type(facts, allowed, local | reached | VK_MEMORY_PROPERTY_HOST_CACHED_BIT, 0, most);
  uint32_t direct = cached != NO_TYPE ? cached : find_type(facts, allowed, local | reached, 0, most);
  memory->device_type = direct != NO_TYPE ? direct : find_type(facts, allowed, local, 0, most);
  memory->writes_mapped = direct != NO_TYPE;
  memory->reads_mapped = cached != NO_TYPE;
  memory->host_type = find_type(facts, allowed, reached | VK_MEMORY_PROPERTY_HOST_CACHED_BIT, local, 0);
  if (memory->host_type == NO_TYPE)
    memory->host_type = find_type(facts, allowed, reached | VK_MEMORY_PROPERTY_HOST_CACHED_BIT, 0, 0);
  if (memory->host_type == NO_TYPE) memory->host_type = find_type(facts, allowed, reached, 0, 0);
}

bool weir__vulkan_memory_initialize(weir__vulkan_memory *memory, const weir__vulkan_calls *calls, VkDevice device,
                                    const weir__vulkan_facts *facts, const uint32_t *families, uint32_t family_count) {
  *memory = (weir__vulkan_memory){
      .calls = calls, .device = device, .facts = facts, .family_count = family_count, .next_number = 1};
  memcpy(memory->families, families, family_count * sizeof families[0]);
  VkBuffer probe;
  if (make_buffer(memory, 1 << 16, &probe) != VK_SUCCESS) return false;
  VkMemoryRequirements needs;
  calls->vkGetBufferMemoryRequirements(device, probe, &needs);
  calls->vkDestroyBuffer(device, probe, NULL);
  choose_types(memory, needs.memoryTypeBits);
  return memory->device_type != NO_TYPE && memory->host_type != NO_TYPE;
}

void weir__vulkan_memory_deinitialize(weir__vulkan_memory *memory) {
  while (memory->count > 0) weir__vulkan_chunk_destroy(memory, memory->chunks[memory->count - 1]);
  weir__free(memory->chunks);
  memory->chunks = NULL;
}

// Index of the first chunk whose addresses lie behind `address`.
static uint32_t upper_bound(const weir__vulkan_memory *memory, uintptr_t address) {
  uint32_t low = 0, high = memory->count;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (memory->chunks[middle]->address <= address)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

static bool enter(weir__vulkan_memory *memory, weir__vulkan_chunk *chunk) {
  weir__lock_acquire(&memory->lock);
  if (memory->count == memory->capacity) {
    uint32_t capacity = memory->capacity == 0 ? 32 : 2 * memory->capacity;
    weir__vulkan_chunk **larger = weir__allocate(capacity * sizeof(weir__vulkan_chunk *));
    if (larger == NULL) {
      weir__lock_release(&memory->lock);
      return false;
    }
    if (memory->count > 0) memcpy(larger, memory->chunks, memory->count * sizeof(weir__vulkan_chunk *));
    weir__free(memory->chunks);
    memory->chunks = larger;
    memory->capacity = capacity;
  }
  uint32_t at = upper_bound(memory, chunk->address);
  memmove(&memory->chunks[at + 1], &memory->chunks[at], (memory->count - at) * sizeof(weir__vulkan_chunk *));
  memory->chunks[at] = chunk;
  memory->count++;
  chunk->number = memory->next_number++;
  weir__lock_release(&memory->lock);
  return true;
}

static void leave(weir__vulkan_memory *memory, const weir__vulkan_chunk *chunk) {
  weir__lock_acquire(&memory->lock);
  for (uint32_t i = 0; i < memory->count; i++) {
    if (memory->chunks[i] != chunk) continue;
    memory->count--;
    memmove(&memory->chunks[i], &memory->chunks[i + 1], (memory->count - i) * sizeof(weir__vulkan_chunk *));
    break;
  }
  weir__lock_release(&memory->lock);
}

// Addresses that nothing else has.
static bool reserve_addresses(weir__vulkan_chunk *chunk) {
  void *range = mmap(NULL, chunk->bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (range == MAP_FAILED) return false;
  chunk->address = (uintptr_t)range;
  return true;
}

static void release(weir__vulkan_memory *memory, weir__vulkan_chunk *chunk) {
  const weir__vulkan_calls *calls = memory->calls;
  if (chunk->heap)
    weir__free(chunk->mapped);
  else if (chunk->mapped != NULL)
    calls->vkUnmapMemory(memory->device, chunk->memory);
  else if (chunk->address != 0)
    munmap((void *)chunk->address, chunk->bytes);
  if (chunk->image != NULL) weir__vulkan_image_free(memory, chunk->image);
  if (chunk->memory != VK_NULL_HANDLE) {
    calls->vkDestroyBuffer(memory->device, chunk->buffer, NULL);
    calls->vkFreeMemory(memory->device, chunk->memory, NULL);
  }
  weir__free(chunk);
}

static bool back_with_memory(weir__vulkan_memory *memory, weir__vulkan_chunk *chunk) {
  const weir__vulkan_calls *calls = memory->calls;
  VkBuffer buffer;
  if (make_buffer(memory, chunk->bytes, &buffer) != VK_SUCCESS) return false;
  VkMemoryRequirements needs;
  calls->vkGetBufferMemoryRequirements(memory->device, buffer, &needs);
  const VkMemoryAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                     .allocationSize = needs.size,
                                     .memoryTypeIndex = chunk->on_host ? memory->host_type : memory->device_type};
  VkResult result = calls->vkAllocateMemory(memory->device, &info, NULL, &chunk->memory);
  if (weir__vulkan_made(result, &chunk->memory) != VK_SUCCESS) {
    calls->vkDestroyBuffer(memory->device, buffer, NULL);
    return false;
  }
  chunk->buffer = buffer; // from here on released with the memory
  if (calls->vkBindBufferMemory(memory->device, buffer, chunk->memory, 0) != VK_SUCCESS) return false;
  if (!chunk->on_host && !memory->writes_mapped) return reserve_addresses(chunk);
  void *mapped = NULL;
  if (calls->vkMapMemory(memory->device, chunk->memory, 0, VK_WHOLE_SIZE, 0, &mapped) != VK_SUCCESS) return false;
  chunk->mapped = mapped;
  chunk->address = (uintptr_t)mapped;
  return true;
}

// On a device that is lost there is no memory any more: the other devices get by with ordinary memory.
static bool back_with_heap(weir__vulkan_chunk *chunk) {
  chunk->heap = true;
  chunk->mapped = weir__allocate(chunk->bytes);
  chunk->address = (uintptr_t)chunk->mapped;
  return chunk->mapped != NULL;
}

weir__vulkan_chunk *weir__vulkan_chunk_create(weir__vulkan_memory *memory, uint64_t bytes, bool on_host) {
  if (!weir__allocate_permit()) return NULL;
  weir__vulkan_chunk *chunk = weir__allocate_zeroed(sizeof *chunk);
  if (chunk == NULL) return NULL;
  chunk->bytes = bytes;
  chunk->on_host = on_host;
  bool backed = on_host && memory->lost ? back_with_heap(chunk) : back_with_memory(memory, chunk);
  if (backed && enter(memory, chunk)) return chunk;
  release(memory, chunk);
  return NULL;
}

weir__vulkan_chunk *weir__vulkan_chunk_import(weir__vulkan_memory *memory, VkBuffer buffer, uint64_t bytes) {
  weir__vulkan_chunk *chunk = weir__allocate_zeroed(sizeof *chunk);
  if (chunk == NULL) return NULL;
  chunk->bytes = bytes;
  chunk->buffer = buffer;
  if (reserve_addresses(chunk) && enter(memory, chunk)) return chunk;
  release(memory, chunk);
  return NULL;
}

weir__vulkan_chunk *weir__vulkan_chunk_take_image(weir__vulkan_memory *memory, weir__vulkan_image *image,
                                                  VkDeviceMemory image_memory, uint64_t bytes) {
  weir__vulkan_chunk *chunk = weir__allocate_zeroed(sizeof *chunk);
  if (chunk == NULL) {
    weir__vulkan_image_free(memory, image);
    memory->calls->vkFreeMemory(memory->device, image_memory, NULL);
    return NULL;
  }
  chunk->bytes = bytes;
  chunk->image = image;
  chunk->memory = image_memory;
  if (reserve_addresses(chunk) && enter(memory, chunk)) return chunk;
  release(memory, chunk);
  return NULL;
}

VkResult weir__vulkan_memory_allocate(const weir__vulkan_memory *memory, const VkMemoryRequirements *needs,
                                      VkDeviceMemory *out_memory) {
  uint32_t type = find_type(memory->facts, needs->memoryTypeBits, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, 0, needs->size);
  if (type == NO_TYPE) type = find_type(memory->facts, needs->memoryTypeBits, 0, 0, needs->size);
  if (type == NO_TYPE || !weir__allocate_permit()) return VK_ERROR_OUT_OF_DEVICE_MEMORY;
  const VkMemoryAllocateInfo info = {
      .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, .allocationSize = needs->size, .memoryTypeIndex = type};
  return weir__vulkan_made(memory->calls->vkAllocateMemory(memory->device, &info, NULL, out_memory), out_memory);
}

void weir__vulkan_chunk_destroy(weir__vulkan_memory *memory, weir__vulkan_chunk *chunk) {
  leave(memory, chunk);
  atomic_fetch_add_explicit(&memory->generation, 1, memory_order_relaxed);
  release(memory, chunk);
}

weir__vulkan_chunk *weir__vulkan_chunk_find(weir__vulkan_memory *memory, const void *address) {
  weir__lock_acquire(&memory->lock);
  uint32_t after = upper_bound(memory, (uintptr_t)address);
  weir__vulkan_chunk *chunk = after > 0 ? memory->chunks[after - 1] : NULL;
  if (chunk != NULL && (uintptr_t)address - chunk->address >= chunk->bytes) chunk = NULL;
  weir__lock_release(&memory->lock);
  return chunk;
}

weir__vulkan_chunk *weir__vulkan_chunk_of(weir__vulkan_memory *memory, VkBuffer buffer) {
  weir__vulkan_chunk *found = NULL;
  weir__lock_acquire(&memory->lock);
  for (uint32_t i = 0; i < memory->count && found == NULL; i++) {
    weir__vulkan_chunk *chunk = memory->chunks[i];
    if (chunk->buffer == buffer && chunk->memory == VK_NULL_HANDLE) found = chunk;
  }
  weir__lock_release(&memory->lock);
  return found;
}

static void *allocate_on(weir__vulkan_memory *memory, uint64_t bytes, bool on_host) {
  weir__vulkan_chunk *chunk = weir__vulkan_chunk_create(memory, bytes, on_host);
  return chunk == NULL ? NULL : (void *)chunk->address;
}

static void *allocate_device(void *user, uint64_t bytes) {
  return allocate_on(user, bytes, false);
}

static void *allocate_host(void *user, uint64_t bytes) {
  return allocate_on(user, bytes, true);
}

static void free_chunk(void *user, void *address) {
  weir__vulkan_memory *memory = user;
  weir__vulkan_chunk_destroy(memory, weir__vulkan_chunk_find(memory, address));
}

weir__memory_source weir__vulkan_device_source(weir__vulkan_memory *memory) {
  return (weir__memory_source){.allocate = allocate_device, .free = free_chunk, .user = memory};
}

weir__memory_source weir__vulkan_host_source(weir__vulkan_memory *memory) {
  return (weir__memory_source){.allocate = allocate_host, .free = free_chunk, .user = memory};
}
