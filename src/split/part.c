// SPDX-License-Identifier: Apache-2.0
//
// A part: handed to a device as a task on buffers that are wrapped around its bytes; and what follows when it is done.
#include <stdio.h>
#include <string.h>

#include "device/watch.h"
#include "engine/submit.h"
#include "split/split.h"

static const uint64_t COST_SMOOTHING = 8;

// How many units the next part has: a multiple of the device's grain, as much as lies together, and so much that the parts
// which the launch may still have are enough for all.
uint64_t weir__split_part_units(const weir__split_run *run, uint32_t device, uint64_t units) {
  uint64_t parts = run->most - run->handed, grain = run->states[device].grain;
  uint64_t kept = run->margin + run->free_count - 1; // for what failed, or may yet
  uint64_t ordinary = parts > kept ? parts - kept : 1;
  uint64_t enough = (run->view.left - 1) / ordinary + 1;
  bool last = ordinary == 1;
  if ((last || !run->one_part) && units < enough) units = enough;
  if (units > run->view.left) units = run->view.left;
  units = (units + grain - 1) / grain * grain;
  return units < run->free[0].count ? units : run->free[0].count;
}

static void release_buffers(weir__split_part *part) {
  for (uint32_t i = 0; i < part->run->launch.arg_count; i++) {
    weir_buffer_release(part->buffers[i]);
    part->buffers[i] = NULL;
  }
}

// The argument that tells the kernel where its part is.
weir_split_part weir__split_describe_part(const weir__split_run *run, const weir__split_part *part, uint32_t number,
                                          uint32_t halo_of, weir__split_groups groups) {
  weir_split_part described = {.first = groups.first,
                               .count = groups.count,
                               .total = run->cut.total,
                               .dimension = run->launch.dimension,
                               .device = part->device,
                               .index = number};
  weir__split_range range = weir__split_map(&run->args[halo_of], run->bytes[halo_of], run->cut.total, groups);
  if (run->args[halo_of].mapping == WEIR_SPLIT_BLOCK) {
    described.halo_before = range.before;
    described.halo_after = range.after;
  }
  return described;
}

static weir_status wrap_bytes(weir__split_run *run, uint32_t index, uint64_t lo, uint64_t bytes,
                              weir_buffer **out_buffer) {
  weir_context *context = run->split->context;
  weir_status status = weir_buffer_wrap(context, (char *)run->task->args[index] + lo, bytes, out_buffer);
  if (status != WEIR_OK || context->host.trace == NULL) return status;
  char label[WEIR__LABEL_BYTES];
  weir__context_lock(context);
  memcpy(label, run->args[index].arg.buffer->label, sizeof label);
  weir__context_unlock(context);
  if (label[0] != '\0') weir_buffer_set_label(*out_buffer, label);
  return status;
}

// One argument of a part.
static weir_status fill_arg(weir__split_run *run, weir__split_part *part, uint32_t index, weir__split_groups groups,
                            weir_arg *out_arg) {
  const weir_split_arg *arg = &run->args[index];
  *out_arg = arg->arg;
  if (arg->mapping == WEIR_SPLIT_PART || arg->arg.mode == WEIR_VALUE) {
    out_arg->mode = WEIR_VALUE;
    out_arg->value = run->task->args[index]; // as the launch's task copied it
    return WEIR_OK;
  }
  weir__split_range range = weir__split_map(arg, run->bytes[index], run->cut.total, groups);
  bool all = arg->mapping == WEIR_SPLIT_WHOLE;
  weir_buffer **buffer = all ? &run->wholes[index] : &part->buffers[index];
  if (*buffer == NULL) {
    weir_status status = wrap_bytes(run, index, range.lo, range.hi - range.lo, buffer);
    if (status != WEIR_OK) return status;
  }
  out_arg->buffer = *buffer;
  out_arg->offset = 0;
  out_arg->bytes = WEIR_WHOLE;
  return WEIR_OK;
}

static void done(void *user, weir_status status);

