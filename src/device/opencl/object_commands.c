// SPDX-License-Identifier: Apache-2.0
//
// Commands on memory objects: arguments of kernels, copies and fills.
#include "device/opencl/image.h"
#include "device/opencl/opencl.h"

static const size_t ORIGIN[3];

// Bytes that a command uses: `offset` bytes behind the begin of `memory`; or of the host, where `memory` is NULL.
typedef struct place {
  weir__opencl_object *object;
  const void *address;
  cl_mem memory;
  size_t offset;
} place;

static place locate(weir__opencl_device *device, const void *address) {
  return (place){.object = weir__opencl_object_find(&device->objects, address), .address = address};
}

// Just the bytes of an object.
static cl_int cut(weir__opencl_device *device, place *at, uint64_t bytes) {
  if (at->object == NULL) return CL_SUCCESS;
  return weir__opencl_object_part(&device->objects, at->object, at->address, bytes, &at->memory, &at->offset);
}

// The object as a whole, or what it is a part of.
static void take_whole(place *at) {
  if (at->object == NULL) return;
  at->memory = at->object->parent;
  at->offset = (size_t)(at->object->origin + ((uintptr_t)at->address - at->object->address));
}

// Whether sub-buffers of both overlap, because they begin at multiples of the alignment: a copy between these may be refused.
static bool are_close(const weir__opencl_device *device, const place *a, const place *b, uint64_t bytes) {
  uintptr_t from = (uintptr_t)a->address, to = (uintptr_t)b->address, distance = from < to ? to - from : from - to;
  return a->object != NULL && a->object == b->object && distance < bytes + device->objects.alignment;
}

cl_int weir__opencl_set_object(weir__opencl_device *device, cl_kernel kernel, cl_uint index,
                               const weir__opencl_argument *argument) {
  place range = locate(device, argument->value);
  if (range.object == NULL && device->memory_kind != WEIR__OPENCL_OBJECTS)
    return device->driver->clSetKernelArgSVMPointer(kernel, index, argument->value);
  cl_int result = range.object != NULL ? cut(device, &range, argument->range) : CL_INVALID_MEM_OBJECT;
  if (result == CL_SUCCESS && range.offset != 0) result = CL_MISALIGNED_SUB_BUFFER_OFFSET;
  return result == CL_SUCCESS ? device->driver->clSetKernelArg(kernel, index, sizeof range.memory, &range.memory)
                              : result;
}

// Of a whole image: `to` or `from` is one. The other, if it is a buffer, is given whole: PoCL 3.1 crashes on sub-buffers here.
static cl_int copy_image(weir__opencl_device *device, place *to, place *from, cl_command_queue queue,
                         cl_uint wait_count, const cl_event *events, cl_event *out_event) {
  const weir__opencl_driver *driver = device->driver;
  const weir__opencl_image *target = to->object != NULL ? to->object->image : NULL;
  const weir__opencl_image *source = from->object != NULL ? from->object->image : NULL;
  const size_t *region = target != NULL ? target->region : source->region;
  take_whole(to);
  take_whole(from);
  if (target != NULL && source != NULL)
    return driver->clEnqueueCopyImage(queue, from->memory, to->memory, ORIGIN, ORIGIN, region, wait_count, events,
                                      out_event);
  if (target != NULL && from->object != NULL)
    return driver->clEnqueueCopyBufferToImage(queue, from->memory, to->memory, from->offset, ORIGIN, region, wait_count,
                                              events, out_event);
  if (target != NULL)
    return driver->clEnqueueWriteImage(queue, to->memory, CL_FALSE, ORIGIN, region, 0, 0, from->address, wait_count,
                                       events, out_event);
  if (to->object != NULL)
    return driver->clEnqueueCopyImageToBuffer(queue, from->memory, to->memory, ORIGIN, region, to->offset, wait_count,
                                              events, out_event);
  return driver->clEnqueueReadImage(queue, from->memory, CL_FALSE, ORIGIN, region, 0, 0, (void *)(uintptr_t)to->address,
                                    wait_count, events, out_event);
}

static bool is_image(const place *at) {
  return at->object != NULL && at->object->image != NULL;
}

cl_int weir__opencl_copy_objects(weir__opencl_device *device, void *to, const void *from, uint64_t bytes,
                                 cl_command_queue queue, const weir__opencl_waits *waits, cl_event *out_event) {
  const weir__opencl_driver *driver = device->driver;
  const cl_event *events = waits->count > 0 ? waits->events : NULL;
  place target = locate(device, to), source = locate(device, from);
  cl_int result = CL_SUCCESS;
  if (is_image(&target) || is_image(&source))
    return copy_image(device, &target, &source, queue, waits->count, events, out_event);
  if (target.object == NULL && source.object == NULL)
    return device->memory_kind == WEIR__OPENCL_OBJECTS
               ? CL_INVALID_MEM_OBJECT
               : driver->clEnqueueSVMMemcpy(queue, CL_FALSE, to, from, (size_t)bytes, waits->count, events, out_event);
  if (are_close(device, &target, &source, bytes)) {
    take_whole(&target);
    take_whole(&source);
  } else {
    result = cut(device, &target, bytes);
    if (result == CL_SUCCESS) result = cut(device, &source, bytes);
  }
  if (result != CL_SUCCESS) return result;
  if (target.object == NULL)
    return driver->clEnqueueReadBuffer(queue, source.memory, CL_FALSE, source.offset, (size_t)bytes, to, waits->count,
                                       events, out_event);
  if (source.object == NULL)
    return driver->clEnqueueWriteBuffer(queue, target.memory, CL_FALSE, target.offset, (size_t)bytes, from,
                                        waits->count, events, out_event);
  return driver->clEnqueueCopyBuffer(queue, source.memory, target.memory, source.offset, target.offset, (size_t)bytes,
                                     waits->count, events, out_event);
}

cl_int weir__opencl_fill_object(weir__opencl_device *device, void *to, uint32_t pattern, uint64_t bytes,
                                cl_command_queue queue, weir__opencl_waits *waits, cl_event *out_event) {
  const weir__opencl_driver *driver = device->driver;
  const cl_event *events = waits->count > 0 ? waits->events : NULL;
  const uint32_t zeros[4] = {0}; // only zeros fill images
  place target = locate(device, to);
  cl_int result = cut(device, &target, bytes);
  if (result != CL_SUCCESS) return result;
  if (is_image(&target))
    return driver->clEnqueueFillImage(queue, target.memory, zeros, ORIGIN, target.object->image->region, waits->count,
                                      events, out_event);
  if (target.object == NULL)
    return device->memory_kind == WEIR__OPENCL_OBJECTS
               ? CL_INVALID_MEM_OBJECT
               : weir__opencl_fill_memory(device, to, pattern, bytes, queue, waits, out_event);
  return driver->clEnqueueFillBuffer(queue, target.memory, &pattern, sizeof pattern, target.offset, (size_t)bytes,
                                     waits->count, events, out_event);
}
