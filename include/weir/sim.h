// SPDX-License-Identifier: Apache-2.0
//
// Kernels for simulated devices (docs/guide/sim.md): how long a kernel takes, in virtual time.
#ifndef WEIR_SIM_H
#define WEIR_SIM_H

#include "weir/weir.h"

#ifdef __cplusplus
extern "C" {
#endif

// One launch of a simulated kernel: how many blocks, what each needs, and how long the launch takes when it has the
// device to itself.
typedef struct weir_sim_launch {
  const char *name;      // for timelines; may be NULL; copied
  uint64_t blocks;       // 0: one per work-group of the task
  uint32_t threads;      // per block
  uint32_t registers;    // per thread
  uint32_t shared_bytes; // per block
  double us;             // microseconds
  uint64_t copy_bytes;   // not 0: a copy or memset of this many bytes; blocks, threads, ... do not count
  double group_us;       // microseconds more for each work-group of the task
  uint64_t reserved[2];  // 0
} weir_sim_launch;

// Gives a kernel its code for simulated devices: launches that run one after another. If the kernel has code for the
// CPU too, a simulated device runs that for its effect, at the (virtual) time when the launches end.
// The launches are copied.
WEIR_API weir_status weir_kernel_set_sim(weir_kernel *kernel, const weir_sim_launch *launches, uint32_t count);

#ifdef __cplusplus
}
#endif
#endif // WEIR_SIM_H
