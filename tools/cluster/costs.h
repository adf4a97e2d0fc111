// SPDX-License-Identifier: Apache-2.0
//
// What ops and messages take, in nanoseconds.
#ifndef WEIR_TOOLS_CLUSTER_COSTS_H
#define WEIR_TOOLS_CLUSTER_COSTS_H

#include "cluster/program.h"
#include "cluster/settings.h"

enum { WEIR__CLUSTER_HEADER = 64 }; // bytes before the contents of a message

// Nanoseconds of so many bytes at a rate.
static inline double weir__cluster_bytes_ns(uint64_t bytes, double gbs) {
  return gbs > 0 ? (double)bytes / gbs : 0;
}

static inline uint32_t weir__cluster_node_of(const weir__cluster_settings *settings, uint32_t rank) {
  return rank / (uint32_t)settings->ranks_per_node;
}

// Sets of cores of a node, and the one that a rank uses.
static inline uint32_t weir__cluster_sets(const weir__cluster_settings *settings) {
  uint32_t ranks = (uint32_t)settings->ranks_per_node, share = (uint32_t)settings->oversubscribe;
  return (ranks + share - 1) / share;
}
static inline uint32_t weir__cluster_set_of(const weir__cluster_settings *settings, uint32_t rank) {
  uint32_t sets = weir__cluster_sets(settings);
  return weir__cluster_node_of(settings, rank) * sets + rank % (uint32_t)settings->ranks_per_node % sets;
}

static inline bool weir__cluster_is_local(const weir__cluster_settings *settings,
                                          const weir__cluster_message *message) {
  return weir__cluster_node_of(settings, message->from) == weir__cluster_node_of(settings, message->to);
}

// How long a message occupies a link, and how long it takes when nothing is in its way.
static inline double weir__cluster_wire_ns(const weir__cluster_settings *settings,
                                           const weir__cluster_message *message) {
  bool local = weir__cluster_is_local(settings, message);
  return weir__cluster_bytes_ns(message->bytes + WEIR__CLUSTER_HEADER, local ? settings->local_gbs : settings->gbs);
}
static inline double weir__cluster_latency_ns(const weir__cluster_settings *settings,
                                              const weir__cluster_message *message) {
  return 1000 * (weir__cluster_is_local(settings, message) ? settings->local_latency_us : settings->latency_us);
}

// Evenly spread over [-1, 1) (splitmix64).
static inline double weir__cluster_spread(uint64_t number) {
  uint64_t x = (number + 1) * UINT64_C(0x9e3779b97f4a7c15);
  x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
  return (double)((x ^ (x >> 31)) >> 11) / (double)(UINT64_C(1) << 52) - 1;
}

// Of a task by itself.
static inline double weir__cluster_task_ns(const weir__cluster_program *program, const weir__cluster_settings *settings,
                                           const weir__cluster_op *op) {
  double spread = settings->jitter > 0 ? settings->jitter * weir__cluster_spread((uint64_t)(op - program->ops)) : 0;
  return op->ns * (1 + spread);
}

// Of a worker, for an op.
static inline double weir__cluster_op_ns(const weir__cluster_program *program, const weir__cluster_settings *settings,
                                         const weir__cluster_op *op) {
  if (op->kind == WEIR__CLUSTER_TASK) return weir__cluster_task_ns(program, settings, op) + 1000 * settings->task_us;
  double own = op->kind == WEIR__CLUSTER_SEND ? settings->send_us : settings->receive_us;
  return 1000 * own + weir__cluster_bytes_ns(program->messages[op->message].bytes, settings->copy_gbs);
}

// Of the thread that submits, for calls.
static inline double weir__cluster_calls_ns(const weir__cluster_settings *settings, uint64_t passed, uint64_t buffers) {
  return 1000 * ((double)passed * settings->pass_us + (double)buffers * settings->buffer_us);
}
static inline double weir__cluster_submit_ns(const weir__cluster_settings *settings, const weir__cluster_op *op) {
  double calls = settings->skip != 0 ? weir__cluster_calls_ns(settings, op->known_passed, op->known_buffers)
                                     : weir__cluster_calls_ns(settings, op->passed, op->buffers);
  return calls + 1000 * settings->submit_us;
}

// Behind the last op of a rank.
static inline double weir__cluster_rest_ns(const weir__cluster_settings *settings, const weir__cluster_rank_ops *rank) {
  return settings->skip != 0 ? 0 : weir__cluster_calls_ns(settings, rank->passed, rank->buffers);
}

#endif // WEIR_TOOLS_CLUSTER_COSTS_H
