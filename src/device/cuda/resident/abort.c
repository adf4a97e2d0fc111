// SPDX-License-Identifier: Apache-2.0
//
// A caller gives up what the resident kernel runs. Nothing on the card ends one block of a kernel, so the kernel faults: all that is
// left to do is what is done for any other fault.
//
// DESIGN. Two words, which any thread may write at any time, also while the device's thread waits in a call of the driver's. One is
// the host's for the scheduler: the launch that is on the card faults, or the next one does. The other is the device's trouble: its
// thread loses the device at its next look and launches nothing more. A launch that it was about to make sees the first one, and one
// that leaves just now has nothing in flight. So the thread can wait for the kernel's stream, whatever comes first.
#include "weir/cuda.h"

#include "base/error.h"
#include "device/cuda/resident/resident.h"

weir_status weir_cuda_abort(weir_device *base) {
  weir_status status = weir__cuda_check(base, "abort");
  if (status != WEIR_OK) return status;
  weir__cuda_device *device = weir__cuda_of(base);
  if (base->host->issue != WEIR_ISSUE_RESIDENT)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "abort: %s has no resident kernel (WEIR_ISSUE_RESIDENT)",
                       base->name);
  weir__r_host_store_release(&device->resident->host->abort, 1);
  weir__cuda_trouble(device, CUDA_ERROR_LAUNCH_FAILED);
  weir__inbox_ring(&weir__in_order_of(base)->inbox);
  return WEIR_OK;
}
