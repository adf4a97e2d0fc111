// SPDX-License-Identifier: Apache-2.0
//
// Weir on CUDA: kernels as CUDA C++, PTX or binaries, memory and streams that are shared with other CUDA code.
//
// A context has CUDA devices when its list of devices names them: "cuda" or "cuda:0", "cuda:1". Weir uses each device's
// primary context, the one that the CUDA runtime uses, so that a program may mix both freely. The driver and NVRTC are
// loaded at run time; nothing of CUDA is needed to build or to link. `weir info` says what a machine lacks.
//
// CUDA objects are passed as the driver knows them: a CUstream (or cudaStream_t) and a CUfunction as void *, a
// CUdeviceptr as uint64_t.
#ifndef WEIR_CUDA_H
#define WEIR_CUDA_H

#include "weir/weir.h"

#ifdef __cplusplus
extern "C" {
#endif

// Where the code of a kernel comes from: exactly one of `source` and `image` is set.
typedef struct weir_cuda_code {
  const char *source;   // CUDA C++, compiled by NVRTC for the device; kept in a cache on disk (see docs/guide/cuda.md)
  const char *options;  // for the compiler, separated by spaces; NULL: none. Weir adds the architecture
  const void *image;    // PTX (ends with a zero byte), or a cubin or fat binary
  uint64_t image_bytes; // 0: PTX, whose length follows from its end
  // The source's kernels are written with weir/kernel.h, so that it can also be compiled into functions that do one
  // work-group at a time: needed for tasks to run in the resident kernel (docs/guide/kernels.md says what else). Else such tasks
  // are launched like those of any other kernel.
  bool groups;
} weir_cuda_code;

// One launch. Its parameters are the task's arguments in order: for a buffer the address of the range's first byte, for
// a value its bytes, which must have the size of the parameter.
typedef struct weir_cuda_launch {
  const char *function;  // in the code; declared extern "C", or the mangled name
  uint32_t grid[3];      // thread blocks; all 0: the task's work-groups
  uint32_t block[3];     // threads of a block; 0 counts as 1
  uint32_t shared_bytes; // dynamic shared memory
  const void *value;    // not NULL: the launch has this one parameter, `value_bytes` bytes that are copied, in place of
  uint32_t value_bytes; // the task's arguments
  uint64_t reserved[2]; // 0
} weir_cuda_launch;

// Gives a kernel its code for the context's CUDA devices: launches that run one after another. Code that several kernels
// share is compiled and loaded once. `count` 0 (and `code` NULL): a task of this kernel launches nothing, but keeps its
// place in the order.
// Errors: INVALID_ARGUMENT (no such function, a block or shared memory larger than the device allows, source that does
// not compile: the text holds the compiler's log), UNAVAILABLE (the context has no CUDA device; no NVRTC), OUT_OF_MEMORY.
WEIR_API weir_status weir_kernel_set_cuda_sized(weir_kernel *kernel, const weir_cuda_code *code, size_t code_size,
                                                const weir_cuda_launch *launches, uint32_t count);
static inline weir_status weir_kernel_set_cuda(weir_kernel *kernel_, const weir_cuda_code *code_,
                                               const weir_cuda_launch *launches_, uint32_t count_) {
  return weir_kernel_set_cuda_sized(kernel_, code_, sizeof *code_, launches_, count_);
}

// The same with a CUfunction of the caller's, which must stay loaded as long as the kernel is used. launch->function is
// ignored. Only for `device`.
WEIR_API weir_status weir_kernel_set_cuda_function(weir_kernel *kernel, weir_device *device, void *function,
                                                   const weir_cuda_launch *launch);

// Whether tasks of the kernel go to the resident kernel of a device, in a context with WEIR_ISSUE_RESIDENT. If not, they go
// to queues, and `reason`, `reason_bytes` long (NULL: not wanted), gets a text that says why. A kernel may be found not to fit
// later, at the latest when its first task runs: it is linked after it was made, or then. False in contexts with WEIR_ISSUE_AUTO, also
// where some tasks do go there.
WEIR_API bool weir_cuda_is_resident(weir_kernel *kernel, weir_device *device, char *reason, uint64_t reason_bytes);

// Gives up a device of a context with WEIR_ISSUE_RESIDENT: for a task that never ends, which weir_finish_for names and the release of
// the context would wait for. No single task can be ended on a card, so its resident kernel faults, and the device is lost, as by a
// task's own fault: all that is in flight there fails with DEVICE_LOST, and so does what is submitted to it later; contents that only
// it had are poisoned. Then the context can be released. Drivers may give the process no new one: 580 does not, after any fault; a new
// process gets one (docs/guide/cuda.md). The device is lost whether its resident kernel has something to do or not.
// A fault is one of the process's CUDA context on that card: other contexts and other CUDA code lose it, too (docs/guide/cuda.md). If the
// resident kernel is not on the card there is no fault, and kernels that are in queues come to their end first.
// Does not wait; who waits for tasks of the device sees them fail soon. Any thread, also in callbacks and while others wait or submit.
// Once more, or when the device is lost already: does nothing, and is no error.
// Errors: INVALID_ARGUMENT (no CUDA device; one whose context has no WEIR_ISSUE_RESIDENT, also where AUTO uses a resident kernel).
WEIR_API weir_status weir_cuda_abort(weir_device *device);

// Creates a buffer on device memory that the caller owns (cuMemAlloc, cudaMalloc), `bytes` bytes from `pointer`, a multiple
// of 16. It is tracked, never renamed or moved; what tasks of other devices write to it is copied back behind them.
// Errors: INVALID_ARGUMENT (memory that is not the device's, misaligned), OUT_OF_RANGE (it leaves its allocation).
WEIR_API weir_status weir_buffer_wrap_cuda(weir_device *device, uint64_t pointer, uint64_t bytes,
                                           weir_buffer **out_buffer);

// Orders Weir after a stream: tasks that are submitted from now on, to any device, start when all that is in `stream` now
// is done. The host does not wait. `stream` NULL is the legacy default stream. From the first such call of a device on, or of
// weir_cuda_stream_waits_for_tasks, WEIR_ISSUE_AUTO gives none of its tasks to a resident kernel.
WEIR_API weir_status weir_cuda_tasks_wait_for_stream(weir_device *device, void *stream);

// Orders a stream after Weir: what is put in `stream` from now on starts when the task of `event` is done, or with `event`
// NULL all tasks submitted so far. The host does not wait, unless tasks of other devices are among them, or the context has
// WEIR_ISSUE_RESIDENT: then until those and all before them are done. With WEIR_ISSUE_AUTO the first call waits for tasks that a
// resident kernel has.
WEIR_API weir_status weir_cuda_stream_waits_for_tasks(weir_device *device, void *stream, weir_event *event);

#ifdef __cplusplus
}
#endif
#endif // WEIR_CUDA_H
