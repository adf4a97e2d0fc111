// SPDX-License-Identifier: Apache-2.0
//
// The way of a launch into the window: checked, room for its parts reserved, submitted as one task.
#include <stdio.h>
#include <string.h>

#include "base/allocate.h"
#include "base/error.h"
#include "base/structs.h"
#include "device/enqueue.h"
#include "engine/boxes.h"
#include "engine/room.h"
#include "engine/submit.h"
#include "split/policy.h"
#include "split/split.h"

// A mapping function is asked for each unit, so that where there is one there are no more units than this.
enum { MOST_ASKED = 4096, PIECES_OF_ONE_PART = 3, PIECES_OF_MANY = 40 };

static const weir_split_part no_part;

static void describe(const weir_split_launch *launch, char *what, size_t size) {
  snprintf(what, size, "split '%.47s' (tag %llu)", launch->label != NULL ? launch->label : launch->kernel->name,
           (unsigned long long)launch->tag);
}

static weir_status check_launch(const weir_split *split, const weir_split_launch *launch) {
  weir_status status = weir__object_check(launch->kernel, WEIR__KIND_KERNEL, split->context, "split submit");
  if (status != WEIR_OK) return status;
  char what[96];
  describe(launch, what, sizeof what);
  if (launch->dimension > 2)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "%s: there is no dimension %u to cut; 0 to 2 are possible", what,
                       launch->dimension);
  if (launch->arg_count > WEIR_MAX_ARGS)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "%s: %u arguments; at most %d are possible", what,
                       launch->arg_count, WEIR_MAX_ARGS);
  if (launch->arg_count > 0 && launch->args == NULL)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "%s: args is NULL", what);
  return WEIR_OK;
}

static weir__split_cut cut_of(const weir_split_launch *launch) {
  uint32_t groups = launch->groups[launch->dimension];
  weir__split_cut cut = {.total = groups == 0 ? 1 : groups, .unit = launch->granularity == 0 ? 1 : launch->granularity};
  if (cut.unit > cut.total) cut.unit = cut.total;
  bool asked = false;
  for (uint32_t i = 0; i < launch->arg_count; i++) asked |= launch->args[i].mapping == WEIR_SPLIT_FUNCTION;
  uint32_t units = weir__split_units(cut);
  if (asked && units > MOST_ASKED) cut.unit *= (units - 1) / MOST_ASKED + 1;
  return cut;
}

// One allocation: the run, and what it has for each argument and part.
static weir__split_run *make_run(const weir_split_launch *launch, uint32_t devices, uint32_t most, bool resident) {
  uint64_t args = launch->arg_count, parts = (uint64_t)devices * WEIR__SPLIT_DEPTH;
  uint64_t bytes = sizeof(weir__split_run) +
                   args * (sizeof(weir_split_arg) + sizeof(weir_arg) + sizeof(weir_split_part) + sizeof(uint64_t)) +
                   (parts + 1) * args * sizeof(weir_buffer *) + (most + 1ull) * sizeof(weir__split_free) +
                   (resident ? most * sizeof(weir__split_part) + args * sizeof(weir__access) : 0);
  weir__split_run *run = weir__allocate_zeroed(bytes);
  if (run == NULL) return NULL;
  run->free = (weir__split_free *)(run + 1);
  run->args = (weir_split_arg *)(run->free + most + 1);
  run->part_args = (weir_arg *)(run->args + args);
  run->descriptions = (weir_split_part *)(run->part_args + args);
  run->bytes = (uint64_t *)(run->descriptions + args);
  run->wholes = (weir_buffer **)(run->bytes + args);
  weir_buffer **buffers = run->wholes + args;
  for (uint32_t i = 0; i < devices; i++) {
    for (uint32_t j = 0; j < WEIR__SPLIT_DEPTH; j++, buffers += args)
      run->parts[i][j] = (weir__split_part){.run = run, .device = i, .buffers = buffers};
  }
  if (resident) {
    run->planned = (weir__split_part *)buffers;
    run->accesses = (weir__access *)(run->planned + most);
  }
  return run;
}

