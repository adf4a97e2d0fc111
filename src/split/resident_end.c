// SPDX-License-Identifier: Apache-2.0
//
// What follows when parts of a resident launch fail, and when all are done.
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "split/split.h"

typedef unsigned long long ull;

static bool is_of_the_device(weir_status status) {
  return status != WEIR_OK && status != WEIR_ERROR_UPSTREAM_FAILED && status != WEIR_ERROR_CANCELLED;
}

// The device that a failed part goes to; the split's number of devices: none. One that is run ahead has perhaps run already what
// follows the part, and in another memory what the part should leave is looked for in vain.
static uint32_t next_device(const weir__split_run *run, const weir__split_part *part) {
  weir_split *split = run->split;
  const weir_device *from = split->devices[part->device];
  uint32_t count = split->device_count;
  if (run->updates || from->ops->run_ahead) return count;
  for (uint32_t i = 1; i < count; i++) {
    uint32_t next = (part->device + i) % count;
    const weir_device *to = split->devices[next];
    bool takes = to->ops->check == NULL || run->states[next].given > 0; // such a task
    if (!run->states[next].out && !to->lost && to->space == from->space && takes && !(part->tried & 1u << next))
      return next;
  }
  return count;
}

static void give_to(weir__split_run *run, weir__split_part *part, weir__task *task, uint32_t next) {
  weir_context *context = run->split->context;
  weir__split_note_load(run, part, false);
  part->device = next;
  weir__split_note_load(run, part, true);
  run->round.redone++;
  run->round.devices[next].parts++;
  weir_device *device = run->split->devices[next];
  task->device = (uint8_t)device->index;
  task->code = weir__kernel_code(task->kernel, device);
  task->predecessor_count = 0; // all are done
  for (uint32_t i = 0; i < run->launch.arg_count; i++) {
    if (run->args[i].mapping == WEIR_SPLIT_PART) ((weir_split_part *)task->args[i])->device = next;
  }
  weir__trace_task *record = context->host.trace == NULL ? NULL : weir__trace_find(context->host.trace, task->id);
  if (record != NULL) record->device = task->device;
  // Not by way of those that became ready: tasks that follow on this device know of no predecessor there.
  device->ops->issue(device, task);
  task->issued = true;
}

// The first bytes that the part should have written, and the first that only memory of its device has.
static void note_bytes(weir__split_part *part, const weir__task *task, const weir_device *device) {
  const weir__access *access = task->accesses;
  for (uint32_t i = 0; i < part->run->launch.arg_count; i++) {
    const weir_split_arg *arg = &part->run->args[i];
    if (arg->mapping == WEIR_SPLIT_PART || arg->arg.mode == WEIR_VALUE) continue;
    weir__split_bytes bytes = {.arg = i, .buffer = access->buffer->id, .lo = access->lo, .hi = access->hi};
    if (access->mode != WEIR_READ && part->wrote.hi == 0) part->wrote = bytes;
    bool same = access->buffer->serial == access->serial && device->space != WEIR__HOST_SPACE;
    for (uint64_t at = access->lo, end; same && access->mode == WEIR_READ && at < access->hi && part->only.hi == 0;
         at = end) {
      bytes.lo = at;
      bool only = weir__buffer_spaces(access->buffer, at, &end) == weir__space_bit(device->space);
      bytes.hi = end < access->hi ? end : access->hi;
      if (only) part->only = bytes;
    }
    access++;
  }
}

bool weir__split_again(void *user, weir__task *task, const weir__completion *completion) {
  weir__split_part *part = user;
  weir__split_run *run = part->run;
  if (!is_of_the_device(completion->status)) return false;
  part->tried |= 1u << part->device;
  uint32_t next = next_device(run, part);
  if (next == run->split->device_count) {
    note_bytes(part, task, run->split->devices[part->device]);
    return false;
  }
  const char *message = completion->message;
  if (message == NULL || message[0] == '\0') message = weir_status_text(completion->status);
  weir__split_device_fails(run, part->device, completion->status, message);
  give_to(run, part, task, next);
  return true;
}

