// SPDX-License-Identifier: Apache-2.0
//
// Arrays of tasks, and prepared tasks.
#include "weir/batch.h"

#include <stdio.h>
#include <string.h>

#include "api/fetch.h"
#include "api/prepared.h"
#include "base/allocate.h"
#include "base/error.h"
#include "base/structs.h"
#include "engine/check.h"
#include "engine/process.h"
#include "repeats/repeats.h"

// The lock is taken once for so many tasks: long enough to count for little, and short enough for workers that wait for it.
enum { TASKS_AT_ONCE = 32, FETCHED_AHEAD = 2 };

// The tasks of a call, and how many were submitted.
typedef struct batch {
  weir_context *context;
  weir_event **events; // NULL: none are wanted
  uint64_t count, submitted;
} batch;

static void begin(batch *self, uint64_t *out_submitted) {
  if (out_submitted != NULL) *out_submitted = 0;
  for (uint64_t i = 0; self->events != NULL && i < self->count; i++) self->events[i] = NULL;
}

// Passes the lock, which is held, on now and then, and returns where the next event goes.
static inline weir_event **next_event(const batch *self) {
  if (self->submitted > 0 && self->submitted % TASKS_AT_ONCE == 0) {
    weir__context_unlock(self->context);
    weir__context_lock_to_submit(self->context);
  }
  return self->events != NULL ? &self->events[self->submitted] : NULL;
}

static weir_status end(const batch *self, weir_status status, const char *call, uint64_t *out_submitted) {
  if (out_submitted != NULL) *out_submitted = self->submitted;
  if (status == WEIR_OK || self->count == 1) return status;
  char prefix[64];
  snprintf(prefix, sizeof prefix, "%s, number %llu: ", call, (unsigned long long)self->submitted);
  return weir__error_prefix(status, prefix);
}

// While a task is submitted the lines of the one after next come.
static inline void fetch_ahead(const weir_task *tasks, uint64_t left) {
  if (left > FETCHED_AHEAD) weir__fetch_args(tasks + FETCHED_AHEAD, false);
}

weir_status weir_submit_many_sized(weir_context *context, const weir_task *tasks, size_t task_size, uint64_t count,
                                   weir_event **out_events, uint64_t *out_submitted) {
  batch self = {.context = context, .events = out_events, .count = count};
  begin(&self, out_submitted);
  if (context == NULL || (tasks == NULL && count > 0))
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "submit many: %s NULL",
                       context == NULL ? "the context is" : "the tasks are");
  if (weir__is_foreign(context)) return weir__refuse_foreign("submit many");
  weir_status status = WEIR_OK;
  const char *given = (const char *)tasks;
  bool fetches = task_size == sizeof *tasks && weir__fetch_is_due(context);
  weir__context_lock_to_submit(context);
  for (uint64_t i = 0; i < count && status == WEIR_OK; i++, given += task_size) {
    weir_task own;
    if (fetches) fetch_ahead((const weir_task *)(const void *)given, count - i);
    const weir_task *task = weir__task_take(&own, (const weir_task *)(const void *)given, task_size, "submit many");
    status = task == NULL ? WEIR_ERROR_INVALID_ARGUMENT : weir__repeats_submit(context, task, next_event(&self));
    self.submitted += status == WEIR_OK;
  }
  weir__context_unlock(context);
  return end(&self, status, "submit many", out_submitted);
}

void weir__prepared_destroy(weir__object *object) {
  weir_prepared *prepared = (weir_prepared *)(void *)object;
  weir__free(prepared->args);
  prepared->args = NULL;
}

static weir_status check_arg(const weir_arg *arg, uint32_t index) {
  if ((int)arg->mode < WEIR_VALUE || (int)arg->mode > WEIR_COMMUTE || arg->shape != WEIR_RANGE || arg->reserved != 0)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT,
                       "prepare, argument %u: it is neither a value nor a range that is read, written or updated",
                       index);
  if (arg->bytes == 0 || (arg->mode == WEIR_VALUE && arg->bytes > WEIR__MAX_VALUE_BYTES))
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "prepare, argument %u: it has %llu bytes", index,
                       (unsigned long long)arg->bytes);
  return WEIR_OK;
}

// The same task without its buffers and addresses of values, which may be of anything.
static weir_task nameless(const weir_task *task, weir_arg *args) {
  weir_task bare = *task;
  for (uint32_t i = 0; task->args != NULL && i < task->arg_count && i < WEIR_MAX_ARGS; i++) {
    args[i] = task->args[i];
    args[i].buffer = NULL;
    args[i].value = NULL;
  }
  if (task->args != NULL) bare.args = args;
  return bare;
}

