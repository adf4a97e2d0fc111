// SPDX-License-Identifier: Apache-2.0
//
// Built code of a device: from source, from SPIR-V, or from the binaries that an earlier build left in the cache on disk.
#ifndef WEIR_DEVICE_OPENCL_PROGRAM_H
#define WEIR_DEVICE_OPENCL_PROGRAM_H

#include "device/opencl/opencl.h"
#include "weir/opencl.h"

// Builds the code, or finds it built already. The program is the device's. `kernel` is for messages.
weir_status weir__opencl_program_build(weir__opencl_device *device, const char *kernel, const weir_opencl_code *code,
                                       cl_program *out_program);

void weir__opencl_programs_destroy(weir__opencl_device *device);

#endif // WEIR_DEVICE_OPENCL_PROGRAM_H
