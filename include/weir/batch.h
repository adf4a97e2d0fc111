// SPDX-License-Identifier: Apache-2.0
//
// Many submissions at a smaller price each: arrays of tasks, and tasks that are prepared once (docs/guide/batches.md).
#ifndef WEIR_BATCH_H
#define WEIR_BATCH_H

#include "weir/weir.h"

#ifdef __cplusplus
extern "C" {
#endif

// Submits `count` tasks in their order, as so many calls of weir_submit would, and stops at the first one that is
// refused. Tasks of other threads may come between them. If `out_events` is not NULL it has room for `count` events,
// which the caller releases; tasks that were not submitted get NULL. `out_submitted` (may be NULL) gets how many were
// submitted.
// Errors: as weir_submit, of the task that was refused. weir_last_error() says its index, if `count` is more than 1.
// Those before it are submitted, those behind it are not.
WEIR_API weir_status weir_submit_many_sized(weir_context *context, const weir_task *tasks, size_t task_size,
                                            uint64_t count, weir_event **out_events, uint64_t *out_submitted);
static inline weir_status weir_submit_many(weir_context *context_, const weir_task *tasks_, uint64_t count_,
                                           weir_event **out_events_, uint64_t *out_submitted_) {
  return weir_submit_many_sized(context_, tasks_, sizeof *tasks_, count_, out_events_, out_submitted_);
}

// A task whose buffers and values are named when it is submitted.
typedef struct weir_prepared weir_prepared;

// Prepares a task. Its arguments say what does not change: modes, ranges (`offset`, `bytes`) and lengths of values.
// Their buffers and the addresses of their values are not looked at. Modes are VALUE, READ, WRITE, READ_WRITE and
// COMMUTE, and shapes ranges. The label is copied. `after`, `destroy` and `group` must not be set.
// Errors: INVALID_ARGUMENT, RELEASED, NO_CODE, OUT_OF_MEMORY.
WEIR_API weir_status weir_prepare_sized(weir_context *context, const weir_task *task, size_t task_size,
                                        weir_prepared **out_prepared);
static inline weir_status weir_prepare(weir_context *context_, const weir_task *task_, weir_prepared **out_prepared_) {
  return weir_prepare_sized(context_, task_, sizeof *task_, out_prepared_);
}

// Submits the task `count` times in this order, each time with the next buffers and values: `buffers` has one for each
// argument that is not a value, in the order of the arguments, for the first task, then for the second, and so on;
// `values` in the same way has the address of each value, whose bytes are copied at once. A task without buffers or
// values takes NULL. `out_events` and `out_submitted` are as for weir_submit_many, and so are errors. May be called by
// several threads at a time.
WEIR_API weir_status weir_prepared_submit_many(weir_prepared *prepared, weir_buffer *const *buffers,
                                               const void *const *values, uint64_t count, weir_event **out_events,
                                               uint64_t *out_submitted);

// The same once.
static inline weir_status weir_prepared_submit(weir_prepared *prepared_, weir_buffer *const *buffers_,
                                               const void *const *values_, weir_event **out_event_) {
  return weir_prepared_submit_many(prepared_, buffers_, values_, 1, out_event_, (uint64_t *)0);
}

// Releases a prepared task, at any time; what was submitted goes on. `prepared` may be NULL.
// Errors: RELEASED.
WEIR_API weir_status weir_prepared_release(weir_prepared *prepared);

#ifdef __cplusplus
}
#endif
#endif // WEIR_BATCH_H
