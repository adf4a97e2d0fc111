// SPDX-License-Identifier: Apache-2.0
#include "device/sim/engine.h"

#include <string.h>

#include "base/allocate.h"
#include "device/sim/op.h"

weir__sim_engine *weir__sim_engine_create(const weir__sim_profile *profile, uint32_t queues) {
  weir__sim_engine *engine = weir__allocate_zeroed(sizeof *engine);
  if (engine == NULL) return NULL;
  engine->profile = *profile;
  engine->host_ps = &engine->own_host_ps;
  engine->share_until_ps = UINT64_MAX;
  engine->units_free = profile->sms * WEIR__SIM_SM_UNITS;
  engine->queue_count = queues;
  engine->queues = weir__allocate_zeroed((queues + 1) * sizeof *engine->queues);
  if (engine->queues == NULL) {
    weir__free(engine);
    return NULL;
  }
  return engine;
}

static void free_chain_of_ops(weir__sim_op *op) {
  for (weir__sim_op *next; op != NULL; op = next) {
    next = op->next;
    weir__free(op);
  }
}

void weir__sim_engine_destroy(weir__sim_engine *engine) {
  if (engine == NULL) return;
  while (weir__sim_engine_step(engine)) {
    for (weir__sim_op *op; (op = weir__sim_engine_take(engine)) != NULL;) weir__sim_engine_free_op(engine, op);
  }
  free_chain_of_ops(engine->free_ops);
  for (weir__sim_edge *edge = engine->free_edges, *next; edge != NULL; edge = next) {
    next = edge->next;
    weir__free(edge);
  }
  weir__free(engine->timers);
  weir__free(engine->queues);
  weir__free(engine);
}

void weir__sim_engine_share_host(weir__sim_engine *engine, weir__sim_engine *other) {
  engine->host_ps = other->host_ps;
}

const weir__sim_profile *weir__sim_engine_profile(const weir__sim_engine *engine) {
  return &engine->profile;
}

uint64_t weir__sim_engine_host_ps(const weir__sim_engine *engine) {
  return *engine->host_ps;
}

uint64_t weir__sim_engine_device_ps(const weir__sim_engine *engine) {
  return engine->device_ps;
}

void weir__sim_engine_host_spend(weir__sim_engine *engine, uint64_t ps) {
  *engine->host_ps += ps;
}

void weir__sim_engine_host_wait(weir__sim_engine *engine, uint64_t device_ps) {
  uint64_t seen = device_ps + engine->profile.synchronize;
  if (*engine->host_ps < seen) *engine->host_ps = seen;
}

static weir__sim_op *new_op(weir__sim_engine *engine) {
  // Every live op can have one timer without asking for memory again.
  if (!weir__sim_timers_reserve(engine, engine->timer_count + engine->reserved + 1)) return NULL;
  weir__sim_op *op = engine->free_ops;
  if (op != NULL)
    engine->free_ops = op->next;
  else
    op = weir__allocate(sizeof *op);
  if (op != NULL) memset(op, 0, sizeof *op);
  return op;
}

static bool reserve_edges(weir__sim_engine *engine, uint32_t count) {
  uint32_t have = 0;
  for (weir__sim_edge *edge = engine->free_edges; edge != NULL && have < count; edge = edge->next) have++;
  for (; have < count; have++) {
    weir__sim_edge *edge = weir__allocate(sizeof *edge);
    if (edge == NULL) return false;
    edge->next = engine->free_edges;
    engine->free_edges = edge;
  }
  return true;
}

// The hardware looks after one queue at a time, so that each takes longer to go on when others have work too.
static uint64_t busy_queue_gap_ps(const weir__sim_engine *engine) {
  const weir__sim_profile *profile = &engine->profile;
  uint64_t others = engine->queues_busy > 0 ? engine->queues_busy - 1 : 0;
  uint64_t ps = others * profile->busy_queue_gap;
  return ps < profile->busy_queue_gap_most ? ps : profile->busy_queue_gap_most;
}

