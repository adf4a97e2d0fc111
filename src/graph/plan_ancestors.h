// SPDX-License-Identifier: Apache-2.0
//
// Which nodes of a graph come before others for certain, while its edges are being found.
//
// Nodes are put on chains, each node of which comes after the one before it. A node remembers the newest ancestor on each of
// some chains: all older nodes of those chains are its ancestors too (Jagadish, 1990: a compression technique to materialize
// transitive closure). It remembers the chains with the newest ancestors alone when they are many: then an ancestor may not be
// known for one, and an edge is kept that others imply.
#ifndef WEIR_GRAPH_PLAN_ANCESTORS_H
#define WEIR_GRAPH_PLAN_ANCESTORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct weir__plan_newest {
  uint32_t reader; // the look, of a node, that found an ancestor on the chain last
  uint32_t node;   // its newest ancestor there
} weir__plan_newest;

typedef struct weir__plan_ancestors {
  uint32_t most; // chains that a node remembers
  uint32_t chain_count;
  bool forgot;       // some node had ancestors on more chains
  uint32_t *chains;  // per node
  bool *continued;   // per node: its chain goes on
  size_t *ends;      // per node: where its part of `entries` ends
  uint32_t *entries; // per node: its newest ancestors on other chains than its own
  size_t entry_count, entry_capacity;
  uint32_t wall; // all nodes before this one come before it, and before all after it
  // The node that is being looked at.
  uint32_t node;
  uint32_t look; // number of this look at the node
  uint32_t known_count;
  uint32_t *known;           // the chains with ancestors
  weir__plan_newest *newest; // per chain
  uint32_t continues;        // the node whose chain it goes on with, plus 1; 0: none yet
} weir__plan_ancestors;

// For nodes 0 to node_count - 1, in this order. `quick`: nodes remember fewer chains, so that it takes less time, and more edges
// are kept. False: no memory.
bool weir__plan_ancestors_initialize(weir__plan_ancestors *ancestors, uint32_t node_count, bool quick);
void weir__plan_ancestors_deinitialize(weir__plan_ancestors *ancestors);

// The next node, or the same once more, of which no ancestor is known yet.
static inline void weir__plan_ancestors_begin(weir__plan_ancestors *ancestors, uint32_t node) {
  ancestors->node = node;
  ancestors->look++;
  ancestors->known_count = 0;
  ancestors->continues = 0;
}

// Whether `before` is known to be an ancestor of the node.
static inline bool weir__plan_is_ancestor(const weir__plan_ancestors *ancestors, uint32_t before) {
  if (before < ancestors->wall) return true;
  const weir__plan_newest *newest = &ancestors->newest[ancestors->chains[before]];
  return newest->reader == ancestors->look && newest->node >= before;
}

// `before`, and so its ancestors, are ancestors of the node.
void weir__plan_ancestors_add(weir__plan_ancestors *ancestors, uint32_t before);

// All predecessors of the node were added. False: no memory.
bool weir__plan_ancestors_end(weir__plan_ancestors *ancestors);

#endif // WEIR_GRAPH_PLAN_ANCESTORS_H
