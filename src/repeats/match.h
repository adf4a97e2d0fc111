// SPDX-License-Identifier: Apache-2.0
//
// Whether a task is the next one of a repeat: what is asked of each task that is held back, inline where most are.
#ifndef WEIR_REPEATS_MATCH_H
#define WEIR_REPEATS_MATCH_H

#include <stddef.h>
#include <string.h>

#include "repeats/repeat.h"

// match.c: what few tasks need.

// Takes a value of more than 8 bytes, or of another size than most have.
void weir__bound_keep_other_value(const weir__run_arg *seen, const weir_arg *arg, weir__bound *bound);

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
  return task->label == NULL ? seen->label[0] == '\0' : strncmp(seen->label, task->label, WEIR__LABEL_BYTES - 1) == 0;
}

// Whether a buffer can be the one with this number, which the run names first.
static inline bool weir__bound_may_take(const weir__bound *bound, const weir__run *run, uint32_t number,
                                        const weir_buffer *buffer) {
  return buffer != NULL && weir__object_is(&buffer->object, WEIR__KIND_BUFFER) &&
         ((weir__pointers_differ(buffer->object.context, bound->context) |
           (buffer->bytes ^ run->buffer_bytes[number])) == 0) &&
         buffer->run != bound->number && weir__run_takes(buffer);
}

static inline bool weir__same_arg(const weir__run_arg *seen, const weir_arg *arg) {
  return ((seen->mode ^ weir__plain_mode(arg)) | (seen->bytes ^ arg->bytes) | (seen->offset ^ arg->offset)) == 0;
}

// Takes a value, which is not NULL. What is behind it, up to its padded size, becomes 0.
static inline void weir__bound_keep_value(const weir__run_arg *seen, const weir_arg *arg, weir__bound *bound) {
  uint64_t words[2] = {0, 0};
  if (seen->bytes == 4) {
    memcpy(words, arg->value, 4);
  } else if (seen->bytes == 8) {
    memcpy(words, arg->value, 8);
  } else {
    weir__bound_keep_other_value(seen, arg, bound);
    return;
  }
  memcpy(bound->values + seen->place, words, sizeof words);
}

// Whether the argument is the same. If it is a value, or a buffer that the run names first here, it is bound. `count`: of the
// buffers that are.
static inline __attribute__((always_inline)) bool weir__bound_take(weir__bound *bound, const weir__run *run,
                                                                   const weir__run_arg *seen, const weir_arg *arg,
                                                                   uint32_t *count) {
  if (__builtin_expect(!weir__same_arg(seen, arg), false)) return false;
  weir_buffer *buffer = arg->buffer;
  if (!seen->is_new) return bound->buffers[seen->place] == buffer && buffer->object.released == 0;
  if (seen->mode == WEIR_VALUE) {
    if (arg->value == NULL) return false;
    weir__bound_keep_value(seen, arg, bound);
    return true;
  }
  if (!weir__bound_may_take(bound, run, *count, buffer)) return false;
  buffer->run = bound->number;
  buffer->queued++;
  bound->buffers[(*count)++] = buffer;
  return true;
}

// weir__repeat_matches, inline.
static inline __attribute__((always_inline)) bool weir__matches(const weir__repeat *repeat, uint32_t index,
                                                                const weir_task *task, weir__bound *bound) {
  const weir__run *run = &repeat->run;
  const weir__run_task *seen = &run->tasks[index];
  if (!weir__same_task(seen, task) || (task->args == NULL && task->arg_count > 0)) return false;
  bound->given[index] = (weir__graph_given){task->user, task->tag};
  if (task->arg_count == 0) return true; // `args` may be NULL, to which nothing is added
  uint32_t first = bound->buffer_count, count = first;
  const weir__run_arg *seen_arg = run->args + seen->first_arg;
  const weir_arg *arg = task->args;
  for (const weir_arg *end = arg + task->arg_count; arg != end; arg++, seen_arg++) {
    if (__builtin_expect(!weir__bound_take(bound, run, seen_arg, arg, &count), false)) {
      bound->buffer_count = count;
      return weir__bound_take_back(bound, first);
    }
  }
  bound->buffer_count = count;
  return true;
}

#endif // WEIR_REPEATS_MATCH_H
