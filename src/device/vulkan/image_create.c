// SPDX-License-Identifier: Apache-2.0
//
// Images as a caller creates them.
#include <stdio.h>
#include <string.h>

#include "api/storage.h"
#include "api/submit.h"
#include "base/allocate.h"
#include "base/error.h"
#include "device/vulkan/vulkan.h"

enum { SHAPES = 3 }; // 1, 2 and 4 channels

// Formats by type of channel, and by channels: Vulkan's, and SPIR-V's.
typedef struct image_type {
  const char *name; // of the type, in a shader's format
  uint32_t channel_bytes;
  VkFormat formats[SHAPES];
  uint8_t spirv[SHAPES];
} image_type;

// clang-format off
static const image_type TYPES[] = {
  [WEIR_IMAGE_FLOAT32] = {"32f", 4, {VK_FORMAT_R32_SFLOAT, VK_FORMAT_R32G32_SFLOAT, VK_FORMAT_R32G32B32A32_SFLOAT}, {3, 6, 1}},
  [WEIR_IMAGE_FLOAT16] = {"16f", 2, {VK_FORMAT_R16_SFLOAT, VK_FORMAT_R16G16_SFLOAT, VK_FORMAT_R16G16B16A16_SFLOAT}, {9, 7, 2}},
  [WEIR_IMAGE_INT32] = {"32i", 4, {VK_FORMAT_R32_SINT, VK_FORMAT_R32G32_SINT, VK_FORMAT_R32G32B32A32_SINT}, {24, 25, 21}},
  [WEIR_IMAGE_UINT32] = {"32ui", 4, {VK_FORMAT_R32_UINT, VK_FORMAT_R32G32_UINT, VK_FORMAT_R32G32B32A32_UINT}, {33, 35, 30}},
  [WEIR_IMAGE_INT16] = {"16i", 2, {VK_FORMAT_R16_SINT, VK_FORMAT_R16G16_SINT, VK_FORMAT_R16G16B16A16_SINT}, {28, 26, 22}},
  [WEIR_IMAGE_UINT16] = {"16ui", 2, {VK_FORMAT_R16_UINT, VK_FORMAT_R16G16_UINT, VK_FORMAT_R16G16B16A16_UINT}, {38, 36, 31}},
  [WEIR_IMAGE_INT8] = {"8i", 1, {VK_FORMAT_R8_SINT, VK_FORMAT_R8G8_SINT, VK_FORMAT_R8G8B8A8_SINT}, {29, 27, 23}},
  [WEIR_IMAGE_UINT8] = {"8ui", 1, {VK_FORMAT_R8_UINT, VK_FORMAT_R8G8_UINT, VK_FORMAT_R8G8B8A8_UINT}, {39, 37, 32}},
  [WEIR_IMAGE_UNORM8] = {"8", 1, {VK_FORMAT_R8_UNORM, VK_FORMAT_R8G8_UNORM, VK_FORMAT_R8G8B8A8_UNORM}, {15, 13, 4}},
};
static const char *const NAMES[][SHAPES] = {
#define NAMES_OF(type) {"r" type, "rg" type, "rgba" type}
  [WEIR_IMAGE_FLOAT32] = NAMES_OF("32f"), [WEIR_IMAGE_FLOAT16] = NAMES_OF("16f"), [WEIR_IMAGE_INT32] = NAMES_OF("32i"),
  [WEIR_IMAGE_UINT32] = NAMES_OF("32ui"), [WEIR_IMAGE_INT16] = NAMES_OF("16i"), [WEIR_IMAGE_UINT16] = NAMES_OF("16ui"),
  [WEIR_IMAGE_INT8] = NAMES_OF("8i"), [WEIR_IMAGE_UINT8] = NAMES_OF("8ui"), [WEIR_IMAGE_UNORM8] = NAMES_OF("8"),
#undef NAMES_OF
};
// clang-format on

enum { TYPE_COUNT = sizeof TYPES / sizeof TYPES[0], LIST_BYTES = 320 };

