// SPDX-License-Identifier: Apache-2.0
//
// From tasks to operations in queues.
#include <stdio.h>
#include <string.h>

#include "device/open.h"
#include "issue/in_order.h"

void weir__in_order_append(weir__in_order_device *device, weir__operation *operation) {
  weir__operation_list_append(&device->in_flight[operation->place->queue], operation);
  device->operation_count++;
  if (operation->task != NULL) weir__operations_set(&device->operations, operation->task->id, operation);
}

void weir__in_order_mark_failing(weir__in_order_device *device, weir__task *task) {
  weir__host *host = device->device.host;
  weir__host_lock(host);
  weir__window_mark_failing(&host->window, task);
  weir__host_unlock(host);
  atomic_store_explicit(&device->has_failing, true, memory_order_relaxed);
}

void weir__in_order_refuse(weir__in_order_device *device, weir__operation *operation, weir_status status,
                           const char *what, const char *text) {
  operation->status = status == WEIR_OK || status == WEIR_PENDING ? WEIR_ERROR_TASK_FAILED : status;
  snprintf(operation->message, WEIR__MESSAGE_BYTES, "%s: %s", what, text);
  if (operation->task != NULL && status != WEIR_ERROR_DEVICE_LOST) weir__in_order_mark_failing(device, operation->task);
}

// Whether the task runs, as far as is known before its predecessors are done.
static void decide(weir__in_order_device *device, weir__operation *operation) {
  weir__task *task = operation->task;
  if (device->lost != WEIR_OK) {
    operation->status = device->lost;
    memcpy(operation->message, device->lost_text, WEIR__MESSAGE_BYTES);
    return;
  }
  if (weir__task_fence(task) != NULL && weir__task_fence(task)->always) return;
  if (weir__task_open(task) != NULL && weir__task_open(task)->begun) return; // its work may run already
  operation->status = weir__host_skip_status(device->device.host, task);
  if (operation->status == WEIR_OK) return;
  operation->message[0] = '\0';
  if (weir__in_order_is_missed(operation)) weir__in_order_mark_failing(device, task);
}

// What went wrong while an open task was open, unless there is a reason before that.
static void decide_open(weir__in_order_device *device, weir__operation *operation, const weir__open *open) {
  bool says_more = operation->status == WEIR_OK || open->status == WEIR_ERROR_DEVICE_LOST;
  if (says_more && open->status != WEIR_OK)
    weir__in_order_refuse(device, operation, open->status, "open task", open->text);
}

void weir__in_order_fail(weir__in_order_device *device, weir__operation *operation, weir__task *task) {
  weir__open *open = weir__task_open(task);
  weir__in_order_drain(device);
  if (open != NULL && open->begun && device->device.ops->opens->await != NULL)
    device->device.ops->opens->await(&device->device, open);
  if (weir__task_fence(task) != NULL) weir__in_order_fence_destroy(device, weir__task_fence(task));
  weir__host_fail_unissued(device->device.host, task, device->lost, device->lost_text);
  if (operation == NULL) return;
  if (operation->task != NULL && device->table->discard != NULL) device->table->discard(device, operation);
  if (operation->place != NULL) weir__queues_done(device->queues, operation->place);
  weir__operations_give(&device->operations, operation);
}

weir__operation *weir__in_order_issue(weir__in_order_device *device, weir__task *task) {
  weir__operation *operation = weir__operations_take(&device->operations);
  uint32_t count = 0;
  bool found = operation != NULL &&
               weir__operations_find_predecessors(&device->operations, &device->device.host->window, task, &count);
  if (found) {
    operation->task = task;
    decide(device, operation);
    if (weir__task_open(task) != NULL) decide_open(device, operation, weir__task_open(task));
  }
  if (found && device->table->enqueue(device, operation, count)) return operation;
  weir__in_order_fail(device, operation, task);
  return NULL;
}
