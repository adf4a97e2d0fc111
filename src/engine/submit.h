// SPDX-License-Identifier: Apache-2.0
//
// The way of a caller's task into the window, once through: checked, given a place (room, contents, storage), its dependences
// found, committed. Only finding it a place may release the lock, and then the task is checked anew.
#ifndef WEIR_ENGINE_SUBMIT_H
#define WEIR_ENGINE_SUBMIT_H

#include "engine/plain.h"
#include "engine/submission.h"

// Submits a task. The lock is held before and after; it is released meanwhile if there is something to wait for.
weir_status weir__submit(weir_context *context, const weir__submission *submission, weir_event **out_event);

// Submits a task of the caller's that is not plain. The same holds.
weir_status weir__submit_special(weir_context *context, const weir_task *task, weir_event **out_event);

// Submits a task of the caller's, by the short way where that is possible. The same holds.
static inline weir_status weir__submit_task(weir_context *context, const weir_task *task, weir_event **out_event) {
  if (weir__submit_short(context, task, out_event)) return WEIR_OK;
  return weir__submit_special(context, task, out_event);
}

// As weir__submit, in one attempt. `direct`: where the task adds by a reduction it adds to the buffer itself, and what is still to be
// combined stays so.
weir__admit_result weir__submit_once(weir_context *context, const weir__submission *submission, bool direct,
                                     weir_event **out_event, weir_status *out_status);

#endif // WEIR_ENGINE_SUBMIT_H
