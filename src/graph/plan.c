// SPDX-License-Identifier: Apache-2.0
//
// Building a plan from what was recorded.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/allocate.h"
#include "base/error.h"
#include "engine/check.h"
#include "graph/plan.h"
#include "graph/plan_boxes.h"

typedef struct edge {
  uint32_t from, to;
  weir__dependence reason;
} edge;

// One buffer argument of a node.
typedef struct use {
  uint32_t node, buffer;
  weir_mode mode;
  uint64_t lo, hi;
  const weir_box *box; // in that range; NULL: all of it
} use;

typedef struct builder {
  weir_graph *graph;
  weir__graph_plan *plan;
  weir_buffer *shadows; // one per buffer: its users within the graph
  weir__range_pool ranges;
  weir__dependences dependences;
  uint32_t *marks; // per node: the last node that took it as a predecessor, + 1
  edge *edges;
  size_t edge_count, edge_capacity;
  use *uses;
  uint32_t use_count;
} builder;

static int by_address(const void *left, const void *right) {
  uintptr_t a = (uintptr_t) * (weir_buffer *const *)left, b = (uintptr_t) * (weir_buffer *const *)right;
  return a < b ? -1 : a > b;
}

static uint32_t number_of(const weir_graph *graph, weir_buffer *buffer) {
  weir_buffer **found = bsearch(&buffer, graph->buffers, graph->buffer_count, sizeof buffer, by_address);
  return (uint32_t)(found - graph->buffers);
}

// Numbers the buffers, by address.
static bool number_buffers(builder *build) {
  weir_graph *graph = build->graph;
  uint32_t total = 0;
  for (uint32_t i = 0; i < graph->recorded_count; i++) total += graph->recorded[i].task.arg_count;
  build->plan->arg_count = total;
  weir__free(graph->buffers);
  graph->buffer_count = 0;
  graph->buffers = weir__allocate((total + 1) * sizeof(weir_buffer *));
  if (graph->buffers == NULL) return false;
  uint32_t count = 0;
  for (uint32_t i = 0; i < graph->recorded_count; i++) {
    const struct weir__recorded *recorded = &graph->recorded[i];
    for (uint32_t j = 0; j < recorded->task.arg_count; j++) {
      if (recorded->args[j].mode != WEIR_VALUE) graph->buffers[count++] = recorded->args[j].buffer;
    }
  }
  build->use_count = count;
  qsort(graph->buffers, count, sizeof(weir_buffer *), by_address);
  for (uint32_t i = 0; i < count; i++) {
    if (i == 0 || graph->buffers[i] != graph->buffers[graph->buffer_count - 1])
      graph->buffers[graph->buffer_count++] = graph->buffers[i];
  }
  build->plan->buffer_count = graph->buffer_count;
  return true;
}

static bool fill_nodes(builder *build) {
  weir_graph *graph = build->graph;
  weir__graph_plan *plan = build->plan;
  plan->node_count = graph->recorded_count;
  uint32_t host_count = 0;
  for (uint32_t i = 0; i < plan->node_count; i++) {
    host_count += graph->recorded[i].host != NULL;
    const weir_task *task = &graph->recorded[i].task;
    for (uint32_t j = 0; j < task->arg_count; j++) {
      if (task->args[j].mode == WEIR_VALUE) plan->value_bytes += weir__graph_padded(task->args[j].bytes);
    }
  }
  plan->nodes = weir__allocate_zeroed(plan->node_count * sizeof *plan->nodes);
  plan->args = weir__allocate((plan->arg_count + 1) * sizeof *plan->args);
  plan->values = weir__allocate_zeroed(plan->value_bytes); // gaps too, so that values can be compared at once
  build->uses = weir__allocate((build->use_count + 1) * sizeof *build->uses);
  if (plan->nodes == NULL || plan->args == NULL || plan->values == NULL || build->uses == NULL) return false;
  plan->hosts = weir__allocate((host_count + 1) * sizeof *plan->hosts);
  if (plan->hosts == NULL) return false;
  if (!weir__plan_make_boxes(graph, plan)) return false;
  uint32_t arg = 0, use_count = 0, box_count = 0;
  uint64_t value = 0;
  for (uint32_t i = 0; i < plan->node_count; i++) {
    const weir_task *task = &graph->recorded[i].task;
    weir__graph_node *node = &plan->nodes[i];
    node->kind = graph->recorded[i].kind;
    node->bytes = graph->recorded[i].bytes;
    if (graph->recorded[i].host != NULL)
      plan->hosts[plan->host_count++] =
          (weir__graph_host){.node = i, .writes = graph->recorded[i].writes_host, .bytes = graph->recorded[i].bytes};
    node->function = task->kernel != NULL ? task->kernel->function : task->host;
    node->user = task->user;
    node->kernel = task->kernel;
    for (int j = 0; j < 3; j++) node->groups[j] = task->groups[j] == 0 ? 1 : task->groups[j];
    node->tag = task->tag;
    snprintf(node->label, sizeof node->label, "%s", task->label == NULL ? "" : task->label);
    node->first_arg = arg;
    node->arg_count = task->arg_count;
    node->first_value = value;
    for (uint32_t j = 0; j < task->arg_count; j++) {
      const weir_arg *recorded = &task->args[j];
      weir__graph_arg *planned = &plan->args[arg++];
      *planned = (weir__graph_arg){.mode = recorded->mode,
                                   .host = recorded->mode == WEIR_VALUE && graph->recorded[i].host != NULL,
                                   .offset = recorded->offset,
                                   .bytes = recorded->bytes};
      if (recorded->mode == WEIR_VALUE) {
        planned->offset = value;
        memcpy(plan->values + value, recorded->value, recorded->bytes);
        value += weir__graph_padded(recorded->bytes);
      } else {
        planned->buffer = number_of(graph, recorded->buffer);
        planned->box = weir__plan_take_box(plan, recorded, &box_count);
        build->uses[use_count++] = (use){.node = i,
                                         .buffer = planned->buffer,
                                         .mode = recorded->mode,
                                         .lo = recorded->offset,
                                         .hi = recorded->offset + recorded->bytes,
                                         .box = planned->box};
      }
    }
    node->value_bytes = value - node->first_value;
  }
  return true;
}

