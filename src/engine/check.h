// SPDX-License-Identifier: Apache-2.0
//
// Checks of what is submitted, and the texts of refusals.
#ifndef WEIR_ENGINE_CHECK_H
#define WEIR_ENGINE_CHECK_H

#include "engine/submission.h"

enum { WEIR__MAX_VALUE_BYTES = 4096 };

// For messages: "read", "write", ...
const char *weir__mode_name(weir_mode mode);

// Checks the rest of a task and chooses its device.
weir_status weir__check_task(weir_context *context, const weir__submission *submission, weir_device **out_device);

// Checks the arguments of a task against `context` and turns them into accesses (room for as many as there are
// arguments) in `space`. The `box` of an access is then the number of its box in context->order.boxes, + 1, until
// weir__keep_boxes. The lock is held. PENDING: an argument's mode is WEIR_AUTO, and weir__take_modes must put another in its
// place first.
weir_status weir__check_args(weir_context *context, const weir_task *task, uint32_t space, weir__access *accesses,
                             weir__checked *out_checked);

// Whether no two accesses to ranges of one buffer disagree. Asked of few accesses.
bool weir__ranges_agree(const weir__access *accesses, uint32_t count);

// Checks that offset and length suit a pattern of 4 bytes. A length of WEIR_WHOLE is that of no range: the offset is
// beyond the buffer, which others refuse.
weir_status weir__check_fill(const weir_buffer *buffer, uint64_t offset, uint64_t bytes, const char *what);

// Report why a task is refused, or LATER if it may be queued: it would have to wait for `what` in a task or callback; there is no memory for `what`.
weir__admit_result weir__would_wait(const weir__submission *submission, const char *what, weir_status *out_status);
weir__admit_result weir__no_memory(const weir__submission *submission, const char *what, weir_status *out_status);

// Says on stderr, once for each reason in a process, what check mode does not check.
void weir__check_cannot(const char *what, const char *why);

#endif // WEIR_ENGINE_CHECK_H