static bool has_bytes(const weir_split_arg *arg) {
  return arg->mapping != WEIR_SPLIT_PART && arg->arg.mode != WEIR_VALUE;
}

static bool cut_alike(const weir_split_arg *a, const weir_split_arg *b) {
  return a->mapping == b->mapping && a->group_bytes == b->group_bytes && a->function == b->function &&
         a->function_user == b->function_user;
}

// Two arguments that write the same bytes: else two parts would write them. (That others do not overlap weir_submit finds.)
static weir_status check_overlaps(const char *what, const weir_split_launch *launch, const uint64_t *bytes) {
  for (uint32_t i = 0; i < launch->arg_count; i++) {
    const weir_split_arg *a = &launch->args[i];
    for (uint32_t j = 0; j < i && has_bytes(a) && a->arg.mode != WEIR_READ; j++) {
      const weir_split_arg *b = &launch->args[j];
      if (!has_bytes(b) || b->arg.mode == WEIR_READ || a->arg.buffer != b->arg.buffer || cut_alike(a, b)) continue;
      if (a->arg.offset < b->arg.offset + bytes[j] && b->arg.offset < a->arg.offset + bytes[i])
        return weir__error(WEIR_ERROR_INVALID_ARGUMENT,
                           "%s: arguments %u and %u write the same bytes and are cut in two ways", what, j, i);
    }
  }
  return WEIR_OK;
}

// Checks how the arguments map, and notes how long they are. What else is wrong with a range weir_submit finds.
static weir_status check_args(const weir_split *split, const weir_split_launch *launch, weir__split_cut cut,
                              uint64_t *out_bytes, bool *out_updates) {
  char what[96], place[128];
  describe(launch, what, sizeof what);
  *out_updates = false;
  for (uint32_t i = 0; i < launch->arg_count; i++) {
    const weir_split_arg *arg = &launch->args[i];
    const weir_buffer *buffer = arg->arg.buffer;
    if (weir__sets_reserved(arg->reserved))
      return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "%s, argument %u: " WEIR__RESERVED_TEXT, what, i);
    out_bytes[i] = 0;
    if (arg->mapping != WEIR_SPLIT_PART && arg->arg.mode != WEIR_VALUE) {
      snprintf(place, sizeof place, "%s, argument %u", what, i);
      weir_status status = weir__object_check(buffer, WEIR__KIND_BUFFER, split->context, place);
      if (status != WEIR_OK) return status;
      if (arg->arg.mode == WEIR_AUTO)
        return weir__error(WEIR_ERROR_INVALID_ARGUMENT,
                           "%s, argument %u, buffer %llu '%s': the devices of a split launch have different code, so "
                           "weir_auto has no mode for it; declare weir_reads, weir_writes or weir_updates",
                           what, i, (unsigned long long)buffer->id, buffer->label);
      if (arg->arg.shape != WEIR_RANGE) return weir__refuse_box(&arg->arg, i, what);
      if (arg->arg.offset >= buffer->bytes) continue;
      uint64_t rest = buffer->bytes - arg->arg.offset;
      out_bytes[i] = arg->arg.bytes == WEIR_WHOLE ? rest : arg->arg.bytes;
      if (out_bytes[i] == 0 || out_bytes[i] > rest) continue;
      if (arg->arg.mode == WEIR_COMMUTE || arg->arg.mode == WEIR_REDUCE)
        return weir__error(
            WEIR_ERROR_INVALID_ARGUMENT,
            "%s, argument %u: bytes [%llu, %llu) of buffer %llu '%s' commute, but parts of one launch on "
            "several devices are not kept apart; update them (WEIR_READ_WRITE)",
            what, i, (unsigned long long)arg->arg.offset, (unsigned long long)(arg->arg.offset + out_bytes[i]),
            (unsigned long long)buffer->id, buffer->label);
      *out_updates |= arg->arg.mode == WEIR_READ_WRITE;
    }
    if (arg->mapping == WEIR_SPLIT_PART && arg->halo_of >= launch->arg_count)
      return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "%s, argument %u: the halo of argument %u, which there is not",
                         what, i, arg->halo_of);
    weir_status status = weir__split_check_arg(what, i, arg, out_bytes[i], cut);
    if (status != WEIR_OK) return status;
  }
  return check_overlaps(what, launch, out_bytes);
}

