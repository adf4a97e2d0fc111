// SPDX-License-Identifier: Apache-2.0
//
// Where a task goes: its lane, what it waits for, its commands.
#include <stdio.h>
#include <string.h>

#include "base/allocate.h"
#include "device/graph.h"
#include "device/vulkan/vulkan.h"

enum { OPS_AT_ONCE = 128, OPS_PER_BATCH = 512 };

#define NO_LANE UINT32_MAX

static bool add_ops(weir__vulkan_device *device) {
  // The first of each slab links the slabs.
  weir__vulkan_op *slab = weir__allocate_zeroed(OPS_AT_ONCE * sizeof *slab);
  if (slab == NULL) return false;
  slab->next = device->op_slabs;
  device->op_slabs = slab;
  for (int i = 1; i < OPS_AT_ONCE; i++) weir__vulkan_free_op(device, &slab[i]);
  return true;
}

weir__vulkan_op *weir__vulkan_new_op(weir__vulkan_device *device) {
  if (device->free_ops == NULL && !add_ops(device)) return NULL;
  weir__vulkan_op *op = device->free_ops;
  device->free_ops = op->next;
  op->next = NULL;
  op->place = NULL;
  op->batch = op->marked = NULL;
  op->task = NULL;
  op->rest = NULL;
  op->recording = NULL;
  op->staging = NULL;
  op->refusals = device->refusals;
  op->query = WEIR__VULKAN_NO_QUERY;
  op->status = WEIR_OK;
  op->message[0] = '\0';
  return op;
}

void weir__vulkan_free_op(weir__vulkan_device *device, weir__vulkan_op *op) {
  op->next = device->free_ops;
  device->free_ops = op;
}

static uint64_t slot_of(const weir__vulkan_device *device, weir__id id) {
  return id & device->base.host->window.live.mask;
}

weir__vulkan_op *weir__vulkan_find(const weir__vulkan_device *device, weir__id id) {
  weir__vulkan_op *op = device->slot_ops[slot_of(device, id)];
  return op != NULL && weir__window_task(&device->base.host->window, id)->id == id ? op : NULL;
}

static bool reserve_predecessors(weir__vulkan_device *device, uint32_t count) {
  if (count <= device->predecessor_capacity) return true;
  weir__queue_task **places = weir__allocate(2 * (size_t)count * sizeof(weir__queue_task *));
  if (places == NULL) return false;
  weir__free(device->predecessors);
  device->predecessors = places;
  device->predecessor_capacity = 2 * count;
  return true;
}

// Predecessors in flight; their number.
static uint32_t find_predecessors(weir__vulkan_device *device, const weir__task *task) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < task->predecessor_count; i++) {
    weir__vulkan_op *before = weir__vulkan_find(device, task->predecessors[i]);
    if (before != NULL) device->predecessors[count++] = before->place;
  }
  return count;
}

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
    const weir__queue_task *place = device->predecessors[i];
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
  weir__queue_choice choice = weir__queues_issue(device->places, device->predecessors, count, lane_index);
  if (choice.task == NULL) return false;
  op->place = choice.task;
  op->place->user = op;
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
    const weir__vulkan_op *before = device->predecessors[i]->user;
    needs_barrier = needs_barrier || (before->place->queue == lane_index && before->epoch == lane->epoch);
  }
  if (needs_barrier && lane->stages != 0) weir__vulkan_barrier(device, lane);
  op->epoch = lane->epoch;
  op->first = lane->open->value;
  return true;
}

// A task that will not run: who reads what it should have written must know before they are recorded.
static void doom(weir__vulkan_device *device, const weir__task *task) {
  weir__host *host = device->base.host;
  weir__host_lock(host);
  weir__window_doom(&host->window, (weir__task *)(uintptr_t)task);
  weir__host_unlock(host);
}

void weir__vulkan_refuse(weir__vulkan_device *device, weir__vulkan_op *op, const char *what, VkResult result) {
  if (op->status != WEIR_OK) return;
  op->status = weir__vulkan_status(result);
  snprintf(op->message, sizeof op->message, "%s: %s", what, weir__vulkan_result_name(result));
  if (result == VK_ERROR_DEVICE_LOST)
    weir__vulkan_trouble(device, result);
  else
    doom(device, op->task);
}

