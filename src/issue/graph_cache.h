// SPDX-License-Identifier: Apache-2.0
//
// Executable graphs that are kept for batches that come again, by topology. Bounded: the one that was not used for longest
// goes first. What a graph is only its device knows.
#ifndef WEIR_ISSUE_GRAPH_CACHE_H
#define WEIR_ISSUE_GRAPH_CACHE_H

#include <stdbool.h>
#include <stdint.h>

// The head of a device's own struct.
typedef struct weir__cached_graph {
  struct weir__cached_graph *next; // the cache's, as all that follows, but for `launch_count`
  uint64_t topology;               // a hash
  uint64_t last_used;
  uint32_t in_flight;    // launches
  uint32_t launch_count; // of kernels, by one launch of the graph
} weir__cached_graph;

// How much of what is set in a graph a batch has in common with it.
typedef enum weir__graph_likeness {
  WEIR__OTHER_TOPOLOGY, // the graph cannot be set for it
  WEIR__OTHER_SHAPE,    // functions, grids or blocks differ
  WEIR__SAME_SHAPE,     // parameters differ
  WEIR__SAME_GRAPH,
} weir__graph_likeness;

// A device's graphs. "The batch" is the one that the device was told of last.
typedef struct weir__graph_cache_ops {
  weir__graph_likeness (*compare)(void *device, const weir__cached_graph *graph);
  // Sets what differs from the batch; launches in flight are not affected. False: the graph is of no more use.
  bool (*set)(void *device, weir__cached_graph *graph);
  // Makes a graph of the batch. NULL: it cannot be made.
  weir__cached_graph *(*make)(void *device);
  void (*destroy)(void *device, weir__cached_graph *graph);
} weir__graph_cache_ops;

typedef struct weir__graph_cache weir__graph_cache;

// `exclusive`: a graph may be launched only once its last launch is done. NULL: no memory.
weir__graph_cache *weir__graph_cache_create(const weir__graph_cache_ops *ops, void *device, bool exclusive);
void weir__graph_cache_destroy(weir__graph_cache *cache); // NULL is allowed

// What is looked for.
typedef struct weir__graph_request {
  uint64_t topology; // hash of the batch's
  bool known;        // its sequence was met before: graphs of other shapes will be wanted again, and are left alone
  bool make_now;     // a graph is made where none can be used
  bool only_same;    // nothing is to be set or made
  bool keeps_shape;  // no graph of another shape is set, and none is copied
} weir__graph_request;

typedef struct weir__graph_found {
  weir__cached_graph *graph; // NULL: none. Its launch is to follow.
  bool same;                 // nothing had to be set
  bool wanted;               // another graph for the batch would be of use
} weir__graph_found;

// A graph for the batch, set as that says: one that is set so already, else one of the same shape, else one of another shape,
// else a new one.
weir__graph_found weir__graph_cache_take(weir__graph_cache *cache, const weir__graph_request *request);

// Adds a graph that was made elsewhere.
void weir__graph_cache_add(weir__graph_cache *cache, weir__cached_graph *graph, uint64_t topology);

// A launch of the graph is done; `useless`: it must not be used again.
void weir__graph_cache_give(weir__graph_cache *cache, weir__cached_graph *graph, bool useless);

#endif // WEIR_ISSUE_GRAPH_CACHE_H
