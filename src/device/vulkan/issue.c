// SPDX-License-Identifier: Apache-2.0
//
// Where a task goes: its lane, what it waits for, its commands.
#include "device/graph.h"
#include "device/vulkan/enqueue.h"
#include "device/vulkan/open_task.h"
#include "device/vulkan/vulkan.h"

enum { OPS_PER_BATCH = 512 };

#define NO_LANE UINT32_MAX

// The lane of kernels with the least to do.
static uint32_t emptiest_lane(const weir__vulkan_device *device) {
  uint32_t best = 0;
  for (uint32_t i = 1; i < device->kernel_lanes; i++) {
    if (device->lanes[i].ops_in_flight < device->lanes[best].ops_in_flight) best = i;
  }
  return best;
}

// The lane of the latest of the first `count` predecessors; NO_LANE: none is in a lane of kernels.
static uint32_t predecessor_lane(const weir__vulkan_device *device, uint32_t count) {
  const weir__queue_task *latest = NULL;
  for (uint32_t i = 0; i < count; i++) {
    const weir__queue_task *place = device->base.operations.places[i];
    if (place->queue < device->kernel_lanes && (latest == NULL || place->sequence > latest->sequence)) latest = place;
  }
  return latest != NULL ? latest->queue : NO_LANE;
}

// Single tasks share one lane, unless the caller asked for several: from lane to lane a dependence costs ten times what a
// barrier does. Graphs go to the lane with the least to do.
uint32_t weir__vulkan_choose_lane(const weir__vulkan_device *device, uint32_t count) {
  uint32_t lane = predecessor_lane(device, count);
  if (lane != NO_LANE) return lane;
  return device->spreads ? emptiest_lane(device) : 0;
}

bool weir__vulkan_place(weir__vulkan_device *device, weir__vulkan_op *op, uint32_t count, uint32_t lane_index) {
  weir__vulkan_lane *lane = &device->lanes[lane_index];
  weir__queue_choice choice =
      weir__queues_issue(device->base.queues, device->base.operations.places, count, lane_index);
  if (choice.task == NULL) return false;
  op->head.place = choice.task;
  op->head.place->user = op;
  if (lane->queue == NULL || (lane->open != NULL && lane->open->count >= OPS_PER_BATCH))
    weir__vulkan_submit(device, lane);
  for (uint32_t i = 0; i < choice.wait_count; i++) {
    const weir__vulkan_op *before = choice.waits[i]->user;
    if (!weir__vulkan_let_wait(device, lane, before->batch)) return false;
  }
  if (weir__vulkan_open(device, lane) == NULL) return false;
  // Within a lane that executes commands only barriers keep an order.
  bool needs_barrier = false;
  for (uint32_t i = 0; i < count && lane->queue != NULL; i++) {
    const weir__vulkan_op *before = device->base.operations.places[i]->user;
    needs_barrier = needs_barrier || (before->head.place->queue == lane_index && before->epoch == lane->epoch);
  }
  if (needs_barrier && lane->stages != 0) weir__vulkan_barrier(device, lane);
  op->epoch = lane->epoch;
  op->first = lane->open->value;
  return true;
}

void weir__vulkan_refuse(weir__vulkan_device *device, weir__vulkan_op *op, const char *what, VkResult result) {
  if (op->head.status != WEIR_OK) return;
  weir__in_order_refuse(&device->base, &op->head, weir__vulkan_status(result), what, weir__vulkan_result_name(result));
  if (result == VK_ERROR_DEVICE_LOST) weir__vulkan_trouble(device, result);
}

static bool reads_poison(weir__vulkan_device *device, const weir__task *task) {
  weir__host_lock(device->base.device.host);
  bool poison = task->reads_poison;
  weir__host_unlock(device->base.device.host);
  return poison;
}

// A batch was refused since the op was issued: it may have held the task's first dispatches, or what it reads. (Launches of
// graphs are recorded at once, and look themselves at what they read.)
static void look_again(weir__vulkan_device *device, weir__vulkan_op *op) {
  const weir__vulkan_lane *lane = &device->lanes[op->head.place->queue];
  if (op->head.task->run != NULL) return;
  if (lane->refused >= op->first) {
    weir__vulkan_refuse(device, op, "submit", lane->refusal);
    return;
  }
  if (op->head.task->kind == WEIR__TASK_TRANSFER || !reads_poison(device, op->head.task)) return;
  op->head.status = WEIR_ERROR_UPSTREAM_FAILED;
  weir__in_order_mark_failing(&device->base, op->head.task);
}

void weir__vulkan_append(weir__vulkan_device *device, weir__vulkan_op *op) {
  weir__vulkan_lane *lane = &device->lanes[op->head.place->queue];
  weir__vulkan_batch *batch = lane->open;
  op->batch = batch;
  if (batch->first == NULL) batch->first = op;
  batch->last = op;
  batch->count++;
  lane->ops_in_flight++;
  weir__in_order_append(&device->base, &op->head);
  if (op->head.task == NULL) return;
  if (op->head.status == WEIR_OK && op->refusals != device->refusals) look_again(device, op);
}

