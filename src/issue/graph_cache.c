// SPDX-License-Identifier: Apache-2.0
#include "issue/graph_cache.h"

#include "base/allocate.h"

enum { BUCKETS = 1024, MOST_COPIES = 4, MOST_SHAPES = 256, MOST_LAUNCHES = 1 << 17 };

struct weir__graph_cache {
  const weir__graph_cache_ops *ops;
  void *device;
  bool exclusive;
  weir__cached_graph *buckets[BUCKETS];
  uint64_t launches; // of all graphs
  uint64_t clock;    // of uses
};

weir__graph_cache *weir__graph_cache_create(const weir__graph_cache_ops *ops, void *device, bool exclusive) {
  weir__graph_cache *cache = weir__allocate_zeroed(sizeof *cache);
  if (cache == NULL) return NULL;
  cache->ops = ops;
  cache->device = device;
  cache->exclusive = exclusive;
  return cache;
}

static weir__cached_graph **bucket_of(weir__graph_cache *cache, uint64_t topology) {
  return &cache->buckets[topology % BUCKETS];
}

static void drop(weir__graph_cache *cache, weir__cached_graph *graph) {
  weir__cached_graph **link = bucket_of(cache, graph->topology);
  while (*link != graph) link = &(*link)->next;
  *link = graph->next;
  cache->launches -= graph->launch_count + 1;
  cache->ops->destroy(cache->device, graph);
}

void weir__graph_cache_destroy(weir__graph_cache *cache) {
  if (cache == NULL) return;
  for (uint32_t i = 0; i < BUCKETS; i++) {
    while (cache->buckets[i] != NULL) drop(cache, cache->buckets[i]);
  }
  weir__free(cache);
}

// Drops the idle graph that was not used for longest. False: none is idle.
static bool drop_oldest(weir__graph_cache *cache) {
  weir__cached_graph *oldest = NULL;
  for (uint32_t i = 0; i < BUCKETS; i++) {
    for (weir__cached_graph *graph = cache->buckets[i]; graph != NULL; graph = graph->next) {
      if (graph->in_flight == 0 && (oldest == NULL || graph->last_used < oldest->last_used)) oldest = graph;
    }
  }
  if (oldest == NULL) return false;
  drop(cache, oldest);
  return true;
}

// What the cache has for the batch.
typedef struct candidates {
  weir__cached_graph *same;       // idle, or with no copy to spare
  weir__cached_graph *same_shape; // idle
  weir__cached_graph *busy;       // same shape, in flight; the one that was launched first
  weir__cached_graph *other;      // idle; not used for longest
  uint32_t copies, shapes;
} candidates;

static bool older(const weir__cached_graph *graph, const weir__cached_graph *than) {
  return than == NULL || graph->last_used < than->last_used;
}

static candidates look(weir__graph_cache *cache, uint64_t topology) {
  candidates found = {0};
  for (weir__cached_graph *graph = *bucket_of(cache, topology); graph != NULL; graph = graph->next) {
    if (graph->topology != topology) continue;
    weir__graph_likeness likeness = cache->ops->compare(cache->device, graph);
    if (likeness == WEIR__OTHER_TOPOLOGY) continue;
    bool idle = graph->in_flight == 0;
    found.shapes++;
    if (likeness == WEIR__OTHER_SHAPE) {
      if (idle && older(graph, found.other)) found.other = graph;
      continue;
    }
    found.copies++;
    if (likeness == WEIR__SAME_GRAPH && idle) found.same = graph;
    if (idle && older(graph, found.same_shape)) found.same_shape = graph;
    if (!idle && older(graph, found.busy)) found.busy = graph;
  }
  return found;
}

static weir__cached_graph *make(weir__graph_cache *cache, uint64_t topology) {
  weir__cached_graph *graph = cache->ops->make(cache->device);
  if (graph != NULL) weir__graph_cache_add(cache, graph, topology);
  return graph;
}

static bool set(weir__graph_cache *cache, weir__cached_graph *graph) {
  if (cache->ops->set(cache->device, graph)) return true;
  if (graph->in_flight == 0) drop(cache, graph);
  return false;
}

// What is to be used where no graph is set as the batch says.
static weir__graph_found set_or_make(weir__graph_cache *cache, const weir__graph_request *request,
                                     const candidates *found) {
  bool enough = found->copies >= MOST_COPIES || request->keeps_shape;
  weir__graph_found use = {.graph = found->same_shape};
  if (use.graph == NULL && !cache->exclusive && (enough || !request->make_now)) {
    use.graph = found->busy;
    use.wanted = !enough;
  }
  if (use.graph == NULL && !request->keeps_shape && (!request->known || found->shapes >= MOST_SHAPES)) {
    use.graph = found->other;
    use.wanted = found->shapes < MOST_SHAPES;
  }
  if (use.graph != NULL) {
    if (!set(cache, use.graph)) use.graph = NULL;
    return use;
  }
  use.wanted = !request->make_now;
  if (request->make_now) use.graph = make(cache, request->topology);
  return use;
}

weir__graph_found weir__graph_cache_take(weir__graph_cache *cache, const weir__graph_request *request) {
  candidates found = look(cache, request->topology);
  weir__graph_found use = {.graph = found.same, .same = found.same != NULL};
  if (request->only_same)
    use.wanted = found.copies == 0 && found.shapes < MOST_SHAPES;
  else if (use.graph == NULL)
    use = set_or_make(cache, request, &found);
  if (use.graph == NULL) return use;
  use.graph->in_flight++;
  use.graph->last_used = ++cache->clock;
  return use;
}

void weir__graph_cache_add(weir__graph_cache *cache, weir__cached_graph *graph, uint64_t topology) {
  while (cache->launches > MOST_LAUNCHES && drop_oldest(cache)) {
  }
  graph->topology = topology;
  graph->last_used = ++cache->clock;
  graph->next = *bucket_of(cache, topology);
  *bucket_of(cache, topology) = graph;
  cache->launches += graph->launch_count + 1;
}

void weir__graph_cache_give(weir__graph_cache *cache, weir__cached_graph *graph, bool useless) {
  graph->in_flight--;
  if (useless && graph->in_flight == 0) drop(cache, graph);
}
