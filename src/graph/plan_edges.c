// SPDX-License-Identifier: Apache-2.0
//
// The edges of a plan: hazards between its nodes, without those that other edges imply. Failures do not go by edges
// (device/graph_poison.h), so that it does not matter which hazard an edge stands for.
#include <stdlib.h>
#include <string.h>

#include "base/allocate.h"
#include "graph/plan_build.h"

typedef weir__plan_builder builder;
typedef weir__plan_use use;
typedef weir__plan_hazard hazard;

enum { FEW_PREDECESSORS = 8 };

static weir__plan_access access_of(const use *used) {
  return (weir__plan_access){.buffer = used->buffer,
                             .first = used->first,
                             .end = used->end,
                             .reads = used->mode != WEIR_WRITE,
                             .writes = used->mode != WEIR_READ};
}

// Looks at the uses of a node in the order of the newest node that each may have to come after, so that it is known soon what
// comes before it anyway.
static void find_hazards(builder *build, const use *uses, uint32_t count) {
  struct {
    uint32_t newest;
    weir__plan_access access;
  } accesses[WEIR_MAX_ARGS];
  bool sorted = count > 1 && count <= WEIR_MAX_ARGS;
  for (uint32_t i = 0; i < count; i++) {
    weir__plan_access access = access_of(&uses[i]);
    if (!sorted) {
      weir__plan_hazards_find(&build->hazards, &access);
      continue;
    }
    uint32_t newest = weir__plan_hazards_newest(&build->hazards, &access), at = i;
    for (; at > 0 && accesses[at - 1].newest < newest; at--) accesses[at] = accesses[at - 1];
    accesses[at].newest = newest;
    accesses[at].access = access;
  }
  for (uint32_t i = 0; sorted && i < count; i++) {
    if (accesses[i].newest > 0) weir__plan_hazards_find(&build->hazards, &accesses[i].access);
  }
}

static int newest_first(const void *left, const void *right) {
  uint32_t a = ((const hazard *)left)->node, b = ((const hazard *)right)->node;
  return a > b ? -1 : a < b;
}

static bool is_predecessor(const weir__graph_plan *plan, uint32_t before, uint32_t node) {
  const weir__graph_node *its = &plan->nodes[node];
  uint32_t low = its->first_predecessor, high = low + its->predecessor_count; // newest first
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (plan->predecessors[middle] > before)
      low = middle + 1;
    else
      high = middle;
  }
  return low < its->first_predecessor + its->predecessor_count && plan->predecessors[low] == before;
}

// Whether two edges imply it, though it is not known to be an ancestor of any of `found`.
static bool comes_before_one(const builder *build, uint32_t before, const hazard *found, uint32_t count) {
  for (uint32_t i = 0; i < count && count <= FEW_PREDECESSORS; i++) {
    if (is_predecessor(build->plan, before, found[i].node)) return true;
  }
  return false;
}

// What was found, newest first, without what is an ancestor of newer ones.
static void reduce(builder *build, uint32_t node) {
  weir__plan_hazards *hazards = &build->hazards;
  hazard *found = hazards->found;
  uint32_t count = hazards->found_count, kept = 0;
  bool sorted = true;
  for (uint32_t i = 1; i < count && sorted; i++) sorted = found[i - 1].node > found[i].node;
  if (sorted && !build->ancestors.forgot) return;
  if (!sorted) qsort(found, count, sizeof *found, newest_first);
  weir__plan_ancestors_begin(&build->ancestors, node);
  for (uint32_t i = 0; i < count; i++) {
    if (weir__plan_is_ancestor(&build->ancestors, found[i].node)) continue;
    if (build->ancestors.forgot && comes_before_one(build, found[i].node, found, kept)) continue;
    weir__plan_ancestors_add(&build->ancestors, found[i].node);
    found[kept++] = found[i];
  }
  hazards->found_count = kept;
}

static bool reserve_edges(builder *build, uint32_t more) {
  weir__graph_plan *plan = build->plan;
  size_t needed = (size_t)plan->edge_count + more;
  if (needed > UINT32_MAX) return false;
  if (needed <= build->edge_capacity) return true;
  size_t capacity = build->edge_capacity + build->edge_capacity / 2 + more + 256;
  uint32_t *predecessors = weir__allocate(capacity * sizeof *predecessors);
  weir__graph_reason *reasons = weir__allocate(capacity * sizeof *reasons);
  if (predecessors == NULL || reasons == NULL) {
    weir__free(predecessors);
    weir__free(reasons);
    return false;
  }
  if (plan->edge_count > 0) {
    memcpy(predecessors, plan->predecessors, plan->edge_count * sizeof *predecessors);
    memcpy(reasons, plan->reasons, plan->edge_count * sizeof *reasons);
  }
  weir__free(plan->predecessors);
  weir__free(plan->reasons);
  plan->predecessors = predecessors;
  plan->reasons = reasons;
  build->edge_capacity = capacity;
  return true;
}

