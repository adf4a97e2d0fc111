// SPDX-License-Identifier: Apache-2.0
//
// Storage that work may use which never ends: of a device that was lost, or of the caller's.
#ifndef WEIR_ENGINE_LOST_H
#define WEIR_ENGINE_LOST_H

#include "engine/context.h"

// Keeps storage that the task uses from being handed out again or freed. The lock is held.
void weir__storage_leave(weir_context *context, const weir__task *task);

#endif // WEIR_ENGINE_LOST_H
