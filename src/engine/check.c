// SPDX-License-Identifier: Apache-2.0
//
// Checks of a task that a caller submits, but for its arguments (check_args.c).
#include <stdio.h>

#include "base/error.h"
#include "engine/check.h"
#include "engine/external.h"

const char *weir__mode_name(weir_mode mode) {
  switch (mode) {
  case WEIR_VALUE:
    return "value";
  case WEIR_READ:
    return "read";
  case WEIR_WRITE:
    return "write";
  case WEIR_READ_WRITE:
    return "read-write";
  case WEIR_COMMUTE:
    return "commute";
  case WEIR_REDUCE:
    return "reduce";
  case WEIR_AUTO:
    return "auto";
  }
  return "unknown";
}

// Writes the names of the context's devices, separated by commas.
static void list_devices(const weir_context *context, char *names, size_t size) {
  size_t used = 0;
  names[0] = '\0';
  for (uint32_t i = 0; i < context->devices.listed_count && used < size; i++)
    used += (size_t)snprintf(names + used, size - used, "%s%s", i == 0 ? "" : ", ", context->host.devices[i]->name);
}

static weir_status check_kernel(weir_context *context, const weir_task *task, weir_device **out_device) {
  weir_kernel *kernel = task->kernel;
  char what[WEIR__WHAT_BYTES];
  if (task->device == NULL) {
    char names[256];
    if (!kernel->has_device) {
      weir__describe_task(task, what);
      list_devices(context, names, sizeof names);
      return weir__error(WEIR_ERROR_NO_CODE, "%s: kernel '%s' has no code for any device of the context (%s)", what,
                         kernel->name, names);
    }
    *out_device = context->host.devices[kernel->device];
    return WEIR_OK;
  }
  if (!task->device->ops->has_code(task->device, kernel)) {
    weir__describe_task(task, what);
    return weir__error(WEIR_ERROR_NO_CODE, "%s: kernel '%s' has no code for device %s", what, kernel->name,
                       task->device->name);
  }
  *out_device = task->device;
  return WEIR_OK;
}

static weir_status check_launch(const weir_device *device, const weir_task *task) {
  return device->ops->check == NULL ? WEIR_OK : device->ops->check(device, task);
}

// Work-groups of a launch, or UINT64_MAX if they are too many.
static uint64_t count_groups(const weir_task *task) {
  if ((task->groups[0] | task->groups[1] | task->groups[2]) <= 1) return 1;
  uint64_t groups = 1;
  for (int i = 0; i < 3; i++) {
    uint64_t count = task->groups[i] == 0 ? 1 : task->groups[i];
    if (groups > ((uint64_t)1 << 62) / count) return UINT64_MAX;
    groups *= count;
  }
  return groups;
}

// The device of a kernel's task, or NULL: it has no code for that, or the device is another context's.
static weir_device *device_of(const weir_context *context, const weir_task *task) {
  const weir_kernel *kernel = task->kernel;
  weir_device *device = task->device;
  if (device == NULL) return kernel->has_device ? context->host.devices[kernel->device] : NULL;
  return device->host == &context->host && device->ops->has_code(device, kernel) ? device : NULL;
}

// Nothing special about the task's arguments.
static bool has_plain_args(const weir_task *task) {
  return task->arg_count <= WEIR_MAX_ARGS && (task->args != NULL || task->arg_count == 0) && task->after_count == 0;
}

// Most tasks: a kernel on a device, nothing special.
static bool is_plain(const weir_context *context, const weir_task *task) {
  const weir_kernel *kernel = task->kernel;
  return kernel != NULL && task->host == NULL && has_plain_args(task) &&
         weir__object_is(&kernel->object, WEIR__KIND_KERNEL) && kernel->object.context == context;
}

// The device of a function with nothing special, or NULL.
static weir_device *function_device(const weir_context *context, const weir_task *task) {
  weir_device *cpu = context->devices.cpu;
  bool plain = task->kernel == NULL && task->host != NULL && (task->device == NULL || task->device == cpu);
  return plain && cpu != NULL && has_plain_args(task) && cpu->ops->has_code(cpu, NULL) ? cpu : NULL;
}

// Whether there is nothing to refuse but what find_device refuses. Texts are made only for what is not sound.
static bool is_sound(const weir_context *context, const weir__submission *submission, uint64_t groups) {
  const weir_task *task = submission->task;
  if (groups == UINT64_MAX || task->arg_count > WEIR_MAX_ARGS) return false;
  if ((task->args == NULL && task->arg_count > 0) || (task->after == NULL && task->after_count > 0)) return false;
  for (uint32_t i = 0; i < task->after_count && !submission->queued; i++) {
    const weir__object *event = (const weir__object *)(const void *)task->after[i];
    if (event == NULL || !weir__object_is(event, WEIR__KIND_EVENT) || event->context != context) return false;
  }
  return task->device == NULL || task->device->host == &context->host;
}

