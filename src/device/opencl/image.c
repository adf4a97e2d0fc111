// SPDX-License-Identifier: Apache-2.0
#include "device/opencl/image.h"

#include <stdio.h>
#include <string.h>

#include "base/allocate.h"
#include "base/error.h"
#include "device/host.h"
#include "device/image_format.h"
#include "device/opencl/opencl.h"
#include "device/opencl/share.h"

enum { MOST_FORMATS = 512 };

static const cl_uint KINDS[] = {CL_MEM_OBJECT_IMAGE1D, CL_MEM_OBJECT_IMAGE2D, CL_MEM_OBJECT_IMAGE3D};
static const cl_uint ORDERS[] = {CL_R, CL_RG, CL_RGBA};
static const cl_uint TYPES[] = {[WEIR_IMAGE_FLOAT32] = CL_FLOAT,      [WEIR_IMAGE_FLOAT16] = CL_HALF_FLOAT,
                                [WEIR_IMAGE_INT32] = CL_SIGNED_INT32, [WEIR_IMAGE_UINT32] = CL_UNSIGNED_INT32,
                                [WEIR_IMAGE_INT16] = CL_SIGNED_INT16, [WEIR_IMAGE_UINT16] = CL_UNSIGNED_INT16,
                                [WEIR_IMAGE_INT8] = CL_SIGNED_INT8,   [WEIR_IMAGE_UINT8] = CL_UNSIGNED_INT8,
                                [WEIR_IMAGE_UNORM8] = CL_UNORM_INT8};

void weir__opencl_image_free(const weir__opencl_driver *driver, weir__opencl_image *image) {
  if (image == NULL) return;
  if (image->sampler != NULL) driver->clReleaseSampler(image->sampler);
  weir__free(image);
}

// ---------------------------------------------------------------------------------------------------------------
// Making

typedef struct offer {
  cl_uint count;
  cl_image_format formats[MOST_FORMATS];
} offer;

static bool is_offered(const void *user, weir_image_type type, uint32_t shape) {
  const offer *of = user;
  for (cl_uint i = 0; i < of->count; i++) {
    if (of->formats[i].image_channel_order == ORDERS[shape] && of->formats[i].image_channel_data_type == TYPES[type])
      return true;
  }
  return false;
}

// Storage images are read as well.
static cl_bitfield flags_of(const weir_image_info *info) {
  return info->storage ? CL_MEM_READ_WRITE : CL_MEM_READ_ONLY;
}

static weir_status check_format(const weir__opencl_device *device, const weir_image_info *info) {
  const weir__opencl_driver *driver = device->driver;
  cl_bool has_images = CL_FALSE;
  uint32_t shape = weir__image_shape(info->channels);
  driver->clGetDeviceInfo(device->device, CL_DEVICE_IMAGE_SUPPORT, sizeof has_images, &has_images, NULL);
  if (!has_images)
    return weir__error(WEIR_ERROR_UNAVAILABLE, "image create: %s has no images", device->base.device.name);
  offer *of = weir__allocate_zeroed(sizeof *of);
  if (of == NULL) return weir__error(WEIR_ERROR_OUT_OF_MEMORY, "image create: no memory");
  cl_int result = driver->clGetSupportedImageFormats(device->context, flags_of(info), KINDS[info->dimensions - 1],
                                                     MOST_FORMATS, of->formats, &of->count);
  if (of->count > MOST_FORMATS) of->count = MOST_FORMATS;
  weir_status status = weir__opencl_error(result, "image create: formats of %s", device->base.device.name);
  if (status == WEIR_OK && !is_offered(of, info->type, shape)) {
    char list[WEIR__IMAGE_LIST_BYTES];
    weir__image_list_formats(is_offered, of, list);
    status = weir__error(
        WEIR_ERROR_UNAVAILABLE, "image create: %s has no %s images of format %s in %u dimension%s; it has %s",
        device->base.device.name, info->storage ? "storage" : "sampled", weir__image_format_name(info->type, shape),
        info->dimensions, info->dimensions == 1 ? "" : "s", list);
  }
  weir__free(of);
  return status;
}

