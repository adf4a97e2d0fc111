// SPDX-License-Identifier: Apache-2.0
//
// A launch whose contents stay where they are, on its way into the window: the policy gives all parts, these enter one after
// another as tasks on the caller's buffers while the window is closed to others, and the launch's own task follows.
#include <string.h>

#include "base/error.h"
#include "device/watch.h"
#include "engine/admit.h"
#include "engine/check.h"
#include "engine/failures.h"
#include "engine/room.h"
#include "engine/submit.h"
#include "engine/transfer.h"
#include "split/split.h"

typedef unsigned long long ull;

// The task of a part. What it points to is in the run, and good until the next call.
static weir_task part_task(weir__split_run *run, const weir_split_launch *launch, uint32_t number) {
  const weir__split_part *part = &run->planned[number];
  weir__split_groups groups = weir__split_groups_of(run->cut, part->first, part->count);
  for (uint32_t i = 0; i < launch->arg_count; i++) {
    const weir_split_arg *arg = &launch->args[i];
    run->part_args[i] = arg->arg;
    if (arg->mapping == WEIR_SPLIT_PART) {
      run->descriptions[i] = weir__split_describe_part(run, part, number, arg->halo_of, groups);
      run->part_args[i] = weir_value(&run->descriptions[i], sizeof run->descriptions[i]);
    } else if (arg->mapping != WEIR_SPLIT_WHOLE) {
      weir__split_range range = weir__split_map(arg, run->bytes[i], run->cut.total, groups);
      run->part_args[i].offset += range.lo;
      run->part_args[i].bytes = range.hi - range.lo;
    }
  }
  weir_task task = {.kernel = launch->kernel,
                    .user = launch->user,
                    .args = run->part_args,
                    .arg_count = launch->arg_count,
                    .device = run->split->devices[part->device],
                    .after = launch->after,
                    .after_count = launch->after_count,
                    .priority = launch->priority,
                    .label = launch->label,
                    .tag = launch->tag};
  memcpy(task.groups, run->launch.groups, sizeof task.groups);
  task.groups[launch->dimension] = groups.count;
  return task;
}

static weir_status check_functions(const weir__split_run *run) {
  weir_status status = WEIR_OK;
  for (uint32_t i = 0; i < run->launch.arg_count; i++) {
    const weir_split_arg *arg = &run->args[i];
    if (arg->mapping != WEIR_SPLIT_FUNCTION) continue;
    for (uint32_t k = 0; k < run->handed && status == WEIR_OK; k++) {
      const weir__split_part *part = &run->planned[k];
      status = weir__split_check_part(run->what, i, arg, run->bytes[i], run->cut, part->first, part->count);
    }
  }
  return status;
}

// Whether what the launch reads is somewhere else than on devices that are lost.
static weir_status check_contents(const weir__split_run *run, uint16_t lost) {
  for (uint32_t i = 0; i < run->launch.arg_count; i++) {
    const weir_arg *arg = &run->args[i].arg;
    bool reads = run->args[i].mapping != WEIR_SPLIT_PART && (arg->mode == WEIR_READ || arg->mode == WEIR_READ_WRITE);
    for (uint64_t at = arg->offset, end; reads && at < arg->offset + run->bytes[i]; at = end) {
      uint16_t spaces = weir__buffer_spaces(arg->buffer, at, &end);
      if ((spaces & lost) == 0 || (spaces & ~lost) != 0) continue;
      uint64_t hi = end < arg->offset + run->bytes[i] ? end : arg->offset + run->bytes[i];
      const weir_device *device = run->split->context->memory.devices[__builtin_ctz(spaces)];
      return weir__error(WEIR_ERROR_DEVICE_LOST,
                         "%s, argument %u: bytes [%llu, %llu) of buffer %llu '%s' were only on %s, which is lost",
                         run->what, i, (ull)at, (ull)hi, (ull)arg->buffer->id, arg->buffer->label, device->name);
    }
  }
  return WEIR_OK;
}

// Checks the launch and each part as the tasks that they are. Nothing changes.
static weir_status check_tasks(weir__split_run *run, const weir_split_launch *launch, const weir__submission *whole) {
  weir_context *context = run->split->context;
  weir__checked checked;
  weir_device *device = NULL;
  weir_status status = weir__check_task(context, whole, &device);
  if (status == WEIR_OK) status = weir__check_args(context, whole->task, WEIR__HOST_SPACE, run->accesses, &checked);
  for (uint32_t i = 0; i < run->handed && status == WEIR_OK; i++) {
    weir_task task = part_task(run, launch, i);
    status = weir__check_task(context, &(weir__submission){.task = &task}, &device);
    if (status == WEIR_OK) status = weir__check_args(context, &task, device->space, run->accesses, &checked);
  }
  uint16_t lost = weir__lost_spaces(context);
  return status == WEIR_OK && lost != 0 ? check_contents(run, lost) : status;
}

