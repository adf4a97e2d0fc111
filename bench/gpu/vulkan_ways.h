// SPDX-License-Identifier: Apache-2.0
//
// What `--ways` measures, a section a letter.
#ifndef WEIR_BENCH_GPU_VULKAN_WAYS_H
#define WEIR_BENCH_GPU_VULKAN_WAYS_H

#include "vulkan.h"
#include "vulkan_rows.h"

enum { VULKAN_MOST_RUNS = 1000 };

void vulkan_ways_record(void);    // a: recording
void vulkan_ways_submit(void);    // a: submitting, and learning that it is done
void vulkan_ways_execute(void);   // b: dispatches and barriers
void vulkan_ways_events(void);    // c: split barriers
void vulkan_ways_queues(void);    // d, e: queues beside each other
void vulkan_ways_hops(void);      // d: dependences between queues
void vulkan_ways_clocks(void);    // f: clocks to spin by
void vulkan_ways_occupancy(void); // g: groups and kernels that run at once
void vulkan_ways_copies(void);    // h: copies and memories
void vulkan_ways_first(void);     // i: what is slow the first time. To be called before all others

// Takes `options.runs` samples after one that does not count.
gpu_stat vulkan_sample(double (*once)(void *argument), void *argument);

// Submits the commands on the first queue of their family; the result in microseconds from submission until seen.
gpu_stat vulkan_sample_run(const vulkan_commands *commands);

// Microseconds that a command buffer with nothing but an empty dispatch takes on the family, measured once.
double vulkan_empty_us(const vulkan_family *family);

static inline gpu_stat vulkan_scaled(gpu_stat stat, double subtract, double factor) {
  return (gpu_stat){(stat.median - subtract) * factor, (stat.low - subtract) * factor, (stat.high - subtract) * factor};
}

#endif // WEIR_BENCH_GPU_VULKAN_WAYS_H
