// SPDX-License-Identifier: Apache-2.0
//
// The kernel that is on the card: whether it has left, that it is to leave, and its clock.
#include "base/clock.h"
#include "device/cuda/resident/resident.h"

enum { POLLS_PER_QUERY = 1024, MOST_WAIT_NS = 20000000, ROUNDS_PER_CLOCK = 64 };

static bool has_left(const weir__resident *resident) {
  return weir__r_host_load_acquire(&resident->host->gone) == resident->epoch;
}

void weir__resident_watch(weir__cuda_device *device) {
  weir__resident *resident = device->resident;
  if (!resident->running) return;
  if (has_left(resident)) {
    resident->running = false;
    return;
  }
  if (resident->in_flight == 0 || ++resident->quiet % POLLS_PER_QUERY != 0) return;
  CUresult result = device->driver->cuStreamQuery(resident->stream);
  if (result == CUDA_SUCCESS && !has_left(resident)) result = CUDA_ERROR_LAUNCH_FAILED;
  if (weir__cuda_is_sticky(result)) weir__cuda_trouble(device, result);
}

void weir__resident_make_room(weir__resident *resident) {
  if (resident->running) weir__r_host_store_release(&resident->host->stop, resident->epoch);
}

void weir__resident_stop(weir__cuda_device *device) {
  weir__resident *resident = device->resident;
  if (!resident->launched) return;
  weir__resident_make_room(resident);
  CUresult result = device->driver->cuStreamSynchronize(resident->stream);
  if (weir__cuda_is_sticky(result)) weir__cuda_trouble(device, result);
  resident->running = resident->launched = false;
}

static uint64_t now_ns(const weir__cuda_device *device) {
  return weir__clock_ns() - device->base.device.host->start_ns;
}

void weir__resident_set_clock(weir__cuda_device *device) {
  weir__resident *resident = device->resident;
  weir__r_host *host = resident->host;
  uint32_t ask = host->ask + 1;
  // The clock is read first: no end of a task is later than the time at which it is noticed.
  uint64_t asked_ns = now_ns(device);
  weir__r_host_store_release(&host->ask, ask);
  for (uint32_t round = 1; weir__r_host_load_acquire(&host->answer) != ask; round++) {
    weir__pause();
    if (round % ROUNDS_PER_CLOCK != 0) continue;
    weir__resident_watch(device);
    bool goes_on =
        resident->running && weir__in_order_is_well(&device->base) && now_ns(device) - asked_ns < MOST_WAIT_NS;
    if (!goes_on) return;
  }
  resident->card_ns = host->answer_ns;
  resident->host_ns = asked_ns;
  resident->clock_known = true;
}
