// SPDX-License-Identifier: Apache-2.0
#include "device/vulkan/enqueue.h"

#include <stdio.h>

weir_status weir__vulkan_set_enqueue(weir_kernel *kernel, const weir_enqueue_code *code) {
  weir__code *head = weir__enqueue_make_code(kernel, sizeof(weir__vulkan_kernel), code);
  if (head == NULL) return WEIR_ERROR_OUT_OF_MEMORY;
  return weir__host_set_code(kernel, WEIR__CODE_VULKAN, head, "Vulkan code", NULL);
}

uint32_t weir__vulkan_plan_calls(const weir__graph_plan *plan, bool *out_each_time) {
  uint32_t calls = 0;
  *out_each_time = false;
  for (uint32_t i = 0; i < plan->node_count; i++) {
    if (plan->nodes[i].kernel == NULL) continue;
    const weir__enqueue *enqueue = weir__vulkan_code_of(plan->nodes[i].kernel)->head.enqueue;
    calls += enqueue != NULL;
    *out_each_time = *out_each_time || (enqueue != NULL && (enqueue->code.flags & WEIR_ENQUEUE_NO_CAPTURE) != 0);
  }
  return calls;
}

void weir__vulkan_count_calls(weir__vulkan_device *device, const weir__graph_run *run, uint32_t captured,
                              const char *reason) {
  weir__graph_counts *counts = run->plan->counts;
  weir__host_lock(device->base.device.host);
  counts->captured += captured;
  counts->made += captured > 0;
  counts->called += captured == 0;
  snprintf(counts->reason, sizeof counts->reason, "%s", reason != NULL ? reason : "");
  weir__host_unlock(device->base.device.host);
}

// ---------------------------------------------------------------------------------------------------------------
// Calls

weir__vulkan_chunk *weir__vulkan_name_range(weir__vulkan_device *device, weir_enqueue_arg *arg) {
  weir__vulkan_chunk *chunk = weir__vulkan_chunk_find(&device->memory, (const void *)(uintptr_t)arg->pointer);
  arg->offset = arg->pointer - chunk->address;
  arg->pointer = 0;
  arg->image = chunk->image != NULL;
  arg->handle = (uint64_t)chunk->buffer;
  if (!arg->image) return chunk;
  arg->handle = (uint64_t)chunk->image->image;
  arg->view = (uint64_t)chunk->image->view;
  return chunk;
}

// Calls the function. Nothing is bound afterwards that Weir knows of.
static weir_status call(weir__vulkan_device *device, weir__vulkan_recorder *recorder, weir__enqueue_call *made,
                        weir__enqueue *enqueue, uint32_t lane, uint32_t number) {
  for (uint32_t i = 0; i < made->arg_count; i++) {
    if (made->args[i].value == NULL) weir__vulkan_name_range(device, &made->args[i]);
  }
  made->call.queue = recorder->commands;
  made->call.native_context = device->device;
  made->call.lane = lane * WEIR__VULKAN_CALLS_AT_ONCE + number;
  weir_status status = weir__enqueue_run(made, enqueue);
  recorder->pipeline = VK_NULL_HANDLE;
  recorder->set = VK_NULL_HANDLE;
  recorder->layout = NULL;
  return status;
}

// A number that no call has which this one's work may overlap with.
static uint32_t take_number(weir__vulkan_device *device, weir__vulkan_op *op, weir__vulkan_lane *lane) {
  if (lane->calls_epoch == lane->epoch && lane->calls == WEIR__VULKAN_CALLS_AT_ONCE) weir__vulkan_barrier(device, lane);
  if (lane->calls_epoch != lane->epoch) lane->calls = 0;
  op->epoch = lane->calls_epoch = lane->epoch;
  return lane->calls++;
}

void weir__vulkan_take_numbers(weir__vulkan_device *device, weir__vulkan_op *op, weir__vulkan_lane *lane) {
  if (lane->calls_epoch == lane->epoch && lane->calls > 0) weir__vulkan_barrier(device, lane);
  op->epoch = lane->calls_epoch = lane->epoch;
  lane->calls = WEIR__VULKAN_CALLS_AT_ONCE;
}

void weir__vulkan_call_task(weir__vulkan_device *device, weir__vulkan_op *op, weir__vulkan_lane *lane) {
  const weir__task *task = op->head.task;
  weir__enqueue *enqueue = ((const weir__vulkan_kernel *)task->code)->head.enqueue;
  weir__enqueue_call made;
  if (!weir__enqueue_begin(&made, enqueue, &device->base.device, task)) {
    weir__in_order_refuse(&device->base, &op->head, WEIR_ERROR_OUT_OF_MEMORY, "launch", "no memory for its arguments");
    return;
  }
  uint32_t number = take_number(device, op, lane);
  lane->stages |= WEIR__VULKAN_CALL_STAGES;
  weir__vulkan_mark(device, op, lane, false);
  weir_status status = call(device, &lane->recorder, &made, enqueue, (uint32_t)(lane - device->lanes), number);
  weir__vulkan_mark(device, op, lane, true);
  if (status != WEIR_OK) weir__in_order_refuse(&device->base, &op->head, status, "launch", made.text);
  weir__enqueue_end(&made);
}

VkResult weir__vulkan_call_node(weir__vulkan_device *device, weir__vulkan_recorder *recorder, weir__graph_run *run,
                                uint32_t index, uint32_t lane, uint32_t number) {
  weir__enqueue *enqueue = weir__vulkan_code_of(run->plan->nodes[index].kernel)->head.enqueue;
  weir__enqueue_call made;
  if (!weir__enqueue_begin_node(&made, enqueue, &device->base.device, run, index)) return VK_ERROR_OUT_OF_HOST_MEMORY;
  if (call(device, recorder, &made, enqueue, lane, number) != WEIR_OK)
    weir__graph_run_note_failure(run, index, made.text);
  weir__enqueue_end(&made);
  return VK_SUCCESS;
}