static bool reads_poison(weir__vulkan_device *device, const weir__task *task) {
  weir__host_lock(device->base.host);
  bool poison = task->reads_poison;
  weir__host_unlock(device->base.host);
  return poison;
}

// A batch was refused since the op was issued: it may have held the task's first dispatches, or what it reads. (Launches of
// graphs are recorded at once, and look themselves at what they read.)
static void look_again(weir__vulkan_device *device, weir__vulkan_op *op) {
  const weir__vulkan_lane *lane = &device->lanes[op->place->queue];
  if (op->task->run != NULL) return;
  if (lane->refused >= op->first) {
    weir__vulkan_refuse(device, op, "submit", lane->refusal);
    return;
  }
  if (op->task->kind == WEIR__TASK_TRANSFER || !reads_poison(device, op->task)) return;
  op->status = WEIR_ERROR_UPSTREAM_FAILED;
  doom(device, op->task);
}

void weir__vulkan_append(weir__vulkan_device *device, weir__vulkan_op *op) {
  weir__vulkan_lane *lane = &device->lanes[op->place->queue];
  weir__vulkan_batch *batch = lane->open;
  op->batch = batch;
  op->next = NULL;
  if (batch->last == NULL)
    batch->first = op;
  else
    batch->last->next = op;
  batch->last = op;
  batch->count++;
  lane->ops_in_flight++;
  device->ops_in_flight++;
  if (op->task == NULL) return;
  device->slot_ops[slot_of(device, op->task->id)] = op;
  if (op->status == WEIR_OK && op->refusals != device->refusals) look_again(device, op);
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
  lane->recorder.sets = weir__vulkan_current_sets(device);
  lane->recorder.chunk = NULL;
  lane->stages |= VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT;
  if (weir__vulkan_steps(task) == 1)
    return weir__vulkan_record_kernel(device, &lane->recorder, kernel, task->groups, args, task->arg_count);
  return weir__vulkan_record_dispatch(device, &lane->recorder, &kernel->launches[step], task->groups, args,
                                      task->arg_count);
}

// Reports the task as failed: there is no memory to put it into a lane.
static void give_up(weir__vulkan_device *device, weir__vulkan_op *op, weir__task *task) {
  weir__vulkan_fail_now(device, task);
  if (op == NULL) return;
  if (op->place != NULL) weir__queues_done(device->places, op->place);
  if (op->staging != NULL) weir__vulkan_chunk_destroy(&device->memory, op->staging);
  weir__vulkan_free_op(device, op);
}

uint32_t weir__vulkan_steps(const weir__task *task) {
  const weir__vulkan_kernel *kernel = task->kernel != NULL ? task->code : NULL;
  return kernel == NULL || kernel->count == 0 || kernel->count > WEIR__VULKAN_MOST_STEPS ? 1 : kernel->count;
}

static weir__vulkan_op *issue_kernel(weir__vulkan_device *device, weir__vulkan_op *op, uint32_t count) {
  weir__task *task = op->task;
  if (!weir__vulkan_place(device, op, count, weir__vulkan_choose_lane(device, count))) {
    give_up(device, op, task);
    return NULL;
  }
  weir__vulkan_lane *lane = &device->lanes[op->place->queue];
  if (weir__vulkan_steps(task) > 1) return op;
  if (op->status == WEIR_OK) {
    weir__vulkan_mark(device, op, lane, false);
    VkResult result = record_task(device, lane, task, 0);
    weir__vulkan_mark(device, op, lane, true);
    if (result != VK_SUCCESS) weir__vulkan_refuse(device, op, "record", result);
  }
  weir__vulkan_append(device, op);
  return op;
}

