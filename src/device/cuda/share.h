// SPDX-License-Identifier: Apache-2.0
//
// Memory and streams that are shared with other CUDA code.
#ifndef WEIR_DEVICE_CUDA_SHARE_H
#define WEIR_DEVICE_CUDA_SHARE_H

#include "device/cuda/api.h"
#include "device/fence.h"
#include "device/host.h"

typedef struct weir__cuda_device weir__cuda_device;

// A point in work of the caller's: all later tasks wait for it, on the card; or an import.
typedef struct weir__cuda_fence {
  weir__external_fence head;
  CUevent event; // NULL: a marker
  bool borrowed; // the event is the caller's
  bool reported; // its task is
} weir__cuda_fence;

// Records what the stream has now. Sets weir_last_error() on failure.
weir_status weir__cuda_fence_create(weir__cuda_device *device, void *stream, weir__cuda_fence **out_fence);
void weir__cuda_fence_destroy(weir__cuda_device *device, weir__cuda_fence *fence);

// An import of an event of the caller's. `*out_fence` NULL and OK: it is done already. Sets weir_last_error() on
// failure.
weir_status weir__cuda_fence_borrow(weir__cuda_device *device, void *event, weir__cuda_fence **out_fence);
// weir__device_ops.marker.
weir__external_fence *weir__cuda_marker(weir_device *device);
// weir__in_order_table.fence_is_over, of imports.
bool weir__cuda_fence_is_over(void *device, weir__external_fence *fence);

// Pinned memory of the host, and freeing it.
weir_status weir__cuda_host_allocate(weir_device *base, uint64_t bytes, void **out_memory);
void weir__cuda_host_free(weir_device *base, void *memory);

// Refuses a range that is not in one allocation of the device's.
weir_status weir__cuda_wrap(weir__cuda_device *device, uint64_t pointer, uint64_t bytes);

// Lets a stream of the caller's wait for a task that was handed over, or with 0 for all that were.
weir_status weir__cuda_let_stream_wait(weir__cuda_device *device, void *stream, weir__id task);
// The same for several tasks; none: nothing is done.
weir_status weir__cuda_let_stream_wait_for(weir__cuda_device *device, void *stream, const weir__id *tasks,
                                           uint32_t count);
// Or for an import.
weir_status weir__cuda_let_stream_wait_for_fence(const weir__cuda_device *device, void *stream,
                                                 const weir__cuda_fence *fence);

#endif // WEIR_DEVICE_CUDA_SHARE_H