static weir_status check_extent(const weir__opencl_device *device, const weir_image_info *info) {
  static const cl_uint asked[][3] = {
      {CL_DEVICE_IMAGE2D_MAX_WIDTH},
      {CL_DEVICE_IMAGE2D_MAX_WIDTH, CL_DEVICE_IMAGE2D_MAX_HEIGHT},
      {CL_DEVICE_IMAGE3D_MAX_WIDTH, CL_DEVICE_IMAGE3D_MAX_HEIGHT, CL_DEVICE_IMAGE3D_MAX_DEPTH},
  };
  const uint32_t extent[] = {info->width, info->height, info->depth};
  size_t most[3] = {SIZE_MAX, SIZE_MAX, SIZE_MAX};
  bool fits = true;
  for (uint32_t i = 0; i < info->dimensions; i++) {
    device->driver->clGetDeviceInfo(device->device, asked[info->dimensions - 1][i], sizeof most[i], &most[i], NULL);
    fits = fits && extent[i] <= most[i];
  }
  if (fits) return WEIR_OK;
  return weir__error(WEIR_ERROR_INVALID_ARGUMENT,
                     "image create: %u x %u x %u texels; %s allows %zu x %zu x %zu in %u dimension%s", info->width,
                     info->height > 0 ? info->height : 1, info->depth > 0 ? info->depth : 1, device->base.device.name,
                     most[0], info->dimensions > 1 ? most[1] : 1, info->dimensions > 2 ? most[2] : 1, info->dimensions,
                     info->dimensions == 1 ? "" : "s");
}

static weir_status failed(const weir__opencl_device *device, const weir__opencl_image *image, cl_int result) {
  return weir__opencl_error(result == CL_SUCCESS ? CL_OUT_OF_HOST_MEMORY : result,
                            "image create: %zu x %zu x %zu texels of format %s on %s", image->region[0],
                            image->region[1], image->region[2], image->name, device->base.device.name);
}

static cl_int make_sampler(const weir__opencl_device *device, const weir_image_info *info, weir__opencl_image *image) {
  cl_int result = CL_SUCCESS;
  if (!info->sampled) return CL_SUCCESS;
  image->sampler = device->driver->clCreateSampler(device->context, CL_TRUE,
                                                   info->repeat ? CL_ADDRESS_REPEAT : CL_ADDRESS_CLAMP_TO_EDGE,
                                                   info->linear ? CL_FILTER_LINEAR : CL_FILTER_NEAREST, &result);
  return image->sampler == NULL && result == CL_SUCCESS ? CL_OUT_OF_HOST_MEMORY : result;
}

static cl_int make_memory(const weir__opencl_device *device, const weir_image_info *info,
                          const weir__opencl_image *image, cl_mem *out_memory) {
  cl_int result = CL_SUCCESS;
  const cl_image_desc desc = {.image_type = KINDS[info->dimensions - 1],
                              .image_width = image->region[0],
                              .image_height = info->dimensions > 1 ? image->region[1] : 0,
                              .image_depth = info->dimensions > 2 ? image->region[2] : 0};
  *out_memory = weir__allocate_permit() ? device->driver->clCreateImage(device->context, flags_of(info), &image->format,
                                                                        &desc, NULL, &result)
                                        : NULL;
  return *out_memory == NULL && result == CL_SUCCESS ? CL_OUT_OF_HOST_MEMORY : result;
}

static weir__opencl_image *describe(const weir_image_info *info) {
  uint32_t shape = weir__image_shape(info->channels);
  weir__opencl_image *image = weir__allocate(sizeof *image);
  if (image == NULL) return NULL;
  *image = (weir__opencl_image){
      .dimensions = info->dimensions,
      .region = {info->width, info->height > 0 ? info->height : 1, info->depth > 0 ? info->depth : 1},
      .format = {ORDERS[shape], TYPES[info->type]},
      .texel_bytes = weir__image_texel_bytes(info->type, shape),
      .name = weir__image_format_name(info->type, shape),
      .storage = info->storage};
  return image;
}

