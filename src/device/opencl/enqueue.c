// SPDX-License-Identifier: Apache-2.0
#include "device/opencl/enqueue.h"

#include <stdio.h>

enum { OWN_REFERENCES = 1 + WEIR__OPENCL_GUARDS }; // to a queue that functions get

weir_status weir__opencl_set_enqueue(weir_kernel *kernel, const weir_enqueue_code *code) {
  weir__code *head = weir__enqueue_make_code(kernel, sizeof(weir__opencl_kernel), code);
  if (head == NULL) return WEIR_ERROR_OUT_OF_MEMORY;
  return weir__host_set_code(kernel, WEIR__CODE_OPENCL, head, "OpenCL code", NULL);
}

// ---------------------------------------------------------------------------------------------------------------
// Arguments

// A range as a command may use it: the part of a memory object with just its bytes, or its address. `holds`: with a
// reference for the caller.
static cl_int name_range(weir__opencl_device *device, weir_enqueue_arg *arg, bool holds) {
  if (!weir__opencl_has_objects(device)) return CL_SUCCESS;
  const void *address = (const void *)(uintptr_t)arg->pointer;
  weir__opencl_object *object = weir__opencl_object_find(&device->objects, address);
  if (object == NULL) return device->memory_kind == WEIR__OPENCL_OBJECTS ? CL_INVALID_MEM_OBJECT : CL_SUCCESS;
  cl_mem memory = NULL;
  size_t offset = 0;
  cl_int result = (holds ? weir__opencl_object_hold_part : weir__opencl_object_part)(&device->objects, object, address,
                                                                                     arg->bytes, &memory, &offset);
  if (result != CL_SUCCESS) return result;
  arg->pointer = 0;
  arg->handle = (uintptr_t)memory;
  arg->offset = offset;
  arg->image = object->image != NULL;
  return CL_SUCCESS;
}

cl_int weir__opencl_hold(weir__opencl_device *device, weir_enqueue_arg *arg) {
  return arg->value == NULL ? name_range(device, arg, true) : CL_SUCCESS;
}

void weir__opencl_let_go(const weir__opencl_device *device, const weir_enqueue_arg *arg) {
  if (arg->handle != 0) device->driver->clReleaseMemObject((cl_mem)(uintptr_t)arg->handle);
}

static cl_int name_arguments(weir__opencl_device *device, weir__enqueue_call *call) {
  cl_int result = CL_SUCCESS;
  for (uint32_t i = 0; i < call->arg_count && result == CL_SUCCESS; i++) {
    if (call->args[i].value == NULL) result = name_range(device, &call->args[i], false);
  }
  return result;
}

// ---------------------------------------------------------------------------------------------------------------
// Calls

// A function that releases a queue that is not its own must not take it away from the tasks in it.
cl_int weir__opencl_guard(const weir__opencl_device *device, weir__opencl_queue *queue) {
  cl_int result = CL_SUCCESS;
  uint32_t held = 0;
  if (queue->guarded) return CL_SUCCESS;
  while (held < WEIR__OPENCL_GUARDS && result == CL_SUCCESS) {
    result = device->driver->clRetainCommandQueue(queue->queue);
    held += result == CL_SUCCESS;
  }
  queue->guarded = result == CL_SUCCESS;
  while (held-- > 0 && !queue->guarded) device->driver->clReleaseCommandQueue(queue->queue);
  return result;
}

// Whether there are fewer references than the device has: the queue was released, by this call or one before it.
// Commands and events have some, too, and hide it meanwhile. How many they have is not known, so the device takes
// enough for good.
bool weir__opencl_is_released(const weir__opencl_device *device, weir__opencl_queue *queue) {
  cl_uint count = OWN_REFERENCES;
  device->driver->clGetCommandQueueInfo(queue->queue, CL_QUEUE_REFERENCE_COUNT, sizeof count, &count, NULL);
  if (queue->was_released || count >= OWN_REFERENCES) return false;
  queue->was_released = true;
  for (uint32_t i = 0; i < WEIR__OPENCL_MORE_GUARDS; i++) device->driver->clRetainCommandQueue(queue->queue);
  return true;
}

// What comes before the call: the guard, arguments, and a marker where it waits for something or is timed.
static cl_int prepare(weir__opencl_device *device, weir__enqueue_call *call, uint32_t queue, weir__opencl_waits *waits,
                      cl_event *out_start) {
  bool timed = out_start != NULL && device->base.device.host->trace != NULL;
  cl_int result = weir__opencl_guard(device, &device->queues[queue]);
  if (result == CL_SUCCESS) result = name_arguments(device, call);
  if (result != CL_SUCCESS || (waits->count == 0 && !timed)) return result;
  result = weir__opencl_enqueue_marker(device, queue, waits, timed ? out_start : NULL);
  if (result == CL_SUCCESS) waits->count = 0;
  return result;
}

weir_status weir__opencl_call(weir__opencl_device *device, weir__enqueue_call *call, weir__enqueue *enqueue,
                              uint32_t queue, weir__opencl_waits *waits, cl_event *out_start) {
  char text[64];
  cl_int result = prepare(device, call, queue, waits, out_start);
  if (result != CL_SUCCESS) {
    snprintf(call->text, sizeof call->text, "before the enqueue function: %s",
             weir__opencl_result_text(result, text, sizeof text));
    return weir__opencl_status(result);
  }
  call->call.queue = device->queues[queue].queue;
  call->call.native_context = device->context;
  call->call.lane = queue;
  weir_status status = weir__enqueue_run(call, enqueue);
  if (!weir__opencl_is_released(device, &device->queues[queue])) return status;
  snprintf(call->text, sizeof call->text,
           "the enqueue function, or one before it, released the device's cl_command_queue");
  return WEIR_ERROR_TASK_FAILED;
}
