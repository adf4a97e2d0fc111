// SPDX-License-Identifier: Apache-2.0
//
// Whether queues of one family run beside each other. Vulkan does not say: on some cards the queues of a family that draws
// take turns, so that kernels on two of them take longer than on one. It is measured once for a device and driver, and the
// answer kept on disk (base/disk_cache.h).
#ifndef WEIR_DEVICE_VULKAN_OVERLAP_H
#define WEIR_DEVICE_VULKAN_OVERLAP_H

#include "device/vulkan/vulkan.h"

// Runs a chain of short kernels on two queues of the family, first on one alone and then on both at once. `*out_overlaps`:
// both take about as long as one. The device has its memory and pipelines, and nothing is in flight.
weir_status weir__vulkan_find_overlap(weir__vulkan_device *device, weir__vulkan_queue *first,
                                      weir__vulkan_queue *second, bool *out_overlaps);

#endif // WEIR_DEVICE_VULKAN_OVERLAP_H
