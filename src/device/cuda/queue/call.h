// SPDX-License-Identifier: Apache-2.0
//
// Calls of enqueue functions (device/enqueue.h) on a queue's stream. A queue is a lane: what is put into it is put
// there by one thread at a time, and runs in order.
#ifndef WEIR_DEVICE_CUDA_QUEUE_CALL_H
#define WEIR_DEVICE_CUDA_QUEUE_CALL_H

#include "device/cuda/cuda_device.h"
#include "device/enqueue.h"

// Calls the function on a queue, in a lane, and looks at what it left there. Returns OK, or the status with which its task
// fails, and `call->text` says why. The device is lost if the function took the queue with it. The device's context
// is current.
weir_status weir__cuda_call(weir__cuda_device *device, weir__enqueue_call *call, weir__enqueue *enqueue, uint32_t queue,
                            uint32_t lane);

// weir__cuda_op_ops.launch of a task whose kernel's code is such a function: a failure is the op's.
CUresult weir__cuda_call_task(weir__cuda_device *device, weir__cuda_op *op);

// The call for node `index` of a run: a failure is the node's, and noted there.
void weir__cuda_call_node(weir__cuda_device *device, struct weir__graph_run *run, uint32_t index, uint32_t queue,
                          uint32_t lane);

#endif // WEIR_DEVICE_CUDA_QUEUE_CALL_H
