// SPDX-License-Identifier: Apache-2.0
//
// The way of a fence into the window.
#ifndef WEIR_ENGINE_FENCE_H
#define WEIR_ENGINE_FENCE_H

#include "device/fence.h"
#include "engine/context.h"

// Submits the task of a fence on `device`. One that signals comes after `event` (NULL: all tasks in flight); after one that
// waits come all tasks that are submitted later. `label` names it. On failure the fence is the caller's again. Takes the
// lock.
weir_status weir__fence_submit(weir_device *device, weir__external_fence *fence, const weir_event *event,
                               const char *label, weir_event **out_event);

#endif // WEIR_ENGINE_FENCE_H
