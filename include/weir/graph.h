// SPDX-License-Identifier: Apache-2.0
//
// Graphs: sequences of tasks and copies that are recorded once and launched many times (docs/guide/graphs.md).
#ifndef WEIR_GRAPH_H
#define WEIR_GRAPH_H

#include "weir/weir.h"

#ifdef __cplusplus
extern "C" {
#endif

// A recorded sequence of tasks and copies. A launch of it counts as one task.
typedef struct weir_graph weir_graph;

// Options of a graph. A member that is 0 has its default.
typedef struct weir_graph_options {
  // Device that runs all tasks of the graph. NULL: the device of the first task that needs a certain one, or else the
  // context's first device.
  weir_device *device;
  // Queue of the device that launches go to: 1 to weir_device_info.queues. 0: Weir chooses for each launch. The choice
  // affects speed only: the order with other tasks is kept on every queue. A device without queues ignores it.
  uint32_t queue;
  // Each launch records when its tasks start and end, for weir_graph_times. On some devices such launches, or their
  // tasks, do not overlap.
  bool timing;
} weir_graph_options;

// Creates an empty graph. `options` may be NULL: all defaults.
// Errors: INVALID_ARGUMENT (a device of another context), OUT_OF_RANGE (a queue that the device does not have; the text
// has the number of its queues), OUT_OF_MEMORY. If the device is not known yet, weir_graph_launch checks the queue.
WEIR_API weir_status weir_graph_create_sized(weir_context *context, const weir_graph_options *options,
                                             size_t options_size, weir_graph **out_graph);
static inline weir_status weir_graph_create(weir_context *context_, const weir_graph_options *options_,
                                            weir_graph **out_graph_) {
  return weir_graph_create_sized(context_, options_, sizeof *options_, out_graph_);
}

// Records a task after those that the graph has; nothing runs. All tasks of a graph run on one device, and `after` must
// be empty. `out_node` gets the number of the task in the graph, from 0; it may be NULL. A graph that was launched can
// be extended: launches in flight are not affected, and the next launch prepares the graph anew.
// Errors: as weir_submit.
WEIR_API weir_status weir_graph_add_sized(weir_graph *graph, const weir_task *task, size_t task_size,
                                          uint32_t *out_node);
static inline weir_status weir_graph_add(weir_graph *graph_, const weir_task *task_, uint32_t *out_node_) {
  return weir_graph_add_sized(graph_, task_, sizeof *task_, out_node_);
}

// Record a copy, as weir_copy_in, weir_copy_out and weir_copy would submit it.
// - Each launch reads the source of a copy in, at some time between the call of weir_graph_launch and the end of the
//   launch. The source must be valid and unchanged during that time, and may change between launches.
// - Each launch writes the destination of a copy out, which is complete when the launch's event is done, and when tasks
//   start that name this event in `after`. A copy that is skipped leaves its destination as it was. Launches of one
//   graph write it in their order. Copies of one launch must write different bytes.
// If the device accesses the caller's memory directly (weir_host_allocate), the bytes take no detour. Otherwise the
// launch has intermediate memory, one block for all its copies, and the host makes the last step of copies out: streams
// and semaphores of other code that wait for the launch do not wait for that.
// For weir_graph_set_arg, argument 0 of a copy is its destination and argument 1 its source, as far as they are
// buffers.
WEIR_API weir_status weir_graph_copy_in(weir_graph *graph, weir_buffer *buffer, uint64_t offset, uint64_t bytes,
                                        const void *source, uint32_t *out_node);
WEIR_API weir_status weir_graph_copy_out(weir_graph *graph, weir_buffer *buffer, uint64_t offset, uint64_t bytes,
                                         void *destination, uint32_t *out_node);
WEIR_API weir_status weir_graph_copy(weir_graph *graph, weir_buffer *destination, uint64_t destination_offset,
                                     weir_buffer *source, uint64_t source_offset, uint64_t bytes, uint32_t *out_node);

// Records a fill, as weir_fill would submit it. For weir_graph_set_arg, argument 0 is the buffer, and argument 1 the
// pattern, a value of 4 bytes.
WEIR_API weir_status weir_graph_fill(weir_graph *graph, weir_buffer *buffer, uint64_t offset, uint64_t bytes,
                                     uint32_t pattern, uint32_t *out_node);

// Removes all tasks of a graph, so that it can be recorded again. Its options stay. Launches in flight are not
// affected.
WEIR_API weir_status weir_graph_clear(weir_graph *graph);

// Replaces one argument of a recorded task for later launches. A value is replaced by one of the same size; a buffer by
// another of at least the same extent, with the same range and mode. Other arguments that name the same buffer keep it.
// Errors: as weir_submit; OUT_OF_RANGE (no such node or argument).
WEIR_API weir_status weir_graph_set_arg(weir_graph *graph, uint32_t node, uint32_t index, const weir_arg *arg);

// Replaces a buffer by another one, at least as large, in all tasks of the graph, for later launches. The replaced
// buffer may be released already.
// Errors: INVALID_ARGUMENT (no task names the buffer; the graph names the replacement already; the replacement is too
// small; an image, which weir_graph_set_arg replaces).
WEIR_API weir_status weir_graph_replace_buffer(weir_graph *graph, weir_buffer *buffer, weir_buffer *replacement);

// Replaces the caller's memory of a copy in or out by other memory, as many bytes long, for later launches.
// Errors: OUT_OF_RANGE (no such node), INVALID_ARGUMENT (no copy with the caller's memory; NULL).
WEIR_API weir_status weir_graph_set_host_memory(weir_graph *graph, uint32_t node, void *memory);

// Prepares the graph for its device, if it changed since it was last prepared. Without this call the next launch does
// it, and takes that much longer.
// Errors: as weir_graph_launch.
WEIR_API weir_status weir_graph_build(weir_graph *graph);

// Submits the whole graph as one task, in order with all other tasks. `out_event` as for weir_submit. Failures are as
// if the tasks had been submitted one by one: a failed task poisons its outputs, and tasks that read them are skipped.
// The status of the launch is that of the first task, in the order of recording, that failed or was skipped.
// Errors: as weir_submit; INVALID_ARGUMENT (the graph is empty), RELEASED (a buffer or kernel of the graph),
// OUT_OF_RANGE (the device has no such queue).
WEIR_API weir_status weir_graph_launch(weir_graph *graph, weir_event **out_event);

// Launches the graph and waits until that launch is done, for `timeout_ns` nanoseconds at most. Returns OK, the error
// of the submission, or the status of the launch; weir_last_error() has the text. After TIMEOUT the launch goes on, and
// weir_graph_wait can wait for it. The submission itself waits for room as weir_graph_launch does, however long that
// takes. A task or callback must not call it.
WEIR_API weir_status weir_graph_evaluate(weir_graph *graph, uint64_t timeout_ns);

// Waits until the launches of the graph that are in flight are done, for `timeout_ns` nanoseconds at most. Returns OK,
// or the status of the first failed launch that neither this function nor weir_graph_evaluate has reported. TIMEOUT
// does not affect the launches, and weir_last_error() has the number of those in flight. A task or callback must not
// call it.
WEIR_API weir_status weir_graph_wait(weir_graph *graph, uint64_t timeout_ns);

// Reads when each task of the last completed launch started and ended, by number of node, in nanoseconds of
// weir_device_time. A device's own clock may differ from it a little. A task that did not run has 0 and 0. Both arrays
// have `count` elements, the number of tasks of that launch; either may be NULL. The times can be read again.
// Errors: UNAVAILABLE (a graph without weir_graph_options.timing; no launch is done), INVALID_ARGUMENT (a wrong
// `count`; the text has the right one).
WEIR_API weir_status weir_graph_times(weir_graph *graph, uint32_t count, uint64_t *out_start_ns, uint64_t *out_end_ns);

// State of a graph.
typedef struct weir_graph_info {
  uint32_t tasks;    // recorded tasks, with copies and fills
  uint32_t running;  // launches in flight
  uint64_t edges;    // dependences between its tasks; 0: it changed since it was last prepared
  uint64_t build_ns; // duration of the last preparation; virtual time on a simulated device
} weir_graph_info;

// Reads the state of a graph. Does not wait.
// Errors: INVALID_ARGUMENT, RELEASED; then all members are 0.
WEIR_API weir_status weir_graph_information_sized(weir_graph *graph, weir_graph_info *out_info, size_t info_size);
static inline weir_status weir_graph_information(weir_graph *graph_, weir_graph_info *out_info_) {
  return weir_graph_information_sized(graph_, out_info_, sizeof *out_info_);
}

// Releases a graph, at any time; launches in flight finish. Its buffers still belong to the caller. `graph` may be
// NULL.
// Errors: RELEASED.
WEIR_API weir_status weir_graph_release(weir_graph *graph);

#ifdef __cplusplus
}
#endif
#endif // WEIR_GRAPH_H
