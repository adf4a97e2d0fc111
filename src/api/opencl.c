// SPDX-License-Identifier: Apache-2.0
//
// Memory and order that are shared with other OpenCL code.
#include "weir/opencl.h"

#include <stdio.h>

#include "base/error.h"
#include "device/opencl/fence.h"
#include "device/opencl/opencl.h"
#include "device/opencl/share.h"
#include "engine/buffer.h"
#include "engine/external.h"
#include "engine/fence.h"

weir_status weir_opencl_wait_event(weir_device *base, void *cl_event_object) {
  weir_status status = weir__opencl_check_device(base, false, "wait for an event");
  if (status != WEIR_OK) return status;
  if (cl_event_object == NULL)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "wait for an event: the cl_event is NULL");
  weir__opencl_device *device = weir__opencl_of(base);
  weir__opencl_fence *fence;
  status = weir__opencl_fence_create(device, cl_event_object, "wait for an event", &fence);
  if (status != WEIR_OK) return status;
  status = weir__fence_submit(base, &fence->head, NULL, "event", NULL);
  if (status != WEIR_OK) weir__opencl_fence_destroy(&device->base, &fence->head);
  return status;
}

weir_status weir_opencl_import_event(weir_device *base, void *cl_event_object, weir_event **out_event) {
  if (out_event == NULL) return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "import event: out_event is NULL");
  *out_event = NULL;
  weir_status status = weir__opencl_check_device(base, false, "import event");
  if (status != WEIR_OK) return status;
  if (cl_event_object == NULL) return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "import event: the cl_event is NULL");
  weir__opencl_device *device = weir__opencl_of(base);
  weir__opencl_fence *fence;
  char name[WEIR__EXTERNAL_NAME_BYTES];
  snprintf(name, sizeof name, "cl_event %p", cl_event_object);
  status = weir__opencl_fence_create(device, cl_event_object, "import event", &fence);
  if (status != WEIR_OK) return status;
  status = weir__external_import(base, &fence->head, name, out_event);
  if (status != WEIR_OK) weir__opencl_fence_destroy(&device->base, &fence->head);
  return status;
}

// An event that stands for all tasks so far.
static weir_status submit_signal(weir_device *base, weir_event **out_event) {
  weir__opencl_device *device = weir__opencl_of(base);
  weir__opencl_fence *fence;
  weir_status status = weir__opencl_fence_create(device, NULL, "create event", &fence);
  if (status != WEIR_OK) return status;
  status = weir__fence_submit(base, &fence->head, NULL, "signal", out_event);
  if (status != WEIR_OK) weir__opencl_fence_destroy(&device->base, &fence->head);
  return status;
}

weir_status weir_opencl_create_event(weir_device *base, weir_event *event, void **out_cl_event) {
  if (out_cl_event == NULL) return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "create event: out_cl_event is NULL");
  *out_cl_event = NULL;
  weir_status status = weir__opencl_check_device(base, true, "create event");
  if (status == WEIR_OK && event != NULL)
    status = weir__object_check(event, WEIR__KIND_EVENT, weir__context_of(base->host), "create event");
  if (status != WEIR_OK) return status;
  weir__opencl_told *told;
  cl_event made = NULL;
  status = weir__opencl_told_create(weir__opencl_of(base), event != NULL, &told, &made);
  if (status != WEIR_OK) return status;
  weir_event *own = NULL;
  if (event == NULL) status = submit_signal(base, &own);
  if (status == WEIR_OK) status = weir_event_on_done(event != NULL ? event : own, weir__opencl_tell, told);
  weir_event_release(own);
  if (status == WEIR_OK)
    *out_cl_event = made;
  else
    weir__opencl_told_destroy(told);
  return status;
}

weir_status weir_buffer_wrap_opencl(weir_device *base, void *cl_mem_object, uint64_t offset, uint64_t bytes,
                                    weir_buffer **out_buffer) {
  if (out_buffer == NULL) return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "buffer wrap: out_buffer is NULL");
  *out_buffer = NULL;
  weir_status status = weir__opencl_check_device(base, true, "buffer wrap");
  if (status != WEIR_OK) return status;
  if (cl_mem_object == NULL) return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "buffer wrap: the cl_mem is NULL");
  void *memory;
  status = weir__opencl_wrap(weir__opencl_of(base), cl_mem_object, offset, bytes, &memory);
  return status == WEIR_OK ? weir__buffer_wrap(base, memory, bytes, out_buffer) : status;
}
