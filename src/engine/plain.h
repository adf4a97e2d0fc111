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

#endif // WEIR_ENGINE_PLAIN_H
