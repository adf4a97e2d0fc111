// SPDX-License-Identifier: Apache-2.0
//
// Graphs from inside. What the caller recorded becomes a plan, and a launch of it a run (device/graph.h).
#ifndef WEIR_GRAPH_GRAPH_H
#define WEIR_GRAPH_GRAPH_H

#include "device/graph.h"
#include "engine/submission.h"

// A launch: its run, and while it is in flight its place among the graph's launches.
typedef struct weir__graph_launch {
  weir__graph_run run; // what the device sees; the first member
  weir__ending ending; // of its event
  weir_event *event;
  struct weir__graph_launch *next, *previous; // in flight, by age
  uint64_t number;
  uint32_t holders; // of the run: its task, its event
  bool writes_host; // the device writes to the caller's memory by itself
  bool reported;    // a failure is not for weir_graph_wait: somebody else learns of it
} weir__graph_launch;

// What a graph has for its adopted nodes alone (graph/adopt.h).
typedef struct weir__graph_adopted {
  weir__graph_source *source; // that they point to; NULL: there are none. A reference
  weir_kernel **kernels;
  weir_buffer **buffers;
  uint32_t kernel_count, buffer_count;
} weir__graph_adopted;

// Storage that the graph keeps for buffers that only its launches name (graph/temporaries.h).
typedef struct weir__temporaries {
  weir__block **blocks; // by number of the buffer, NULL: it is none; NULL: there are none
  uint64_t bytes;       // of all
  weir__id last_launch; // that uses them
} weir__temporaries;

struct weir_graph {
  weir__object object;
  struct weir__recorded *recorded;
  uint32_t recorded_count, recorded_capacity;
  weir_buffer **buffers; // by number
  uint32_t buffer_count, buffer_capacity;
  weir_device *device;    // of all its tasks; NULL: open yet
  weir__graph_plan *plan; // NULL: not built, or out of date
  weir__graph_run *idle_runs;
  uint64_t build_ns;
  uint64_t code_changes; // of the context's kernels, when all tasks were found to suit their kernels' code
  bool device_given;     // by its options
  bool timed;
  bool to_be_freed; // released, but launches are in flight
  bool own;         // Weir's: its launches stand for tasks that the caller submitted one by one
  uint32_t queue;
  weir__graph_launch *first_launch, *last_launch; // in flight, oldest first
  uint64_t launch_count;
  uint32_t running;        // launches in flight
  uint32_t queued;         // launches that wait in the context's queue (graph/queued.h)
  struct weir__sync *sync; // the ends of its launches, where ThreadSanitizer watches; a reference
  weir_status failure;     // of a launch, not reported yet
  uint64_t failed_launch;  // number of the last launch that was noted as failed
  char failure_text[WEIR__MESSAGE_BYTES];
  weir__graph_counts counts;
  weir__graph_adopted adopted;
  weir__temporaries temporaries;
  uint32_t time_count; // of the last launch with times that is done
  uint64_t *times;     // its starts, then its ends
};

// A graph of Weir's own on this device, and the end of it: as a release by the caller. The lock is held. NULL: no memory.
weir_graph *weir__graph_new(weir_context *context, weir_device *device);
void weir__graph_give_up(weir_graph *graph);

// The device that the graph runs on.
static inline weir_device *weir__graph_device(const weir_graph *graph) {
  return graph->device != NULL ? graph->device : graph->object.context->host.devices[0];
}

// A queued launch has entered or failed (graph/queued.h). The lock is held.
void weir__graph_unqueue(weir_graph *graph);

// The launch that a run is part of.
static inline weir__graph_launch *weir__graph_launch_of(weir__graph_run *run) {
  return (weir__graph_launch *)(void *)run;
}

// The caller's memory, where the device does not reach it. Both are called without the lock. stage_in: before the launch is
// submitted. stage_out: weir__graph_run.stage_out; it leaves what an older launch must put there first, and that is done
// before the launch's event is.
void weir__graph_run_stage_in(weir__graph_run *run);
void weir__graph_run_stage_out(weir__graph_run *run);
// Takes memory for a run's copies with the caller's memory. RETRY: the lock was released meanwhile, to wait for some.
weir__admit_result weir__graph_run_take_staging(struct weir__graph_run *run, const weir__submission *submission,
                                                weir_status *out_status);

// Gives back memory for copies that launches hold which are over.
void weir__graphs_reclaim(weir_context *context);

// Whether there is something to stage out; whether the device copies out by itself; the copying that is left.
bool weir__graph_run_stages_out(const weir__graph_run *run);
bool weir__graph_run_writes_host(const weir__graph_run *run);
void weir__graph_run_copy_out(weir__graph_run *run);

// A run of the graph's plan, for a launch; NULL: no memory. The lock is held, as for all that follow.
weir__graph_run *weir__graph_run_take(weir_graph *graph);
// Notes which of the caller's memory the device reaches; true: all. Called without the lock.
bool weir__graph_run_reach(weir__graph_run *run);
// Whether the device is known to reach all of it, which is noted then. With the lock.
bool weir__graph_run_host_access_known(weir__graph_run *run);
// Where the caller's memory is, or what stands in for it, becomes the arguments of its copies.
void weir__graph_run_bind_hosts(weir__graph_run *run);
// The places in a run's memory in between.
void weir__graph_lay_out_hosts(weir__graph_plan *plan);

// Refuses a queue that the device does not have; `what` is for the message.
weir_status weir__graph_check_queue(const weir_device *device, uint32_t queue, const char *what);

// Names what the graph's buffers are now, and pins them (weir__pin).
void weir__graph_run_aim(weir__graph_run *run);
void weir__graph_run_give(weir__graph_run *run);
void weir__graph_run_free(weir__graph_run *run);

// Takes over where buffers lie and which predecessors bring data. Called at submission, with the lock held.
void weir__graph_run_bind(weir__task *task, const weir__dependences *dependences);

// A task that this launch may read data of has failed. The lock is held.
void weir__graph_run_upstream_failed(weir__task *task, weir__id predecessor);

// A task that is being submitted reads bytes that this launch writes. The lock is held.
void weir__graph_run_note_reader(weir__graph_run *run, const weir__dependence *dependence, const weir_box *box,
                                 weir__id reader);

// Poisons the outputs of nodes that did not end well, and only those, and marks the tasks in flight that read them. The
// lock is held.
void weir__graph_run_poison(weir__task *task, uint32_t root);

// Adds the nodes to the timeline, with the times of the launch's spans. The lock is held.
void weir__graph_run_trace(const weir__task *task);

// The task of the launch is done. The lock is held.
void weir__graph_run_done(weir__task *task);

// Gives up a hold of the launch's run; after the last one it can serve another launch. The lock is held.
void weir__graph_launch_drop(weir__graph_launch *launch);

#endif // WEIR_GRAPH_GRAPH_H
