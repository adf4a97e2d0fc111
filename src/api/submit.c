// SPDX-License-Identifier: Apache-2.0
#include "api/submit.h"

#include <stdio.h>
#include <string.h>

#include "api/graph.h"
#include "base/allocate.h"
#include "base/error.h"

// A submitter that found the window full comes back for more than one slot, if more come free soon: taking turns with
// the workers for each slot would cost both more than the slots are worth.
enum { ROOM_WAIT_NS = 10000, ROOM_WAIT_WINDOW = 64 };

static weir__enter_result would_wait(const weir_task *task, const char *what, weir_status *out_status) {
  char name[WEIR__WHAT_BYTES];
  weir__describe_task(task, name);
  *out_status =
      weir__error(WEIR_ERROR_OUT_OF_MEMORY, "%s: %s is full, and a task or callback must not wait", name, what);
  return WEIR__ENTER_FAILED;
}

static weir__enter_result no_memory(const weir_task *task, const char *what, weir_status *out_status) {
  char name[WEIR__WHAT_BYTES];
  weir__describe_task(task, name);
  *out_status = weir__error(WEIR_ERROR_OUT_OF_MEMORY, "%s: no memory for its %s", name, what);
  return WEIR__ENTER_FAILED;
}

weir__enter_result weir__enter_wait(weir_context *context, const weir_task *task, weir_status *out_status) {
  const weir__liveness *live = &context->window.live;
  if (live->oldest < context->barrier) {
    if (weir__in_task) return would_wait(task, "the memory", out_status);
    weir__context_wait(context, context->barrier, WEIR_FOREVER);
    return WEIR__ENTER_AGAIN;
  }
  if (!weir__window_full(&context->window)) return WEIR__ENTERED;
  if (weir__in_task) return would_wait(task, "the window", out_status);
  context->statistics.window_waits++;
  weir__id oldest = live->oldest;
  weir__context_wait(context, oldest + 1, WEIR_FOREVER);
  if (!context->polled && context->window.size >= ROOM_WAIT_WINDOW)
    weir__context_wait(context, oldest + context->window.size / 4, ROOM_WAIT_NS);
  return WEIR__ENTER_AGAIN;
}

// Undoes find_storage for the first `count` accesses.
static void give_back(weir_context *context, const weir__request *request, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    weir__block *block = request->needs_storage & weir__storage_bit(i) ? request->fresh[i] : NULL;
    if (block != NULL && block->user_count > 0)
      weir__pool_give_waiting(&context->pool, block);
    else if (block != NULL)
      weir__pool_give(&context->pool, block);
  }
}

static bool named_before(const weir__request *request, uint32_t index) {
  for (uint32_t i = 0; i < index; i++) {
    if (request->accesses[i].buffer == request->accesses[index].buffer) return true;
  }
  return false;
}

// Whether the access should get fresh storage though its buffer has some: it overwrites everything, and tasks in flight
// still use the old contents.
static bool wants_rename(weir_context *context, const weir__request *request, uint32_t index) {
  const weir__access *access = &request->accesses[index];
  weir_buffer *buffer = access->buffer;
  return access->mode == WEIR_WRITE && access->lo == 0 && access->hi == buffer->bytes && buffer->block != NULL &&
         !(context->flags & WEIR_CONTEXT_NO_RENAME) && !weir__buffer_idle(buffer, &context->window.live) &&
         !named_before(request, index);
}

static weir__enter_result no_storage(weir_context *context, const weir__request *request, const weir_buffer *buffer,
                                     weir__pool_result result, weir_status *out_status) {
  if (!weir__window_empty(&context->window)) {
    if (weir__in_task) return would_wait(request->task, "the memory", out_status);
    context->statistics.memory_waits++;
    weir__context_wait(context, context->window.live.oldest + 1, WEIR_FOREVER);
    return WEIR__ENTER_AGAIN;
  }
  char name[WEIR__WHAT_BYTES];
  weir__describe_task(request->task, name);
  *out_status = weir__error(
      WEIR_ERROR_OUT_OF_MEMORY, "%s: no storage for the %llu bytes of buffer %llu '%s': %llu bytes are held and %s",
      name, (unsigned long long)buffer->bytes, (unsigned long long)buffer->id, buffer->label,
      (unsigned long long)context->pool.bytes,
      result == WEIR__POOL_LIMIT ? "the context's memory limit allows no more" : "the system has no more");
  return WEIR__ENTER_FAILED;
}

