// SPDX-License-Identifier: Apache-2.0
#include "device/vulkan/image.h"

#include <stdio.h>
#include <string.h>

#include "base/allocate.h"
#include "device/vulkan/vulkan.h"

enum { LEAST_ALIGNMENT = 4 }; // of offsets in buffers, for queues that only copy

static const VkImageSubresourceLayers LAYERS = {.aspectMask = VK_IMAGE_ASPECT_COLOR_BIT, .layerCount = 1};
static const VkImageSubresourceRange RANGE = {
    .aspectMask = VK_IMAGE_ASPECT_COLOR_BIT, .levelCount = 1, .layerCount = 1};

void weir__vulkan_image_free(weir__vulkan_memory *memory, weir__vulkan_image *image) {
  const weir__vulkan_calls *calls = memory->calls;
  if (!image->laid_out) atomic_fetch_sub_explicit(&memory->new_images, 1, memory_order_relaxed);
  calls->vkDestroySampler(memory->device, image->sampler, NULL);
  calls->vkDestroyImageView(memory->device, image->view, NULL);
  calls->vkDestroyImage(memory->device, image->image, NULL);
  weir__free(image);
}

// ---------------------------------------------------------------------------------------------------------------
// Layouts

static void record_layout(weir__vulkan_device *device, weir__vulkan_lane *lane, weir__vulkan_image *image) {
  const VkImageMemoryBarrier barrier = {.sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER,
                                        .dstAccessMask = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT,
                                        .oldLayout = VK_IMAGE_LAYOUT_UNDEFINED,
                                        .newLayout = VK_IMAGE_LAYOUT_GENERAL,
                                        .srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
                                        .dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
                                        .image = image->image,
                                        .subresourceRange = RANGE};
  device->calls.vkCmdPipelineBarrier(lane->open->commands, VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT,
                                     VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, 0, 0, NULL, 0, NULL, 1, &barrier);
  image->laid_out = true;
  image->lane = lane->open->lane;
  image->value = lane->open->value;
  atomic_fetch_sub_explicit(&device->memory.new_images, 1, memory_order_relaxed);
}

void weir__vulkan_lay_out(weir__vulkan_device *device, weir__vulkan_lane *lane, const void *address) {
  if (!weir__vulkan_has_new_images(&device->memory)) return;
  const weir__vulkan_chunk *chunk = weir__vulkan_chunk_find(&device->memory, address);
  if (chunk != NULL && chunk->image != NULL && !chunk->image->laid_out) record_layout(device, lane, chunk->image);
}

void weir__vulkan_forget_layouts(weir__vulkan_device *device, const weir__vulkan_batch *batch) {
  weir__vulkan_memory *memory = &device->memory;
  weir__lock_acquire(&memory->lock);
  for (uint32_t i = 0; i < memory->count; i++) {
    weir__vulkan_image *image = memory->chunks[i]->image;
    if (image == NULL || !image->laid_out || image->lane != batch->lane || image->value != batch->value) continue;
    image->laid_out = false;
    atomic_fetch_add_explicit(&memory->new_images, 1, memory_order_relaxed);
  }
  weir__lock_release(&memory->lock);
}

// ---------------------------------------------------------------------------------------------------------------
// Commands

void weir__vulkan_record_image_copy(weir__vulkan_device *device, VkCommandBuffer commands, weir__vulkan_chunk *to,
                                    uint64_t to_offset, weir__vulkan_chunk *from, uint64_t from_offset) {
  const VkImageLayout layout = VK_IMAGE_LAYOUT_GENERAL;
  if (to->image != NULL && from->image != NULL) {
    const VkImageCopy region = {.srcSubresource = LAYERS, .dstSubresource = LAYERS, .extent = to->image->extent};
    device->calls.vkCmdCopyImage(commands, from->image->image, layout, to->image->image, layout, 1, &region);
    return;
  }
  VkBufferImageCopy region = {.imageSubresource = LAYERS};
  if (to->image != NULL) {
    region.bufferOffset = from_offset;
    region.imageExtent = to->image->extent;
    device->calls.vkCmdCopyBufferToImage(commands, from->buffer, to->image->image, layout, 1, &region);
  } else {
    region.bufferOffset = to_offset;
    region.imageExtent = from->image->extent;
    device->calls.vkCmdCopyImageToBuffer(commands, from->image->image, layout, to->buffer, 1, &region);
  }
}

