// SPDX-License-Identifier: Apache-2.0
//
// Order with other OpenCL code, by events.
//
// A wait is a task that every later one comes after. It holds a blocker of its own until the device's thread sees that the caller's
// event is done; then it is issued as a marker. A queue that waited from the start would hold up tasks that were submitted before,
// on which the caller's work may depend in turn.
//
// What the caller gets is a user event, which is set when a task of Weir's is done: that of the event, or one behind all tasks.
#include "api/storage.h"
#include "api/submit.h"
#include "base/allocate.h"
#include "base/error.h"
#include "device/opencl/opencl.h"
#include "device/opencl/share.h"

#include <stdio.h>

static void await(weir__opencl_device *device, weir__opencl_fence *fence) {
  weir__lock_acquire(&device->fence_lock);
  fence->next = device->fences;
  device->fences = fence;
  atomic_fetch_add_explicit(&device->fence_count, 1, memory_order_seq_cst);
  weir__lock_release(&device->fence_lock);
}

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
  if (device != NULL) weir__opencl_wake(device);
  weir__lock_release(&listeners.lock);
}

// Has the device's thread woken when the event is done; else it looks once in a while.
static void listen(weir__opencl_device *device, cl_event event) {
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

static weir__admit_result enter_fence(weir__opencl_device *device, weir__opencl_fence *fence, weir_event **out_event,
                                      weir_status *out_status) {
  weir_context *context = device->base.context;
  const char *label = fence->signals ? "signal" : "event";
  const weir_task named = {.label = label};
  const weir__submission submission = {.task = &named};
  weir__admit_result result = weir__await_room(context, &submission, 1, out_status);
  if (result != WEIR__ADMITTED) return result;
  weir__id first = context->window.live.oldest, end = context->window.next;
  weir_event *event = fence->signals ? weir__event_take(context, end, NULL) : NULL;
  if (fence->signals && event == NULL) return weir__no_memory(&submission, "an event", out_status);
  weir__task *task = weir__window_begin(&context->window);
  weir__move *move = (weir__move *)(void *)task->payload;
  *move = (weir__move){.fence = fence};
  weir__request request = {.submission = &submission, .device = &device->base, .label = label, .move = move};
  weir__hits_clear(&context->hits);
  context->held_listed = false;
  for (weir__id id = first; fence->signals && id < end; id++)
    weir__hit_task(context, &context->hits, id, WEIR__HAZARD_AFTER);
  task->event = event;
  fence->task = task;
  if (!fence->signals) task->blockers++;
  context->statistics.tasks++;
  weir__id id = task->id;
  weir__admit_found(context, &request, task);
  if (out_event != NULL) *out_event = event;
  if (fence->signals) return WEIR__ADMITTED;
  context->fence = id;
  await(device, fence);
  weir__opencl_wake(device);
  return WEIR__ADMITTED;
}

static weir_status submit(weir__opencl_device *device, bool signals, cl_event event, weir_event **out_event) {
  weir_context *context = device->base.context;
  weir__opencl_fence *fence = weir__allocate(sizeof *fence);
  if (fence == NULL) return weir__error(WEIR_ERROR_OUT_OF_MEMORY, "event: no memory");
  *fence = (weir__opencl_fence){.signals = signals, .event = event};
  weir_status status = WEIR_OK;
  weir__admit_result result;
  weir__context_lock(context);
  do {
    result = enter_fence(device, fence, out_event, &status);
  } while (result == WEIR__RETRY);
  if (result == WEIR__ADMITTED) weir__context_flush(context);
  weir__context_unlock(context);
  if (result != WEIR__ADMITTED) weir__free(fence);
  return status;
}

weir_status weir_opencl_wait_event(weir_device *base, void *cl_event_object) {
  weir_status status = weir__opencl_check_device(base, false, "wait for an event");
  if (status != WEIR_OK) return status;
  if (cl_event_object == NULL)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "wait for an event: the cl_event is NULL");
  weir__opencl_device *device = weir__opencl_of(base);
  cl_int result = device->driver->clRetainEvent(cl_event_object);
  if (result != CL_SUCCESS) return weir__opencl_error(result, "wait for an event: the cl_event");
  listen(device, cl_event_object);
  status = submit(device, false, cl_event_object, NULL);
  if (status != WEIR_OK) device->driver->clReleaseEvent(cl_event_object);
  return status;
}

// ---------------------------------------------------------------------------------------------------------------
// Events for the caller

typedef struct told {
  const weir__opencl_driver *driver;
  cl_event event; // a reference is held
  bool fails;     // if the task does
} told;