// Finds storage for every access that needs some: request->fresh.
static weir__enter_result find_storage(weir_context *context, const weir__request *request, weir_status *out_status) {
  const weir__liveness *live = &context->window.live;
  for (uint32_t i = 0; i < request->access_count; i++) {
    if (!(request->needs_storage & weir__storage_bit(i))) continue;
    weir_buffer *buffer = request->accesses[i].buffer;
    request->fresh[i] = NULL;
    bool first = buffer->memory == NULL && !named_before(request, i);
    if (!first && !wants_rename(context, request, i)) continue;
    weir__pool_result result = weir__pool_take(&context->pool, buffer->bytes, live, &request->fresh[i]);
    if (result == WEIR__POOL_OK) continue;
    if (!first) {
      context->statistics.rename_denied++;
      continue;
    }
    request->fresh[i] = weir__pool_take_waiting(&context->pool, buffer->bytes, live);
    if (request->fresh[i] != NULL) continue;
    give_back(context, request, i);
    return no_storage(context, request, buffer, result, out_status);
  }
  return WEIR__ENTERED;
}

static void add_trace_wait(weir__trace_wait *waits, uint32_t *count, const weir__hit *hit, uint64_t buffer) {
  waits[(*count)++] = (weir__trace_wait){
      .task = hit->task, .hazard = (weir__hazard)hit->hazard, .buffer = buffer, .lo = hit->lo, .hi = hit->hi};
}

static void trace_task(weir_context *context, const weir__request *request, const weir__task *task,
                       const weir__hits *hits) {
  weir__trace_task record = {.id = task->id, .tag = task->tag, .device = task->device, .status = WEIR_PENDING};
  const char *kernel = request->kernel != NULL ? request->kernel->name : request->run != NULL ? "graph" : "host";
  snprintf(record.label, sizeof record.label, "%s", request->label != NULL ? request->label : kernel);
  snprintf(record.kernel, sizeof record.kernel, "%s", kernel);
  record.submit_ns = request->device->ops->time(request->device);
  record.ready_ns = record.submit_ns;
  record.access_count = request->access_count;
  record.accesses = weir__allocate((request->access_count + 1) * sizeof *record.accesses);
  record.waits = weir__allocate((hits->count + 1) * sizeof *record.waits);
  if (record.accesses == NULL) record.access_count = 0;
  for (uint32_t i = 0; i < record.access_count; i++) {
    const weir__access *access = &request->accesses[i];
    record.accesses[i] = (weir__trace_access){.mode = access->mode,
                                              .buffer = access->buffer->id,
                                              .storage = access->buffer->storage,
                                              .offset = access->lo,
                                              .bytes = access->hi - access->lo};
  }
  for (size_t i = 0; record.waits != NULL && i < hits->count; i++) {
    if (hits->list[i].task != 0) add_trace_wait(record.waits, &record.wait_count, &hits->list[i], hits->list[i].buffer);
  }
  weir__trace_add_task(context->trace, &record);
  weir__free(record.accesses);
  weir__free(record.waits);
}

static bool add_predecessor(weir__task *task, weir__id id) {
  if (task->predecessor_count == task->predecessor_capacity) {
    uint32_t capacity = task->predecessor_capacity == 0 ? 8 : task->predecessor_capacity * 2;
    weir__id *larger = weir__allocate(capacity * sizeof *larger);
    if (larger == NULL) return false;
    if (task->predecessor_count > 0) memcpy(larger, task->predecessors, task->predecessor_count * sizeof *larger);
    weir__free(task->predecessors);
    task->predecessors = larger;
    task->predecessor_capacity = capacity;
  }
  task->predecessors[task->predecessor_count++] = id;
  return true;
}

// Turns hits into edges.
static inline void connect(weir_context *context, weir__task *task, weir__hits *hits) {
  weir__window *window = &context->window;
  bool run_ahead = context->devices[task->device]->ops->run_ahead;
  bool no_memory = false;
  for (size_t i = 0; i < hits->count && !run_ahead; i++) {
    const weir__hit *hit = &hits->list[i];
    if (hit->task != 0) weir__window_connect(window, hit->task, task, hit->data, true, &no_memory);
  }
  for (size_t i = 0; i < hits->count && run_ahead; i++) {
    const weir__hit *hit = &hits->list[i];
    if (hit->task == 0) continue;
    bool same_device = run_ahead && weir__window_task(window, hit->task)->device == task->device;
    bool blocks = !same_device || !weir__window_task(window, hit->task)->issued;
    bool first = weir__window_connect(window, hit->task, task, hit->data, blocks, &no_memory);
    if (first && same_device && !add_predecessor(task, hit->task)) no_memory = true;
  }
  if (no_memory) hits->incomplete = true;
}

