// SPDX-License-Identifier: Apache-2.0
#include "repeats/run.h"

#include <stdio.h>

#include "base/allocate.h"
#include "graph/plan.h"

void weir__run_free(weir__run *run) {
  weir__free(run->tasks);
  weir__free(run->args);
  weir__free(run->buffer_bytes);
  *run = (weir__run){0};
}

void weir__run_clear(weir__run *run, uint64_t number) {
  run->device = NULL;
  run->count = run->arg_count = run->buffer_count = 0;
  run->value_bytes = 0;
  run->number = number;
}

static bool is_plain(const weir_context *context, const weir_arg *arg) {
  uint64_t mode = weir__plain_mode(arg);
  if (mode == WEIR_VALUE) return arg->value != NULL && arg->bytes - 1 < WEIR__MAX_VALUE_BYTES;
  const weir_buffer *buffer = arg->buffer;
  return mode <= WEIR_READ_WRITE && buffer != NULL && weir__object_is(&buffer->object, WEIR__KIND_BUFFER) &&
         buffer->object.context == context && weir__run_takes(buffer);
}

weir_device *weir__run_device(const weir_context *context, const weir_task *task) {
  weir_kernel *kernel = task->kernel;
  if ((task->arg_count > WEIR_MAX_ARGS) | (task->args == NULL && task->arg_count > 0) | (task->after_count > 0) |
      (task->destroy != NULL) | (task->group != NULL) | (task->priority != 0) |
      ((kernel == NULL) == (task->host == NULL)))
    return NULL;
  weir_device *device = weir__plain_device(context, task);
  if (device == NULL || !device->ops->has_code(device, kernel) || weir__kernel_enqueue(kernel, device) != NULL)
    return NULL;
  for (uint32_t i = 0; i < task->arg_count; i++) {
    if (!is_plain(context, &task->args[i])) return NULL;
  }
  return device;
}

static uint64_t mix(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * 0xff51afd7ed558ccdu;
  return hash ^ hash >> 32;
}

bool weir__run_grow(void **array, uint32_t *capacity, uint32_t needed, size_t element) {
  if (needed <= *capacity) return true;
  uint32_t larger_capacity = *capacity * 2 < needed ? needed + 32 : *capacity * 2;
  void *larger = weir__allocate(larger_capacity * element);
  if (larger == NULL) return false;
  if (*capacity > 0) memcpy(larger, *array, *capacity * element);
  weir__free(*array);
  *array = larger;
  *capacity = larger_capacity;
  return true;
}

static bool reserve(weir__run *run, uint32_t args) {
  void *tasks = run->tasks, *all_args = run->args, *buffers = run->buffer_bytes;
  bool enough = weir__run_grow(&tasks, &run->capacity, run->count + 1, sizeof *run->tasks) &&
                weir__run_grow(&all_args, &run->arg_capacity, run->arg_count + args, sizeof *run->args) &&
                weir__run_grow(&buffers, &run->buffer_capacity, run->buffer_count + args, sizeof *run->buffer_bytes);
  run->tasks = tasks;
  run->args = all_args;
  run->buffer_bytes = buffers;
  return enough;
}

// The hash of what a task is, but for its arguments.
static uint64_t hash_of(const weir__run_task *task) {
  uint64_t hash = mix(task->code_change, (uint64_t)(uintptr_t)task->kernel);
  hash = mix(hash, (uint64_t)(uintptr_t)task->host);
  hash = mix(hash, (uint64_t)(uintptr_t)task->asked);
  hash = mix(hash, (uint64_t)task->groups[0] << 32 | task->groups[1]);
  hash = mix(hash, (uint64_t)task->groups[2] << 32 | task->arg_count);
  uint64_t words[WEIR__LABEL_BYTES / sizeof(uint64_t)];
  memcpy(words, task->label, sizeof words);
  for (size_t i = 0; task->label[0] != '\0' && i < sizeof words / sizeof words[0]; i++) hash = mix(hash, words[i]);
  return hash;
}

static uint64_t hash_arg(uint64_t hash, const weir__run_arg *arg, uint64_t buffer) {
  return mix(mix(mix(hash, arg->mode << 32 ^ arg->offset), arg->bytes), buffer);
}

// The hash of the run up to a task that was appended last, and whose arguments are there.
static void place(weir__run *run, weir__run_task *task) {
  uint64_t hash = mix(hash_of(task), run->count > 0 ? run->tasks[run->count - 1].place : 0);
  for (uint32_t i = 0; i < task->arg_count; i++) {
    const weir__run_arg *arg = &run->args[task->first_arg + i];
    uint64_t bytes = arg->mode == WEIR_VALUE ? 0 : run->buffer_bytes[arg->place];
    hash = mix(hash_arg(hash, arg, arg->place), bytes);
  }
  task->place = hash;
}

