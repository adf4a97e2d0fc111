// SPDX-License-Identifier: Apache-2.0
#include "engine/open.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/allocate.h"
#include "base/error.h"
#include "engine/check.h"
#include "engine/failures.h"
#include "engine/process.h"
#include "engine/rules.h"
#include "engine/submit.h"
#include "engine/watch.h"
#include "window/commute.h"

// ---------------------------------------------------------------------------------------------------------------
// The end of the task

static void failed(weir_context *context, weir__task *task, const weir__completion *completion) {
  (void)completion;
  weir__poison_outputs(context, task);
  const weir_open_task *open = weir__open_of(task);
  uint32_t root = weir__failures_root(context, task);
  for (uint32_t i = 0; i < open->made_count; i++) {
    const weir__access *access = &open->made[i];
    if (access->mode != WEIR_READ && access->buffer->serial == access->serial)
      weir__buffer_poison(access->buffer, &context->order.ranges, task->id, access->lo, access->hi, root);
  }
}

static void destroy(weir_open_task *open) {
  if (open->device.native != NULL) open->device.device->ops->opens->destroy(open->device.device, &open->device);
  weir__enqueue_end(&open->device.call);
  weir__free(open->made);
  weir__free(open);
}

static void done(weir_context *context, weir__task *task) {
  (void)context;
  destroy(weir__open_of(task));
}

const weir__task_rules weir__open_rules = {.name = "open task", .failed = failed, .done = done};

// ---------------------------------------------------------------------------------------------------------------
// Threads that end without an end of their task

static pthread_key_t key;
static pthread_once_t key_once = PTHREAD_ONCE_INIT;
static bool has_key;

static void thread_ends(void *value) {
  if (weir__this_thread.open != value) return; // it is the parent's, of which this process was forked
  weir__open_end(value, NULL, 0, WEIR_ERROR_TASK_FAILED, "its thread ended without weir_task_end", NULL);
}

static void make_key(void) {
  has_key = pthread_key_create(&key, thread_ends) == 0;
}

// The thread has an open task, or none any more.
static void note_thread(weir_open_task *open) {
  weir__this_thread.in_task = open != NULL;
  weir__this_thread.open = open;
  weir__this_thread.event = open != NULL ? open->event : NULL;
  if (has_key) pthread_setspecific(key, open);
}

// ---------------------------------------------------------------------------------------------------------------
// The beginning

// In place of the function of a host task, which is never called.
static void nothing(const weir_work *work) {
  (void)work;
}

// The task as it is submitted: tasks that commute keep their order, as boxes do, and no code tells modes.
static void take_args(const weir_task *given, weir_arg *args, weir_task *out_task) {
  *out_task = *given;
  if (given->arg_count == 0 || given->args == NULL) return;
  memcpy(args, given->args, given->arg_count * sizeof *args);
  out_task->args = args;
  for (uint32_t i = 0; i < given->arg_count; i++) {
    if (args[i].mode == WEIR_COMMUTE || args[i].mode == WEIR_AUTO) args[i].mode = WEIR_READ_WRITE;
    if (args[i].mode != WEIR_REDUCE) continue;
    args[i].mode = WEIR_READ_WRITE;
    args[i].value = NULL;
  }
}

static weir_status check_task(const weir_context *context, const weir_task *task) {
  char what[WEIR__WHAT_BYTES];
  snprintf(what, sizeof what, "task begin: '%.47s' (tag %llu)", task->label == NULL ? "" : task->label,
           (unsigned long long)task->tag);
  if (weir__is_foreign(context)) return weir__refuse_foreign(what);
  if (weir__this_thread.open != NULL)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "%s: this thread has an open task already; end it first", what);
  if (weir__this_thread.in_task)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "%s: called from a task or callback", what);
  if (task->kernel != NULL || task->host != NULL)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "%s: a task that is begun has neither kernel nor function", what);
  if (task->arg_count > WEIR_MAX_ARGS)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "%s: %u arguments; at most %d are possible", what, task->arg_count,
                       WEIR_MAX_ARGS);
  if (task->device->host != &context->host)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "%s: the device belongs to another context", what);
  if (task->device->ops->opens == NULL)
    return weir__error(WEIR_ERROR_UNAVAILABLE, "%s: devices of kind '%s' have no open tasks", what,
                       task->device->ops->kind);
  return WEIR_OK;
}

static weir_status no_memory(const weir_task *task) {
  char what[WEIR__WHAT_BYTES];
  weir__describe_task(task, what);
  return weir__error(WEIR_ERROR_OUT_OF_MEMORY, "task begin: %s: no memory", what);
}

