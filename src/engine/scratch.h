// SPDX-License-Identifier: Apache-2.0
//
// Scratch memory of tasks whose kernels' enqueue functions want some (weir/enqueue.h): one more argument, the last
// one, which the task overwrites. It is a buffer of the task's own, so that limits, waiting and release are those of
// all storage.
#ifndef WEIR_ENGINE_SCRATCH_H
#define WEIR_ENGINE_SCRATCH_H

#include "engine/context.h"

struct weir__enqueue;

// Bytes of the buffer for a function's scratch memory on a device, with what alignment takes (weir__enqueue_run). 0: it
// wants none; `enqueue` may be NULL.
uint64_t weir__scratch_bytes(const struct weir__enqueue *enqueue, const weir_device *device);

// Makes `*out_task` of the task, with room for WEIR_MAX_ARGS arguments in `args`, and the buffer of its scratch
// memory, which the caller gives up once the task has entered, or a graph no longer needs it. The device's check said
// PENDING; the lock is held.
weir_status weir__scratch_add(weir_context *context, const weir_device *device, const weir_task *task, weir_arg *args,
                              weir_task *out_task, weir_buffer **out_buffer);

#endif // WEIR_ENGINE_SCRATCH_H
