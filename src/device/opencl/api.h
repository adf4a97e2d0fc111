// SPDX-License-Identifier: Apache-2.0
//
// What Weir uses of OpenCL's binary interface: types and numbers, under the names that Khronos's headers give them. Nothing of
// OpenCL is needed to build Weir, and this header must not be mixed with <CL/cl.h> in one source;
// the numbers are in numbers.h, the functions in symbols.h.
#ifndef WEIR_DEVICE_OPENCL_API_H
#define WEIR_DEVICE_OPENCL_API_H

#include <stddef.h>
#include <stdint.h>

#include "device/opencl/numbers.h"

typedef int32_t cl_int;
typedef uint32_t cl_uint;
typedef uint64_t cl_ulong;
typedef cl_uint cl_bool;
typedef cl_ulong cl_bitfield;

typedef struct _cl_platform_id *cl_platform_id;
typedef struct _cl_device_id *cl_device_id;
typedef struct _cl_context *cl_context;
typedef struct _cl_command_queue *cl_command_queue;
typedef struct _cl_mem *cl_mem;
typedef struct _cl_program *cl_program;
typedef struct _cl_kernel *cl_kernel;
typedef struct _cl_event *cl_event;
typedef struct _cl_sampler *cl_sampler;

typedef struct cl_image_format {
  cl_uint image_channel_order, image_channel_data_type;
} cl_image_format;

typedef struct cl_image_desc {
  cl_uint image_type;
  size_t image_width, image_height, image_depth, image_array_size, image_row_pitch, image_slice_pitch;
  cl_uint num_mip_levels, num_samples;
  cl_mem buffer;
} cl_image_desc;

typedef struct cl_buffer_region {
  size_t origin, size;
} cl_buffer_region;

#define WEIR__OPENCL_NUMBER(name, value) name = value,
enum { WEIR__OPENCL_RESULTS(WEIR__OPENCL_NUMBER) };
enum { WEIR__OPENCL_NUMBERS(WEIR__OPENCL_NUMBER) };
#undef WEIR__OPENCL_NUMBER

#define CL_DEVICE_TYPE_ALL UINT64_C(0xFFFFFFFF)

#endif // WEIR_DEVICE_OPENCL_API_H
