// SPDX-License-Identifier: Apache-2.0
//
// The ranks: their calls, and their workers. An op may run when it was submitted, its predecessors are done and, if it
// takes a message, that has come. Messages go before tasks; of either, the one that has been ready longest goes first.
#include "cluster/engine.h"

void weir__cluster_event_add(weir__cluster_engine *engine, double at, weir__cluster_event kind, uint32_t index,
                             uint32_t generation) {
  const weir__cluster_item item = {.kind = kind, .index = index, .generation = generation};
  if (!weir__cluster_heap_add(&engine->events, at, item)) engine->failed = true;
}

static uint32_t set_of(const weir__cluster_engine *engine, uint32_t rank) {
  return weir__cluster_set_of(engine->settings, rank);
}

// ---------------------------------------------------------------------------------------------------------------
// Workers

static void push(weir__cluster_engine *engine, weir__cluster_queue *queue, uint32_t op) {
  engine->next_ready[op] = WEIR__CLUSTER_NONE;
  if (queue->first == WEIR__CLUSTER_NONE)
    queue->first = op;
  else
    engine->next_ready[queue->last] = op;
  queue->last = op;
}

static uint32_t pop(weir__cluster_engine *engine, weir__cluster_queue *queue) {
  uint32_t op = queue->first;
  if (op != WEIR__CLUSTER_NONE) queue->first = engine->next_ready[op];
  return op;
}

// Gives ready ops to the workers that are free.
static void give_work(weir__cluster_engine *engine, uint32_t index) {
  weir__cluster_rank *rank = &engine->ranks[index];
  while (rank->busy < engine->workers) {
    uint32_t op = pop(engine, &rank->messages);
    if (op == WEIR__CLUSTER_NONE) op = pop(engine, &rank->tasks);
    if (op == WEIR__CLUSTER_NONE) return;
    rank->busy++;
    weir__cluster_cores_start(engine, set_of(engine, index), WEIR__CLUSTER_OP, op,
                              weir__cluster_op_ns(engine->program, engine->settings, &engine->program->ops[op]));
  }
}

// One of the things that an op waits for is there. The caller gives work to its rank.
static void let_go(weir__cluster_engine *engine, uint32_t index) {
  if (--engine->left[index] > 0) return;
  const weir__cluster_op *op = &engine->program->ops[index];
  weir__cluster_rank *rank = &engine->ranks[op->rank];
  push(engine, op->kind == WEIR__CLUSTER_TASK ? &rank->tasks : &rank->messages, index);
}

void weir__cluster_arrived(weir__cluster_engine *engine, uint32_t message) {
  uint32_t receive = engine->program->messages[message].receive;
  let_go(engine, receive);
  give_work(engine, engine->program->ops[receive].rank);
}

// ---------------------------------------------------------------------------------------------------------------
// Calls

static void go_on(weir__cluster_engine *engine, uint32_t index) {
  weir__cluster_rank *rank = &engine->ranks[index];
  double ns = rank->next == WEIR__CLUSTER_NONE
                  ? weir__cluster_rest_ns(engine->settings, &engine->program->ranks[index])
                  : weir__cluster_submit_ns(engine->settings, &engine->program->ops[rank->next]);
  weir__cluster_cores_start(engine, set_of(engine, index), WEIR__CLUSTER_CALLS, index, ns);
}

// The next op enters the window.
static void admit(weir__cluster_engine *engine, uint32_t index) {
  weir__cluster_rank *rank = &engine->ranks[index];
  uint32_t op = rank->next;
  rank->window_is_full = false;
  rank->in_flight++;
  rank->next = engine->program->ops[op].next;
  let_go(engine, op);
  if (engine->program->ops[op].host_wait)
    rank->waits_for = op;
  else
    go_on(engine, index);
  give_work(engine, index);
}

static void called(weir__cluster_engine *engine, uint32_t index) {
  weir__cluster_rank *rank = &engine->ranks[index];
  if (rank->next == WEIR__CLUSTER_NONE) return; // that was all
  rank->window_is_full = rank->in_flight >= engine->window;
  if (rank->window_is_full)
    engine->result->window_waits++;
  else
    admit(engine, index);
}

// ---------------------------------------------------------------------------------------------------------------
// Ends

static void done(weir__cluster_engine *engine, uint32_t index) {
  const weir__cluster_op *op = &engine->program->ops[index];
  weir__cluster_rank *rank = &engine->ranks[op->rank];
  engine->left[index] = WEIR__CLUSTER_DONE;
  rank->busy--;
  rank->in_flight--;
  if (op->kind == WEIR__CLUSTER_SEND) weir__cluster_links_send(engine, op->message);
  for (uint64_t i = engine->order->first[index]; i < engine->order->first[index + 1]; i++)
    let_go(engine, engine->order->successors[i]);
  give_work(engine, op->rank);
  if (rank->waits_for == index) {
    rank->waits_for = WEIR__CLUSTER_NONE;
    go_on(engine, op->rank);
  }
  if (rank->window_is_full) admit(engine, op->rank);
}

void weir__cluster_ended(weir__cluster_engine *engine, weir__cluster_event kind, uint32_t index) {
  engine->result->makespan_us = engine->now / 1000;
  if (kind == WEIR__CLUSTER_OP)
    done(engine, index);
  else
    called(engine, index);
}

void weir__cluster_play(weir__cluster_engine *engine) {
  for (uint32_t i = 0; i < engine->program->rank_count; i++) go_on(engine, i);
  while (engine->events.count > 0 && !engine->failed) {
    weir__cluster_item event = weir__cluster_heap_take(&engine->events);
    engine->now = weir__cluster_item_at(&event);
    engine->result->events++;
    if (event.kind == WEIR__CLUSTER_CORES)
      weir__cluster_cores_event(engine, event.index, event.generation);
    else
      weir__cluster_links_event(engine, (weir__cluster_event)event.kind, event.index);
  }
}
