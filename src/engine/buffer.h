// SPDX-License-Identifier: Apache-2.0
//
// Buffers as they are made.
#ifndef WEIR_ENGINE_BUFFER_H
#define WEIR_ENGINE_BUFFER_H

#include "engine/context.h"

// Makes a buffer. `what` names the call in messages.
weir_status weir__buffer_make(weir_context *context, const char *what, uint64_t bytes, weir_buffer **out_buffer);

// Makes one of wrapped memory in `space`.
weir_status weir__buffer_make_of(weir_context *context, const char *what, void *memory, uint32_t space, uint64_t bytes,
                                 weir_buffer **out_buffer);

// Makes one of its own storage. The lock is held. NULL: no memory.
weir_buffer *weir__buffer_new(weir_context *context, uint64_t bytes);

// Makes a buffer of memory of the device's that the device has taken over from the caller, or lets go of it.
weir_status weir__buffer_wrap(weir_device *device, void *memory, uint64_t bytes, weir_buffer **out_buffer);

// Releases a buffer: its storage returns after its last use. Takes the lock.
weir_status weir__buffer_release(weir_buffer *buffer);

// Releases one that was not released before; queued submissions may name it. The lock is held.
void weir__buffer_give_up(weir_buffer *buffer);

// A queued submission that named the buffer has entered, or was refused. The lock is held.
void weir__buffer_unqueue(weir_buffer *buffer);
// The same of several buffers of the context.
void weir__buffers_unqueue(weir_context *context, weir_buffer *const *buffers, uint32_t count);
// The same, of a buffer that was not released before. The lock is held.
void weir__buffer_let_go(weir_buffer *buffer);

#endif // WEIR_ENGINE_BUFFER_H
