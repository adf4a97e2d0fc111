// SPDX-License-Identifier: Apache-2.0
//
// Batches: runs of tasks that come again and are launched as one graph (issue/recurrence.h), in virtual time.
//
// A graph that is made costs the host time for each launch in it, at once; or, with AUTO, it is made on another core of the host, one
// graph after the other, and can be used when the host's clock has got so far. Setting a graph costs the host time for each launch
// that is set, and launching it the same time whatever is in it.
#ifndef WEIR_DEVICE_SIM_BATCH_H
#define WEIR_DEVICE_SIM_BATCH_H

#include "device/sim/sim.h"
#include "issue/recurrence.h"

// A task in a graph.
typedef struct weir__sim_node {
  const weir__sim_code *code;
  uint32_t groups[3];
  uint32_t first_edge, edge_count;
  uint32_t first_byte, byte_count; // of its arguments
} weir__sim_node;

// A graph of a batch, and what is set in it.
typedef struct weir__sim_graph {
  weir__cached_graph head;
  struct weir__sim_graph *next; // of those that are being made
  uint64_t ready_ps;            // when it is made, by the host's clock
  uint32_t node_count;
  weir__sim_node *nodes;
  uint32_t *edges;
  unsigned char *bytes;
  uint32_t byte_capacity;
} weir__sim_graph;

// NULL: no memory.
weir__sim_graph *weir__sim_graph_create(const weir__batch *batch);
void weir__sim_graph_destroy(weir__sim_graph *graph);
weir__graph_likeness weir__sim_graph_compare(const weir__sim_graph *graph, const weir__batch *batch);
// Sets what differs; returns how many launches get other functions, and how many only other parameters. False: no memory.
bool weir__sim_graph_set(weir__sim_graph *graph, const weir__batch *batch, uint32_t *out_functions,
                         uint32_t *out_parameters);

struct weir__sim_batches {
  weir__recurrence *recurrence;
  const weir__batch *prepared;
  weir__sim_graph *requested; // those that are being made, oldest first
  uint32_t requested_count;
  uint64_t maker_free_ps; // when they all are
  weir__sim_batch *free_batches;
};

// Tasks that were launched as one.
struct weir__sim_batch {
  weir__sim_batch *next_free;
  weir__queue_task *place;   // NULL: the device has no queues
  weir__cached_graph *graph; // NULL: nothing is launched
  weir__sim_chain ends;      // its first and last op
  uint32_t count, unreported;
  weir__task *tasks[WEIR__LARGEST_BATCH];
};

// weir__recurrence_ops.launch_batch.
bool weir__sim_batch_launch(void *device, const weir__batch *batch, weir__cached_graph *graph, bool same);

// Sets device->batches, where the context or the profile wants graphs.
weir_status weir__sim_batches_create(weir__sim_device *device);
void weir__sim_batches_destroy(weir__sim_device *device);
// Takes a task; batches that are complete by that are launched.
void weir__sim_batches_take(weir__sim_device *device, weir__task *task);
// weir__device_ops.flush: launches what was collected.
void weir__sim_flush(weir_device *device);
// Whether something is collected.
bool weir__sim_batches_stall(const weir__sim_device *device);
// A task of the batch is forgotten. After the last one the batch is gone.
void weir__sim_batch_leave(weir__sim_device *device, weir__sim_batch *batch);

#endif // WEIR_DEVICE_SIM_BATCH_H
