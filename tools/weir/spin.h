// SPDX-License-Identifier: Apache-2.0
//
// The kernel that stands for a recorded one on a CUDA device: it occupies what the recorded kernel did, and spins.
//
// A recorded kernel becomes a launch with its grid and block, and with dynamic shared memory so that as many of its
// blocks fit a multiprocessor as of the recorded kernel (see weir__stream_cost; none where its threads alone give that
// number). Each block spins for max(0, time - 1.3 us) / waves; 1.3 us is about what an empty kernel records. A copy or
// memset is 8 blocks of 256 threads. Waves are those of the recorded device: its number of multiprocessors is that in
// the header of the stream.
#ifndef WEIR_TOOLS_WEIR_SPIN_H
#define WEIR_TOOLS_WEIR_SPIN_H

#include "stream/stream.h"

#define WEIR__SPIN_EMPTY_US 1.3

// CUDA C++ with two functions.
//
// spin(ticks): every thread polls a clock until `ticks` of it have passed: %globaltimer, nanoseconds, or with
// -DWEIR__SPIN_CLOCK64 the clock of the multiprocessor. From compute capability 7.0 on it sleeps for some 20 ns between two looks:
// where 32 warps of a multiprocessor do nothing but look, a block that comes later does not begin before one of them ends.
//
// spin_measure(out), one thread: out[0] is the step of %globaltimer in nanoseconds, out[1] the ticks of the
// multiprocessor's clock in a millisecond. Takes a quarter of a second if the step is coarse, else microseconds, and
// out[1] is 0.
extern const char weir__spin_source[];

enum { WEIR__SPIN_COARSE_NS = 64 }; // a %globaltimer whose step is longer is of no use to spin by

typedef struct weir__spin_launch {
  uint32_t grid[3], block[3];
  uint32_t shared_bytes;
  double us; // per block
} weir__spin_launch;

void weir__spin_shape(const weir__stream_kernel *kernel, uint32_t sms, weir__spin_launch *out_launch);

// As a kernel written with weir/kernel.h, which a resident kernel can run, whose workers are the same for all kernels: spin_group
// (spin_kernels.c), of 128 threads, of which WEIR__SPIN_WORKERS work-groups fit a multiprocessor, on queues as well. A recorded
// block that takes the nth part of a multiprocessor becomes WEIR__SPIN_WORKERS / n work-groups that spin for as long as it does, so
// that a launch takes as much of the device, for as long, as it did when it was recorded.
enum { WEIR__SPIN_WORKERS = 8 };
void weir__spin_groups_shape(const weir__stream_kernel *kernel, uint32_t sms, weir__spin_launch *out_launch);

#endif // WEIR_TOOLS_WEIR_SPIN_H
