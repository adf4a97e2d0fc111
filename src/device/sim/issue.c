// SPDX-License-Identifier: Apache-2.0
//
// From tasks to ops: where they are placed, what they wait for, what that costs the host.
#include "base/allocate.h"
#include "device/sim/batch.h"

weir__sim_task *weir__sim_find(const weir__sim_device *device, weir__id id) {
  weir__sim_task *sim_task = device->tasks[id & device->base.host->window.live.mask];
  return sim_task != NULL && sim_task->task->id == id ? sim_task : NULL;
}

bool weir__sim_reserve(weir__sim_device *device, uint32_t count) {
  if (count <= device->scratch_capacity) return true;
  weir__sim_wait *waits = weir__allocate(2 * (size_t)count * sizeof *waits);
  weir__queue_task **places = weir__allocate(2 * (size_t)count * sizeof(weir__queue_task *));
  if (waits == NULL || places == NULL) {
    weir__free(waits);
    weir__free(places);
    return false;
  }
  weir__free(device->waits);
  weir__free(device->places);
  device->waits = waits;
  device->places = places;
  device->scratch_capacity = 2 * count;
  return true;
}

weir__sim_task *weir__sim_new_task(weir__sim_device *device, weir__task *task) {
  weir__sim_task *sim_task = device->free_tasks;
  if (sim_task != NULL)
    device->free_tasks = sim_task->next_free;
  else
    sim_task = weir__allocate(sizeof *sim_task);
  if (sim_task == NULL) return NULL;
  *sim_task = (weir__sim_task){.task = task};
  device->in_flight++;
  device->new_tasks++;
  sim_task->whole = (weir__sim_chain){.owner = sim_task, .kernel = task->kernel};
  device->tasks[task->id & device->base.host->window.live.mask] = sim_task;
  return sim_task;
}

int32_t weir__sim_priority(weir__sim_device *device, const weir__task *task) {
  if (device->random == 0) return task->priority;
  device->random ^= device->random << 13; // xorshift64
  device->random ^= device->random >> 7;
  device->random ^= device->random << 17;
  return WEIR_PRIORITY_LOWEST + (int32_t)((device->random >> 32) % (WEIR_PRIORITY_HIGHEST - WEIR_PRIORITY_LOWEST + 1));
}

// Without queues a task waits for each predecessor.
static void wait_for_all(weir__sim_device *device, const weir__task *task, weir__sim_start *start) {
  for (uint32_t i = 0; i < task->predecessor_count; i++) {
    const weir__sim_task *predecessor = weir__sim_find(device, task->predecessors[i]);
    if (predecessor == NULL || predecessor->last == NULL) continue;
    device->waits[start->wait_count++] = (weir__sim_wait){.op = predecessor->last, .link = WEIR__SIM_LINK_DIRECT};
  }
}

weir__queue_task *weir__sim_choose_queue(weir__sim_device *device, uint32_t count, uint32_t wanted,
                                         weir__sim_start *start) {
  const weir__sim_profile *profile = weir__sim_engine_profile(device->engine);
  weir__queue_choice choice = weir__queues_issue(device->queues, device->places, count, wanted);
  if (choice.task == NULL) return NULL;
  start->queue = choice.queue;
  for (uint32_t i = 0; i < choice.wait_count; i++)
    device->waits[start->wait_count++] = (weir__sim_wait){.op = choice.waits[i]->user, .link = WEIR__SIM_LINK_EVENT};
  weir__sim_engine_host_spend(device->engine,
                              choice.record_count * profile->event_record + choice.wait_count * profile->event_wait);
  return choice.task;
}

// With queues, for those that the queue's order does not imply.
static bool place(weir__sim_device *device, weir__sim_task *sim_task, weir__sim_start *start) {
  const weir__task *task = sim_task->task;
  uint32_t count = 0;
  for (uint32_t i = 0; i < task->predecessor_count; i++) {
    const weir__sim_task *predecessor = weir__sim_find(device, task->predecessors[i]);
    if (predecessor != NULL && predecessor->place != NULL) device->places[count++] = predecessor->place;
  }
  uint32_t wanted = task->run != NULL ? task->run->queue : WEIR__ANY_QUEUE;
  sim_task->place = weir__sim_choose_queue(device, count, wanted, start);
  return sim_task->place != NULL;
}

