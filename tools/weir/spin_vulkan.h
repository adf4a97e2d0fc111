// SPDX-License-Identifier: Apache-2.0
//
// The shape in which a kernel that spins stands for a recorded one on a Vulkan device.
//
// As on CUDA (spin.h) a recorded kernel becomes a dispatch of groups that spin for max(0, time - 1.3 us) / waves, and each
// block takes the part of a multiprocessor that it took when it was recorded. There that part is set by shared memory. A
// Vulkan group may have 48 KiB of it at most, too little for 1 to 4 blocks per multiprocessor. So, in this order:
// - where the recorded threads alone give the recorded number B of blocks per multiprocessor: those threads;
// - where (227 KiB / B - 1 KiB) of shared memory is within the device's limit: the recorded threads and that memory;
// - else 2048 / B threads, in whole warps of 32, which is all that matters to a kernel that spins: 1024 for B = 2, 672 for
//   3, 512 for 4;
// - where that is over the device's limit, each block becomes several groups that share its part: 2 of 1024 for B = 1.
// A device that offers less shared memory than 32 KiB gets a number within a third of B in the third and fourth case.
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
  uint32_t shared_bytes;   // a multiple of 128
  uint32_t groups_a_block; // 1 but for the last case
  double us;               // per group
} weir__spin_vulkan_dispatch;

// `sms`: of the recorded device, for the number of waves.
void weir__spin_vulkan_shape(const weir__stream_kernel *kernel, uint32_t sms, const weir__spin_vulkan_limits *limits,
                             weir__spin_vulkan_dispatch *out_dispatch);

#endif // WEIR_TOOLS_WEIR_SPIN_VULKAN_H
