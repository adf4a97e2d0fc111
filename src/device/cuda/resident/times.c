// SPDX-License-Identifier: Apache-2.0
//
// Times of tasks that the resident kernel ran, for timelines.
#include "device/cuda/resident/resident.h"

static uint64_t to_host(const weir__resident *resident, uint64_t card_ns) {
  return resident->host_ns + card_ns - resident->card_ns;
}

void weir__resident_note_start(weir__cuda_device *device, const weir__resident_flight *flight) {
  weir__resident_slot *slot = weir__resident_slot_of(device, flight->first);
  if (slot->id == flight->first)
    slot->start_ns = device->resident->host->times[flight->number % WEIR__R_SLOTS].start_ns;
}

// Whether the task is put on the card's clock. Tasks are reported in any order, and the clock may become known between two of
// them: as soon as one had to do without, so do all that went to the card before it, among which are those it comes after.
static bool has_clock(weir__resident *resident, const weir__resident_slot *slot) {
  if (resident->clock_known && slot->since_ns > resident->unknown_ns) return true;
  if (slot->since_ns > resident->unknown_ns) resident->unknown_ns = slot->since_ns;
  return false;
}

void weir__resident_time(weir__cuda_device *device, const weir__resident_flight *flight, weir__completion *completion) {
  weir__resident *resident = device->resident;
  const weir__resident_slot *slot = weir__resident_slot_of(device, flight->task->id);
  const weir__r_times *times = resident->host->times;
  // The first launch may be reported later than the last one.
  uint64_t card_start = slot->start_ns != 0 ? slot->start_ns : times[flight->first_number % WEIR__R_SLOTS].start_ns;
  uint64_t card_end = times[flight->number % WEIR__R_SLOTS].end_ns;
  // Without the card's clock it takes no time, when it went there: so it is not later than any that comes after it.
  bool known = has_clock(resident, slot);
  uint64_t start = known ? to_host(resident, card_start) : slot->since_ns;
  uint64_t end = known ? to_host(resident, card_end) : slot->since_ns;
  completion->start_ns = start < slot->since_ns ? slot->since_ns : start;
  completion->end_ns = end < completion->start_ns ? completion->start_ns : end;
  completion->lane = weir__cuda_choose_lane(device, completion->start_ns, completion->end_ns);
}
