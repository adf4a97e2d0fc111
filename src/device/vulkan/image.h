// SPDX-License-Identifier: Apache-2.0
//
// Images: storage that shaders see as a VkImage, and all else as bytes without gaps. An image stays in the layout GENERAL, so
// that a barrier for all memory serves it as well.
#ifndef WEIR_DEVICE_VULKAN_IMAGE_H
#define WEIR_DEVICE_VULKAN_IMAGE_H

#include "base/liveness.h"
#include "device/vulkan/driver.h"
#include "weir/image.h"

struct weir__vulkan_batch;
struct weir__vulkan_device;
struct weir__vulkan_lane;
struct weir__vulkan_memory;
struct weir__vulkan_chunk;
struct weir__vulkan_binding;

typedef struct weir__vulkan_image {
  VkImage image;
  VkImageView view;
  VkSampler sampler; // VK_NULL_HANDLE: shaders do not sample it
  VkExtent3D extent;
  uint32_t dimensions, texel_bytes;
  uint32_t format;  // SPIR-V's number
  const char *name; // of the format: "rgba32f"
  bool storage;     // shaders load and store
  // Of the device's thread: is in its layout, as far as commands are recorded, since a lane's batch with this value.
  bool laid_out;
  uint32_t lane;
  uint64_t value;
  // Of one whose buffer was released; guarded by the context's lock.
  struct weir__vulkan_chunk *next_released;
  weir__id last_use;
} weir__vulkan_image;

void weir__vulkan_image_free(struct weir__vulkan_memory *memory, weir__vulkan_image *image);

// Records in the lane's open batch what brings a new image into its layout, where that was not recorded before. Comes before
// all commands that use the image; not in command buffers that are submitted again, or perhaps not at all. `address`: of a byte
// of an image, or of anything else.
void weir__vulkan_lay_out(struct weir__vulkan_device *device, struct weir__vulkan_lane *lane, const void *address);
// The batch will not run: images that it should have brought into their layout are new again.
void weir__vulkan_forget_layouts(struct weir__vulkan_device *device, const struct weir__vulkan_batch *batch);

// Records a copy of a whole image, from or to a buffer or another image that suits; and zeros.
void weir__vulkan_record_image_copy(struct weir__vulkan_device *device, VkCommandBuffer commands,
                                    struct weir__vulkan_chunk *to, uint64_t to_offset, struct weir__vulkan_chunk *from,
                                    uint64_t from_offset);
void weir__vulkan_record_clear(struct weir__vulkan_device *device, VkCommandBuffer commands,
                               struct weir__vulkan_chunk *chunk);

// Whether such a copy can be recorded: offsets in buffers are multiples of the texel's size, and images are of one shape.
bool weir__vulkan_image_suits(const struct weir__vulkan_chunk *to, uint64_t to_offset,
                              const struct weir__vulkan_chunk *from, uint64_t from_offset);

// Whether a shader can have the image where it declares one. False: `reason` says why not.
bool weir__vulkan_image_fits(const weir__vulkan_image *image, const struct weir__vulkan_binding *declared,
                             VkDescriptorType type, char *reason, size_t size);

// Of the device's table of functions.
weir_status weir__vulkan_image_make(weir_device *device, const weir_image_info *info, void **out_memory,
                                    uint64_t *out_bytes);
bool weir__vulkan_copies_image(const weir_device *device, const weir_buffer *to, uint64_t to_offset,
                               const weir_buffer *from, uint64_t from_offset, uint32_t pattern);
void weir__vulkan_released(weir_device *device, void *memory, bool image, weir__id last_use);

// Frees images whose buffers were released and whose last user is done. The context's lock is held.
void weir__vulkan_sweep_images(struct weir__vulkan_device *device);

#endif // WEIR_DEVICE_VULKAN_IMAGE_H
