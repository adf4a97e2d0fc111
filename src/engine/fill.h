// SPDX-License-Identifier: Apache-2.0
//
// What a slot of the window says of its task.
#ifndef WEIR_ENGINE_FILL_H
#define WEIR_ENGINE_FILL_H

#include "engine/context.h"

static inline int8_t weir__clamp_priority(int32_t priority) {
  if (priority < WEIR_PRIORITY_LOWEST) return WEIR_PRIORITY_LOWEST;
  return (int8_t)(priority > WEIR_PRIORITY_HIGHEST ? WEIR_PRIORITY_HIGHEST : priority);
}

// Keys share classes where there are many. They are mixed, since addresses differ in few bits.
static inline uint8_t weir__lock_class(uint64_t key) {
  if (__builtin_expect(key == 0, true)) return 0;
  return (uint8_t)(1 + ((key * 0x9e3779b97f4a7c15u) >> 32) % (WEIR__LOCK_CLASSES - 1));
}

static inline void weir__fill_groups(weir__task *task, const weir_task *asked) {
  for (int i = 0; i < 3; i++) task->groups[i] = asked->groups[i] == 0 ? 1 : asked->groups[i];
}

// All that comes from what the caller asks for, but for code of a device that does not run functions.
static inline void weir__fill_asked(weir__task *task, const weir_task *asked, const weir_device *device) {
  weir_kernel *kernel = asked->kernel;
  task->function = kernel != NULL ? kernel->function : asked->host;
  task->user = asked->user;
  task->kernel = kernel;
  bool one = (asked->groups[0] | asked->groups[1] | asked->groups[2]) == 0;
  for (int i = 0; i < 3; i++) task->groups[i] = one || asked->groups[i] == 0 ? 1 : asked->groups[i];
  task->arg_count = asked->arg_count;
  task->priority = weir__clamp_priority(asked->priority);
  task->device = (uint8_t)device->index;
  task->tag = asked->tag;
  task->lock_class = asked->host != NULL ? weir__lock_class(asked->lock_key) : 0;
  if (kernel != NULL) kernel->object.last_use = task->id;
}

// Room that a value takes behind the pointers: aligned to 16 bytes, and behind its length.
static inline unsigned char *weir__put_value(unsigned char *room, const weir_arg *arg, void **pointer) {
  room = (unsigned char *)(((uintptr_t)room + 8 + 15) & ~(uintptr_t)15);
  memcpy(room - 8, &arg->bytes, 8); // see weir__task_value_bytes
  memcpy(room, arg->value, arg->bytes);
  *pointer = room;
  return room + arg->bytes;
}

// The pointers and values, from `pointer` on, once the storage of all buffers is known.
static inline void weir__fill_args(weir__task *task, const weir_task *asked, const weir__access *access,
                                   void **pointer) {
  uint32_t arg_count = asked->arg_count;
  unsigned char *value = (unsigned char *)(pointer + arg_count);
  task->args = pointer;
  const weir_arg *arg = asked->args;
  for (uint32_t left = arg_count; left > 0; left--, arg++, pointer++) {
    if (arg->mode == WEIR_VALUE) {
      value = weir__put_value(value, arg, pointer);
    } else {
      *pointer = (char *)access->buffer->replicas[access->space].memory + access->lo;
      access++;
    }
  }
}

#endif // WEIR_ENGINE_FILL_H