static uint32_t shape_of(uint32_t channels) {
  return channels == 4 ? 2 : channels - 1;
}

static uint32_t channels_of(uint32_t shape) {
  return shape == 2 ? 4 : shape + 1;
}

// ---------------------------------------------------------------------------------------------------------------
// Checks

static weir_status invalid(const char *what) {
  return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "image create: %s", what);
}

static weir_status check_info(const weir_image_info *info) {
  if (info == NULL) return invalid("the info is NULL");
  if (info->dimensions < 1 || info->dimensions > 3) return invalid("an image has 1 to 3 dimensions");
  if (info->width == 0) return invalid("a width of 0");
  if ((info->dimensions < 2 && info->height > 1) || (info->dimensions < 3 && info->depth > 1))
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "image create: %u x %u x %u texels in %u dimension%s", info->width,
                       info->height, info->depth, info->dimensions, info->dimensions == 1 ? "" : "s");
  if ((uint32_t)info->type >= TYPE_COUNT) return invalid("no such type of channels");
  if (info->channels == 3) return invalid("3 channels; devices offer images of 1, 2 and 4");
  if (info->channels < 1 || info->channels > 4) return invalid("an image has 1, 2 or 4 channels");
  if (!info->storage && !info->sampled) return invalid("shaders neither store to it nor sample it");
  if ((info->linear || info->repeat) && !info->sampled) return invalid("how to sample what is not sampled");
  return WEIR_OK;
}

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

// "r32f, rg32f": what the device offers for such a use.
static void list_formats(const weir__vulkan_device *device, VkFormatFeatureFlags wanted, char list[LIST_BYTES]) {
  size_t used = 0;
  list[0] = '\0';
  for (uint32_t type = 0; type < TYPE_COUNT; type++) {
    for (uint32_t shape = 0; shape < SHAPES && used < LIST_BYTES; shape++) {
      if (!offers(device, TYPES[type].formats[shape], wanted)) continue;
      used += (size_t)snprintf(list + used, LIST_BYTES - used, "%s%s", used == 0 ? "" : ", ", NAMES[type][shape]);
    }
  }
  if (used == 0) snprintf(list, LIST_BYTES, "none");
}

static weir_status check_format(const weir__vulkan_device *device, const weir_image_info *info) {
  VkFormatFeatureFlags wanted = wanted_features(info);
  uint32_t shape = shape_of(info->channels);
  if (offers(device, TYPES[info->type].formats[shape], wanted)) return WEIR_OK;
  char list[LIST_BYTES];
  list_formats(device, wanted, list);
  return weir__error(WEIR_ERROR_UNAVAILABLE, "image create: %s has no %s%s%s%s images of format %s; it has %s",
                     device->base.name, info->storage ? "storage" : "", info->storage && info->sampled ? " and " : "",
                     info->sampled ? "sampled" : "", info->linear ? " (linearly)" : "", NAMES[info->type][shape], list);
}

static weir_status check_extent(const weir__vulkan_device *device, const weir_image_info *info, VkExtent3D extent) {
  const VkPhysicalDeviceLimits *limits = &device->facts.properties.limits;
  const uint32_t most[] = {limits->maxImageDimension1D, limits->maxImageDimension2D, limits->maxImageDimension3D};
  uint32_t bound = most[info->dimensions - 1];
  if (extent.width <= bound && extent.height <= bound && extent.depth <= bound) return WEIR_OK;
  return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "image create: %u x %u x %u texels; %s allows %u along each of %u %s",
                     extent.width, extent.height, extent.depth, device->base.name, bound, info->dimensions,
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
  return device->calls.vkCreateImage(device->device, &create, NULL, &image->image);
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
  return device->calls.vkCreateImageView(device->device, &create, NULL, &image->view);
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
  return device->calls.vkCreateSampler(device->device, &create, NULL, &image->sampler);
}