// Tells launches of graphs in flight which of their outputs this task reads.
static void note_readers(weir_context *context, const weir__task *task, const weir__hits *hits) {
  for (size_t i = 0; i < hits->count; i++) {
    const weir__hit *hit = &hits->list[i];
    if (!hit->data || hit->task == 0) continue;
    weir__graph_run *run = weir__window_task(&context->window, hit->task)->run;
    if (run != NULL) weir__graph_run_note_reader(run, hit, task->id);
  }
}

static void hit_task(weir_context *context, weir__hits *hits, weir__id id, weir__hazard hazard) {
  if (weir__live(&context->window.live, id)) weir__hits_add(hits, id, hazard, false, 0, 0);
}

// Records the accesses, and collects all predecessors.
static inline void find_hazards(weir_context *context, const weir__request *request, weir__id id) {
  const weir__liveness *live = &context->window.live;
  weir__hits *hits = &context->hits;
  bool notes_buffers = context->trace != NULL || request->run != NULL || context->graphs_in_flight > 0;
  for (uint32_t i = 0; i < request->access_count; i++) {
    weir__access *access = &request->accesses[i];
    weir_buffer *buffer = access->buffer;
    weir__block *fresh = request->needs_storage & weir__storage_bit(i) ? request->fresh[i] : NULL;
    if (fresh != NULL) {
      if (buffer->memory != NULL) {
        context->statistics.renamed++;
        weir__buffer_drop_storage(buffer, &context->pool, false);
      }
      weir__buffer_set_storage(buffer, fresh);
      for (uint8_t user = 0; user < fresh->user_count; user++)
        hit_task(context, hits, fresh->users[user], WEIR__HAZARD_STORAGE);
    }
    size_t before = hits->count;
    weir__buffer_access(buffer, &context->ranges, live, id, access->mode, access->lo, access->hi, hits);
    access->serial = buffer->serial;
    if (notes_buffers) {
      for (size_t hit = before; hit < hits->count; hit++) hits->list[hit].buffer = buffer->id;
    }
  }
  for (uint32_t i = 0; i < request->after_count; i++)
    hit_task(context, hits, request->after[i]->task, WEIR__HAZARD_AFTER);
  if (context->flags & WEIR_CONTEXT_IN_ORDER) hit_task(context, hits, id - 1, WEIR__HAZARD_AFTER);
}

// Fills in the pointers and values, once the storage of all buffers is known.
static inline void fill_args(const weir__request *request, weir__task *task) {
  void **pointer = request->pointers;
  unsigned char *value = (unsigned char *)(pointer + request->arg_count);
  const weir__access *access = request->accesses;
  task->args = pointer;
  for (uint32_t i = 0; i < request->arg_count; i++) {
    const weir_arg *arg = &request->args[i];
    if (arg->mode == WEIR_VALUE) {
      value = (unsigned char *)(((uintptr_t)value + 15) & ~(uintptr_t)15);
      memcpy(value, arg->value, arg->bytes);
      *pointer++ = value;
      value += arg->bytes;
    } else {
      *pointer++ = (char *)access->buffer->memory + access->lo;
      access++;
    }
  }
}

static inline void fill_task(const weir__request *request, weir__task *task) {
  task->function = request->function;
  task->user = request->user;
  task->kernel = request->kernel;
  for (int i = 0; i < 3; i++) task->groups[i] = request->groups[i] == 0 ? 1 : request->groups[i];
  task->arg_count = request->arg_count;
  task->accesses = request->accesses;
  task->access_count = request->access_count;
  task->priority = request->priority;
  task->device = (uint8_t)request->device->index;
  task->tag = request->tag;
  task->run = request->run;
  if (request->kernel != NULL) request->kernel->object.last_use = task->id;
}

// Makes up for memory that ran out in the middle of a submission. A predecessor that is not listed: the task waits for all
// earlier ones. A user that is not recorded: later tasks are not let in before this one is done.
static void hold(weir_context *context, weir__task *task, bool incomplete) {
  context->barrier = task->id + 1;
  if (!incomplete || context->window.live.oldest == task->id) return;
  task->blockers++;
  context->held = task;
  context->failed_before_held = context->statistics.failed;
}

