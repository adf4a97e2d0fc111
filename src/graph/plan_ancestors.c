// SPDX-License-Identifier: Apache-2.0
#include "graph/plan_ancestors.h"

#include <string.h>

#include "base/allocate.h"

// Chains that a node remembers: with 64 of them, graphs of some thousand nodes keep hardly an edge too many.
enum { MANY_CHAINS = 64, FEW_CHAINS = 16, QUICK_CHAINS = 8, LARGE_GRAPH = 1 << 16 };

bool weir__plan_ancestors_initialize(weir__plan_ancestors *ancestors, uint32_t node_count, bool quick) {
  size_t count = (size_t)node_count + 1;
  *ancestors = (weir__plan_ancestors){.most = quick                      ? QUICK_CHAINS
                                              : node_count < LARGE_GRAPH ? MANY_CHAINS
                                                                         : FEW_CHAINS};
  ancestors->chains = weir__allocate(count * sizeof *ancestors->chains);
  ancestors->continued = weir__allocate_zeroed(count * sizeof *ancestors->continued);
  ancestors->ends = weir__allocate(count * sizeof *ancestors->ends);
  ancestors->known = weir__allocate(count * sizeof *ancestors->known);
  ancestors->newest = weir__allocate_zeroed(count * sizeof *ancestors->newest);
  return ancestors->chains != NULL && ancestors->continued != NULL && ancestors->ends != NULL &&
         ancestors->known != NULL && ancestors->newest != NULL;
}

void weir__plan_ancestors_deinitialize(weir__plan_ancestors *ancestors) {
  weir__free(ancestors->chains);
  weir__free(ancestors->continued);
  weir__free(ancestors->ends);
  weir__free(ancestors->entries);
  weir__free(ancestors->known);
  weir__free(ancestors->newest);
  *ancestors = (weir__plan_ancestors){0};
}

static void note(weir__plan_ancestors *ancestors, uint32_t before) {
  uint32_t chain = ancestors->chains[before];
  weir__plan_newest *newest = &ancestors->newest[chain];
  if (newest->reader != ancestors->look) {
    *newest = (weir__plan_newest){.reader = ancestors->look, .node = before};
    ancestors->known[ancestors->known_count++] = chain;
  } else if (newest->node < before) {
    newest->node = before;
  }
}

void weir__plan_ancestors_add(weir__plan_ancestors *ancestors, uint32_t before) {
  note(ancestors, before);
  if (!ancestors->continued[before] && before + 1 > ancestors->continues) ancestors->continues = before + 1;
  for (size_t i = before == 0 ? 0 : ancestors->ends[before - 1]; i < ancestors->ends[before]; i++)
    note(ancestors, ancestors->entries[i]);
}

// Brings the newest `most` of `count` nodes to the front. Most chains come with newer nodes first, so that few nodes move.
static void select_newest(uint32_t *nodes, uint32_t count, uint32_t most) {
  for (uint32_t i = 1; i < count; i++) {
    uint32_t node = nodes[i], at = i < most ? i : most;
    if (at == most && nodes[most - 1] >= node) continue;
    if (at == most) nodes[i] = nodes[--at];
    for (; at > 0 && nodes[at - 1] < node; at--) nodes[at] = nodes[at - 1];
    nodes[at] = node;
  }
}

static bool reserve(weir__plan_ancestors *ancestors, size_t count) {
  if (ancestors->entry_count + count <= ancestors->entry_capacity) return true;
  size_t capacity = ancestors->entry_capacity + ancestors->entry_capacity / 2 + count + 256;
  uint32_t *larger = weir__allocate(capacity * sizeof *larger);
  if (larger == NULL) return false;
  if (ancestors->entry_count > 0) memcpy(larger, ancestors->entries, ancestors->entry_count * sizeof *larger);
  weir__free(ancestors->entries);
  ancestors->entries = larger;
  ancestors->entry_capacity = capacity;
  return true;
}

bool weir__plan_ancestors_end(weir__plan_ancestors *ancestors) {
  uint32_t node = ancestors->node;
  bool continues = ancestors->continues > 0;
  uint32_t chain = continues ? ancestors->chains[ancestors->continues - 1] : ancestors->chain_count++;
  if (continues) ancestors->continued[ancestors->continues - 1] = true;
  ancestors->chains[node] = chain;
  uint32_t count = 0;
  for (uint32_t i = 0; i < ancestors->known_count; i++) {
    if (ancestors->known[i] != chain) ancestors->known[count++] = ancestors->newest[ancestors->known[i]].node;
  }
  if (count > ancestors->most) {
    select_newest(ancestors->known, count, ancestors->most);
    count = ancestors->most;
    ancestors->forgot = true;
  }
  if (!reserve(ancestors, count)) return false;
  if (count > 0) memcpy(ancestors->entries + ancestors->entry_count, ancestors->known, count * sizeof(uint32_t));
  ancestors->entry_count += count;
  ancestors->ends[node] = ancestors->entry_count;
  return true;
}
