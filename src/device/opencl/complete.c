// SPDX-License-Identifier: Apache-2.0
//
// From queues back to tasks: what is done is noticed by the status of events. A command that failed has ended for its dependents,
// too, in whatever way the driver chose: the device is lost.
#include <sched.h>
#include <stdio.h>
#include <time.h>

#include "base/clock.h"
#include "device/opencl/fence.h"
#include "device/opencl/opencl.h"

enum { LAG = 48 };                               // tasks of a queue
static const uint64_t LAST_WAIT_NS = 5000000000; // for commands of a lost device

// The event of a launch in several queues is that of the marker behind its nodes: it starts with the first of them.
static void find_start(const weir__opencl_device *device, weir__opencl_operation *operation) {
  operation->start_ns = 0;
  for (uint32_t i = 0; i < operation->head.task->run->plan->node_count; i++) {
    const weir__opencl_node *node = &operation->nodes[i];
    if (node->event == NULL) continue;
    uint64_t start_ns = 0, end_ns = 0;
    weir__opencl_event_times(device, node->start, node->event, &start_ns, &end_ns);
    if (operation->start_ns == 0 || start_ns < operation->start_ns) operation->start_ns = start_ns;
  }
}

void weir__opencl_finish(weir__in_order_device *base, weir__operation *head) {
  weir__opencl_device *device = weir__opencl_of_in_order(base);
  weir__opencl_operation *operation = weir__opencl_operation_of(head);
  bool traces = base->device.host->trace != NULL;
  if (head->task->run != NULL && head->status == WEIR_OK) weir__opencl_finish_run(device, operation);
  if (traces && operation->event != NULL) {
    weir__opencl_event_times(device, operation->start, operation->event, &operation->start_ns, &operation->end_ns);
    if (head->task->run != NULL && operation->nodes != NULL) find_start(device, operation);
  }
  if (!traces) weir__opencl_release_nodes(device, operation);
  if (operation->event != NULL) device->driver->clReleaseEvent(operation->event);
  if (operation->start != NULL) device->driver->clReleaseEvent(operation->start);
  operation->event = operation->start = NULL;
}

void weir__opencl_report(weir__in_order_device *base, weir__operation *head, weir__completion *completion) {
  weir__opencl_device *device = weir__opencl_of_in_order(base);
  weir__opencl_operation *operation = weir__opencl_operation_of(head);
  completion->endless = device->stuck;
  if (base->device.host->trace != NULL) {
    weir__in_order_set_times(base, head->task, operation->start_ns, operation->end_ns, completion);
    operation->start_ns = completion->start_ns;
    operation->end_ns = completion->end_ns;
    if (head->task->run != NULL && head->status == WEIR_OK) weir__opencl_trace_run(device, operation);
  }
  weir__opencl_release_nodes(device, operation);
}

// What the driver tells of an event; NULL: one that is complete. Not CL_SUCCESS: it refuses to tell.
static cl_int ask(const weir__opencl_device *device, cl_event event, cl_int *out_status) {
  *out_status = CL_COMPLETE;
  if (event == NULL) return CL_SUCCESS;
  return device->driver->clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof *out_status, out_status, NULL);
}

// CL_COMPLETE, a number above it: not yet, or one below: it failed.
static cl_int status_of(const weir__opencl_device *device, const weir__operation *head) {
  cl_int status, result = ask(device, ((const weir__opencl_operation *)(const void *)head)->event, &status);
  return result == CL_SUCCESS ? status : result;
}

weir__operation *weir__opencl_last_done(weir__in_order_device *base, uint32_t queue) {
  weir__opencl_device *device = weir__opencl_of_in_order(base);
  weir__operation *done = NULL;
  for (weir__operation *operation = base->in_flight[queue].first; operation != NULL; operation = operation->next) {
    cl_int status = status_of(device, operation);
    if (status < CL_COMPLETE) weir__opencl_trouble(device, status);
    if (status != CL_COMPLETE) break;
    done = operation;
  }
  return done;
}