bool weir__run_append(weir__run *run, const weir_task *given, weir_device *device) {
  if (run->count == WEIR__RUN_MOST_TASKS || !reserve(run, given->arg_count)) return false;
  weir__run_task *task = &run->tasks[run->count];
  *task = (weir__run_task){.kernel = given->kernel,
                           .code_change = given->kernel != NULL ? given->kernel->code_change : 0,
                           .host = given->host,
                           .asked = given->device,
                           .groups = {given->groups[0], given->groups[1], given->groups[2]},
                           .arg_count = given->arg_count,
                           .first_arg = run->arg_count};
  if (given->label != NULL) snprintf(task->label, sizeof task->label, "%s", given->label);
  task->kind = hash_of(task);
  for (uint32_t i = 0; i < given->arg_count; i++) {
    const weir_arg *from = &given->args[i];
    weir__run_arg *arg = &run->args[run->arg_count + i];
    *arg = (weir__run_arg){.mode = weir__plain_mode(from), .offset = from->offset, .bytes = from->bytes};
    if (arg->mode == WEIR_VALUE) {
      arg->is_new = true;
      arg->place = (uint32_t)run->value_bytes;
      run->value_bytes += weir__graph_padded(from->bytes);
      task->kind = hash_arg(task->kind, arg, 0);
      continue;
    }
    weir_buffer *buffer = from->buffer;
    bool known = buffer->run == run->number;
    arg->is_new = !known;
    if (!known) {
      buffer->run = run->number;
      buffer->run_place = run->buffer_count;
      run->buffer_bytes[run->buffer_count++] = buffer->bytes;
    }
    arg->place = buffer->run_place;
    task->kind = mix(hash_arg(task->kind, arg, known ? run->count - buffer->run_task : UINT32_MAX), buffer->bytes);
  }
  for (uint32_t i = 0; i < given->arg_count; i++) {
    if (weir__plain_mode(&given->args[i]) != WEIR_VALUE) given->args[i].buffer->run_task = run->count;
  }
  run->arg_count += given->arg_count;
  run->count++;
  run->device = device;
  return run->value_bytes <= WEIR__RUN_MOST_VALUE_BYTES;
}

// Numbers anew, in the order of the copy's tasks. `numbers`: by old number, UINT32_MAX: none yet.
static void renumber(const weir__run *run, weir__run *copy, uint32_t *numbers) {
  for (uint32_t i = 0; i < copy->arg_count; i++) {
    weir__run_arg *arg = &copy->args[i];
    if (arg->mode == WEIR_VALUE) {
      arg->place = (uint32_t)copy->value_bytes;
      copy->value_bytes += weir__graph_padded(arg->bytes);
      continue;
    }
    uint32_t *number = &numbers[arg->place];
    arg->is_new = *number == UINT32_MAX;
    if (arg->is_new) {
      copy->buffer_bytes[copy->buffer_count] = run->buffer_bytes[arg->place];
      *number = copy->buffer_count++;
    }
    arg->place = *number;
  }
}

bool weir__run_copy(const weir__run *run, uint32_t first, uint32_t end, weir__run *out_copy) {
  const weir__run_task *tasks = run->tasks + first;
  uint32_t first_arg = tasks->first_arg, count = end - first;
  uint32_t end_arg = end < run->count ? run->tasks[end].first_arg : run->arg_count, arg_count = end_arg - first_arg;
  weir__run copy = {.device = run->device,
                    .tasks = weir__allocate(count * sizeof *copy.tasks),
                    .args = weir__allocate((arg_count + 1) * sizeof *copy.args),
                    .buffer_bytes = weir__allocate((arg_count + 1) * sizeof *copy.buffer_bytes)};
  uint32_t *numbers = weir__allocate((run->buffer_count + 1) * sizeof *numbers);
  if (copy.tasks == NULL || copy.args == NULL || copy.buffer_bytes == NULL || numbers == NULL) {
    weir__free(numbers);
    weir__run_free(&copy);
    return false;
  }
  memcpy(copy.tasks, tasks, count * sizeof *copy.tasks);
  if (arg_count > 0) memcpy(copy.args, run->args + first_arg, arg_count * sizeof *copy.args);
  for (uint32_t i = 0; i < run->buffer_count; i++) numbers[i] = UINT32_MAX;
  copy.arg_count = arg_count;
  renumber(run, &copy, numbers);
  weir__free(numbers);
  for (; copy.count < count; copy.count++) {
    copy.tasks[copy.count].first_arg -= first_arg;
    place(&copy, &copy.tasks[copy.count]);
  }
  *out_copy = copy;
  return true;
}
