// SPDX-License-Identifier: Apache-2.0
//
// How the buffers of a stream are dealt to ranks, for those that play it and for what counts bytes.
#ifndef WEIR_TOOLS_RANKS_DEAL_H
#define WEIR_TOOLS_RANKS_DEAL_H

#include <stdint.h>

// The rank that owns a buffer, by its index in the stream: of each `round` buffers the first ones go to rank 0, as many
// next ones to rank 1, and so on.
static inline uint32_t weir__deal(uint32_t buffer, uint64_t round, uint64_t ranks) {
  return (uint32_t)(buffer % round * ranks / round);
}

#endif // WEIR_TOOLS_RANKS_DEAL_H
