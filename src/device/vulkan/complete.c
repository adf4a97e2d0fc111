// SPDX-License-Identifier: Apache-2.0
//
// From lanes back to tasks: what is done is noticed by the lanes' semaphores, a batch at a time, and reported.
#include <stdio.h>
#include <string.h>

#include "base/allocate.h"
#include "base/clock.h"
#include "device/graph.h"
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
  uint64_t ticks[2];
  if (device->lanes[op->place->queue].queue == NULL) {
    *out_start = batch->start_ns;
    *out_end = batch->end_ns;
    return true;
  }
  if (op->query == WEIR__VULKAN_NO_QUERY ||
      device->calls.vkGetQueryPoolResults(device->device, batch->queries, op->query, 2, sizeof ticks, ticks,
                                          sizeof ticks[0], VK_QUERY_RESULT_64_BIT) != VK_SUCCESS)
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
  weir__host *host = device->base.host;
  weir__vulkan_lane *lane = &device->lanes[op->place->queue];
  const weir__trace_task *record = weir__trace_find(host->trace, op->task->id);
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
  completion->lane = weir__vulkan_row(device, op->place->queue, start, end);
}

static void report_task(weir__vulkan_device *device, weir__vulkan_op *op) {
  weir__host *host = device->base.host;
  weir__completion completion = {.status = op->status, .message = op->message, .lane = op->place->queue};
  // It ran, but on what a task that could not be recorded should have written.
  if (op->task->run == NULL && op->status == WEIR_OK && op->task->reads_poison &&
      weir__host_skip_status(host, op->task) != WEIR_OK)
    completion.status = WEIR_ERROR_UPSTREAM_FAILED;
  if (host->trace != NULL) find_times(device, op, &completion);
  if (op->task->run != NULL) weir__vulkan_report_run(device, op, &completion);
  device->slot_ops[op->task->id & host->window.live.mask] = NULL;
  weir__free(op->task->fence);
  weir__host_complete(host, op->task, &completion);
}

static void keep_staging(weir__vulkan_device *device, weir__vulkan_chunk *chunk) {
  if (device->idle_staging != NULL && device->idle_staging->bytes >= chunk->bytes) {
    weir__vulkan_chunk_destroy(&device->memory, chunk);
    return;
  }
  if (device->idle_staging != NULL) weir__vulkan_chunk_destroy(&device->memory, device->idle_staging);
  device->idle_staging = chunk;
}

// Takes the ops of a batch out of the books. The lock is held.
static void report_batch(weir__vulkan_device *device, weir__vulkan_lane *lane, weir__vulkan_batch *batch) {
  for (weir__vulkan_op *op = batch->first, *next; op != NULL; op = next) {
    next = op->next;
    if (op->task != NULL) report_task(device, op);
    if (op->staging != NULL) keep_staging(device, op->staging);
    weir__queues_done(device->places, op->place);
    weir__vulkan_free_op(device, op);
    lane->ops_in_flight--;
    device->ops_in_flight--;
  }
  lane->batches_in_flight--;
  device->batches_in_flight--;
}

// Reports the batches of a lane up to the one with this value.
static void report_up_to(weir__vulkan_device *device, weir__vulkan_lane *lane, uint64_t value) {
  weir__host *host = device->base.host;
  weir__vulkan_batch *done = NULL;
  for (const weir__vulkan_batch *batch = lane->first; batch != NULL && batch->value <= value; batch = batch->next) {
    for (const weir__vulkan_op *op = batch->first; op != NULL; op = op->next)
      if (op->task != NULL && op->task->run != NULL && op->status == WEIR_OK) weir__vulkan_finish_run(device, op);
  }
  weir__host_lock(host);
  while (lane->first != NULL && lane->first->value <= value) {
    weir__vulkan_batch *batch = lane->first;
    lane->first = batch->next;
    if (lane->first == NULL) lane->last = NULL;
    report_batch(device, lane, batch);
    batch->next = done;
    done = batch;
  }
  weir__host_completed(host);
  weir__host_unlock(host);
  while (done != NULL) {
    weir__vulkan_batch *batch = done;
    done = batch->next;
    weir__vulkan_give_batch(device, lane, batch);
  }
}