static bool add_edge(builder *build, uint32_t from, uint32_t to, const weir__dependence *reason) {
  if (build->marks[from] == to + 1) {
    if (!reason->data) return true;
    for (size_t i = build->edge_count; i-- > 0 && build->edges[i].to == to;) {
      if (build->edges[i].from == from && !build->edges[i].reason.data) build->edges[i].reason = *reason;
    }
    return true;
  }
  if (build->edge_count == build->edge_capacity) {
    size_t capacity = build->edge_capacity == 0 ? 256 : build->edge_capacity * 2;
    edge *larger = weir__allocate(capacity * sizeof *larger);
    if (larger == NULL) return false;
    if (build->edge_count > 0) memcpy(larger, build->edges, build->edge_count * sizeof *larger);
    weir__free(build->edges);
    build->edges = larger;
    build->edge_capacity = capacity;
  }
  build->marks[from] = to + 1;
  build->edges[build->edge_count++] = (edge){.from = from, .to = to, .reason = *reason};
  return true;
}

// Finds the hazards between nodes as the window would, with all nodes in flight: node i has the id i + 1.
static bool find_edges(builder *build) {
  weir__graph_plan *plan = build->plan;
  weir_graph *graph = build->graph;
  build->shadows = weir__allocate_zeroed((plan->buffer_count + 1) * sizeof *build->shadows);
  build->marks = weir__allocate_zeroed(plan->node_count * sizeof *build->marks);
  if (build->shadows == NULL || build->marks == NULL) return false;
  for (uint32_t i = 0; i < plan->buffer_count; i++) {
    build->shadows[i].bytes = graph->buffers[i]->bytes;
    weir__segment_initialize(&build->shadows[i].whole);
  }
  uint8_t none_done = 0;
  weir__liveness all_live = {.oldest = 1, .mask = 0, .done = &none_done};
  for (uint32_t i = 0; i < build->use_count; i++) {
    const use *used = &build->uses[i];
    weir__dependences_clear(&build->dependences);
    if (!weir__plan_access(&build->shadows[used->buffer], &build->ranges, &all_live, used->node + 1, used->mode,
                           used->lo, used->hi, used->box, &build->dependences))
      return false;
    if (build->dependences.incomplete || build->dependences.unrecorded) return false;
    for (size_t dependence = 0; dependence < build->dependences.count; dependence++) {
      weir__dependence *found = &build->dependences.list[dependence];
      found->buffer = used->buffer;
      if (!add_edge(build, (uint32_t)(found->task - 1), used->node, found)) return false;
    }
  }
  return true;
}

