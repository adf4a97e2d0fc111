// SPDX-License-Identifier: Apache-2.0
//
// Which ops of a rank wait for which: the hazards on the rank's own memory, by the rules of `weir plan`. A buffer that is
// overwritten whole is renamed.
#ifndef WEIR_TOOLS_CLUSTER_ORDER_H
#define WEIR_TOOLS_CLUSTER_ORDER_H

#include "cluster/program.h"

typedef struct weir__cluster_order {
  uint64_t *first;      // op_count + 1: the successors of op i are successors[first[i]] up to, not including,
  uint32_t *successors; // successors[first[i + 1]], ascending, each once
  uint32_t *before;     // predecessors of each op
} weir__cluster_order;

// Errors: OUT_OF_MEMORY; the order is then empty.
weir_status weir__cluster_order_find(const weir__cluster_program *program, weir__cluster_order *out_order);
void weir__cluster_order_free(weir__cluster_order *order);

#endif // WEIR_TOOLS_CLUSTER_ORDER_H
