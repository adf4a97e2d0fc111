// SPDX-License-Identifier: Apache-2.0
//
// The shape in which a kernel that spins stands for a recorded one on a Vulkan device.
//
// As on CUDA (spin.h) a recorded kernel becomes a dispatch of groups that spin for max(0, time - 1.3 us) / waves, and each
// block takes the part of a multiprocessor that it took when it was recorded. Where the recorded threads alone give the
// recorded number B of blocks per multiprocessor, those do. Else shared memory sets it: not that of the whole
// multiprocessor, of which a Vulkan driver gives kernels only a part. On an H200 groups of 48 to 4 KiB fitted 1 to 11 times, as
// if there were 54 KiB (9/8 of the most that a group may have), and each group took 1 KiB more than it asked for. So a group
// gets (54 KiB / B - 1 KiB), at most the device's limit. For B up to 6 that was measured to give B; above that it may be one more.
// A copy or memset is 8 groups of 256 threads. The constants are those of the cards that streams were recorded on; other
// devices are given the same dispatches.
#ifndef WEIR_TOOLS_WEIR_SPIN_VULKAN_H
#define WEIR_TOOLS_WEIR_SPIN_VULKAN_H

#include "stream/stream.h"

// VkPhysicalDeviceLimits: maxComputeSharedMemorySize, maxComputeWorkGroupInvocations (at most [0] of
// maxComputeWorkGroupSize), maxComputeWorkGroupCount[0].
typedef struct weir__spin_vulkan_limits {
  uint32_t shared_bytes, threads, groups_x;
} weir__spin_vulkan_limits;

typedef struct weir__spin_vulkan_dispatch {
  uint32_t groups[3]; // of vkCmdDispatch. The product is the number of groups, or up to groups[1] - 1 more where that
                      // does not fit one dimension
  uint32_t threads;   // local size in x
  uint32_t shared_bytes; // a multiple of 128
  double us;             // per group
} weir__spin_vulkan_dispatch;

// `sms`: of the recorded device, for the number of waves.
void weir__spin_vulkan_shape(const weir__stream_kernel *kernel, uint32_t sms, const weir__spin_vulkan_limits *limits,
                             weir__spin_vulkan_dispatch *out_dispatch);

#endif // WEIR_TOOLS_WEIR_SPIN_VULKAN_H
