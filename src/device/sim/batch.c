// SPDX-License-Identifier: Apache-2.0
//
// What becomes of a batch that is launched.
#include "device/sim/batch.h"
#include "base/allocate.h"

static weir__sim_batch *new_batch(weir__sim_batches *batches) {
  weir__sim_batch *batch = batches->free_batches;
  if (batch == NULL) return weir__allocate(sizeof *batch);
  batches->free_batches = batch->next_free;
  return batch;
}

// Adds those ops behind which the batch comes to device->waits or, where there are queues, their places to device->places, each
// once. Returns how many.
static uint32_t find_predecessors(weir__sim_device *device, const weir__batch *batch) {
  const weir__collection *collection = batch->collection;
  const weir__collected *last = &collection->tasks[batch->count - 1];
  uint32_t count = 0, outside_count = last->first_outside + last->outside_count;
  for (uint32_t i = 0; i < outside_count; i++) {
    const weir__sim_task *before = weir__sim_find(device, collection->outside[i]);
    if (before == NULL || before->last == NULL) continue;
    bool listed = false;
    for (uint32_t j = 0; j < count && !listed; j++)
      listed = device->queues != NULL ? device->places[j] == before->place : device->waits[j].op == before->last;
    if (listed) continue;
    device->places[count] = before->place;
    device->waits[count++] = (weir__sim_wait){.op = before->last, .link = WEIR__SIM_LINK_DIRECT};
  }
  return count;
}

// Chooses the batch's queue. False: no memory.
static bool place(weir__sim_device *device, weir__sim_batch *batch, uint32_t count, weir__sim_start *start) {
  if (device->queues == NULL) {
    start->wait_count = count;
    return true;
  }
  batch->place = weir__sim_choose_queue(device, count, WEIR__ANY_QUEUE, start);
  return batch->place != NULL;
}

static bool add_task(weir__sim_device *device, const weir__batch *batch, uint32_t index, weir__sim_op *first) {
  const weir__collected *collected = &batch->collection->tasks[index];
  const uint32_t *predecessors = batch->collection->predecessors + collected->first_predecessor;
  weir__sim_task *sim_task = weir__sim_find(device, collected->id);
  weir__sim_start start = {.queue = WEIR__SIM_NO_QUEUE,
                           .in_graph = true,
                           .groups = collected->task->groups,
                           .priority = weir__sim_priority(device, collected->task)};
  for (uint32_t i = 0; i < collected->predecessor_count; i++) {
    const weir__sim_task *before = weir__sim_find(device, batch->collection->tasks[predecessors[i]].id);
    device->waits[start.wait_count++] = (weir__sim_wait){.op = before->whole.last, .link = WEIR__SIM_LINK_GRAPH};
  }
  if (start.wait_count == 0)
    device->waits[start.wait_count++] = (weir__sim_wait){.op = first, .link = WEIR__SIM_LINK_DIRECT};
  return weir__sim_add_chain(device, &sim_task->whole, &start);
}

// Adds the ends of tasks that no other task of the batch comes after to device->waits. Returns how many.
static uint32_t wait_for_leaves(weir__sim_device *device, const weir__batch *batch) {
  const weir__collection *collection = batch->collection;
  bool awaited[WEIR__LARGEST_BATCH] = {false};
  uint32_t count = 0;
  for (uint32_t i = batch->count; i-- > 0;) {
    const weir__collected *task = &collection->tasks[i];
    for (uint32_t j = 0; j < task->predecessor_count; j++)
      awaited[collection->predecessors[task->first_predecessor + j]] = true;
    if (!awaited[i])
      device->waits[count++] =
          (weir__sim_wait){.op = weir__sim_find(device, task->id)->whole.last, .link = WEIR__SIM_LINK_DIRECT};
  }
  return count;
}

// Adds the ops. False: no memory; those added so far remain.
static bool add_ops(weir__sim_device *device, const weir__batch *batch, weir__sim_batch *launched) {
  const weir__sim_profile *profile = weir__sim_engine_profile(device->engine);
  weir__sim_start start = {.queue = WEIR__SIM_NO_QUEUE};
  if (!place(device, launched, find_predecessors(device, batch), &start)) return false;
  weir__sim_engine_host_spend(device->engine, profile->graph_launch);
  uint64_t arrival_ps = weir__sim_engine_host_ps(device->engine) + profile->graph_launch_latency;
  weir__sim_op *first = weir__sim_add_marker(device, &launched->ends, &start, start.wait_count, arrival_ps);
  if (first == NULL) return false;
  for (uint32_t i = 0; i < batch->count; i++) {
    if (!add_task(device, batch, i, first)) return false;
  }
  uint32_t leaves = wait_for_leaves(device, batch);
  launched->ends.last = weir__sim_add_marker(device, &launched->ends, &start, leaves, arrival_ps);
  return launched->ends.last != NULL;
}

// Makes the device's part of each task. False: no memory for all.
static bool make_tasks(weir__sim_device *device, weir__sim_batch *launched) {
  for (uint32_t i = 0; i < launched->count; i++) {
    weir__sim_task *sim_task = weir__sim_new_task(device, launched->tasks[i]);
    if (sim_task == NULL) return false;
    sim_task->batch = launched;
    launched->unreported++;
  }
  return true;
}

static void release(weir__sim_device *device, weir__sim_batch *launched) {
  if (launched->place != NULL) weir__queues_done(device->queues, launched->place);
  if (launched->graph != NULL)
    weir__graph_cache_give(weir__recurrence_graphs(device->batches->recurrence), launched->graph, false);
  launched->next_free = device->batches->free_batches;
  device->batches->free_batches = launched;
}

void weir__sim_batch_leave(weir__sim_device *device, weir__sim_batch *launched) {
  if (--launched->unreported == 0) release(device, launched);
}

static void take_down(weir__sim_device *device, const weir__sim_batch *launched) {
  for (uint32_t i = 0; i < launched->count; i++) {
    weir__sim_task *sim_task = weir__sim_find(device, launched->tasks[i]->id);
    sim_task->last = launched->ends.last;
    sim_task->place = launched->place;
  }
  if (launched->place != NULL) launched->place->user = launched->ends.last;
}

bool weir__sim_batch_launch(void *user, const weir__batch *batch, weir__cached_graph *graph, bool same) {
  weir__sim_device *device = weir__sim_of(user);
  weir__sim_batch *launched = new_batch(device->batches);
  (void)same; // what is set is paid for
  if (launched == NULL) return false;
  const weir__collected *last = &batch->collection->tasks[batch->count - 1];
  *launched = (weir__sim_batch){.graph = graph, .ends = {.batch = launched}, .count = batch->count};
  for (uint32_t i = 0; i < batch->count; i++) launched->tasks[i] = batch->collection->tasks[i].task;
  if (make_tasks(device, launched) &&
      weir__sim_reserve(device, batch->count + last->first_outside + last->outside_count + 1) &&
      add_ops(device, batch, launched)) {
    take_down(device, launched);
    return true;
  }
  for (uint32_t i = 0; i < batch->count; i++) weir__sim_refuse(device, batch->collection->tasks[i].task);
  if (launched->unreported == 0) release(device, launched);
  return true;
}
