// SPDX-License-Identifier: Apache-2.0
//
// Enqueue functions (weir/enqueue.h) on Vulkan devices: calls, what they get, and lanes.
//
// A function records commands between two barriers of its lane, as a dispatch does: they overlap with those of other
// tasks of the same epoch. So each lane of the device has several lanes of functions, and no two calls of one epoch get
// the same one. When all are used, a barrier begins a new epoch.
#ifndef WEIR_DEVICE_VULKAN_ENQUEUE_H
#define WEIR_DEVICE_VULKAN_ENQUEUE_H

#include "device/enqueue.h"
#include "device/vulkan/vulkan.h"

enum { WEIR__VULKAN_CALLS_AT_ONCE = 4 }; // in an epoch of a lane

// What a function may use.
#define WEIR__VULKAN_CALL_STAGES (VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT)

// weir__device_ops.set_enqueue.
weir_status weir__vulkan_set_enqueue(weir_kernel *kernel, const weir_enqueue_code *code);

// Names a range of an argument, which is no value: the object that it is in. Returns that. Any thread.
weir__vulkan_chunk *weir__vulkan_name_range(weir__vulkan_device *device, weir_enqueue_arg *arg);

// Records a task in a lane's open batch. What it has recorded when it fails stays there.
void weir__vulkan_call_task(weir__vulkan_device *device, weir__vulkan_op *op, weir__vulkan_lane *lane);

// Records a node of a run where `recorder` does; `number` is below WEIR__VULKAN_CALLS_AT_ONCE, and is not in use by
// what may run at the same time in this lane. A failure is the node's.
VkResult weir__vulkan_call_node(weir__vulkan_device *device, weir__vulkan_recorder *recorder, weir__graph_run *run,
                                uint32_t index, uint32_t lane, uint32_t number);

// How many nodes of the plan have functions as their code; whether one of these must be called for each launch.
uint32_t weir__vulkan_plan_calls(const weir__graph_plan *plan, bool *out_each_time);

// Counts for weir_graph_get_calls a recording with `captured` calls, or, if that is 0, a launch that called each
// function; `reason`: why all launches do so, or NULL. Takes the lock.
void weir__vulkan_count_calls(weir__vulkan_device *device, const weir__graph_run *run, uint32_t captured,
                              const char *reason);

// Before the commands of a launch with such nodes: no calls before it in the lane have work that may still run when its
// first node's does. After it the lane's numbers are in use until the next epoch.
void weir__vulkan_take_numbers(weir__vulkan_device *device, weir__vulkan_op *op, weir__vulkan_lane *lane);

#endif // WEIR_DEVICE_VULKAN_ENQUEUE_H
