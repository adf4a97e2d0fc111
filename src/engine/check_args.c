// SPDX-License-Identifier: Apache-2.0
//
// Checks of the arguments of a task, which become accesses.
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "engine/boxes.h"
#include "engine/check.h"
#include "engine/reduce.h"
#include "engine/transfer.h"

enum { FEW_ACCESSES = 24 };

// Two accesses of one task to a buffer disagree when they overlap, one writes, and they differ in range or mode.
static bool disagree(const weir__access *a, const weir__access *b) {
  if (a->buffer != b->buffer || a->lo >= b->hi || b->lo >= a->hi) return false;
  if (a->mode == WEIR_READ && b->mode == WEIR_READ) return false;
  return a->mode != b->mode || a->lo != b->lo || a->hi != b->hi;
}

static weir_status report_disagreement(const weir__access *a, const weir__access *b) {
  return weir__error(
      WEIR_ERROR_INVALID_ARGUMENT,
      ": two arguments overlap and disagree on buffer %llu '%s': %s of bytes [%llu, %llu) and %s of bytes [%llu, %llu)",
      (unsigned long long)a->buffer->id, a->buffer->label, weir__mode_name((weir_mode)a->mode),
      (unsigned long long)a->lo, (unsigned long long)a->hi, weir__mode_name((weir_mode)b->mode),
      (unsigned long long)b->lo, (unsigned long long)b->hi);
}

static int by_place(const void *left, const void *right) {
  const weir__access *a = *(const weir__access *const *)left, *b = *(const weir__access *const *)right;
  if (a->buffer->id != b->buffer->id) return a->buffer->id < b->buffer->id ? -1 : 1;
  if (a->lo != b->lo) return a->lo < b->lo ? -1 : 1;
  return a->hi < b->hi ? -1 : a->hi > b->hi;
}

// The same for many accesses: in order of place, each is compared with the one that reaches furthest of all before it
// and with the furthest-reaching one that writes.
static weir_status check_many(const weir__access *accesses, uint32_t count) {
  const weir__access *sorted[WEIR_MAX_ARGS];
  for (uint32_t i = 0; i < count; i++) sorted[i] = &accesses[i];
  qsort(sorted, count, sizeof sorted[0], by_place);
  const weir__access *furthest = NULL, *furthest_write = NULL;
  for (uint32_t i = 0; i < count; i++) {
    const weir__access *access = sorted[i];
    if (furthest != NULL && disagree(furthest, access)) return report_disagreement(furthest, access);
    if (furthest_write != NULL && disagree(furthest_write, access)) return report_disagreement(furthest_write, access);
    if (furthest == NULL || furthest->buffer != access->buffer || access->hi > furthest->hi) furthest = access;
    if (access->mode != WEIR_READ &&
        (furthest_write == NULL || furthest_write->buffer != access->buffer || access->hi > furthest_write->hi))
      furthest_write = access;
  }
  return WEIR_OK;
}

bool weir__ranges_agree(const weir__access *accesses, uint32_t count) {
  for (uint32_t i = 1; i < count; i++) {
    for (uint32_t j = 0; j < i; j++) {
      if (disagree(&accesses[j], &accesses[i])) return false;
    }
  }
  return true;
}

static weir_status check_agreement(const weir__access *accesses, uint32_t count) {
  if (count > FEW_ACCESSES) return check_many(accesses, count);
  for (uint32_t i = 1; i < count; i++) {
    for (uint32_t j = 0; j < i; j++) {
      if (disagree(&accesses[j], &accesses[i])) return report_disagreement(&accesses[j], &accesses[i]);
    }
  }
  return WEIR_OK;
}

// The functions below report what is wrong with an argument; weir__check_args puts the name of the task in front of it.

static weir_status bad_value(uint32_t index, const weir_arg *arg) {
  return weir__error(WEIR_ERROR_INVALID_ARGUMENT,
                     ", argument %u: a value has 1 to %d bytes and an address; this has %llu%s", index,
                     WEIR__MAX_VALUE_BYTES, (unsigned long long)arg->bytes, arg->value == NULL ? " and NULL" : "");
}

static weir_status bad_buffer(const weir_context *context, uint32_t index, const weir_arg *arg) {
  char place[32];
  snprintf(place, sizeof place, ", argument %u", index);
  return weir__object_check(arg->buffer, WEIR__KIND_BUFFER, context, place);
}

static weir_status bad_range(uint32_t index, const weir_arg *arg, uint64_t bytes) {
  const weir_buffer *buffer = arg->buffer;
  if (bytes == 0)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT,
                       ", argument %u: the range at byte %llu of buffer %llu '%s' is empty", index,
                       (unsigned long long)arg->offset, (unsigned long long)buffer->id, buffer->label);
  char count[24] = "all";
  if (bytes != WEIR_WHOLE) snprintf(count, sizeof count, "%llu", (unsigned long long)bytes);
  return weir__error(WEIR_ERROR_OUT_OF_RANGE,
                     ", argument %u: %s bytes from byte %llu on leave buffer %llu '%s', which has %llu bytes", index,
                     count, (unsigned long long)arg->offset, (unsigned long long)buffer->id, buffer->label,
                     (unsigned long long)buffer->bytes);
}

