// SPDX-License-Identifier: Apache-2.0
//
// What the two short ways into the window (plain.c, plain_ahead.c) share: whether a task is plain, and its arguments.
#ifndef WEIR_ENGINE_PLAIN_INSIDE_H
#define WEIR_ENGINE_PLAIN_INSIDE_H

#include "engine/check.h"
#include "engine/plain.h"

enum { WEIR__PLAIN_GROUPS_LOG2 = 20 }; // of each dimension: three make no overflow

static_assert(WEIR__PLAIN_ARGS * (sizeof(weir__access) + sizeof(void *)) <= WEIR__TASK_INLINE_PAYLOAD,
              "they fit in a slot");

// Nothing in the context asks for more just now, the window has room, and nobody else is to go first.
static inline bool weir__plain_is_usual(const weir_context *context) {
  const weir__host *host = &context->host;
  weir__id oldest = host->window.live.oldest;
  bool odd = (host->trace != NULL) | (context->graphs.in_flight > 0) | context->poisoned |
             (context->order.fence >= oldest) | (oldest < context->order.barrier) | weir__this_thread.in_task;
  return !odd && weir__window_has_room(&host->window);
}

// Whether nothing but its arguments and its device can make it another task than a plain one.
static inline bool weir__plain_asks_little(const weir_task *task) {
  return !((task->arg_count > WEIR__PLAIN_ARGS) | (task->args == NULL && task->arg_count > 0) |
           (task->after_count > 0) | (task->destroy != NULL) | (task->group != NULL) |
           ((task->groups[0] | task->groups[1] | task->groups[2]) >> WEIR__PLAIN_GROUPS_LOG2 != 0) |
           ((task->kernel == NULL) == (task->host == NULL)));
}

// What some access may need.
enum {
  WEIR__PLAIN_RANGED = 1,  // it is not of a whole buffer, or its buffer is used by ranges
  WEIR__PLAIN_REPEATS = 2, // its buffer is named twice
  WEIR__PLAIN_BARE = 4,    // its buffer has no storage
  WEIR__PLAIN_VALUED = 8,  // some argument is a value
};

// Arguments that are plain and right.
typedef struct weir__plain_args {
  weir__access *accesses;
  uint32_t access_count;
  uint32_t needs;       // WEIR__PLAIN_RANGED, ...
  uint64_t overwritten; // bit i: access i overwrites all of a buffer
} weir__plain_args;

// Adds the room that a value takes, with the gap before it. False: it is wrong.
static inline __attribute__((always_inline)) bool weir__plain_take_value(const weir_arg *arg, uint64_t *values,
                                                                         uint32_t *needs) {
  if (arg->value == NULL || arg->bytes - 1 >= WEIR__MAX_VALUE_BYTES) return false;
  *values += arg->bytes + 8 + 15;
  *needs |= WEIR__PLAIN_VALUED;
  return true;
}

// Many or large values, which need more room than a slot has. What is in the slot already moves. False: no memory.
static __attribute__((noinline)) bool weir__plain_move(weir__task *slot, uint64_t bytes, weir__plain_args *args) {
  weir__access *accesses = weir__window_large_payload(slot, bytes);
  if (accesses == NULL) return false;
  memcpy(accesses, args->accesses, args->access_count * sizeof *accesses);
  args->accesses = accesses;
  return true;
}

