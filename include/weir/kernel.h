// SPDX-License-Identifier: Apache-2.0
//
// Kernels that are written once, in C, and compiled for the CPU device, CUDA (NVRTC or nvcc) and OpenCL C:
//
//   #include <weir/kernel.h>
//
//   WEIR_KERNEL(saxpy, 128, 1, 1, (WEIR_BUFFER(const float, x), WEIR_BUFFER(float, y), WEIR_SCALAR(int32_t, count))) {
//     WEIR_FOR_EACH_ITEM {   int i = weir_global_id(0);   if (i < count) y[i] += 2 * x[i]; }
//   }
//
// docs/guide/kernels.md says how to build such a file and what the form cannot express. In short:
//
// WEIR_KERNEL(name, x, y, z, (parameters)) { body }
//     A kernel of work-groups of x * y * z work-items, all constants. It has 1 to 12 parameters, which are the task's
//     arguments in order. A work-group runs the body once; its work-items act only inside item loops.
// WEIR_BUFFER(type, name), WEIR_SCALAR(type, name)
//     A parameter. A buffer is a pointer to the range of the argument; no other written parameter may overlap it (it is
//     `restrict`). A scalar is a value: a number or a struct of numbers.
// WEIR_FOR_EACH_ITEM { ... }
//     An item loop: every work-item runs the block, and the code after it starts when all work-items are done with it.
//     Work-items of one loop run in any order, at the same time, and may share data through atomics only. `continue`
//     ends the block for one work-item. `break`, `return` and `goto` must not leave it. Item loops do not nest. They
//     may stand in an `if` or a loop whose condition is the same for the whole work-group.
// WEIR_FOR_EACH_ITEM_NOWAIT { ... }
//     An item loop without the wait at its end, which is a barrier on a GPU. It is for the last loop, and for a loop
//     after which no work-item accesses, before the next wait, data that another work-item writes.
// WEIR_LOCAL type name[size];
//     Memory that the work-items of a work-group share. It is declared at the top of the body and has no initial value.
// WEIR_PRIVATE(type, name, count); and weir_private(name, index)
//     An array of each work-item that keeps its contents from one item loop to the next. It is declared at the top of
//     the body and has no initial value. Other variables declared outside item loops must be the same for the whole
//     work-group.
// weir_local_id(d), weir_local_size(d), weir_group_id(d), weir_group_count(d), weir_global_id(d), weir_global_size(d)
//     Indexes, of type int32_t. Dimension d is 0, 1 or 2. weir_local_id and weir_global_id are for item loops only.
// weir_atomic_add, weir_atomic_min, weir_atomic_max (pointer, value), weir_atomic_cas(pointer, expected, desired)
//     Atomics on an int32_t or uint32_t in a buffer or in local memory. They return the value before, and order no
//     other accesses.
// weir_atomic_add_float(pointer, value)
//     The same on a float.
// WEIR_FUNCTION type name(...) { ... }
//     A function that kernels call. Pointers to buffers are WEIR_GLOBAL type *, pointers to local memory
//     WEIR_LOCAL_POINTER type *.
// WEIR_CONSTANT type name[] = { ... };
//     A table at the top level of the file.
//
// Types: int8_t to uint64_t, bool, float, double. Functions: those of C, by their names: sqrtf, fmaf, fabsf, ... on
// float, and sqrt, fma, fabs, ... on double.
//
// WEIR_ON_CPU, WEIR_ON_CUDA, WEIR_ON_OPENCL: 1 for the target that the file is compiled for, else 0.
#ifndef WEIR_KERNEL_H
#define WEIR_KERNEL_H

#if defined(__OPENCL_VERSION__) || defined(__OPENCL_C_VERSION__)
#define WEIR_ON_OPENCL 1
#else
#define WEIR_ON_OPENCL 0
#endif
#if defined(__CUDACC__)
#define WEIR_ON_CUDA 1
#else
#define WEIR_ON_CUDA 0
#endif
#define WEIR_ON_CPU (!WEIR_ON_CUDA && !WEIR_ON_OPENCL)
// CUDA code has two forms: kernels that are launched, and, where Weir compiles for its resident kernel, functions that
// run one work-group.
#if WEIR_ON_CUDA && defined(WEIR__RESIDENT)
#define WEIR__ON_RESIDENT 1
#else
#define WEIR__ON_RESIDENT 0
#endif