// What the thread waits for in a queue; if it lags, the first that the host may wait for, or one much later. NULL: nothing is in
// flight there.
static weir__operation *awaited(const weir__operation_list *list, bool lags) {
  weir__operation *operation = list->first;
  for (int i = 0; lags && operation != NULL && operation->next != NULL && i < LAG; i++) {
    if (weir__opencl_operation_of(operation)->awaited) break;
    operation = operation->next;
  }
  return operation;
}

bool weir__opencl_has_done(const weir__opencl_device *device, bool lags) {
  for (uint32_t i = 0; i < device->base.queue_count; i++) {
    const weir__operation *operation = awaited(&device->base.in_flight[i], lags);
    if (operation != NULL && status_of(device, operation) <= CL_COMPLETE) return true;
  }
  return false;
}

void weir__opencl_ask_to_ring(weir__opencl_device *device, bool lags) {
  for (uint32_t i = 0; i < device->base.queue_count; i++) {
    weir__operation *head = awaited(&device->base.in_flight[i], lags);
    weir__opencl_operation *operation = head == NULL ? NULL : weir__opencl_operation_of(head);
    if (operation == NULL || operation->has_callback || operation->event == NULL) continue;
    operation->has_callback = true;
    weir__opencl_listen(device, operation->event);
  }
}

// Whether the driver says so: an answer that it refuses says nothing.
static bool has_ended(const weir__opencl_device *device, cl_event event) {
  cl_int status;
  return ask(device, event, &status) == CL_SUCCESS && status <= CL_COMPLETE;
}

// Puts a marker behind all that is in each queue. False: not yet.
static bool mark_ends(weir__opencl_device *device) {
  const weir__opencl_waits none = {.count = 0};
  for (uint32_t i = 0; i < device->base.queue_count; i++) {
    weir__opencl_queue *queue = &device->queues[i];
    if (queue->end != NULL) continue;
    if (weir__opencl_enqueue_marker(device, i, &none, &queue->end) != CL_SUCCESS) {
      queue->end = NULL;
      return false;
    }
    queue->unflushed = true;
  }
  return true;
}

static bool all_ended(weir__opencl_device *device) {
  const weir__in_order_device *base = &device->base;
  if (device->unseen && !mark_ends(device)) return false;
  weir__opencl_flush(device);
  for (uint32_t i = 0; i < base->queue_count; i++) {
    if (!has_ended(device, device->queues[i].end)) return false;
    for (const weir__operation *operation = base->in_flight[i].first; operation != NULL; operation = operation->next) {
      if (!has_ended(device, ((const weir__opencl_operation *)(const void *)operation)->event)) return false;
    }
  }
  return true;
}

void weir__opencl_lose(weir__in_order_device *base, uint32_t trouble, char text[WEIR__MESSAGE_BYTES]) {
  char result[64];
  snprintf(text, WEIR__MESSAGE_BYTES, "%s (with %u tasks in flight)",
           weir__opencl_result_text((cl_int)trouble, result, sizeof result), base->operation_count);
}

// What still runs may write to memory that others will get: it is given time to end.
void weir__opencl_drain(weir__in_order_device *base) {
  weir__opencl_device *device = weir__opencl_of_in_order(base);
  uint64_t start = weir__clock_ns();
  const struct timespec nap = {.tv_nsec = 200000};
  bool ended = all_ended(device);
  while (!ended && weir__clock_ns() - start < LAST_WAIT_NS) {
    nanosleep(&nap, NULL);
    ended = all_ended(device);
  }
  if (!ended) device->stuck = true;
  for (uint32_t i = 0; i < base->queue_count; i++) {
    if (ended && device->queues[i].end != NULL) device->driver->clReleaseEvent(device->queues[i].end);
    if (ended) device->queues[i].end = NULL;
  }
}

void weir__opencl_await(weir__in_order_device *base) {
  weir__opencl_device *device = weir__opencl_of_in_order(base);
  const weir__operation *first = NULL;
  weir__opencl_flush(device);
  for (uint32_t i = 0; i < base->queue_count && first == NULL; i++) first = base->in_flight[i].first;
  if (first == NULL) return;
  const weir__opencl_operation *operation = (const weir__opencl_operation *)(const void *)first;
  if (operation->event != NULL && device->driver->clWaitForEvents(1, &operation->event) != CL_SUCCESS)
    sched_yield(); // its status says why
}
