// SPDX-License-Identifier: Apache-2.0
//
// The resident kernel as an issue path. With `automatic` the device has none at first.
#include "device/cuda/resident/automatic.h"
#include "device/cuda/resident/resident.h"

static void take(weir__cuda_device *device, weir__task *task) {
  weir__resident_take(device, task, true);
}

static void begin_round(weir__cuda_device *device, bool any) {
  (void)any;
  if (device->automatic != NULL) weir__resident_adopt(device);
}

static bool poll(weir__cuda_device *device, bool all) {
  (void)all;
  return device->resident != NULL && weir__resident_poll(device);
}

static bool go_on(weir__cuda_device *device) {
  return device->resident != NULL && weir__resident_go_on(device);
}

static bool fail_all(weir__cuda_device *device) {
  return device->resident != NULL && weir__resident_fail_all(device);
}

static bool is_busy(const weir__cuda_device *device) {
  return device->resident != NULL && weir__resident_is_busy(device);
}

// Where the caller cannot know which tasks are here. Else it has to wait for them itself.
static bool bars_streams(const weir__cuda_device *device) {
  return device->automatic != NULL && is_busy(device);
}

static bool rest(weir__cuda_device *device) {
  return device->resident != NULL && weir__resident_link_ahead(device);
}

static void stop(weir__cuda_device *device) {
  if (device->resident != NULL) weir__resident_stop(device);
}

const weir__cuda_path weir__cuda_resident_path = {.take = take,
                                                  .begin_round = begin_round,
                                                  .poll = poll,
                                                  .go_on = go_on,
                                                  .fail_all = fail_all,
                                                  .is_busy = is_busy,
                                                  .bars_streams = bars_streams,
                                                  .rest = rest,
                                                  .stop = stop};
