// SPDX-License-Identifier: Apache-2.0
#include "device/opencl/open_task.h"

#include <stdio.h>

#include "base/allocate.h"
#include "base/error.h"
#include "device/opencl/enqueue.h"

// The device's part of an open task.
typedef struct opencl_open {
  weir__open_slot slot; // the first member
  uint32_t named;       // arguments of the call whose objects are held
  cl_event start;       // of a timeline; NULL: it is the operation's
  cl_event end;         // stands for the task's end; NULL: it is the operation's, or the end was waited for
} opencl_open;

static uint32_t queue_of(const weir__opencl_device *device, const opencl_open *own) {
  return device->own_queues + own->slot.index;
}

// ---------------------------------------------------------------------------------------------------------------
// Threads of the caller's

static int make_queues(void *user) {
  weir__opencl_device *device = user;
  cl_int result = CL_SUCCESS;
  bool traces = device->base.device.host->trace != NULL;
  for (uint32_t i = 0; i < WEIR__MOST_OPEN && result == CL_SUCCESS; i++) {
    weir__opencl_queue *queue = &device->queues[device->own_queues + i];
    if (queue->queue == NULL)
      queue->queue =
          weir__opencl_queue_create(device->driver, device->listed, device->context, device->device, traces, &result);
    if (queue->queue == NULL && result == CL_SUCCESS) result = CL_OUT_OF_HOST_MEMORY;
    if (result == CL_SUCCESS) result = weir__opencl_guard(device, queue);
  }
  return result;
}

static weir_status begin(weir_device *base, weir__open *open) {
  weir__opencl_device *device = weir__opencl_of(base);
  opencl_open *own = weir__allocate_zeroed(sizeof *own);
  if (own == NULL) return weir__error(WEIR_ERROR_OUT_OF_MEMORY, "task begin: no memory");
  open->native = own;
  cl_int result = (cl_int)weir__opens_take(&device->base.opens, make_queues, device, &own->slot);
  if (result != CL_SUCCESS) return weir__opencl_error(result, "task begin on %s", base->name);
  open->call.call.queue = device->queues[queue_of(device, own)].queue;
  open->call.call.native_context = device->context;
  open->call.call.lane = queue_of(device, own);
  return WEIR_OK;
}

// What the device's thread is asked for.
typedef struct order_request {
  weir__device_request head;
  opencl_open *own;
  const weir__id *tasks;
  uint32_t task_count;
  cl_int result;
} order_request;

// The last operation of each queue among those of the tasks, of which the events are waited for.
static void find_waits(weir__opencl_device *device, const order_request *request, weir__opencl_waits *out_waits) {
  const weir__operation *last[WEIR__OPENCL_MOST_QUEUES + WEIR__MOST_OPEN] = {NULL};
  out_waits->count = 0;
  for (uint32_t i = 0; i < request->task_count; i++) {
    const weir__operation *operation = weir__in_order_find(&device->base, request->tasks[i]);
    if (operation == NULL) continue;
    const weir__operation **of_queue = &last[operation->place->queue];
    if (*of_queue == NULL || (*of_queue)->place->sequence < operation->place->sequence) *of_queue = operation;
  }
  for (uint32_t i = 0; i < device->base.queue_count; i++) {
    const weir__opencl_operation *before = (const weir__opencl_operation *)(const void *)last[i];
    if (before == NULL || before->event == NULL) continue;
    weir__opencl_flush_queue(device, i);
    out_waits->events[out_waits->count++] = before->event;
  }
}

static void answer(void *user, weir__device_request *head) {
  weir__opencl_device *device = user;
  order_request *request = (order_request *)(void *)head;
  weir__opencl_waits waits;
  bool traces = device->base.device.host->trace != NULL;
  if (device->base.lost != WEIR_OK) return;
  if (traces && device->base.operation_count == 0) weir__opencl_set_clock(device);
  find_waits(device, request, &waits);
  if (waits.count == 0 && !traces) return;
  request->result =
      weir__opencl_enqueue_marker(device, queue_of(device, request->own), &waits, traces ? &request->own->start : NULL);
}

static void let_go(const weir__opencl_device *device, weir__open *open, opencl_open *own) {
  for (uint32_t i = 0; i < own->named; i++) weir__opencl_let_go(device, &open->call.args[i]);
  own->named = 0;
}

