// SPDX-License-Identifier: Apache-2.0
//
// Launches of the resident kernel: it is on the card while there is something for it to do.
#include <stdio.h>

#include "device/cuda/resident/resident.h"

// Whether some launches of a published task have run, though not its last one.
static bool has_begun(const weir__resident *resident, const weir__resident_flight *last) {
  const weir__resident_flight *first = &resident->flight[last->first_number % WEIR__R_SLOTS];
  return !first->used || first->number != last->first_number;
}

// A published task goes to a queue; one that has begun cannot begin again, and fails.
static void take_back(weir__cuda_device *device, const weir__resident_flight *flight, CUresult result) {
  weir__resident *resident = device->resident;
  weir__resident_slot *slot = weir__resident_slot_of(device, flight->task->id);
  if (!has_begun(resident, flight)) {
    slot->state = WEIR__RESIDENT_HELD;
    resident->deferred++;
    weir__resident_append(device, &resident->again, (uint32_t)(slot - resident->slots) + 1);
    return;
  }
  weir__completion completion = {.status = weir__cuda_status(result), .message = resident->refused};
  weir__host_lock(device->base.device.host);
  completion.start_ns = completion.end_ns = slot->since_ns;
  weir__resident_ended(device, flight->task->id);
  weir__host_complete(device->base.device.host, flight->task, &completion);
  weir__host_completed(device->base.device.host);
  weir__host_unlock(device->base.device.host);
}

// The kernel cannot be launched, though the device is well: what was published and has not run goes to queues, and all later tasks.
static void give_up(weir__cuda_device *device, CUresult result) {
  weir__resident *resident = device->resident;
  char text[160];
  while (weir__resident_has_report(resident)) weir__resident_report(device); // what has run must not run again
  weir__cuda_result_text(device->driver, result, text, sizeof text);
  weir__lock_acquire(&resident->lock);
  snprintf(resident->refused, sizeof resident->refused, "the resident kernel could not be launched: %s", text);
  resident->given_up = true;
  weir__lock_release(&resident->lock);
  for (uint32_t i = 1; i <= WEIR__R_SLOTS; i++) { // oldest first
    const weir__resident_flight *flight = &resident->flight[(resident->written + i) % WEIR__R_SLOTS];
    if (flight->used && flight->task != NULL) take_back(device, flight, result);
  }
  for (uint32_t i = 0; i < WEIR__R_SLOTS; i++) resident->flight[i].used = false;
  resident->in_flight = 0;
  resident->stuck = false;
}

void weir__resident_ensure_running(weir__cuda_device *device) {
  weir__resident *resident = device->resident;
  if (resident->running || resident->in_flight == 0 || !weir__in_order_is_well(&device->base)) return;
  if (++resident->epoch == 0) resident->epoch = 1;
  void *parameters[] = {&resident->card, &resident->host, &resident->epoch, &resident->idle_ns, &resident->most_ns};
  CUresult result =
      device->driver->cuLaunchKernel(resident->module.entry, weir__resident_blocks(resident), 1, 1,
                                     resident->module.threads, 1, 1, 0, resident->stream, parameters, NULL);
  if (result == CUDA_SUCCESS) {
    resident->running = resident->launched = true;
    resident->quiet = 0;
    if (resident->timed && !resident->clock_known) weir__resident_set_clock(device);
  } else if (weir__cuda_is_sticky(result)) {
    weir__cuda_trouble(device, result);
  } else {
    give_up(device, result);
  }
}
