// SPDX-License-Identifier: Apache-2.0
//
// The kernels of random programs on OpenCL devices (program.cl): one for each number of arguments and place of a value among
// them.
#ifndef WEIR_TESTS_PROGRAM_OPENCL_H
#define WEIR_TESTS_PROGRAM_OPENCL_H

#include "program_body.h"

// Of ranges on memory objects: enough for the devices that there are.
enum { PROGRAM_OPENCL_ALIGNMENT = 512 };

// A form's remainder by this is the place of the value.
enum { PROGRAM_OPENCL_PLACES = 8 };

// The form of a task's arguments: what its kernel must be made for. Below PROGRAM_VULKAN_FORMS.
uint32_t program_opencl_form(const program_task *task);

// How many arguments it has besides the description.
uint32_t program_opencl_args(uint32_t form);

// The kernel `body` for tasks of a form as text, which the caller frees.
char *program_opencl_source(uint32_t form);

// Gives a kernel its code for tasks of a form.
weir_status program_opencl_set(weir_kernel *kernel, uint32_t form);

#endif // WEIR_TESTS_PROGRAM_OPENCL_H
