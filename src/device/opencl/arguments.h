// SPDX-License-Identifier: Apache-2.0
//
// What the driver tells of a kernel's arguments: what may be done with a pointer, how large a value is.
#ifndef WEIR_DEVICE_OPENCL_ARGUMENTS_H
#define WEIR_DEVICE_OPENCL_ARGUMENTS_H

#include "device/opencl/kernel.h"

// What the kernel may do with what a pointer or an image leads to, as bits of device/use.h. A `const` pointer counts as only
// read: the programmer says so, as with `readonly` in GLSL.
uint8_t weir__opencl_argument_use(const weir__opencl_driver *driver, cl_kernel kernel, cl_uint index, cl_uint address);

// Bytes of a value, found out by setting it; 0: the driver takes several sizes, or none. The kernel has not been launched, and
// all its arguments are set before it is.
uint32_t weir__opencl_argument_bytes(const weir__opencl_driver *driver, cl_kernel kernel, cl_uint index);

#endif // WEIR_DEVICE_OPENCL_ARGUMENTS_H
