// SPDX-License-Identifier: Apache-2.0
//
// Images as a caller creates them, on whatever device has them.
#include "device/image_format.h"

#include <stdio.h>

#include "base/error.h"
#include "base/structs.h"
#include "engine/admit.h"
#include "engine/buffer.h"
#include "engine/room.h"
#include "engine/storage.h"

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
  if ((uint32_t)info->type >= WEIR__IMAGE_TYPES) return invalid("no such type of channels");
  if (info->channels == 3) return invalid("3 channels; devices offer images of 1, 2 and 4");
  if (info->channels < 1 || info->channels > 4) return invalid("an image has 1, 2 or 4 channels");
  if (!info->storage && !info->sampled) return invalid("kernels neither store to it nor sample it");
  if ((info->linear || info->repeat) && !info->sampled) return invalid("how to sample what is not sampled");
  return WEIR_OK;
}

// Submits the task that clears the image, and brings it into its layout where images have one.
static weir__admit_result enter_clear(weir_context *context, weir_device *device, weir_buffer *buffer,
                                      weir_status *out_status) {
  const weir_task named = {.label = "image"};
  const weir__submission submission = {.task = &named, .origin = weir__origin_of(context)};
  weir__admit_result result = weir__await_room(context, &submission, 1, out_status);
  if (result != WEIR__ADMITTED) return result;
  weir__task *slot = weir__window_task(&context->host.window, context->host.window.next);
  weir__access *access = (weir__access *)(void *)slot->payload;
  weir__move *move = (weir__move *)(void *)(access + 1);
  *access = (weir__access){.buffer = buffer, .hi = buffer->bytes, .mode = WEIR_WRITE, .space = (uint8_t)device->space};
  *move = (weir__move){.bytes = buffer->bytes,
                       .destination_space = (uint8_t)device->space,
                       .source_space = (uint8_t)device->space,
                       .fill = true};
  const weir__request request = {.submission = &submission,
                                 .task = &named,
                                 .kind = WEIR__TASK_COPY,
                                 .device = device,
                                 .accesses = access,
                                 .checked.access_count = 1,
                                 .checked.needs_storage = UINT64_MAX,
                                 .fresh = context->order.fresh,
                                 .move = move};
  return weir__admit(context, &request, NULL, out_status);
}

static weir_status clear(weir_device *device, weir_buffer *buffer) {
  weir_context *context = weir__context_of(device->host);
  weir_status status = WEIR_OK;
  weir__admit_result result;
  weir__context_lock(context);
  do {
    result = enter_clear(context, device, buffer, &status);
  } while (result == WEIR__RETRY);
  weir__context_unlock(context);
  return status;
}

weir_status weir_image_create_sized(weir_device *device, const weir_image_info *given, size_t info_size,
                                    weir_buffer **out_buffer) {
  void *memory;
  uint64_t bytes;
  if (out_buffer == NULL) return invalid("out_buffer is NULL");
  *out_buffer = NULL;
  if (device == NULL) return invalid("the device is NULL");
  if (device->ops->images == NULL && device->ops->code == WEIR__CODE_OPENCL)
    return weir__error(WEIR_ERROR_UNAVAILABLE,
                       "image create: %s works in the host's memory, and images need memory of the device's own "
                       "(WEIR_OPENCL_MEMORY=device)",
                       device->name);
  if (device->ops->images == NULL)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "image create: %s is no Vulkan or OpenCL device", device->name);
  if (given == NULL) return invalid("the info is NULL");
  weir_image_info info;
  weir_status status = weir__struct_take(&info, sizeof info, given, info_size, "image create");
  if (status == WEIR_OK) status = check_info(&info);
  if (status == WEIR_OK) status = device->ops->images->make(device, &info, &memory, &bytes);
  if (status != WEIR_OK) return status;
  weir_buffer *buffer = NULL;
  status = weir__buffer_make_of(weir__context_of(device->host), "image create", memory, device->space, bytes, &buffer);
  if (status != WEIR_OK) {
    weir__host_lock(device->host);
    device->ops->memory->released(device, memory, true, 0);
    weir__host_unlock(device->host);
    return status;
  }
  buffer->image = true;
  status = clear(device, buffer);
  if (status == WEIR_OK)
    *out_buffer = buffer;
  else
    weir_buffer_release(buffer);
  return status;
}