weir__vulkan_op *weir__vulkan_issue_step(weir__vulkan_device *device, weir__vulkan_op *op, uint32_t index, bool last) {
  weir__vulkan_current_sets(device); // as in weir__vulkan_issue
  weir__task *task = op->task;
  weir__vulkan_lane *lane = &device->lanes[op->place->queue];
  if (weir__vulkan_open(device, lane) == NULL) {
    give_up(device, op, task);
    return NULL;
  }
  if (index > 0 && op->epoch == lane->epoch && lane->stages != 0) weir__vulkan_barrier(device, lane);
  op->epoch = lane->epoch;
  if (index == 0) op->first = lane->open->value;
  if (op->status == WEIR_OK) {
    if (index == 0) weir__vulkan_mark(device, op, lane, false);
    VkResult result = record_task(device, lane, task, index);
    if (last) weir__vulkan_mark(device, op, lane, true);
    if (result != VK_SUCCESS) weir__vulkan_refuse(device, op, "record", result);
  }
  if (last) weir__vulkan_append(device, op);
  return op;
}

static weir__vulkan_op *issue_move(weir__vulkan_device *device, weir__vulkan_op *op, uint32_t count) {
  weir__task *task = op->task;
  bool placed;
  if (op->status == WEIR_OK) {
    placed = weir__vulkan_put_move(device, op, count);
  } else {
    placed = weir__vulkan_place(device, op, count, weir__vulkan_choose_lane(device, count));
    if (placed) weir__vulkan_append(device, op);
  }
  if (placed) return op;
  give_up(device, op, task);
  return NULL;
}

static weir__vulkan_op *issue_run(weir__vulkan_device *device, weir__vulkan_op *op, uint32_t count) {
  weir__task *task = op->task;
  uint32_t wanted = task->run->queue;
  if (wanted == WEIR__GRAPH_ANY_QUEUE) wanted = predecessor_lane(device, count);
  if (wanted == NO_LANE) wanted = emptiest_lane(device);
  if (!weir__vulkan_place(device, op, count, wanted)) {
    give_up(device, op, task);
    return NULL;
  }
  // Which nodes read what a task that failed should have written is known once that is reported.
  weir__vulkan_lane *lane = &device->lanes[op->place->queue];
  if (op->status == WEIR_OK && reads_poison(device, task)) {
    weir__vulkan_drain(device);
    if (weir__vulkan_open(device, lane) == NULL) {
      give_up(device, op, task);
      return NULL;
    }
  }
  if (op->status == WEIR_OK) {
    weir__vulkan_mark(device, op, lane, false);
    VkResult result = weir__vulkan_prepare_run(device, op, lane);
    weir__vulkan_mark(device, op, lane, true);
    if (result != VK_SUCCESS) weir__vulkan_refuse(device, op, "record", result);
  }
  weir__vulkan_append(device, op);
  weir__vulkan_submit(device, lane);
  // Who reads what nodes that do not run should have written must know before it is recorded.
  if (op->status != WEIR_OK || atomic_load_explicit(&task->run->failed_count, memory_order_relaxed) > 0)
    weir__vulkan_drain(device);
  return op;
}

weir__vulkan_op *weir__vulkan_issue(weir__vulkan_device *device, weir__task *task) {
  weir__vulkan_current_sets(device); // makes room, for which it may have to submit what is open
  weir__vulkan_op *op = weir__vulkan_new_op(device);
  if (op == NULL || !reserve_predecessors(device, task->predecessor_count + 1)) {
    give_up(device, op, task);
    return NULL;
  }
  uint32_t count = find_predecessors(device, task);
  op->task = task;
  op->status = device->lost != WEIR_OK      ? device->lost
               : weir__vulkan_signals(task) ? WEIR_OK
                                            : weir__host_skip_status(device->base.host, task);
  if (device->lost != WEIR_OK) memcpy(op->message, device->lost_text, sizeof op->message);
  bool back = task->move != NULL && task->move->write_back; // one that is skipped has lost nothing
  if (op->status != WEIR_OK && device->lost == WEIR_OK && !back) doom(device, task);
  if (task->move != NULL || task->fence != NULL) return issue_move(device, op, count);
  return task->run != NULL ? issue_run(device, op, count) : issue_kernel(device, op, count);
}