static weir_status find_device(weir_context *context, const weir__submission *submission, weir_device **out_device) {
  const weir_task *task = submission->task;
  char what[WEIR__WHAT_BYTES];
  if (!weir__externals_reserve(context, task->after, task->after_count)) {
    weir__describe_task(task, what);
    return weir__error(WEIR_ERROR_OUT_OF_MEMORY, "%s: no memory for its events", what);
  }
  if (submission->device != NULL) {
    *out_device = submission->device;
    return WEIR_OK;
  }
  if (task->kernel != NULL) {
    weir_status status = check_kernel(context, task, out_device);
    return status == WEIR_OK ? check_launch(*out_device, task) : status;
  }
  weir_device *device = task->device != NULL ? task->device : context->devices.cpu;
  if (device == NULL || !device->ops->has_code(device, NULL)) {
    weir__describe_task(task, what);
    return weir__error(WEIR_ERROR_NO_CODE, "%s: a host task needs the context to have a CPU device", what);
  }
  *out_device = device;
  return WEIR_OK;
}

weir_status weir__check_task(weir_context *context, const weir__submission *submission, weir_device **out_device) {
  const weir_task *task = submission->task;
  *out_device = NULL;
  uint64_t groups = count_groups(task);
  weir_device *plain = groups != UINT64_MAX && is_plain(context, task) ? device_of(context, task) : NULL;
  if (plain != NULL) {
    *out_device = plain;
    return check_launch(plain, task);
  }
  if (groups != UINT64_MAX && submission->device == NULL) *out_device = function_device(context, task);
  if (*out_device != NULL) return WEIR_OK;
  if ((task->kernel == NULL) == (task->host == NULL))
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT,
                       "task (tag %llu): a task needs a kernel or a host function, and not both",
                       (unsigned long long)task->tag);
  if (task->kernel != NULL && !submission->kernel_checked) {
    char what[WEIR__WHAT_BYTES];
    snprintf(what, sizeof what, "task '%.47s' (tag %llu)", task->label == NULL ? "" : task->label,
             (unsigned long long)task->tag);
    weir_status status = weir__object_check(task->kernel, WEIR__KIND_KERNEL, context, what);
    if (status != WEIR_OK) return status;
  }
  char what[WEIR__WHAT_BYTES];
  if (is_sound(context, submission, groups)) return find_device(context, submission, out_device);
  weir__describe_task(task, what);
  if (groups == UINT64_MAX)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "%s: %u x %u x %u work-groups are too many", what, task->groups[0],
                       task->groups[1], task->groups[2]);
  if (task->arg_count > WEIR_MAX_ARGS)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "%s: %u arguments; at most %d are possible", what, task->arg_count,
                       WEIR_MAX_ARGS);
  if ((task->args == NULL && task->arg_count > 0) || (task->after == NULL && task->after_count > 0))
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "%s: %s is NULL", what,
                       task->args == NULL && task->arg_count > 0 ? "args" : "after");
  for (uint32_t i = 0; i < task->after_count && !submission->queued; i++) {
    char place[128];
    snprintf(place, sizeof place, "%s, after[%u]", what, i);
    weir_status status = weir__object_check(task->after[i], WEIR__KIND_EVENT, context, place);
    if (status != WEIR_OK) return status;
  }
  return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "%s: the device belongs to another context", what);
}

weir__admit_result weir__would_wait(const weir__submission *submission, const char *what, weir_status *out_status) {
  if (submission->may_queue) return WEIR__LATER;
  char name[WEIR__WHAT_BYTES];
  weir__describe_task(submission->task, name);
  *out_status =
      weir__error(WEIR_ERROR_OUT_OF_MEMORY, "%s: %s is full, and a task or callback must not wait", name, what);
  return WEIR__REFUSED;
}

weir__admit_result weir__no_memory(const weir__submission *submission, const char *what, weir_status *out_status) {
  char name[WEIR__WHAT_BYTES];
  weir__describe_task(submission->task, name);
  *out_status = weir__error(WEIR_ERROR_OUT_OF_MEMORY, "%s: no memory for its %s", name, what);
  return WEIR__REFUSED;
}

void weir__check_cannot(const char *what, const char *why) {
  static _Atomic(const char *) said[8];
  for (size_t i = 0; i < sizeof said / sizeof said[0]; i++) {
    const char *none = NULL;
    if (atomic_compare_exchange_strong_explicit(&said[i], &none, why, memory_order_relaxed, memory_order_relaxed)) {
      fprintf(stderr, "weir: check: %s is not checked: %s (said once for all such tasks)\n", what, why);
      return;
    }
    if (strcmp(none, why) == 0) return;
  }
}
