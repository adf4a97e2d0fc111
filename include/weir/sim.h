// SPDX-License-Identifier: Apache-2.0
//
// Kernels of simulated devices (docs/guide/sim.md): how long a kernel takes, in virtual time.
#ifndef WEIR_SIM_H
#define WEIR_SIM_H

#include "weir/weir.h"

#ifdef __cplusplus
extern "C" {
#endif

// One launch of a simulated kernel: its blocks, what each block needs, and the duration of the launch when it has the
// device to itself.
typedef struct weir_sim_launch {
  const char *name;      // for timelines; may be NULL; copied
  uint64_t blocks;       // number of blocks; 0: one for each work-group of the task
  uint32_t threads;      // threads of a block
  uint32_t registers;    // registers of a thread
  uint32_t shared_bytes; // shared memory of a block
  double us;             // duration in microseconds
  uint64_t copy_bytes;   // not 0: the launch is a copy or memset of this many bytes, and has no blocks
  double group_us;       // additional microseconds for each work-group of the task
  uint64_t reserved[2];  // 0
} weir_sim_launch;

// Gives a kernel its code for simulated devices: `count` launches that run one after another. The launches are copied.
// If the kernel has code for the CPU, too, a simulated device runs that code for its effect, at the virtual time at
// which the launches end.
// Errors: INVALID_ARGUMENT (no launches; a duration or a number of threads or registers out of its range; tasks in
// flight that use the kernel's code for simulated devices), OUT_OF_MEMORY.
WEIR_API weir_status weir_kernel_set_sim(weir_kernel *kernel, const weir_sim_launch *launches, uint32_t count);

#ifdef __cplusplus
}
#endif
#endif // WEIR_SIM_H
