// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/graph/batches.h"

#include <string.h>

#include "base/allocate.h"
#include "base/clock.h"
#include "base/error.h"
#include "device/cuda/graph/batches_inside.h"
#include "device/cuda/graph/capture.h"
#include "device/cuda/graph/steady.h"
#include "device/cuda/resident/automatic.h"
#include "device/cuda/resident/resident.h"

enum { IDLE_NS = 50000 };

// ---------------------------------------------------------------------------------------------------------------
// Graphs

static bool reserve_parameters(weir__cuda_batches *batches, uint32_t wanted) {
  if (wanted <= batches->parameter_capacity) return true;
  void **larger = weir__allocate(2 * (size_t)wanted * sizeof(void *));
  if (larger == NULL) return false;
  weir__free(batches->parameters);
  batches->parameters = larger;
  batches->parameter_capacity = 2 * wanted;
  return true;
}

// Makes steps of the batch's tasks.
static bool prepare(void *user, const weir__batch *batch) {
  weir__cuda_batches *batches = weir__cuda_of(user)->batches;
  const weir__collection *collection = batch->collection;
  uint32_t total = 0, at = 0;
  for (uint32_t i = 0; i < batch->count; i++) total += collection->tasks[i].task->arg_count;
  if (!reserve_parameters(batches, total + 1)) return false;
  batches->calls = batches->made = false;
  for (uint32_t i = 0; i < batch->count; i++) {
    const weir__collected *from = &collection->tasks[i];
    const weir__task *task = from->task;
    const weir__cuda_kernel *code = from->code;
    bool calls = code->head.enqueue != NULL;
    batches->calls = batches->calls || calls;
    batches->steps[i] = (weir__cuda_step){.kernel = calls ? NULL : code,
                                          .enqueue = code->head.enqueue,
                                          .task = task,
                                          .groups = task->groups,
                                          .parameters = batches->parameters + at,
                                          .parameter_count = task->arg_count,
                                          .predecessors = collection->predecessors + from->first_predecessor,
                                          .predecessor_count = from->predecessor_count};
    for (uint32_t j = 0; j < task->arg_count; j++)
      batches->parameters[at++] = weir__task_is_value(task, j) ? task->args[j] : (void *)&task->args[j];
  }
  batches->step_count = batch->count;
  return true;
}

static weir__graph_likeness compare(void *user, const weir__cached_graph *graph) {
  weir__cuda_device *device = weir__cuda_of(user);
  const weir__cuda_batches *batches = device->batches;
  const weir__cuda_exec *exec = (const weir__cuda_exec *)graph;
  if (!weir__cuda_exec_fits(exec, batches->steps, batches->step_count)) return WEIR__OTHER_TOPOLOGY;
  for (uint32_t i = 0; exec->calls != NULL && i < batches->step_count; i++)
    if (exec->calls[i].enqueue != batches->steps[i].enqueue) return WEIR__OTHER_TOPOLOGY;
  for (uint32_t i = 0; exec->calls != NULL && i < batches->step_count; i++) {
    const weir__cuda_step *step = &batches->steps[i];
    // A child graph is as dear to set as a node is with another function.
    if (step->enqueue != NULL && !weir__cuda_call_is_for(&exec->calls[i], step->task)) return WEIR__OTHER_SHAPE;
  }
  return weir__cuda_exec_likeness(device, exec, batches->steps);
}

// How many calls there are in the batch, and a hash of them, if it is wanted.
static uint32_t count_calls(const weir__cuda_batches *batches, uint64_t *hash) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < batches->step_count; i++) {
    if (batches->steps[i].enqueue == NULL) continue;
    count++;
    if (hash != NULL) *hash = (*hash ^ weir__cuda_steady_hash(batches->steps[i].task)) * 0x9e3779b97f4a7c15u;
  }
  return count;
}

// Nothing of a call is set in a graph where Weir chooses how to issue it.
static weir__batch_wish wish(void *user, const weir__batch *batch) {
  const weir__cuda_batches *batches = weir__cuda_of(user)->batches;
  uint64_t hash = batch->topology;
  if (batches->steady == NULL || !batches->calls) return WEIR__ANY_GRAPH;
  uint32_t calls = count_calls(batches, &hash);
  return weir__cuda_steady_batch(batches->steady, hash, calls) ? WEIR__GRAPH_MADE_AT_ONCE : WEIR__GRAPH_OF_SHAPE;
}

