// SPDX-License-Identifier: Apache-2.0
//
// Graphs: a sequence of tasks and copies that is recorded once and launched many times (docs/guide/sequences.md).
#ifndef WEIR_GRAPH_H
#define WEIR_GRAPH_H

#include "weir/weir.h"

#ifdef __cplusplus
extern "C" {
#endif

// A recorded sequence of tasks and copies, to be launched as one task.
typedef struct weir_graph weir_graph;

// Options of a graph. Zero in a field means its default.
typedef struct weir_graph_options {
  // Runs all tasks of the graph; NULL: of the first task that needs a certain one, or else the context's first.
  weir_device *device;
  // Of the device, that launches go to: 1 to weir_device_info.queues; 0: Weir chooses, anew for each launch. A matter of speed
  // only: the order with other tasks is kept whatever the queue. A device without queues ignores it.
  uint32_t queue;
  // Launches note when each of their tasks starts and ends, for weir_graph_times. A device may keep such launches, or their
  // tasks, from overlapping.
  bool timing;
} weir_graph_options;

// Creates an empty graph. `options` may be NULL: all defaults.
// Errors: INVALID_ARGUMENT (a device of another context), OUT_OF_RANGE (a queue that the device does not have, with their
// number; where the device is not known yet, from weir_graph_launch), OUT_OF_MEMORY.
WEIR_API weir_status weir_graph_create_sized(weir_context *context, const weir_graph_options *options,
                                             size_t options_size, weir_graph **out_graph);
static inline weir_status weir_graph_create(weir_context *context_, const weir_graph_options *options_,
                                            weir_graph **out_graph_) {
  return weir_graph_create_sized(context_, options_, sizeof *options_, out_graph_);
}

// Records a task, in the order in which it would be submitted; nothing runs. All tasks of a graph run on one device. `after`
// must be empty. `out_node` (may be NULL) gets the number of the task in the graph: 0, 1, 2, ... Tasks can be added after launches,
// too: launches in flight go on as they were, and the next launch prepares the graph anew.
// Errors as weir_submit.
WEIR_API weir_status weir_graph_add_sized(weir_graph *graph, const weir_task *task, size_t task_size,
                                          uint32_t *out_node);
static inline weir_status weir_graph_add(weir_graph *graph_, const weir_task *task_, uint32_t *out_node_) {
  return weir_graph_add_sized(graph_, task_, sizeof *task_, out_node_);
}

// Record copies, as weir_copy_in, weir_copy_out and weir_copy would submit them, and fills, as weir_fill.
// - The source of a copy in is read by every launch, at some time from the call of weir_graph_launch until the launch is
//   done: it must be valid and hold still so long, and may change between launches.
// - The destination of a copy out is written by every launch, and complete when the launch's event is done. A copy that is
//   skipped, because what it reads is poisoned, leaves it as it was. Launches of one graph write it in their order; copies of
//   one launch must go to different bytes.
// Bytes that the caller's memory and a device exchange take no detour where the device reaches the memory by itself
// (weir_host_allocate); else the launch has memory of its own in between, one piece for all its copies.
// For weir_graph_set_arg argument 0 of a copy is its destination and argument 1 its source, as far as they are buffers.
WEIR_API weir_status weir_graph_copy_in(weir_graph *graph, weir_buffer *buffer, uint64_t offset, uint64_t bytes,
                                        const void *source, uint32_t *out_node);
WEIR_API weir_status weir_graph_copy_out(weir_graph *graph, weir_buffer *buffer, uint64_t offset, uint64_t bytes,
                                         void *destination, uint32_t *out_node);
WEIR_API weir_status weir_graph_copy(weir_graph *graph, weir_buffer *destination, uint64_t destination_offset,
                                     weir_buffer *source, uint64_t source_offset, uint64_t bytes, uint32_t *out_node);

// Argument 1 is the pattern, a value of 4 bytes.
WEIR_API weir_status weir_graph_fill(weir_graph *graph, weir_buffer *buffer, uint64_t offset, uint64_t bytes,
                                     uint32_t pattern, uint32_t *out_node);

// Empties a graph, so that it can be recorded again; its options stay. Launches in flight go on unharmed.
WEIR_API weir_status weir_graph_clear(weir_graph *graph);

// Replaces one argument of a recorded task for the launches that follow: a value by one of the same size, or a
// buffer by another of at least the same extent with the same range and mode; this argument only.
// Errors: as weir_submit, and OUT_OF_RANGE for a node or an argument that there is not.
WEIR_API weir_status weir_graph_set_arg(weir_graph *graph, uint32_t node, uint32_t index, const weir_arg *arg);

// Replaces a buffer by another one, at least as large, in every task of the graph, for the launches that follow.
WEIR_API weir_status weir_graph_replace_buffer(weir_graph *graph, weir_buffer *buffer, weir_buffer *replacement);

// Replaces the caller's memory of a copy in or out by other memory, with as many bytes, for the launches that follow.
// Errors: OUT_OF_RANGE (no such node), INVALID_ARGUMENT (not a copy with the caller's memory; NULL).
WEIR_API weir_status weir_graph_set_host_memory(weir_graph *graph, uint32_t node, void *memory);

// Prepares the graph for its device now, if it has changed since that was done. Else the next launch does it, and takes as long.
// Errors: as weir_graph_launch.
WEIR_API weir_status weir_graph_build(weir_graph *graph);

// Submits the whole graph as one unit, in order with all other tasks; it counts as one task. `out_event` as for
// weir_submit. Failures are as if its tasks had been submitted one by one: a failed task poisons what it should have
// written, tasks that read that are skipped, and the status of the launch is that of the first task, in the order of
// recording, that did not end well.
// Errors: as weir_submit; INVALID_ARGUMENT (the graph is empty), RELEASED (a buffer or kernel that it names), OUT_OF_RANGE
// (the device has no such queue).
WEIR_API weir_status weir_graph_launch(weir_graph *graph, weir_event **out_event);

// Launches the graph and waits until that launch is done, `timeout_ns` nanoseconds at most. Returns OK, why the launch was
// refused, how it failed, or TIMEOUT: then it goes on, and weir_graph_wait can wait for it. weir_last_error() has the text.
// Not to be called from a task or callback.
WEIR_API weir_status weir_graph_evaluate(weir_graph *graph, uint64_t timeout_ns);

// Waits until the launches of the graph that are in flight at the call are done, `timeout_ns` nanoseconds at most. Returns
// OK, or, once, the status of the first launch that failed and that neither this nor weir_graph_evaluate has reported; or
// TIMEOUT, which changes nothing about the launches: weir_last_error() says how many go on.
// Not to be called from a task or callback.
WEIR_API weir_status weir_graph_wait(weir_graph *graph, uint64_t timeout_ns);

// When each task of the last launch that is done started and ended, by number of node, in
// nanoseconds of weir_device_time (from which a device's own clock may be off a little); 0 and 0 for tasks that did not run.
// `count` must be the number of tasks of that launch. May be called any number of times. Either array may be NULL.
// Errors: UNAVAILABLE (a graph without weir_graph_options.timing; no launch is done), INVALID_ARGUMENT (`count`: the text has the right one).
WEIR_API weir_status weir_graph_times(weir_graph *graph, uint32_t count, uint64_t *out_start_ns, uint64_t *out_end_ns);

// What is known of a graph.
typedef struct weir_graph_info {
  uint32_t tasks;    // that are recorded, with copies and fills
  uint32_t running;  // launches in flight
  uint64_t edges;    // between tasks that must come after each other; 0: it was not built since it changed
  uint64_t build_ns; // that building it last took (virtual time on a simulated device)
} weir_graph_info;

// Does not wait. Errors: INVALID_ARGUMENT, RELEASED; then all is 0.
WEIR_API weir_status weir_graph_information_sized(weir_graph *graph, weir_graph_info *out_info, size_t info_size);
static inline weir_status weir_graph_information(weir_graph *graph_, weir_graph_info *out_info_) {
  return weir_graph_information_sized(graph_, out_info_, sizeof *out_info_);
}

// Releases a graph: launches in flight finish. The buffers that it names belong to the caller. NULL is allowed.
// Errors: RELEASED.
WEIR_API weir_status weir_graph_release(weir_graph *graph);

#ifdef __cplusplus
}
#endif
#endif // WEIR_GRAPH_H
