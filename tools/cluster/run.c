// SPDX-License-Identifier: Apache-2.0
#include "cluster/run.h"

#include <stdlib.h>

#include "cluster/engine.h"

static void free_engine(weir__cluster_engine *engine) {
  for (uint32_t i = 0; engine->sets != NULL && i < engine->set_count; i++) free(engine->sets[i].running.items);
  free(engine->sets);
  free(engine->links);
  free(engine->ranks);
  free(engine->left);
  free(engine->next_ready);
  free(engine->events.items);
}

static bool create_state(weir__cluster_engine *engine) {
  const weir__cluster_program *program = engine->program;
  engine->sets = calloc(engine->set_count, sizeof *engine->sets);
  engine->links = calloc(engine->node_count, sizeof *engine->links);
  engine->ranks = calloc(program->rank_count, sizeof *engine->ranks);
  engine->left = malloc(((size_t)program->op_count + 1) * sizeof *engine->left);
  engine->next_ready = malloc(((size_t)program->op_count + 1) * sizeof *engine->next_ready);
  return engine->sets && engine->links && engine->ranks && engine->left && engine->next_ready;
}

static void start(weir__cluster_engine *engine) {
  const weir__cluster_program *program = engine->program;
  const weir__cluster_queue empty = {WEIR__CLUSTER_NONE, WEIR__CLUSTER_NONE};
  for (uint32_t r = 0; r < program->rank_count; r++)
    engine->ranks[r] = (weir__cluster_rank){
        .next = program->ranks[r].first, .waits_for = WEIR__CLUSTER_NONE, .messages = empty, .tasks = empty};
  for (uint32_t i = 0; i < program->op_count; i++)
    engine->left[i] = engine->order->before[i] + 1 + (program->ops[i].kind == WEIR__CLUSTER_RECEIVE);
}

static weir_status play(weir__cluster_engine *engine, weir__cluster_result *out_result) {
  if (!create_state(engine)) return WEIR_ERROR_OUT_OF_MEMORY;
  start(engine);
  weir__cluster_play(engine);
  if (engine->failed || !weir__cluster_bounds(engine, out_result)) return WEIR_ERROR_OUT_OF_MEMORY;
  for (uint32_t i = 0; i < engine->program->op_count; i++) {
    if (engine->left[i] != WEIR__CLUSTER_DONE) return WEIR_ERROR_INVALID_ARGUMENT; // it waits for ever
  }
  return WEIR_OK;
}

weir_status weir__cluster_run(const weir__cluster_program *program, const weir__cluster_settings *settings,
                              uint32_t window, weir__cluster_result *out_result) {
  weir__cluster_order order;
  *out_result = (weir__cluster_result){0};
  weir_status status = weir__cluster_order_find(program, &order);
  if (status != WEIR_OK) return status;
  uint32_t ranks_per_node = (uint32_t)settings->ranks_per_node, workers = (uint32_t)settings->workers,
           cores = (uint32_t)settings->cores, nodes = (program->rank_count + ranks_per_node - 1) / ranks_per_node;
  weir__cluster_engine engine = {.program = program,
                                 .settings = settings,
                                 .order = &order,
                                 .window = window,
                                 .workers = workers,
                                 .cores = cores > 0 ? cores : workers,
                                 .node_count = nodes,
                                 .set_count = nodes * weir__cluster_sets(settings),
                                 .result = out_result};
  status = play(&engine, out_result);
  out_result->edges = order.first[program->op_count];
  free_engine(&engine);
  weir__cluster_order_free(&order);
  return status;
}
