// SPDX-License-Identifier: Apache-2.0
//
// Which runs of tasks come again, so that each is launched as one graph.
//
// DESIGN. Tasks are collected into batches, runs of tasks in the order of submission, with the fewest edges that force their
// order (collection.h). Where batches are cut decides what comes again (batch_boundaries.h). A batch for which there is a graph
// (graph_cache.h) is launched by one call; the tasks of one that is new are launched one by one, or its graph is made at once. A
// device may have a faster way for tasks that are new, its direct path, which takes them where no graph is as good; when all was
// new for long, tasks are not even collected (batch_history.h). Where the program waits often, both ways are tried
// (wait_history.h).
//
// All of it depends on the tasks and on when somebody waits, and for the trial on what that took. It knows no driver: tasks have
// kinds, and code is opaque. It is used by one thread at a time, as the functions of the device that it calls.
#ifndef WEIR_ISSUE_RECURRENCE_H
#define WEIR_ISSUE_RECURRENCE_H

#include "device/host.h"
#include "issue/batch_boundaries.h"
#include "issue/batch_history.h"
#include "issue/collection.h"
#include "issue/graph_cache.h"

// The first tasks of a collection.
typedef struct weir__batch {
  const weir__collection *collection;
  uint32_t count;
  uint32_t launches; // of all its tasks
  uint64_t topology; // a hash of the launches of each task, and of the edges; not known for a batch without launches
  bool known;        // its sequence was met before: it is likely to come again soon
} weir__batch;

// A way to launch tasks one by one that is faster than graphs that are small or must be set.
typedef struct weir__direct_ops {
  // Whether it exists by now.
  bool (*is_ready)(void *device);
  // Whether all the tasks fit, and it is the fastest way for what has no graph. It is ready.
  bool (*wants)(void *device, weir__task *const *tasks, uint32_t count);
  void (*take)(void *device, weir__task *task);
  // The tasks are launched one by one elsewhere.
  void (*missed)(void *device, weir__task *const *tasks, uint32_t count);
  // Whether it has one of these tasks; and waits for all that it has, since no graph can come after it.
  bool (*has_any)(void *device, const weir__id *tasks, uint32_t count);
  void (*drain)(void *device);
} weir__direct_ops;

// How a graph is found for a batch.
typedef enum weir__batch_wish {
  WEIR__ANY_GRAPH,          // one that is set for it, or is made, as seems best
  WEIR__GRAPH_OF_SHAPE,     // one of its shape, or none
  WEIR__GRAPH_MADE_AT_ONCE, // one of its shape, or a new one
} weir__batch_wish;

// What a device does for its recurrence.
typedef struct weir__recurrence_ops {
  weir__graph_cache_ops graphs;
  const weir__direct_ops *direct; // NULL: none
  // Launches a task by itself.
  void (*launch_task)(void *device, weir__task *task);
  // Makes ready to compare, to set and to make graphs for a batch. False: no memory.
  bool (*prepare)(void *device, const weir__batch *batch);
  // Optional: how a graph is found for the batch that was prepared. NULL: ANY_GRAPH.
  weir__batch_wish (*wish)(void *device, const weir__batch *batch);
  // Launches the batch that was prepared as one, by a graph that is set as it says; `same`: nothing had to be set. NULL: nothing is
  // to be launched. False: it cannot be done, and nothing was changed. The device gives the graph back by
  // weir__graph_cache_give when it has run.
  bool (*launch_batch)(void *device, const weir__batch *batch, weir__cached_graph *graph, bool same);
  // Optional: has a graph made elsewhere for the batch that was prepared, which comes by weir__graph_cache_add. NULL: graphs are
  // made when they are needed.
  void (*request_graph)(void *device, const weir__batch *batch);
} weir__recurrence_ops;

typedef struct weir__recurrence weir__recurrence;

typedef struct weir__recurrence_options {
  uint32_t window;
  uint64_t seed;  // for tests, has all come about in small programs; 0: none
  bool always;    // graphs also for batches that are hardly worth one
  bool exclusive; // see weir__graph_cache_create
} weir__recurrence_options;

// NULL: no memory.
weir__recurrence *weir__recurrence_create(const weir__recurrence_ops *ops, void *device, weir__host *host,
                                          const weir__recurrence_options *options);
void weir__recurrence_destroy(weir__recurrence *recurrence); // NULL is allowed

weir__graph_cache *weir__recurrence_graphs(weir__recurrence *recurrence);

// Takes a task of a kernel whose code has so many launches; `kind` stands for the code. Batches that are complete by that are
// launched.
void weir__recurrence_add(weir__recurrence *recurrence, weir__task *task, uint64_t kind, uint32_t launches);

// Launches a task by itself, which cannot be part of a batch, behind what it comes after.
void weir__recurrence_pass(weir__recurrence *recurrence, weir__task *task);

// Tasks that were taken and not launched.
uint32_t weir__recurrence_stalled(const weir__recurrence *recurrence);

// Whether tasks go the direct way now, since the program waits often and that is faster.
bool weir__recurrence_is_direct(const weir__recurrence *recurrence);

// Launches them. The next task begins a sequence.
void weir__recurrence_flush(weir__recurrence *recurrence);

// Somebody waits for tasks that were taken.
void weir__recurrence_note_wait(weir__recurrence *recurrence);

// Whether the tasks that come now belong to a sequence that was met before.
bool weir__recurrence_is_known(const weir__recurrence *recurrence);

#endif // WEIR_ISSUE_RECURRENCE_H