bool weir__sim_add_chain(weir__sim_device *device, weir__sim_chain *chain, const weir__sim_start *start) {
  static const weir_sim_launch marker = {0};
  const weir__sim_profile *profile = weir__sim_engine_profile(device->engine);
  const weir__sim_code *code = weir__sim_code_of(chain->kernel);
  const weir_sim_launch *launches = code != NULL ? code->launches : &marker;
  uint32_t count = code != NULL ? code->count : 1;
  uint64_t groups = (uint64_t)start->groups[0] * start->groups[1] * start->groups[2];
  weir__sim_request request = {.queue = start->queue,
                               .waits = device->waits,
                               .wait_count = start->wait_count,
                               .priority = start->priority,
                               .tail_ps = &chain->tail_ps,
                               .user = chain};
  weir__sim_cost cost = {0};
  for (uint32_t i = 0; i < count; i++) {
    if (chain->kernel != NULL) weir__sim_profile_cost(profile, &launches[i], groups, &cost);
    if (chain->owner != NULL && chain->owner->task->move != NULL)
      weir__sim_move_cost(device, chain->owner->task->move, &cost);
    chain->alone_ps += cost.alone_ps;
  }
  request.rest_ps = chain->alone_ps;
  weir__sim_wait previous = {.link = start->in_graph ? WEIR__SIM_LINK_GRAPH : WEIR__SIM_LINK_DIRECT};
  for (uint32_t i = 0; i < count; i++) {
    if (chain->kernel != NULL) weir__sim_profile_cost(profile, &launches[i], groups, &cost);
    request.cost = &cost;
    request.rest_ps -= cost.alone_ps;
    if (!start->in_graph) {
      weir__sim_engine_host_spend(device->engine, profile->launch);
      request.arrival_ps = weir__sim_engine_host_ps(device->engine) + profile->launch_latency;
    }
    previous.op = weir__sim_engine_add(device->engine, &request);
    if (previous.op == NULL) return false;
    request.waits = &previous;
    request.wait_count = start->queue == WEIR__SIM_NO_QUEUE ? 1 : 0; // else the queue's order is enough
  }
  chain->last = previous.op;
  return true;
}

static bool try_to_issue(weir__sim_device *device, weir__task *task) {
  weir__sim_task *sim_task = weir__sim_new_task(device, task);
  if (sim_task == NULL || !weir__sim_reserve(device, task->predecessor_count + 1)) return false;
  weir__sim_start start = {
      .queue = WEIR__SIM_NO_QUEUE, .groups = task->groups, .priority = weir__sim_priority(device, task)};
  if (device->queues == NULL)
    wait_for_all(device, task, &start);
  else if (!place(device, sim_task, &start))
    return false;
  if (task->run != NULL) {
    if (!weir__sim_add_graph(device, sim_task, &start)) return false;
  } else if (!weir__sim_add_chain(device, &sim_task->whole, &start)) {
    return false;
  }
  sim_task->last = sim_task->whole.last;
  if (sim_task->place != NULL) sim_task->place->user = sim_task->last;
  return true;
}

void weir__sim_refuse(weir__sim_device *device, weir__task *task) {
  weir__sim_engine_advance(device->engine, UINT64_MAX);
  weir__sim_task *sim_task = weir__sim_find(device, task->id);
  if (sim_task != NULL && sim_task->place != NULL) {
    weir__queues_done(device->queues, sim_task->place);
    sim_task->place = NULL;
  }
  task->next = NULL;
  if (device->refused_last != NULL)
    device->refused_last->next = task;
  else
    device->refused_first = task;
  device->refused_last = task;
}

void weir__sim_launch_task(weir__sim_device *device, weir__task *task) {
  if (!try_to_issue(device, task)) weir__sim_refuse(device, task);
}

void weir__sim_issue(weir_device *base, weir__task *task) {
  weir__sim_device *device = weir__sim_of(base);
  device->leader->idle_polls = 0;
  if (device->batches != NULL)
    weir__sim_batches_take(device, task);
  else
    weir__sim_launch_task(device, task);
}