// Parts get no scratch memory.
static weir_status check_scratch(const weir_kernel *kernel, const weir_device *device, const char *what) {
  const weir__enqueue *enqueue = weir__kernel_enqueue(kernel, device);
  if (enqueue == NULL || enqueue->code.scratch_bytes == 0) return WEIR_OK;
  return weir__error(WEIR_ERROR_INVALID_ARGUMENT,
                     "%s: kernel '%s' wants scratch memory on %s, which parts of launches do not get", what,
                     kernel->name, device->name);
}

// Notes which devices are lost, and checks that the others have code.
static weir_status check_devices(weir_split *split, const weir_split_launch *launch, bool *out_lost) {
  char what[96];
  weir_status status = WEIR_OK;
  uint32_t left = 0;
  describe(launch, what, sizeof what);
  weir__context_lock(split->context);
  weir__lock_acquire(&split->lock);
  for (uint32_t i = 0; i < split->device_count; i++) {
    weir_device *device = split->devices[i];
    if (device->lost) split->lost[i] = true;
    out_lost[i] = split->lost[i];
    left += !out_lost[i];
    if (status == WEIR_OK && !out_lost[i] && !device->ops->has_code(device, launch->kernel))
      status = weir__error(WEIR_ERROR_NO_CODE, "%s: kernel '%s' has no code for device %s", what, launch->kernel->name,
                           device->name);
    if (status == WEIR_OK && !out_lost[i]) status = check_scratch(launch->kernel, device, what);
  }
  weir__lock_release(&split->lock);
  weir__context_unlock(split->context);
  return left > 0 ? status : weir__error(WEIR_ERROR_DEVICE_LOST, "%s: all devices of the split are lost", what);
}

// Slots of the window that a part needs at most: its own, and for each transfer there and back up to two.
static uint32_t slots_of_part(const weir_split *split, const weir_split_launch *launch) {
  uint32_t there_and_back = 0;
  bool far = false;
  for (uint32_t i = 0; i < split->device_count; i++) far |= split->devices[i]->space != WEIR__HOST_SPACE;
  for (uint32_t i = 0; far && i < launch->arg_count; i++) {
    weir_mode mode = launch->args[i].mapping == WEIR_SPLIT_PART ? WEIR_VALUE : launch->args[i].arg.mode;
    there_and_back += mode == WEIR_VALUE ? 0 : mode == WEIR_READ_WRITE ? 4 : 2;
  }
  return 1 + there_and_back;
}

// Slots of a window that are never reserved, so that launches themselves find room.
static uint32_t left_over(uint32_t size) {
  return size / 8 + 1;
}

uint32_t weir__split_most_reserved(const weir_context *context) {
  return weir__window_size(&context->host.window) - left_over(weir__window_size(&context->host.window));
}

static bool gives_one_part(const weir_split *split) {
  bool is_auto = split->policy.next == weir__split_auto.next;
  return (split->resident && is_auto) || split->policy.next == weir__split_static.next ||
         split->policy.next == weir__split_history.next || split->policy.next == weir__split_frames.next;
}

// How many parts a launch may have, so that they find room in half of the window, or if that is not enough for one for each
// device, in nearly all of it.
static uint32_t most_parts(const weir_split *split, uint32_t slots) {
  uint32_t size = weir__window_size(&split->context->host.window), devices = split->device_count;
  uint32_t most = devices * (gives_one_part(split) ? PIECES_OF_ONE_PART : PIECES_OF_MANY);
  if (split->resident) return most < size / 2 ? most : size / 2; // they need not have room all at once
  uint32_t half = size / 2 / slots, nearly = (size - left_over(size)) / slots;
  if (half < devices) half = nearly < devices ? nearly : devices;
  return most < half ? most : half;
}

