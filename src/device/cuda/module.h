// SPDX-License-Identifier: Apache-2.0
//
// Code that is loaded on a device. Equal code is loaded once per device, and stays until the device is destroyed.
#ifndef WEIR_DEVICE_CUDA_MODULE_H
#define WEIR_DEVICE_CUDA_MODULE_H

#include "device/cuda/cuda_device.h"
#include "device/cuda/ptx.h"
#include "weir/cuda.h"

// Compiles (if it is source) and loads code, unless it is there. The device's context is current. `kernel` is named in
// messages. Any thread; the context's lock need not be held, as this may take seconds.
// Errors: those of weir__nvrtc_compile, and INVALID_ARGUMENT (not code for this device; the text holds the log of the
// driver's compiler), OUT_OF_MEMORY.
weir_status weir__cuda_module_load(weir__cuda_device *device, const char *kernel, const weir_cuda_code *code,
                                   CUmodule *out_module);

// A function of loaded code. The device's context is current. Errors: INVALID_ARGUMENT (there is none of this name).
weir_status weir__cuda_module_function(weir__cuda_device *device, const char *kernel, CUmodule module, const char *name,
                                       CUfunction *out_function);

// What the PTX says of a function of loaded code; NULL: the code was given as a binary, or it is not known. It lives as long as
// the device.
const weir__ptx_entry *weir__cuda_module_entry(const weir__cuda_device *device, CUmodule module, const char *name);

// Whether an image of at least 4 bytes, or text, is a cubin.
bool weir__cuda_is_cubin(const void *image);

// Unloads all code of a device, which has nothing in flight.
void weir__cuda_modules_destroy(weir__cuda_device *device);

#endif // WEIR_DEVICE_CUDA_MODULE_H
