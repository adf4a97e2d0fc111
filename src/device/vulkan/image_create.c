// SPDX-License-Identifier: Apache-2.0
//
// Images as a caller creates them.
#include <stdio.h>
#include <string.h>

#include "base/allocate.h"
#include "base/error.h"
#include "device/host.h"
#include "device/image_format.h"
#include "device/vulkan/vulkan.h"

// Formats by type of channel, and by channels: Vulkan's, and SPIR-V's.
typedef struct image_type {
  VkFormat formats[WEIR__IMAGE_SHAPES];
  uint8_t spirv[WEIR__IMAGE_SHAPES];
} image_type;

// clang-format off
static const image_type TYPES[] = {
  [WEIR_IMAGE_FLOAT32] = {{VK_FORMAT_R32_SFLOAT, VK_FORMAT_R32G32_SFLOAT, VK_FORMAT_R32G32B32A32_SFLOAT}, {3, 6, 1}},
  [WEIR_IMAGE_FLOAT16] = {{VK_FORMAT_R16_SFLOAT, VK_FORMAT_R16G16_SFLOAT, VK_FORMAT_R16G16B16A16_SFLOAT}, {9, 7, 2}},
  [WEIR_IMAGE_INT32] = {{VK_FORMAT_R32_SINT, VK_FORMAT_R32G32_SINT, VK_FORMAT_R32G32B32A32_SINT}, {24, 25, 21}},
  [WEIR_IMAGE_UINT32] = {{VK_FORMAT_R32_UINT, VK_FORMAT_R32G32_UINT, VK_FORMAT_R32G32B32A32_UINT}, {33, 35, 30}},
  [WEIR_IMAGE_INT16] = {{VK_FORMAT_R16_SINT, VK_FORMAT_R16G16_SINT, VK_FORMAT_R16G16B16A16_SINT}, {28, 26, 22}},
  [WEIR_IMAGE_UINT16] = {{VK_FORMAT_R16_UINT, VK_FORMAT_R16G16_UINT, VK_FORMAT_R16G16B16A16_UINT}, {38, 36, 31}},
  [WEIR_IMAGE_INT8] = {{VK_FORMAT_R8_SINT, VK_FORMAT_R8G8_SINT, VK_FORMAT_R8G8B8A8_SINT}, {29, 27, 23}},
  [WEIR_IMAGE_UINT8] = {{VK_FORMAT_R8_UINT, VK_FORMAT_R8G8_UINT, VK_FORMAT_R8G8B8A8_UINT}, {39, 37, 32}},
  [WEIR_IMAGE_UNORM8] = {{VK_FORMAT_R8_UNORM, VK_FORMAT_R8G8_UNORM, VK_FORMAT_R8G8B8A8_UNORM}, {15, 13, 4}},
};
// clang-format on

// ---------------------------------------------------------------------------------------------------------------
// Checks

static VkFormatFeatureFlags wanted_features(const weir_image_info *info) {
  return VK_FORMAT_FEATURE_TRANSFER_SRC_BIT | VK_FORMAT_FEATURE_TRANSFER_DST_BIT |
         (info->storage ? VK_FORMAT_FEATURE_STORAGE_IMAGE_BIT : 0) |
         (info->sampled ? VK_FORMAT_FEATURE_SAMPLED_IMAGE_BIT : 0) |
         (info->linear ? VK_FORMAT_FEATURE_SAMPLED_IMAGE_FILTER_LINEAR_BIT : 0);
}

static bool offers(const weir__vulkan_device *device, VkFormat format, VkFormatFeatureFlags wanted) {
  VkFormatProperties properties;
  device->driver->vkGetPhysicalDeviceFormatProperties(device->physical, format, &properties);
  return (properties.optimalTilingFeatures & wanted) == wanted;
}

typedef struct offer {
  const weir__vulkan_device *device;
  VkFormatFeatureFlags wanted;
} offer;

static bool is_offered(const void *user, weir_image_type type, uint32_t shape) {
  const offer *of = user;
  return offers(of->device, TYPES[type].formats[shape], of->wanted);
}

