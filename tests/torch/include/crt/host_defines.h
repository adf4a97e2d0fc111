// SPDX-License-Identifier: Apache-2.0
//
// What CUDA's headers want of a compiler, for a plain C compiler: the packages that PyTorch installs lack this header.
#ifndef WEIR_TESTS_TORCH_HOST_DEFINES_H
#define WEIR_TESTS_TORCH_HOST_DEFINES_H

#define __device_builtin__
#define __device_builtin_texture_type__
#define __device_builtin_surface_type__
#define __cudart_builtin__
#define __builtin_align__(bytes) __attribute__((aligned(bytes)))
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __host__
#define __device__
#define __global__
#define __shared__
#define __constant__
#define __managed__
#define __forceinline__ inline
#define CUDARTAPI
#define CUDARTAPI_CDECL

#endif // WEIR_TESTS_TORCH_HOST_DEFINES_H
