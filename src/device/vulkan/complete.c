// SPDX-License-Identifier: Apache-2.0
//
// From lanes back to tasks: what is done is noticed by the lanes' semaphores, a batch at a time, and reported.
#include <stdio.h>

#include "base/clock.h"
#include "device/graph.h"
#include "device/vulkan/open_task.h"
#include "device/vulkan/vulkan.h"

enum { LOOK_NS = 1000000 }; // how often who waits for the device looks whether the host has copied

uint64_t weir__vulkan_ticks_ns(const weir__vulkan_device *device, uint64_t ticks) {
  uint64_t passed = (ticks - device->base_ticks) & device->ticks_mask;
  if (passed > device->ticks_mask / 2) passed = 0; // another queue's clock, a little behind
  double ns = (double)passed * (double)device->facts.properties.limits.timestampPeriod;
  return device->base_ns + (uint64_t)ns;
}

// Two timestamps. False: there are none.
static bool read_times(weir__vulkan_device *device, const weir__vulkan_op *op, uint64_t *out_start, uint64_t *out_end) {
  const weir__vulkan_batch *batch = op->batch;
  const weir__vulkan_opened *opened = weir__vulkan_opened_of(op->head.task);
  VkQueryPool queries = opened != NULL ? opened->queries : batch->queries;
  bool marked =
      opened != NULL ? queries != VK_NULL_HANDLE && op->head.status == WEIR_OK : op->query != WEIR__VULKAN_NO_QUERY;
  uint64_t ticks[2];
  if (device->lanes[op->head.place->queue].queue == NULL) {
    *out_start = batch->start_ns;
    *out_end = batch->end_ns;
    return true;
  }
  if (!marked ||
      device->calls.vkGetQueryPoolResults(device->device, queries, opened != NULL ? 0 : op->query, 2, sizeof ticks,
                                          ticks, sizeof ticks[0], VK_QUERY_RESULT_64_BIT) != VK_SUCCESS)
    return false;
  *out_start = weir__vulkan_ticks_ns(device, ticks[0]);
  *out_end = weir__vulkan_ticks_ns(device, ticks[1]);
  return true;
}

uint32_t weir__vulkan_row(weir__vulkan_device *device, uint32_t lane, uint64_t start_ns, uint64_t end_ns) {
  uint32_t best = lane;
  for (uint32_t i = 0; i <= WEIR__VULKAN_TRACE_LANES; i++) {
    uint32_t row = i == 0 ? lane : device->lane_count + i - 1;
    if (device->lane_ends[row] < device->lane_ends[best]) best = row;
    if (device->lane_ends[row] > start_ns) continue;
    best = row;
    break;
  }
  device->lane_ends[best] = end_ns;
  return best;
}

// Times for the timeline. A start is read when the queue comes to the command, which may be before what a barrier waits for
// is done: what comes after a barrier does not start before the ends of what came before.
static void find_times(weir__vulkan_device *device, const weir__vulkan_op *op, weir__completion *completion) {
  weir__host *host = device->base.device.host;
  weir__vulkan_lane *lane = &device->lanes[op->head.place->queue];
  const weir__trace_task *record = weir__trace_find(host->trace, op->head.task->id);
  uint64_t start = 0, end = 0;
  if (op->epoch != lane->reported_epoch) {
    lane->floor_ns = lane->last_end_ns;
    lane->reported_epoch = op->epoch;
  }
  if (!read_times(device, op, &start, &end)) start = end = lane->floor_ns;
  if (record != NULL && start < record->submit_ns) start = record->submit_ns;
  if (start < lane->floor_ns) start = lane->floor_ns;
  if (end < start) end = start;
  if (end > lane->last_end_ns) lane->last_end_ns = end;
  completion->start_ns = start;
  completion->end_ns = end;
  completion->lane = weir__vulkan_row(device, op->head.place->queue, start, end);
}

static void keep_staging(weir__vulkan_device *device, weir__vulkan_chunk *chunk) {
  if (device->idle_staging != NULL && device->idle_staging->bytes >= chunk->bytes) {
    weir__vulkan_chunk_destroy(&device->memory, chunk);
    return;
  }
  if (device->idle_staging != NULL) weir__vulkan_chunk_destroy(&device->memory, device->idle_staging);
  device->idle_staging = chunk;
}

void weir__vulkan_finish(weir__in_order_device *base, weir__operation *operation) {
  if (operation->task != NULL && operation->task->run != NULL && operation->status == WEIR_OK)
    weir__vulkan_finish_run(weir__vulkan_of(&base->device), weir__vulkan_op_of(operation));
}

void weir__vulkan_report(weir__in_order_device *base, weir__operation *operation, weir__completion *completion) {
  weir__vulkan_device *device = weir__vulkan_of(&base->device);
  weir__vulkan_op *op = weir__vulkan_op_of(operation);
  if (completion != NULL && base->device.host->trace != NULL) find_times(device, op, completion);
  if (completion != NULL && operation->task->run != NULL) weir__vulkan_report_run(device, op, completion);
  if (op->staging != NULL) keep_staging(device, op->staging);
  device->lanes[operation->place->queue].ops_in_flight--;
}