static weir_status submit(weir__split_run *run, weir__split_part *part, weir__split_groups groups) {
  const weir_split_launch *launch = &run->launch;
  weir_status status = WEIR_OK;
  for (uint32_t i = 0; i < launch->arg_count && status == WEIR_OK; i++) {
    status = fill_arg(run, part, i, groups, &run->part_args[i]);
    if (run->args[i].mapping != WEIR_SPLIT_PART) continue;
    run->descriptions[i] = weir__split_describe_part(run, part, run->handed, run->args[i].halo_of, groups);
    run->part_args[i] = weir_value(&run->descriptions[i], sizeof run->descriptions[i]);
  }
  if (status != WEIR_OK) return status;
  weir_task task = {.kernel = launch->kernel,
                    .user = launch->user,
                    .args = run->part_args,
                    .arg_count = launch->arg_count,
                    .device = run->split->devices[part->device],
                    .priority = launch->priority,
                    .label = launch->label,
                    .tag = launch->tag};
  memcpy(task.groups, launch->groups, sizeof task.groups);
  task.groups[launch->dimension] = groups.count;
  weir_context *context = run->split->context;
  const weir__completion_target target = {.done = done, .user = part};
  const weir__submission submission = {
      .task = &task, .target = &target, .reserved = run->slots, .kernel_checked = true};
  weir__context_lock(context);
  status = weir__submit(context, &submission, &part->event);
  weir__context_unlock(context);
  return status;
}

static weir_status check_functions(weir__split_run *run, uint64_t first, uint64_t count) {
  weir_status status = WEIR_OK;
  for (uint32_t i = 0; i < run->launch.arg_count && status == WEIR_OK; i++) {
    if (run->args[i].mapping == WEIR_SPLIT_FUNCTION)
      status = weir__split_check_part(run->what, i, &run->args[i], run->bytes[i], run->cut, first, count);
  }
  return status;
}

void weir__split_take_free(weir__split_run *run, uint64_t units) {
  run->free[0].first += units;
  run->free[0].count -= units;
  if (run->free[0].count == 0) memmove(&run->free[0], &run->free[1], --run->free_count * sizeof run->free[0]);
  run->view.left -= units;
}

static void put_back(weir__split_run *run, uint64_t first, uint64_t units) {
  memmove(&run->free[1], &run->free[0], run->free_count++ * sizeof run->free[0]);
  run->free[0] = (weir__split_free){first, units};
  run->view.left += units;
}

// A device's number of parts and units changes; and what the split knows of its load.
void weir__split_note_load(weir__split_run *run, const weir__split_part *part, bool given) {
  weir_split *split = run->split;
  uint64_t groups = weir__split_groups_of(run->cut, part->first, part->count).count;
  run->states[part->device].in_flight += given ? 1u : UINT32_MAX;
  run->in_flight += given ? 1u : UINT32_MAX;
  weir__lock_acquire(&split->lock);
  split->pending[part->device] += given ? groups : 0 - groups;
  weir__lock_release(&split->lock);
}

// What handing out took is measured in the host's clock for the device, which on a simulated one is virtual.
static void note_attempt(weir__split_run *run, const weir__split_part *part) {
  weir_split *split = run->split;
  weir_device *device = split->devices[part->device];
  run->handed++;
  weir__context_lock(split->context);
  split->context->host.window.reserved -= run->slots;
  uint64_t cost_ns = device->ops->time(device) - part->submit_ns;
  weir__context_unlock(split->context);
  run->reserved -= run->slots;
  weir__lock_acquire(&split->lock);
  split->cost_ns = split->cost_ns - split->cost_ns / COST_SMOOTHING + cost_ns / COST_SMOOTHING;
  weir__lock_release(&split->lock);
}