// ---------------------------------------------------------------------------------------------------------------
#if WEIR_ON_CUDA

#if defined(__CUDACC_RTC__)
typedef signed char int8_t;
typedef unsigned char uint8_t;
typedef short int16_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned int uint32_t;
typedef long long int64_t;
typedef unsigned long long uint64_t;
#else
#include <stdint.h>
#endif

#define WEIR_FUNCTION static __device__ __forceinline__
#define WEIR_GLOBAL
#define WEIR_LOCAL_POINTER
#define WEIR_LOCAL __shared__
#define WEIR_CONSTANT static __constant__ const

#define weir_atomic_add(pointer, value) atomicAdd(pointer, value)
#define weir_atomic_min(pointer, value) atomicMin(pointer, value)
#define weir_atomic_max(pointer, value) atomicMax(pointer, value)
#define weir_atomic_cas(pointer, expected, desired) atomicCAS(pointer, expected, desired)
#define weir_atomic_add_float(pointer, value) atomicAdd(pointer, value)

#if !WEIR__ON_RESIDENT // launched

#define WEIR_KERNEL(name, x, y, z, parameters)                                                                         \
  extern "C" __global__ void __launch_bounds__((x) * (y) * (z)) name parameters
#define WEIR_BUFFER(type, name) type *__restrict__ name
#define WEIR_SCALAR(type, name) type name

#define WEIR_FOR_EACH_ITEM for (int weir__once = 1; weir__once; weir__once = 0, __syncthreads())
#define WEIR_FOR_EACH_ITEM_NOWAIT for (int weir__once = 1; weir__once; weir__once = 0)

#define WEIR__OF(v, d) ((d) == 0 ? (int32_t)v.x : (d) == 1 ? (int32_t)v.y : (int32_t)v.z)
#define weir_local_id(d) WEIR__OF(threadIdx, d)
#define weir_local_size(d) WEIR__OF(blockDim, d)
#define weir_group_id(d) WEIR__OF(blockIdx, d)
#define weir_group_count(d) WEIR__OF(gridDim, d)

#else // called for a work-group

// Argument of the functions (weir__r_group in Weir's protocol.h). Each argument of the task begins a new word of
// `args`.
typedef struct weir__unit {
  const uint64_t *args;
  uint32_t id[3], count[3];
} weir__unit;

// WEIR_KERNEL makes the function, and a variable with its address for the host: 0 if the arguments take more than 12
// words. A block may have more threads than the work-group has work-items. Whole warps of surplus threads return at
// once; those in the last warp skip the contents of item loops, and wait with the others.
#define WEIR__THREAD threadIdx.x
#define WEIR__WHOLE_WARPS(threads) (((threads) + 31) / 32 * 32)
#define WEIR__SYMBOL(id, name) weir__resident_##id##_##name
#define WEIR__POINTER(id, name) weir__resident_pointer_##id##_##name
#define WEIR_KERNEL(name, x, y, z, parameters)                                                                         \
  WEIR__KERNEL(name, WEIR__CALL(WEIR__SYMBOL, WEIR__RESIDENT, name), WEIR__CALL(WEIR__POINTER, WEIR__RESIDENT, name),  \
               x, y, z, WEIR__BARE parameters)
