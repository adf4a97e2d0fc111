// SPDX-License-Identifier: Apache-2.0
#include "device/vulkan/graph_steps.h"

#include "base/allocate.h"
#include "device/vulkan/kernel.h"
#include "plan/barriers.h"
#include "plan/barriers_cost.h"
#include "plan/paths.h"

static const double BARRIER_US = 1.5; // about what one costs on a discrete card

// A node that does nothing still has a step, so that it keeps its place.
static uint32_t steps_of(const weir__graph_node *node) {
  const weir__vulkan_kernel *code = node->kernel != NULL ? weir__vulkan_code_of(node->kernel) : NULL;
  uint32_t count = code != NULL ? code->count : 1;
  return count == 0 ? 1 : count;
}

static bool allocate(const weir__graph_plan *plan, weir__vulkan_graph_steps *steps) {
  for (uint32_t i = 0; i < plan->node_count; i++) steps->count += steps_of(&plan->nodes[i]);
  steps->items = weir__allocate(steps->count * sizeof *steps->items);
  steps->firsts = weir__allocate((plan->node_count + 1) * sizeof *steps->firsts);
  steps->levels = weir__allocate(steps->count * sizeof *steps->levels);
  steps->order = weir__allocate(steps->count * sizeof *steps->order);
  steps->times = weir__allocate_zeroed(steps->count * sizeof *steps->times);
  return steps->items != NULL && steps->firsts != NULL && steps->levels != NULL && steps->order != NULL &&
         steps->times != NULL;
}

static void fill(const weir__graph_plan *plan, weir__vulkan_graph_steps *steps) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < plan->node_count; i++) {
    steps->firsts[i] = count;
    for (uint32_t j = 0; j < steps_of(&plan->nodes[i]); j++)
      steps->items[count++] = (weir__vulkan_step){.node = i, .dispatch = j};
  }
  steps->firsts[plan->node_count] = count;
}

static weir_status build_graph(const weir__graph_plan *plan, weir__vulkan_graph_steps *steps) {
  weir__plan_edge *edges = weir__allocate((plan->edge_count + steps->count) * sizeof *edges);
  if (edges == NULL) return WEIR_ERROR_OUT_OF_MEMORY;
  size_t count = 0;
  for (uint32_t i = 0; i < plan->node_count; i++) {
    const weir__graph_node *node = &plan->nodes[i];
    for (uint32_t j = 0; j < node->predecessor_count; j++) {
      uint32_t before = plan->predecessors[node->first_predecessor + j];
      edges[count++] = (weir__plan_edge){steps->firsts[before + 1] - 1, steps->firsts[i]};
    }
    for (uint32_t step = steps->firsts[i] + 1; step < steps->firsts[i + 1]; step++)
      edges[count++] = (weir__plan_edge){step - 1, step};
  }
  weir_status status = weir__plan_graph_build(steps->count, edges, count, &steps->graph);
  weir__free(edges);
  return status;
}

bool weir__vulkan_steps_find(const weir__graph_plan *plan, bool in_order, weir__vulkan_graph_steps *out_steps) {
  *out_steps = (weir__vulkan_graph_steps){0};
  bool good = allocate(plan, out_steps);
  if (good) fill(plan, out_steps);
  good = good && build_graph(plan, out_steps) == WEIR_OK;
  if (good && in_order) {
    for (uint32_t i = 0; i < out_steps->count; i++) out_steps->levels[i] = i;
    out_steps->level_count = out_steps->count;
  } else if (good) {
    out_steps->level_count = weir__plan_levels(&out_steps->graph, out_steps->levels);
  }
  good = good && weir__barriers_level_order(out_steps->count, out_steps->levels, out_steps->level_count,
                                            out_steps->order) == WEIR_OK;
  if (!good) weir__vulkan_steps_free(out_steps);
  out_steps->fixed = out_steps->level_count == out_steps->count || out_steps->level_count <= 1; // a chain, or no order
  return good;
}

void weir__vulkan_steps_free(weir__vulkan_graph_steps *steps) {
  weir__plan_graph_free(&steps->graph);
  weir__free(steps->items);
  weir__free(steps->firsts);
  weir__free(steps->levels);
  weir__free(steps->order);
  weir__free(steps->times);
  *steps = (weir__vulkan_graph_steps){0};
}

void weir__vulkan_steps_balance(weir__vulkan_graph_steps *steps) {
  const weir__barrier_costs costs = {.times = steps->times, .barrier = BARRIER_US};
  uint32_t *levels = weir__allocate(steps->count * sizeof *levels);
  uint32_t *order = weir__allocate(steps->count * sizeof *order);
  uint32_t level_count = 0;
  steps->fixed = true;
  bool good = levels != NULL && order != NULL &&
              weir__barrier_balance(&steps->graph, &costs, false, levels, &level_count, NULL) == WEIR_OK &&
              weir__barriers_level_order(steps->count, levels, level_count, order) == WEIR_OK;
  if (good) {
    weir__free(steps->levels);
    weir__free(steps->order);
    steps->levels = levels;
    steps->order = order;
    steps->level_count = level_count;
    steps->version++;
    return;
  }
  weir__free(levels);
  weir__free(order);
}
