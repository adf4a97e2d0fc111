// SPDX-License-Identifier: Apache-2.0
//
// Executable graphs that are kept for pieces that come again, by topology. Bounded: the one that was not used for longest
// goes first.
#ifndef WEIR_DEVICE_CUDA_CACHE_H
#define WEIR_DEVICE_CUDA_CACHE_H

#include "device/cuda/exec.h"

typedef struct weir__cuda_cache weir__cuda_cache;

weir__cuda_cache *weir__cuda_cache_create(weir__cuda_device *device); // NULL: no memory
void weir__cuda_cache_destroy(weir__cuda_cache *cache);

// An executable graph for the steps, set as they say: one that is set so already, else one of the same shape, else, if it is
// to `make_now`, a new one; NULL: there is none. `hash` is that of the topology. `known`: the beginning of the sequence was
// met before, so graphs of other shapes, which will be wanted again, are left alone; otherwise they are set anew if they are
// idle. `*out_wanted`: another graph for these steps would be of use. `*out_same`: nothing had to be set.
CUresult weir__cuda_cache_take(weir__cuda_cache *cache, const weir__cuda_step *steps, uint32_t count, uint64_t hash,
                               bool known, bool make_now, weir__cuda_exec **out_exec, bool *out_wanted, bool *out_same);

// The same, only if nothing has to be set; NULL: there is none, and `*out_wanted` tells whether there is none of the same kernels and grids either.
weir__cuda_exec *weir__cuda_cache_take_same(weir__cuda_cache *cache, const weir__cuda_step *steps, uint32_t count,
                                            uint64_t hash, bool *out_wanted);

// Adds a graph that was made elsewhere.
void weir__cuda_cache_add(weir__cuda_cache *cache, weir__cuda_exec *exec, uint64_t hash);

// A launch of the graph is done; `useless`: it must not be used again.
void weir__cuda_cache_give(weir__cuda_cache *cache, weir__cuda_exec *exec, bool useless);

#endif // WEIR_DEVICE_CUDA_CACHE_H
