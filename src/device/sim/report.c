// SPDX-License-Identifier: Apache-2.0
//
// From ops that have ended to tasks that are done. Ops are taken in the order of their ends, by one thread at a time, so
// that a task's code runs after that of its predecessors.
#include <stdio.h>

#include "base/allocate.h"
#include "device/sim/batch.h"
#include "device/watch.h"
#include "device/work.h"

// A program that does nothing but poll would never see time pass: after so many polls in vain it is taken to wait.
enum { PATIENCE = 64 };

static uint64_t to_ns(uint64_t ps) {
  return ps / WEIR__SIM_PS_PER_NS;
}

// The queue, or else a lane that nobody has used since the op started.
static uint32_t choose_lane(const weir__sim_device *device, const weir__sim_op *op) {
  if (weir__sim_op_queue(op) != WEIR__SIM_NO_QUEUE) return weir__sim_op_queue(op);
  uint32_t oldest = 0;
  for (uint32_t i = 0; i < device->base.lanes; i++) {
    if (device->lane_ends[i] <= weir__sim_op_start_ps(op)) return i;
    if (device->lane_ends[i] < device->lane_ends[oldest]) oldest = i;
  }
  return oldest;
}

static const char *chain_name(const weir__sim_chain *chain) {
  const weir__task *task = chain->owner->task;
  if (task->run != NULL) return weir__graph_node_name(&task->run->plan->nodes[chain->node]);
  return chain->kernel != NULL ? chain->kernel->name : "host";
}

// Notes an op in the timeline: as a span where the task as a whole does not say it all.
static void trace_op(weir__sim_device *device, weir__sim_chain *chain, const weir__sim_op *op) {
  weir__trace *trace = device->base.host->trace;
  weir__sim_task *owner = chain->owner;
  if (trace == NULL) return;
  if (chain->ended == 0) chain->lane = choose_lane(device, op);
  device->lane_ends[chain->lane] = op == chain->last ? weir__sim_op_end_ps(op) : UINT64_MAX; // kept to the end
  const weir__sim_code *code = weir__sim_code_of(chain->kernel);
  bool part = owner->nodes != NULL ? chain != &owner->whole : code != NULL && code->count > 1;
  if (!part) return;
  weir__trace_span span = {
      .lane = chain->lane, .start_ns = to_ns(weir__sim_op_start_ps(op)), .end_ns = to_ns(weir__sim_op_end_ps(op))};
  if (owner->nodes != NULL) span.node = chain->node + 1;
  const char *name = code != NULL ? code->launches[chain->ended].name : NULL;
  snprintf(span.name, sizeof span.name, "%s", name != NULL ? name : chain_name(chain));
  weir__trace_add_span(trace, owner->task->id, &span);
}

// Returns what lock_after_code needs.
static weir__thread unlock_for_code(weir__sim_device *device, const weir__task *task) {
  weir__thread before = weir__this_thread; // a task on another device may have submitted just now
  device->leader->busy = true;
  weir__host_unlock_and_wake(device->base.host);
  weir__this_thread.in_task = true;
  weir__this_thread.task = task;
  weir__this_thread.event = NULL;
  return before;
}

static void lock_after_code(weir__sim_device *device, weir__thread before) {
  weir__this_thread = before;
  weir__lock_acquire(&device->base.host->lock);
  device->leader->busy = false;
}

static void run_task(weir__sim_device *device, weir__task *task, weir__failure *failure) {
  weir_work work = {.args = task->args,
                    .arg_count = task->arg_count,
                    .groups = {task->groups[0], task->groups[1], task->groups[2]},
                    .end = (uint64_t)task->groups[0] * task->groups[1] * task->groups[2],
                    .user = task->user,
                    .internal = failure,
                    .worker = device->leader->base.first_worker,
                    .worker_count = device->base.host->worker_count,
                    .task = task->id};
  weir__thread before = unlock_for_code(device, task);
  weir__watch_call(device->base.host, task, task->function, &work);
  lock_after_code(device, before);
}

static void start_task(weir__sim_device *device, weir__sim_task *sim_task, const weir__sim_op *op) {
  sim_task->started = true;
  sim_task->ready_ps = weir__sim_op_ready_ps(op);
  sim_task->start_ps = weir__sim_op_start_ps(op);
  if (sim_task->nodes == NULL) return;
  sim_task->status = weir__host_skip_status(device->base.host, sim_task->task);
  if (sim_task->status == WEIR_OK) weir__graph_run_start(sim_task->task->run);
}