static weir_status order(weir_device *base, weir__open *open, const weir__id *tasks, uint32_t count) {
  weir__opencl_device *device = weir__opencl_of(base);
  opencl_open *own = open->native;
  cl_int result = CL_SUCCESS;
  while (own->named < open->call.arg_count && result == CL_SUCCESS) {
    result = weir__opencl_hold(device, &open->call.args[own->named]);
    own->named += result == CL_SUCCESS;
  }
  order_request request = {.head = {.answer = answer}, .own = own, .tasks = tasks, .task_count = count};
  if (result == CL_SUCCESS && (count > 0 || base->host->trace != NULL)) {
    weir__requests_ask(&device->base.requests, &device->base.inbox, &request.head);
    result = request.result;
  }
  return weir__opencl_error(result, "task begin on %s", base->name);
}

// Nothing tells when the work is done.
static void lose(weir__opencl_device *device, weir__open *open, cl_int result) {
  char text[64], what[128];
  snprintf(what, sizeof what, "its queue was lost, and with that the device: %s",
           weir__opencl_result_text(result, text, sizeof text));
  weir__open_accuse(open, WEIR_ERROR_DEVICE_LOST, what);
  weir__opencl_trouble(device, result);
}

// Marks where the work ends; where that cannot be done, waits for it.
static void end(weir_device *base, weir__open *open) {
  weir__opencl_device *device = weir__opencl_of(base);
  opencl_open *own = open->native;
  const weir__opencl_waits none = {.count = 0};
  weir__opencl_queue *queue = &device->queues[queue_of(device, own)];
  cl_int result = weir__opencl_enqueue_marker(device, queue_of(device, own), &none, &own->end);
  if (result == CL_SUCCESS)
    result = device->driver->clFlush(queue->queue);
  else
    own->end = NULL;
  if (result != CL_SUCCESS) result = device->driver->clFinish(queue->queue);
  if (result != CL_SUCCESS) lose(device, open, result);
  let_go(device, open, own);
  if (result == CL_SUCCESS && open->status == WEIR_OK && weir__opencl_is_released(device, queue))
    weir__open_accuse(open, WEIR_ERROR_TASK_FAILED, "its cl_command_queue, which is the device's, was released");
}

static void await(weir_device *base, weir__open *open) {
  weir__opencl_device *device = weir__opencl_of(base);
  const opencl_open *own = open->native;
  if (own->end == NULL || device->driver->clWaitForEvents(1, &own->end) == CL_SUCCESS) return;
  weir__opencl_finish_queue(device, queue_of(device, own)); // a command failed, or the wait
}

static void issued(weir_device *base, weir__open *open) {
  opencl_open *own = open->native;
  weir__opens_give(&weir__opencl_of(base)->base.opens, &own->slot);
}

static void destroy(weir_device *base, weir__open *open) {
  const weir__opencl_device *device = weir__opencl_of(base);
  opencl_open *own = open->native;
  let_go(device, open, own);
  weir__opens_give(&weir__opencl_of(base)->base.opens, &own->slot);
  if (own->start != NULL) device->driver->clReleaseEvent(own->start);
  if (own->end != NULL) device->driver->clReleaseEvent(own->end);
  weir__free(own);
}

const weir__open_ops weir__opencl_opens = {
    .begin = begin, .order = order, .end = end, .await = await, .issued = issued, .destroy = destroy};

// ---------------------------------------------------------------------------------------------------------------
// The device's thread

bool weir__opencl_place_open(weir__opencl_device *device, weir__opencl_operation *operation, uint32_t count,
                             weir__queue_choice *out_choice) {
  weir__in_order_device *base = &device->base;
  const weir__open *open = weir__task_open(operation->head.task);
  opencl_open *own = open->native;
  if (base->queue_count == device->own_queues) weir__in_order_widen(base, WEIR__MOST_OPEN);
  *out_choice = weir__queues_issue(base->queues, base->operations.places, count, queue_of(device, own));
  if (out_choice->task == NULL) return false;
  if (open->begun && own->end == NULL) device->unseen = true; // it was waited for, or that failed
  operation->start = own->start;
  operation->event = own->end;
  own->start = own->end = NULL;
  return true;
}