// The lock is held.
static weir_status check(weir_context *context, const weir_task *task) {
  if (task->after_count > 0 || task->destroy != NULL || task->group != NULL)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "prepare: a prepared task has no predecessors, no destroy "
                                                    "function and no group of its own");
  weir_device *device;
  weir_arg args[WEIR_MAX_ARGS];
  const weir_task bare = nameless(task, args);
  const weir__submission submission = {.task = &bare};
  weir_status status = weir__check_task(context, &submission, &device);
  if (status != WEIR_OK && status != WEIR_PENDING) return weir__error_prefix(status, "prepare: "); // PENDING: see there
  status = WEIR_OK;
  for (uint32_t i = 0; i < task->arg_count && status == WEIR_OK; i++) status = check_arg(&task->args[i], i);
  return status;
}

// Makes the prepared form. The lock is held. NULL: no memory.
static weir_prepared *make(weir_context *context, const weir_task *task) {
  weir_arg *args = weir__allocate((task->arg_count + 1) * sizeof *args);
  weir__object *object = args != NULL ? weir__object_take(&context->objects.prepared, context, UINT64_MAX) : NULL;
  if (object == NULL) {
    weir__free(args);
    return NULL;
  }
  weir_prepared *prepared = (weir_prepared *)(void *)object;
  prepared->task = *task;
  prepared->args = args;
  prepared->task.args = args;
  prepared->buffer_count = prepared->value_count = 0;
  if (task->label != NULL) {
    snprintf(prepared->label, sizeof prepared->label, "%s", task->label);
    prepared->task.label = prepared->label;
  }
  for (uint32_t i = 0; i < task->arg_count; i++) {
    bool is_value = task->args[i].mode == WEIR_VALUE;
    args[i] = task->args[i];
    args[i].buffer = NULL;
    args[i].value = NULL;
    prepared->value_count += is_value;
    prepared->buffer_count += !is_value;
  }
  weir__plain_prepare(task, &prepared->form);
  return prepared;
}

weir_status weir_prepare_sized(weir_context *context, const weir_task *given, size_t task_size,
                               weir_prepared **out_prepared) {
  if (out_prepared == NULL) return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "prepare: out_prepared is NULL");
  *out_prepared = NULL;
  if (context == NULL || given == NULL)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "prepare: the %s is NULL", context == NULL ? "context" : "task");
  weir_task own;
  const weir_task *task = weir__task_take(&own, given, task_size, "prepare");
  if (task == NULL) return WEIR_ERROR_INVALID_ARGUMENT;
  weir__context_lock_to_submit(context); // it does not matter to the order of tasks
  weir_status status = check(context, task);
  if (status == WEIR_OK && (*out_prepared = make(context, task)) == NULL)
    status = weir__error(WEIR_ERROR_OUT_OF_MEMORY, "prepare: no memory");
  weir__context_unlock(context);
  return status;
}

// Puts the buffers and values of a task into its arguments.
static inline void name(const weir_task *task, weir_arg *args, weir_buffer *const *buffers, const void *const *values) {
  for (uint32_t i = 0; i < task->arg_count; i++) {
    if (args[i].mode == WEIR_VALUE)
      args[i].value = *values++;
    else
      args[i].buffer = *buffers++;
  }
}

// A copy of a prepared task, for a call that passes the lock on: others may release the task then.
typedef struct taken {
  weir_task task;
  weir__plain_form form;
  uint32_t buffer_count, value_count;
  char label[WEIR__LABEL_BYTES];
  weir_arg args[WEIR_MAX_ARGS];
} taken;

static void take(const weir_prepared *prepared, taken *out) {
  out->task = prepared->task;
  out->form = prepared->form;
  out->buffer_count = prepared->buffer_count;
  out->value_count = prepared->value_count;
  memcpy(out->args, prepared->args, out->task.arg_count * sizeof out->args[0]);
  out->task.args = out->args;
  if (out->task.label != NULL) out->task.label = memcpy(out->label, prepared->label, sizeof out->label);
}

// The same for a prepared task with `count` buffers, of which `left` times as many are here.
static inline void fetch_buffers_ahead(weir_buffer *const *buffers, uint32_t count, uint64_t left) {
  if (left <= FETCHED_AHEAD) return;
  for (uint32_t i = 0; i < count; i++) weir__fetch_buffer(buffers[FETCHED_AHEAD * count + i], false);
}

