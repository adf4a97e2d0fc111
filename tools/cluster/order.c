// SPDX-License-Identifier: Apache-2.0
#include "cluster/order.h"

#include <stdlib.h>
#include <string.h>

// The ops of one rank as a program of its own.
typedef struct own_program {
  uint32_t *ops; // by task
  weir__plan_task *tasks;
  weir__plan_access *accesses;
  weir__plan_buffer *buffers; // as many as accesses at most
  uint32_t *numbers;          // by buffer of the whole program; valid if numbers_of says this rank
  uint32_t *numbers_of;
  uint32_t task_count, access_count, buffer_count;
} own_program;

typedef struct edges {
  weir__plan_edge *all;
  size_t count, capacity;
} edges;

void weir__cluster_order_free(weir__cluster_order *order) {
  free(order->first);
  free(order->successors);
  free(order->before);
  *order = (weir__cluster_order){0};
}

static void add_access(const weir__cluster_program *program, uint32_t rank, weir__plan_access access,
                       own_program *own) {
  if (own->numbers_of[access.buffer] != rank + 1) {
    own->numbers_of[access.buffer] = rank + 1;
    own->numbers[access.buffer] = own->buffer_count;
    own->buffers[own->buffer_count++] = (weir__plan_buffer){.bytes = program->buffer_bytes[access.buffer]};
  }
  access.buffer = own->numbers[access.buffer];
  if (access.mode != WEIR_READ && access.mode != WEIR_WRITE) access.mode = WEIR_READ_WRITE;
  own->accesses[own->access_count++] = access;
}

static void collect(const weir__cluster_program *program, uint32_t rank, own_program *own) {
  own->task_count = own->access_count = own->buffer_count = 0;
  for (uint32_t i = program->ranks[rank].first; i != WEIR__CLUSTER_NONE; i = program->ops[i].next) {
    const weir__cluster_op *op = &program->ops[i];
    own->ops[own->task_count] = i;
    own->tasks[own->task_count++] =
        (weir__plan_task){.accesses = own->accesses + own->access_count, .access_count = op->access_count};
    for (uint32_t a = 0; a < op->access_count; a++) add_access(program, rank, program->accesses[op->accesses + a], own);
  }
}

static weir_status add_edges(const own_program *own, const weir__plan_graph *graph, edges *found) {
  size_t more = weir__plan_graph_edge_count(graph);
  if (found->count + more > found->capacity) {
    size_t capacity = 2 * (found->count + more);
    weir__plan_edge *all = realloc(found->all, capacity * sizeof *all);
    if (all == NULL) return WEIR_ERROR_OUT_OF_MEMORY;
    found->all = all;
    found->capacity = capacity;
  }
  for (uint32_t t = 0; t < graph->task_count; t++) {
    for (uint64_t e = graph->first[t]; e < graph->first[t + 1]; e++)
      found->all[found->count++] = (weir__plan_edge){own->ops[graph->predecessors[e]], own->ops[t]};
  }
  return WEIR_OK;
}

static weir_status find_edges(const own_program *own, edges *found) {
  const weir__plan_program program = {
      .buffers = own->buffers, .buffer_count = own->buffer_count, .tasks = own->tasks, .task_count = own->task_count};
  weir__plan_hazards hazards;
  weir__plan_graph graph = {0};
  weir_status status = weir__plan_find_hazards(&program, WEIR__PLAN_BUFFER, &hazards);
  if (status == WEIR_OK) status = weir__plan_hazard_graph(own->task_count, &hazards, true, &graph);
  if (status == WEIR_OK) status = add_edges(own, &graph, found);
  weir__plan_graph_free(&graph);
  weir__plan_hazards_free(&hazards);
  return status;
}

static bool create_own(const weir__cluster_program *program, own_program *own) {
  size_t ops = 0, accesses = 0;
  for (uint32_t r = 0; r < program->rank_count; r++) {
    size_t here = 0;
    for (uint32_t i = program->ranks[r].first; i != WEIR__CLUSTER_NONE; i = program->ops[i].next)
      here += program->ops[i].access_count;
    if (here > accesses) accesses = here;
    if (program->ranks[r].count > ops) ops = program->ranks[r].count;
  }
  *own = (own_program){.ops = malloc((ops + 1) * sizeof *own->ops),
                       .tasks = malloc((ops + 1) * sizeof *own->tasks),
                       .accesses = malloc((accesses + 1) * sizeof *own->accesses),
                       .buffers = malloc((accesses + 1) * sizeof *own->buffers),
                       .numbers = malloc(((size_t)program->buffer_count + 1) * sizeof *own->numbers),
                       .numbers_of = calloc((size_t)program->buffer_count + 1, sizeof *own->numbers_of)};
  return own->ops && own->tasks && own->accesses && own->buffers && own->numbers && own->numbers_of;
}

static void free_own(own_program *own) {
  free(own->ops);
  free(own->tasks);
  free(own->accesses);
  free(own->buffers);
  free(own->numbers);
  free(own->numbers_of);
}

// Edges by predecessor: those of a rank come in the order of their successors.
static weir_status arrange(uint32_t op_count, const edges *found, weir__cluster_order *order) {
  order->first = calloc((size_t)op_count + 2, sizeof *order->first);
  order->before = calloc((size_t)op_count + 1, sizeof *order->before);
  order->successors = malloc((found->count + 1) * sizeof *order->successors);
  if (!order->first || !order->before || !order->successors) return WEIR_ERROR_OUT_OF_MEMORY;
  for (size_t e = 0; e < found->count; e++) {
    order->first[found->all[e].predecessor + 2]++;
    order->before[found->all[e].successor]++;
  }
  for (uint32_t i = 1; i <= op_count; i++) order->first[i + 1] += order->first[i];
  for (size_t e = 0; e < found->count; e++)
    order->successors[order->first[found->all[e].predecessor + 1]++] = found->all[e].successor;
  return WEIR_OK;
}

weir_status weir__cluster_order_find(const weir__cluster_program *program, weir__cluster_order *out_order) {
  own_program own;
  edges found = {0};
  *out_order = (weir__cluster_order){0};
  weir_status status = create_own(program, &own) ? WEIR_OK : WEIR_ERROR_OUT_OF_MEMORY;
  for (uint32_t r = 0; r < program->rank_count && status == WEIR_OK; r++) {
    collect(program, r, &own);
    status = find_edges(&own, &found);
  }
  if (status == WEIR_OK) status = arrange(program->op_count, &found, out_order);
  free(found.all);
  free_own(&own);
  if (status != WEIR_OK) weir__cluster_order_free(out_order);
  return status;
}