void weir__vulkan_mark(const weir__vulkan_device *device, weir__vulkan_op *op, weir__vulkan_lane *lane, bool end) {
  weir__vulkan_batch *batch = lane->open;
  if (batch->queries == VK_NULL_HANDLE || (!end && batch->query_count + 2 > WEIR__VULKAN_QUERIES)) return;
  if (!end) {
    op->query = batch->query_count;
    op->marked = batch;
    batch->query_count += 2;
  } else if (op->marked != batch) {
    op->query = WEIR__VULKAN_NO_QUERY;
    return;
  }
  device->calls.vkCmdWriteTimestamp(batch->commands,
                                    end ? VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT : VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT,
                                    batch->queries, op->query + end);
}

static void lay_out_images(weir__vulkan_device *device, weir__vulkan_lane *lane, const weir__task *task) {
  for (uint32_t i = 0; i < task->arg_count && weir__vulkan_has_new_images(&device->memory); i++)
    if (!weir__task_is_value(task, i)) weir__vulkan_lay_out(device, lane, task->args[i]);
}

// One dispatch of the task's kernel, or all of a task that has one step.
static VkResult record_task(weir__vulkan_device *device, weir__vulkan_lane *lane, const weir__task *task,
                            uint32_t step) {
  weir__vulkan_arg args[WEIR_MAX_ARGS];
  const weir__access *access = task->accesses;
  const weir__vulkan_kernel *kernel = task->code;
  for (uint32_t i = 0; i < task->arg_count; i++) {
    bool is_value = weir__task_is_value(task, i);
    args[i] = (weir__vulkan_arg){.address = task->args[i],
                                 .bytes = is_value ? weir__task_value_bytes(task, i) : access->hi - access->lo,
                                 .is_value = is_value};
    access += !is_value;
  }
  lay_out_images(device, lane, task);
  lane->recorder.sets = weir__vulkan_current_sets(device);
  lane->recorder.chunk = NULL;
  lane->stages |= VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT;
  if (weir__vulkan_steps(task) == 1)
    return weir__vulkan_record_kernel(device, &lane->recorder, kernel, task->groups, args, task->arg_count);
  return weir__vulkan_record_dispatch(device, &lane->recorder, &kernel->launches[step], task->groups, args,
                                      task->arg_count);
}

uint32_t weir__vulkan_steps(const weir__task *task) {
  const weir__vulkan_kernel *kernel = task->kernel != NULL ? task->code : NULL;
  return kernel == NULL || kernel->count == 0 || kernel->count > WEIR__VULKAN_MOST_STEPS ? 1 : kernel->count;
}

static bool issue_kernel(weir__vulkan_device *device, weir__vulkan_op *op, uint32_t count) {
  if (!weir__vulkan_place(device, op, count, weir__vulkan_choose_lane(device, count))) return false;
  weir__vulkan_lane *lane = &device->lanes[op->head.place->queue];
  if (weir__vulkan_steps(op->head.task) > 1) return true;
  const weir__vulkan_kernel *kernel = op->head.task->code;
  if (op->head.status == WEIR_OK && kernel != NULL && kernel->head.enqueue != NULL) {
    lay_out_images(device, lane, op->head.task);
    weir__vulkan_call_task(device, op, lane);
  } else if (op->head.status == WEIR_OK) {
    weir__vulkan_mark(device, op, lane, false);
    VkResult result = record_task(device, lane, op->head.task, 0);
    weir__vulkan_mark(device, op, lane, true);
    if (result != VK_SUCCESS) weir__vulkan_refuse(device, op, "record", result);
  }
  weir__vulkan_append(device, op);
  return true;
}

weir__vulkan_op *weir__vulkan_issue_step(weir__vulkan_device *device, weir__vulkan_op *op, uint32_t index, bool last) {
  weir__vulkan_current_sets(device); // as in weir__vulkan_issue
  weir__task *task = op->head.task;
  weir__vulkan_lane *lane = &device->lanes[op->head.place->queue];
  if (weir__vulkan_open(device, lane) == NULL) {
    weir__in_order_fail(&device->base, &op->head, task);
    return NULL;
  }
  if (index > 0 && op->epoch == lane->epoch && lane->stages != 0) weir__vulkan_barrier(device, lane);
  op->epoch = lane->epoch;
  if (index == 0) op->first = lane->open->value;
  if (op->head.status == WEIR_OK) {
    if (index == 0) weir__vulkan_mark(device, op, lane, false);
    VkResult result = record_task(device, lane, task, index);
    if (last) weir__vulkan_mark(device, op, lane, true);
    if (result != VK_SUCCESS) weir__vulkan_refuse(device, op, "record", result);
  }
  if (last) weir__vulkan_append(device, op);
  return op;
}

