// SPDX-License-Identifier: Apache-2.0
#include "device/opencl/fence.h"

#include <stdio.h>

#include "base/allocate.h"
#include "base/clock.h"
#include "base/error.h"
#include "device/opencl/opencl.h"

static const uint64_t PATIENCE_NS = 1000000000; // with a driver that does not tell an event's status

// Callbacks of events come at any time, or never: they have the number of a device, and nothing that would have to be freed.
static struct {
  weir__lock lock;
  weir__opencl_device *first;
  uintptr_t last_number;
} listeners;

static void heard(cl_event event, cl_int status, void *user) {
  (void)event;
  (void)status;
  weir__lock_acquire(&listeners.lock);
  weir__opencl_device *device = listeners.first;
  while (device != NULL && device->listener != (uintptr_t)user) device = device->next_listener;
  if (device != NULL) weir__inbox_ring(&device->base.inbox);
  weir__lock_release(&listeners.lock);
}

void weir__opencl_listen(weir__opencl_device *device, cl_event event) {
  weir__lock_acquire(&listeners.lock);
  if (device->listener == 0) {
    device->listener = ++listeners.last_number;
    device->next_listener = listeners.first;
    listeners.first = device;
  }
  uintptr_t number = device->listener;
  weir__lock_release(&listeners.lock);
  (void)device->driver->clSetEventCallback(event, CL_COMPLETE, heard, (void *)number);
}

void weir__opencl_stop_listening(weir__opencl_device *device) {
  weir__lock_acquire(&listeners.lock);
  weir__opencl_device **link = &listeners.first;
  while (*link != NULL && *link != device) link = &(*link)->next_listener;
  if (*link != NULL) *link = device->next_listener;
  weir__lock_release(&listeners.lock);
}

weir_status weir__opencl_fence_create(weir__opencl_device *device, cl_event event, const char *what,
                                      weir__opencl_fence **out_fence) {
  *out_fence = NULL;
  if (event != NULL) {
    cl_int result = device->driver->clRetainEvent(event);
    if (result != CL_SUCCESS) return weir__opencl_error(result, "%s: the cl_event", what);
    weir__opencl_listen(device, event);
  }
  weir__opencl_fence *fence = weir__allocate(sizeof *fence);
  if (fence == NULL) {
    if (event != NULL) device->driver->clReleaseEvent(event);
    return weir__error(WEIR_ERROR_OUT_OF_MEMORY, "%s: no memory", what);
  }
  *fence = (weir__opencl_fence){.head = {.signals = event == NULL, .stalled = event != NULL}, .event = event};
  *out_fence = fence;
  return WEIR_OK;
}

static void release_event(const weir__opencl_device *device, weir__opencl_fence *fence) {
  if (fence->event != NULL && !fence->released) device->driver->clReleaseEvent(fence->event);
  fence->released = true;
}

void weir__opencl_fence_destroy(weir__in_order_device *device, weir__external_fence *fence) {
  release_event(weir__opencl_of_in_order(device), (weir__opencl_fence *)fence);
  weir__free(fence);
}

weir__external_fence *weir__opencl_marker(weir_device *device) {
  (void)device;
  weir__opencl_fence *fence = weir__allocate_zeroed(sizeof *fence);
  if (fence == NULL) return NULL;
  fence->head.signals = true;
  return &fence->head;
}

// Of an import.
static void note_result(weir__opencl_fence *fence) {
  char text[64];
  fence->head.status = fence->result == CL_SUCCESS ? WEIR_OK : WEIR_ERROR_TASK_FAILED;
  if (fence->result == CL_SUCCESS) return;
  snprintf(fence->head.text, sizeof fence->head.text, "%s", weir__opencl_result_text(fence->result, text, sizeof text));
}

bool weir__opencl_fence_is_over(void *user, weir__external_fence *head) {
  const weir__opencl_device *device = user;
  const weir__opencl_driver *driver = device->driver;
  weir__opencl_fence *fence = (weir__opencl_fence *)head;
  cl_int status = CL_COMPLETE;
  if (device->base.lost != WEIR_OK) {
    head->status = device->base.lost;
    snprintf(head->text, sizeof head->text, "%.*s", (int)sizeof head->text - 1, device->base.lost_text);
    release_event(device, fence);
    return true;
  }
  cl_int result = driver->clGetEventInfo(fence->event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL);
  if (result != CL_SUCCESS) { // which says nothing of the event
    uint64_t now = weir__clock_ns();
    if (fence->refused_ns == 0) fence->refused_ns = now;
    if (now - fence->refused_ns < PATIENCE_NS) return false;
    status = result;
  }
  if (status > CL_COMPLETE) return false;
  fence->result = status;
  // Asking does not make what was written visible to other commands; waiting does.
  if (status == CL_COMPLETE) fence->result = driver->clWaitForEvents(1, &fence->event);
  note_result(fence);
  release_event(device, fence);
  return true;
}

void weir__opencl_end_fence(weir__operation *operation) {
  const weir__opencl_fence *fence = (const weir__opencl_fence *)weir__task_fence(operation->task);
  if (fence->result == CL_SUCCESS) return;
  char text[64];
  operation->status = WEIR_ERROR_TASK_FAILED;
  snprintf(operation->message, WEIR__MESSAGE_BYTES, "the caller's event failed: %s",
           weir__opencl_result_text(fence->result, text, sizeof text));
}

struct weir__opencl_told {
  const weir__opencl_driver *driver;
  cl_event event; // a reference is held
  bool fails;     // if the task does
};

void weir__opencl_tell(void *user, weir_status status) {
  weir__opencl_told *told = user;
  bool good = status == WEIR_OK || !told->fails;
  told->driver->clSetUserEventStatus(told->event, good ? CL_COMPLETE : CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
  told->driver->clReleaseEvent(told->event);
  weir__free(told);
}

weir_status weir__opencl_told_create(const weir__opencl_device *device, bool fails, weir__opencl_told **out_told,
                                     cl_event *out_event) {
  cl_int result = CL_SUCCESS;
  weir__opencl_told *told = weir__allocate(sizeof *told);
  *out_told = told;
  if (told == NULL) return weir__error(WEIR_ERROR_OUT_OF_MEMORY, "create event: no memory");
  *told = (weir__opencl_told){.driver = device->driver, .fails = fails};
  told->event = device->driver->clCreateUserEvent(device->context, &result);
  if (told->event != NULL) {
    *out_event = told->event;
    result = device->driver->clRetainEvent(told->event);
    if (result == CL_SUCCESS) return WEIR_OK;
    device->driver->clReleaseEvent(told->event);
  }
  weir__free(told);
  return weir__opencl_error(result == CL_SUCCESS ? CL_OUT_OF_HOST_MEMORY : result, "create event: %s",
                            device->base.device.name);
}

void weir__opencl_told_destroy(weir__opencl_told *told) {
  told->driver->clReleaseEvent(told->event);
  told->driver->clReleaseEvent(told->event);
  weir__free(told);
}