// A device with memory of its own was busy with the transfers, too, as far as it was not with something else. Their ends may be
// noticed after that of the part that needed them: such do not count.
static void note_time(weir__split_run *run, const weir__split_part *part) {
  weir_context *context = run->split->context;
  weir_device *device = run->split->devices[part->device];
  weir_split_state *state = &run->states[part->device];
  weir_split_device_round *round = &run->round.devices[part->device];
  uint64_t start = part->event->start_ns, end = part->event->end_ns, *until = &device->parts_end_ns;
  weir__context_lock(context);
  uint64_t moved_ns = part->moves != NULL ? part->moves->moved_ns : 0;
  if (start == 0) start = part->submit_ns > *until ? part->submit_ns : *until;
  if (end < start + 1) end = start + 1;
  uint64_t most_ns = *until < start ? end - *until : end - start, ns = end - start + moved_ns;
  if (*until < end) *until = end;
  weir__context_unlock(context);
  if (round->start_ns == 0 || start < round->start_ns) round->start_ns = start;
  if (end > round->end_ns) round->end_ns = end;
  state->done += part->count;
  state->done_ns += ns < most_ns ? ns : most_ns;
  round->groups += weir__split_groups_of(run->cut, part->first, part->count).count;
}

static void append_bytes(char *text, size_t size, const char *what, weir__split_bytes bytes) {
  size_t used = strlen(text);
  if (bytes.hi > 0)
    snprintf(text + used, size - used, "bytes [%llu, %llu) of buffer %llu (argument %u) %s; ", (ull)bytes.lo,
             (ull)bytes.hi, (ull)bytes.buffer, bytes.arg, what);
}

static void note_failure(weir__split_run *run, const weir__split_part *part, weir_status status) {
  const char *message = weir_event_message(part->event);
  char text[WEIR__MESSAGE_BYTES] = "";
  if (is_of_the_device(status)) {
    weir__split_device_fails(run, part->device, status, message);
    append_bytes(text, sizeof text, "were not written", part->wrote);
    append_bytes(text, sizeof text, "are gone", part->only);
    size_t used = strlen(text);
    snprintf(text + used, sizeof text - used, "%s", run->message);
    message = text;
  }
  weir__split_fails(run, status, message);
}

static weir_status status_of(const weir__split_part *part) {
  return (weir_status)atomic_load_explicit(&part->event->status, memory_order_acquire);
}

// Devices' own failures come first: what else failed may be their consequence.
static void note_failures(weir__split_run *run) {
  for (int own = 1; own >= 0; own--) {
    for (uint32_t i = 0; i < run->handed; i++) {
      const weir__split_part *part = &run->planned[i];
      weir_status status = part->event == NULL ? WEIR_OK : status_of(part);
      if (status != WEIR_OK && is_of_the_device(status) == (own == 1)) note_failure(run, part, status);
    }
  }
}

void weir__split_end(void *user, weir_status status) {
  weir__split_run *run = user;
  uint64_t longest_ns = 0;
  (void)status;
  note_failures(run);
  for (uint32_t i = 0; i < run->handed; i++) {
    weir__split_part *part = &run->planned[i];
    if (part->event == NULL) continue;
    weir__split_note_load(run, part, false);
    if (status_of(part) == WEIR_OK) note_time(run, part);
    weir_event_release(part->event);
    weir_event_release(part->moves);
  }
  for (uint32_t i = 0; i < run->split->device_count; i++) {
    const weir_split_device_round *round = &run->round.devices[i];
    uint64_t now = weir_device_time(run->split->devices[i]);
    if (round->end_ns > 0 && now - round->start_ns > longest_ns) longest_ns = now - round->start_ns;
  }
  run->start_clock_ns = weir__clock_ns() - longest_ns;
  run->start_device_ns = weir_device_time(run->split->devices[0]) - longest_ns;
  weir__split_finish(run);
}
