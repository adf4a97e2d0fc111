// SPDX-License-Identifier: Apache-2.0
//
// The kernel of `weir bench sequences`: (product, first, second, count), product[i] = first[i] * second[i] for 32-bit floats.
#ifndef WEIR_TOOLS_MULTIPLY_H
#define WEIR_TOOLS_MULTIPLY_H

#include "weir/weir.h"

enum { WEIR__MULTIPLY_GROUP = 256 }; // products of a work-group

// Creates the kernel with code for `device` (CUDA, OpenCL, Vulkan), and for CPU and simulated devices, on which it takes no
// time.
weir_status weir__multiply_create(weir_context *context, const weir_device *device, weir_kernel **out_kernel);

#endif // WEIR_TOOLS_MULTIPLY_H
