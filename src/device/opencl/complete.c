// SPDX-License-Identifier: Apache-2.0
//
// From queues back to tasks: what is done is noticed by the status of events, and reported for as many tasks at once as possible.
// A command that failed has ended for its dependents, too, in whatever way the driver chose: the device is lost.
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/allocate.h"
#include "base/clock.h"
#include "device/graph.h"
#include "device/opencl/opencl.h"

enum { LAG = 48 };                               // tasks of a queue
static const uint64_t LAST_WAIT_NS = 5000000000; // for commands of a lost device

static uint64_t at_least(uint64_t ns, uint64_t least) {
  return ns < least ? least : ns;
}

static void report(weir__opencl_device *device, weir__opencl_op *op) {
  weir__host *host = device->base.host;
  weir__task *task = op->task;
  weir__completion completion = {.status = op->status, .message = op->message, .lane = op->place->queue};
  if (task->run != NULL && op->status != WEIR_OK) weir__graph_run_fail(task->run);
  // It ran, but on what a task that could not be launched should have written.
  if (task->run == NULL && op->status == WEIR_OK && task->reads_poison && weir__host_skip_status(host, task) != WEIR_OK)
    completion.status = WEIR_ERROR_UPSTREAM_FAILED;
  if (task->run != NULL && op->status == WEIR_OK)
    completion.status = weir__graph_run_status(task->run, &completion.message);
  if (host->trace != NULL) {
    const weir__trace_task *record = weir__trace_find(host->trace, task->id);
    op->start_ns = at_least(op->start_ns, record != NULL ? record->submit_ns : 0);
    op->end_ns = at_least(op->end_ns, op->start_ns);
    if (task->run != NULL && op->status == WEIR_OK) weir__opencl_trace_run(device, op);
  }
  completion.start_ns = op->start_ns;
  completion.end_ns = op->end_ns;
  weir__opencl_release_nodes(device, op);
  device->slot_ops[task->id & host->window.live.mask] = NULL;
  weir__free(task->fence);
  weir__host_complete(host, task, &completion);
  weir__queues_done(device->queues, op->place);
  op->next = device->free_ops;
  device->free_ops = op;
  device->ops_in_flight--;
}

// What needs no lock, and takes time.
static void finish(weir__opencl_device *device, weir__opencl_op *op) {
  bool traces = device->base.host->trace != NULL;
  if (op->task->run != NULL && op->status == WEIR_OK) weir__opencl_finish_run(device, op);
  if (traces && op->event != NULL) {
    weir__opencl_event_times(device, op->event, &op->start_ns, &op->end_ns);
    if (op->task->run != NULL && op->nodes != NULL) { // the event is that of the marker behind the nodes
      uint64_t end_ns = 0;
      op->start_ns = 0;
      for (uint32_t i = 0; i < op->task->run->plan->node_count; i++) {
        if (op->nodes[i].event == NULL) continue;
        uint64_t start_ns = 0;
        weir__opencl_event_times(device, op->nodes[i].event, &start_ns, &end_ns);
        if (op->start_ns == 0 || start_ns < op->start_ns) op->start_ns = start_ns;
      }
    }
  }
  if (!traces) weir__opencl_release_nodes(device, op);
  if (op->event != NULL) device->driver->clReleaseEvent(op->event);
  op->event = NULL;
}

static void report_up_to(weir__opencl_device *device, weir__opencl_queue *queue, const weir__opencl_op *last) {
  weir__host *host = device->base.host;
  for (weir__opencl_op *op = queue->first; op != last->next; op = op->next) finish(device, op);
  weir__host_lock(host);
  bool more = true;
  while (more) {
    weir__opencl_op *op = queue->first;
    more = op != last;
    queue->first = op->next;
    if (queue->first == NULL) queue->last = NULL;
    report(device, op);
  }
  weir__host_completed(host);
  weir__host_unlock(host);
}

// CL_COMPLETE, a number above it: not yet, or one below: it failed.
static cl_int status_of(const weir__opencl_device *device, const weir__opencl_op *op) {
  cl_int status = CL_COMPLETE;
  if (op->event == NULL) return CL_COMPLETE;
  cl_int result =
      device->driver->clGetEventInfo(op->event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL);
  return result == CL_SUCCESS ? status : result;
}

static bool poll_queue(weir__opencl_device *device, weir__opencl_queue *queue) {
  const weir__opencl_op *done = NULL;
  for (const weir__opencl_op *op = queue->first; op != NULL; op = op->next) {
    cl_int status = status_of(device, op);
    if (status < CL_COMPLETE) device->trouble = status;
    if (status != CL_COMPLETE) break;
    done = op;
  }
  if (done == NULL) return false;
  report_up_to(device, queue, done);
  return true;
}

