// SPDX-License-Identifier: Apache-2.0
//
// Which bytes of a buffer some task has written so far; kept in check mode only (check/checker.h). The caller wrote wrapped memory.
#ifndef WEIR_ENGINE_WRITTEN_H
#define WEIR_ENGINE_WRITTEN_H

#include "window/buffer.h"

// Ranges, in order; neighbours are joined. The context's lock guards it.
typedef struct weir__written {
  uint32_t count, capacity;
  uint64_t ranges[][2]; // first byte, end
} weir__written;

// Forgets all, for a struct that becomes another buffer.
static inline void weir__written_clear(weir_buffer *buffer) {
  if (buffer->written != NULL) buffer->written->count = 0;
}

// Adds [lo, hi). Where there is no memory, all counts as written.
void weir__written_add(weir_buffer *buffer, uint64_t lo, uint64_t hi);

// The same for a box that begins at `lo`; NULL: the range [lo, hi).
void weir__written_add_box(weir_buffer *buffer, uint64_t lo, uint64_t hi, const weir_box *box);
bool weir__written_box_gap(const weir_buffer *buffer, uint64_t lo, uint64_t hi, const weir_box *box, uint64_t *out_lo,
                           uint64_t *out_hi);

// The first range in [lo, hi) that nobody wrote. False: there is none.
bool weir__written_gap(const weir_buffer *buffer, uint64_t lo, uint64_t hi, uint64_t *out_lo, uint64_t *out_hi);

#endif // WEIR_ENGINE_WRITTEN_H
