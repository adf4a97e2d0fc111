// SPDX-License-Identifier: Apache-2.0
//
// The resident kernel's code: kernels that are written once (weir/kernel.h) are compiled in a form that a worker of the
// resident kernel can call for each of their work-groups (compile.c), and linked with it into one module (link.c).
#ifndef WEIR_DEVICE_CUDA_RESIDENT_LINK_H
#define WEIR_DEVICE_CUDA_RESIDENT_LINK_H

#include "device/cuda/cuda_device.h"
#include "weir/cuda.h"

// One kernel's code in that form: equal code is one part, as long as somebody holds it. Immutable.
typedef struct weir__resident_part weir__resident_part;

// Compiles a kernel's source, which includes weir/kernel.h, for a device; any thread. Kernels of the same source and options
// are compiled together, once; compiled code is kept on disk as that of launched kernels. launch->function is the kernel's
// name in the source, launch->block its work-group; `kernel` is named in messages. NULL and WEIR_OK: the kernel does not fit
// a resident kernel, and `reason` says why: the driver cannot link; dynamic shared memory; arguments of more than 96 bytes; too
// much local memory; the source does not compile in that form (the reason holds the compiler's log). A grid or a value of the
// launch's own is the caller's business. With `cached_only` nothing is compiled that is not in the cache on disk: NO_CODE.
// Errors: that, OUT_OF_MEMORY, DEVICE_LOST. The caller releases the part.
weir_status weir__resident_compile(weir__cuda_device *device, const char *kernel, const weir_cuda_code *code,
                                   const weir_cuda_launch *launch, bool cached_only, weir__resident_part **out_part,
                                   char *reason, size_t reason_bytes);
weir__resident_part *weir__resident_part_retain(weir__resident_part *part);
void weir__resident_part_release(weir__resident_part *part); // NULL is allowed

// A module with the resident kernel and the functions of some parts.
typedef struct weir__resident_module {
  CUmodule module;
  CUfunction entry;       // weir__resident, see kernel.cu
  uint32_t threads;       // of a block: the largest work-group of the parts, in whole warps, two at least
  uint32_t blocks_per_sm; // that fit a multiprocessor, at least 1
  uint64_t *functions;    // per part: its address on the card, for weir__r_task.function; 0: it was left out
  char left_out[2048];    // "", or why the first part that was left out is not in
} weir__resident_module;

// Links them; the device's context is current. Any thread, one at a time for a device. Parts that do not go in with those
// before them are left out: what all parts have of local memory or constants together is limited. The module does not need
// the parts any more. On an error (UNAVAILABLE, INVALID_ARGUMENT: not even the resident kernel alone can be linked; the
// linker's log is in the text; OUT_OF_MEMORY; DEVICE_LOST) the module is all zero.
weir_status weir__resident_link(weir__cuda_device *device, weir__resident_part *const *parts, uint32_t count,
                                weir__resident_module *out_module);
void weir__resident_unlink(weir__cuda_device *device,
                           weir__resident_module *module); // zeroed: nothing happens // nothing, if it is all zero

#endif // WEIR_DEVICE_CUDA_RESIDENT_LINK_H
