// SPDX-License-Identifier: Apache-2.0
//
// Accesses of work outside Weir to a buffer.
#ifndef WEIR_ENGINE_FOLLOW_H
#define WEIR_ENGINE_FOLLOW_H

#include "engine/context.h"

// Submits a host task that stands for an access to the whole of a wrapped buffer, in the memory where it lives, by work
// that ends with `event`. It runs when the event is done, and fails as that does. The lock is held before and after.
weir_status weir__follow_submit(weir_buffer *buffer, weir_mode mode, weir_event *event);

#endif // WEIR_ENGINE_FOLLOW_H
