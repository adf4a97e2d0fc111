// SPDX-License-Identifier: Apache-2.0
//
// What a submission does when there is no storage for it: in the memory of a device it makes buffers give way that nothing in
// flight uses (evict.h), and waits for tasks in flight. When none is left, it takes storage that holds nothing of its own, and at
// last waits a little for other threads, which may be about to release buffers.
#ifndef WEIR_ENGINE_PRESSURE_H
#define WEIR_ENGINE_PRESSURE_H

#include "engine/submission.h"

// Makes storage come free in `space` for `bytes` bytes, where `result` says why there was none. RETRY: the lock may have been released, and there
// may be some now. REFUSED: there is none to be had; `*out_status` is OK if the caller must report it.
weir__admit_result weir__await_storage(weir_context *context, const weir__submission *submission, uint32_t space,
                                       uint64_t bytes, weir__pool_result result, weir_status *out_status);

// Bytes of the buffers that a task names, without those that are wrapped.
uint64_t weir__storage_needed(const weir_task *task);

// Storage was released. The lock is held.
static inline void weir__storage_returned(weir_context *context) {
  if (context->memory.waiting_for_returns == 0) return;
  atomic_fetch_add_explicit(&context->memory.returns, 1, memory_order_release);
  weir__host_wake(&context->host, &context->memory.returns);
}

// Keeps a buffer's storage from being taken for what is being admitted. Counted anew by each check of arguments.
static inline void weir__pin(weir_context *context, weir_buffer *buffer) {
  buffer->named = context->checks;
}

#endif // WEIR_ENGINE_PRESSURE_H
