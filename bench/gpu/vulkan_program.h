// SPDX-License-Identifier: Apache-2.0
//
// A recorded stream as dispatches of kernels that spin on a Vulkan device (tools/weir/spin_vulkan.h), and plans of how to
// keep its order: which queue, which order, which barriers.
#ifndef WEIR_BENCH_GPU_VULKAN_PROGRAM_H
#define WEIR_BENCH_GPU_VULKAN_PROGRAM_H

#include "plan/barriers_plan.h"
#include "streams.h"
#include "vulkan.h"

typedef struct vulkan_dispatch {
  VkPipeline pipeline;
  uint32_t groups[3];
  double us;
} vulkan_dispatch;

typedef struct vulkan_program {
  gpu_program recorded;
  vulkan_dispatch *dispatches; // recorded.count of them
  double *times;               // of each, as recorded
  double *works;               // of each: its time times the part of the device that it occupies
} vulkan_program;

// Ends the program with a message if the stream cannot be read. `quick`: dispatches of one group that do nothing.
void vulkan_program_read(const char *path, bool quick, vulkan_program *out_program);
void vulkan_program_free(vulkan_program *program);

typedef enum vulkan_order {
  VULKAN_UNORDERED, // no barrier at all: not correct, what the dispatches take by themselves
  VULKAN_EACH,      // a barrier after every dispatch
  VULKAN_PROGRAM,   // program order, fewest barriers
  VULKAN_LEVELS,    // level order, fewest barriers
  VULKAN_BALANCED,  // levels that take the least time, by the recorded times
} vulkan_order;

// Plans the dispatches of a program, whose order is `graph` (recorded.address or .buffer), on `queues` queues. `chains`: a
// dispatch goes to the queue of its first predecessor that is still last there, else round robin; otherwise the planner chooses
// queues. Each plan but the first kind is checked.
void vulkan_plan(const vulkan_program *program, const weir__plan_graph *graph, vulkan_order order, uint32_t queues,
                 bool chains, weir__barrier_plan *out_plan);

#endif // WEIR_BENCH_GPU_VULKAN_PROGRAM_H
