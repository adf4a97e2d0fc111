// SPDX-License-Identifier: Apache-2.0
//
// NVRTC, the compiler of CUDA C++, loaded at run time.
#ifndef WEIR_DEVICE_CUDA_NVRTC_H
#define WEIR_DEVICE_CUDA_NVRTC_H

#include <stdbool.h>

#include "device/cuda/symbols.h"
#include "weir/weir.h"

typedef struct weir__nvrtc {
#define WEIR__NVRTC_MEMBER(member, symbol, need, parameters) nvrtcResult(*member) parameters;
  WEIR__NVRTC_SYMBOLS(WEIR__NVRTC_MEMBER)
#undef WEIR__NVRTC_MEMBER
  int major, minor;
} weir__nvrtc;

// NVRTC: the file that the environment variable WEIR_NVRTC names, else libnvrtc.so of version 13 or 12 where the loader
// looks, in $CUDA_HOME/lib64 or in /usr/local/cuda/lib64. Loaded by the first call that finds it. NULL: `reason` says
// why. Any thread.
const weir__nvrtc *weir__nvrtc_load(char *reason, size_t size);

// Compiles CUDA C++ for devices of a compute capability (90: 9.0): to a cubin, or to PTX where NVRTC is too old to know
// the capability. Compiled code is kept in a cache on disk (disk_cache.h), except that of a source in which the word
// "include" occurs outside of comments: the cache could not see a change of what is included. The includes of weir/kernel.h,
// which NVRTC does not see, do not count. `kernel` is named in messages. The caller frees the image with weir__free; PTX
// ends with a zero byte.
// Errors: INVALID_ARGUMENT (the text holds the compiler's log), UNAVAILABLE (no NVRTC), OUT_OF_MEMORY.
weir_status weir__nvrtc_compile(const char *kernel, const char *source, const char *options, int capability,
                                void **out_image, size_t *out_bytes);

// The same, if it is in the cache on disk. Errors: NO_CODE (it is not), and as above.
weir_status weir__nvrtc_find(const char *kernel, const char *source, const char *options, int capability,
                             void **out_image, size_t *out_bytes);

// As weir__nvrtc_compile, and the PTX of a cubin, which says what the code does; it is kept in the cache, too. NULL: the
// image is PTX itself, or NVRTC has none for these options. The caller frees it with weir__free.
weir_status weir__nvrtc_compile_with_ptx(const char *kernel, const char *source, const char *options, int capability,
                                         void **out_image, size_t *out_bytes, char **out_ptx, size_t *out_ptx_bytes);

#endif // WEIR_DEVICE_CUDA_NVRTC_H