// Plans for devices that fail: each but the last may cost as many parts as it has at a time. Where there are too few parts for
// that, devices have one at a time; and where that does not help, only the first ones take part.
static void plan_failures(weir__split_run *run, const bool *lost, uint32_t devices) {
  uint32_t in = 0;
  if (run->split->resident) {
    for (uint32_t i = 0; i < devices; i++) run->states[i].out = lost[i];
    run->depth = UINT32_MAX;
    return;
  }
  for (uint32_t i = 0; i < devices; i++) {
    bool takes_part = !lost[i] && in < run->most;
    run->states[i].out = !takes_part;
    in += takes_part;
  }
  run->depth = run->most >= PIECES_OF_ONE_PART * in ? WEIR__SPLIT_DEPTH : 1;
  run->margin = run->depth * (in - 1);
}

weir_status weir__split_reserve(weir_context *context, const weir__submission *submission, uint32_t slots) {
  weir__admit_result result;
  weir_status status = WEIR_OK;
  do {
    result =
        weir__await_room(context, submission, slots + left_over(weir__window_size(&context->host.window)), &status);
  } while (result == WEIR__RETRY);
  if (result == WEIR__ADMITTED) {
    context->host.window.reserved += slots;
    weir__context_is_unusual(context);
  }
  return result == WEIR__ADMITTED ? WEIR_OK : status;
}

static weir_status begin(weir_split *split, weir__split_run *run, const weir__submission *submission) {
  weir_context *context = split->context;
  weir__context_lock(context);
  run->reserved = (uint64_t)run->most * run->slots;
  weir_status status = weir__split_reserve(context, submission, (uint32_t)run->reserved);
  if (status == WEIR_OK) {
    run->start = weir__event_take(context, 0, &(weir__completion_target){.done = weir__split_start, .user = run});
    if (run->start == NULL) {
      context->host.window.reserved -= run->reserved;
      status = weir__error(WEIR_ERROR_OUT_OF_MEMORY, "%s: no memory for its event", run->what);
    } else {
      weir__event_drop(run->start); // nobody waits for it
    }
  }
  weir__context_unlock(context);
  return status;
}

static void give_up(weir_split *split, weir__split_run *run) {
  weir__context_lock(split->context);
  split->context->host.window.reserved -= run->reserved;
  weir__event_drop(run->start);
  weir__context_unlock(split->context);
}

weir_task weir__split_task(const weir_split_launch *launch, weir_arg *args, weir_device *device, void *user) {
  for (uint32_t i = 0; i < launch->arg_count; i++)
    args[i] = launch->args[i].mapping == WEIR_SPLIT_PART ? weir_value(&no_part, sizeof no_part) : launch->args[i].arg;
  weir_task task = {.kernel = launch->kernel,
                    .user = user,
                    .args = args,
                    .arg_count = launch->arg_count,
                    .device = device,
                    .after = launch->after,
                    .after_count = launch->after_count,
                    .priority = launch->priority,
                    .label = launch->label,
                    .tag = launch->tag};
  memcpy(task.groups, launch->groups, sizeof task.groups);
  return task;
}

// The whole launch as one ordinary task of the first device that is left.
static weir_status submit_whole(weir_split *split, const weir_split_launch *launch, const bool *lost, weir_arg *args,
                                uint32_t total, weir_event **out_event) {
  uint32_t device = 0;
  while (lost[device]) device++;
  weir_task task = weir__split_task(launch, args, split->devices[device], launch->user);
  weir_split_part part = {.count = total, .total = total, .dimension = launch->dimension, .device = device};
  for (uint32_t i = 0; i < launch->arg_count; i++) {
    if (launch->args[i].mapping == WEIR_SPLIT_PART) args[i] = weir_value(&part, sizeof part);
  }
  return weir_submit(split->context, &task, out_event);
}

