// SPDX-License-Identifier: Apache-2.0
#include "engine/auto.h"

#include <string.h>

#include "device/use.h"

static weir_mode by_code(const weir_device *device, const weir_task *task, uint32_t index) {
  if (task->kernel == NULL || device->ops->use == NULL || !device->ops->has_code(device, task->kernel))
    return WEIR_READ_WRITE;
  return weir__use_mode(device->ops->use(device, task, index));
}

static uint64_t end_of(const weir_arg *arg) {
  uint64_t end;
  return __builtin_add_overflow(arg->offset, arg->bytes, &end) ? UINT64_MAX : end;
}

// Boxes count as all of their buffer: more updates than needed, but not too few.
static bool overlap(const weir_arg *a, const weir_arg *b) {
  bool boxes = a->shape != WEIR_RANGE || b->shape != WEIR_RANGE;
  return a->buffer == b->buffer && (boxes || (a->offset < end_of(b) && b->offset < end_of(a)));
}

weir_mode weir__auto_mode(const weir_device *device, const weir_task *task, uint32_t index) {
  const weir_arg *arg = &task->args[index];
  weir_mode mode = by_code(device, task, index);
  for (uint32_t i = 0; i < task->arg_count && mode == WEIR_READ; i++) {
    const weir_arg *other = &task->args[i];
    if (i == index || other->mode == WEIR_VALUE || !overlap(arg, other)) continue;
    weir_mode theirs = other->mode == WEIR_AUTO ? by_code(device, task, i) : other->mode;
    if (theirs != WEIR_READ) mode = WEIR_READ_WRITE;
  }
  return mode;
}

void weir__fill_modes(const weir_device *device, const weir_task *task, weir_arg *args) {
  for (uint32_t i = 0; i < task->arg_count; i++)
    if (args[i].mode == WEIR_AUTO) args[i].mode = weir__auto_mode(device, task, i);
}

void weir__take_modes(const weir_device *device, const weir_task *task, weir_arg *args, weir_task *out_task) {
  *out_task = *task;
  out_task->args = args;
  if (task->arg_count > 0) memcpy(args, task->args, task->arg_count * sizeof *args);
  weir__fill_modes(device, out_task, args);
}
