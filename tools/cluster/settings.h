// SPDX-License-Identifier: Apache-2.0
//
// What a simulated cluster is made of, and what things cost there.
#ifndef WEIR_TOOLS_CLUSTER_SETTINGS_H
#define WEIR_TOOLS_CLUSTER_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { WEIR__CLUSTER_MOST_RANKS = 16384 };

// Costs are of the processor, times in microseconds and rates in 1e9 bytes a second. A rate of 0 has no limit.
typedef struct weir__cluster_settings {
  double ranks_per_node; // neighbouring ranks share a node
  double workers;        // of a rank
  double cores;          // of a rank, shared by its workers and the thread that submits; 0: as many as workers
  double oversubscribe;  // so many ranks of a node share the cores of one, dealt in turns, as mpirun binds them
  double jitter;         // tasks take from 1 - jitter to 1 + jitter times their time, evenly, the same in each run
  double skip;           // not 0: ranks leave out calls in which they have no part (weir_mpi_skip)
  double submit_us;      // a rank submits a task of its own, a send or a receive
  double pass_us;        // a rank passes a task of another rank through its table
  double buffer_us;      // a rank creates and releases a buffer
  double task_us;        // a worker takes a task and completes it, beside the task's own time
  double send_us;        // a worker copies contents and sends them, beside `copy_gbs`
  double receive_us;     // a worker takes contents that have come, beside `copy_gbs`
  double copy_gbs;       // copies of contents, on either side
  double latency_us;     // from one node to another
  double gbs;            // of the link of a node, in each direction
  double switch_gbs;     // of all messages between nodes together
  double local_latency_us, local_gbs; // between ranks of a node
} weir__cluster_settings;

// The usual settings: docs/inside/cluster.md says where they come from.
extern const weir__cluster_settings weir__cluster_usual;

// Reads "KEY=VALUE,...", of which each key is a member's name, over what the settings hold. "default" changes nothing.
// False: `message` says what is wrong.
bool weir__cluster_settings_read(const char *text, weir__cluster_settings *settings, char *message,
                                 size_t message_size);

// The name and value of a setting, by its number from 0 on; NULL: there are no more.
const char *weir__cluster_settings_name(size_t number);
double weir__cluster_settings_value(const weir__cluster_settings *settings, size_t number);

#endif // WEIR_TOOLS_CLUSTER_SETTINGS_H
