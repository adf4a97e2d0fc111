// SPDX-License-Identifier: Apache-2.0
//
// A Vulkan device's memory: chunks, each one VkDeviceMemory with one VkBuffer over all of it, or one image. Elsewhere in Weir memory has
// addresses, so every chunk has a range of them: where it is mapped, or, where the host cannot reach it, a range of the
// process's address space that is reserved and never touched. An address leads back to the chunk.
#ifndef WEIR_DEVICE_VULKAN_MEMORY_H
#define WEIR_DEVICE_VULKAN_MEMORY_H

#include "base/lock.h"
#include "device/vulkan/driver.h"
#include "device/vulkan/image.h"
#include "memory/pool.h"

typedef struct weir__vulkan_chunk {
  uint64_t number; // never used again, unlike handles
  uintptr_t address;
  uint64_t bytes;
  VkBuffer buffer;           // VK_NULL_HANDLE: an image's
  weir__vulkan_image *image; // NULL: a buffer's; owned
  VkDeviceMemory memory;     // VK_NULL_HANDLE: the caller's
  char *mapped;              // NULL: the host cannot reach it
  bool on_host;              // meant for copies from and to the host
  bool heap;                 // no memory of the device's at all: stands in for it on a device that is lost
} weir__vulkan_chunk;

typedef struct weir__vulkan_memory {
  const weir__vulkan_calls *calls;
  VkDevice device;
  const weir__vulkan_facts *facts;
  uint32_t families[WEIR__VULKAN_MOST_FAMILIES]; // that use buffers
  uint32_t family_count;
  uint32_t device_type, host_type; // memory types
  bool writes_mapped;              // the host writes the device's memory directly: no staging on the way there
  bool reads_mapped;               // and reads it as fast as its own: no staging on the way back
  _Atomic bool lost;               // read by any thread
  weir__lock lock;                 // of the list
  weir__vulkan_chunk **chunks;
  uint32_t count, capacity; // ascending addresses
  uint64_t next_number;
  _Atomic uint64_t generation; // grows when a chunk is destroyed
  _Atomic uint32_t new_images; // that are not in their layout yet
} weir__vulkan_memory;

// Chooses the types of memory. False: the device has none of the right kind.
bool weir__vulkan_memory_initialize(weir__vulkan_memory *memory, const weir__vulkan_calls *calls, VkDevice device,
                                    const weir__vulkan_facts *facts, const uint32_t *families, uint32_t family_count);
void weir__vulkan_memory_deinitialize(weir__vulkan_memory *memory);

static inline bool weir__vulkan_has_new_images(const weir__vulkan_memory *memory) {
  return atomic_load_explicit(&memory->new_images, memory_order_relaxed) > 0;
}

// Makes a chunk. NULL: no memory. Any thread, as all that follows.
weir__vulkan_chunk *weir__vulkan_chunk_create(weir__vulkan_memory *memory, uint64_t bytes, bool on_host);
// Enters a caller's VkBuffer. NULL: no memory.
weir__vulkan_chunk *weir__vulkan_chunk_import(weir__vulkan_memory *memory, VkBuffer buffer, uint64_t bytes);
// Enters an image with its memory, which the chunk owns from now on, and even if it fails. NULL: no memory.
weir__vulkan_chunk *weir__vulkan_chunk_take_image(weir__vulkan_memory *memory, weir__vulkan_image *image,
                                                  VkDeviceMemory image_memory, uint64_t bytes);
// Memory for an image: the device's own if there is some that suits.
VkResult weir__vulkan_memory_allocate(const weir__vulkan_memory *memory, const VkMemoryRequirements *needs,
                                      VkDeviceMemory *out_memory);
void weir__vulkan_chunk_destroy(weir__vulkan_memory *memory, weir__vulkan_chunk *chunk);
// The chunk of a caller's VkBuffer; NULL: it was not entered.
weir__vulkan_chunk *weir__vulkan_chunk_of(weir__vulkan_memory *memory, VkBuffer buffer);

// The chunk that an address lies in; NULL: the address is no chunk's.
weir__vulkan_chunk *weir__vulkan_chunk_find(weir__vulkan_memory *memory, const void *address);

// Sources of chunks for arenas: of the device's memory, of the host's.
weir__memory_source weir__vulkan_device_source(weir__vulkan_memory *memory);
weir__memory_source weir__vulkan_host_source(weir__vulkan_memory *memory);

#endif // WEIR_DEVICE_VULKAN_MEMORY_H