// An image is all there is to access.
static weir_status check_images(const weir__access *accesses, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    const weir_buffer *buffer = accesses[i].buffer;
    if (!buffer->image || weir__access_is_whole(&accesses[i], buffer->bytes)) continue;
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT,
                       ": bytes [%llu, %llu) of buffer %llu '%s', which is an image of %llu bytes and used whole",
                       (unsigned long long)accesses[i].lo, (unsigned long long)accesses[i].hi,
                       (unsigned long long)buffer->id, buffer->label, (unsigned long long)buffer->bytes);
  }
  return WEIR_OK;
}

static weir_status check_ranges(const weir__access *accesses, weir__checked *checked) {
  for (uint32_t i = 0; i < checked->access_count; i++) checked->reduces |= accesses[i].buffer->reducing;
  return check_images(accesses, checked->access_count);
}

// PENDING: the mode is to be taken from the code first (engine/auto.h).
static weir_status other_mode(uint32_t index, const weir_arg *arg) {
  if (arg->mode == WEIR_AUTO) return WEIR_PENDING;
  return weir__error(WEIR_ERROR_INVALID_ARGUMENT, ", argument %u: %d is no mode", index, (int)arg->mode);
}

// Some argument has a mode that few have, or none. From here on a task that adds by a reduction is one that commutes.
static __attribute__((noinline)) weir_status check_modes(const weir_context *context, const weir_task *task,
                                                         weir__access *accesses, weir__checked *checked) {
  weir__access *access = accesses;
  for (uint32_t i = 0; i < task->arg_count; i++) {
    const weir_arg *arg = &task->args[i];
    if (arg->mode == WEIR_VALUE) continue;
    if ((uint32_t)arg->mode > WEIR_REDUCE) return other_mode(i, arg);
    // Boxes keep the order of submission.
    if (arg->mode == WEIR_COMMUTE && access->box != 0) access->mode = WEIR_READ_WRITE;
    if (arg->mode == WEIR_REDUCE && arg->shape != WEIR_RANGE)
      return weir__error(WEIR_ERROR_INVALID_ARGUMENT, ", argument %u: a reduction is of a range, not of a box", i);
    if (arg->mode == WEIR_REDUCE) {
      weir_status status = weir__reduce_check(context, i, arg, access->hi - access->lo);
      if (status != WEIR_OK) return status;
      access->mode = WEIR_COMMUTE;
      checked->reduces = true;
    }
    if (access->mode == WEIR_COMMUTE) checked->commutes = checked->ranged = true;
    access++;
  }
  return WEIR_OK;
}

static weir_status bad_reserved(const weir_arg *args) {
  uint32_t index = 0;
  while (args[index].reserved == 0 && (args[index].mode != WEIR_VALUE || args[index].shape == 0)) index++;
  return args[index].reserved != 0
             ? weir__error(WEIR_ERROR_INVALID_ARGUMENT, ", argument %u: its reserved member must be 0", index)
             : weir__error(WEIR_ERROR_INVALID_ARGUMENT, ", argument %u: a value has no shape", index);
}

// Which contents are elsewhere, and what must be brought back there.
static weir_status check_spaces(const weir_context *context, const weir__access *accesses, weir__checked *checked) {
  weir_status status = WEIR_OK;
  for (uint32_t i = 0; i < checked->access_count; i++) {
    const weir__access *access = &accesses[i];
    weir_mode mode = (weir_mode)access->mode;
    if (weir__lacks_contents(context, access, checked->access_count)) checked->lacks_contents = true;
    if (!weir__is_written_back(access->buffer, mode, access->space)) continue;
    checked->write_backs++;
    if (status != WEIR_OK || weir__is_direct(context, access->space, access->buffer->home)) continue;
    status = weir__error(WEIR_ERROR_INVALID_ARGUMENT,
                         ": %s cannot write buffer %llu '%s', which is in memory of %s that it does not reach",
                         context->memory.devices[access->space]->name, (unsigned long long)access->buffer->id,
                         access->buffer->label, context->memory.devices[access->buffer->home]->name);
  }
  return status;
}