static void tell(void *user, weir_status status) {
  told *item = user;
  bool good = status == WEIR_OK || !item->fails;
  item->driver->clSetUserEventStatus(item->event, good ? CL_COMPLETE : CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
  item->driver->clReleaseEvent(item->event);
  weir__free(item);
}

static weir_status make_told(const weir__opencl_device *device, bool fails, told **out_told) {
  cl_int result = CL_SUCCESS;
  told *item = weir__allocate(sizeof *item);
  *out_told = item;
  if (item == NULL) return weir__error(WEIR_ERROR_OUT_OF_MEMORY, "create event: no memory");
  *item = (told){.driver = device->driver, .fails = fails};
  item->event = device->driver->clCreateUserEvent(device->context, &result);
  if (item->event != NULL) {
    result = device->driver->clRetainEvent(item->event);
    if (result == CL_SUCCESS) return WEIR_OK;
    device->driver->clReleaseEvent(item->event);
  }
  weir__free(item);
  return weir__opencl_error(result == CL_SUCCESS ? CL_OUT_OF_HOST_MEMORY : result, "create event: %s",
                            device->base.name);
}

weir_status weir_opencl_create_event(weir_device *base, weir_event *event, void **out_cl_event) {
  if (out_cl_event == NULL) return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "create event: out_cl_event is NULL");
  *out_cl_event = NULL;
  weir_status status = weir__opencl_check_device(base, true, "create event");
  if (status == WEIR_OK && event != NULL)
    status = weir__object_check(event, WEIR__KIND_EVENT, base->context, "create event");
  if (status != WEIR_OK) return status;
  weir__opencl_device *device = weir__opencl_of(base);
  told *item;
  status = make_told(device, event != NULL, &item);
  if (status != WEIR_OK) return status;
  cl_event made = item->event; // both references are given back by failure, one by `tell`
  weir_event *own = NULL;
  if (event == NULL) status = submit(device, true, NULL, &own);
  if (status == WEIR_OK) status = weir_event_on_done(event != NULL ? event : own, tell, item);
  weir_event_release(own);
  if (status == WEIR_OK) {
    *out_cl_event = made;
    return WEIR_OK;
  }
  device->driver->clReleaseEvent(made);
  device->driver->clReleaseEvent(made);
  weir__free(item);
  return status;
}

// ---------------------------------------------------------------------------------------------------------------
// The device's thread

// Whether its task need wait no more: also where it will not run, because it was cancelled or the device is lost.
static bool is_done(const weir__opencl_device *device, weir__opencl_fence *fence) {
  const weir_context *context = device->base.context;
  const weir__opencl_driver *driver = device->driver;
  if (device->lost != WEIR_OK || fence->task->id < atomic_load_explicit(&context->cancel_before, memory_order_relaxed))
    return true;
  cl_int status = CL_COMPLETE;
  cl_int result = driver->clGetEventInfo(fence->event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL);
  if (result != CL_SUCCESS) status = result;
  if (status > CL_COMPLETE) return false;
  fence->result = status;
  // Asking does not make what was written visible to other commands; waiting does.
  if (status == CL_COMPLETE) fence->result = driver->clWaitForEvents(1, &fence->event);
  return true;
}

// Those whose event is done, taken out of the list.
static weir__opencl_fence *take_done(weir__opencl_device *device) {
  weir__opencl_fence *done = NULL;
  weir__lock_acquire(&device->fence_lock);
  for (weir__opencl_fence **link = &device->fences; *link != NULL;) {
    weir__opencl_fence *fence = *link;
    if (!is_done(device, fence)) {
      link = &fence->next;
      continue;
    }
    *link = fence->next;
    fence->next = done;
    done = fence;
    atomic_fetch_sub_explicit(&device->fence_count, 1, memory_order_relaxed);
  }
  weir__lock_release(&device->fence_lock);
  return done;
}

bool weir__opencl_serve_fences(weir__opencl_device *device) {
  if (atomic_load_explicit(&device->fence_count, memory_order_acquire) == 0) return false;
  weir_context *context = device->base.context;
  weir__opencl_fence *first = take_done(device);
  if (first == NULL) return false;
  for (weir__opencl_fence *fence = first; fence != NULL; fence = fence->next)
    device->driver->clReleaseEvent(fence->event);
  weir__context_lock(context);
  while (first != NULL) {
    weir__opencl_fence *next = first->next; // it may be freed as soon as its task is done
    weir__window_release(&context->window, first->task);
    first = next;
  }
  weir__context_issue_ready(context);
  weir__context_unlock(context);
  return true;
}

void weir__opencl_end_fence(weir__opencl_op *op) {
  const weir__opencl_fence *fence = op->task->move->fence;
  if (fence->result == CL_SUCCESS) return;
  char text[64];
  op->status = WEIR_ERROR_TASK_FAILED;
  snprintf(op->message, sizeof op->message, "the caller's event failed: %s",
           weir__opencl_result_text(fence->result, text, sizeof text));
}