void weir__vulkan_record_clear(weir__vulkan_device *device, VkCommandBuffer commands, weir__vulkan_chunk *chunk) {
  const VkClearColorValue zeros = {.uint32 = {0}};
  device->calls.vkCmdClearColorImage(commands, chunk->image->image, VK_IMAGE_LAYOUT_GENERAL, &zeros, 1, &RANGE);
}

static bool suits(const weir__vulkan_image *image, uint64_t offset) {
  return offset % (image->texel_bytes > LEAST_ALIGNMENT ? image->texel_bytes : LEAST_ALIGNMENT) == 0;
}

bool weir__vulkan_image_suits(const weir__vulkan_chunk *to, uint64_t to_offset, const weir__vulkan_chunk *from,
                              uint64_t from_offset) {
  const weir__vulkan_image *a = to->image, *b = from->image;
  if (a == NULL) return suits(b, to_offset);
  if (b == NULL) return suits(a, from_offset);
  return a->dimensions == b->dimensions && a->texel_bytes == b->texel_bytes &&
         memcmp(&a->extent, &b->extent, sizeof a->extent) == 0;
}

// ---------------------------------------------------------------------------------------------------------------
// Checks

bool weir__vulkan_image_fits(const weir__vulkan_image *image, const weir__vulkan_binding *declared,
                             VkDescriptorType type, char *reason, size_t size) {
  bool sampled = type == VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER;
  if (declared->dimensions == 0 && !declared->reads && !declared->writes) return true; // left out by the shader
  if (declared->dimensions == 0)
    snprintf(reason, size, "the shader has a buffer there, and this is an image");
  else if (declared->dimensions != image->dimensions)
    snprintf(reason, size, "the shader has a %uD image there, and this one has %u dimension%s", declared->dimensions,
             image->dimensions, image->dimensions == 1 ? "" : "s");
  else if (sampled ? image->sampler == VK_NULL_HANDLE : !image->storage)
    snprintf(reason, size, "the shader %s, and the image was not created for that",
             sampled ? "samples it" : "has a storage image there");
  else if (!sampled && declared->format != 0 && declared->format != image->format)
    snprintf(reason, size, "the shader's format is another one than the image's, which is %s", image->name);
  else
    return true;
  return false;
}

static weir__vulkan_chunk *chunk_of(weir__vulkan_device *device, const weir_buffer *buffer) {
  return weir__vulkan_chunk_find(&device->memory, buffer->replicas[device->base.device.space].memory);
}

bool weir__vulkan_copies_image(const weir_device *base, const weir_buffer *to, uint64_t to_offset,
                               const weir_buffer *from, uint64_t from_offset, uint32_t pattern) {
  weir__vulkan_device *device = weir__vulkan_of((weir_device *)(uintptr_t)base);
  if (from == NULL) return pattern == 0;
  const weir__vulkan_chunk plain = {0};
  const weir__vulkan_chunk *a = to->image ? chunk_of(device, to) : &plain;
  const weir__vulkan_chunk *b = from->image ? chunk_of(device, from) : &plain;
  // A VkBuffer that was wrapped begins at any multiple of what bindings want, which texels may exceed.
  if (to->wrapped && to->home == base->space) to_offset += (uintptr_t)to->replicas[to->home].memory;
  if (from->wrapped && from->home == base->space) from_offset += (uintptr_t)from->replicas[from->home].memory;
  return a != NULL && b != NULL && weir__vulkan_image_suits(a, to_offset, b, from_offset);
}

// ---------------------------------------------------------------------------------------------------------------
// The end

void weir__vulkan_sweep_images(weir__vulkan_device *device) {
  weir__vulkan_chunk **link = &device->released_images;
  while (*link != NULL) {
    weir__vulkan_chunk *chunk = *link;
    if (chunk->image->last_use >= device->base.device.host->window.live.oldest) {
      link = &chunk->image->next_released;
      continue;
    }
    *link = chunk->image->next_released;
    weir__vulkan_chunk_destroy(&device->memory, chunk);
  }
}

void weir__vulkan_released(weir_device *base, void *memory, bool image, weir__id last_use) {
  if (!image) return; // the caller's memory
  weir__vulkan_device *device = weir__vulkan_of(base);
  weir__vulkan_chunk *chunk = weir__vulkan_chunk_find(&device->memory, memory);
  chunk->image->last_use = last_use;
  chunk->image->next_released = device->released_images;
  device->released_images = chunk;
  weir__vulkan_sweep_images(device);
}
