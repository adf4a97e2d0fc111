// SPDX-License-Identifier: Apache-2.0
//
// Which bytes of a launch's buffers are poisoned, while its nodes run. A node that does not end well poisons what it should
// have written, a node that reads poison is skipped, and one that writes heals what it writes. Whoever uses the same bytes is in
// the order of recording by the plan's edges, so that a node finds the bytes that it reads as one after another would leave
// them; edges need not say where data comes from.
//
// A tree of places over the intervals of each buffer, each of which is poisoned as a whole, not at all, or in parts that its
// halves tell: an access costs O(log intervals).
#ifndef WEIR_DEVICE_GRAPH_POISON_H
#define WEIR_DEVICE_GRAPH_POISON_H

#include "device/graph.h"
#include "window/box.h"

// Bytes that a plan's runs need for it.
size_t weir__graph_poison_bytes(const weir__graph_plan *plan);

// Nothing is poisoned. The functions that follow take bytes [lo, hi) of a buffer by its number in the plan; they are for one
// thread at a time.
void weir__graph_poison_clear(weir__graph_run *run);

// Poisons, or heals, the intervals that have some of the bytes.
void weir__graph_poison_set(weir__graph_run *run, uint32_t buffer, uint64_t lo, uint64_t hi, bool poisoned);
bool weir__graph_poison_any(const weir__graph_run *run, uint32_t buffer, uint64_t lo, uint64_t hi);

// Calls `visit` for each stretch of the bytes that is poisoned, in order.
typedef void (*weir__graph_poison_visit)(void *user, uint64_t lo, uint64_t hi);
void weir__graph_poison_each(const weir__graph_run *run, uint32_t buffer, uint64_t lo, uint64_t hi,
                             weir__graph_poison_visit visit, void *user);

// How many rows some bytes have, and where row i is. The last row of a box may go on behind the bytes' end.
static inline uint64_t weir__graph_bytes_rows(const weir__graph_bytes *bytes) {
  return bytes->box.width == 0 ? 1 : weir__box_row_count(&bytes->box);
}
static inline uint64_t weir__graph_bytes_row(const weir__graph_bytes *bytes, uint64_t i, uint64_t *out_hi) {
  uint64_t lo = weir__box_row(bytes->lo, bytes->hi, bytes->box.width == 0 ? NULL : &bytes->box, i, out_hi);
  if (*out_hi > bytes->hi) *out_hi = bytes->hi;
  return lo;
}

// Whether some of what an argument uses is poisoned.
bool weir__graph_poison_in(const weir__graph_run *run, const weir__graph_arg *arg);

// Poisons, or heals, what a node writes. Of a box whose rows the plan does not know, nothing is healed.
void weir__graph_poison_set_written(weir__graph_run *run, uint32_t node, bool poisoned);

// The number of the buffer with an id, after number_buffers; UINT32_MAX: the run has none. The context's lock is held.
void weir__graph_run_number_buffers(weir__graph_run *run);
uint32_t weir__graph_run_buffer_number(const weir__graph_run *run, uint64_t id);

#endif // WEIR_DEVICE_GRAPH_POISON_H
