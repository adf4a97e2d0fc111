// SPDX-License-Identifier: Apache-2.0
//
// Tasks that commute, on their way through the engine: see window/commute.h. The lock is held.
#ifndef WEIR_ENGINE_COMMUTE_H
#define WEIR_ENGINE_COMMUTE_H

#include "engine/context.h"

// The last blocker of a task that commutes and has not entered is gone. True: it goes to its device now.
bool weir__context_commute(weir_context *context, weir__task *task);

// Tasks are done: those that found no memory to be put behind others try again.
void weir__context_commute_again(weir_context *context);

#endif // WEIR_ENGINE_COMMUTE_H
