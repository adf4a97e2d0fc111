// SPDX-License-Identifier: Apache-2.0
//
// Commands of the driver: kernels, copies, fills, markers.
#include <string.h>

#include "device/opencl/image.h"
#include "device/opencl/opencl.h"

void weir__opencl_flush_queue(weir__opencl_device *device, uint32_t queue) {
  if (!device->queues[queue].unflushed) return;
  cl_int result = device->driver->clFlush(device->queues[queue].queue);
  device->queues[queue].unflushed = result != CL_SUCCESS;
  if (result != CL_SUCCESS) weir__opencl_trouble(device, result);
}

void weir__opencl_flush(weir__opencl_device *device) {
  for (uint32_t i = 0; i < device->base.queue_count; i++) weir__opencl_flush_queue(device, i);
}

void weir__opencl_finish_queue(weir__opencl_device *device, uint32_t queue) {
  weir__opencl_flush_queue(device, queue);
  cl_int result = device->driver->clFinish(device->queues[queue].queue);
  if (result == CL_SUCCESS) return;
  device->unseen = true;
  weir__opencl_trouble(device, result);
}

cl_int weir__opencl_enqueue_marker(weir__opencl_device *device, uint32_t queue, const weir__opencl_waits *waits,
                                   cl_event *out_event) {
  return device->driver->clEnqueueMarkerWithWaitList(device->queues[queue].queue, waits->count,
                                                     waits->count > 0 ? waits->events : NULL, out_event);
}

cl_int weir__opencl_enqueue_kernel(weir__opencl_device *device, const weir__opencl_kernel *kernel,
                                   const uint32_t groups[3], const weir__opencl_argument *arguments, uint32_t count,
                                   cl_command_queue queue, weir__opencl_waits *waits, cl_event *out_event) {
  const weir__opencl_driver *driver = device->driver;
  cl_kernel code = kernel->kernels[device->base.device.index];
  cl_int result = CL_SUCCESS;
  if (kernel->value.bytes > 0) {
    arguments = &kernel->value;
    count = 1;
  }
  for (uint32_t i = 0; i < count && result == CL_SUCCESS; i++) {
    const weir__opencl_argument *argument = &arguments[i];
    uint32_t at = weir__opencl_place(kernel, i);
    if (argument->bytes > 0)
      result = driver->clSetKernelArg(code, at, (size_t)argument->bytes, argument->value);
    else if (weir__opencl_has_objects(device))
      result = weir__opencl_set_object(device, code, at, argument);
    else
      result = driver->clSetKernelArgSVMPointer(code, at, argument->value);
  }
  for (uint32_t i = 0; i < kernel->local_count && result == CL_SUCCESS; i++)
    result = driver->clSetKernelArg(code, weir__opencl_place(kernel, count) + i, (size_t)kernel->local_bytes[i], NULL);
  if (result == CL_SUCCESS && kernel->sampler_count > 0)
    result = weir__opencl_set_samplers(device, kernel, code, arguments);
  if (result != CL_SUCCESS) return result;
  const uint32_t *counts = kernel->groups[0] == 0 ? groups : kernel->groups;
  size_t global[3];
  for (int i = 0; i < 3; i++) global[i] = kernel->local[i] * counts[i];
  result = driver->clEnqueueNDRangeKernel(queue, code, 3, NULL, global, kernel->local, waits->count,
                                          waits->count > 0 ? waits->events : NULL, out_event);
  if (result == CL_SUCCESS) waits->count = 0;
  return result;
}

cl_int weir__opencl_enqueue_copy(weir__opencl_device *device, void *to, const void *from, uint64_t bytes,
                                 cl_command_queue queue, weir__opencl_waits *waits, cl_event *out_event) {
  cl_int result = weir__opencl_has_objects(device)
                      ? weir__opencl_copy_objects(device, to, from, bytes, queue, waits, out_event)
                      : device->driver->clEnqueueSVMMemcpy(queue, CL_FALSE, to, from, (size_t)bytes, waits->count,
                                                           waits->count > 0 ? waits->events : NULL, out_event);
  if (result == CL_SUCCESS) waits->count = 0;
  return result;
}

static cl_int fill_aligned(weir__opencl_device *device, void *to, const void *pattern, size_t pattern_bytes,
                           uint64_t bytes, cl_command_queue queue, weir__opencl_waits *waits, cl_event *out_event) {
  cl_int result = device->driver->clEnqueueSVMMemFill(queue, to, pattern, pattern_bytes, (size_t)bytes, waits->count,
                                                      waits->count > 0 ? waits->events : NULL, out_event);
  if (result == CL_SUCCESS) waits->count = 0;
  return result;
}

// The driver fills from multiples of the pattern's size on. The caller's memory may begin elsewhere: the bytes before and
// behind the multiples are filled one by one. The queue is in order, so only the last command needs an event.
static cl_int fill_unaligned(weir__opencl_device *device, uint8_t *to, uint32_t pattern, uint64_t bytes,
                             cl_command_queue queue, weir__opencl_waits *waits, cl_event *out_event) {
  uint8_t given[sizeof pattern], turned[sizeof pattern];
  uint32_t size = sizeof pattern, head = size - (uint32_t)((uintptr_t)to % size), tail = size - head;
  memcpy(given, &pattern, size);
  for (uint32_t i = 0; i < size; i++) turned[i] = given[(i + head) % size];
  cl_int result = CL_SUCCESS;
  for (uint32_t i = 0; i < head && result == CL_SUCCESS; i++)
    result = fill_aligned(device, to + i, &given[i], 1, 1, queue, waits, NULL);
  if (bytes > size && result == CL_SUCCESS)
    result = fill_aligned(device, to + head, turned, size, bytes - size, queue, waits, NULL);
  for (uint32_t i = 0; i < tail && result == CL_SUCCESS; i++)
    result =
        fill_aligned(device, to + (bytes - tail + i), &turned[i], 1, 1, queue, waits, i == tail - 1 ? out_event : NULL);
  return result;
}

cl_int weir__opencl_fill_memory(weir__opencl_device *device, void *to, uint32_t pattern, uint64_t bytes,
                                cl_command_queue queue, weir__opencl_waits *waits, cl_event *out_event) {
  if ((uintptr_t)to % sizeof pattern != 0) return fill_unaligned(device, to, pattern, bytes, queue, waits, out_event);
  return fill_aligned(device, to, &pattern, sizeof pattern, bytes, queue, waits, out_event);
}

cl_int weir__opencl_enqueue_fill(weir__opencl_device *device, void *to, uint32_t pattern, uint64_t bytes,
                                 cl_command_queue queue, weir__opencl_waits *waits, cl_event *out_event) {
  if (!weir__opencl_has_objects(device))
    return weir__opencl_fill_memory(device, to, pattern, bytes, queue, waits, out_event);
  cl_int result = weir__opencl_fill_object(device, to, pattern, bytes, queue, waits, out_event);
  if (result == CL_SUCCESS) waits->count = 0;
  return result;
}
