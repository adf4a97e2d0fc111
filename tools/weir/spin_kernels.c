// SPDX-License-Identifier: Apache-2.0
//
// The spin kernel (spin.h) for a resident kernel on a CUDA device, which calls it for a work-group at a time. Other devices spin by
// themselves.
#include <weir/kernel.h>

#if WEIR_ON_CUDA
static __device__ uint64_t ticks_now() {
#ifdef WEIR__SPIN_CLOCK64
  return (uint64_t)clock64();
#else
  uint64_t now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
#endif
}
static __device__ void leave_room() {
#if __CUDA_ARCH__ >= 700
  __nanosleep(20); // as in spin.c
#endif
}
#define SPIN(ticks)                                                                                                    \
  for (uint64_t start = ticks_now(); ticks_now() - start < (ticks);) leave_room()
#else
#define SPIN(ticks) (void)(ticks)
#endif

// Local memory, so that launches on queues have no more than 8 work-groups on a multiprocessor (WEIR__SPIN_WORKERS).
#define EIGHTH (25 << 10)

WEIR_KERNEL(spin_group, 128, 1, 1, (WEIR_SCALAR(uint64_t, ticks))) {
  WEIR_LOCAL volatile char eighth[EIGHTH];
  if (ticks == ~(uint64_t)0) eighth[0] = 1, (void)eighth[0];
  WEIR_FOR_EACH_ITEM_NOWAIT {
    SPIN(ticks);
  }
}