static uint64_t link_ps(const weir__sim_engine *engine, weir__sim_link link) {
  switch (link) {
  case WEIR__SIM_LINK_QUEUE:
    return engine->profile.queue_gap + busy_queue_gap_ps(engine);
  case WEIR__SIM_LINK_EVENT:
    return engine->profile.event_latency + busy_queue_gap_ps(engine);
  case WEIR__SIM_LINK_GRAPH:
    return engine->profile.graph_gap;
  case WEIR__SIM_LINK_DIRECT:
    break;
  }
  return engine->profile.direct_gap;
}

static void not_before(weir__sim_op *op, uint64_t ps) {
  if (op->ready_ps < ps) op->ready_ps = ps;
}

static void link_ops(weir__sim_engine *engine, weir__sim_op *predecessor, weir__sim_op *op, weir__sim_link link) {
  if (predecessor->ended) {
    not_before(op, predecessor->end_ps + link_ps(engine, link));
    return;
  }
  weir__sim_edge *edge = engine->free_edges;
  engine->free_edges = edge->next;
  *edge = (weir__sim_edge){.next = predecessor->edges, .successor = op, .link = link};
  predecessor->edges = edge;
  op->waits++;
}

// All that it waited for is over: it arrives at ready_ps.
static void arrive(weir__sim_engine *engine, weir__sim_op *op) {
  not_before(op, engine->device_ps);
  weir__sim_timers_add(engine, op, op->ready_ps, 0);
}

weir__sim_op *weir__sim_engine_add(weir__sim_engine *engine, const weir__sim_request *request) {
  weir__sim_op *op = new_op(engine);
  if (op == NULL) return NULL;
  if (!reserve_edges(engine, request->wait_count + 1)) {
    op->next = engine->free_ops;
    engine->free_ops = op;
    return NULL;
  }
  const weir__sim_cost *cost = request->cost;
  op->user = request->user;
  op->number = engine->numbers++;
  op->priority = request->priority;
  op->queue = request->queue;
  op->marker = cost->blocks == 0;
  op->copy = cost->copy;
  op->blocks_left = cost->blocks;
  op->block_units = cost->units;
  op->block_ps = cost->block_ps;
  if (engine->profile.sharing == WEIR__SIM_SHARING_FLUID) {
    op->share = cost->share;
    op->alone_ps = op->left_ps = cost->alone_ps;
    op->rest_ps = request->rest_ps;
    op->tail_ps = request->tail_ps;
  }
  op->ready_ps = request->arrival_ps;
  op->start_ps = UINT64_MAX;
  for (uint32_t i = 0; i < request->wait_count; i++) {
    link_ops(engine, request->waits[i].op, op, request->waits[i].link);
  }
  if (request->queue != WEIR__SIM_NO_QUEUE) {
    weir__sim_queue *queue = &engine->queues[request->queue];
    if (queue->last != NULL)
      link_ops(engine, queue->last, op, WEIR__SIM_LINK_QUEUE);
    else if (queue->used)
      not_before(op, queue->last_end_ps + link_ps(engine, WEIR__SIM_LINK_QUEUE));
    if (queue->last == NULL) engine->queues_busy++;
    queue->last = op;
    queue->used = true;
  }
  engine->reserved++;
  if (op->waits == 0) arrive(engine, op);
  return op;
}

static void end_op(weir__sim_engine *engine, weir__sim_op *op) {
  op->ended = true;
  op->end_ps = engine->device_ps;
  engine->reserved--;
  if (op->queue != WEIR__SIM_NO_QUEUE && engine->queues[op->queue].last == op) {
    engine->queues_busy--;
    engine->queues[op->queue].last = NULL;
    engine->queues[op->queue].last_end_ps = op->end_ps;
  }
  for (weir__sim_edge *edge = op->edges, *next; edge != NULL; edge = next) {
    next = edge->next;
    weir__sim_op *successor = edge->successor;
    not_before(successor, op->end_ps + link_ps(engine, edge->link));
    if (--successor->waits == 0) arrive(engine, successor);
    edge->next = engine->free_edges;
    engine->free_edges = edge;
  }
  op->edges = NULL;
  op->next = NULL;
  if (engine->ended.last != NULL)
    engine->ended.last->next = op;
  else
    engine->ended.first = op;
  engine->ended.last = op;
}

