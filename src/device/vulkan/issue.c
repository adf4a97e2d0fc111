// SPDX-License-Identifier: Apache-2.0
//
// Where a task goes: its lane, what it waits for, its commands.
#include <stdio.h>
#include <string.h>

#include "api/graph.h"
#include "base/allocate.h"
#include "device/vulkan/vulkan.h"

enum { OPS_AT_ONCE = 128, OPS_PER_BATCH = 512, SMALL_COPY_BYTES = 256 << 10 };

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

static weir__vulkan_op *new_op(weir__vulkan_device *device) {
  if (device->free_ops == NULL && !add_ops(device)) return NULL;
  weir__vulkan_op *op = device->free_ops;
  device->free_ops = op->next;
  op->next = NULL;
  op->place = NULL;
  op->batch = op->marked = NULL;
  op->task = NULL;
  op->recording = NULL;
  op->staging = NULL;
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
  return id & device->base.context->window.live.mask;
}

weir__vulkan_op *weir__vulkan_find(const weir__vulkan_device *device, weir__id id) {
  weir__vulkan_op *op = device->slot_ops[slot_of(device, id)];
  return op != NULL && weir__window_task(&device->base.context->window, id)->id == id ? op : NULL;
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
static uint32_t choose_lane(const weir__vulkan_device *device, uint32_t count) {
  uint32_t lane = predecessor_lane(device, count);
  if (lane != NO_LANE) return lane;
  return device->spreads ? emptiest_lane(device) : 0;
}

// Large copies between the device and the host have lanes of their own, where there are queues for them.
static uint32_t copy_lane(const weir__vulkan_device *device, bool from_host, uint64_t bytes, uint32_t count) {
  uint32_t copy_lanes = device->lane_count - 1 - device->kernel_lanes;
  bool small = bytes < (device->random & 1 ? 1 : SMALL_COPY_BYTES); // at random in tests
  if (copy_lanes == 0 || small) return choose_lane(device, count);
  return device->kernel_lanes + (from_host || copy_lanes == 1 ? 0 : 1);
}

// Gives the op a place behind its predecessors, the first `count` of device->predecessors. False: no memory.
static bool place(weir__vulkan_device *device, weir__vulkan_op *op, uint32_t count, uint32_t lane_index) {
  weir__vulkan_lane *lane = &device->lanes[lane_index];
  weir__queue_choice choice = weir__queues_issue(device->places, device->predecessors, count, lane_index);
  if (choice.task == NULL) return false;
  op->place = choice.task;
  op->place->user = op;
  // What the host waited for is not thereby visible to the device: who comes after both waits for both.
  for (uint32_t i = 0; i < device->lane_count && lane->queue == NULL; i++)
    if (i != lane_index) op->place->clock[i] = 0;
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
  return true;
}

// Puts a placed op into its lane's open batch.
static void append(weir__vulkan_device *device, weir__vulkan_op *op) {
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
  if (op->task != NULL) device->slot_ops[slot_of(device, op->task->id)] = op;
}

// A task that will not run: who reads what it should have written must know before they are recorded.
static void doom(weir__vulkan_device *device, const weir__task *task) {
  weir_context *context = device->base.context;
  weir__context_lock(context);
  weir__window_doom(&context->window, (weir__task *)(uintptr_t)task);
  weir__context_unlock(context);
}

static void refuse(weir__vulkan_device *device, weir__vulkan_op *op, VkResult result) {
  op->status = weir__vulkan_status(result);
  snprintf(op->message, sizeof op->message, "record: %s", weir__vulkan_result_name(result));
  if (result == VK_ERROR_DEVICE_LOST)
    weir__vulkan_trouble(device, result);
  else
    doom(device, op->task);
}

// Writes a timestamp before or behind an op's commands, for timelines.
static void mark(const weir__vulkan_device *device, weir__vulkan_op *op, weir__vulkan_lane *lane, bool end) {
  weir__vulkan_batch *batch = lane->open;
  if (batch->queries == VK_NULL_HANDLE) return;
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
  if (!place(device, op, count, choose_lane(device, count))) {
    give_up(device, op, task);
    return NULL;
  }
  weir__vulkan_lane *lane = &device->lanes[op->place->queue];
  if (weir__vulkan_steps(task) > 1) return op;
  if (op->status == WEIR_OK) {
    mark(device, op, lane, false);
    VkResult result = record_task(device, lane, task, 0);
    mark(device, op, lane, true);
    if (result != VK_SUCCESS) refuse(device, op, result);
  }
  append(device, op);
  return op;
}

weir__vulkan_op *weir__vulkan_issue_step(weir__vulkan_device *device, weir__vulkan_op *op, uint32_t index, bool last) {
  weir__task *task = op->task;
  weir__vulkan_lane *lane = &device->lanes[op->place->queue];
  if (weir__vulkan_open(device, lane) == NULL) {
    give_up(device, op, task);
    return NULL;
  }
  if (index > 0 && op->epoch == lane->epoch && lane->stages != 0) weir__vulkan_barrier(device, lane);
  op->epoch = lane->epoch;
  if (op->status == WEIR_OK) {
    if (index == 0) mark(device, op, lane, false);
    VkResult result = record_task(device, lane, task, index);
    if (last) mark(device, op, lane, true);
    if (result != VK_SUCCESS) refuse(device, op, result);
  }
  if (last) append(device, op);
  return op;
}

// A copy that the device makes. The lane is chosen; the op is placed. False: no memory.
static bool put_copy(weir__vulkan_device *device, weir__vulkan_op *op, uint32_t count, uint32_t lane_index,
                     void *destination, const void *source, uint64_t bytes) {
  if (!place(device, op, count, lane_index)) return false;
  weir__vulkan_lane *lane = &device->lanes[lane_index];
  lane->stages |= VK_PIPELINE_STAGE_TRANSFER_BIT;
  mark(device, op, lane, false);
  weir__vulkan_record_copy(device, lane->open->commands, destination, source, bytes);
  mark(device, op, lane, true);
  lane->open->for_host = lane->open->for_host || weir__vulkan_chunk_find(&device->memory, destination)->mapped != NULL;
  append(device, op);
  return true;
}

// A copy that the host makes.
static bool put_host_copy(weir__vulkan_device *device, weir__vulkan_op *op, uint32_t count, void *destination,
                          const void *source, uint64_t bytes) {
  if (!place(device, op, count, device->lane_count - 1)) return false;
  weir__vulkan_batch *batch = weir__vulkan_host_lane(device)->open;
  batch->to = destination;
  batch->from = source;
  batch->bytes = bytes;
  append(device, op);
  return true;
}

static weir__vulkan_chunk *take_staging(weir__vulkan_device *device, uint64_t bytes) {
  weir__vulkan_chunk *chunk = device->idle_staging;
  if (chunk == NULL || chunk->bytes < bytes) return weir__vulkan_chunk_create(&device->memory, bytes, true);
  device->idle_staging = NULL;
  return chunk;
}

// Between memory of the caller's that the device does not reach, and device memory that the host does not reach: by way of
// staging memory, in two halves, the first of which is an op without a task.
static bool put_staged_copy(weir__vulkan_device *device, weir__vulkan_op *op, uint32_t count, bool from_host) {
  const weir__move *move = op->task->move;
  weir__vulkan_op *half = new_op(device);
  if (half == NULL) return false;
  op->staging = take_staging(device, move->bytes);
  bool good = op->staging != NULL;
  void *staging = good ? op->staging->mapped : NULL;
  if (good && from_host)
    good = put_host_copy(device, half, count, staging, move->source, move->bytes);
  else if (good)
    good =
        put_copy(device, half, count, copy_lane(device, false, move->bytes, count), staging, move->source, move->bytes);
  if (!good) {
    if (half->place != NULL) weir__queues_done(device->places, half->place);
    weir__vulkan_free_op(device, half);
    return false;
  }
  device->predecessors[0] = half->place;
  return from_host
             ? put_copy(device, op, 1, copy_lane(device, true, move->bytes, 1), move->destination, staging, move->bytes)
             : put_host_copy(device, op, 1, move->destination, staging, move->bytes);
}

static bool put_fill(weir__vulkan_device *device, weir__vulkan_op *op, uint32_t count) {
  const weir__move *move = op->task->move;
  uint32_t lane_index = choose_lane(device, count);
  if (!place(device, op, count, lane_index)) return false;
  weir__vulkan_lane *lane = &device->lanes[lane_index];
  lane->stages |= VK_PIPELINE_STAGE_TRANSFER_BIT;
  mark(device, op, lane, false);
  weir__vulkan_record_fill(device, lane->open->commands, move->destination, move->bytes, move->pattern);
  mark(device, op, lane, true);
  lane->open->for_host =
      lane->open->for_host || weir__vulkan_chunk_find(&device->memory, move->destination)->mapped != NULL;
  append(device, op);
  return true;
}

// No bytes, but an order with the caller's work: the lane's batch waits for a semaphore, or signals one.
static bool put_fence(weir__vulkan_device *device, weir__vulkan_op *op, uint32_t count) {
  const weir__vulkan_fence *fence = op->task->move->fence;
  uint32_t lane_index = choose_lane(device, count);
  weir__vulkan_lane *lane = &device->lanes[lane_index];
  if (!fence->signals) weir__vulkan_submit(device, lane); // a wait comes before all that is in its batch
  if (!place(device, op, count, lane_index)) return false;
  if (fence->signals)
    lane->open->signal = fence;
  else
    lane->open->await = fence;
  append(device, op);
  if (fence->signals) weir__vulkan_submit(device, lane); // and a signal behind all
  return true;
}

static bool put_move(weir__vulkan_device *device, weir__vulkan_op *op, uint32_t count) {
  const weir__move *move = op->task->move;
  if (move->fence != NULL) return put_fence(device, op, count);
  if (move->fill) return put_fill(device, op, count);
  const weir__vulkan_chunk *to = weir__vulkan_chunk_find(&device->memory, move->destination);
  const weir__vulkan_chunk *from = weir__vulkan_chunk_find(&device->memory, move->source);
  bool to_device = to != NULL && to->buffer != VK_NULL_HANDLE,
       from_device = from != NULL && from->buffer != VK_NULL_HANDLE;
  if (to_device && from_device) {
    uint32_t lane = to->on_host || from->on_host ? copy_lane(device, from->on_host, move->bytes, count)
                                                 : choose_lane(device, count);
    return put_copy(device, op, count, lane, move->destination, move->source, move->bytes);
  }
  bool direct = to_device ? to->mapped != NULL : from->mapped != NULL && (from->on_host || device->memory.reads_mapped);
  if (direct) return put_host_copy(device, op, count, move->destination, move->source, move->bytes);
  return put_staged_copy(device, op, count, to_device);
}

static weir__vulkan_op *issue_move(weir__vulkan_device *device, weir__vulkan_op *op, uint32_t count) {
  weir__task *task = op->task;
  bool placed;
  if (op->status == WEIR_OK) {
    placed = put_move(device, op, count);
  } else {
    placed = place(device, op, count, choose_lane(device, count));
    if (placed) append(device, op);
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
  if (!place(device, op, count, wanted)) {
    give_up(device, op, task);
    return NULL;
  }
  weir__vulkan_lane *lane = &device->lanes[op->place->queue];
  if (op->status == WEIR_OK) {
    mark(device, op, lane, false);
    VkResult result = weir__vulkan_prepare_run(device, op, lane);
    mark(device, op, lane, true);
    if (result != VK_SUCCESS) refuse(device, op, result);
  }
  append(device, op);
  weir__vulkan_submit(device, lane);
  // Who reads what a skipped node should have written must know before it is recorded.
  if (op->status == WEIR_OK && atomic_load_explicit(&task->run->failed_count, memory_order_relaxed) > 0)
    weir__vulkan_drain(device);
  return op;
}

weir__vulkan_op *weir__vulkan_issue(weir__vulkan_device *device, weir__task *task) {
  weir__vulkan_current_sets(device); // makes room, for which it may have to submit what is open
  weir__vulkan_op *op = new_op(device);
  if (op == NULL || !reserve_predecessors(device, task->predecessor_count + 1)) {
    give_up(device, op, task);
    return NULL;
  }
  uint32_t count = find_predecessors(device, task);
  op->task = task;
  op->status = device->lost != WEIR_OK      ? device->lost
               : weir__vulkan_signals(task) ? WEIR_OK
                                            : weir__context_skips(device->base.context, task);
  if (device->lost != WEIR_OK) memcpy(op->message, device->lost_text, sizeof op->message);
  bool back = task->move != NULL && task->move->back; // one that is skipped has lost nothing
  if (op->status != WEIR_OK && device->lost == WEIR_OK && !back) doom(device, task);
  if (task->move != NULL) return issue_move(device, op, count);
  return task->run != NULL ? issue_run(device, op, count) : issue_kernel(device, op, count);
}
