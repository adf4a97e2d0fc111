// SPDX-License-Identifier: Apache-2.0
//
// Memory that is shared with other OpenCL code.
#include "device/opencl/share.h"

#include "base/error.h"
#include "device/opencl/opencl.h"

weir_status weir__opencl_check_device(const weir_device *base, bool registered, const char *what) {
  if (base == NULL) return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "%s: the device is NULL", what);
  if (!weir__is_opencl(base))
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "%s: %s is no OpenCL device", what, base->name);
  if (registered && ((const weir__opencl_device *)(const void *)base)->registration == NULL)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT,
                       "%s: %s has a cl_context of Weir's; weir_opencl_register makes a device of the caller's", what,
                       base->name);
  return WEIR_OK;
}

static cl_int ask(const weir__opencl_driver *driver, cl_mem memory, cl_uint what, size_t size, void *out_value) {
  return driver->clGetMemObjectInfo(memory, what, size, out_value, NULL);
}

// What a caller's cl_mem is: refused unless Weir can use it as a buffer.
static weir_status examine(const weir__opencl_device *device, cl_mem memory, weir__opencl_object *out_object) {
  const weir__opencl_driver *driver = device->driver;
  const cl_bitfield limits =
      CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY | CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_WRITE_ONLY | CL_MEM_HOST_NO_ACCESS;
  cl_uint type = 0;
  cl_context context = NULL;
  cl_bitfield flags = 0;
  size_t size = 0, origin = 0;
  cl_mem parent = NULL;
  cl_int result = ask(driver, memory, CL_MEM_TYPE, sizeof type, &type);
  if (result == CL_SUCCESS) result = ask(driver, memory, CL_MEM_CONTEXT, sizeof context, &context);
  if (result == CL_SUCCESS) result = ask(driver, memory, CL_MEM_FLAGS, sizeof flags, &flags);
  if (result == CL_SUCCESS) result = ask(driver, memory, CL_MEM_SIZE, sizeof size, &size);
  if (result == CL_SUCCESS) result = ask(driver, memory, CL_MEM_OFFSET, sizeof origin, &origin);
  if (result == CL_SUCCESS) result = ask(driver, memory, CL_MEM_ASSOCIATED_MEMOBJECT, sizeof parent, &parent);
  if (result != CL_SUCCESS) return weir__opencl_error(result, "buffer wrap: the cl_mem");
  const char *why = NULL;
  if (type != CL_MEM_OBJECT_BUFFER)
    why = "is no buffer";
  else if (context != device->context)
    why = "is of another cl_context than the device";
  else if (flags & limits)
    why = "was made with a flag that keeps kernels or the host from reading or writing it";
  if (why != NULL)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "buffer wrap: %s: the cl_mem %s", device->base.device.name, why);
  bool is_part = parent != NULL && parent != memory;
  *out_object = (weir__opencl_object){.bytes = size,
                                      .memory = memory,
                                      .parent = is_part ? parent : memory,
                                      .origin = is_part ? origin : 0,
                                      .is_callers = true};
  return WEIR_OK;
}

static weir_status check_range(const weir__opencl_device *device, const weir__opencl_object *object, uint64_t offset,
                               uint64_t bytes) {
  uint64_t alignment = device->objects.alignment;
  if (offset >= object->bytes || bytes > object->bytes - offset)
    return weir__error(WEIR_ERROR_OUT_OF_RANGE,
                       "buffer wrap: %llu bytes from byte %llu on leave the cl_mem, which has %llu",
                       (unsigned long long)bytes, (unsigned long long)offset, (unsigned long long)object->bytes);
  if ((object->origin + offset) % alignment != 0)
    return weir__error(
        WEIR_ERROR_INVALID_ARGUMENT, "buffer wrap: byte %llu of the cl_mem%s is no multiple of %llu, as %s wants",
        (unsigned long long)(object->origin + offset), object->parent != object->memory ? " that it is a part of" : "",
        (unsigned long long)alignment, device->base.device.name);
  return WEIR_OK;
}

weir_status weir__opencl_wrap(weir__opencl_device *device, cl_mem memory, uint64_t offset, uint64_t bytes,
                              void **out_memory) {
  weir__host *host = device->base.device.host;
  weir__opencl_object like;
  *out_memory = NULL;
  weir_status status = examine(device, memory, &like);
  if (status == WEIR_OK) status = check_range(device, &like, offset, bytes);
  if (status != WEIR_OK) return status;
  weir__host_lock(host);
  weir__opencl_sweep(device);
  weir__opencl_object *object = weir__opencl_object_of(&device->objects, memory);
  if (object == NULL) object = weir__opencl_object_import(&device->objects, &like);
  if (object != NULL) object->wraps++;
  weir__host_unlock(host);
  if (object == NULL) return weir__error(WEIR_ERROR_OUT_OF_MEMORY, "buffer wrap: no memory");
  *out_memory = (void *)(object->address + offset);
  return WEIR_OK;
}

void weir__opencl_released(weir_device *base, void *memory, bool image, weir__id last_use) {
  (void)image;
  weir__opencl_device *device = weir__opencl_of(base);
  weir__opencl_object *object = weir__opencl_object_find(&device->objects, memory);
  object->wraps--;
  if (object->last_use < last_use) object->last_use = last_use;
  device->has_released = true;
  weir__opencl_sweep(device);
}

void weir__opencl_sweep(weir__opencl_device *device) {
  if (!device->has_released || device->stuck) return;
  device->has_released = false;
  weir__id oldest = device->base.device.host->window.live.oldest;
  // Only who holds the context's lock changes the list.
  for (uint32_t i = device->objects.count; i-- > 0;) {
    weir__opencl_object *object = device->objects.list[i];
    if ((!object->is_callers && object->image == NULL) || object->wraps > 0) continue;
    if (object->last_use >= oldest) {
      device->has_released = true;
      continue;
    }
    if (object->image != NULL) atomic_fetch_sub_explicit(&device->image_count, 1, memory_order_relaxed);
    weir__opencl_object_destroy(&device->objects, object);
  }
}
