// SPDX-License-Identifier: Apache-2.0
//
// The simulated device: the engine as one of Weir's devices. Tasks are issued to it at submission, in virtual time, and
// are reported when the engine has got to their ends; code for the CPU is run then, for its effect. All of it is guarded
// by the context's lock, which is not held while such code runs.
#ifndef WEIR_DEVICE_SIM_SIM_H
#define WEIR_DEVICE_SIM_SIM_H

#include "device/graph.h"
#include "device/host.h"
#include "device/sim/code.h"
#include "device/sim/engine.h"
#include "issue/queues.h"

typedef struct weir__sim_task weir__sim_task;
typedef struct weir__sim_batch weir__sim_batch;
typedef struct weir__sim_batches weir__sim_batches;

// What runs as ops one after another: an ordinary task, a node of a graph, or what begins and ends a batch.
typedef struct weir__sim_chain {
  weir__sim_task *owner;     // NULL: a batch's begin and end
  weir__sim_batch *batch;    // whose begin and end these are; NULL: none
  weir__sim_op *last;        // of the chain
  const weir_kernel *kernel; // NULL: a host task
  uint32_t node;             // of the graph
  uint32_t ended;            // ops of the chain
  uint32_t lane;             // in timelines
  uint64_t start_ps;         // of the chain
  uint64_t alone_ps;         // time of the ops one after another
  uint64_t tail_ps;          // of what is known to wait for the chain
} weir__sim_chain;

// A task that was issued and has not been reported.
struct weir__sim_task {
  weir__sim_task *next_free;
  weir__task *task;
  weir__sim_batch *batch;  // that it is part of; NULL: none
  weir__queue_task *place; // the batch's, or its own; NULL: the device has no queues, or the task was refused
  weir__sim_op *last;      // when this op has ended the task is reported; NULL: the task was refused
  weir__sim_chain whole;   // an ordinary task; of a graph's launch its first and last op, which take no time
  weir__sim_chain *nodes;  // of a graph's launch, else NULL
  uint64_t ready_ps, start_ps, end_ps;
  bool started;
  weir_status status; // why it is not run
};

typedef struct weir__sim_device {
  weir_device base;
  weir__sim_engine *engine;
  weir__queues *queues;            // NULL: none
  weir__sim_batches *batches;      // NULL: tasks are launched one by one
  bool fluid;                      // the engine goes by tails
  struct weir__sim_device *leader; // the first simulated device of the context, which makes progress for all of them
  uint32_t idle_polls;             // leader: in a row that found nothing
  uint32_t in_flight;              // tasks
  uint32_t new_tasks;              // of them, since tails were last up to date
  bool busy;                       // leader: a thread runs a task's code, and will go on with what has ended
  weir__sim_task **tasks;          // per slot of the window; NULL: not in flight
  weir__sim_task *free_tasks;
  weir__task *refused_first, *refused_last; // memory was too short to issue them
  weir__sim_wait *waits;                    // scratch
  weir__queue_task **places;                // scratch
  uint32_t scratch_capacity;                // of both
  uint64_t *lane_ends;                      // per lane, for timelines of devices without queues
  uint64_t random;                          // state; 0: scheduling is not disturbed
  uint64_t memory_left;                     // bytes of memory of its own
} weir__sim_device;

// Whether it is a simulated device, with memory of its own or not.
static inline bool weir__is_sim(const weir_device *device) {
  return device->ops->code == WEIR__CODE_SIM;
}

static inline weir__sim_device *weir__sim_of(weir_device *device) {
  return (weir__sim_device *)(void *)device;
}

// A task in flight by its id, or NULL.
weir__sim_task *weir__sim_find(const weir__sim_device *device, weir__id id);

// Where a chain of ops starts.
typedef struct weir__sim_start {
  uint32_t queue;
  uint32_t wait_count; // of device->waits
  bool in_graph;       // part of a launch that the host has paid for
  const uint32_t *groups;
  int32_t priority;
} weir__sim_start;

// The device's own part of a task that is issued now. NULL: no memory.
weir__sim_task *weir__sim_new_task(weir__sim_device *device, weir__task *task);
int32_t weir__sim_priority(weir__sim_device *device, const weir__task *task);

// Room for `count` entries in both scratch arrays.
bool weir__sim_reserve(weir__sim_device *device, uint32_t count);

// Chooses a queue for what comes after the first `count` of device->places; what it must wait for goes to device->waits. Pays for
// the events. NULL: no memory.
weir__queue_task *weir__sim_choose_queue(weir__sim_device *device, uint32_t count, uint32_t wanted,
                                         weir__sim_start *start);

// weir__device_ops.issue. When memory is too short, the engine first runs dry and the task is refused: it is reported, as
// failed, after all that has ended by then and before anything else.
void weir__sim_issue(weir_device *device, weir__task *task);
// The same for a task that is not to be collected.
void weir__sim_launch_task(weir__sim_device *device, weir__task *task);
// Refuses a task. Its ops run dry, and have no effect.
void weir__sim_refuse(weir__sim_device *device, weir__task *task);

// Adds the ops of a chain. False: no memory; the ops added so far remain.
bool weir__sim_add_chain(weir__sim_device *device, weir__sim_chain *chain, const weir__sim_start *start);

// Adds an op that takes no time, behind the first `wait_count` of device->waits. NULL: no memory.
weir__sim_op *weir__sim_add_marker(weir__sim_device *device, weir__sim_chain *chain, const weir__sim_start *start,
                                   uint32_t wait_count, uint64_t arrival_ps);

// Adds a launch of a graph. False: no memory; the ops added so far remain.
bool weir__sim_add_graph(weir__sim_device *device, weir__sim_task *sim_task, const weir__sim_start *start);

// What a copy of the device's costs.
void weir__sim_move_cost(const weir__sim_device *device, const weir__move *move, weir__sim_cost *out_cost);

// The functions of a device with memory of its own.
extern const weir__memory_ops weir__sim_memory_ops;

// Makes the copy, once it has ended in virtual time.
void weir__sim_make_move(const weir__move *move);

// weir__graph_ops.build.
weir_status weir__sim_graph_build(weir_device *device, weir__graph_plan *plan, uint64_t *out_build_ns);

// Brings the tails of tasks in flight up to date if enough tasks are new. Called before time passes.
void weir__sim_update_tails(weir__sim_device *device);

// weir__polled_ops.progress and .poll. All simulated devices of a context have one host, and what happens on them happens in the
// order of virtual time; at the same time in the order of the devices. While callbacks are due or run no time passes.
bool weir__sim_progress(weir_device *device);
void weir__sim_poll(weir_device *device);

#endif // WEIR_DEVICE_SIM_SIM_H