static void end_node(weir__sim_device *device, const weir__sim_chain *chain, const weir__sim_op *op) {
  weir__graph_run *run = chain->owner->task->run;
  weir__thread before = unlock_for_code(device, run->task);
  weir__graph_run_node(run, chain->node, device->leader->base.first_worker);
  lock_after_code(device, before);
  uint8_t state = atomic_load_explicit(&run->states[chain->node], memory_order_relaxed);
  if (run->timed && (state == WEIR__NODE_OK || state == WEIR__NODE_FAILED)) {
    run->start_ns[chain->node] = to_ns(chain->start_ps);
    run->end_ns[chain->node] = to_ns(weir__sim_op_end_ps(op));
  }
}

static void forget(weir__sim_device *device, weir__sim_task *sim_task) {
  device->tasks[sim_task->task->id & device->base.host->window.live.mask] = NULL;
  if (sim_task->batch != NULL)
    weir__sim_batch_leave(device, sim_task->batch);
  else if (sim_task->place != NULL)
    weir__queues_done(device->queues, sim_task->place);
  device->in_flight--;
  weir__free(sim_task->nodes);
  sim_task->next_free = device->free_tasks;
  device->free_tasks = sim_task;
}

static void end_task(weir__sim_device *device, weir__sim_task *sim_task) {
  weir__host *host = device->base.host;
  weir__task *task = sim_task->task;
  weir__failure failure;
  failure.failed = false;
  weir__completion completion = {.status = sim_task->status,
                                 .lane = sim_task->whole.lane,
                                 .ready_ns = to_ns(sim_task->ready_ps),
                                 .start_ns = to_ns(sim_task->start_ps),
                                 .end_ns = to_ns(sim_task->end_ps)};
  if (task->run != NULL) {
    if (completion.status == WEIR_OK) completion.status = weir__graph_run_status(task->run, &completion.message);
  } else {
    completion.status = weir__host_skip_status(host, task);
    if (completion.status == WEIR_OK && task->move != NULL) weir__sim_make_move(task->move);
    if (completion.status == WEIR_OK && task->function != NULL) run_task(device, task, &failure);
    if (failure.failed) {
      completion.status = WEIR_ERROR_TASK_FAILED;
      completion.message = failure.message;
    }
  }
  forget(device, sim_task);
  weir__host_complete(host, task, &completion);
}

// The tasks of a batch are reported together, in the order of submission.
static void end_batch(weir__sim_device *device, const weir__sim_batch *batch) {
  uint32_t count = batch->count; // it is gone after the last one
  for (uint32_t i = 0; i < count; i++) end_task(device, weir__sim_find(device, batch->tasks[i]->id));
}

// True: tasks were reported, of which the op was the last one.
static bool end_op(weir__sim_device *device, weir__sim_op *op) {
  weir__sim_chain *chain = weir__sim_op_user(op);
  weir__sim_task *owner = chain->owner;
  bool done = false;
  if (chain->batch != NULL) {
    done = op == chain->last;
    if (done) end_batch(device, chain->batch);
  } else if (owner->last != NULL) { // not refused
    if (!owner->started) start_task(device, owner, op);
    trace_op(device, chain, op);
    if (chain->ended++ == 0) chain->start_ps = weir__sim_op_start_ps(op);
    owner->end_ps = weir__sim_op_end_ps(op);
    if (chain != &owner->whole && op == chain->last && owner->status == WEIR_OK) end_node(device, chain, op);
    done = op == owner->last;
    if (done) end_task(device, owner);
  }
  weir__sim_engine_free_op(device->engine, op);
  return done;
}

static void report_refused(weir__sim_device *device) {
  weir__task *task = device->refused_first;
  device->refused_first = task->next;
  if (device->refused_first == NULL) device->refused_last = NULL;
  weir__sim_task *sim_task = weir__sim_find(device, task->id);
  if (sim_task != NULL) forget(device, sim_task);
  for (uint32_t i = 0; task->run != NULL && i < task->run->plan->node_count; i++)
    atomic_store_explicit(&task->run->states[i], WEIR__NODE_FAILED, memory_order_relaxed);
  uint64_t now_ns = to_ns(weir__sim_engine_device_ps(device->engine));
  weir__host_complete(device->base.host, task,
                      &(weir__completion){.status = WEIR_ERROR_OUT_OF_MEMORY,
                                          .message = "the simulated device had no memory for it",
                                          .start_ns = now_ns,
                                          .end_ns = now_ns});
}

