// SPDX-License-Identifier: Apache-2.0
#include "device/vulkan/descriptors.h"

#include <string.h>

#include "base/allocate.h"

enum {
  SETS_PER_POOL = 256,
  BUFFERS_PER_SET = 6, // on average; or images of one kind
  FIRST_SIZE = 256,
  WORDS_PER_BINDING = 3, // of a key
};

typedef struct weir__vulkan_set {
  VkDescriptorSet set; // VK_NULL_HANDLE: no entry
  const weir__vulkan_layout *layout;
  uint64_t hash, key; // `key`: where its words start
} weir__vulkan_set;

void weir__vulkan_sets_initialize(weir__vulkan_sets *sets, const weir__vulkan_calls *calls, VkDevice device) {
  *sets = (weir__vulkan_sets){.calls = calls, .device = device};
}

void weir__vulkan_sets_deinitialize(weir__vulkan_sets *sets) {
  for (uint32_t i = 0; i < sets->pool_count; i++)
    sets->calls->vkDestroyDescriptorPool(sets->device, sets->pools[i], NULL);
  weir__free(sets->pools);
  weir__free(sets->entries);
  weir__free(sets->keys);
}

void weir__vulkan_sets_reset(weir__vulkan_sets *sets) {
  for (uint32_t i = 0; i < sets->pool_count; i++) sets->calls->vkResetDescriptorPool(sets->device, sets->pools[i], 0);
  if (sets->size > 0) memset(sets->entries, 0, sets->size * sizeof *sets->entries);
  for (uint32_t i = 0; i < WEIR__VULKAN_SPARE_LAYOUTS; i++) sets->spares[i].count = 0;
  sets->current = sets->count = 0;
  sets->key_count = 0;
}

static uint64_t hash_words(const weir__vulkan_layout *layout, const uint64_t *words, uint64_t count) {
  uint64_t hash = (uint64_t)(uintptr_t)layout * 0x9e3779b97f4a7c15u;
  for (uint64_t i = 0; i < count; i++) {
    hash = (hash ^ words[i]) * 0xff51afd7ed558ccdu;
    hash ^= hash >> 32;
  }
  return hash;
}

// Where the entry of a key is, or where it belongs.
static weir__vulkan_set *find(const weir__vulkan_sets *sets, const weir__vulkan_layout *layout, const uint64_t *words,
                              uint64_t count, uint64_t hash) {
  uint32_t at = (uint32_t)hash & (sets->size - 1);
  for (;; at = (at + 1) & (sets->size - 1)) {
    weir__vulkan_set *entry = &sets->entries[at];
    if (entry->set == VK_NULL_HANDLE) return entry;
    if (entry->hash == hash && entry->layout == layout &&
        memcmp(sets->keys + entry->key, words, count * sizeof *words) == 0)
      return entry;
  }
}

static bool grow_entries(weir__vulkan_sets *sets) {
  uint32_t size = sets->size == 0 ? FIRST_SIZE : 2 * sets->size, old_size = sets->size;
  weir__vulkan_set *larger = weir__allocate_zeroed(size * sizeof *larger), *old = sets->entries;
  if (larger == NULL) return false;
  sets->entries = larger;
  sets->size = size;
  for (uint32_t i = 0; i < old_size; i++) {
    if (old[i].set == VK_NULL_HANDLE) continue;
    uint32_t at = (uint32_t)old[i].hash & (size - 1);
    while (larger[at].set != VK_NULL_HANDLE) at = (at + 1) & (size - 1);
    larger[at] = old[i];
  }
  weir__free(old);
  return true;
}

// Room for one more set and its key.
static bool reserve(weir__vulkan_sets *sets, uint64_t words) {
  if (4 * (sets->count + 1) > 3 * sets->size && !grow_entries(sets)) return false;
  if (sets->key_count + words <= sets->key_capacity) return true;
  uint64_t capacity = 2 * (sets->key_count + words) + FIRST_SIZE;
  uint64_t *larger = weir__allocate(capacity * sizeof *larger);
  if (larger == NULL) return false;
  if (sets->key_count > 0) memcpy(larger, sets->keys, sets->key_count * sizeof *larger);
  weir__free(sets->keys);
  sets->keys = larger;
  sets->key_capacity = capacity;
  return true;
}

static VkResult add_pool(weir__vulkan_sets *sets, uint32_t bindings) {
  if (sets->pool_count == sets->pool_capacity) {
    uint32_t capacity = sets->pool_capacity == 0 ? 8 : 2 * sets->pool_capacity;
    VkDescriptorPool *larger = weir__allocate(capacity * sizeof *larger);
    if (larger == NULL) return VK_ERROR_OUT_OF_HOST_MEMORY;
    if (sets->pool_count > 0) memcpy(larger, sets->pools, sets->pool_count * sizeof *larger);
    weir__free(sets->pools);
    sets->pools = larger;
    sets->pool_capacity = capacity;
  }
  uint32_t descriptors = SETS_PER_POOL * BUFFERS_PER_SET + bindings;
  const VkDescriptorPoolSize sizes[] = {{VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, descriptors},
                                        {VK_DESCRIPTOR_TYPE_STORAGE_IMAGE, descriptors},
                                        {VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER, descriptors}};
  const VkDescriptorPoolCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
                                           .maxSets = SETS_PER_POOL,
                                           .poolSizeCount = sizeof sizes / sizeof *sizes,
                                           .pPoolSizes = sizes};
  VkResult result = sets->calls->vkCreateDescriptorPool(sets->device, &info, NULL, &sets->pools[sets->pool_count]);
  if (result == VK_SUCCESS) sets->pool_count++;
  return result;
}