weir_status weir__opencl_image_make(weir_device *base, const weir_image_info *info, void **out_memory,
                                    uint64_t *out_bytes) {
  weir__opencl_device *device = weir__opencl_of(base);
  weir_status status = check_format(device, info);
  if (status == WEIR_OK) status = check_extent(device, info);
  if (status != WEIR_OK) return status;
  weir__opencl_image *image = describe(info);
  if (image == NULL) return weir__error(WEIR_ERROR_OUT_OF_MEMORY, "image create: no memory");
  weir__opencl_object like = {
      .bytes = image->region[0] * image->region[1] * image->region[2] * image->texel_bytes, .image = image, .wraps = 1};
  cl_int result = make_sampler(device, info, image);
  if (result == CL_SUCCESS) result = make_memory(device, info, image, &like.memory);
  like.parent = like.memory;
  if (result != CL_SUCCESS) {
    status = failed(device, image, result);
    weir__opencl_image_free(device->driver, image);
    return status;
  }
  weir__host_lock(base->host);
  weir__opencl_sweep(device);
  const weir__opencl_object *object = weir__opencl_object_import(&device->objects, &like);
  if (object != NULL) atomic_fetch_add_explicit(&device->image_count, 1, memory_order_relaxed);
  weir__host_unlock(base->host);
  device->driver->clReleaseMemObject(like.memory); // the object has a reference of its own
  if (object == NULL) {
    weir__opencl_image_free(device->driver, image);
    return weir__error(WEIR_ERROR_OUT_OF_MEMORY, "image create: no memory");
  }
  *out_memory = (void *)object->address;
  *out_bytes = object->bytes;
  return WEIR_OK;
}

// ---------------------------------------------------------------------------------------------------------------
// Copies

static const weir__opencl_image *image_of(weir__opencl_device *device, const weir_buffer *buffer) {
  if (!buffer->image || buffer->home != device->base.device.space) return NULL;
  return weir__opencl_object_find(&device->objects, buffer->replicas[buffer->home].memory)->image;
}

bool weir__opencl_copies_image(const weir_device *base, const weir_buffer *to, uint64_t to_offset,
                               const weir_buffer *from, uint64_t from_offset, uint32_t pattern) {
  weir__opencl_device *device = weir__opencl_of((weir_device *)(uintptr_t)base);
  if (from == NULL) return pattern == 0;
  const weir__opencl_image *a = image_of(device, to), *b = image_of(device, from);
  if (a != NULL && b != NULL)
    return a->dimensions == b->dimensions && memcmp(a->region, b->region, sizeof a->region) == 0 &&
           memcmp(&a->format, &b->format, sizeof a->format) == 0;
  if (device->memory_kind != WEIR__OPENCL_OBJECTS) return false; // no command copies between an image and an address
  return a != NULL ? from_offset % a->texel_bytes == 0 : to_offset % b->texel_bytes == 0;
}

// ---------------------------------------------------------------------------------------------------------------
// Arguments of kernels

weir_status weir__opencl_image_argument(const weir__opencl_device *device, const char *name, cl_kernel kernel,
                                        cl_uint index, weir__opencl_kernel *opencl, bool *out_is_sampler) {
  char type[64] = "";
  cl_uint access = 0;
  const weir__opencl_driver *driver = device->driver;
  *out_is_sampler = false;
  if (driver->clGetKernelArgInfo(kernel, index, CL_KERNEL_ARG_TYPE_NAME, sizeof type - 1, type, NULL) != CL_SUCCESS)
    return WEIR_OK;
  uint32_t argument = index - opencl->sampler_count; // of the task
  if (strstr(type, "sampler_t") != NULL) {
    *out_is_sampler = true;
    if (argument == 0 || (opencl->is_image >> (argument - 1) & 1) == 0 ||
        opencl->sampler_count == WEIR__OPENCL_MOST_SAMPLERS)
      return weir__error(WEIR_ERROR_INVALID_ARGUMENT,
                         "kernel '%s', '%s' on %s: argument %u is a sampler_t, which must follow its image; %d are "
                         "possible",
                         name, opencl->entry, device->base.device.name, index, WEIR__OPENCL_MOST_SAMPLERS);
    opencl->sampler_images[opencl->sampler_count++] = (uint8_t)(argument - 1);
    return WEIR_OK;
  }
  for (uint32_t dimensions = 1; dimensions <= 3; dimensions++) {
    const char wanted[] = {'i', 'm', 'a', 'g', 'e', (char)('0' + dimensions), 'd', '_', 't', '\0'};
    if (strstr(type, wanted) == NULL) continue;
    if (driver->clGetKernelArgInfo(kernel, index, CL_KERNEL_ARG_ACCESS_QUALIFIER, sizeof access, &access, NULL) !=
        CL_SUCCESS)
      access = CL_KERNEL_ARG_ACCESS_READ_ONLY;
    opencl->is_image |= UINT64_C(1) << argument;
    if (access != CL_KERNEL_ARG_ACCESS_READ_ONLY) opencl->writes_image |= UINT64_C(1) << argument;
    opencl->image_dimensions[argument] = (uint8_t)dimensions;
  }
  return WEIR_OK;
}

