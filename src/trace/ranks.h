// SPDX-License-Identifier: Apache-2.0
//
// What the timeline of one of several processes (ranks) says, so that those of all can be joined: whose it is and when
// its time began, and the calls of their common sequence. Functions that add are called as those of trace/trace.h.
#ifndef WEIR_TRACE_RANKS_H
#define WEIR_TRACE_RANKS_H

#include "trace/trace.h"

typedef struct weir__trace_rank {
  uint32_t rank, ranks; // 0 ranks: the process is alone
  uint64_t zero_ns;     // of the clock of rank 0, when the time of the timeline began
  uint64_t error_ns;    // how far that may be wrong
} weir__trace_rank;

// Bytes that calls outside the common sequence overwrote, as its call `call` says.
typedef struct weir__trace_written {
  uint64_t call, buffer, offset, bytes;
} weir__trace_written;

void weir__trace_set_rank(weir__trace *trace, const weir__trace_rank *rank);
const weir__trace_rank *weir__trace_rank_of(const weir__trace *trace);

// A buffer is number `shared` on all ranks.
void weir__trace_share_buffer(weir__trace *trace, uint64_t id, uint64_t shared);

void weir__trace_add_written(weir__trace *trace, const weir__trace_written *written);

#endif // WEIR_TRACE_RANKS_H