static void look_at(weir__vulkan_device *device, weir__vulkan_lane *lane) {
  if (lane->first == NULL || lane->queue == NULL) return;
  VkResult result = device->calls.vkGetSemaphoreCounterValue(device->device, lane->semaphore, &lane->reached);
  if (result != VK_SUCCESS) weir__vulkan_trouble(device, result);
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

bool weir__vulkan_poll(weir__vulkan_device *device) {
  bool any = false;
  for (uint32_t i = 0; i < device->lane_count; i++) look_at(device, &device->lanes[i]);
  weir__vulkan_copier_serve(device);
  if (!weir__vulkan_is_well(device)) return false;
  for (uint32_t i = 0; i < device->lane_count; i++) {
    weir__vulkan_lane *lane = &device->lanes[i];
    if (lane->first == NULL || lane->reached < lane->first->value || must_not_report(device, lane)) continue;
    report_up_to(device, lane, lane->reached);
    any = true;
  }
  return any;
}

void weir__vulkan_wait_any(weir__vulkan_device *device, uint64_t ns) {
  VkSemaphore semaphores[WEIR__VULKAN_MOST_LANES];
  uint64_t values[WEIR__VULKAN_MOST_LANES];
  uint32_t count = 0;
  for (uint32_t i = 0; i + 1 < device->lane_count; i++) {
    if (device->lanes[i].first == NULL) continue;
    semaphores[count] = device->lanes[i].semaphore;
    values[count++] = device->lanes[i].first->value;
  }
  const weir__vulkan_lane *host = weir__vulkan_host_lane(device);
  if (count == 0 && host->first != NULL) {
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

void weir__vulkan_trouble(weir__vulkan_device *device, VkResult result) {
  uint32_t none = 0;
  atomic_compare_exchange_strong_explicit(&device->trouble, &none, (uint32_t)-result, memory_order_acq_rel,
                                          memory_order_relaxed);
}

static void lose(weir__vulkan_device *device, VkResult result) {
  device->lost = WEIR_ERROR_DEVICE_LOST;
  weir__host_lock(device->base.host);
  device->base.lost = true;
  device->memory.lost = true;
  weir__host_unlock(device->base.host);
  snprintf(device->lost_text, sizeof device->lost_text, "the device is lost: %s (with %u tasks in flight)",
           weir__vulkan_result_name(result), device->ops_in_flight);
}

bool weir__vulkan_is_well(weir__vulkan_device *device) {
  uint32_t trouble = atomic_load_explicit(&device->trouble, memory_order_acquire);
  if (trouble != 0 && device->lost == WEIR_OK) lose(device, (VkResult) - (int32_t)trouble);
  return device->lost == WEIR_OK;
}

bool weir__vulkan_report_lost(weir__vulkan_device *device) {
  if (device->lost == WEIR_OK || device->ops_in_flight == 0) return false;
  weir__vulkan_submit_all(device);
  // Nothing runs on a device that is dead; one that was given up for another reason must come to its end, also where it waits
  // for copies that the host will not make any more.
  weir__vulkan_copier_give_up(device);
  weir__vulkan_wait_idle(device);
  for (uint32_t i = 0; i < device->lane_count; i++) {
    weir__vulkan_lane *lane = &device->lanes[i];
    for (weir__vulkan_batch *batch = lane->first; batch != NULL; batch = batch->next) {
      for (weir__vulkan_op *op = batch->first; op != NULL; op = op->next) {
        if (op->status != WEIR_OK) continue;
        op->status = device->lost;
        memcpy(op->message, device->lost_text, sizeof op->message);
      }
    }
    if (lane->first != NULL) report_up_to(device, lane, UINT64_MAX);
  }
  return true;
}

void weir__vulkan_drain(weir__vulkan_device *device) {
  weir__vulkan_submit_all(device);
  while (device->ops_in_flight > 0 && weir__vulkan_is_well(device)) {
    if (!weir__vulkan_poll(device)) weir__vulkan_wait_any(device, UINT64_MAX);
  }
  weir__vulkan_report_lost(device);
}

void weir__vulkan_fail_now(weir__vulkan_device *device, weir__task *task) {
  weir__vulkan_drain(device);
  weir__free(task->fence);
  weir__host_fail_unissued(device->base.host, task, device->lost, device->lost_text);
}