// What the thread waits for in a queue; if it lags, the first that the host may wait for, or one much later. NULL: nothing is in
// flight there.
static weir__opencl_op *awaited(const weir__opencl_queue *queue, bool lags) {
  weir__opencl_op *op = queue->first;
  for (int i = 0; lags && op != NULL && op->next != NULL && !op->awaited && i < LAG; i++) op = op->next;
  return op;
}

bool weir__opencl_has_done(const weir__opencl_device *device, bool lags) {
  for (uint32_t i = 0; i < device->queue_count; i++) {
    const weir__opencl_op *op = awaited(&device->queues_in_flight[i], lags);
    if (op != NULL && status_of(device, op) <= CL_COMPLETE) return true;
  }
  return false;
}

static void drop_bell(weir__opencl_bell *bell) {
  if (atomic_fetch_sub_explicit(&bell->references, 1, memory_order_acq_rel) == 1) weir__free(bell);
}

static void ring(cl_event event, cl_int status, void *user) {
  (void)event;
  (void)status;
  weir__opencl_bell *bell = user;
  if (atomic_exchange_explicit(&bell->sleeping, 0, memory_order_seq_cst) == 1) weir__wake(&bell->sleeping, 1);
  drop_bell(bell);
}

void weir__opencl_ask_to_ring(weir__opencl_device *device, bool lags) {
  for (uint32_t i = 0; i < device->queue_count; i++) {
    weir__opencl_op *op = awaited(&device->queues_in_flight[i], lags);
    if (op == NULL || op->rings || op->event == NULL) continue;
    op->rings = true;
    atomic_fetch_add_explicit(&device->bell->references, 1, memory_order_relaxed);
    if (device->driver->clSetEventCallback(op->event, CL_COMPLETE, ring, device->bell) != CL_SUCCESS)
      drop_bell(device->bell);
  }
}

static bool all_ended(const weir__opencl_device *device) {
  for (uint32_t i = 0; i < device->queue_count; i++) {
    for (const weir__opencl_op *op = device->queues_in_flight[i].first; op != NULL; op = op->next) {
      if (status_of(device, op) > CL_COMPLETE) return false;
    }
  }
  return true;
}

static void lose(weir__opencl_device *device) {
  char text[64];
  weir__opencl_result_text(device->trouble, text, sizeof text);
  device->lost = WEIR_ERROR_DEVICE_LOST;
  weir__host_lock(device->base.host);
  device->base.lost = true;
  weir__host_unlock(device->base.host);
  snprintf(device->lost_text, sizeof device->lost_text, "the device is lost: %s (with %u tasks in flight)", text,
           device->ops_in_flight);
}

// Everything that is in flight fails. What still runs may write to memory that others will get: it is given time to end.
static void fail_all(weir__opencl_device *device) {
  uint64_t start = weir__clock_ns();
  const struct timespec nap = {.tv_nsec = 200000};
  while (!all_ended(device) && weir__clock_ns() - start < LAST_WAIT_NS) nanosleep(&nap, NULL);
  device->stuck = device->stuck || !all_ended(device);
  for (uint32_t i = 0; i < device->queue_count; i++) {
    weir__opencl_queue *queue = &device->queues_in_flight[i];
    for (weir__opencl_op *op = queue->first; op != NULL; op = op->next) {
      if (op->status != WEIR_OK) continue;
      op->status = device->lost;
      memcpy(op->message, device->lost_text, sizeof op->message);
    }
    if (queue->first != NULL) report_up_to(device, queue, queue->last);
  }
}

bool weir__opencl_poll(weir__opencl_device *device) {
  bool any = false;
  for (uint32_t i = 0; i < device->queue_count && device->trouble == CL_SUCCESS; i++)
    any = poll_queue(device, &device->queues_in_flight[i]) || any;
  if (device->trouble == CL_SUCCESS) return any;
  if (device->lost == WEIR_OK) lose(device);
  if (device->ops_in_flight == 0) return any;
  fail_all(device);
  return true;
}

void weir__opencl_drain(weir__opencl_device *device) {
  weir__opencl_flush(device);
  while (device->ops_in_flight > 0) {
    if (weir__opencl_poll(device)) continue;
    const weir__opencl_op *first = NULL;
    for (uint32_t i = 0; i < device->queue_count && first == NULL; i++) first = device->queues_in_flight[i].first;
    if (first != NULL && first->event != NULL && device->driver->clWaitForEvents(1, &first->event) != CL_SUCCESS)
      sched_yield(); // its status says why
  }
}

void weir__opencl_fail_now(weir__opencl_device *device, weir__task *task) {
  weir__opencl_drain(device);
  weir__free(task->fence);
  weir__host_fail_unissued(device->base.host, task, device->lost, device->lost_text);
}
