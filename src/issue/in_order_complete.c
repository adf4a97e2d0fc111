// SPDX-License-Identifier: Apache-2.0
//
// From queues back to tasks: reports, for as many tasks at once as possible, and the loss of a device.
#include <stdio.h>
#include <string.h>

#include "base/allocate.h"
#include "base/clock.h"
#include "device/graph.h"
#include "issue/in_order.h"

enum {
  BETWEEN_REPORTS_NS = 10000, // while tasks come in,
  IF_AWAITED_NS = 2000,       // and if somebody waits
  QUIET_NS = 6000,            // none was taken for so long: none come in
};

void weir__in_order_fence_destroy(weir__in_order_device *device, weir__external_fence *fence) {
  if (device->table->fence_destroy != NULL)
    device->table->fence_destroy(device, fence);
  else
    weir__free(fence);
}

static void destroy_fence(void *device, weir__external_fence *fence) {
  weir__in_order_fence_destroy(device, fence);
}

bool weir__in_order_serve_fences(weir__in_order_device *device) {
  if (!weir__fences_any(&device->fences)) return false;
  return weir__fences_serve(&device->fences, device->device.host, device->table->fence_is_over, destroy_fence, device);
}

void weir__in_order_forget_fences(weir__in_order_device *device) {
  weir__fences_forget(&device->fences, destroy_fence, device);
}

static weir__completion complete(weir__in_order_device *device, const weir__operation *operation) {
  const weir__task *task = operation->task;
  weir__completion completion = {.status = operation->status, .lane = operation->place->queue};
  if (operation->status != WEIR_OK) {
    completion.message = operation->message;
    if (task->run != NULL) weir__graph_run_fail(task->run);
  } else if (task->run != NULL) {
    completion.status = weir__graph_run_status(task->run, &completion.message);
  } else if (task->reads_poison && weir__host_skip_status(device->device.host, task) != WEIR_OK) {
    // It ran, but on what a task that could not be launched should have written.
    completion.status = WEIR_ERROR_UPSTREAM_FAILED;
  }
  return completion;
}

// Takes an operation out of the books, which its queue has done already. The lock is held.
static void report(weir__in_order_device *device, weir__operation *operation) {
  weir__task *task = operation->task;
  if (task != NULL) {
    weir__completion completion = complete(device, operation);
    device->table->report(device, operation, &completion);
    weir__operations_set(&device->operations, task->id, NULL);
    if (weir__task_fence(task) != NULL) weir__in_order_fence_destroy(device, weir__task_fence(task));
    weir__host_complete(device->device.host, task, &completion);
  } else {
    device->table->report(device, operation, NULL);
  }
  weir__queues_done(device->queues, operation->place);
  weir__operations_give(&device->operations, operation);
  device->operation_count--;
}

void weir__in_order_report_up_to(weir__in_order_device *device, uint32_t queue, const weir__operation *last) {
  weir__host *host = device->device.host;
  weir__operation_list *list = &device->in_flight[queue];
  for (weir__operation *operation = list->first; operation != last->next; operation = operation->next) {
    __builtin_prefetch(operation->task); // who submits has written there
    device->table->finish(device, operation);
  }
  weir__host_lock(host);
  for (bool more = true; more;) {
    weir__operation *operation = weir__operation_list_pop(list);
    more = operation != last;
    report(device, operation);
  }
  weir__host_completed(host);
  weir__host_unlock(host);
}

bool weir__in_order_may_report(weir__in_order_device *device) {
  if (!weir__may_spin()) return true;
  uint64_t now = weir__clock_ns(), between = BETWEEN_REPORTS_NS;
  if (weir__host_is_awaited(device->device.host)) between = IF_AWAITED_NS;
  if (now - device->taken_ns < QUIET_NS && now - device->reported_ns < between) return false;
  device->reported_ns = now;
  return true;
}

bool weir__in_order_poll(weir__in_order_device *device, bool all) {
  bool any = false, may = false;
  if (device->table->look != NULL) device->table->look(device);
  for (uint32_t i = 0; i < (all ? device->queue_count : 1); i++) {
    uint32_t queue = device->next_polled;
    device->next_polled = queue + 1 < device->queue_count ? queue + 1 : 0;
    if (device->in_flight[queue].first == NULL) continue;
    const weir__operation *last = device->table->last_done(device, queue);
    if (last == NULL) continue;
    may = may || weir__in_order_may_report(device);
    if (!may) return false;
    weir__in_order_report_up_to(device, queue, last);
    any = true;
  }
  return any;
}

void weir__in_order_lose(weir__in_order_device *device, uint32_t trouble) {
  char text[WEIR__MESSAGE_BYTES];
  weir__host_lock(device->device.host);
  device->device.lost = true;
  device->table->lose(device, trouble, text);
  weir__host_unlock(device->device.host);
  device->lost = WEIR_ERROR_DEVICE_LOST;
  snprintf(device->lost_text, sizeof device->lost_text, "the device is lost: %.*s",
           (int)(sizeof device->lost_text - sizeof "the device is lost: "), text);
}

bool weir__in_order_report_lost(weir__in_order_device *device) {
  if (device->lost == WEIR_OK || device->operation_count == 0) return false;
  device->table->drain(device);
  for (uint32_t i = 0; i < device->queue_count; i++) {
    weir__operation_list *list = &device->in_flight[i];
    for (weir__operation *operation = list->first; operation != NULL; operation = operation->next) {
      if (operation->status != WEIR_OK) continue;
      operation->status = device->lost;
      memcpy(operation->message, device->lost_text, WEIR__MESSAGE_BYTES);
    }
    if (list->first != NULL) weir__in_order_report_up_to(device, i, list->last);
  }
  return true;
}

void weir__in_order_drain(weir__in_order_device *device) {
  while (device->operation_count > 0 && weir__in_order_is_well(device)) {
    if (!weir__in_order_poll(device, true)) device->table->await(device);
  }
  weir__in_order_report_lost(device);
}

void weir__in_order_drain_queue(weir__in_order_device *device, uint32_t queue) {
  while (device->in_flight[queue].first != NULL && weir__in_order_is_well(device)) {
    if (!weir__in_order_poll(device, true)) device->table->await(device);
  }
  weir__in_order_report_lost(device);
}

static uint64_t at_least(uint64_t ns, uint64_t least) {
  return ns < least ? least : ns;
}

void weir__in_order_set_times(const weir__in_order_device *device, const weir__task *task, uint64_t start_ns,
                              uint64_t end_ns, weir__completion *completion) {
  const weir__trace_task *record = weir__trace_find(device->device.host->trace, task->id);
  completion->start_ns = at_least(start_ns, record != NULL ? record->submit_ns : 0);
  completion->end_ns = at_least(end_ns, completion->start_ns);
}