static weir__graph_reason reason_of(const builder *build, const hazard *found) {
  weir__graph_reason reason = {.hazard = (uint8_t)found->kind};
  if (found->kind == WEIR__HAZARD_AFTER) return reason;
  const uint64_t *cuts = build->plan->cuts + build->plan->first_cuts[found->buffer];
  reason.buffer = found->buffer;
  reason.lo = cuts[found->first];
  reason.hi = cuts[found->end];
  return reason;
}

static bool add_predecessors(builder *build, uint32_t node) {
  weir__graph_plan *plan = build->plan;
  const weir__plan_hazards *hazards = &build->hazards;
  if (!reserve_edges(build, hazards->found_count)) return false;
  plan->nodes[node].first_predecessor = (uint32_t)plan->edge_count;
  plan->nodes[node].predecessor_count = hazards->found_count;
  for (uint32_t i = 0; i < hazards->found_count; i++) {
    plan->predecessors[plan->edge_count] = hazards->found[i].node;
    plan->reasons[plan->edge_count++] = reason_of(build, &hazards->found[i]);
    plan->nodes[hazards->found[i].node].successor_count++;
  }
  return true;
}

// A wall comes after each node since the last one that none comes after yet.
static void find_all_before(builder *build, uint32_t node) {
  const weir__graph_node *nodes = build->plan->nodes;
  for (uint32_t i = node; i-- > build->ancestors.wall;)
    if (nodes[i].successor_count == 0)
      weir__plan_hazards_add(&build->hazards, &(hazard){.node = i, .kind = WEIR__HAZARD_AFTER});
}

// What the node comes after. Whatever it finds comes after the last wall, or is the wall.
static void find_before(builder *build, uint32_t node, const use *uses, uint32_t count) {
  bool in_order = (build->graph->object.context->host.flags & WEIR_CONTEXT_IN_ORDER) != 0;
  const hazard wall = {.node = build->ancestors.wall, .kind = WEIR__HAZARD_AFTER};
  if (in_order && node > 0)
    weir__plan_hazards_add(&build->hazards, &(hazard){.node = node - 1, .kind = WEIR__HAZARD_AFTER});
  if (build->graph->recorded[node].wall) {
    find_all_before(build, node);
    return;
  }
  find_hazards(build, uses, count);
  if (build->hazards.found_count == 0 && build->has_wall) weir__plan_hazards_add(&build->hazards, &wall);
}

static bool find_predecessors(builder *build) {
  weir__plan_hazards *hazards = &build->hazards;
  if (!reserve_edges(build, 1)) return false;
  for (uint32_t node = 0, first = 0, end; node < build->plan->node_count; node++, first = end) {
    for (end = first; end < build->use_count && build->uses[end].node == node;) end++;
    weir__plan_ancestors_begin(&build->ancestors, node);
    hazards->found_count = 0;
    find_before(build, node, build->uses + first, end - first);
    if (hazards->no_memory) return false;
    if (hazards->found_count > 1) reduce(build, node);
    if (!add_predecessors(build, node)) return false;
    for (uint32_t i = first; i < end; i++) {
      weir__plan_access access = access_of(&build->uses[i]);
      weir__plan_hazards_record(hazards, &access);
    }
    if (hazards->no_memory || !weir__plan_ancestors_end(&build->ancestors)) return false;
    if (!build->graph->recorded[node].wall) continue;
    build->ancestors.wall = node;
    build->has_wall = true;
  }
  return true;
}

static bool fill_successors(weir__graph_plan *plan) {
  plan->successors = weir__allocate((plan->edge_count + 1) * sizeof *plan->successors);
  if (plan->successors == NULL) return false;
  uint32_t successor = 0;
  for (uint32_t i = 0; i < plan->node_count; i++) {
    plan->nodes[i].first_successor = successor;
    successor += plan->nodes[i].successor_count;
    plan->nodes[i].successor_count = 0;
  }
  for (uint32_t i = 0; i < plan->node_count; i++) {
    const weir__graph_node *node = &plan->nodes[i];
    for (uint32_t j = 0; j < node->predecessor_count; j++) {
      weir__graph_node *before = &plan->nodes[plan->predecessors[node->first_predecessor + j]];
      plan->successors[before->first_successor + before->successor_count++] = i;
    }
  }
  return true;
}

// An edge too many costs a CPU some instructions, and a card some microseconds.
static bool is_quick(const weir_graph *graph) {
  return graph->own && !weir__graph_device(graph)->ops->run_ahead;
}

bool weir__plan_find_edges(builder *build) {
  const weir__graph_plan *plan = build->plan;
  return weir__plan_ancestors_initialize(&build->ancestors, plan->node_count, is_quick(build->graph)) &&
         weir__plan_hazards_initialize(&build->hazards, &build->ancestors, plan->buffer_count, plan->first_cuts) &&
         find_predecessors(build) && fill_successors(build->plan);
}