// In a context that runs everything in order, so do the nodes of a graph.
static bool add_order(builder *build) {
  if (!(build->graph->object.context->host.flags & WEIR_CONTEXT_IN_ORDER)) return true;
  const weir__dependence after = {.hazard = WEIR__HAZARD_AFTER};
  // The marks must be those of each node again: its edges by data are known already.
  for (uint32_t i = 0; i < build->plan->node_count; i++) build->marks[i] = 0;
  for (size_t i = 0; i < build->edge_count; i++) {
    if (build->edges[i].to == build->edges[i].from + 1) build->marks[build->edges[i].from] = build->edges[i].to + 1;
  }
  for (uint32_t i = 1; i < build->plan->node_count; i++) {
    if (!add_edge(build, i - 1, i, &after)) return false;
  }
  return true;
}

static bool fill_edges(builder *build) {
  weir__graph_plan *plan = build->plan;
  plan->edge_count = build->edge_count;
  plan->successors = weir__allocate((build->edge_count + 1) * sizeof *plan->successors);
  plan->predecessors = weir__allocate((build->edge_count + 1) * sizeof *plan->predecessors);
  plan->reasons = weir__allocate((build->edge_count + 1) * sizeof *plan->reasons);
  if (plan->successors == NULL || plan->predecessors == NULL || plan->reasons == NULL) return false;
  for (size_t i = 0; i < build->edge_count; i++) {
    plan->nodes[build->edges[i].from].successor_count++;
    plan->nodes[build->edges[i].to].predecessor_count++;
  }
  uint32_t successor = 0, predecessor = 0;
  for (uint32_t i = 0; i < plan->node_count; i++) {
    weir__graph_node *node = &plan->nodes[i];
    node->first_successor = successor;
    node->first_predecessor = predecessor;
    successor += node->successor_count;
    predecessor += node->predecessor_count;
    node->successor_count = node->predecessor_count = 0;
  }
  for (size_t i = 0; i < build->edge_count; i++) {
    const edge *added = &build->edges[i];
    weir__graph_node *from = &plan->nodes[added->from], *to = &plan->nodes[added->to];
    plan->successors[from->first_successor + from->successor_count++] = added->to << 1 | added->reason.data;
    plan->reasons[to->first_predecessor + to->predecessor_count] = added->reason;
    plan->predecessors[to->first_predecessor + to->predecessor_count++] = added->from;
  }
  return true;
}

static int by_buffer(const void *left, const void *right) {
  const use *a = left, *b = right;
  if (a->buffer != b->buffer) return a->buffer < b->buffer ? -1 : 1;
  return a->node < b->node ? -1 : a->node > b->node;
}

static int by_value(const void *left, const void *right) {
  uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
  return a < b ? -1 : a > b;
}

static uint32_t cut_at(const uint64_t *cuts, uint32_t count, uint64_t value) {
  const uint64_t *found = bsearch(&value, cuts, count, sizeof value, by_value);
  return (uint32_t)(found - cuts);
}

// Works out, for the `count` uses of one buffer in order of nodes, what each stretch of it is to the graph as a whole. `cuts`
// and `states` are scratch for 2 * count.
static void summarize(builder *build, const use *uses, uint32_t count, uint64_t *cuts, uint8_t *states) {
  enum { READ_FROM_OUTSIDE = 1, WRITTEN = 2, WRITTEN_IN_PART = 4 };
  weir__graph_plan *plan = build->plan;
  for (uint32_t i = 0; i < count; i++) {
    cuts[2 * i] = uses[i].lo;
    cuts[2 * i + 1] = uses[i].hi;
  }
  qsort(cuts, 2 * (size_t)count, sizeof *cuts, by_value);
  uint32_t cut_count = 0;
  for (uint32_t i = 0; i < 2 * count; i++) {
    if (i == 0 || cuts[i] != cuts[cut_count - 1]) cuts[cut_count++] = cuts[i];
  }
  memset(states, 0, cut_count);
  for (uint32_t i = 0; i < count; i++) {
    uint32_t end = cut_at(cuts, cut_count, uses[i].hi);
    for (uint32_t cut = cut_at(cuts, cut_count, uses[i].lo); cut < end; cut++) {
      // What a box leaves as it was comes from outside, too.
      if ((uses[i].mode != WEIR_WRITE || uses[i].box != NULL) && !(states[cut] & WRITTEN)) {
        states[cut] |= READ_FROM_OUTSIDE;
        weir__graph_input *last = plan->input_count > 0 ? &plan->inputs[plan->input_count - 1] : NULL;
        if (last != NULL && last->node == uses[i].node && last->buffer == uses[i].buffer && last->hi == cuts[cut])
          last->hi = cuts[cut + 1];
        else
          plan->inputs[plan->input_count++] =
              (weir__graph_input){.node = uses[i].node, .buffer = uses[i].buffer, .lo = cuts[cut], .hi = cuts[cut + 1]};
      }
      if (uses[i].mode != WEIR_READ) states[cut] |= uses[i].box == NULL ? WRITTEN : WRITTEN_IN_PART;
    }
  }
  for (uint32_t cut = 0; cut + 1 < cut_count; cut++) {
    if (states[cut] == 0) continue;
    bool written = states[cut] & (WRITTEN | WRITTEN_IN_PART), read = states[cut] & READ_FROM_OUTSIDE;
    weir_mode mode = !written ? WEIR_READ : read ? WEIR_READ_WRITE : WEIR_WRITE;
    plan->externals[plan->external_count++] =
        (weir__graph_external){.buffer = uses[0].buffer, .mode = mode, .lo = cuts[cut], .hi = cuts[cut + 1]};
  }
}

