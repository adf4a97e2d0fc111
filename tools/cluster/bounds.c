// SPDX-License-Identifier: Apache-2.0
//
// What no run can be quicker than: the longest that one part of the cluster is busy, and the longest chain.
#include <stdlib.h>

#include "cluster/engine.h"

static void raise_to(double *bound_us, double ns) {
  if (ns / 1000 > *bound_us) *bound_us = ns / 1000;
}

static void add_messages(const weir__cluster_engine *engine, double *out, double *in, weir__cluster_result *result) {
  double shared = 0;
  for (uint32_t i = 0; i < engine->program->message_count; i++) {
    const weir__cluster_message *message = &engine->program->messages[i];
    result->bytes += message->bytes;
    if (weir__cluster_is_local(engine->settings, message)) {
      result->local_messages++;
      continue;
    }
    double ns = weir__cluster_wire_ns(engine->settings, message);
    shared += weir__cluster_bytes_ns(message->bytes + WEIR__CLUSTER_HEADER, engine->settings->switch_gbs);
    out[weir__cluster_node_of(engine->settings, message->from)] += ns;
    in[weir__cluster_node_of(engine->settings, message->to)] += ns;
  }
  result->messages = engine->program->message_count;
  raise_to(&result->bounds_us[WEIR__CLUSTER_BY_LINKS], shared);
  for (uint32_t n = 0; n < engine->node_count; n++) {
    raise_to(&result->bounds_us[WEIR__CLUSTER_BY_LINKS], out[n]);
    raise_to(&result->bounds_us[WEIR__CLUSTER_BY_LINKS], in[n]);
  }
}

static void add_rank(const weir__cluster_engine *engine, uint32_t index, double *cores, weir__cluster_result *result) {
  const weir__cluster_rank_ops *rank = &engine->program->ranks[index];
  double calls = weir__cluster_rest_ns(engine->settings, rank), work = 0;
  for (uint32_t i = rank->first; i != WEIR__CLUSTER_NONE; i = engine->program->ops[i].next) {
    const weir__cluster_op *op = &engine->program->ops[i];
    calls += weir__cluster_submit_ns(engine->settings, op);
    work += weir__cluster_op_ns(engine->program, engine->settings, op);
    result->work_us += weir__cluster_task_ns(engine->program, engine->settings, op) / 1000;
  }
  cores[weir__cluster_set_of(engine->settings, index)] += calls + work;
  raise_to(&result->bounds_us[WEIR__CLUSTER_BY_SUBMISSION], calls);
  raise_to(&result->bounds_us[WEIR__CLUSTER_BY_WORKERS], work / engine->workers);
}

// `start`: of each op, 0; becomes the earliest time at which it can start.
static void find_chain(const weir__cluster_engine *engine, double *start, weir__cluster_result *result) {
  for (uint32_t i = 0; i < engine->program->op_count; i++) {
    const weir__cluster_op *op = &engine->program->ops[i];
    double end = start[i] + weir__cluster_op_ns(engine->program, engine->settings, op);
    raise_to(&result->bounds_us[WEIR__CLUSTER_BY_CHAIN], end);
    for (uint64_t s = engine->order->first[i]; s < engine->order->first[i + 1]; s++) {
      if (start[engine->order->successors[s]] < end) start[engine->order->successors[s]] = end;
    }
    if (op->kind != WEIR__CLUSTER_SEND) continue;
    const weir__cluster_message *message = &engine->program->messages[op->message];
    double there =
        end + weir__cluster_latency_ns(engine->settings, message) + weir__cluster_wire_ns(engine->settings, message);
    if (start[message->receive] < there) start[message->receive] = there;
  }
}

static void find_limit(weir__cluster_result *result) {
  result->limit = WEIR__CLUSTER_BY_WORKERS;
  for (int i = 0; i < WEIR__CLUSTER_LIMITS; i++) {
    if (result->bounds_us[i] > result->bounds_us[result->limit]) result->limit = (weir__cluster_limit)i;
  }
}

bool weir__cluster_bounds(const weir__cluster_engine *engine, weir__cluster_result *out_result) {
  double *nodes = calloc(2 * (size_t)engine->node_count + engine->set_count, sizeof *nodes),
         *start = calloc((size_t)engine->program->op_count + 1, sizeof *start);
  bool good = nodes != NULL && start != NULL;
  if (good) {
    add_messages(engine, nodes, nodes + engine->node_count, out_result);
    double *cores = nodes + 2 * engine->node_count;
    for (uint32_t r = 0; r < engine->program->rank_count; r++) add_rank(engine, r, cores, out_result);
    for (uint32_t i = 0; i < engine->set_count; i++)
      raise_to(&out_result->bounds_us[WEIR__CLUSTER_BY_CORES], cores[i] / engine->cores);
    find_chain(engine, start, out_result);
    find_limit(out_result);
  }
  free(nodes);
  free(start);
  return good;
}
