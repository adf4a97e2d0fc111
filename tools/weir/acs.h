// SPDX-License-Identifier: Apache-2.0
//
// A model of a peer, ACS, on the engine of the simulated device: tasks in program order go through a window of a fixed size, in
// which the ranges of a new one are compared with those of all that are there; one without hazards is launched. In virtual
// time, deterministic, without I/O.
//
// Source: Durvasula, Zhao, Kiguru, Guan, Chen, Vijaykumar, "ACS: Concurrent Kernel Execution on Irregular, Input-Dependent
// Computational Graphs", arXiv 2401.12377, 2024. The check that it prints (its algorithm 1) compares what the new kernel
// writes with what those in the window read and write, and so misses that the new one reads what an earlier one writes.
// Here all three are found: RAW, WAR and WAW. Nothing is renamed, so WAR and WAW hazards are waited for, as in ACS.
// docs/inside/acs.md describes the model and what the paper leaves open.
#ifndef WEIR_TOOLS_WEIR_ACS_H
#define WEIR_TOOLS_WEIR_ACS_H

#include "device/sim/engine.h"
#include "trace/trace.h"

// Bytes of memory, at addresses.
typedef struct weir__acs_range {
  weir_mode mode; // READ, WRITE or READ_WRITE
  uint64_t lo, hi;
} weir__acs_range;

// What the application waits for before it goes on behind a task.
typedef enum weir__acs_wait {
  WEIR__ACS_GO_ON = 0,
  WEIR__ACS_WAIT_TASK = 1, // the task itself
  WEIR__ACS_WAIT_ALL = 2,  // everything so far
} weir__acs_wait;

typedef struct weir__acs_task {
  const weir__acs_range *ranges;
  uint32_t range_count;
  const weir__sim_cost *launches; // run one after another
  uint32_t launch_count;          // at least 1
  weir__acs_wait wait;
} weir__acs_task;

typedef struct weir__acs_settings {
  bool hardware;      // ACS-HW: the window is in the device; else ACS-SW
  uint32_t window;    // tasks in it at most; at least 1
  uint32_t streams;   // SW: each with a thread that launches a task in it and waits for it; at least 1
  uint32_t list;      // HW: tasks that the host compares a new one with: the last so many that it sent; at least 1
  uint64_t check_ps;  // host, per range of the tasks that a new one is compared with
  uint64_t poll_ps;   // SW: from when a task is ready until a thread has it
  uint64_t driver_ps; // SW: of a launch, the time for which the driver keeps other threads out; at most the launch
  uint64_t cycle_ps;  // HW: a window of N takes N cycles to insert a task and N - 1 to take one out
} weir__acs_settings;

// A task in the window that another one had to wait for when it came in.
typedef struct weir__acs_upstream {
  uint32_t task;
  weir__hazard hazard; // the first found, and the bytes in common
  uint64_t lo, hi;
} weir__acs_upstream;

typedef struct weir__acs_record {
  uint64_t submit_ps;      // the application gave it to ACS
  uint64_t ready_ps;       // nothing in the window was in its way
  uint64_t start_ps;       // of its first launch, on the device
  uint64_t end_ps;         // of its last one
  uint64_t resume_ps;      // the application went on behind it; where it waited
  uint32_t lane;           // SW: stream; HW: slot of the window
  uint32_t upstream_count; // in result->upstreams,
  uint64_t first_upstream; // from here on
} weir__acs_record;

typedef struct weir__acs_result {
  weir__acs_record *records; // by task
  weir__acs_upstream *upstreams;
  uint64_t upstream_count, upstream_capacity;
  uint64_t window_waits; // tasks that found the window full when their turn came
  uint64_t end_ps;       // the application knows that all is done
} weir__acs_result;

// Runs the tasks; the last one must have WAIT_ALL. Errors: OUT_OF_MEMORY; the result is then empty.
weir_status weir__acs_run(const weir__sim_profile *profile, const weir__acs_settings *settings,
                          const weir__acs_task *tasks, uint32_t task_count, weir__acs_result *out_result);

void weir__acs_result_free(weir__acs_result *result);

#endif // WEIR_TOOLS_WEIR_ACS_H