// An access in `space` to [lo, lo + bytes) of a buffer, or, if `whole`, to all of it. False: it is not plain, or wrong.
static inline bool weir__plain_take_access(weir_context *context, uint64_t check, weir_buffer *buffer, uint64_t mode,
                                           bool whole, uint32_t space, uint64_t lo, uint64_t bytes,
                                           weir__access *access, uint32_t *needs) {
  if (buffer == NULL || !weir__object_is(&buffer->object, WEIR__KIND_BUFFER) || buffer->object.context != context)
    return false;
  uint64_t hi = buffer->bytes;
  if (!whole) {
    uint64_t rest = hi - lo;
    if (bytes == WEIR_WHOLE) bytes = rest;
    if (lo >= hi || bytes - 1 >= rest) return false;
    if (bytes != hi) *needs |= WEIR__PLAIN_RANGED;
    hi = lo + bytes;
  }
  if (buffer->by_ranges != 0) {
    if (buffer->boxed | buffer->reducing) return false;
    *needs |= WEIR__PLAIN_RANGED;
  }
  if (buffer->replicas[space].memory == NULL) *needs |= WEIR__PLAIN_BARE;
  if (buffer->named == check) *needs |= WEIR__PLAIN_REPEATS;
  buffer->named = check;
  *access = (weir__access){.buffer = buffer, .lo = lo, .hi = hi, .mode = (uint8_t)mode, .space = (uint8_t)space};
  return true;
}

// Whether an access overwrites all of its buffer.
static inline bool weir__plain_overwrites(const weir__access *access, uint64_t mode) {
  return mode == WEIR_WRITE && access->hi - access->lo == access->buffer->bytes;
}

// False: two of them disagree.
static inline bool weir__plain_is_right(const weir__plain_args *args) {
  return !(args->needs & WEIR__PLAIN_REPEATS) ||
         (args->overwritten == 0 && weir__ranges_agree(args->accesses, args->access_count));
}

// Puts the accesses in `space` where they stay, in the slot of the next task. False: an argument is not plain, or wrong, or there
// is no memory.
static inline bool weir__plain_take_args(weir_context *context, const weir_task *task, uint32_t space, weir__task *slot,
                                         weir__plain_args *out) {
  weir__access *const first = (weir__access *)(void *)slot->payload, *access = first;
  uint64_t check = ++context->checks, values = 0, overwritten = 0;
  uint32_t needs = 0;
  const weir_arg *arg = task->args;
  for (uint32_t left = task->arg_count; left > 0; left--, arg++) {
    uint64_t mode = weir__plain_mode(arg);
    if (mode == WEIR_VALUE) {
      if (!weir__plain_take_value(arg, &values, &needs)) return false;
      continue;
    }
    bool whole = arg->offset == 0 && arg->bytes == WEIR_WHOLE;
    if (mode > WEIR_READ_WRITE) return false;
    if (!weir__plain_take_access(context, check, arg->buffer, mode, whole, space, arg->offset, arg->bytes, access,
                                 &needs))
      return false;
    if (weir__plain_overwrites(access, mode)) overwritten |= (uint64_t)1 << (access - first);
    access++;
  }
  out->accesses = first;
  out->access_count = (uint32_t)(access - first);
  out->needs = needs;
  out->overwritten = overwritten;
  if (!weir__plain_is_right(out)) return false;
  if (!(needs & WEIR__PLAIN_VALUED)) return true; // the accesses and pointers of so few fit in
  uint64_t room = out->access_count * sizeof *access + task->arg_count * sizeof(void *) + values;
  return room <= WEIR__TASK_INLINE_PAYLOAD || weir__plain_move(slot, room, out);
}

// Where predecessors become edges.
typedef struct weir__plain_edges {
  weir__window *window;
  weir__task *task;
  bool no_memory; // an edge could not be made
  bool lost_data; // it would have brought data, and is not listed
} weir__plain_edges;

// An edge was asked for, and perhaps there was no memory for it.
static inline __attribute__((always_inline)) void weir__plain_note_edge(weir__plain_edges *self, bool no_memory,
                                                                        bool data) {
  if (__builtin_expect(!no_memory, true)) return;
  self->no_memory = true;
  self->lost_data |= data;
}

// Memory ran out for some of these. What became an edge at once is not listed.
__attribute__((cold)) void weir__plain_hold(weir_context *context, const weir__plain_edges *self);

#endif // WEIR_ENGINE_PLAIN_INSIDE_H