// A launch of a graph with calls that was there.
static void note_again(weir__cuda_batches *batches, weir__cuda_exec *exec) {
  weir__cuda_steady_pays(batches->steady, exec->unpaid);
  exec->unpaid = 0;
  for (uint32_t i = 0; i < batches->step_count; i++)
    if (batches->steps[i].enqueue != NULL) weir__cuda_steady_again(batches->steady, batches->steps[i].task);
}

// The steps that are enqueue functions are calls of the graph that keeps what they captured.
static void aim_calls(weir__cuda_batches *batches, weir__cuda_call_step *calls) {
  for (uint32_t i = 0; batches->calls && i < batches->step_count; i++) {
    if (batches->steps[i].enqueue == NULL) continue;
    calls[i].task = batches->steps[i].task;
    batches->steps[i].call = &calls[i];
  }
}

// A function that could not be captured is called for each of its tasks from now on.
static void note_refusals(const weir__cuda_batches *batches) {
  for (uint32_t i = 0; i < batches->step_count; i++) {
    const weir__cuda_call_step *call = batches->steps[i].call;
    if (call != NULL && call->failed)
      atomic_store_explicit(&call->enqueue->refuses_capture, true, memory_order_relaxed);
  }
}

static bool set(void *user, weir__cached_graph *graph) {
  weir__cuda_device *device = weir__cuda_of(user);
  weir__cuda_exec *exec = (weir__cuda_exec *)graph;
  // A launch that was placed must be in its stream, with what is set now, before anything else is set.
  if (exec->queue != NULL) weir__cuda_await_issued(device, exec->queue, exec->number);
  uint32_t changed;
  aim_calls(device->batches, exec->calls);
  CUresult result = weir__cuda_exec_set(device, exec, device->batches->steps, NULL, &changed);
  if (result != CUDA_SUCCESS) note_refusals(device->batches);
  if (weir__cuda_is_sticky(result)) weir__cuda_trouble(device, result);
  return result == CUDA_SUCCESS;
}

// Calls for the batch's enqueue functions, with their lanes. NULL: no memory.
static weir__cuda_call_step *make_calls(weir__cuda_device *device, weir__cuda_batches *batches, uint32_t set) {
  uint32_t count = batches->step_count, edges = 0;
  for (uint32_t i = 0; i < count; i++) edges += batches->steps[i].predecessor_count;
  weir__cuda_call_step *calls = weir__allocate_zeroed(count * sizeof *calls);
  uint64_t *first = weir__allocate((count + 1) * sizeof *first);
  uint32_t *predecessors = weir__allocate((edges + 1) * sizeof *predecessors);
  bool good = calls != NULL && first != NULL && predecessors != NULL;
  for (uint32_t i = 0, at = 0; good && i < count; i++) {
    const weir__cuda_step *step = &batches->steps[i];
    first[i] = at;
    for (uint32_t j = 0; j < step->predecessor_count; j++) predecessors[at++] = step->predecessors[j];
    first[i + 1] = at;
    calls[i] = (weir__cuda_call_step){
        .enqueue = step->enqueue, .child = true, .captured = &batches->captured, .why = batches->why};
  }
  good = good && weir__cuda_assign_lanes(device, calls, count, first, predecessors, set, batches->order);
  weir__free(first);
  weir__free(predecessors);
  if (good) return calls;
  weir__free(calls);
  return NULL;
}

static weir__cuda_exec *make_with_calls(weir__cuda_device *device, uint32_t flags) {
  weir__cuda_batches *batches = device->batches;
  uint32_t set = weir__cuda_take_set(device);
  weir__cuda_exec *exec = NULL;
  weir__cuda_call_step *calls = make_calls(device, batches, set);
  if (calls == NULL) return NULL;
  aim_calls(batches, calls);
  uint32_t call_count = count_calls(batches, NULL);
  if (batches->steady != NULL) weir__cuda_steady_made(batches->steady, call_count);
  CUresult result = weir__cuda_exec_create(device, batches->steps, batches->order, batches->step_count, flags, &exec);
  if (weir__cuda_is_sticky(result)) weir__cuda_trouble(device, result);
  if (exec == NULL) {
    note_refusals(batches);
    for (uint32_t i = 0; i < batches->step_count; i++) weir__cuda_call_free(device, &calls[i], true);
    weir__free(calls);
    return NULL;
  }
  batches->made = true;
  exec->calls = calls;
  exec->set = set;
  exec->unpaid = call_count;
  return exec;
}

