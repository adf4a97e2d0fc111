// SPDX-License-Identifier: Apache-2.0
//
// Kernels that spin for a time on a Vulkan device: the clocks of the device, and pipelines by shape.
#ifndef WEIR_BENCH_GPU_VULKAN_SPIN_H
#define WEIR_BENCH_GPU_VULKAN_SPIN_H

#include "vulkan.h"

typedef enum vulkan_clock { VULKAN_REALTIME, VULKAN_SUBGROUP } vulkan_clock;

typedef struct vulkan_spin_facts {
  double ticks_per_us[2];      // of each clock; the device's, as the host sees it
  double step_ticks, step_low; // of the device's clock: mean and shortest step that a shader sees
  vulkan_clock clock;          // the one to spin by: the device's unless it is coarser than a step of 100 ns
} vulkan_spin_facts;

extern vulkan_spin_facts vulkan_spin;

// Measures the clocks; takes about a fifth of a second.
void vulkan_spin_open(void);

// A pipeline of `threads` threads a group and so much shared memory (a multiple of 4; 0: 4). One for each shape and clock;
// they live until vulkan_close().
VkPipeline vulkan_spin_pipeline(vulkan_clock clock, uint32_t threads, uint32_t shared_bytes);

// Records a grid of groups that spin for `us` on the pipeline that is bound.
void vulkan_spin_put(VkCommandBuffer commands, vulkan_clock clock, const uint32_t groups[3], double us);

#endif // WEIR_BENCH_GPU_VULKAN_SPIN_H