// How many inputs there can be at most: every use cut at every end of a use of its buffer.
static size_t most_inputs(const use *uses, uint32_t use_count) {
  size_t most = 0;
  for (uint32_t first = 0, end; first < use_count; first = end) {
    for (end = first; end < use_count && uses[end].buffer == uses[first].buffer;) end++;
    bool one_range = true;
    for (uint32_t i = first; i < end; i++)
      one_range = one_range && uses[i].lo == uses[first].lo && uses[i].hi == uses[first].hi;
    most += one_range ? end - first : 2 * (size_t)(end - first) * (end - first);
  }
  return most;
}

static bool find_externals(builder *build) {
  weir__graph_plan *plan = build->plan;
  qsort(build->uses, build->use_count, sizeof *build->uses, by_buffer);
  plan->inputs = weir__allocate((most_inputs(build->uses, build->use_count) + 1) * sizeof *plan->inputs);
  plan->externals = weir__allocate((2 * (size_t)build->use_count + 1) * sizeof *plan->externals);
  uint64_t *cuts = weir__allocate((2 * (size_t)build->use_count + 1) * sizeof *cuts);
  uint8_t *states = weir__allocate(2 * (size_t)build->use_count + 1);
  bool complete = plan->inputs != NULL && plan->externals != NULL && cuts != NULL && states != NULL;
  for (uint32_t first = 0, end; complete && first < build->use_count; first = end) {
    for (end = first; end < build->use_count && build->uses[end].buffer == build->uses[first].buffer;) end++;
    summarize(build, build->uses + first, end - first, cuts, states);
  }
  weir__free(cuts);
  weir__free(states);
  return complete;
}

static void clean_up(builder *build) {
  for (uint32_t i = 0; build->shadows != NULL && i < build->plan->buffer_count; i++) {
    weir__buffer_forget_users(&build->shadows[i]);
    weir__segment_deinitialize(&build->shadows[i].whole);
  }
  weir__free(build->shadows);
  weir__free(build->marks);
  weir__free(build->edges);
  weir__free(build->uses);
  weir__dependences_deinitialize(&build->dependences);
  weir__range_pool_deinitialize(&build->ranges);
}

// In check mode the checker gets launches; not those of graphs with images, for which it has no copies.
static bool is_checked(const weir_graph *graph) {
  const weir_context *context = graph->object.context;
  if (context->devices.checker == NULL) return false;
  for (uint32_t i = 0; i < graph->recorded_count; i++) {
    const weir_task *task = &graph->recorded[i].task;
    for (uint32_t j = 0; j < task->arg_count; j++) {
      if (task->args[j].mode == WEIR_VALUE || !task->args[j].buffer->image) continue;
      weir__check_cannot("a graph", "it works on images");
      return false;
    }
  }
  return true;
}

weir_status weir__graph_make_plan(weir_graph *graph) {
  weir__graph_plan *plan = weir__allocate_zeroed(sizeof *plan);
  if (plan == NULL) return weir__error(WEIR_ERROR_OUT_OF_MEMORY, "graph: no memory");
  plan->references = 1;
  plan->asked = weir__graph_device(graph);
  plan->device = is_checked(graph) ? graph->object.context->devices.checker : plan->asked;
  plan->timed = graph->timed;
  builder build = {.graph = graph, .plan = plan};
  weir__dependences_initialize(&build.dependences);
  weir__range_pool_initialize(&build.ranges);
  bool complete = number_buffers(&build) && fill_nodes(&build) && find_edges(&build) && add_order(&build) &&
                  fill_edges(&build) && find_externals(&build);
  clean_up(&build);
  if (!complete) {
    weir__graph_plan_drop(plan);
    return weir__error(WEIR_ERROR_OUT_OF_MEMORY, "graph: no memory for a plan of %u tasks", graph->recorded_count);
  }
  weir__graph_lay_out_hosts(plan);
  graph->plan = plan;
  return WEIR_OK;
}