// Inline, so that an ordinary task's request lives in registers.
static inline __attribute__((always_inline)) weir__enter_result
enter(weir_context *context, const weir__request *request, weir_event **out_event, weir_status *out_status) {
  weir__window *window = &context->window;
  if (request->ranged && !weir__range_pool_reserve(&context->ranges, request->access_count))
    return no_memory(request->task, "arguments", out_status);
  if (request->needs_storage != 0) {
    weir__enter_result result = find_storage(context, request, out_status);
    if (result != WEIR__ENTERED) return result;
  }
  weir_event *event = NULL;
  if (out_event != NULL) {
    event = weir__event_take(context, window->next);
    if (event == NULL) {
      if (request->needs_storage != 0) give_back(context, request, request->access_count);
      return no_memory(request->task, "event", out_status);
    }
    *out_event = event;
  }
  weir__task *task = weir__window_begin(window);
  fill_task(request, task);
  task->event = event;
  weir__hits *hits = &context->hits;
  weir__hits_clear(hits);
  find_hazards(context, request, task->id);
  if (hits->poisoned) task->reads_poison = true;
  connect(context, task, hits);
  if (context->graphs_in_flight > 0) note_readers(context, task, hits);
  if (request->run != NULL) {
    weir__graph_run_bind(task, hits);
    context->graphs_in_flight++;
  } else {
    fill_args(request, task);
  }
  if (context->trace != NULL) trace_task(context, request, task, hits);
  context->statistics.tasks++;
  if (hits->incomplete || hits->unrecorded) hold(context, task, hits->incomplete);
  weir__window_commit(window, task);
  if (context->issue_first != NULL) weir__context_issue_ready(context);
  return WEIR__ENTERED;
}

weir__enter_result weir__enter(weir_context *context, const weir__request *request, weir_event **out_event,
                               weir_status *out_status) {
  return enter(context, request, out_event, out_status);
}

static void poll_devices(weir_context *context) {
  for (uint32_t i = 0; i < context->device_count; i++) {
    if (context->devices[i]->ops->poll != NULL) context->devices[i]->ops->poll(context->devices[i]);
  }
  weir__context_completed(context);
}

static int8_t clamp_priority(int32_t priority) {
  if (priority < WEIR_PRIORITY_LOWEST) return WEIR_PRIORITY_LOWEST;
  return (int8_t)(priority > WEIR_PRIORITY_HIGHEST ? WEIR_PRIORITY_HIGHEST : priority);
}

static weir__enter_result submit(weir_context *context, const weir_task *task, weir_event **out_event,
                                 weir_status *out_status) {
  if (context->polls) poll_devices(context);
  weir__request request;
  *out_status = weir__check_task(context, task, &request.device);
  if (*out_status != WEIR_OK) return WEIR__ENTER_FAILED;
  if (weir__window_full(&context->window) || context->window.live.oldest < context->barrier) {
    weir__enter_result result = weir__enter_wait(context, task, out_status);
    if (result != WEIR__ENTERED) return result;
  }
  // The arguments go straight to where they stay: the slot of the next task is free.
  weir__task *slot = weir__window_task(&context->window, context->window.next);
  uint64_t bytes = task->arg_count * (sizeof(weir__access) + sizeof(void *));
  for (uint32_t i = 0; i < task->arg_count; i++) {
    if (task->args[i].mode == WEIR_VALUE && task->args[i].bytes <= WEIR__MAX_VALUE_BYTES)
      bytes += task->args[i].bytes + 15;
  }
  request.accesses = weir__window_payload(slot, bytes);
  if (request.accesses == NULL) return no_memory(task, "arguments", out_status);
  request.pointers = (void **)(void *)(request.accesses + task->arg_count);
  *out_status =
      weir__check_args(context, task, request.accesses, &request.access_count, &request.needs_storage, &request.ranged);
  if (*out_status != WEIR_OK) return WEIR__ENTER_FAILED;
  request.task = task;
  request.function = task->kernel != NULL ? task->kernel->cpu : task->host;
  request.user = task->user;
  request.kernel = task->kernel;
  memcpy(request.groups, task->groups, sizeof request.groups);
  request.priority = clamp_priority(task->priority);
  request.tag = task->tag;
  request.label = task->label;
  request.fresh = context->fresh;
  request.args = task->args;
  request.arg_count = task->arg_count;
  request.after = task->after;
  request.after_count = task->after_count;
  request.run = NULL;
  return enter(context, &request, out_event, out_status);
}

weir_status weir_submit(weir_context *context, const weir_task *task, weir_event **out_event) {
  if (out_event != NULL) *out_event = NULL;
  if (context == NULL || task == NULL)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "submit: the %s is NULL", context == NULL ? "context" : "task");
  weir_status status;
  weir__enter_result result;
  weir__context_lock(context);
  do {
    result = submit(context, task, out_event, &status);
  } while (result == WEIR__ENTER_AGAIN);
  weir__context_unlock(context);
  return status;
}
