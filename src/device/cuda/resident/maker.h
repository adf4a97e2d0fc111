// SPDX-License-Identifier: Apache-2.0
//
// What a resident kernel needs, made beside all else by a thread of its own: code is compiled and linked, and a ring made. A maker
// knows which launches may be wanted, and nothing of tasks.
//
// DESIGN. It works for two reasons. Somebody asks (weir__resident_maker_ask): then it compiles what was not. Or new launches have come
// whose code has been compiled on this machine before, and is in the cache on disk: then it takes them as soon as no more come, since
// to link them takes some milliseconds of a core, and the program's first tasks find the resident kernel there. A program that makes
// kernels again and again would pay for a link of all of them each time, so it waits longer after each one.
#ifndef WEIR_DEVICE_CUDA_RESIDENT_MAKER_H
#define WEIR_DEVICE_CUDA_RESIDENT_MAKER_H

#include "device/cuda/resident/wishes.h"

typedef struct weir__resident_maker weir__resident_maker;

// Code that is linked: of the first `count` wishes, where their functions are (0: not there).
typedef struct weir__resident_linked {
  weir__resident_module module;
  uint64_t *functions;
  uint32_t count;
} weir__resident_linked;

typedef weir_status (*weir__resident_make_ring)(weir__cuda_device *device, weir__resident **out_ring);

// `make_ring` is called once, by the thread, when code was linked for the first time. NULL: no memory.
weir__resident_maker *weir__resident_maker_create(weir__cuda_device *device, weir__resident_make_ring make_ring);
// Ends its thread: nothing more is made.
void weir__resident_maker_stop(weir__resident_maker *maker);
// After that: frees what was not taken, but for the ring. The device's context is current.
void weir__resident_maker_destroy(weir__resident_maker *maker);

// A launch that may be wanted: weir__resident_wishes_add. Any thread.
uint32_t weir__resident_maker_wish(weir__resident_maker *maker, const weir_cuda_code *code,
                                   const weir_cuda_launch *launch);

// What follows is called by the device's thread only.

// Asks for all that was wished for so far, unless it was linked; with `awaits` it is waited for. False: no thread is to be had for it.
bool weir__resident_maker_ask(weir__resident_maker *maker, bool awaits);
// How many wishes there were then.
uint32_t weir__resident_maker_asked(const weir__resident_maker *maker);

// Whether there is something to take: the newest, which the caller frees with weir__resident_linked_free or gives to the ring.
bool weir__resident_maker_has_linked(const weir__resident_maker *maker);
weir__resident_linked *weir__resident_maker_take(weir__resident_maker *maker);
void weir__resident_linked_free(weir__cuda_device *device, weir__resident_linked *linked); // NULL is allowed

// The ring, which is there as soon as anything was linked, and is the device's; NULL: none yet. When nothing is being made.
weir__resident *weir__resident_maker_ring(const weir__resident_maker *maker);

#endif // WEIR_DEVICE_CUDA_RESIDENT_MAKER_H