static weir_status check_format(const weir__vulkan_device *device, const weir_image_info *info) {
  VkFormatFeatureFlags wanted = wanted_features(info);
  uint32_t shape = weir__image_shape(info->channels);
  if (offers(device, TYPES[info->type].formats[shape], wanted)) return WEIR_OK;
  char list[WEIR__IMAGE_LIST_BYTES];
  weir__image_list_formats(is_offered, &(offer){device, wanted}, list);
  return weir__error(WEIR_ERROR_UNAVAILABLE, "image create: %s has no %s%s%s%s images of format %s; it has %s",
                     device->base.device.name, info->storage ? "storage" : "",
                     info->storage && info->sampled ? " and " : "", info->sampled ? "sampled" : "",
                     info->linear ? " (linearly)" : "", weir__image_format_name(info->type, shape), list);
}

static weir_status check_extent(const weir__vulkan_device *device, const weir_image_info *info, VkExtent3D extent) {
  const VkPhysicalDeviceLimits *limits = &device->facts.properties.limits;
  const uint32_t most[] = {limits->maxImageDimension1D, limits->maxImageDimension2D, limits->maxImageDimension3D};
  uint32_t bound = most[info->dimensions - 1];
  if (extent.width <= bound && extent.height <= bound && extent.depth <= bound) return WEIR_OK;
  return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "image create: %u x %u x %u texels; %s allows %u along each of %u %s",
                     extent.width, extent.height, extent.depth, device->base.device.name, bound, info->dimensions,
                     info->dimensions == 1 ? "dimension" : "dimensions");
}

// ---------------------------------------------------------------------------------------------------------------
// Vulkan's objects

static VkResult make_image(const weir__vulkan_device *device, const weir_image_info *info, VkFormat format,
                           weir__vulkan_image *image) {
  static const VkImageType KINDS[] = {VK_IMAGE_TYPE_1D, VK_IMAGE_TYPE_2D, VK_IMAGE_TYPE_3D};
  const weir__vulkan_memory *memory = &device->memory;
  const VkImageCreateInfo create = {
      .sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
      .imageType = KINDS[info->dimensions - 1],
      .format = format,
      .extent = image->extent,
      .mipLevels = 1,
      .arrayLayers = 1,
      .samples = VK_SAMPLE_COUNT_1_BIT,
      .tiling = VK_IMAGE_TILING_OPTIMAL,
      .usage = VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT |
               (info->storage ? VK_IMAGE_USAGE_STORAGE_BIT : 0) | (info->sampled ? VK_IMAGE_USAGE_SAMPLED_BIT : 0),
      .sharingMode = memory->family_count > 1 ? VK_SHARING_MODE_CONCURRENT : VK_SHARING_MODE_EXCLUSIVE,
      .queueFamilyIndexCount = memory->family_count > 1 ? memory->family_count : 0,
      .pQueueFamilyIndices = memory->families};
  return weir__vulkan_made(device->calls.vkCreateImage(device->device, &create, NULL, &image->image), &image->image);
}

static VkResult make_view(const weir__vulkan_device *device, const weir_image_info *info, VkFormat format,
                          weir__vulkan_image *image) {
  static const VkImageViewType KINDS[] = {VK_IMAGE_VIEW_TYPE_1D, VK_IMAGE_VIEW_TYPE_2D, VK_IMAGE_VIEW_TYPE_3D};
  const VkImageViewCreateInfo create = {
      .sType = VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO,
      .image = image->image,
      .viewType = KINDS[info->dimensions - 1],
      .format = format,
      .subresourceRange = {.aspectMask = VK_IMAGE_ASPECT_COLOR_BIT, .levelCount = 1, .layerCount = 1}};
  return weir__vulkan_made(device->calls.vkCreateImageView(device->device, &create, NULL, &image->view), &image->view);
}

