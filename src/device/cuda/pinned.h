// SPDX-License-Identifier: Apache-2.0
//
// Host memory that Weir has pinned, for itself and by weir_host_allocate(), on all devices of the process: so that most copies
// need not ask the driver what memory they are about. Any thread.
#ifndef WEIR_DEVICE_CUDA_PINNED_H
#define WEIR_DEVICE_CUDA_PINNED_H

#include "device/cuda/cuda_device.h"

// Notes memory that a device has pinned. Without memory for that it does not, and the driver is asked of it each time.
void weir__cuda_pinned_add(const weir__cuda_device *device, const void *memory, uint64_t bytes);

// Forgets memory, before it is freed; and all of a device.
void weir__cuda_pinned_remove(const void *memory);
void weir__cuda_pinned_forget(const weir__cuda_device *device);

// Whether all of these bytes are known to be pinned. False says nothing. Takes no lock unless ranges come or go just now.
bool weir__cuda_pinned_covers(const void *memory, uint64_t bytes);

#endif // WEIR_DEVICE_CUDA_PINNED_H
