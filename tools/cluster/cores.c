// SPDX-License-Identifier: Apache-2.0
#include "cluster/engine.h"

// The part of a core that each has.
static double rate_of(const weir__cluster_engine *engine, const weir__cluster_cores *cores) {
  size_t count = cores->running.count;
  return count <= engine->cores ? 1 : (double)engine->cores / (double)count;
}

static void serve(const weir__cluster_engine *engine, weir__cluster_cores *cores) {
  if (cores->running.count == 0)
    cores->served = 0;
  else
    cores->served += (engine->now - cores->since) * rate_of(engine, cores);
  cores->since = engine->now;
}

// Sets the time of the next end, which has changed.
static void schedule(weir__cluster_engine *engine, uint32_t index) {
  weir__cluster_cores *cores = &engine->sets[index];
  cores->generation++;
  if (cores->running.count == 0) return;
  double left = weir__cluster_item_at(&cores->running.items[0]) - cores->served;
  if (left < 0) left = 0;
  weir__cluster_event_add(engine, engine->now + left / rate_of(engine, cores), WEIR__CLUSTER_CORES, index,
                          cores->generation);
}

void weir__cluster_cores_start(weir__cluster_engine *engine, uint32_t index, weir__cluster_event kind, uint32_t what,
                               double ns) {
  weir__cluster_cores *cores = &engine->sets[index];
  serve(engine, cores);
  const weir__cluster_item item = {.kind = kind, .index = what};
  if (!weir__cluster_heap_add(&cores->running, cores->served + ns, item)) engine->failed = true;
  schedule(engine, index);
}

void weir__cluster_cores_event(weir__cluster_engine *engine, uint32_t index, uint32_t generation) {
  weir__cluster_cores *cores = &engine->sets[index];
  if (generation != cores->generation) return; // something started or ended since
  serve(engine, cores);
  weir__cluster_item first = weir__cluster_heap_take(&cores->running);
  double at = weir__cluster_item_at(&first);
  if (cores->served < at) cores->served = at; // it was rounded
  schedule(engine, index);
  weir__cluster_ended(engine, (weir__cluster_event)first.kind, first.index);
}
