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

// A launch that ended well, before it is reported: the caller's memory, and the times of its nodes. No lock is held.
void weir__cuda_finish_run(weir__cuda_device *device, const weir__task *task);

#endif // WEIR_DEVICE_CUDA_GRAPH_H
