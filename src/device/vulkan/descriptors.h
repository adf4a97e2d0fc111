// SPDX-License-Identifier: Apache-2.0
//
// Descriptor sets: a set is made once for what it binds, and found again. Sets are freed all at once, by a reset, when nothing
// in flight uses them. Used by one thread.
#ifndef WEIR_DEVICE_VULKAN_DESCRIPTORS_H
#define WEIR_DEVICE_VULKAN_DESCRIPTORS_H

#include "device/vulkan/memory.h"
#include "device/vulkan/pipeline.h"

// What one binding gets: a range of a chunk.
typedef struct weir__vulkan_bound {
  const weir__vulkan_chunk *chunk; // an image's: all of it. NULL: nothing, where the shader ignores the binding
  uint64_t offset, bytes;
} weir__vulkan_bound;

enum { WEIR__VULKAN_SPARE_LAYOUTS = 8, WEIR__VULKAN_SPARE_SETS = 32 };

// Sets of one layout that were allocated together and are not used yet.
typedef struct weir__vulkan_spare_sets {
  const weir__vulkan_layout *layout;
  uint32_t count, asked; // `asked`: how many of this layout were needed so far
  VkDescriptorSet sets[WEIR__VULKAN_SPARE_SETS];
} weir__vulkan_spare_sets;

typedef struct weir__vulkan_sets {
  const weir__vulkan_calls *calls;
  VkDevice device;
  VkDescriptorPool *pools; // the last one in use is `current`
  uint32_t pool_count, pool_capacity, current;
  struct weir__vulkan_set *entries; // open addressing; its size is a power of two
  uint32_t count, size;
  uint64_t *keys; // of all sets, one after another
  uint64_t key_count, key_capacity;
  weir__vulkan_spare_sets spares[WEIR__VULKAN_SPARE_LAYOUTS];
} weir__vulkan_sets;

void weir__vulkan_sets_initialize(weir__vulkan_sets *sets, const weir__vulkan_calls *calls, VkDevice device);
void weir__vulkan_sets_deinitialize(weir__vulkan_sets *sets);

// Forgets and frees all sets.
void weir__vulkan_sets_reset(weir__vulkan_sets *sets);

// The set of a layout that binds just this; `bound` has layout->binding_count items.
VkResult weir__vulkan_sets_get(weir__vulkan_sets *sets, const weir__vulkan_layout *layout,
                               const weir__vulkan_bound *bound, VkDescriptorSet *out_set);

#endif // WEIR_DEVICE_VULKAN_DESCRIPTORS_H
