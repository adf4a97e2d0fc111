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
#ifndef WEIR_DEVICE_CUDA_BATCHES_H
#define WEIR_DEVICE_CUDA_BATCHES_H

#include "device/cuda/cuda.h"
#include "device/cuda/exec.h"

typedef struct weir__cuda_batches weir__cuda_batches;
typedef struct weir__cuda_batch weir__cuda_batch;

// Sets device->batches, which stays NULL where the context wants queues or order.
weir_status weir__cuda_batches_create(weir__cuda_device *device);
void weir__cuda_batches_destroy(weir__cuda_batches *batches);

// Takes a task; batches that are complete by that are launched.
void weir__cuda_batches_take(weir__cuda_device *device, weir__task *task);

// Tasks that were taken and not launched.
uint32_t weir__cuda_batches_stalled(const weir__cuda_device *device);

// Launches them, if that is `wanted` or nothing else keeps the device busy.
void weir__cuda_batches_flush(weir__cuda_device *device, bool wanted);

// The device's thread looked for tasks, and found some or not. Graphs that were made meanwhile are installed.
void weir__cuda_batches_note_work(weir__cuda_device *device, bool any);

// Launches a batch's graph; in any thread.
CUresult weir__cuda_batch_launch(weir__cuda_device *device, weir__cuda_batch *batch, CUstream stream);

// No task of the batch will end well, or none of those that read poison (`poisoned`). The context's lock is held.
void weir__cuda_batch_mark_failing(weir__cuda_device *device, const weir__cuda_batch *batch, bool poisoned);

// Reports the tasks of a batch that is done. The context's lock is held.
void weir__cuda_batch_report(weir__cuda_device *device, weir__cuda_op *op);

#endif // WEIR_DEVICE_CUDA_BATCHES_H