// What the launch's own task needs is set aside first, so that it cannot fail: slots of the window, of which the parts take all but
// the last two (one is its own, and with the other this thread gets into the closed window), events, and room for its dependences.
static weir_status set_aside(weir__split_run *run, const weir_split_launch *launch, const weir__submission *whole,
                             bool has_event, weir_event **out_event) {
  weir_context *context = run->split->context;
  uint64_t slots = (uint64_t)run->handed * run->slots + 2, most = weir__split_most_reserved(context);
  if (slots > most) slots = most;
  weir_status status = weir__split_reserve(context, whole, (uint32_t)slots);
  if (status != WEIR_OK) return status;
  run->reserved = slots;
  bool good = true;
  while (good && context->order.dependences.capacity < run->handed)
    good = weir__dependences_grow(&context->order.dependences);
  if (good && has_event) *out_event = weir__event_take(context, 0, NULL);
  const weir__completion_target target = {.done = weir__split_end, .user = run};
  run->start = good && (!has_event || *out_event != NULL) ? weir__event_take(context, 0, &target) : NULL;
  if (run->start != NULL) {
    weir__event_drop(run->start); // nobody waits for it
    status = check_tasks(run, launch, whole);
  } else {
    status = weir__error(WEIR_ERROR_OUT_OF_MEMORY, "%s: no memory for its event", run->what);
  }
  return status;
}

static void give_up(weir__split_run *run, weir_event **out_event) {
  weir_context *context = run->split->context;
  if (run->start != NULL) weir__event_drop(run->start);
  for (int i = 0; i < 2 && *out_event != NULL; i++) weir__event_drop(*out_event);
  *out_event = NULL;
  context->host.window.reserved -= run->reserved;
}

static void close_window(weir__split_run *run) {
  run->split->context->host.window.closed = true;
  weir__context_is_unusual(run->split->context);
  run->own = run->reserved - 1;
}

static void open_window(weir__split_run *run) {
  weir__window *window = &run->split->context->host.window;
  window->closed = false;
  window->reserved -= run->reserved;
  run->reserved = 0;
  run->own = 0;
}

static void use_slots(weir__split_run *run, uint64_t slots) {
  if (slots > run->reserved - 2) slots = run->reserved - 2;
  run->reserved -= slots;
  run->split->context->host.window.reserved -= slots;
  run->own -= slots;
}

static weir_status enter_on_device(weir__split_run *run, const weir_split_launch *launch, uint32_t number) {
  weir_context *context = run->split->context;
  weir__split_part *part = &run->planned[number];
  weir_device *device = run->split->devices[part->device];
  bool far = device->space != WEIR__HOST_SPACE;
  part->moves = far ? weir__event_take(context, 0, NULL) : NULL;
  if (far && part->moves == NULL)
    return weir__error(WEIR_ERROR_OUT_OF_MEMORY, "%s: no memory for a part's event", run->what);
  weir_task task = part_task(run, launch, number);
  weir__id before = context->host.window.next;
  part->submit_ns = device->ops->time(device);
  const weir__completion_target target = {.user = part, .again = weir__split_again, .moves = part->moves};
  const weir__submission submission = {
      .task = &task, .target = &target, .origin = weir__origin_of(context), .reserved = run->own};
  weir_status status = weir__submit(context, &submission, &part->event);
  use_slots(run, context->host.window.next - before);
  if (far) weir__event_finish(part->moves, WEIR_OK, "");
  if (far && status != WEIR_OK) weir__event_drop(part->moves);
  return status;
}

// A device that does not take its part is left out, and the next one gets it.
static weir_status enter_part(weir__split_run *run, const weir_split_launch *launch, uint32_t number) {
  weir_split *split = run->split;
  weir__split_part *part = &run->planned[number];
  uint32_t wanted = part->device;
  weir_status status = WEIR_OK;
  for (uint32_t i = 0; i < split->device_count; i++) {
    part->device = (wanted + i) % split->device_count;
    if (run->states[part->device].out) continue;
    status = enter_on_device(run, launch, number);
    if (status == WEIR_OK) break;
    part->event = NULL;
    weir__split_device_fails(run, part->device, status, weir_last_error());
  }
  if (part->event == NULL) return status == WEIR_OK ? WEIR_ERROR_DEVICE_LOST : status;
  run->round.devices[part->device].parts++;
  weir__split_note_load(run, part, true);
  return WEIR_OK;
}

static void poison(void *user, uint64_t lo, uint64_t hi, weir__segment *segment) {
  (void)user, (void)lo, (void)hi;
  segment->poisoned = WEIR__NO_ROOT; // the launch says itself why it failed
}