// New sets of one layout, from the first pool from `current` on that has room, or from a new pool.
static VkResult allocate_some(weir__vulkan_sets *sets, const weir__vulkan_layout *layout, uint32_t count,
                              VkDescriptorSet *out_sets) {
  VkDescriptorSetLayout layouts[WEIR__VULKAN_SPARE_SETS];
  for (uint32_t i = 0; i < count; i++) layouts[i] = layout->set;
  VkDescriptorSetAllocateInfo info = {
      .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO, .descriptorSetCount = count, .pSetLayouts = layouts};
  for (;;) {
    bool fresh = sets->current == sets->pool_count;
    if (fresh) {
      VkResult result = add_pool(sets, layout->binding_count);
      if (result != VK_SUCCESS) return result;
    }
    info.descriptorPool = sets->pools[sets->current];
    VkResult result = sets->calls->vkAllocateDescriptorSets(sets->device, &info, out_sets);
    if (result != VK_ERROR_OUT_OF_POOL_MEMORY && result != VK_ERROR_FRAGMENTED_POOL) return result;
    if (fresh) return VK_ERROR_OUT_OF_DEVICE_MEMORY;
    sets->current++;
  }
}

// The spare sets of a layout; NULL: those of too many others are kept.
static weir__vulkan_spare_sets *find_spares(weir__vulkan_sets *sets, const weir__vulkan_layout *layout) {
  for (uint32_t i = 0; i < WEIR__VULKAN_SPARE_LAYOUTS; i++) {
    weir__vulkan_spare_sets *spares = &sets->spares[i];
    if (spares->layout == NULL) spares->layout = layout;
    if (spares->layout == layout) return spares;
  }
  return NULL;
}

// A new set. Of a layout that is asked for often many are allocated at once, which costs much less than one by one.
static VkResult allocate(weir__vulkan_sets *sets, const weir__vulkan_layout *layout, VkDescriptorSet *out_set) {
  weir__vulkan_spare_sets *spares = find_spares(sets, layout);
  uint32_t most = SETS_PER_POOL * BUFFERS_PER_SET / layout->binding_count;
  if (spares == NULL || most == 0) return allocate_some(sets, layout, 1, out_set);
  if (spares->count == 0) {
    uint32_t count = spares->asked < WEIR__VULKAN_SPARE_SETS ? spares->asked + 1 : WEIR__VULKAN_SPARE_SETS;
    if (count > most) count = most;
    VkResult result = allocate_some(sets, layout, count, spares->sets);
    if (result != VK_SUCCESS) return result;
    spares->count = count;
    spares->asked += count;
  }
  *out_set = spares->sets[--spares->count];
  return VK_SUCCESS;
}

enum { WRITES_AT_ONCE = 16 };

static void write(weir__vulkan_sets *sets, const weir__vulkan_layout *layout, const weir__vulkan_bound *bound,
                  VkDescriptorSet set) {
  VkWriteDescriptorSet writes[WRITES_AT_ONCE];
  VkDescriptorBufferInfo buffers[WRITES_AT_ONCE];
  VkDescriptorImageInfo images[WRITES_AT_ONCE];
  uint32_t count = 0;
  for (uint32_t i = 0; i < layout->binding_count; i++) {
    if (bound[i].chunk == NULL) continue;
    const weir__vulkan_image *image = bound[i].chunk->image;
    buffers[count] = (VkDescriptorBufferInfo){bound[i].chunk->buffer, bound[i].offset, bound[i].bytes};
    if (image != NULL) images[count] = (VkDescriptorImageInfo){image->sampler, image->view, VK_IMAGE_LAYOUT_GENERAL};
    writes[count] = (VkWriteDescriptorSet){.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                           .dstSet = set,
                                           .dstBinding = i,
                                           .descriptorCount = 1,
                                           .descriptorType = layout->types[i],
                                           .pBufferInfo = &buffers[count],
                                           .pImageInfo = &images[count]};
    if (++count < WRITES_AT_ONCE) continue;
    sets->calls->vkUpdateDescriptorSets(sets->device, count, writes, 0, NULL);
    count = 0;
  }
  if (count > 0) sets->calls->vkUpdateDescriptorSets(sets->device, count, writes, 0, NULL);
}

VkResult weir__vulkan_sets_get(weir__vulkan_sets *sets, const weir__vulkan_layout *layout,
                               const weir__vulkan_bound *bound, VkDescriptorSet *out_set) {
  uint64_t word_count = (uint64_t)WORDS_PER_BINDING * layout->binding_count;
  if (!reserve(sets, word_count)) return VK_ERROR_OUT_OF_HOST_MEMORY;
  uint64_t *words = sets->keys + sets->key_count;
  for (uint32_t i = 0; i < layout->binding_count; i++) {
    words[WORDS_PER_BINDING * i] = bound[i].chunk == NULL ? 0 : bound[i].chunk->number;
    words[WORDS_PER_BINDING * i + 1] = bound[i].offset;
    words[WORDS_PER_BINDING * i + 2] = bound[i].bytes;
  }
  uint64_t hash = hash_words(layout, words, word_count);
  weir__vulkan_set *entry = find(sets, layout, words, word_count, hash);
  if (entry->set == VK_NULL_HANDLE) {
    VkDescriptorSet set;
    VkResult result = allocate(sets, layout, &set);
    if (result != VK_SUCCESS) return result;
    write(sets, layout, bound, set);
    *entry = (weir__vulkan_set){.set = set, .layout = layout, .hash = hash, .key = sets->key_count};
    sets->key_count += word_count;
    sets->count++;
  }
  *out_set = entry->set;
  return VK_SUCCESS;
}