static weir__cached_graph *make(void *user) {
  weir__cuda_device *device = weir__cuda_of(user);
  const weir__cuda_batches *batches = device->batches;
  uint32_t flags = device->base.device.host->trace != NULL ? WEIR__CUDA_EXEC_MARKS : 0;
  weir__cuda_exec *exec;
  if (batches->calls) {
    exec = make_with_calls(device, flags);
    return exec != NULL ? &exec->head : NULL;
  }
  CUresult result = weir__cuda_exec_create(device, batches->steps, NULL, batches->step_count, flags, &exec);
  if (weir__cuda_is_sticky(result)) weir__cuda_trouble(device, result);
  return exec != NULL ? &exec->head : NULL;
}

static void destroy(void *user, weir__cached_graph *graph) {
  weir__cuda_exec_destroy(weir__cuda_of(user), (weir__cuda_exec *)graph);
}

static void request_graph(void *user, const weir__batch *batch) {
  const weir__cuda_batches *batches = weir__cuda_of(user)->batches;
  weir__cuda_builder_ask(batches->builder, batches->steps, batches->step_count, batch->topology, batch->known);
}

// ---------------------------------------------------------------------------------------------------------------
// Tasks one by one

// Adds what tasks of the batch wait for outside of it to the device's places.
static bool find_places(weir__cuda_device *device, const weir__batch *batch, uint32_t *out_count) {
  const weir__collection *collection = batch->collection;
  weir__operations *operations = &device->base.operations;
  uint32_t found = 0;
  for (uint32_t i = 0; i < batch->count; i++) {
    const weir__collected *task = &collection->tasks[i];
    if (!weir__operations_reserve_places(operations, found + task->outside_count + 1)) return false;
    for (uint32_t j = 0; j < task->outside_count; j++) {
      const weir__operation *before = weir__in_order_find(&device->base, collection->outside[task->first_outside + j]);
      bool listed = before == NULL;
      for (uint32_t k = found; k > 0 && !listed; k--) listed = operations->places[k - 1] == before->place;
      if (!listed) operations->places[found++] = before->place;
    }
  }
  *out_count = found;
  return true;
}

// weir__recurrence_ops.launch_batch. A graph in which something was set takes long to launch, and is launched elsewhere, where
// the next one can be set meanwhile.
static bool start_batch(void *user, const weir__batch *of, weir__cached_graph *graph, bool same) {
  weir__cuda_device *device = weir__cuda_of(user);
  weir__cuda_batches *batches = device->batches;
  weir__cuda_exec *exec = (weir__cuda_exec *)graph;
  uint32_t place_count;
  weir__operation *operation = weir__operations_take(&device->base.operations);
  weir__cuda_batch *batch = operation == NULL ? NULL : weir__cuda_batch_new(batches);
  weir__cuda_op *op = operation == NULL ? NULL : weir__cuda_reset(operation);
  bool good = batch != NULL && find_places(device, of, &place_count) &&
              weir__cuda_place(device, op, place_count, WEIR__ANY_QUEUE);
  if (!good) {
    if (batch != NULL) weir__cuda_batch_free(batches, batch);
    if (operation != NULL) weir__operations_give(&device->base.operations, operation);
    return false;
  }
  if (batches->steady != NULL && exec != NULL && exec->calls != NULL && !batches->made) note_again(batches, exec);
  batch->exec = exec;
  batch->useless = false;
  batch->count = of->count;
  for (uint32_t i = 0; i < of->count; i++) {
    batch->tasks[i] = of->collection->tasks[i].task;
    weir__operations_set(&device->base.operations, batch->tasks[i]->id, operation);
  }
  op->ops = &weir__cuda_batch_ops;
  op->batch = batch;
  op->here = same || (exec != NULL && exec->calls != NULL); // the lanes' order is the thread's
  operation->status = device->base.lost;
  if (operation->status != WEIR_OK) memcpy(operation->message, device->base.lost_text, WEIR__MESSAGE_BYTES);
  if (device->resident != NULL) weir__resident_make_room(device->resident);
  if (exec != NULL) {
    exec->queue = &device->streams[operation->place->queue];
    exec->number = exec->queue->placed + 1;
  }
  weir__cuda_start(device, op);
  return true;
}

