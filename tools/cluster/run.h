// SPDX-License-Identifier: Apache-2.0
//
// Plays a program on a simulated cluster, in virtual time: deterministic, without threads or I/O.
// docs/inside/cluster.md defines the model.
#ifndef WEIR_TOOLS_CLUSTER_RUN_H
#define WEIR_TOOLS_CLUSTER_RUN_H

#include "cluster/program.h"
#include "cluster/settings.h"

// What bounds a run from below, each alone.
typedef enum weir__cluster_limit {
  WEIR__CLUSTER_BY_WORKERS,    // tasks and messages that the workers of one rank run
  WEIR__CLUSTER_BY_SUBMISSION, // calls of one rank
  WEIR__CLUSTER_BY_CORES,      // both, of ranks that share cores
  WEIR__CLUSTER_BY_LINKS,      // one link in one direction, or the switch
  WEIR__CLUSTER_BY_CHAIN,      // tasks and messages that follow each other
  WEIR__CLUSTER_LIMITS,
} weir__cluster_limit;

typedef struct weir__cluster_result {
  double makespan_us;
  double work_us;                           // of all tasks, with `jitter`
  double bounds_us[WEIR__CLUSTER_LIMITS];   // the greatest of each kind
  weir__cluster_limit limit;                // the greatest of all
  uint64_t messages, local_messages, bytes; // contents; local: between ranks of a node
  uint64_t edges, window_waits, events;
} weir__cluster_result;

// `window`: tasks in flight of a rank, messages included; at least 1. Errors: OUT_OF_MEMORY.
weir_status weir__cluster_run(const weir__cluster_program *program, const weir__cluster_settings *settings,
                              uint32_t window, weir__cluster_result *out_result);

#endif // WEIR_TOOLS_CLUSTER_RUN_H
