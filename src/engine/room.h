// SPDX-License-Identifier: Apache-2.0
//
// Room in the window.
#ifndef WEIR_ENGINE_ROOM_H
#define WEIR_ENGINE_ROOM_H

#include "engine/submission.h"

// Waits until the window has room for `slots` tasks and lets tasks in. The lock is held before and after; RETRY: it was
// released meanwhile. Refuses in a task or callback, which must not wait.
weir__admit_result weir__await_room(weir_context *context, const weir__submission *submission, uint32_t slots,
                                    weir_status *out_status);

#endif // WEIR_ENGINE_ROOM_H
