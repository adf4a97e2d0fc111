// SPDX-License-Identifier: Apache-2.0
//
// The kernel that stands for a recorded one: each block spins for a time.
#ifndef WEIR_BENCH_GPU_SPIN_H
#define WEIR_BENCH_GPU_SPIN_H

#include "driver.h"

typedef struct gpu_spin {
  void *function;
  double ticks_per_us;     // of the clock that the function reads
  double globaltimer_step; // nanoseconds
  const char *clock;
} gpu_spin;

// A launch of it: one block's time, and where block 0 stores when it started and ended (0: nowhere).
typedef struct gpu_spin_launch {
  unsigned blocks, threads, shared_bytes;
  uint64_t ticks, start, end;
} gpu_spin_launch;

extern gpu_spin spin;

// Loads the kernel, finds the clock to use and checks it. Needs gpu_open().
void gpu_spin_open(void);

static inline uint64_t gpu_spin_ticks(double us) {
  return us > 0 ? (uint64_t)(us * spin.ticks_per_us) : 0;
}

void gpu_spin_put(void *stream, const gpu_spin_launch *launch);

// Fills in `node` to launch; `parameters` must live as long as it is used.
void gpu_spin_node(const gpu_spin_launch *launch, void *parameters[3], gpu_kernel_node *out_node);

// Memory that host and device see, zeroed, and its address on the device.
uint64_t *gpu_shared_words(size_t count, uint64_t *out_address);

#endif // WEIR_BENCH_GPU_SPIN_H