// Of a resident launch: neighbours on one device are one part.
static bool plan(weir__split_run *run, uint32_t device, uint64_t units) {
  uint64_t count = weir__split_part_units(run, device, units), first = run->free[0].first;
  weir__split_part *last = run->handed > 0 ? &run->planned[run->handed - 1] : NULL;
  if (last == NULL || last->device != device) {
    run->planned[run->handed++] = (weir__split_part){.run = run, .device = device, .first = first, .count = count};
    run->states[device].in_flight++;
  } else {
    last->count += count;
  }
  weir__split_take_free(run, count);
  run->states[device].given += count;
  return true;
}

bool weir__split_hand_out(weir__split_run *run, uint32_t device, uint64_t units) {
  if (run->split->resident) return plan(run, device, units);
  if (run->handed == run->most) {
    if (run->in_flight == 0) {
      weir__split_fails(run, WEIR_ERROR_OUT_OF_MEMORY, "there is no room in the window for more parts");
    }
    return false;
  }
  weir__split_part *part = &run->parts[device][run->parts[device][0].used ? 1 : 0];
  part->first = run->free[0].first;
  part->count = weir__split_part_units(run, device, units);
  part->submit_ns = weir_device_time(run->split->devices[device]);
  weir_status status = check_functions(run, part->first, part->count);
  if (status != WEIR_OK) {
    weir__split_fails(run, status, weir_last_error());
    return false;
  }
  weir__split_groups groups = weir__split_groups_of(run->cut, part->first, part->count);
  status = submit(run, part, groups);
  note_attempt(run, part);
  if (status != WEIR_OK) {
    release_buffers(part);
    if (status != WEIR_ERROR_OUT_OF_MEMORY || run->in_flight == 0)
      weir__split_device_fails(run, device, status, weir_last_error());
    return false;
  }
  part->used = true;
  weir__split_take_free(run, part->count);
  run->states[device].given += part->count;
  run->round.devices[device].parts++;
  weir__split_note_load(run, part, true);
  return true;
}

// Adds a part's time to what its device was busy.
static void note_time(weir__split_run *run, const weir__split_part *part) {
  weir_device *device = run->split->devices[part->device];
  weir_split_state *state = &run->states[part->device];
  weir_split_device_round *round = &run->round.devices[part->device];
  // Where bytes are moved, the part is done when they are back, and began when they began to move.
  bool near = device->space == WEIR__HOST_SPACE;
  uint64_t start = near && part->event->start_ns != 0 ? part->event->start_ns : part->submit_ns;
  uint64_t end = near ? part->event->end_ns : weir_device_time(device);
  uint64_t *until = &run->busy_until[part->device];
  if (start < *until) start = *until;
  if (end < start + 1) end = start + 1;
  if (round->start_ns == 0) round->start_ns = start;
  round->end_ns = *until = end;
  state->done += part->count;
  state->done_ns += end - start;
  round->groups += weir__split_groups_of(run->cut, part->first, part->count).count;
}

static void note_failure(weir__split_run *run, const weir__split_part *part, weir_status status) {
  const char *message = weir_event_message(part->event);
  weir__split_groups groups = weir__split_groups_of(run->cut, part->first, part->count);
  weir__split_device_fails(run, part->device, status, message);
  put_back(run, part->first, part->count);
  run->round.redone++;
  if (status == WEIR_ERROR_CANCELLED) {
    weir__split_fails(run, status, message);
  } else if (run->updates) {
    char text[WEIR__MESSAGE_BYTES];
    snprintf(text, sizeof text, "work-groups [%u, %u) update a buffer in place and cannot be run again: %.160s",
             groups.first, groups.first + groups.count, message);
    weir__split_fails(run, status, text);
  }
}

static void done(void *user, weir_status status) {
  weir__split_part *part = user;
  weir__split_run *run = part->run;
  weir_split_state *state = &run->states[part->device];
  weir__split_note_load(run, part, false);
  if (status == WEIR_OK) {
    note_time(run, part);
  } else {
    state->given -= part->count;
    note_failure(run, part, status);
  }
  weir__watch_end(&run->split->context->host, run->task);
  weir_event_release(part->event);
  part->event = NULL;
  release_buffers(part);
  part->used = false;
  weir__split_pump(run);
}