// Whether the resident kernel is on the card, and the next tasks are likely to go there.
static bool goes_on_resident(const weir__cuda_device *device) {
  return device->resident->running && weir__recurrence_is_direct(device->batches->recurrence);
}

// Puts a task into a queue, or has it wait for the resident kernel where what it comes after is there, or, if it is a small copy, has
// it go there as well.
static void launch_task(void *user, weir__task *task) {
  weir__cuda_device *device = weir__cuda_of(user);
  if (device->resident != NULL && weir__resident_is_busy(device)) {
    weir__resident_take(device, task, task->move != NULL);
  } else if (device->resident != NULL && task->move != NULL && goes_on_resident(device)) {
    weir__resident_take_first(device, task);
  } else {
    if (device->resident != NULL && weir__resident_is_in_the_way(task)) weir__resident_make_room(device->resident);
    weir__cuda_issue(device, task);
  }
}

static bool direct_is_ready(void *user) {
  return weir__cuda_of(user)->resident != NULL;
}

static bool direct_wants(void *user, weir__task *const *tasks, uint32_t count) {
  return weir__resident_wants(weir__cuda_of(user), tasks, count);
}

static void direct_take(void *user, weir__task *task) {
  weir__resident_take(weir__cuda_of(user), task, true);
}

static void direct_missed(void *user, weir__task *const *tasks, uint32_t count) {
  weir__resident_missed(weir__cuda_of(user), tasks, count);
}

static bool direct_has_any(void *user, const weir__id *tasks, uint32_t count) {
  weir__cuda_device *device = weir__cuda_of(user);
  return weir__resident_is_busy(device) && weir__resident_has_any(device, tasks, count);
}

static void direct_drain(void *user) {
  weir__resident_drain(weir__cuda_of(user));
}

static const weir__direct_ops direct_ops = {.is_ready = direct_is_ready,
                                            .wants = direct_wants,
                                            .take = direct_take,
                                            .missed = direct_missed,
                                            .has_any = direct_has_any,
                                            .drain = direct_drain};

#define GRAPH_OPS                                                                                                      \
  { .compare = compare, .set = set, .make = make, .destroy = destroy }

// Graphs are made when they are needed, and there is no resident kernel.
static const weir__recurrence_ops at_once = {
    .graphs = GRAPH_OPS, .launch_task = launch_task, .prepare = prepare, .wish = wish, .launch_batch = start_batch};

static const weir__recurrence_ops on_the_side = {.graphs = GRAPH_OPS,
                                                 .direct = &direct_ops,
                                                 .launch_task = launch_task,
                                                 .prepare = prepare,
                                                 .wish = wish,
                                                 .launch_batch = start_batch,
                                                 .request_graph = request_graph};

// ---------------------------------------------------------------------------------------------------------------

weir_status weir__cuda_batches_create(weir__cuda_device *device) {
  weir__host *host = device->base.device.host;
  bool one_by_one = host->issue == WEIR_ISSUE_QUEUES || host->issue == WEIR_ISSUE_RESIDENT;
  if (one_by_one || (host->flags & WEIR_CONTEXT_IN_ORDER)) return WEIR_OK;
  // Where launching goes on in other threads there is a core for making graphs, too.
  bool automatic = host->issue == WEIR_ISSUE_AUTO;
  bool builds = device->launcher_count > 0 && automatic && host->trace == NULL;
  weir__recurrence_options options = {.window = host->window.size,
                                      .seed = host->seed,
                                      .always = host->issue == WEIR_ISSUE_GRAPHS,
                                      .exclusive = host->trace != NULL}; // its events belong to one launch at a time
  weir__cuda_batches *batches = weir__allocate_zeroed(sizeof *batches);
  device->batches = batches;
  weir__cuda_add_path(device, &weir__cuda_graph_path);
  if (batches != NULL) {
    batches->device = device;
    batches->recurrence =
        weir__recurrence_create(builds ? &on_the_side : &at_once, &device->base.device, host, &options);
    if (builds) batches->builder = weir__cuda_builder_create(device);
    if (automatic) batches->steady = weir__cuda_steady_create(host->seed);
  }
  if (batches == NULL || batches->recurrence == NULL || (builds && batches->builder == NULL) ||
      (automatic && batches->steady == NULL))
    return weir__error(WEIR_ERROR_OUT_OF_MEMORY, "device cuda: no memory for graphs");
  return WEIR_OK;
}