// Reports what has ended; `waits`: somebody waits for it. Returns whether a task was reported.
static bool report_ended(weir__sim_device *device, bool waits) {
  bool any = false;
  for (;;) {
    weir__sim_op *op = weir__sim_engine_take(device->engine);
    if (op != NULL) {
      uint64_t end_ps = weir__sim_op_end_ps(op);
      if (!end_op(device, op)) continue;
      if (waits) weir__sim_engine_host_wait(device->engine, end_ps);
      any = true;
    } else if (device->refused_first != NULL) {
      report_refused(device);
      any = true;
    } else {
      return any;
    }
  }
}

// The next simulated device of the context from `index` on, which is moved behind it; NULL: there is none.
static weir__sim_device *next_device(const weir__host *host, uint32_t *index) {
  while (*index < host->device_count) {
    weir_device *device = host->devices[(*index)++];
    if (weir__is_sim(device)) return weir__sim_of(device);
  }
  return NULL;
}

// The device on which something happens next, before `until_ps`. NULL: there is none.
static weir__sim_device *earliest(const weir__sim_device *leader, uint64_t until_ps) {
  weir__sim_device *first = NULL;
  uint32_t index = 0;
  for (weir__sim_device *device; (device = next_device(leader->base.host, &index)) != NULL;) {
    uint64_t ps = weir__sim_engine_next_ps(device->engine);
    if (ps >= until_ps) continue;
    first = device;
    until_ps = ps;
  }
  return first;
}

// Reports what has ended on the first device on which something has, or, `all`, on every one.
static bool report_devices(const weir__sim_device *leader, bool waits, bool all) {
  bool any = false;
  uint32_t index = 0;
  for (weir__sim_device *device; (device = next_device(leader->base.host, &index)) != NULL;) {
    any |= report_ended(device, waits);
    if (any && !all) return true;
  }
  return any;
}

static void update_tails(const weir__sim_device *leader) {
  uint32_t index = 0;
  for (weir__sim_device *device; (device = next_device(leader->base.host, &index)) != NULL;)
    weir__sim_update_tails(device);
}

// Launches what was collected, on a host all of whose simulated devices are idle. Returns whether there was anything.
static bool flush_idle(const weir__sim_device *leader) {
  bool any = false;
  uint32_t index = 0;
  for (weir__sim_device *device; (device = next_device(leader->base.host, &index)) != NULL;) {
    if (!weir__sim_batches_stall(device)) continue;
    weir__sim_flush(&device->base);
    any = true;
  }
  return any;
}

// Lets time pass until a task is reported. False: nothing is in flight.
static bool step(weir__sim_device *leader) {
  while (!report_devices(leader, true, false)) {
    update_tails(leader);
    weir__sim_device *device = earliest(leader, UINT64_MAX);
    if (device != NULL)
      weir__sim_engine_handle_next(device->engine);
    else if (!flush_idle(leader))
      return false;
  }
  leader->idle_polls = 0;
  return true;
}

bool weir__sim_progress(weir_device *base) {
  weir__sim_device *device = weir__sim_of(base);
  const weir__host *host = base->host;
  if (device->leader != device || device->busy || host->notices.calling || (host->notices.due & WEIR__DUE_CALLBACKS))
    return false;
  return step(device);
}

void weir__sim_poll(weir_device *base) {
  weir__sim_device *device = weir__sim_of(base);
  if (device->leader != device || device->busy) return;
  bool any = report_devices(device, false, true);
  update_tails(device);
  uint64_t now_ps = weir__sim_engine_host_ps(device->engine);
  for (weir__sim_device *next; (next = earliest(device, now_ps)) != NULL;) weir__sim_engine_handle_next(next->engine);
  if (report_devices(device, false, true) || any)
    device->idle_polls = 0;
  else if (++device->idle_polls >= PATIENCE)
    step(device);
}
