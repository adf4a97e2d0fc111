// SPDX-License-Identifier: Apache-2.0
//
// Whose failure it was that others were skipped for, and by way of which bytes: for texts.
//
// A task that fails by itself is a *root*, and has a number. What it should have written is poisoned under this number
// (weir__segment.poisoned), and so is what tasks should have written that are skipped for it. So a skipped task knows
// its root however many tasks are between. Nothing is allocated or noted before the first failure of the context, and
// the texts of the newest roots are kept. Where there is no memory for them, texts name no root.
// All functions are called with the lock held.
#ifndef WEIR_ENGINE_FAILURES_H
#define WEIR_ENGINE_FAILURES_H

#include "engine/context.h"

// A root that is not known.
#define WEIR__NO_ROOT UINT32_MAX

// The number of a task's root: of the task that it is skipped for, if one was noted; else its own.
uint32_t weir__failures_root(weir_context *context, const weir__task *task);

// The task reads bytes [lo, hi) of a buffer (its id), which are poisoned under `root`. The first that is noted counts.
void weir__failures_blame(weir_context *context, const weir__task *task, uint32_t root, uint64_t buffer, uint64_t lo,
                          uint64_t hi);

// The same, for what `predecessor`, which is in flight and fails, should have written of what the task reads.
void weir__failures_blame_task(weir_context *context, const weir__task *task, weir__id predecessor);

// The task failed with `status`. `text` describes it and `why` it failed; if it is a root, later texts repeat that.
void weir__failures_note(weir_context *context, const weir__task *task, weir_status status, const char *text,
                         const char *why);

// Puts into `text` for whose failure, and by way of which bytes, the task was skipped. False: that is not known.
bool weir__failures_explain(const weir_context *context, const weir__task *task, char *text, size_t size);

void weir__failures_destroy(weir_context *context);

#endif // WEIR_ENGINE_FAILURES_H
