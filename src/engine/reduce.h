// SPDX-License-Identifier: Apache-2.0
//
// Reductions. A task that adds to a range gets, in the place of its argument, the buffer itself or one of a few private copies,
// which are buffers of Weir's own: whichever fewest tasks wait for. On each of these the tasks commute. A reduction is
// OPEN while it has copies. Whoever submits an access of any other kind to its bytes first submits what combines them
// into the buffer: as transfers are submitted for contents that are elsewhere, one at a time, and then everything is
// checked again. A copy belongs to the reduction until the task that combines it is in the window, so that two submitters may
// do this at once. The lock is held in all of this.
#ifndef WEIR_ENGINE_REDUCE_H
#define WEIR_ENGINE_REDUCE_H

#include "engine/submission.h"

enum { WEIR__REDUCE_MOST_ARGS = 64 }; // of a task that gets copies

// Checks the reduction of an argument with its range of `bytes` bytes. The error text goes behind the task's name.
weir_status weir__reduce_check(const weir_context *context, uint32_t index, const weir_arg *arg, uint64_t bytes);

// Submits what combines copies of bytes that are accessed otherwise. `task`: has the accesses as its arguments, so that those
// which go on with a reduction do not count; NULL: all count. ADMITTED: there are no such copies, and nothing has changed.
weir__admit_result weir__reduce_combine_for(weir_context *context, const weir__submission *by, const weir_task *task,
                                            const weir__access *accesses, uint32_t count, weir_status *out_status);

// Where some buffer may have copies.
static inline bool weir__reduce_any(const weir_context *context) {
  return context->reductions.first != NULL;
}

// Chooses where a task on `device` adds to: `args`, a copy of its arguments, are changed. RETRY: a copy was made. ADMITTED: the task
// may be submitted, with these arguments, before the lock is released.
weir__admit_result weir__reduce_place(weir_context *context, const weir__submission *submission, weir_device *device,
                                      weir_arg *args, uint32_t arg_count, weir_status *out_status);

// Frees what is left when the context goes.
void weir__reduce_destroy(weir_context *context);

#endif // WEIR_ENGINE_REDUCE_H
