// SPDX-License-Identifier: Apache-2.0
//
// Graph issue: runs of tasks that come again are launched as one graph each (issue/recurrence.h). Executable graphs are kept: a
// batch that comes again costs one call, one with other parameters a little more, one with other kernels but the same
// dependences more still, and only a topology never met before must be made.
//
// Making an executable graph takes longer than launching its tasks one by one. So where there are cores for it, a batch that
// was never met is launched so, by several threads, while another thread makes the graph for the next time (builder.h).
//
// Called by the device's thread only.
#ifndef WEIR_DEVICE_CUDA_GRAPH_BATCHES_H
#define WEIR_DEVICE_CUDA_GRAPH_BATCHES_H

#include "device/cuda/cuda_device.h"
#include "device/cuda/graph/exec.h"

typedef struct weir__cuda_batches weir__cuda_batches;
typedef struct weir__cuda_batch weir__cuda_batch;

// Sets device->batches, which stays NULL where the context wants queues or order.
weir_status weir__cuda_batches_create(weir__cuda_device *device);
void weir__cuda_batches_destroy(weir__cuda_batches *batches);

#endif // WEIR_DEVICE_CUDA_GRAPH_BATCHES_H