// Submits it, with the lock held. It waits for its end.
static weir_status enter(weir_open_task *open, const weir_task *task) {
  weir_context *context = open->context;
  weir_event *event = weir__event_take(context, 0, NULL);
  if (event == NULL) return no_memory(task);
  const weir__submission submission = {
      .task = task, .origin = weir__origin_of(context), .device = open->device.device, .event = event, .opens = true};
  open->next_buffer = context->objects.next_buffer;
  weir_status status = weir__submit(context, &submission, &event);
  if (status != WEIR_OK) {
    weir__event_drop(event); // the task's
    weir__event_drop(event);
    return status;
  }
  if (task->destroy != NULL) weir__event_own(event, task->destroy, open->device.call.call.user);
  open->event = event;
  open->task = weir__window_task(&context->host.window, event->task);
  open->next = context->opens.first;
  context->opens.first = open;
  return WEIR_OK;
}

// Waits until the task comes after nothing but what is issued to its device, and lists that. With a resident kernel,
// for which no queue can wait, it waits for that, too. The lock is held. NULL: no memory.
static weir__id *await_turn(const weir_open_task *open, uint32_t *out_count) {
  weir_context *context = open->context;
  weir__context_flush(context);
  weir__context_wait_on(context, (weir__waiter *)&open->ready, 0);
  const weir__task *task = open->task;
  weir__id *before = weir__allocate((task->predecessor_count + 1) * sizeof *before);
  *out_count = task->predecessor_count;
  if (before != NULL) memcpy(before, task->predecessors, task->predecessor_count * sizeof *before);
  for (uint32_t i = 0; before != NULL && i < *out_count && context->host.issue == WEIR_ISSUE_RESIDENT; i++) {
    weir__context_flush(context);
    while (weir__live(&context->host.window.live, before[i])) weir__context_wait(context, before[i] + 1, WEIR_FOREVER);
  }
  return before;
}

// The task has entered: its queue comes to be in order.
static weir_status order(weir_open_task *open, const weir_task *task) {
  weir_context *context = open->context;
  weir_device *device = open->device.device;
  uint32_t count;
  weir__context_lock(context);
  weir__id *before = await_turn(open, &count);
  weir_status status = weir__host_skip_status(&context->host, open->task);
  weir__context_unlock(context);
  if (before == NULL) return no_memory(task);
  if (status == WEIR_OK) {
    weir__enqueue_fill(&open->device.call, open->task);
    status = device->ops->opens->order(device, &open->device, before, count);
  } else {
    char what[WEIR__WHAT_BYTES];
    weir__describe_task(task, what);
    status = weir__error(status, "task begin: %s: %s", what, weir_status_text(status));
  }
  weir__free(before);
  return status;
}

weir_status weir__open_begin(weir_context *context, const weir_task *given, weir_open_task **out_open) {
  weir_arg args[WEIR_MAX_ARGS];
  weir_task task;
  *out_open = NULL;
  weir_status status = check_task(context, given);
  if (status != WEIR_OK) return status;
  pthread_once(&key_once, make_key);
  take_args(given, args, &task);
  if (task.label == NULL) task.label = "open task";
  weir_open_task *open = weir__allocate_zeroed(sizeof *open);
  if (open == NULL) return no_memory(&task);
  open->context = context;
  open->device.device = task.device;
  if (!weir__enqueue_begin_open(&open->device.call, task.device, &task)) {
    weir__free(open);
    return no_memory(&task);
  }
  task.host = nothing;
  task.user = open;
  status = task.device->ops->opens->begin(task.device, &open->device);
  if (status == WEIR_OK) {
    weir__context_lock(context);
    status = enter(open, &task);
    weir__context_unlock(context);
  }
  if (status != WEIR_OK) {
    destroy(open);
    return status;
  }
  if (context->devices.checker != NULL) weir__check_cannot(task.label, "it is an open task");
  status = order(open, &task);
  if (status != WEIR_OK) {
    weir__kept_error kept;
    weir__error_keep(&kept);
    weir__open_end(open, NULL, 0, status, kept.text, NULL);
    weir__error_put_back(&kept);
    return status;
  }
  open->device.begun = true;
  note_thread(open);
  *out_open = open;
  return WEIR_OK;
}

// ---------------------------------------------------------------------------------------------------------------
// The end

static weir_status refuse(const weir_open_task *open, uint32_t index, const weir_arg *arg, const char *why) {
  char what[WEIR__MESSAGE_BYTES];
  weir__context_describe(open->context, open->task, what);
  return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "task end: %s, argument %u, buffer %llu '%s': %s", what, index,
                     (unsigned long long)arg->buffer->id, arg->buffer->label, why);
}

