// SPDX-License-Identifier: Apache-2.0
//
// Rounds of the device's thread: takes tasks, defers them or has them recorded, notices what is done.
#include "base/clock.h"
#include "device/vulkan/vulkan.h"

enum {
  BATCHES_AHEAD = 2,  // in flight: with fewer, what is deferred is issued
  BLOCKED_NS = 50000, // how long the thread waits for the device before it looks for tasks
};

static bool take_tasks(weir__vulkan_device *device) {
  uint64_t count = weir__inbox_count(&device->base.inbox);
  for (uint64_t i = 0; i < count && weir__vulkan_deferred_count(device) < WEIR__VULKAN_DEFERRED_AT_MOST; i++)
    weir__vulkan_defer(device, weir__inbox_take(&device->base.inbox));
  if (count > 0) device->base.taken_ns = weir__clock_ns();
  return count > 0;
}

// What is deferred goes when the device has little left to do, when somebody waits, or when it has become much. For tests
// also at random.
static bool must_issue(weir__vulkan_device *device) {
  if (weir__vulkan_deferred_count(device) == 0) return false;
  if (device->batches_in_flight < BATCHES_AHEAD || weir__vulkan_deferred_count(device) >= WEIR__VULKAN_DEFERRED_AT_MOST)
    return true;
  if (device->random != 0) {
    device->random = device->random * 6364136223846793005u + 1442695040888963407u;
    if (device->random >> 62 == 0) return true;
  }
  return weir__inbox_take_flush(&device->base.inbox);
}

bool weir__vulkan_work(weir__in_order_device *base) {
  weir__vulkan_device *device = weir__vulkan_of(&base->device);
  bool any = take_tasks(device), well = weir__in_order_is_well(base);
  if (must_issue(device) || (!well && weir__vulkan_deferred_count(device) > 0)) {
    weir__vulkan_issue_deferred(device);
    any = true;
  }
  if (well ? weir__in_order_poll(base, true) : weir__in_order_report_lost(base)) any = true;
  weir__vulkan_give_reported(device);
  return weir__in_order_serve_fences(base) || any;
}

bool weir__vulkan_rest(weir__in_order_device *base) {
  weir__vulkan_device *device = weir__vulkan_of(&base->device);
  if (base->operation_count > 0)
    weir__vulkan_wait_any(device, BLOCKED_NS);
  else if (weir__fences_any(&base->fences))
    weir__vulkan_await_fences(device, BLOCKED_NS);
  else
    return false;
  return true;
}

bool weir__vulkan_may_sleep(weir__in_order_device *base, uint64_t *out_ns) {
  (void)out_ns;
  return !weir__fences_any(&base->fences);
}
