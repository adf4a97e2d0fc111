// SPDX-License-Identifier: Apache-2.0
//
// From the ring back to tasks: what the card has done is reported.
#include "device/cuda/resident/resident.h"

// The lock is held.
static void report(weir__cuda_device *device, weir__resident_flight *flight, weir__completion *completion) {
  weir__host *host = device->base.device.host;
  weir__task *task = flight->task;
  flight->used = false;
  if (flight->first != 0 && device->resident->timed) weir__resident_note_start(device, flight);
  if (task == NULL) return;
  completion->lane = device->queue_count;
  if (completion->status == WEIR_OK) {
    host->statistics.resident += task->move == NULL;
    host->statistics.resident_moves += task->move != NULL;
    if (host->trace != NULL) weir__resident_time(device, flight, completion);
    // It ran, but on what a task that could not be launched should have written.
    if (task->reads_poison && weir__host_skip_status(host, task) != WEIR_OK)
      completion->status = WEIR_ERROR_UPSTREAM_FAILED;
  }
  weir__resident_ended(device, task->id);
  weir__host_complete(host, task, completion);
}

void weir__resident_report(weir__cuda_device *device) {
  weir__resident *resident = device->resident;
  weir__host *host = device->base.device.host;
  uint32_t numbers[WEIR__RESIDENT_REPORTS];
  uint32_t count = weir__resident_fetch(resident, numbers);
  for (uint32_t i = 0; i < count; i++) // who submits has written there
    __builtin_prefetch(resident->flight[numbers[i] % WEIR__R_SLOTS].task);
  resident->quiet = 0;
  resident->stuck = false;
  weir__host_lock(host);
  for (uint32_t i = 0; i < count; i++) {
    weir__completion completion = {.status = WEIR_OK};
    report(device, &resident->flight[numbers[i] % WEIR__R_SLOTS], &completion);
  }
  weir__host_completed(host);
  weir__host_unlock(host);
}

bool weir__resident_poll(weir__cuda_device *device) {
  if (!weir__resident_has_report(device->resident)) {
    weir__resident_watch(device);
    return false;
  }
  if (!weir__in_order_may_report(&device->base)) return false;
  weir__resident_report(device);
  return true;
}

bool weir__resident_fail_all(weir__cuda_device *device) {
  weir__resident *resident = device->resident;
  weir__host *host = device->base.device.host;
  weir__resident_stop(device);
  resident->stuck = false;
  if (resident->in_flight == 0) return false;
  weir__host_lock(host);
  for (uint32_t i = 1; i <= WEIR__R_SLOTS; i++) { // oldest first
    weir__resident_flight *flight = &resident->flight[(resident->written + i) % WEIR__R_SLOTS];
    if (!flight->used) continue;
    weir__completion completion = {.status = device->base.lost, .message = device->base.lost_text};
    report(device, flight, &completion);
  }
  resident->in_flight = 0;
  weir__host_completed(host);
  weir__host_unlock(host);
  return true;
}