static bool is_sampled(const weir__opencl_kernel *opencl, uint32_t argument) {
  for (uint32_t i = 0; i < opencl->sampler_count; i++)
    if (opencl->sampler_images[i] == argument) return true;
  return false;
}

// Why the kernel cannot have this image; "": it can.
static void compare(const weir__opencl_kernel *opencl, uint32_t index, weir_mode mode, const weir__opencl_image *image,
                    char *reason, size_t size) {
  bool writes = opencl->writes_image >> index & 1;
  reason[0] = '\0';
  if (opencl->image_dimensions[index] != image->dimensions)
    snprintf(reason, size, "the kernel has an image of %u dimensions there, and this one has %u",
             opencl->image_dimensions[index], image->dimensions);
  else if (writes && mode == WEIR_READ)
    snprintf(reason, size, "the task only reads it, and the kernel writes it");
  else if (writes && !image->storage)
    snprintf(reason, size, "the kernel writes it, and the image was not created for that");
  else if (is_sampled(opencl, index) && image->sampler == NULL)
    snprintf(reason, size, "the kernel has a sampler for it, and the image was not created to be sampled");
}

weir_status weir__opencl_image_check(const weir__opencl_device *device, const weir_task *task, uint32_t index) {
  const weir__opencl_kernel *opencl = weir__opencl_code_of(task->kernel);
  const weir_arg *arg = &task->args[index];
  const weir_buffer *buffer = arg->buffer;
  char what[WEIR__WHAT_BYTES], reason[128] = "";
  bool wanted = index < WEIR__OPENCL_KNOWN_KINDS && (opencl->is_image >> index & 1);
  bool here = buffer->image && buffer->home == device->base.device.space;
  bool known = index < WEIR__OPENCL_KNOWN_KINDS && (opencl->is_pointer >> index & 1);
  if (!wanted && (!here || !known)) return WEIR_OK;
  if (wanted && !here)
    snprintf(reason, sizeof reason, "the kernel has an image there, and this is no image of %s",
             device->base.device.name);
  else if (!wanted)
    snprintf(reason, sizeof reason, "the kernel has no image there, and this is one");
  else
    compare(opencl, index, arg->mode, image_of((weir__opencl_device *)(uintptr_t)device, buffer), reason,
            sizeof reason);
  if (reason[0] == '\0') return WEIR_OK;
  weir__describe_task(task, what);
  return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "%s, argument %u, buffer %llu '%s': %s", what, index,
                     (unsigned long long)buffer->id, buffer->label, reason);
}

cl_int weir__opencl_set_samplers(weir__opencl_device *device, const weir__opencl_kernel *opencl, cl_kernel kernel,
                                 const weir__opencl_argument *arguments) {
  cl_int result = CL_SUCCESS;
  for (uint32_t i = 0; i < opencl->sampler_count && result == CL_SUCCESS; i++) {
    uint32_t argument = opencl->sampler_images[i];
    const weir__opencl_object *object = weir__opencl_object_find(&device->objects, arguments[argument].value);
    if (object == NULL || object->image == NULL || object->image->sampler == NULL) return CL_INVALID_SAMPLER;
    result = device->driver->clSetKernelArg(kernel, argument + i + 1, sizeof object->image->sampler,
                                            &object->image->sampler);
  }
  return result;
}