void weir__split_count_launch(weir__split_run *run) {
  weir_split *split = run->split;
  weir__lock_acquire(&split->lock);
  split->references++;
  run->view.launch = split->launches++;
  weir__lock_release(&split->lock);
}

static weir_status submit(weir_split *split, const weir_split_launch *launch, weir__split_run *run, weir_arg *args,
                          weir_event **out_event) {
  weir_device *device = NULL;
  weir_status status = weir__split_device(split->context, &device);
  if (status != WEIR_OK) return status;
  if (split->resident) return weir__split_submit_resident(run, launch, device, args, out_event);
  weir_task task = weir__split_task(launch, args, device, run);
  weir_context *context = split->context;
  const weir__submission submission = {.task = &task, .origin = weir__origin_of(context), .device = device};
  status = begin(split, run, &submission);
  if (status != WEIR_OK) return status;
  weir__split_count_launch(run);
  weir__context_lock(context);
  status = weir__submit(context, &submission, out_event); // from here on the run may be gone
  weir__context_unlock(context);
  if (status == WEIR_OK) return WEIR_OK;
  give_up(split, run);
  weir__split_drop(split);
  return status;
}

static void fill_run(weir_split *split, const weir_split_launch *launch, weir__split_cut cut, weir__split_run *run) {
  run->split = split;
  run->launch = *launch;
  run->launch.after = NULL;
  run->launch.after_count = 0;
  run->launch.args = run->args;
  if (launch->arg_count > 0) memcpy(run->args, launch->args, launch->arg_count * sizeof *run->args);
  if (launch->label != NULL) {
    snprintf(run->label, sizeof run->label, "%s", launch->label);
    run->launch.label = run->label;
  }
  for (int i = 0; i < 3; i++) run->launch.groups[i] = launch->groups[i] == 0 ? 1 : launch->groups[i];
  describe(launch, run->what, sizeof run->what);
  run->cut = cut;
  run->free[0] = (weir__split_free){0, weir__split_units(cut)};
  run->free_count = 1;
}

weir_status weir_split_submit_sized(weir_split *split, const weir_split_launch *given, size_t launch_size,
                                    weir_event **out_event) {
  if (out_event != NULL) *out_event = NULL;
  if (split == NULL || given == NULL)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "split submit: the %s is NULL", split == NULL ? "split" : "launch");
  weir_split_launch taken;
  const weir_split_launch *launch = &taken;
  weir_status status = weir__struct_take(&taken, sizeof taken, given, launch_size, "split submit");
  if (status == WEIR_OK) status = check_launch(split, launch);
  if (status != WEIR_OK) return status;
  weir__split_cut cut = cut_of(launch);
  uint32_t slots = slots_of_part(split, launch), most = most_parts(split, slots);
  bool lost[WEIR_SPLIT_MOST_DEVICES];
  if (most == 0)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "split submit: a window of %u tasks has no room for %u arguments",
                       weir__window_size(&split->context->host.window), launch->arg_count);
  weir__split_run *run = make_run(launch, split->device_count, most, split->resident);
  weir_arg *args = weir__allocate((launch->arg_count + 1ull) * sizeof *args);
  if (run == NULL || args == NULL) {
    status = weir__error(WEIR_ERROR_OUT_OF_MEMORY, "split submit: no memory");
  } else {
    fill_run(split, launch, cut, run);
    run->most = most;
    run->slots = slots;
    run->one_part = gives_one_part(split);
    status = check_args(split, launch, cut, run->bytes, &run->updates);
  }
  if (status == WEIR_OK) status = check_devices(split, launch, lost);
  bool whole = status == WEIR_OK && (split->context->host.flags & WEIR_CONTEXT_IN_ORDER) != 0;
  if (whole) status = submit_whole(split, launch, lost, args, cut.total, out_event);
  if (status == WEIR_OK && !whole) {
    plan_failures(run, lost, split->device_count);
    status = submit(split, launch, run, args, out_event);
  }
  weir__free(args);
  if (whole || status != WEIR_OK) weir__free(run);
  return status;
}