static bool issue_move(weir__vulkan_device *device, weir__vulkan_op *op, uint32_t count) {
  if (op->head.status == WEIR_OK) return weir__vulkan_put_move(device, op, count);
  if (!weir__vulkan_place(device, op, count, weir__vulkan_choose_lane(device, count))) return false;
  weir__vulkan_append(device, op);
  return true;
}

static bool issue_run(weir__vulkan_device *device, weir__vulkan_op *op, uint32_t count) {
  weir__task *task = op->head.task;
  uint32_t wanted = task->run->queue;
  if (wanted == WEIR__GRAPH_ANY_QUEUE) wanted = predecessor_lane(device, count);
  if (wanted == NO_LANE) wanted = emptiest_lane(device);
  if (!weir__vulkan_place(device, op, count, wanted)) return false;
  // Which nodes read what a task that failed should have written is known once that is reported.
  weir__vulkan_lane *lane = &device->lanes[op->head.place->queue];
  if (op->head.status == WEIR_OK && reads_poison(device, task)) {
    weir__in_order_drain(&device->base);
    if (weir__vulkan_open(device, lane) == NULL) return false;
  }
  if (op->head.status == WEIR_OK) {
    weir__vulkan_mark(device, op, lane, false);
    VkResult result = weir__vulkan_prepare_run(device, op, lane);
    weir__vulkan_mark(device, op, lane, true);
    if (result != VK_SUCCESS) weir__vulkan_refuse(device, op, "record", result);
  }
  weir__vulkan_append(device, op);
  weir__vulkan_submit(device, lane);
  // Who reads what nodes that do not run should have written must know before it is recorded.
  if (op->head.status != WEIR_OK || atomic_load_explicit(&task->run->failed_count, memory_order_relaxed) > 0)
    weir__in_order_drain(&device->base);
  return true;
}

// The open task that had the slot before comes before this one: what the caller keeps for their lane is not shared.
static uint32_t add_last_of_slot(weir__vulkan_device *device, uint32_t slot, weir__id task, uint32_t count) {
  const weir__operation *before = weir__in_order_find(&device->base, device->last_opened[slot]);
  device->last_opened[slot] = task;
  if (before != NULL) device->base.operations.places[count++] = before->place;
  return count;
}

static bool issue_open(weir__vulkan_device *device, weir__vulkan_op *op, uint32_t count) {
  const weir__task *task = op->head.task;
  const weir__vulkan_opened *own = weir__vulkan_opened_of(task);
  count = add_last_of_slot(device, own->slot.index, task->id, count);
  if (!weir__vulkan_place(device, op, count, own->lane)) return false;
  weir__vulkan_lane *lane = &device->lanes[own->lane];
  if (op->head.status == WEIR_OK) {
    lay_out_images(device, lane, task);
    lane->stages |= WEIR__VULKAN_CALL_STAGES;
    lane->open->graph = own->commands;
    lane->open->graph_timed = own->queries != VK_NULL_HANDLE;
  }
  weir__vulkan_append(device, op);
  weir__vulkan_submit(device, lane);
  return true;
}

void weir__vulkan_op_clear(const weir__vulkan_device *device, weir__vulkan_op *op) {
  op->batch = op->marked = NULL;
  op->rest = NULL;
  op->recording = NULL;
  op->staging = NULL;
  op->refusals = device->refusals;
  op->query = WEIR__VULKAN_NO_QUERY;
}

bool weir__vulkan_enqueue(weir__in_order_device *base, weir__operation *operation, uint32_t count) {
  weir__vulkan_device *device = weir__vulkan_of(&base->device);
  weir__vulkan_op *op = weir__vulkan_op_of(operation);
  const weir__task *task = operation->task;
  weir__vulkan_op_clear(device, op);
  if (weir__task_open(task) != NULL) return issue_open(device, op, count);
  if (task->move != NULL || weir__task_fence(task) != NULL) return issue_move(device, op, count);
  return task->run != NULL ? issue_run(device, op, count) : issue_kernel(device, op, count);
}

void weir__vulkan_discard(weir__in_order_device *base, weir__operation *operation) {
  weir__vulkan_device *device = weir__vulkan_of(&base->device);
  weir__vulkan_op *op = weir__vulkan_op_of(operation);
  if (op->staging != NULL) weir__vulkan_chunk_destroy(&device->memory, op->staging);
}

weir__vulkan_op *weir__vulkan_issue(weir__vulkan_device *device, weir__task *task) {
  weir__vulkan_current_sets(device); // makes room, for which it may have to submit what is open
  weir__operation *operation = weir__in_order_issue(&device->base, task);
  return operation == NULL ? NULL : weir__vulkan_op_of(operation);
}
