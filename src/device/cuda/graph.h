// SPDX-License-Identifier: Apache-2.0
//
// Recorded graphs on a CUDA device: one executable graph for each plan, set anew where a launch differs from the one before.
#ifndef WEIR_DEVICE_CUDA_GRAPH_H
#define WEIR_DEVICE_CUDA_GRAPH_H

#include "device/cuda/cuda.h"
#include "device/cuda/exec.h"
#include "device/graph.h"

// Adds the times of a run's nodes to the timeline. The context's lock is held.
void weir__cuda_trace_run(weir__cuda_device *device, const weir__task *task, const weir__completion *completion,
                          uint64_t submit_ns);

// A lane behind those of the queues for what ran then: one on which nothing else did, as far as there are some.
uint32_t weir__cuda_choose_lane(weir__cuda_device *device, uint64_t start_ns, uint64_t end_ns);

// Start and end of a step, and a lane on which nothing else was then. Times are `least_ns` at least.
void weir__cuda_step_times(weir__cuda_device *device, const weir__cuda_exec *exec, uint32_t step, uint64_t least_ns,
                           uint64_t *out_start_ns, uint64_t *out_end_ns, uint32_t *out_lane);

// A launch that ended well, before it is reported: the caller's memory, and the times of its nodes. No lock is held.
void weir__cuda_finish_run(weir__cuda_device *device, const weir__task *task);

#endif // WEIR_DEVICE_CUDA_GRAPH_H
