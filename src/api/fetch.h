// SPDX-License-Identifier: Apache-2.0
//
// Where a context has more buffers than caches hold, submissions ask for their lines before they need them.
//
// DESIGN. To wait for the first line of one buffer takes longer than all the rest of a submission. An array of tasks
// names the buffers of the next task. Else they can be guessed: programs that have many buffers mostly write them in
// the order in which they made them. All functions here must be inline: the compiler drops calls that only ask for
// lines.
#ifndef WEIR_API_FETCH_H
#define WEIR_API_FETCH_H

#include "engine/plain.h"

static inline bool weir__fetch_is_due(const weir_context *context) {
  return __builtin_expect(atomic_load_explicit(&context->host.many_buffers, memory_order_relaxed), false);
}

// Of one buffer, and perhaps of the next one that is written.
static inline __attribute__((always_inline)) void weir__fetch_buffer(const weir_buffer *buffer, bool guess) {
  weir__buffer_fetch(buffer, 0);
  if (guess) weir__buffer_fetch(buffer, 1);
}

// Of those that a task names; `guess`: which task comes next is not known.
static inline __attribute__((always_inline)) void weir__fetch_args(const weir_task *task, bool guess) {
  if (task->args == NULL) return;
  uint32_t count = task->arg_count < WEIR__PLAIN_ARGS ? task->arg_count : WEIR__PLAIN_ARGS; // others take long anyway
  for (uint32_t i = 0; i < count; i++) {
    const weir_arg *arg = &task->args[i];
    weir__fetch_buffer(arg->buffer, guess && arg->mode != WEIR_READ);
  }
}

#endif // WEIR_API_FETCH_H