// An access to a buffer that was made since the beginning, and that nobody else uses.
static weir_status check_made(weir_open_task *open, uint32_t index, const weir_arg *arg, weir__access *out_access) {
  char place[48];
  weir_context *context = open->context;
  snprintf(place, sizeof place, "task end, argument %u", index);
  weir_status status = weir__object_check(arg->buffer, WEIR__KIND_BUFFER, context, place);
  if (status != WEIR_OK) return status;
  weir_buffer *buffer = arg->buffer;
  if (arg->mode != WEIR_READ && arg->mode != WEIR_WRITE && arg->mode != WEIR_READ_WRITE)
    return refuse(open, index, arg, "its mode must be read, write or read-write");
  if (arg->shape != WEIR_RANGE) return refuse(open, index, arg, "only ranges are possible here");
  uint64_t rest = arg->offset < buffer->bytes ? buffer->bytes - arg->offset : 0;
  uint64_t bytes = arg->bytes == WEIR_WHOLE ? rest : arg->bytes;
  if (bytes == 0 || bytes > rest) return refuse(open, index, arg, "the range is empty, or leaves the buffer");
  if (buffer->id <= open->next_buffer)
    return refuse(open, index, arg, "it was made before the task began; name it in weir_task_begin");
  if (!buffer->wrapped || buffer->home != open->device.device->space)
    return refuse(open, index, arg, "only buffers on memory of the task's device can be named here");
  if (!weir__buffer_idle(buffer, &context->host.window.live))
    return refuse(open, index, arg, "another task uses it already");
  *out_access = (weir__access){.buffer = buffer,
                               .mode = (uint8_t)arg->mode,
                               .space = buffer->home,
                               .lo = arg->offset,
                               .hi = arg->offset + bytes,
                               .serial = buffer->serial};
  return WEIR_OK;
}

// Records the accesses to buffers that were made since. The lock is held.
static weir_status add_made(weir_open_task *open, const weir_arg *args, uint32_t count) {
  weir_context *context = open->context;
  weir_status status = WEIR_OK;
  if (count == 0) return WEIR_OK;
  if (args == NULL) return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "task end: args is NULL");
  weir__access *made = weir__allocate(count * sizeof *made);
  if (made == NULL || !weir__range_pool_reserve_many(&context->order.ranges, count, count))
    status = weir__error(WEIR_ERROR_OUT_OF_MEMORY, "task end: no memory for %u arguments", count);
  for (uint32_t i = 0; i < count && status == WEIR_OK; i++) {
    status = check_made(open, i, &args[i], &made[i]);
    for (uint32_t j = 0; j < i && status == WEIR_OK; j++)
      if (made[j].buffer == made[i].buffer) status = refuse(open, i, &args[i], "it is named twice");
  }
  if (status != WEIR_OK) {
    weir__free(made);
    return status;
  }
  weir__dependences *dependences = &context->order.dependences;
  weir__dependences_clear(dependences);
  for (uint32_t i = 0; i < count; i++)
    weir__buffer_access(made[i].buffer, &context->order.ranges, &context->host.window.live, open->task->id,
                        (weir_mode)made[i].mode, made[i].lo, made[i].hi, dependences);
  weir__watch *watch = context->host.watch;
  for (uint32_t i = 0; i < count && watch != NULL; i++)
    weir__trail_note(weir__watch_task(&context->host, open->task), &made[i], watch->all);
  open->made = made;
  open->made_count = count;
  return WEIR_OK;
}

static void leave_list(weir_open_task *open) {
  weir_open_task **link = &open->context->opens.first;
  while (*link != open) link = &(*link)->next;
  *link = open->next;
}

weir_status weir__open_end(weir_open_task *open, const weir_arg *args, uint32_t arg_count, weir_status status,
                           const char *text, weir_event **out_event) {
  weir_context *context = open->context;
  weir_device *device = open->device.device;
  weir__context_lock(context);
  weir_status added = status == WEIR_OK ? add_made(open, args, arg_count) : WEIR_OK;
  weir__context_unlock(context);
  if (added != WEIR_OK) return added;
  if (open->device.begun) note_thread(NULL);
  open->device.status = status;
  if (status != WEIR_OK) snprintf(open->device.text, sizeof open->device.text, "%s", text);
  if (open->device.begun) device->ops->opens->end(device, &open->device);
  weir_event *event = open->event;
  weir__context_lock(context);
  leave_list(open);
  weir__watch_end(&context->host, open->task);
  open->task->commutes = WEIR__COMMUTES_NOT;
  context->host.window.ready(context->host.window.user, open->task);
  weir__context_issue_ready(context);
  device->ops->opens->issued(device, &open->device); // it cannot be done while the lock is held
  if (out_event != NULL)
    *out_event = event;
  else
    weir__event_drop(event);
  weir__context_unlock(context);
  return WEIR_OK;
}

bool weir__open_describe(const weir_context *context, char text[WEIR__MESSAGE_BYTES]) {
  if (context->opens.first == NULL) return false;
  weir__context_describe(context, context->opens.first->task, text);
  return true;
}
