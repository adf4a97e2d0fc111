// SPDX-License-Identifier: Apache-2.0
#include "cluster/engine.h"

// The part of a core that each has.
static double rate_of(const weir__cluster_engine *engine, const weir__cluster_node *node) {
  size_t count = node->running.count;
  return count <= engine->cores ? 1 : (double)engine->cores / (double)count;
}

static void serve(const weir__cluster_engine *engine, weir__cluster_node *node) {
  if (node->running.count == 0)
    node->served = 0;
  else
    node->served += (engine->now - node->since) * rate_of(engine, node);
  node->since = engine->now;
}

// Sets the time of the next end, which has changed.
static void schedule(weir__cluster_engine *engine, uint32_t index) {
  weir__cluster_node *node = &engine->nodes[index];
  node->generation++;
  if (node->running.count == 0) return;
  double left = node->running.items[0].at - node->served;
  if (left < 0) left = 0;
  weir__cluster_event_add(engine, engine->now + left / rate_of(engine, node), WEIR__CLUSTER_CORES, index,
                          node->generation);
}

void weir__cluster_cores_start(weir__cluster_engine *engine, uint32_t index, weir__cluster_event kind, uint32_t what,
                               double ns) {
  weir__cluster_node *node = &engine->nodes[index];
  serve(engine, node);
  const weir__cluster_item item = {.at = node->served + ns, .kind = kind, .index = what};
  if (!weir__cluster_heap_add(&node->running, item)) engine->failed = true;
  schedule(engine, index);
}

void weir__cluster_cores_event(weir__cluster_engine *engine, uint32_t index, uint32_t generation) {
  weir__cluster_node *node = &engine->nodes[index];
  if (generation != node->generation) return; // something started or ended since
  serve(engine, node);
  weir__cluster_item first = weir__cluster_heap_take(&node->running);
  if (node->served < first.at) node->served = first.at; // it was rounded
  schedule(engine, index);
  weir__cluster_ended(engine, (weir__cluster_event)first.kind, first.index);
}
