// SPDX-License-Identifier: Apache-2.0
//
// Whether a task is the next one of a repeat: what is asked of each task that is held back, inline where most are.
#ifndef WEIR_REPEATS_MATCH_H
#define WEIR_REPEATS_MATCH_H

#include <stddef.h>
#include <string.h>

#include "repeats/repeat.h"

// match.c: what few tasks need.

bool weir__same_label(const weir__run_task *seen, const weir_task *task);

// Takes a value, which is not NULL.
void weir__bound_keep_value(const weir__run_arg *seen, const weir_arg *arg, weir__bound *bound);

// Gives all but the first `count` buffers back. Returns false.
bool weir__bound_take_back(weir__bound *bound, uint32_t count);

static inline uint64_t weir__word_of(const void *memory) {
  uint64_t word;
  memcpy(&word, memory, sizeof word);
  return word;
}

static inline uint64_t weir__pointers_differ(const void *a, const void *b) {
  return (uintptr_t)a ^ (uintptr_t)b;
}

// The bits in which the task differs, but for its code, label, arguments and what it has of its own.
static inline uint64_t weir__task_bits_differ(const weir__run_task *seen, const weir_task *task) {
  static_assert(offsetof(weir_task, groups) == offsetof(weir_task, arg_count) + 4 &&
                    offsetof(weir_task, priority) == offsetof(weir_task, after_count) + 4 &&
                    offsetof(weir__run_task, groups) == offsetof(weir__run_task, arg_count) + 4,
                "words of two members");
  uint64_t host, seen_host, destroy;
  memcpy(&host, &task->host, sizeof host);
  memcpy(&seen_host, &seen->host, sizeof seen_host);
  memcpy(&destroy, &task->destroy, sizeof destroy);
  return weir__pointers_differ(seen->kernel, task->kernel) | weir__pointers_differ(seen->asked, task->device) |
         weir__pointers_differ(task->group, NULL) | (host ^ seen_host) | destroy |
         (weir__word_of(&seen->arg_count) ^ weir__word_of(&task->arg_count)) |
         (weir__word_of(&seen->groups[1]) ^ weir__word_of(&task->groups[1])) | weir__word_of(&task->after_count);
}

static inline bool weir__same_task(const weir__run_task *seen, const weir_task *task) {
  if (weir__task_bits_differ(seen, task) != 0) return false;
  if (task->kernel != NULL &&
      (seen->code_change != task->kernel->code_change || !weir__object_is(&task->kernel->object, WEIR__KIND_KERNEL)))
    return false;
  if (__builtin_expect(task->label == NULL, true)) return seen->label[0] == '\0';
  return weir__same_label(seen, task);
}

// Takes the buffer with the next number. False: it is another one's place.
static inline bool weir__bound_take_buffer(const weir__run *run, weir_buffer *buffer, weir__bound *bound) {
  uint32_t number = bound->buffer_count;
  if (buffer == NULL || !weir__object_is(&buffer->object, WEIR__KIND_BUFFER) ||
      buffer->object.context != weir__context_of(run->device->host) || buffer->named == bound->number ||
      buffer->bytes != run->buffer_bytes[number] || !weir__run_takes(buffer))
    return false;
  buffer->named = bound->number;
  buffer->queued++;
  bound->buffers[number] = buffer;
  bound->buffer_count = number + 1;
  return true;
}

// Takes a value, or a buffer that the run names first here. False: it is another one.
static inline bool weir__bound_take(const weir__run *run, const weir__run_arg *seen, const weir_arg *arg,
                                    weir__bound *bound) {
  if (seen->mode != WEIR_VALUE) return weir__bound_take_buffer(run, arg->buffer, bound);
  if (arg->value == NULL) return false;
  weir__bound_keep_value(seen, arg, bound);
  return true;
}

static inline __attribute__((always_inline)) bool weir__same_arg(const weir__run *run, const weir__run_arg *seen,
                                                                 const weir_arg *arg, weir__bound *bound) {
  if (((seen->mode ^ weir__plain_mode(arg)) | (seen->bytes ^ arg->bytes) | (seen->offset ^ arg->offset)) != 0)
    return false;
  if (seen->is_new) return weir__bound_take(run, seen, arg, bound);
  return bound->buffers[seen->place] == arg->buffer && arg->buffer->object.released == 0;
}

// weir__repeat_matches, inline.
static inline __attribute__((always_inline)) bool weir__matches(const weir__repeat *repeat, uint32_t index,
                                                                const weir_task *task, weir__bound *bound) {
  const weir__run *run = &repeat->run;
  const weir__run_task *seen = &run->tasks[index];
  if (!weir__same_task(seen, task) || (task->args == NULL && task->arg_count > 0)) return false;
  bound->given[index] = (weir__graph_given){task->user, task->tag};
  if (task->arg_count == 0) return true; // `args` may be NULL, to which nothing is added
  uint32_t count = bound->buffer_count;
  const weir__run_arg *seen_arg = run->args + seen->first_arg;
  const weir_arg *arg = task->args;
  for (const weir_arg *end = arg + task->arg_count; arg != end; arg++, seen_arg++) {
    if (__builtin_expect(!weir__same_arg(run, seen_arg, arg, bound), false)) return weir__bound_take_back(bound, count);
  }
  return true;
}

#endif // WEIR_REPEATS_MATCH_H