#define WEIR__KERNEL(name, symbol, pointer, x, y, z, ...)                                                              \
  WEIR__GROUP(name, x, y, z);                                                                                          \
  static __device__ __forceinline__ void weir__body_##name(const struct weir__group_##name *weir__group,               \
                                                           WEIR__EACH(WEIR__DECLARE, __VA_ARGS__));                    \
  struct weir__words_##name {                                                                                          \
    static __device__ constexpr int before(int argument) {                                                             \
      const int words[] = {WEIR__EACH(WEIR__WORDS, __VA_ARGS__)};                                                      \
      int sum = 0;                                                                                                     \
      for (int i = 0; i < argument; i++) sum += words[i];                                                              \
      return sum;                                                                                                      \
    }                                                                                                                  \
  };                                                                                                                   \
  static __device__ void symbol(const weir__unit *weir__work) {                                                        \
    typedef weir__words_##name weir__words;                                                                            \
    const uint32_t *weir__id = weir__work->id, *weir__count = weir__work->count;                                       \
    const struct weir__group_##name weir__group = {                                                                    \
        {(int32_t)weir__id[0], (int32_t)weir__id[1], (int32_t)weir__id[2]},                                            \
        {(int32_t)weir__count[0], (int32_t)weir__count[1], (int32_t)weir__count[2]}};                                  \
    if (WEIR__THREAD < WEIR__WHOLE_WARPS((x) * (y) * (z)))                                                             \
      weir__body_##name(&weir__group, WEIR__EACH(WEIR__FETCH, __VA_ARGS__));                                           \
  }                                                                                                                    \
  extern "C" {                                                                                                         \
  __device__ void (*pointer)(const weir__unit *) = WEIR__TAKEN(name, __VA_ARGS__) ? symbol : 0;                        \
  }                                                                                                                    \
  static __device__ __forceinline__ void weir__body_##name(const struct weir__group_##name *weir__group,               \
                                                           WEIR__EACH(WEIR__DECLARE, __VA_ARGS__))

// Where Weir wants one kernel only, the others have no function, and so no local memory.
#define WEIR__TAKEN(name, ...) (weir__words_##name::before(WEIR__COUNT(__VA_ARGS__)) <= 12 && WEIR__WANTED(#name))
#if defined(WEIR__RESIDENT_ONLY)
static __device__ constexpr bool weir__same(const char *a, const char *b) {
  while (*a != 0 && *a == *b) a++, b++;
  return *a == *b;
}
#define WEIR__WANTED(name) weir__same(name, WEIR__RESIDENT_ONLY)
#else
#define WEIR__WANTED(name) true
#endif

#define WEIR__WORDS(index, parameter) WEIR__CALL(WEIR__WORDS_AS, WEIR__BARE parameter)
#define WEIR__WORDS_AS(kind, type, name) WEIR__WORDS_##kind(type)
#define WEIR__WORDS_BUFFER(type) 1
#define WEIR__WORDS_SCALAR(type) (alignof(type) <= 8 ? (int)(sizeof(type) + 7) / 8 : 13)
#define WEIR__FETCH_BUFFER(index, type) weir__global((type *)weir__work->args[weir__words::before(index)])
#define WEIR__FETCH_SCALAR(index, type) *(const type *)&weir__work->args[weir__words::before(index)]

// Tells the compiler that a pointer to a buffer is to global memory. Other code may write the memory while the resident
// kernel runs, so it must not be read as constant (ld.global.nc). The compiler reads memory as constant only through
// parameters of launches.
template <class type> static __device__ __forceinline__ type *weir__global(type *pointer) {
  __builtin_assume(__isGlobal(pointer));
  return pointer;
}

// An item loop is two loops of one iteration, so that `continue` leads to the wait: a barrier among this kernel's
// warps.
#define WEIR_FOR_EACH_ITEM                                                                                             \
  for (int weir__once = 1; weir__once; weir__once = 0, __barrier_sync_count(1, WEIR__WHOLE_WARPS(WEIR__ITEMS)))        \
  WEIR_FOR_EACH_ITEM_NOWAIT
#define WEIR_FOR_EACH_ITEM_NOWAIT for (bool weir__item = WEIR__THREAD < WEIR__ITEMS; weir__item; weir__item = false)

#define weir_local_id(d)                                                                                               \
  ((int32_t)((d) == 0   ? WEIR__THREAD % weir_local_size(0)                                                            \
             : (d) == 1 ? WEIR__THREAD / weir_local_size(0) % weir_local_size(1)                                       \
                        : WEIR__THREAD / weir_local_size(0) / weir_local_size(1)))

#endif

// ---------------------------------------------------------------------------------------------------------------
#elif WEIR_ON_OPENCL

#pragma OPENCL FP_CONTRACT OFF
#if defined(cl_khr_fp64)
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif

typedef char int8_t;
typedef uchar uint8_t;
typedef short int16_t;
typedef ushort uint16_t;
typedef int int32_t;
typedef uint uint32_t;
typedef long int64_t;
typedef ulong uint64_t;

#define WEIR_KERNEL(name, x, y, z, parameters)                                                                         \
  __kernel __attribute__((reqd_work_group_size(x, y, z))) void name parameters
#define WEIR_BUFFER(type, name) __global type *restrict name
#define WEIR_SCALAR(type, name) type name
#define WEIR_FUNCTION static
#define WEIR_GLOBAL __global
#define WEIR_LOCAL_POINTER __local
#define WEIR_LOCAL __local
#define WEIR_CONSTANT __constant

#define WEIR__BARRIER() barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)
#define WEIR_FOR_EACH_ITEM for (int weir__once = 1; weir__once; weir__once = 0, WEIR__BARRIER())
#define WEIR_FOR_EACH_ITEM_NOWAIT for (int weir__once = 1; weir__once; weir__once = 0)

#define weir_local_id(d) ((int)get_local_id(d))
#define weir_local_size(d) ((int)get_local_size(d))
#define weir_group_id(d) ((int)get_group_id(d))
#define weir_group_count(d) ((int)get_num_groups(d))

#define weir_atomic_add(pointer, value) atomic_add(pointer, value)
#define weir_atomic_min(pointer, value) atomic_min(pointer, value)
#define weir_atomic_max(pointer, value) atomic_max(pointer, value)
#define weir_atomic_cas(pointer, expected, desired) atomic_cmpxchg(pointer, expected, desired)

// OpenCL C has no addition to a float in memory: one function for each address space.
#define WEIR__ATOMIC_ADD_FLOAT(space)                                                                                  \
  static float __attribute__((overloadable, unused))                                                                   \
  weir_atomic_add_float(volatile space float *pointer, float value) {                                                  \
    volatile space uint *bits = (volatile space uint *)pointer;                                                        \
    uint seen = *bits, expected;                                                                                       \
    do {                                                                                                               \
      expected = seen;                                                                                                 \
      seen = atomic_cmpxchg(bits, expected, as_uint(as_float(expected) + value));                                      \
    } while (seen != expected);                                                                                        \
    return as_float(seen);                                                                                             \
  }
WEIR__ATOMIC_ADD_FLOAT(__global)
WEIR__ATOMIC_ADD_FLOAT(__local)

#define sqrtf(x) sqrt((float)(x))
#define fabsf(x) fabs((float)(x))
#define floorf(x) floor((float)(x))
#define ceilf(x) ceil((float)(x))
#define expf(x) exp((float)(x))
#define logf(x) log((float)(x))
#define sinf(x) sin((float)(x))
#define cosf(x) cos((float)(x))
#define tanhf(x) tanh((float)(x))
#define powf(x, y) pow((float)(x), (float)(y))
#define fminf(x, y) fmin((float)(x), (float)(y))
#define fmaxf(x, y) fmax((float)(x), (float)(y))
#define fmaf(x, y, z) fma((float)(x), (float)(y), (float)(z))

// ---------------------------------------------------------------------------------------------------------------
#else // on the CPU

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "weir/cuda.h"
#include "weir/opencl.h"
#include "weir/weir.h"

// A kernel for the host. WEIR_KERNEL defines one, under the kernel's name.
typedef struct weir_kernel_code {
  const char *name;
  weir_function function; // for the CPU
  const char *source;     // for CUDA and OpenCL, with this header, if weir_add_kernels embedded it; else NULL
  uint32_t block[3];      // work-items of a work-group in x, y, z
} weir_kernel_code;

