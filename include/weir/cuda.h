// SPDX-License-Identifier: Apache-2.0
//
// Weir on CUDA: kernels as CUDA C++, PTX or binaries, and sharing of memory and streams with other CUDA code.
//
// A context has the CUDA devices that its list of devices names: "cuda:0", "cuda:1"; "cuda" is the first one, or, in a
// process that a launcher of MPI or Slurm started, the card of its number among those on its host (modulo the cards).
// Weir uses the primary context of each device, as the CUDA runtime does, so a program may use both. The driver and
// NVRTC are loaded at run time; neither building nor linking needs anything of CUDA. `weir info` says what a machine
// lacks.
//
// CUDA objects are passed as the driver's types: a CUstream (or cudaStream_t) and a CUfunction as void *, a CUdeviceptr
// as uint64_t.
#ifndef WEIR_CUDA_H
#define WEIR_CUDA_H

#include "weir/weir.h"

#ifdef __cplusplus
extern "C" {
#endif

// Code of a kernel. Exactly one of `source` and `image` is set.
typedef struct weir_cuda_code {
  const char *source;   // CUDA C++, which NVRTC compiles for the device; cached on disk (docs/guide/cuda.md)
  const char *options;  // of the compiler, separated by spaces; NULL: none. Weir adds the architecture
  const void *image;    // PTX that ends with a zero byte, or a cubin or fat binary
  uint64_t image_bytes; // size of the image; 0: PTX, whose end gives its length
  // The kernels of `source` are written with weir/kernel.h, so that Weir can also compile them to functions that run
  // one work-group. Tasks run in the resident kernel only if this is set; docs/guide/kernels.md has the other
  // conditions. All other tasks are launched like those of any kernel.
  bool groups;
} weir_cuda_code;

// One launch. Its parameters are the task's arguments, in order: for a buffer the address of the range's first byte,
// for a value its bytes, as many as the parameter has.
typedef struct weir_cuda_launch {
  const char *function;  // name in the code, declared extern "C" or mangled
  uint32_t grid[3];      // thread blocks in x, y, z; all 0: the task's work-groups
  uint32_t block[3];     // threads of a block in x, y, z; 0 counts as 1
  uint32_t shared_bytes; // dynamic shared memory of a block
  const void *value; // if not NULL, the launch has one parameter in place of the task's arguments: these bytes, which
  uint32_t value_bytes; // are copied, and their number
  uint64_t reserved[2]; // 0
} weir_cuda_launch;

// Gives a kernel its code for the context's CUDA devices: `count` launches that run one after another. Code that
// several kernels share is compiled and loaded once. With `count` 0 and `code` NULL a task of the kernel launches
// nothing, and keeps its place in the order.
// Errors: INVALID_ARGUMENT (no such function; a block or shared memory larger than the device allows; source that does
// not compile, where the text has the compiler's log; tasks in flight that use the kernel's code for CUDA), UNAVAILABLE
// (the context has no CUDA device; no NVRTC), OUT_OF_MEMORY.
WEIR_API weir_status weir_kernel_set_cuda_sized(weir_kernel *kernel, const weir_cuda_code *code, size_t code_size,
                                                const weir_cuda_launch *launches, uint32_t count);
static inline weir_status weir_kernel_set_cuda(weir_kernel *kernel_, const weir_cuda_code *code_,
                                               const weir_cuda_launch *launches_, uint32_t count_) {
  return weir_kernel_set_cuda_sized(kernel_, code_, sizeof *code_, launches_, count_);
}

// Gives a kernel a CUfunction of the caller's as its code for one device. The function must stay loaded as long as the
// kernel is used. `launch->function` is ignored.
// Errors: as weir_kernel_set_cuda.
WEIR_API weir_status weir_kernel_set_cuda_function(weir_kernel *kernel, weir_device *device, void *function,
                                                   const weir_cuda_launch *launch);

// Returns whether tasks of the kernel go to the resident kernel of a device, in a context with WEIR_ISSUE_RESIDENT.
// Otherwise they go to queues, and `reason`, `reason_bytes` bytes long, gets a text that says why; it may be NULL. The
// answer can change from true to false until the first task of the kernel runs, because Weir links the kernel's code
// after weir_kernel_set_cuda. In a context with WEIR_ISSUE_AUTO the answer is always false.
WEIR_API bool weir_cuda_is_resident(weir_kernel *kernel, weir_device *device, char *reason, uint64_t reason_bytes);

// Gives up a device of a context with WEIR_ISSUE_RESIDENT because of a task that never ends. weir_finish_for names such
// a task, and the release of the context would wait for it. A card cannot end a single task, so the resident kernel
// provokes a fault, and the device is lost, as by a task's own fault:
// - All tasks in flight on the device, and all later ones, fail with DEVICE_LOST.
// - Contents that only the device had are poisoned. The context can then be released.
// - The fault hits the process's CUDA context on that card: other Weir contexts and other CUDA code lose the card, too.
// - A driver may refuse the process a new CUDA context after any fault; driver 580 does. A new process gets one
//   (docs/guide/cuda.md).
// The device is lost even if its resident kernel is idle. If the resident kernel is not on the card, there is no fault,
// and kernels in queues finish first.
// Does not wait: calls that wait for tasks of the device return soon after. Any thread may call it, also in callbacks
// and while others wait or submit. On a device that is lost already it does nothing and succeeds.
// Errors: INVALID_ARGUMENT (no CUDA device; a context without WEIR_ISSUE_RESIDENT, even if AUTO uses a resident
// kernel).
WEIR_API weir_status weir_cuda_abort(weir_device *device);

// Creates a buffer on the caller's device memory (cuMemAlloc, cudaMalloc): `bytes` bytes from `pointer` on, which is a
// multiple of 16. Weir orders its uses, and never renames or moves it. Bytes that tasks of other devices write are
// copied back after these tasks. The memory must stay valid until the last task that uses the buffer is done.
// Errors: INVALID_ARGUMENT (memory of another device, misaligned memory), OUT_OF_RANGE (it leaves its allocation).
WEIR_API weir_status weir_buffer_wrap_cuda(weir_device *device, uint64_t pointer, uint64_t bytes,
                                           weir_buffer **out_buffer);

// Orders later tasks, on all devices, after the work that `stream` has at the call. The host does not wait. A NULL
// stream is the legacy default stream. After the first call of this function or of weir_cuda_stream_waits_for_tasks on
// a device, WEIR_ISSUE_AUTO gives none of the device's tasks to a resident kernel.
WEIR_API weir_status weir_cuda_tasks_wait_for_stream(weir_device *device, void *stream);

// Makes an external event (weir/external.h) of a CUevent of any stream: it is done when the work is that was recorded
// at the call. The caller releases it. The call does not wait. A task of a CUDA device that comes after it waits on the
// card, if the device has a stream for it alone (docs/guide/external-events.md). The CUevent must be neither recorded
// again nor destroyed until the external event is done. weir_cuda_import_stream has no such condition.
// Errors: INVALID_ARGUMENT, OUT_OF_MEMORY; DEVICE_LOST and others as the driver says.
WEIR_API weir_status weir_cuda_import_event(weir_device *device, void *cu_event, weir_event **out_event);

// Makes an external event (weir/external.h) of the work that `stream` has at the call. The caller releases it. The call
// does not wait. A NULL stream is the legacy default stream.
// Errors: as weir_cuda_import_event.
WEIR_API weir_status weir_cuda_import_stream(weir_device *device, void *stream, weir_event **out_event);

// Orders later work of `stream` after the task of `event`; if `event` is NULL, after all tasks submitted so far. The
// host waits in four cases only: if tasks of other devices are among them, or if the context has WEIR_ISSUE_RESIDENT,
// it waits for these tasks and all before them; with WEIR_ISSUE_AUTO the first call waits for tasks of a resident
// kernel; for an external event (weir/external.h) that is not of CUDA.
// Errors: INVALID_ARGUMENT (called from a task or callback); DEVICE_LOST and others as the driver says.
WEIR_API weir_status weir_cuda_stream_waits_for_tasks(weir_device *device, void *stream, weir_event *event);

#ifdef __cplusplus
}
#endif
#endif // WEIR_CUDA_H