// The device starts kernels one at a time; markers need no start.
static void dispatch(weir__sim_engine *engine, weir__sim_op *op) {
  if (op->marker) {
    op->start_ps = engine->device_ps;
    end_op(engine, op);
    return;
  }
  if (!op->dispatched) {
    op->dispatched = true;
    uint64_t start = engine->dispatch_free_ps > engine->device_ps ? engine->dispatch_free_ps : engine->device_ps;
    start += op->blocks_left * engine->profile.block_start;
    engine->dispatch_free_ps = start + engine->profile.dispatch;
    if (start > engine->device_ps) {
      weir__sim_timers_add(engine, op, start, 0);
      return;
    }
  }
  weir__sim_make_ready(engine, op);
}

void weir__sim_leave(weir__sim_engine *engine, weir__sim_op *op) {
  engine->resident--;
  engine->copies -= op->copy;
}

uint64_t weir__sim_engine_next_ps(const weir__sim_engine *engine) {
  uint64_t timer_ps = engine->timer_count > 0 ? engine->timers[0].key.at : UINT64_MAX;
  return timer_ps < engine->share_until_ps ? timer_ps : engine->share_until_ps;
}

static void end_finished(weir__sim_engine *engine) {
  for (weir__sim_op *op; (op = engine->finished) != NULL;) {
    engine->finished = op->next;
    weir__sim_leave(engine, op);
    end_op(engine, op);
  }
}

// Handles all that happens at `ps`, which is next.
static void handle_next(weir__sim_engine *engine, uint64_t ps) {
  bool fluid = engine->profile.sharing == WEIR__SIM_SHARING_FLUID;
  if (fluid) weir__sim_run_shares(engine, ps);
  engine->device_ps = ps;
  end_finished(engine);
  while (engine->timer_count > 0 && engine->timers[0].key.at == ps) {
    weir__sim_timer timer = weir__sim_timers_take(engine);
    if (timer.blocks == 0)
      dispatch(engine, timer.op);
    else if (weir__sim_end_blocks(engine, timer.op, timer.blocks))
      end_op(engine, timer.op);
  }
  if (fluid)
    weir__sim_share(engine);
  else
    weir__sim_place(engine);
}

void weir__sim_engine_advance(weir__sim_engine *engine, uint64_t ps) {
  for (uint64_t next; (next = weir__sim_engine_next_ps(engine)) < ps;) handle_next(engine, next);
}

void weir__sim_engine_handle_next(weir__sim_engine *engine) {
  handle_next(engine, weir__sim_engine_next_ps(engine));
}

bool weir__sim_engine_step(weir__sim_engine *engine) {
  for (uint64_t next; engine->ended.first == NULL && (next = weir__sim_engine_next_ps(engine)) != UINT64_MAX;) {
    handle_next(engine, next);
  }
  return engine->ended.first != NULL;
}

weir__sim_op *weir__sim_engine_take(weir__sim_engine *engine) {
  weir__sim_op *op = engine->ended.first;
  if (op == NULL) return NULL;
  engine->ended.first = op->next;
  if (engine->ended.first == NULL) engine->ended.last = NULL;
  return op;
}

void weir__sim_engine_free_op(weir__sim_engine *engine, weir__sim_op *op) {
  op->next = engine->free_ops;
  engine->free_ops = op;
}

void *weir__sim_op_user(const weir__sim_op *op) {
  return op->user;
}

uint32_t weir__sim_op_queue(const weir__sim_op *op) {
  return op->queue;
}

uint64_t weir__sim_op_ready_ps(const weir__sim_op *op) {
  return op->ready_ps;
}

uint64_t weir__sim_op_start_ps(const weir__sim_op *op) {
  return op->start_ps;
}

uint64_t weir__sim_op_end_ps(const weir__sim_op *op) {
  return op->end_ps;
}
