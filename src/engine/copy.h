// SPDX-License-Identifier: Apache-2.0
//
// Copies and fills. A copy is a task like any other.
#ifndef WEIR_ENGINE_COPY_H
#define WEIR_ENGINE_COPY_H

#include "engine/submission.h"

// Copies and fills as weir_copy_in and the like submit them. `by` says for whom; its task is not looked at.
weir_status weir__copy_in(const weir__submission *by, weir_buffer *buffer, uint64_t offset, uint64_t bytes,
                          const void *source, weir_event **out_event);
weir_status weir__copy_out(const weir__submission *by, weir_buffer *buffer, uint64_t offset, uint64_t bytes,
                           void *destination, weir_event **out_event);
// The same for a submission with a target whose failures weir_finish does not report. `out_first` gets an event of the
// copy that brings the bytes to the host, where this takes one of its own; else NULL. If that fails, the other is
// skipped.
weir_status weir__copy_out_in_halves(const weir__submission *by, weir_buffer *buffer, uint64_t offset, uint64_t bytes,
                                     void *destination, weir_event **out_first, weir_event **out_event);
weir_status weir__copy(const weir__submission *by, weir_buffer *destination, uint64_t destination_offset,
                       weir_buffer *source, uint64_t source_offset, uint64_t bytes, weir_event **out_event);
weir_status weir__fill(const weir__submission *by, weir_buffer *buffer, uint64_t offset, uint64_t bytes,
                       uint32_t pattern, weir_event **out_event);

// Fills a buffer with a pattern by a device with memory of its own, in one attempt. The lock is held.
weir__admit_result weir__fill_once(weir_context *context, const weir__submission *by, weir_device *device,
                                   weir_buffer *buffer, uint32_t pattern, weir_status *out_status);

#endif // WEIR_ENGINE_COPY_H