// Creates a kernel with its code for the CPU. If the source is embedded, the kernel also has code for the context's
// CUDA and OpenCL devices, compiled such that +, -, *, / and sqrt give the same bits on all devices; on OpenCL, / and
// sqrt of floats do so where the device offers it. The task's groups are work-groups.
// Errors: as weir_kernel_create, weir_kernel_set_cpu, weir_kernel_set_cuda and weir_kernel_set_opencl.
static inline weir_status weir_kernel_create_from(weir_context *context, const weir_kernel_code *code,
                                                  weir_kernel **out_kernel) {
  weir_status status = weir_kernel_create(context, code->name, out_kernel);
  if (status != WEIR_OK) return status;
  status = weir_kernel_set_cpu(*out_kernel, code->function);
  bool cuda = false, opencl = false;
  for (uint32_t i = 0; i < weir_context_device_count(context); i++) {
    const char *kind = weir_device_information(weir_context_device(context, i))->kind;
    cuda = cuda || strcmp(kind, "cuda") == 0;
    opencl = opencl || strcmp(kind, "opencl") == 0;
  }
  if (status == WEIR_OK && cuda && code->source) {
    weir_cuda_code cuda_code;
    weir_cuda_launch launch;
    memset(&cuda_code, 0, sizeof cuda_code);
    memset(&launch, 0, sizeof launch);
    cuda_code.source = code->source;
    cuda_code.options = "-fmad=false";
    cuda_code.groups = true;
    launch.function = code->name;
    memcpy(launch.block, code->block, sizeof launch.block);
    status = weir_kernel_set_cuda(*out_kernel, &cuda_code, &launch, 1);
  }
  if (status == WEIR_OK && opencl && code->source) {
    weir_opencl_code opencl_code;
    weir_opencl_launch launch;
    memset(&opencl_code, 0, sizeof opencl_code);
    memset(&launch, 0, sizeof launch);
    opencl_code.source = code->source;
    opencl_code.exact = true;
    launch.entry = code->name;
    memcpy(launch.local, code->block, sizeof launch.local);
    status = weir_kernel_set_opencl(*out_kernel, &opencl_code, &launch);
  }
  if (status != WEIR_OK) {
    weir_kernel_release(*out_kernel);
    *out_kernel = NULL;
  }
  return status;
}

// WEIR_KERNEL makes from one list of parameters the body as a function of a work-group, the weir_function that calls it
// for each work-group of a range, and the weir_kernel_code.
#if defined(WEIR_KERNEL_SOURCE)
extern const char WEIR_KERNEL_SOURCE[];
#else
#define WEIR_KERNEL_SOURCE NULL
#endif
#define WEIR_KERNEL(name, x, y, z, parameters) WEIR__KERNEL(name, x, y, z, WEIR__BARE parameters)
#define WEIR__KERNEL(name, x, y, z, ...)                                                                               \
  WEIR__GROUP(name, x, y, z);                                                                                          \
  static inline __attribute__((always_inline)) void weir__body_##name(const struct weir__group_##name *weir__group,    \
                                                                      WEIR__EACH(WEIR__DECLARE, __VA_ARGS__));         \
  static void weir__run_##name(const weir_work *weir__work) {                                                          \
    if (weir__work->arg_count != WEIR__COUNT(__VA_ARGS__)) {                                                           \
      weir_work_fail(weir__work, "the task has more or fewer arguments than kernel " #name " has parameters");         \
      return;                                                                                                          \
    }                                                                                                                  \
    const uint32_t *count = weir__work->groups;                                                                        \
    struct weir__group_##name group = {.count = {(int32_t)count[0], (int32_t)count[1], (int32_t)count[2]}};            \
    for (uint64_t i = weir__work->first; i < weir__work->end; i++) {                                                   \
      group.id[0] = (int32_t)(i % count[0]);                                                                           \
      group.id[1] = (int32_t)(i / count[0] % count[1]);                                                                \
      group.id[2] = (int32_t)(i / count[0] / count[1]);                                                                \
      weir__body_##name(&group, WEIR__EACH(WEIR__FETCH, __VA_ARGS__));                                                 \
    }                                                                                                                  \
  }                                                                                                                    \
  extern const weir_kernel_code name;                                                                                  \
  const weir_kernel_code name = {#name, weir__run_##name, WEIR_KERNEL_SOURCE, {x, y, z}};                              \
  static inline __attribute__((always_inline)) void weir__body_##name(const struct weir__group_##name *weir__group,    \
                                                                      WEIR__EACH(WEIR__DECLARE, __VA_ARGS__))
#define WEIR_FUNCTION static inline
#define WEIR_GLOBAL
#define WEIR_LOCAL_POINTER
#define WEIR_LOCAL
#define WEIR_CONSTANT static const

