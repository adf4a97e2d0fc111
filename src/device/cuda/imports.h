// SPDX-License-Identifier: Apache-2.0
//
// Tasks that the card itself keeps behind events of the caller's. Such a task goes to a stream that waits for the
// event, and nothing else goes there until the task is done, since a stream that waits holds back all that is put in
// later. So there are few of them at a time; other tasks are held back on the host. Some streams never wait for the
// caller.
#ifndef WEIR_DEVICE_CUDA_IMPORTS_H
#define WEIR_DEVICE_CUDA_IMPORTS_H

#include "device/cuda/api.h"
#include "device/fence.h"
#include "device/host.h"

typedef struct weir__cuda_device weir__cuda_device;
typedef struct weir__cuda_op weir__cuda_op;

enum { WEIR__CUDA_MOST_IMPORTS = 32 };

typedef struct weir__cuda_awaited {
  weir__id task;
  const weir__external_fence *import; // not over
  bool placed;                        // the task is in a queue, which it stalls
} weir__cuda_awaited;

// All is guarded by the context's lock, but for the count, which threads of the device look at without.
typedef struct weir__cuda_imports {
  weir__cuda_awaited list[WEIR__CUDA_MOST_IMPORTS];
  _Atomic uint32_t count;
  uint32_t stalls; // tasks in queues that they stall
} weir__cuda_imports;

// weir__device_ops.await_import, .forget_import.
bool weir__cuda_await_import(weir_device *device, weir__id task, weir__external_fence *import);
void weir__cuda_forget_import(weir_device *device, const weir__external_fence *import);

// Whether a task that was handed over is to be put behind imports. By the device's thread, like the next two.
bool weir__cuda_awaits(weir__cuda_device *device, weir__id task);
// The same, for a task that is put in a queue now: it is counted, and `*out_queue` is the queue for it.
bool weir__cuda_stalls(weir__cuda_device *device, weir__id task, uint32_t *out_queue);
// It is not in a queue any more, or after all. The lock is held.
void weir__cuda_stalls_no_more(weir__cuda_device *device);

// Lets the stream wait for the imports of the op's task that are not over. In the thread that launches.
CUresult weir__cuda_let_wait_for_imports(weir__cuda_device *device, const weir__cuda_op *op, CUstream stream);

#endif // WEIR_DEVICE_CUDA_IMPORTS_H