static VkResult make_sampler(const weir__vulkan_device *device, const weir_image_info *info,
                             weir__vulkan_image *image) {
  VkFilter filter = info->linear ? VK_FILTER_LINEAR : VK_FILTER_NEAREST;
  VkSamplerAddressMode outside = info->repeat ? VK_SAMPLER_ADDRESS_MODE_REPEAT : VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_EDGE;
  const VkSamplerCreateInfo create = {.sType = VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO,
                                      .magFilter = filter,
                                      .minFilter = filter,
                                      .addressModeU = outside,
                                      .addressModeV = outside,
                                      .addressModeW = outside};
  return weir__vulkan_made(device->calls.vkCreateSampler(device->device, &create, NULL, &image->sampler),
                           &image->sampler);
}

// All of an image's objects; those that were made are freed by whoever owns `image`.
static VkResult make_objects(const weir__vulkan_device *device, const weir_image_info *info, weir__vulkan_image *image,
                             VkDeviceMemory *out_memory) {
  VkFormat format = TYPES[info->type].formats[weir__image_shape(info->channels)];
  VkMemoryRequirements needs;
  VkResult result = make_image(device, info, format, image);
  if (result != VK_SUCCESS) return result;
  device->calls.vkGetImageMemoryRequirements(device->device, image->image, &needs);
  result = weir__vulkan_memory_allocate(&device->memory, &needs, out_memory);
  if (result == VK_SUCCESS) result = device->calls.vkBindImageMemory(device->device, image->image, *out_memory, 0);
  if (result == VK_SUCCESS) result = make_view(device, info, format, image);
  if (result == VK_SUCCESS && info->sampled) result = make_sampler(device, info, image);
  return result;
}

static weir_status make_chunk(weir__vulkan_device *device, const weir_image_info *info, VkExtent3D extent,
                              weir__vulkan_chunk **out_chunk) {
  uint32_t shape = weir__image_shape(info->channels);
  weir__vulkan_image *image = weir__allocate_zeroed(sizeof *image);
  if (image == NULL) return weir__error(WEIR_ERROR_OUT_OF_MEMORY, "image create: no memory");
  atomic_fetch_add_explicit(&device->memory.new_images, 1, memory_order_relaxed);
  image->extent = extent;
  image->dimensions = info->dimensions;
  image->texel_bytes = weir__image_texel_bytes(info->type, shape);
  image->format = TYPES[info->type].spirv[shape];
  image->name = weir__image_format_name(info->type, shape);
  image->storage = info->storage;
  VkDeviceMemory memory = VK_NULL_HANDLE;
  VkResult result = make_objects(device, info, image, &memory);
  uint64_t bytes = (uint64_t)extent.width * extent.height * extent.depth * image->texel_bytes;
  if (result == VK_SUCCESS) {
    *out_chunk = weir__vulkan_chunk_take_image(&device->memory, image, memory, bytes);
    if (*out_chunk != NULL) return WEIR_OK;
    result = VK_ERROR_OUT_OF_HOST_MEMORY;
  } else {
    weir__vulkan_image_free(&device->memory, image);
    device->calls.vkFreeMemory(device->device, memory, NULL);
  }
  return weir__vulkan_error(result, "image create: %u x %u x %u texels of format %s on %s", extent.width, extent.height,
                            extent.depth, weir__image_format_name(info->type, shape), device->base.device.name);
}

weir_status weir__vulkan_image_make(weir_device *base, const weir_image_info *info, void **out_memory,
                                    uint64_t *out_bytes) {
  weir__vulkan_device *device = weir__vulkan_of(base);
  const VkExtent3D extent = {info->width, info->height > 0 ? info->height : 1, info->depth > 0 ? info->depth : 1};
  weir_status status = check_extent(device, info, extent);
  if (status == WEIR_OK) status = check_format(device, info);
  if (status != WEIR_OK) return status;
  weir__host_lock(base->host);
  weir__vulkan_sweep_images(device);
  weir__host_unlock(base->host);
  weir__vulkan_chunk *chunk = NULL;
  status = make_chunk(device, info, extent, &chunk);
  if (status != WEIR_OK) return status;
  *out_memory = (void *)chunk->address;
  *out_bytes = chunk->bytes;
  return WEIR_OK;
}
