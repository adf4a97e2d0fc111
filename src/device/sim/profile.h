// SPDX-License-Identifier: Apache-2.0
//
// Profiles of simulated devices: text files of `key = value` lines that say what the hardware has and what things cost.
// docs/guide/sim-profiles.md documents every key.
#ifndef WEIR_DEVICE_SIM_PROFILE_H
#define WEIR_DEVICE_SIM_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weir/sim.h"
#include "weir/weir.h"

#define WEIR__SIM_PS_PER_NS 1000u
#define WEIR__SIM_PS_PER_US 1000000u

#define WEIR__SIM_SM_UNITS (UINT64_C(1) << 32)

// How kernels that run at the same time share the device.
typedef enum weir__sim_sharing {
  WEIR__SIM_SHARING_BLOCKS = 0, // whole blocks, which are not interrupted
  WEIR__SIM_SHARING_FLUID = 1,  // any fraction at any time, the kernel with the longest path behind it first
} weir__sim_sharing;

// Times are in picoseconds.
typedef struct weir__sim_profile {
  char name[60];
  char description[96];
  // Multiprocessors.
  uint64_t sms;
  uint64_t warp_threads;
  uint64_t threads_per_sm;
  uint64_t blocks_per_sm;
  uint64_t registers_per_sm;
  uint64_t register_unit;
  uint64_t shared_bytes_per_sm;
  uint64_t shared_bytes_reserved; // per block
  uint64_t sharing;               // weir__sim_sharing
  uint64_t concurrent_kernels;    // at most
  uint64_t copy_engines;          // copies at a time
  uint64_t copy_share_ppm;        // part of the device that a copy occupies
  // Queues.
  uint64_t queues; // 0: none, a task starts when its predecessors are done
  // Time on the device.
  uint64_t kernel_fixed;         // part of a kernel's recorded time that its blocks do not run
  uint64_t dispatch;             // from one kernel's start to the next one's
  uint64_t block_start;          // from one block's start to the next one's in the same kernel
  uint64_t queue_gap;            // from a kernel's end to the start of the next one in the queue
  uint64_t event_latency;        // from a kernel's end to the start of one that waits for it in another queue;
  uint64_t busy_queue_gap;       // that much more in both cases for each other queue that has work,
  uint64_t busy_queue_gap_most;  // up to this
  uint64_t graph_gap;            // along an edge of a graph
  uint64_t launch_latency;       // from the end of the host's call to the kernel's start on an idle device
  uint64_t graph_launch_latency; // the same for a graph
  uint64_t direct_gap;           // from a task's end to the start of one that waits for it, on a device without queues
  // Time on the host.
  uint64_t launch;
  uint64_t event_record;
  uint64_t event_wait;
  uint64_t synchronize; // from the end of the work to the return of the call that waits for it
  uint64_t graph_build_node;
  uint64_t graph_instantiate_node;
  uint64_t graph_launch;
  uint64_t graph_set_parameters; // per launch in the graph that gets other parameters, the later launch included
  uint64_t graph_set_function;   // per launch that gets another function or grid, the same
  uint64_t auto_graphs;          // 1: with AUTO tasks that come again are launched as graphs
  // A resident kernel that the host feeds; for 0: there is none.
  uint64_t resident_launch;   // host, per task
  uint64_t resident_latency;  // from the end of the host's call to the task's start on an idle device
  uint64_t resident_dispatch; // from one task's start to the next one's
  uint64_t resident_gap;      // from a task's end to the start of one that waits for it
  // Memory of its own; for 0: none, the device works in the host's.
  uint64_t memory_mib;
  uint64_t host_rate; // of a copy between it and the host's, in millionths of a byte per ns
  uint64_t peer_rate; // between it and that of another simulated device; for 0: such copies go through the host
  // Speed (pace.h).
  uint64_t speed_ppm;               // of what kernels say
  uint64_t drift_ppm, drift_period; // how far the speed goes up and down, in which time
  uint64_t stall_every, stall_for;  // for 0: never
  uint64_t phase;                   // how far into both the device is at time 0
} weir__sim_profile;

// What a launch costs a device with a profile.
typedef struct weir__sim_cost {
  uint64_t blocks;   // 0: a marker
  uint64_t units;    // of the device that one block occupies, of WEIR__SIM_SM_UNITS in a multiprocessor
  uint64_t block_ps; // time of one block
  uint64_t alone_ps; // time of the kernel when it has the device to itself
  uint64_t share;    // of the device's units that it occupies meanwhile, on average
  bool copy;
} weir__sim_cost;

// Makes the profile that of the device's resident kernel, which has no queues. False: there is none, and nothing changed.
bool weir__sim_profile_make_resident(weir__sim_profile *profile);

// Reads a profile: one of those built in ("ideal", "h200", "plain"), or else a file; settings may follow that replace those in it,
// as in "plain+speed=4+drift=0.5". Sets weir_last_error() on failure: "FILE:LINE: what is wrong", or the setting. Errors: INVALID_ARGUMENT (what is wrong in the file), IO (it cannot be read).
weir_status weir__sim_profile_load(const char *name, weir__sim_profile *out_profile);

// The same from `bytes` bytes of text; `file` stands for it in messages.
weir_status weir__sim_profile_parse(const char *file, const char *text, size_t bytes, weir__sim_profile *out_profile);

// A copy of `bytes` bytes at such a rate.
void weir__sim_profile_copy_cost(const weir__sim_profile *profile, uint64_t bytes, uint64_t rate,
                                 weir__sim_cost *out_cost);

// `groups`: number of blocks where the launch does not say.
void weir__sim_profile_cost(const weir__sim_profile *profile, const weir_sim_launch *launch, uint64_t groups,
                            weir__sim_cost *out_cost);

#endif // WEIR_DEVICE_SIM_PROFILE_H