void weir__cuda_batches_destroy(weir__cuda_batches *batches) {
  if (batches == NULL) return;
  weir__cuda_builder_destroy(batches->builder);
  weir__recurrence_destroy(batches->recurrence);
  weir__cuda_batches_free(batches);
  weir__cuda_steady_destroy(batches->steady);
  weir__free(batches->parameters);
  weir__free(batches);
}

// Enqueue functions only where they say that they do the same each time: with WEIR_ISSUE_GRAPHS all, by default those that come
// again with the same arguments (steady.h).
static bool may_collect(const weir__cuda_device *device, const weir__task *task) {
  const weir__enqueue *enqueue = ((const weir__cuda_kernel *)task->code)->head.enqueue;
  if (enqueue == NULL) return true;
  if ((enqueue->code.flags & (WEIR_ENQUEUE_PURE | WEIR_ENQUEUE_NO_CAPTURE)) != WEIR_ENQUEUE_PURE ||
      atomic_load_explicit(&enqueue->refuses_capture, memory_order_relaxed) || !weir__cuda_can_capture(device))
    return false;
  return device->batches->steady == NULL || weir__cuda_steady_task(device->batches->steady, task);
}

static void take(weir__cuda_device *device, weir__task *task) {
  weir__cuda_batches *batches = device->batches;
  batches->last_taken_ns = 0;
  const weir__cuda_kernel *code = task->code;
  bool collects = task->kind == WEIR__TASK_KERNEL && device->base.lost == WEIR_OK && may_collect(device, task);
  if (device->automatic != NULL) weir__resident_note(device, task);
  if (collects && !weir__cuda_awaits(device, task->id))
    weir__recurrence_add(batches->recurrence, task, (uintptr_t)task->code,
                         code->head.enqueue != NULL ? 1 : code->count);
  else
    weir__recurrence_pass(batches->recurrence, task);
}

static bool others_are_busy(const weir__cuda_device *device) {
  return device->base.operation_count > 0 || (device->resident != NULL && weir__resident_is_busy(device));
}

static bool is_busy(const weir__cuda_device *device) {
  return weir__recurrence_stalled(device->batches->recurrence) > 0;
}

static void flush(weir__cuda_device *device, bool wanted) {
  weir__cuda_batches *batches = device->batches;
  if (wanted) {
    weir__recurrence_note_wait(batches->recurrence);
  } else {
    if (!is_busy(device) || others_are_busy(device)) return;
    uint64_t now = weir__clock_ns();
    if (batches->last_taken_ns == 0) batches->last_taken_ns = now;
    if (now - batches->last_taken_ns < IDLE_NS) return;
  }
  weir__recurrence_flush(batches->recurrence);
}

// Graphs that were made meanwhile are installed.
static void begin_round(weir__cuda_device *device, bool any) {
  weir__cuda_batches *batches = device->batches;
  if (batches->builder == NULL) return;
  bool busy = any || others_are_busy(device), known = weir__recurrence_is_known(batches->recurrence);
  weir__cuda_builder_note_work(batches->builder, !busy   ? WEIR__CUDA_IDLE
                                                 : known ? WEIR__CUDA_BUSY
                                                         : WEIR__CUDA_BUSY_WITH_NEW);
  uint64_t topology;
  weir__cuda_exec *exec = weir__cuda_builder_fetch(batches->builder, &topology);
  if (exec != NULL) weir__graph_cache_add(weir__recurrence_graphs(batches->recurrence), &exec->head, topology);
}

const weir__cuda_path weir__cuda_graph_path = {
    .take = take, .begin_round = begin_round, .flush = flush, .is_busy = is_busy};
