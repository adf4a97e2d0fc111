// SPDX-License-Identifier: Apache-2.0
//
// The state of a simulated cluster. Times are nanoseconds.
#ifndef WEIR_TOOLS_CLUSTER_ENGINE_H
#define WEIR_TOOLS_CLUSTER_ENGINE_H

#include "cluster/costs.h"
#include "cluster/heap.h"
#include "cluster/order.h"
#include "cluster/run.h"

// Events to come. What runs on cores is of the kinds OP and CALLS.
typedef enum weir__cluster_event {
  WEIR__CLUSTER_CORES,   // something on a set of cores has ended
  WEIR__CLUSTER_HEAD,    // the first byte of a message is at the switch
  WEIR__CLUSTER_ENTER,   // it is at the link of the node that receives
  WEIR__CLUSTER_ARRIVED, // the last byte is there
  WEIR__CLUSTER_OP,      // index: op
  WEIR__CLUSTER_CALLS,   // index: rank; its calls up to its next op, or to the end
} weir__cluster_event;

// Cores share their time equally among what runs on them (processor sharing): `served` is the time that each of these
// would have had since the cores were last idle.
typedef struct weir__cluster_cores {
  weir__cluster_heap running; // by the value of `served` at which each ends
  double served, since;       // `since`: when it was counted
  uint32_t generation;        // of the event CORES that counts
} weir__cluster_cores;

// The link of a node: when what was given to it has passed.
typedef struct weir__cluster_link {
  double out_free, in_free;
} weir__cluster_link;

typedef struct weir__cluster_queue {
  uint32_t first, last; // ops, or NONE
} weir__cluster_queue;

typedef struct weir__cluster_rank {
  uint32_t next;                       // op to be submitted; NONE: what is left is behind the last one
  uint32_t waits_for;                  // op that the program waits for, or NONE
  bool window_is_full;                 // `next` waits for that
  uint32_t in_flight, busy;            // ops; workers
  weir__cluster_queue messages, tasks; // ready
} weir__cluster_rank;

typedef struct weir__cluster_engine {
  const weir__cluster_program *program;
  const weir__cluster_settings *settings;
  const weir__cluster_order *order;
  uint32_t window, cores, workers; // cores of a set, workers of a rank
  weir__cluster_heap events;
  double now, switch_free;
  weir__cluster_cores *sets;
  weir__cluster_link *links; // by node
  weir__cluster_rank *ranks;
  uint32_t node_count, set_count;
  uint32_t *left;       // of each op: what it waits for: predecessors, its message, its submission; DONE
  uint32_t *next_ready; // of each op in a queue
  weir__cluster_result *result;
  bool failed; // no memory
} weir__cluster_engine;

#define WEIR__CLUSTER_DONE UINT32_MAX

void weir__cluster_event_add(weir__cluster_engine *engine, double at, weir__cluster_event kind, uint32_t index,
                             uint32_t generation);

// Cores: something starts that takes so long on a core of its own; and the event CORES. `weir__cluster_ended` is told
// what has ended.
void weir__cluster_cores_start(weir__cluster_engine *engine, uint32_t set, weir__cluster_event kind, uint32_t index,
                               double ns);
void weir__cluster_cores_event(weir__cluster_engine *engine, uint32_t set, uint32_t generation);
void weir__cluster_ended(weir__cluster_engine *engine, weir__cluster_event kind, uint32_t index);

// Links: a message leaves, and its other events. `weir__cluster_arrived` is told when it has come.
void weir__cluster_links_send(weir__cluster_engine *engine, uint32_t message);
void weir__cluster_links_event(weir__cluster_engine *engine, weir__cluster_event kind, uint32_t message);
void weir__cluster_arrived(weir__cluster_engine *engine, uint32_t message);

// Plays the program from its first call to the end.
void weir__cluster_play(weir__cluster_engine *engine);

// What bounds the run, and its counts. False: no memory.
bool weir__cluster_bounds(const weir__cluster_engine *engine, weir__cluster_result *out_result);

#endif // WEIR_TOOLS_CLUSTER_ENGINE_H
