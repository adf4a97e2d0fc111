// SPDX-License-Identifier: Apache-2.0
//
// A set of pairs of a rank and a call.
#ifndef WEIR_TOOLS_CLUSTER_PAIRS_H
#define WEIR_TOOLS_CLUSTER_PAIRS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct weir__cluster_pairs {
  uint64_t *slots; // 0: free; freed by free()
  uint64_t count, capacity;
} weir__cluster_pairs;

// Adds a pair, of a rank below 2^16 and a call from 1 on and below 2^48. *out_is_new: it was not in the set. False: no memory.
bool weir__cluster_pairs_add(weir__cluster_pairs *pairs, uint32_t rank, uint64_t call, bool *out_is_new);

#endif // WEIR_TOOLS_CLUSTER_PAIRS_H
