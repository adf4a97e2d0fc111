// SPDX-License-Identifier: Apache-2.0
//
// Launches of recorded graphs: the host pays once for all nodes, and the device keeps their order by itself.
#include "base/allocate.h"
#include "device/sim/sim.h"

weir__sim_op *weir__sim_add_marker(weir__sim_device *device, weir__sim_chain *chain, const weir__sim_start *start,
                                   uint32_t wait_count, uint64_t arrival_ps) {
  weir__sim_cost nothing = {0};
  return weir__sim_engine_add(device->engine, &(weir__sim_request){.cost = &nothing,
                                                                   .queue = start->queue,
                                                                   .waits = device->waits,
                                                                   .wait_count = wait_count,
                                                                   .arrival_ps = arrival_ps,
                                                                   .priority = start->priority,
                                                                   .user = chain});
}

static bool add_node(weir__sim_device *device, weir__sim_task *sim_task, uint32_t index, weir__sim_op *first,
                     int32_t priority) {
  const weir__graph_plan *plan = sim_task->task->run->plan;
  const weir__graph_node *node = &plan->nodes[index];
  weir__sim_chain *chain = &sim_task->nodes[index];
  *chain = (weir__sim_chain){.owner = sim_task, .kernel = node->kernel, .node = index};
  weir__sim_start start = {.queue = WEIR__SIM_NO_QUEUE, .in_graph = true, .groups = node->groups, .priority = priority};
  bool in_order = index > 0 && (device->base.host->flags & WEIR_CONTEXT_IN_ORDER) != 0;
  uint32_t count = in_order ? 1 : node->predecessor_count;
  for (uint32_t i = 0; i < count; i++) {
    uint32_t predecessor = in_order ? index - 1 : plan->predecessors[node->first_predecessor + i];
    device->waits[start.wait_count++] =
        (weir__sim_wait){.op = sim_task->nodes[predecessor].last, .link = WEIR__SIM_LINK_GRAPH};
  }
  if (start.wait_count == 0)
    device->waits[start.wait_count++] = (weir__sim_wait){.op = first, .link = WEIR__SIM_LINK_DIRECT};
  return weir__sim_add_chain(device, chain, &start);
}

// Nodes are numbered in an order that respects the edges. Returns the length of the graph's critical path.
static uint64_t set_tails(weir__sim_task *sim_task) {
  const weir__graph_plan *plan = sim_task->task->run->plan;
  uint64_t longest_ps = 0;
  for (uint32_t i = plan->node_count; i-- > 0;) {
    const weir__graph_node *node = &plan->nodes[i];
    weir__sim_chain *chain = &sim_task->nodes[i];
    for (uint32_t j = 0; j < node->successor_count; j++) {
      const weir__sim_chain *successor = &sim_task->nodes[plan->successors[node->first_successor + j]];
      uint64_t path_ps = successor->alone_ps + successor->tail_ps;
      if (chain->tail_ps < path_ps) chain->tail_ps = path_ps;
    }
    if (longest_ps < chain->alone_ps + chain->tail_ps) longest_ps = chain->alone_ps + chain->tail_ps;
  }
  return longest_ps;
}

bool weir__sim_add_graph(weir__sim_device *device, weir__sim_task *sim_task, const weir__sim_start *start) {
  const weir__sim_profile *profile = weir__sim_engine_profile(device->engine);
  const weir__graph_plan *plan = sim_task->task->run->plan;
  sim_task->nodes = weir__allocate(plan->node_count * sizeof *sim_task->nodes);
  if (sim_task->nodes == NULL) return false;
  weir__sim_engine_host_spend(device->engine, profile->graph_launch);
  uint64_t arrival_ps = weir__sim_engine_host_ps(device->engine) + profile->graph_launch_latency;
  weir__sim_op *first = weir__sim_add_marker(device, &sim_task->whole, start, start->wait_count, arrival_ps);
  if (first == NULL || !weir__sim_reserve(device, plan->node_count + 1)) return false;
  for (uint32_t i = 0; i < plan->node_count; i++) {
    if (!add_node(device, sim_task, i, first, start->priority)) return false;
  }
  if (device->fluid) sim_task->whole.alone_ps = set_tails(sim_task);
  uint32_t leaves = 0;
  for (uint32_t i = 0; i < plan->node_count; i++) {
    if (plan->nodes[i].successor_count == 0)
      device->waits[leaves++] = (weir__sim_wait){.op = sim_task->nodes[i].last, .link = WEIR__SIM_LINK_DIRECT};
  }
  weir__sim_start end = {.queue = start->queue, .priority = start->priority};
  sim_task->whole.last = weir__sim_add_marker(device, &sim_task->whole, &end, leaves, arrival_ps);
  return sim_task->whole.last != NULL;
}

weir_status weir__sim_graph_build(weir_device *base, weir__graph_plan *plan, uint64_t *out_build_ns) {
  weir__sim_device *device = weir__sim_of(base);
  const weir__sim_profile *profile = weir__sim_engine_profile(device->engine);
  uint64_t ops = 0;
  for (uint32_t i = 0; i < plan->node_count; i++) {
    const weir__sim_code *code = weir__sim_code_of(plan->nodes[i].kernel);
    ops += code != NULL ? code->count : 1;
  }
  uint64_t build_ps = ops * (profile->graph_build_node + profile->graph_instantiate_node);
  weir__sim_engine_host_spend(device->engine, build_ps);
  *out_build_ns = build_ps / WEIR__SIM_PS_PER_NS;
  return WEIR_OK;
}
