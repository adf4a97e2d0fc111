// SPDX-License-Identifier: Apache-2.0
//
// The CUDA driver, loaded at run time.
#ifndef WEIR_DEVICE_CUDA_DRIVER_H
#define WEIR_DEVICE_CUDA_DRIVER_H

#include <stdbool.h>

#include "device/cuda/symbols.h"
#include "weir/weir.h"

typedef struct weir__cuda_driver {
#define WEIR__CUDA_MEMBER(member, symbol, need, parameters) CUresult(*member) parameters;
  WEIR__CUDA_SYMBOLS(WEIR__CUDA_MEMBER)
#undef WEIR__CUDA_MEMBER
  int version; // 13000: CUDA 13.0
  int device_count;
} weir__cuda_driver;

// The driver: libcuda.so.1, or the file that the environment variable WEIR_CUDA_DRIVER names. It is loaded and
// initialised by the first call that succeeds and stays loaded. NULL: there is none or it has no device, and `reason`
// says so; a later call tries again. Any thread.
const weir__cuda_driver *weir__cuda_driver_load(char *reason, size_t size);

// "CUDA_ERROR_OUT_OF_MEMORY: out of memory". Returns `text`.
const char *weir__cuda_result_text(const weir__cuda_driver *driver, CUresult result, char *text, size_t size);

// The status of a result: OUT_OF_MEMORY; DEVICE_LOST for sticky ones; INVALID_ARGUMENT for what the caller passed;
// UNAVAILABLE for what the machine lacks; PENDING for NOT_READY; else TASK_FAILED.
weir_status weir__cuda_status(CUresult result);

// Whether the context is dead after this result: every later call of the driver fails as well.
bool weir__cuda_is_sticky(CUresult result);

// Sets weir_last_error() to what was tried, followed by the result's text, and returns the result's status. WEIR_OK,
// and no text, for CUDA_SUCCESS.
__attribute__((format(printf, 3, 4))) weir_status weir__cuda_error(const weir__cuda_driver *driver, CUresult result,
                                                                   const char *format, ...);

// Whether the machine has a CUDA device, and one line for people: the devices, the driver and NVRTC, or what is
// missing.
bool weir__cuda_probe(char *text, size_t size);

#endif // WEIR_DEVICE_CUDA_DRIVER_H