// All of an image's objects; those that were made are freed by whoever owns `image`.
static VkResult make_objects(const weir__vulkan_device *device, const weir_image_info *info, weir__vulkan_image *image,
                             VkDeviceMemory *out_memory) {
  VkFormat format = TYPES[info->type].formats[shape_of(info->channels)];
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
  uint32_t shape = shape_of(info->channels);
  weir__vulkan_image *image = weir__allocate_zeroed(sizeof *image);
  if (image == NULL) return weir__error(WEIR_ERROR_OUT_OF_MEMORY, "image create: no memory");
  image->extent = extent;
  image->dimensions = info->dimensions;
  image->texel_bytes = TYPES[info->type].channel_bytes * channels_of(shape);
  image->format = TYPES[info->type].spirv[shape];
  image->name = NAMES[info->type][shape];
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
                            extent.depth, NAMES[info->type][shape], device->base.name);
}

// ---------------------------------------------------------------------------------------------------------------
// The buffer

// Submits the task that brings the image into its layout, and clears it.
static weir__enter_result enter_clear(weir_context *context, weir_device *device, weir_buffer *buffer,
                                      weir_status *out_status) {
  const weir_task named = {.label = "image"};
  weir__enter_result result = weir__enter_wait(context, &named, 1, out_status);
  if (result != WEIR__ENTERED) return result;
  weir__task *slot = weir__window_task(&context->window, context->window.next);
  weir__access *access = (weir__access *)(void *)slot->payload;
  weir__move *move = (weir__move *)(void *)(access + 1);
  *access = (weir__access){.buffer = buffer, .hi = buffer->bytes, .mode = WEIR_WRITE, .space = (uint8_t)device->space};
  *move = (weir__move){.bytes = buffer->bytes,
                       .destination_space = (uint8_t)device->space,
                       .source_space = (uint8_t)device->space,
                       .fill = true};
  const weir__request request = {.task = &named,
                                 .device = device,
                                 .accesses = access,
                                 .checked.access_count = 1,
                                 .checked.needs_storage = UINT64_MAX,
                                 .fresh = context->fresh,
                                 .label = "image",
                                 .move = move};
  return weir__enter(context, &request, NULL, out_status);
}

static weir_status clear(weir_device *device, weir_buffer *buffer) {
  weir_context *context = device->context;
  weir_status status = WEIR_OK;
  weir__enter_result result;
  weir__context_lock(context);
  do {
    result = enter_clear(context, device, buffer, &status);
  } while (result == WEIR__ENTER_AGAIN);
  weir__context_unlock(context);
  return status;
}

weir_status weir_image_create(weir_device *base, const weir_image_info *info, weir_buffer **out_buffer) {
  if (out_buffer == NULL) return invalid("out_buffer is NULL");
  *out_buffer = NULL;
  weir_status status = weir__vulkan_check_device(base, "image create");
  if (status == WEIR_OK) status = check_info(info);
  if (status != WEIR_OK) return status;
  weir__vulkan_device *device = weir__vulkan_of(base);
  const VkExtent3D extent = {info->width, info->height > 0 ? info->height : 1, info->depth > 0 ? info->depth : 1};
  status = check_extent(device, info, extent);
  if (status == WEIR_OK) status = check_format(device, info);
  if (status != WEIR_OK) return status;
  weir__context_lock(base->context);
  weir__vulkan_sweep_images(device);
  weir__context_unlock(base->context);
  weir__vulkan_chunk *chunk = NULL;
  status = make_chunk(device, info, extent, &chunk);
  if (status != WEIR_OK) return status;
  weir_buffer *buffer = NULL;
  status = weir__buffer_make(base->context, "image create", (void *)chunk->address, base->space, chunk->bytes, true,
                             &buffer);
  if (status != WEIR_OK) {
    weir__vulkan_chunk_destroy(&device->memory, chunk);
    return status;
  }
  buffer->image = true;
  status = clear(base, buffer);
  if (status == WEIR_OK)
    *out_buffer = buffer;
  else
    weir_buffer_release(buffer);
  return status;
}