#define WEIR__FETCH_BUFFER(index, type) (type *)weir__work->args[index]
#define WEIR__FETCH_SCALAR(index, type) *(const type *)weir__work->args[index]

// An item loop is three loops. Its work-items are independent, so the compiler may vectorise the loop along x.
#if defined(__GNUC__) && !defined(__clang__)
#define WEIR__INDEPENDENT _Pragma("GCC ivdep")
#else
#define WEIR__INDEPENDENT
#endif
#define WEIR_FOR_EACH_ITEM                                                                                             \
  for (int32_t weir__z = 0; weir__z < weir_local_size(2); weir__z++)                                                   \
    for (int32_t weir__y = 0; weir__y < weir_local_size(1); weir__y++)                                                 \
  WEIR__INDEPENDENT for (int32_t weir__x = 0; weir__x < weir_local_size(0); weir__x++)
#define WEIR_FOR_EACH_ITEM_NOWAIT WEIR_FOR_EACH_ITEM

#define weir_local_id(d) ((d) == 0 ? weir__x : (d) == 1 ? weir__y : weir__z)

#define WEIR__ATOMIC(name, pointer)                                                                                    \
  _Generic((pointer), int32_t * : weir__atomic_##name##_int, uint32_t * : weir__atomic_##name##_uint)
#define weir_atomic_add(pointer, value) WEIR__ATOMIC(add, pointer)(pointer, value)
#define weir_atomic_min(pointer, value) WEIR__ATOMIC(min, pointer)(pointer, value)
#define weir_atomic_max(pointer, value) WEIR__ATOMIC(max, pointer)(pointer, value)
#define weir_atomic_cas(pointer, expected, desired) WEIR__ATOMIC(cas, pointer)(pointer, expected, desired)

#define WEIR__ATOMICS(type, suffix)                                                                                    \
  static inline type weir__atomic_add_##suffix(type *pointer, type value) {                                            \
    return __atomic_fetch_add(pointer, value, __ATOMIC_RELAXED);                                                       \
  }                                                                                                                    \
  static inline type weir__atomic_cas_##suffix(type *pointer, type expected, type desired) {                           \
    __atomic_compare_exchange_n(pointer, &expected, desired, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);               \
    return expected;                                                                                                   \
  }                                                                                                                    \
  static inline type weir__atomic_min_##suffix(type *pointer, type value) {                                            \
    type seen = __atomic_load_n(pointer, __ATOMIC_RELAXED);                                                            \
    while (value < seen &&                                                                                             \
           !__atomic_compare_exchange_n(pointer, &seen, value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {           \
    }                                                                                                                  \
    return seen;                                                                                                       \
  }                                                                                                                    \
  static inline type weir__atomic_max_##suffix(type *pointer, type value) {                                            \
    type seen = __atomic_load_n(pointer, __ATOMIC_RELAXED);                                                            \
    while (value > seen &&                                                                                             \
           !__atomic_compare_exchange_n(pointer, &seen, value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {           \
    }                                                                                                                  \
    return seen;                                                                                                       \
  }
WEIR__ATOMICS(int32_t, int)
WEIR__ATOMICS(uint32_t, uint)

static inline float weir_atomic_add_float(float *pointer, float value) {
  float seen, sum;
  __atomic_load(pointer, &seen, __ATOMIC_RELAXED);
  do {
    sum = seen + value;
  } while (!__atomic_compare_exchange(pointer, &seen, &sum, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
  return seen;
}

#endif

// ---------------------------------------------------------------------------------------------------------------

#if WEIR_ON_CPU || WEIR__ON_RESIDENT // one function for a work-group

// A group has its size as sizes of arrays, which are constants wherever the body uses them.
#define WEIR__GROUP(name, x, y, z)                                                                                     \
  struct weir__group_##name {                                                                                          \
    int32_t id[3], count[3];                                                                                           \
    const char (*size_x)[x], (*size_y)[y], (*size_z)[z];                                                               \
  }
#define WEIR__ITEMS (sizeof *weir__group->size_x * sizeof *weir__group->size_y * sizeof *weir__group->size_z)
#define weir_local_size(d)                                                                                             \
  ((int32_t)((d) == 0   ? sizeof *weir__group->size_x                                                                  \
             : (d) == 1 ? sizeof *weir__group->size_y                                                                  \
                        : sizeof *weir__group->size_z))
#define weir_group_id(d) (weir__group->id[d])
#define weir_group_count(d) (weir__group->count[d])

#define WEIR_BUFFER(type, name) (BUFFER, type, name)
#define WEIR_SCALAR(type, name) (SCALAR, type, name)

// A parameter is (kind, type, name). From it come its declaration in the body and the value that is passed for it.
#define WEIR__BARE(...) __VA_ARGS__
#define WEIR__CALL(macro, ...) macro(__VA_ARGS__)
#define WEIR__DECLARE(index, parameter) WEIR__CALL(WEIR__DECLARE_AS, WEIR__BARE parameter)
#define WEIR__DECLARE_AS(kind, type, name) WEIR__DECLARE_##kind(type, name)
#define WEIR__DECLARE_BUFFER(type, name) type *__restrict__ name
#define WEIR__DECLARE_SCALAR(type, name) type name
#define WEIR__FETCH(index, parameter) WEIR__CALL(WEIR__FETCH_AS, index, WEIR__BARE parameter)
#define WEIR__FETCH_AS(index, kind, type, name) WEIR__FETCH_##kind(index, type)

#define WEIR__COUNT(...) WEIR__TWELFTH(__VA_ARGS__, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#define WEIR__TWELFTH(a, b, c, d, e, f, g, h, i, j, k, l, count, ...) count
#define WEIR__EACH(macro, ...) WEIR__CALL(WEIR__JOIN, WEIR__EACH_, WEIR__COUNT(__VA_ARGS__))(macro, __VA_ARGS__)
#define WEIR__JOIN(a, b) a##b
#define WEIR__EACH_1(m, a) m(0, a)
#define WEIR__EACH_2(m, a, b) m(0, a), m(1, b)
#define WEIR__EACH_3(m, a, b, c) WEIR__EACH_2(m, a, b), m(2, c)
#define WEIR__EACH_4(m, a, b, c, d) WEIR__EACH_3(m, a, b, c), m(3, d)
#define WEIR__EACH_5(m, a, b, c, d, e) WEIR__EACH_4(m, a, b, c, d), m(4, e)
#define WEIR__EACH_6(m, a, b, c, d, e, f) WEIR__EACH_5(m, a, b, c, d, e), m(5, f)
#define WEIR__EACH_7(m, a, b, c, d, e, f, g) WEIR__EACH_6(m, a, b, c, d, e, f), m(6, g)
#define WEIR__EACH_8(m, a, b, c, d, e, f, g, h) WEIR__EACH_7(m, a, b, c, d, e, f, g), m(7, h)
#define WEIR__EACH_9(m, a, b, c, d, e, f, g, h, i) WEIR__EACH_8(m, a, b, c, d, e, f, g, h), m(8, i)
#define WEIR__EACH_10(m, a, b, c, d, e, f, g, h, i, j) WEIR__EACH_9(m, a, b, c, d, e, f, g, h, i), m(9, j)
#define WEIR__EACH_11(m, a, b, c, d, e, f, g, h, i, j, k) WEIR__EACH_10(m, a, b, c, d, e, f, g, h, i, j), m(10, k)
#define WEIR__EACH_12(m, a, b, c, d, e, f, g, h, i, j, k, l) WEIR__EACH_11(m, a, b, c, d, e, f, g, h, i, j, k), m(11, l)

#endif

#define weir_global_id(d) (weir_group_id(d) * weir_local_size(d) + weir_local_id(d))
#define weir_global_size(d) (weir_group_count(d) * weir_local_size(d))

#if WEIR_ON_CPU
#define WEIR__ITEM ((weir__z * weir_local_size(1) + weir__y) * weir_local_size(0) + weir__x)
#define WEIR_PRIVATE(type, name, count) type name[count][WEIR__ITEMS]
#define weir_private(name, index) name[index][WEIR__ITEM]
#else
#define WEIR_PRIVATE(type, name, count) type name[count]
#define weir_private(name, index) name[index]
#endif

#endif // WEIR_KERNEL_H