// An argument whose buffer was checked. Its box is added to those that were found before.
static __attribute__((noinline)) weir_status check_box(const weir_arg *arg, uint32_t index, weir_box *boxes,
                                                       uint32_t *box_count, weir__access *access, uint64_t *out_bytes) {
  uint64_t rest = arg->buffer->bytes - arg->offset;
  bool is_range = false;
  weir_status status = weir__check_box(arg, index, &boxes[*box_count], out_bytes, &is_range);
  if (status != WEIR_OK) return status;
  if (arg->offset >= arg->buffer->bytes || *out_bytes > rest) return bad_range(index, arg, *out_bytes);
  if (!is_range) access->box = (uint16_t)++ * box_count;
  return WEIR_OK;
}

static inline weir_status check_args(weir_context *context, const weir_task *task, uint32_t space,
                                     weir__access *accesses, weir__checked *out_checked) {
  enum { RANGED = 1, REPEATS = 2, ELSEWHERE = 4, BOXED = 8 };
  uint32_t found = 0, value_bytes = 0, reserved = 0, modes = 0;
  uint16_t here_only = weir__space_bit(space);
  uint64_t needs_storage = 0, check = ++context->checks;
  weir__access *access = accesses;
  const weir_arg *arg = task->args;
  for (uint32_t left = task->arg_count; left > 0; left--, arg++) {
    reserved |= arg->reserved;
    if (arg->mode == WEIR_VALUE) {
      if (arg->value == NULL || arg->bytes == 0 || arg->bytes > WEIR__MAX_VALUE_BYTES)
        return bad_value((uint32_t)(arg - task->args), arg);
      reserved |= arg->shape;
      value_bytes += (uint32_t)arg->bytes + 8 + 15;
      continue;
    }
    modes |= (uint32_t)arg->mode;
    weir_buffer *buffer = arg->buffer;
    if (buffer == NULL || !weir__object_is(&buffer->object, WEIR__KIND_BUFFER) || buffer->object.context != context)
      return bad_buffer(context, (uint32_t)(arg - task->args), arg);
    uint64_t whole = buffer->bytes, rest = whole - arg->offset, bytes = arg->bytes == WEIR_WHOLE ? rest : arg->bytes;
    access->box = 0;
    if (arg->shape != WEIR_RANGE) {
      if (!(found & BOXED)) out_checked->box_count = 0;
      found |= BOXED | RANGED;
      weir_status status =
          check_box(arg, (uint32_t)(arg - task->args), context->order.boxes, &out_checked->box_count, access, &bytes);
      if (status != WEIR_OK) return status;
      value_bytes += access->box != 0 ? (uint32_t)sizeof(weir_box) : 0;
    }
    if (arg->offset >= whole || bytes - 1 >= rest) return bad_range((uint32_t)(arg - task->args), arg, arg->bytes);
    access->buffer = buffer;
    access->mode = (uint8_t)arg->mode;
    access->space = (uint8_t)space;
    access->lo = arg->offset;
    access->hi = arg->offset + bytes;
    if ((arg->mode == WEIR_WRITE) | (buffer->valid != here_only)) {
      if (arg->mode != WEIR_READ || buffer->replicas[space].memory == NULL)
        needs_storage |= weir__storage_bit((uint32_t)(access - accesses));
      bool here = buffer->valid & here_only;
      if ((buffer->valid & ~here_only) != 0 && (!here || arg->mode != WEIR_READ || buffer->parts != NULL))
        found |= ELSEWHERE;
    }
    if (buffer->by_ranges != 0 || bytes != whole) found |= RANGED;
    if (buffer->named == check) found |= REPEATS;
    buffer->named = check;
    access++;
  }
  if (reserved != 0) return bad_reserved(task->args);
  *out_checked = (weir__checked){.access_count = (uint32_t)(access - accesses),
                                 .ranged = found & RANGED,
                                 .repeats = found & REPEATS,
                                 .box_count = found & BOXED ? out_checked->box_count : 0,
                                 .value_bytes = value_bytes,
                                 .needs_storage = needs_storage};
  weir_status status = modes > WEIR_READ_WRITE ? check_modes(context, task, accesses, out_checked) : WEIR_OK;
  if (status == WEIR_OK && (found & ELSEWHERE)) status = check_spaces(context, accesses, out_checked);
  if (status == WEIR_OK && (found & RANGED)) status = check_ranges(accesses, out_checked);
  if (status != WEIR_OK) return status;
  if (!(found & REPEATS)) return WEIR_OK;
  return out_checked->box_count > 0
             ? weir__check_box_agreement(accesses, out_checked->access_count, context->order.boxes)
             : check_agreement(accesses, out_checked->access_count);
}

weir_status weir__check_args(weir_context *context, const weir_task *task, uint32_t space, weir__access *accesses,
                             weir__checked *out_checked) {
  weir_status status = check_args(context, task, space, accesses, out_checked);
  if (status == WEIR_OK || status == WEIR_PENDING) return status;
  char what[WEIR__WHAT_BYTES];
  weir__describe_task(task, what);
  return weir__error_prefix(status, what);
}
