// SPDX-License-Identifier: Apache-2.0
//
// Whether a buffer that is overwritten gets other storage, so that the task need not wait for those that use the old one.
//
// DESIGN. Other storage lets something overlap only if the task does not come after those users anyway, by what it reads. Tasks
// in flight know which of the 64 tasks before them come first (weir__task.ancestors), so that is a lookup: a step that reads
// what the last one wrote and overwrites what that one read keeps its two buffers. Where renaming can gain, a buffer has no more
// versions in flight than the devices have tasks under way at once; the next one waits for the oldest. As registers are renamed
// to a file of bounded size (Smith and Sohi, 1995); docs/inside/renaming.md.
#ifndef WEIR_ENGINE_RENAME_H
#define WEIR_ENGINE_RENAME_H

#include "engine/submission.h"

// How many versions of a buffer may be in flight besides its newest: one less than the context's devices run tasks at once.
uint32_t weir__rename_versions(const weir_context *context);

// Sets how many bytes of each memory may be held for those who still use overwritten buffers: `limit`, or if that is 0 a part of
// the memory.
void weir__rename_limit(weir_context *context, uint64_t limit);

// Buffers that are renamed whenever they are in use: a window of 1,024 of their versions is a MiB, and looking costs more.
enum { WEIR__RENAME_TINY = 1024 };

// Whether versions of such a buffer are counted. On cards, which run many tasks at once, those of small buffers are not: a whole
// window of them is no more than 64 MiB, and looking up what was given up long ago costs more than it saves.
static inline bool weir__rename_counts(const weir_context *context, const weir_buffer *buffer) {
  enum { FEW_VERSIONS = 32, SMALL_BYTES = 64 << 10 };
  return buffer->bytes > (context->memory.versions < FEW_VERSIONS ? WEIR__RENAME_TINY : SMALL_BYTES);
}

// Whether access `index`, which overwrites all of a buffer that tasks in flight use, should not wait for them.
bool weir__rename_gains(weir_context *context, const weir__request *request, uint32_t index);

// What the buffer gave up as many versions ago as may be in flight, if that waits for its users, or did and is not used again. If
// it is in use still, no further version may be made. NULL: there is none.
const weir__version *weir__rename_oldest(const weir_buffer *buffer, uint32_t space);

// The buffer gives up its storage in `space`.
void weir__rename_note(const weir_context *context, weir_buffer *buffer, uint32_t space);

#endif // WEIR_ENGINE_RENAME_H
