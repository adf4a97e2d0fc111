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
weir_status weir__fence_submit(weir_device *device, weir__external_fence *fence, weir_event *event, const char *label,
                               weir_event **out_event);

// The same of a marker (weir__device_ops.marker), which comes after all tasks that conflict with an access of `mode`
// (READ, WRITE, READ_WRITE) to the buffer. `fence` NULL: the device has none, and runs host tasks.
weir_status weir__fence_submit_behind(weir_device *device, weir__external_fence *fence, weir_buffer *buffer,
                                      weir_mode mode, weir_event **out_event);

#endif // WEIR_ENGINE_FENCE_H
