// SPDX-License-Identifier: Apache-2.0
//
// From what a caller recorded to a plan of a graph.
#ifndef WEIR_GRAPH_PLAN_H
#define WEIR_GRAPH_PLAN_H

#include "graph/graph.h"

// A task as it was recorded, with copies of all it points to.
struct weir__recorded {
  weir__graph_kind kind;
  bool writes_host; // `host` is where a copy goes to
  uint64_t bytes;   // of a copy or fill
  void *host;       // of a copy with the caller's memory, else NULL
  weir_task task;   // args points to `args`, label to `label`
  weir_arg *args;   // values point into `values`
  unsigned char *values;
  weir_buffer *scratch; // the last argument, which the graph added for the kernel's enqueue function; NULL: none
  bool *autos;          // per argument: its mode was taken from the code (weir_auto); NULL: none
  bool adopted;         // its arguments only say what it accesses, and cannot be replaced (graph/adopt.h)
  bool wall;            // it comes after all tasks before it, and before all after it
  char label[WEIR__LABEL_BYTES];
};

// Bytes that a value takes among the others of its task or plan.
static inline uint64_t weir__graph_padded(uint64_t bytes) {
  return (bytes + 15) & ~(uint64_t)15;
}

// The mode that is recorded: tasks that commute keep the order in which they were recorded, which is as good as any.
static inline weir_mode weir__graph_mode(weir_mode mode) {
  return mode == WEIR_COMMUTE || mode == WEIR_REDUCE ? WEIR_READ_WRITE : mode;
}

// Adds a copy of a task that was checked; of the rest of `like` only what is not the task. `given`: the task before the modes
// of weir_auto were taken from the code. False: no memory.
bool weir__graph_record(weir_graph *graph, const weir_task *task, const weir_task *given,
                        const struct weir__recorded *like);
void weir__recorded_clear(struct weir__recorded *recorded);

// Refuses what a graph cannot do with images: kernels whose shaders have something else there, copies that only the host could
// make, fills with other bytes than 0. The arguments were checked; the lock is held.
weir_status weir__graph_check_images(const weir_graph *graph, const weir_task *task, weir__graph_kind kind);

// Takes the modes of a recorded task from the code again, where it was taken from it.
void weir__recorded_take_modes(struct weir__recorded *recorded, const weir_device *device);

// Checks and records a task; `like` as above. The lock is held.
weir_status weir__graph_add(weir_graph *graph, const weir_task *task, const struct weir__recorded *like,
                            uint32_t *out_node);

// Removes all that is recorded. The lock is held.
void weir__graph_empty(weir_graph *graph);

// Makes a plan, and has the device prepare it, if there is none that is up to date. The lock is held.
weir_status weir__graph_prepare(weir_graph *graph);

// Whether it can be launched: not empty, prepared, and all that it names is there. `what` is for messages. The lock is held.
weir_status weir__graph_check(weir_graph *graph, const char *what);

// Finds the hazards between the recorded tasks and makes graph->plan and graph->buffers. The context's lock is held.
weir_status weir__graph_make_plan(weir_graph *graph);

// The plan is out of date: the next launch makes a new one. Launches in flight keep the old one.
void weir__graph_forget_plan(weir_graph *graph);
void weir__graph_plan_drop(weir__graph_plan *plan);

// The plan follows a change that leaves all hazards as they are.
void weir__graph_set_value(weir_graph *graph, uint32_t node, uint32_t index);
void weir__graph_buffer_replaced(weir_graph *graph, const weir_buffer *buffer, weir_buffer *replacement);

#endif // WEIR_GRAPH_PLAN_H
