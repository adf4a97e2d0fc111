// SPDX-License-Identifier: Apache-2.0
//
// How a device is lost: any thread notices, the device's thread acts.
#include <stdio.h>

#include "device/cuda/resident/resident.h"

void weir__cuda_trouble(weir__cuda_device *device, CUresult result) {
  uint32_t none = 0;
  atomic_compare_exchange_strong_explicit(&device->trouble, &none, (uint32_t)result, memory_order_acq_rel,
                                          memory_order_relaxed);
}

static void lose(weir__cuda_device *device, CUresult result) {
  char text[160] = "weir_cuda_abort was called";
  bool aborted = device->resident != NULL && weir__resident_is_aborted(device->resident);
  if (!aborted) weir__cuda_result_text(device->driver, result, text, sizeof text);
  device->lost = WEIR_ERROR_DEVICE_LOST;
  weir__host_lock(device->base.host);
  device->base.lost = true;
  weir__host_unlock(device->base.host);
  uint32_t in_flight = device->ops_in_flight + (device->resident != NULL ? device->resident->in_flight : 0);
  snprintf(device->lost_text, sizeof device->lost_text, "the device is lost: %s (with %u launches in flight)", text,
           in_flight);
}

bool weir__cuda_is_well(weir__cuda_device *device) {
  uint32_t trouble = atomic_load_explicit(&device->trouble, memory_order_acquire);
  if (trouble != 0 && device->lost == WEIR_OK) lose(device, (CUresult)trouble);
  return device->lost == WEIR_OK;
}