// No part writes what these should have written.
static void poison_rest(const weir__split_run *run, uint32_t first) {
  if (first < run->handed) weir__context_poisons(run->split->context);
  for (uint32_t i = first; i < run->handed; i++) {
    const weir__split_part *part = &run->planned[i];
    weir__split_groups groups = weir__split_groups_of(run->cut, part->first, part->count);
    for (uint32_t j = 0; j < run->launch.arg_count; j++) {
      const weir_split_arg *arg = &run->args[j];
      if (arg->mapping == WEIR_SPLIT_PART || (arg->arg.mode != WEIR_WRITE && arg->arg.mode != WEIR_READ_WRITE))
        continue;
      weir__split_range range = weir__split_map(arg, run->bytes[j], run->cut.total, groups);
      weir__buffer_visit(arg->arg.buffer, arg->arg.offset + range.lo, arg->arg.offset + range.hi, poison, NULL);
    }
  }
}

// The launch's own task, which comes after its parts. Its slot is reserved.
static void enter_last(weir__split_run *run, const weir__submission *submission, weir_event *event) {
  weir_task whole = *submission->task;
  whole.arg_count = 0;
  weir_context *context = run->split->context;
  weir__task *task = weir__window_begin(&context->host.window);
  weir__dependences_clear(&context->order.dependences);
  context->stalled.listed = false; // a part may be held, with dependences of its own
  for (uint32_t i = 0; i < run->handed; i++) {
    const weir_event *ended = run->planned[i].event;
    for (weir__id id = ended != NULL ? ended->task : 1; ended != NULL && id <= ended->last; id++) {
      if (weir__live(&context->host.window.live, id))
        weir__dependences_add(&context->order.dependences, id, WEIR__HAZARD_AFTER, false, 0, 0);
    }
    if (ended != NULL && context->host.watch != NULL)
      weir__watched_acquire(weir__watch_task(&context->host, task), ended->sync);
  }
  weir__request request = {.submission = submission,
                           .task = &whole,
                           .device = submission->device,
                           .accesses = (weir__access *)(void *)task->payload,
                           .pointers = (void **)(void *)task->payload};
  task->event = event;
  if (event != NULL) event->task = event->last = task->id;
  context->host.statistics.tasks++;
  weir__commit(context, &request, task);
}

// Waits for a part that is held for lack of memory, so that the launch's own task is not held as well.
static void await_held(weir__split_run *run, const weir__submission *whole) {
  weir_context *context = run->split->context;
  weir__submission submission = *whole;
  submission.reserved = run->own;
  weir_status status;
  while (!weir__this_thread.in_task && context->host.window.live.oldest < context->order.hold &&
         weir__await_room(context, &submission, 1, &status) == WEIR__RETRY) {
  }
}

// The lock is held. On failure nothing has changed, but that contents may have moved.
static weir_status enter(weir__split_run *run, const weir_split_launch *launch, const weir__submission *whole,
                         bool has_event, weir_event **out_event) {
  weir_status status = set_aside(run, launch, whole, has_event, out_event);
  if (run->reserved == 0) return status;
  uint32_t entered = 0;
  if (status == WEIR_OK) {
    close_window(run);
    while (entered < run->handed && (status = enter_part(run, launch, entered)) == WEIR_OK) entered++;
    if (entered > 0) await_held(run, whole);
  }
  if (entered == 0) {
    if (run->own != 0) open_window(run);
    give_up(run, out_event);
    return status;
  }
  open_window(run);
  if (status != WEIR_OK) {
    char message[WEIR__MESSAGE_BYTES];
    memcpy(message, run->message, sizeof message); // says which devices did not take their parts
    weir__split_fails(run, status, message);
    poison_rest(run, entered);
  }
  enter_last(run, whole, has_event ? *out_event : NULL);
  return WEIR_OK;
}

weir_status weir__split_submit_resident(weir__split_run *run, const weir_split_launch *launch, weir_device *device,
                                        weir_arg *args, weir_event **out_event) {
  weir_split *split = run->split;
  weir_context *context = split->context;
  weir__split_count_launch(run);
  weir__split_fill_view(run);
  weir__split_ask(run);
  weir_status status = check_functions(run);
  if (status != WEIR_OK) {
    weir__split_drop(split);
    return status;
  }
  weir_task whole = weir__split_task(launch, args, device, run);
  weir_event *event = NULL;
  weir__context_lock(context);
  const weir__submission submission = {.task = &whole, .origin = weir__origin_of(context), .device = device};
  status = enter(run, launch, &submission, out_event != NULL, &event);
  if (out_event != NULL) *out_event = event;
  weir__context_unlock(context); // from here on the run may be gone
  if (status != WEIR_OK) weir__split_drop(split);
  return status;
}
