// SPDX-License-Identifier: Apache-2.0
//
// Recorded graphs from inside: what is shared by how they are launched (recorded.c) and by what of them is executable
// graphs (recorded_exec.c).
#ifndef WEIR_DEVICE_CUDA_GRAPH_RECORDED_INSIDE_H
#define WEIR_DEVICE_CUDA_GRAPH_RECORDED_INSIDE_H

#include "device/cuda/graph/binding.h"
#include "device/cuda/graph/capture.h"
#include "device/cuda/graph/exec.h"
#include "device/cuda/graph/segments.h"

// What the device makes of a plan. A node has a place in its segment (segments.h).
typedef struct weir__cuda_plan {
  weir__cuda_segments segments;
  weir__cuda_segments old; // before there were others, whose launches may be in flight
  bool
      one_by_one; // nodes are launched each by itself, in order: what is to be timed, what the driver has refused, code
                  // that is not captured
  bool *apart;    // per node: it is an enqueue function that is called at each launch; NULL: none is
  uint32_t apart_count;
  uint32_t partings; // times that functions were found that go apart
  CUevent *marks; // two per node: its start and its end; NULL: they are not wanted, or are those of executable graphs
  weir__plan_graph order;     // the fewest edges
  weir__cuda_step *steps;     // per place
  bool *changed;              // per place: since the last launch; NULL: places are nodes
  weir__cuda_bytes *bytes;    // per node; NULL: no node copies or fills
  void **parameters;          // per argument of the plan; set for each launch
  void *nowhere;              // in place of a pointer that is not known yet
  weir__cuda_binding binding; // what executable graphs have
  void *const *bound_args;    // what `parameters` point to; NULL: nothing yet
  const unsigned char *bound_values;
  uint32_t mark_count;
  bool by_nodes;               // in the last launch functions were called, or nodes launched one by one
  weir__cuda_call_step *calls; // per place; NULL: no node is an enqueue function, which may fail
  uint32_t call_count;         // nodes that are one
  bool knows_lanes;            // all functions were called in their lanes
  bool complete;               // all executable graphs are there, and set for what `binding` has
  bool children;               // calls are to be child graphs from the start
  uint32_t set;                // of lanes, of these
  uint32_t *turns;             // per place: places of a segment in the order in which they become part of its graph
  weir__graph_counts counts;   // since they were last added to the graph's
  char why[WEIR__CUDA_WHY_BYTES + 96]; // nodes go apart, or one by one
  char call_why[WEIR__CUDA_WHY_BYTES]; // a capture failed
  uint32_t home;                       // the queue where it is launched, counted from 1; 0: it has none yet
} weir__cuda_plan;

// Whether the node is an enqueue function.
bool weir__cuda_node_calls(const weir__graph_node *node);
// Whether the node is one that was adopted.
bool weir__cuda_node_adopted(const weir__graph_node *node);

// Lays out segments, their steps and their calls, for the nodes that go apart; all of it anew, if it was done before.
// False: no memory, or so many segments that nodes are better launched one by one: then made->one_by_one is set.
bool weir__cuda_plan_lay_out(weir__cuda_device *device, const weir__graph_plan *plan, weir__cuda_plan *made);

// Makes executable graphs that there are not yet, or sets in them what the run's arguments have changed. The device's
// context is current.
CUresult weir__cuda_plan_set(weir__cuda_device *device, weir__graph_run *run, weir__cuda_plan *made);

// After a failure of that: functions that could not be captured go apart from now on. False: none was, or that is no
// way; made->why says why.
bool weir__cuda_plan_part(weir__cuda_device *device, const weir__graph_plan *plan, weir__cuda_plan *made,
                          CUresult result);

// Frees what was laid out. `entered`: the device's context is current; if not, the driver's objects are left to it.
void weir__cuda_plan_free_layout(weir__cuda_device *device, weir__cuda_plan *made, bool entered);

#endif // WEIR_DEVICE_CUDA_GRAPH_RECORDED_INSIDE_H