void weir__vulkan_give_reported(weir__vulkan_device *device) {
  for (uint32_t i = 0; i < device->lane_count; i++) {
    weir__vulkan_lane *lane = &device->lanes[i];
    while (lane->first != NULL) {
      weir__vulkan_batch *batch = lane->first;
      weir__operation *next = device->base.in_flight[i].first;
      if (next != NULL && weir__vulkan_op_of(next)->batch->value <= batch->value) break;
      lane->first = batch->next;
      if (lane->first == NULL) lane->last = NULL;
      device->batches_in_flight--;
      weir__vulkan_give_batch(device, lane, batch);
    }
  }
}

static void look_at(weir__vulkan_device *device, weir__vulkan_lane *lane) {
  if (lane->first == NULL || lane->queue == NULL) return;
  uint64_t value;
  VkResult result = device->calls.vkGetSemaphoreCounterValue(device->device, lane->semaphore, &value);
  // So says Mesa's dozen, on Direct3D 12, of a device that was removed.
  if (result == VK_SUCCESS && value > lane->value) result = VK_ERROR_DEVICE_LOST;
  if (result == VK_SUCCESS)
    lane->reached = value;
  else
    weir__vulkan_trouble(device, result);
}

// Whether reports of the lane read timestamps, which may wait for all that was submitted (Mesa's lavapipe does so whatever it
// is asked), and something submitted waits for copies that this thread has yet to hand over or to announce.
static bool must_not_report(weir__vulkan_device *device, const weir__vulkan_lane *lane) {
  const weir__vulkan_lane *host = weir__vulkan_host_lane(device);
  if (host->last == NULL || host->reached >= host->last->value) return false;
  for (const weir__vulkan_batch *batch = lane->first; batch != NULL && batch->value <= lane->reached;
       batch = batch->next) {
    if (batch->queries != VK_NULL_HANDLE || batch->graph_timed) return true;
  }
  return false;
}

void weir__vulkan_look(weir__in_order_device *base) {
  weir__vulkan_device *device = weir__vulkan_of(&base->device);
  weir__vulkan_give_reported(device);
  for (uint32_t i = 0; i < device->lane_count; i++) look_at(device, &device->lanes[i]);
  weir__vulkan_copier_serve(device);
}

weir__operation *weir__vulkan_last_done(weir__in_order_device *base, uint32_t queue) {
  weir__vulkan_device *device = weir__vulkan_of(&base->device);
  const weir__vulkan_lane *lane = &device->lanes[queue];
  weir__vulkan_op *done = NULL;
  if (lane->first == NULL || lane->reached < lane->first->value || must_not_report(device, lane) ||
      !weir__in_order_is_well(base))
    return NULL;
  for (weir__vulkan_batch *batch = lane->first; batch != NULL && batch->value <= lane->reached; batch = batch->next)
    done = batch->last;
  return &done->head;
}

void weir__vulkan_wait_any(weir__vulkan_device *device, uint64_t ns) {
  VkSemaphore semaphores[WEIR__VULKAN_MOST_LANES];
  uint64_t values[WEIR__VULKAN_MOST_LANES];
  uint32_t count = 0;
  if (weir__vulkan_is_in_trouble(device)) return; // what was not submitted does not end
  for (uint32_t i = 0; i + 1 < device->lane_count; i++) {
    if (device->lanes[i].first == NULL) continue;
    semaphores[count] = device->lanes[i].semaphore;
    values[count++] = device->lanes[i].first->value;
  }
  const weir__vulkan_lane *host = weir__vulkan_host_lane(device);
  if (count == 0 && host->first != NULL) {
    if (host->reached >= host->first->value) return; // it can be reported
    uint32_t seen = atomic_load_explicit(&device->copies_word, memory_order_acquire);
    if (atomic_load_explicit(&device->copies_done, memory_order_acquire) == host->reached)
      weir__sleep_on(&device->copies_word, seen, ns);
    return;
  }
  if (count == 0) return;
  if (host->first != NULL && ns > LOOK_NS) ns = LOOK_NS;
  const VkSemaphoreWaitInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
                                    .flags = VK_SEMAPHORE_WAIT_ANY_BIT,
                                    .semaphoreCount = count,
                                    .pSemaphores = semaphores,
                                    .pValues = values};
  VkResult result = device->calls.vkWaitSemaphores(device->device, &info, ns);
  if (result != VK_SUCCESS && result != VK_TIMEOUT) weir__vulkan_trouble(device, result);
}

void weir__vulkan_lose(weir__in_order_device *base, uint32_t trouble, char text[WEIR__MESSAGE_BYTES]) {
  weir__vulkan_device *device = weir__vulkan_of(&base->device);
  device->memory.lost = true;
  snprintf(text, WEIR__MESSAGE_BYTES, "%s (with %u tasks in flight)",
           weir__vulkan_result_name((VkResult) - (int32_t)trouble), base->operation_count);
}

// Nothing runs on a device that is dead; one that was given up for another reason must come to its end, also where it waits for
// copies that the host will not make any more.
void weir__vulkan_drain(weir__in_order_device *base) {
  weir__vulkan_device *device = weir__vulkan_of(&base->device);
  weir__vulkan_submit_all(device);
  weir__vulkan_copier_give_up(device);
  weir__vulkan_wait_idle(device);
}

void weir__vulkan_await(weir__in_order_device *base) {
  weir__vulkan_device *device = weir__vulkan_of(&base->device);
  weir__vulkan_submit_all(device);
  weir__vulkan_copier_serve(device); // of what was open until now nobody else will
  weir__vulkan_wait_any(device, UINT64_MAX);
}