// Of the first one, and those that a program which submits one at a time may name next.
static inline void fetch_first(const weir_context *context, const weir_prepared *prepared, weir_buffer *const *buffers,
                               uint64_t count) {
  if (!weir__fetch_is_due(context)) return;
  for (uint32_t i = 0; i < prepared->buffer_count; i++)
    weir__fetch_buffer(buffers[i], count == 1 && prepared->form.plain && prepared->form.accesses[i].mode != WEIR_READ);
}

// Submits those that are not submitted yet. The lock is held, and passed on now and then.
static __attribute__((noinline)) weir_status submit_rest(batch *self, const weir_prepared *prepared,
                                                         weir_buffer *const *buffers, const void *const *values) {
  taken own;
  take(prepared, &own);
  bool fetches = weir__fetch_is_due(self->context);
  bool named =
      own.value_count > 0 || !own.form.plain; // else only a task that is not plain after all needs its arguments
  for (; self->submitted < self->count; self->submitted++) {
    weir_event **event = next_event(self);
    if (fetches) fetch_buffers_ahead(buffers, own.buffer_count, self->count - self->submitted);
    if (named) name(&own.task, own.args, buffers, values);
    if (!weir__submit_prepared(self->context, &own.task, &own.form, buffers, event)) {
      if (!named) name(&own.task, own.args, buffers, values);
      weir_status status = weir__repeats_submit(self->context, &own.task, event);
      if (status != WEIR_OK) return status;
    }
    if (own.buffer_count > 0) buffers += own.buffer_count; // else they are NULL
    if (own.value_count > 0) values += own.value_count;
  }
  return WEIR_OK;
}

// The lock is held.
static weir_status submit_prepared(batch *self, const weir_prepared *prepared, weir_buffer *const *buffers,
                                   const void *const *values) {
  if (self->count > 0) fetch_first(self->context, prepared, buffers, self->count);
  if (self->count > 0 && prepared->value_count == 0 &&
      weir__submit_prepared(self->context, &prepared->task, &prepared->form, buffers, next_event(self))) {
    self->submitted++;
    if (prepared->buffer_count > 0) buffers += prepared->buffer_count;
  }
  return self->submitted < self->count ? submit_rest(self, prepared, buffers, values) : WEIR_OK;
}

static weir_status report_null(const weir_prepared *prepared, bool buffers) {
  char what[WEIR__WHAT_BYTES];
  weir__describe_task(&prepared->task, what);
  return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "submit prepared: %s: `%s` is NULL, and it has %u of them", what,
                     buffers ? "buffers" : "values", buffers ? prepared->buffer_count : prepared->value_count);
}

weir_status weir_prepared_submit_many(weir_prepared *prepared, weir_buffer *const *buffers, const void *const *values,
                                      uint64_t count, weir_event **out_events, uint64_t *out_submitted) {
  batch self = {.events = out_events, .count = count};
  begin(&self, out_submitted);
  weir_status status = weir__object_check(prepared, WEIR__KIND_PREPARED, NULL, "submit prepared");
  if (status != WEIR_OK) return status;
  self.context = prepared->object.context;
  if (weir__is_foreign(self.context)) return weir__refuse_foreign("submit prepared");
  weir__context_lock_to_submit(self.context);
  status = weir__object_check(prepared, WEIR__KIND_PREPARED, NULL, "submit prepared");
  if (status == WEIR_OK && count > 0 &&
      ((prepared->buffer_count > 0 && buffers == NULL) || (prepared->value_count > 0 && values == NULL)))
    status = report_null(prepared, buffers == NULL && prepared->buffer_count > 0);
  else if (status == WEIR_OK)
    status = submit_prepared(&self, prepared, buffers, values);
  weir__context_unlock(self.context);
  return end(&self, status, "submit prepared", out_submitted);
}

weir_status weir_prepared_release(weir_prepared *prepared) {
  if (prepared == NULL) return WEIR_OK;
  weir_status status = weir__object_check(prepared, WEIR__KIND_PREPARED, NULL, "prepared release");
  if (status != WEIR_OK) return status;
  weir_context *context = prepared->object.context;
  weir__context_lock_to_submit(context);
  status = weir__object_check(prepared, WEIR__KIND_PREPARED, NULL, "prepared release");
  if (status == WEIR_OK) {
    weir__prepared_destroy(&prepared->object);
    weir__object_give(&context->objects.prepared, &prepared->object);
  }
  weir__context_unlock(context);
  return status;
}
