// SPDX-License-Identifier: Apache-2.0
//
// Launches whose code a context may want in a resident kernel: their sources, each once, until they are compiled. The caller
// guards a list; an entry's strings, once there, are the compiling thread's alone.
#ifndef WEIR_DEVICE_CUDA_RESIDENT_WISHES_H
#define WEIR_DEVICE_CUDA_RESIDENT_WISHES_H

#include "base/hash.h"
#include "device/cuda/resident/link.h"

typedef struct weir__resident_wish {
  weir__hash id;
  char *source, *options, *function; // NULL once it was compiled
  uint32_t block[3], shared_bytes, value_bytes;
  weir__resident_part *part; // NULL: not compiled, or it does not fit
} weir__resident_wish;

typedef struct weir__resident_wishes {
  weir__resident_wish *all;
  uint32_t count, capacity;
} weir__resident_wishes;

// The number + 1 of a launch's wish, which equal ones share. 0: its code cannot be compiled for a resident kernel, or there is
// no memory.
uint32_t weir__resident_wishes_add(weir__resident_wishes *wishes, const weir_cuda_code *code,
                                   const weir_cuda_launch *launch);
void weir__resident_wishes_free(weir__resident_wishes *wishes);

// Compiles a wish, with `cached_only` if that takes no compiler. False: it would. NULL: it may not fit, or not compile so; then its
// tasks stay in queues.
bool weir__resident_wish_compile(weir__cuda_device *device, const weir__resident_wish *wish, bool cached_only,
                                 weir__resident_part **out_part);

// The source of a wish that was compiled is not needed any more.
void weir__resident_wish_forget(weir__resident_wish *wish);

#endif // WEIR_DEVICE_CUDA_RESIDENT_WISHES_H
