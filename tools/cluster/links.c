// SPDX-License-Identifier: Apache-2.0
//
// A message leaves through the link of its node, behind those that were given to it before, reaches the switch a latency
// later, and goes into the link of the other node behind those whose first byte came before. Bytes go on as they come:
// alone, a message takes the latency and its bytes once.
#include "cluster/engine.h"

// Takes a place that is free again from *free on. Returns when it begins.
static double pass(double *free, double now, double ns) {
  double begin = *free > now ? *free : now;
  *free = begin + ns;
  return begin;
}

void weir__cluster_links_send(weir__cluster_engine *engine, uint32_t index) {
  const weir__cluster_message *message = &engine->program->messages[index];
  double ns = weir__cluster_wire_ns(engine->settings, message),
         latency = weir__cluster_latency_ns(engine->settings, message);
  if (weir__cluster_is_local(engine->settings, message)) {
    weir__cluster_event_add(engine, engine->now + latency + ns, WEIR__CLUSTER_ARRIVED, index, 0);
    return;
  }
  uint32_t node = weir__cluster_node_of(engine->settings, message->from);
  double begin = pass(&engine->links[node].out_free, engine->now, ns);
  weir__cluster_event_add(engine, begin + latency, WEIR__CLUSTER_HEAD, index, 0);
}

void weir__cluster_links_event(weir__cluster_engine *engine, weir__cluster_event kind, uint32_t index) {
  const weir__cluster_message *message = &engine->program->messages[index];
  double ns = weir__cluster_wire_ns(engine->settings, message),
         shared = weir__cluster_bytes_ns(message->bytes + WEIR__CLUSTER_HEADER, engine->settings->switch_gbs);
  if (kind == WEIR__CLUSTER_HEAD && shared > 0) {
    weir__cluster_event_add(engine, pass(&engine->switch_free, engine->now, shared), WEIR__CLUSTER_ENTER, index, 0);
  } else if (kind == WEIR__CLUSTER_HEAD || kind == WEIR__CLUSTER_ENTER) {
    uint32_t node = weir__cluster_node_of(engine->settings, message->to);
    double longer = shared > ns ? shared : ns;
    double begin = pass(&engine->links[node].in_free, engine->now, longer);
    weir__cluster_event_add(engine, begin + longer, WEIR__CLUSTER_ARRIVED, index, 0);
  } else {
    weir__cluster_arrived(engine, index);
  }
}
