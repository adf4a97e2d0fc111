// SPDX-License-Identifier: Apache-2.0
//
// The resident kernel for contexts that choose how to issue tasks (WEIR_ISSUE_AUTO): made beside all else (maker.h), once it is
// likely to pay. Until it is there, tasks go to queues. Not in contexts that keep a timeline, are IN_ORDER, or have no launching
// threads (three cores or less, one queue).
//
// DESIGN. Code costs a compilation and a link, which most programs never need: those whose batches come again have graphs of them.
// So kernels only leave their source (weir__resident_request_code). Where it was compiled on this machine before, the maker links
// it at once. Otherwise tasks that were launched one by one though they might have gone to a resident kernel are counted, and when
// what that cost is about what compiling and linking costs, the maker is asked: then no program loses more than twice what it would
// have lost had it known (the ski-rental rule). The device's thread takes over what was made when nothing is in the ring.
#ifndef WEIR_DEVICE_CUDA_RESIDENT_AUTOMATIC_H
#define WEIR_DEVICE_CUDA_RESIDENT_AUTOMATIC_H

#include "device/cuda/cuda_device.h"
#include "weir/cuda.h"

// Sets device->automatic, where the context's way of issue, its flags and the number of cores are such.
weir_status weir__resident_automatic_create(weir__cuda_device *device);
// The device's thread has ended.
void weir__resident_automatic_destroy(weir__cuda_device *device);

// A launch of a kernel that may go to the resident kernel; any thread. Returns its number + 1, which equal ones share; 0: its code
// cannot be compiled for it, or there is no memory.
uint32_t weir__resident_request_code(weir__cuda_device *device, const weir_cuda_code *code,
                                     const weir_cuda_launch *launch);

// The caller has its own streams wait for tasks, or tasks for them, for which tasks must be in queues: from now on all are. Any thread.
void weir__resident_disable(weir__cuda_device *device);

// What follows is called by the device's thread only.

// A task was taken that may go there.
void weir__resident_note(weir__cuda_device *device, const weir__task *task);

// Whether the tasks may all go to the device's resident kernel: it has their code, and they are small enough that it is the fastest
// way for what has no graph.
bool weir__resident_wants(weir__cuda_device *device, weir__task *const *tasks, uint32_t count);

// These are launched one by one. If only their code is missing, they are counted.
void weir__resident_missed(weir__cuda_device *device, weir__task *const *tasks, uint32_t count);

#endif // WEIR_DEVICE_CUDA_RESIDENT_AUTOMATIC_H
