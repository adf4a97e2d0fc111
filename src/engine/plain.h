// SPDX-License-Identifier: Apache-2.0
//
// The short way into the window, for most tasks of most programs.
#ifndef WEIR_ENGINE_PLAIN_H
#define WEIR_ENGINE_PLAIN_H

#include "engine/context.h"

// Finds out whether the context's devices and options allow the short way. After they are all known.
void weir__plain_open(weir_context *context);

// Submits a task that is right, for which there is room, and that asks for nothing special, as weir__submit would. False:
// it is another kind of task, or perhaps not right. Nothing has changed then, and weir__submit says what is to be said. The lock
// is held, and not released meanwhile.
bool weir__submit_plain(weir_context *context, const weir_task *task, weir_event **out_event);

enum { WEIR__PLAIN_ARGS = 8 }; // their accesses and pointers fit in a slot

// A plain task without its buffers and values.
typedef struct weir__plain_form {
  bool plain;  // it is one, if these are plain, too
  bool valued; // some argument is a value
  uint32_t access_count;
  struct {
    uint64_t lo, bytes; // bytes may be WEIR_WHOLE
    uint8_t mode;       // weir_mode
    bool whole;         // of any buffer
  } accesses[WEIR__PLAIN_ARGS];
} weir__plain_form;

// Finds out what is known of a task that weir__submit would not refuse for its own sake.
void weir__plain_prepare(const weir_task *task, weir__plain_form *out_form);

// As weir__submit_plain, for a task of this form with these buffers. The arguments of `task` are looked at for values only, but
// `form` must be of these.
bool weir__submit_prepared(weir_context *context, const weir_task *task, const weir__plain_form *form,
                           weir_buffer *const *buffers, weir_event **out_event);

#endif // WEIR_ENGINE_PLAIN_H
