// SPDX-License-Identifier: Apache-2.0
//
// A launch from its start to its end: asks the policy, sees to failures, notes what happened.
#include <stdio.h>
#include <string.h>

#include "base/allocate.h"
#include "base/clock.h"
#include "device/watch.h"
#include "split/policy.h"
#include "split/split.h"

static void note_devices(weir__split_run *run) {
  const weir_split *split = run->split;
  run->round.device_count = split->device_count;
  for (uint32_t i = 0; i < split->device_count; i++) {
    run->round.devices[i].device = split->devices[i];
    run->round.devices[i].failed = split->lost[i];
  }
}

static uint64_t grain_of(uint32_t granularity, uint32_t unit) {
  uint64_t a = granularity, b = unit;
  while (b != 0) {
    uint64_t rest = a % b;
    a = b;
    b = rest;
  }
  return granularity / a; // the least common multiple, in units
}

static void begin_policy(weir__split_run *run) {
  const weir_split_policy *policy = &run->split->policy;
  if (policy->way != NULL) run->view.way = policy->way(policy->user, &run->view) % WEIR_SPLIT_MOST_WAYS;
  weir_split_round *round = &run->round;
  if (policy->why != NULL) policy->why(policy->user, &run->view, round->why, sizeof round->why);
  snprintf(round->policy, sizeof round->policy, "%s", policy->name);
  const char *colon = strchr(round->why, ':');
  if (policy->next == weir__split_auto.next && colon != NULL)
    snprintf(round->policy, sizeof round->policy, "auto: %.*s", (int)(colon - round->why), round->why);
}

// What the policy sees at first. What was measured stays as it is until the launch is done.
void weir__split_fill_view(weir__split_run *run) {
  weir_split *split = run->split;
  uint32_t units = weir__split_units(run->cut), unit = run->cut.unit;
  run->key = weir__split_key(run->launch.kernel->name, run->launch.groups, run->launch.dimension, unit);
  weir__lock_acquire(&split->lock);
  const weir__split_entry *entry = weir__split_table_find(&split->table, run->key);
  for (uint32_t i = 0; i < split->device_count; i++) {
    weir_split_state *state = &run->states[i];
    uint64_t grain = grain_of(split->granularities[i], unit);
    state->share = split->shares[i];
    state->out |= split->lost[i];
    state->far = split->devices[i]->space != WEIR__HOST_SPACE;
    state->grain = (uint32_t)(grain < units ? grain : units);
    state->backlog = (split->pending[i] + unit - 1) / unit;
    if (entry == NULL) continue;
    const weir__split_past *past = &entry->devices[i];
    state->round_count = past->count;
    memcpy(state->rounds, past->rounds, past->count * sizeof past->rounds[0]);
    state->first = past->first;
  }
  if (entry != NULL) memcpy(run->ways, entry->ways, sizeof run->ways);
  uint64_t cost_ns = split->cost_ns;
  note_devices(run);
  weir__lock_release(&split->lock);
  run->view = (weir_split_view){.launch = run->view.launch,
                                .total = units,
                                .left = units,
                                .least = split->least <= unit ? 1 : (split->least - 1) / unit + 1,
                                .rounds = split->rounds,
                                .floor = split->floor,
                                .cost_ns = cost_ns,
                                .overhead = split->overhead,
                                .ahead = split->resident,
                                .device_count = split->device_count,
                                .devices = run->states,
                                .ways = run->ways};
  begin_policy(run);
}

void weir__split_start(void *user, weir_status status) {
  weir__split_run *run = user;
  weir_context *context = run->split->context;
  weir__context_lock(context);
  status = weir__host_skip_status(&context->host, run->task);
  weir__context_unlock(context);
  weir__watch_begin(&context->host, run->task);
  run->start_clock_ns = weir__clock_ns();
  run->start_device_ns = weir_device_time(run->split->devices[0]);
  weir__split_fill_view(run);
  if (status != WEIR_OK) weir__split_fails(run, status, weir_status_text(status));
  weir__split_pump(run);
}

void weir__split_fails(weir__split_run *run, weir_status status, const char *message) {
  if (run->failed) return;
  run->failed = true;
  run->status = status;
  snprintf(run->message, sizeof run->message, "%s", message);
}

// What a message says behind the task and the device, which are known.
static const char *reason_of(const weir_device *device, const char *message) {
  char on[sizeof device->name + 8];
  snprintf(on, sizeof on, " on %s: ", device->name);
  const char *found = strstr(message, on);
  return found == NULL ? message : found + strlen(on);
}

void weir__split_device_fails(weir__split_run *run, uint32_t device, weir_status status, const char *message) {
  weir_split *split = run->split;
  run->states[device].out = true;
  run->round.devices[device].failed = true;
  if (status == WEIR_ERROR_DEVICE_LOST) {
    weir__lock_acquire(&split->lock);
    split->lost[device] = true;
    weir__lock_release(&split->lock);
  }
  if (run->failed) return;
  run->status = status;
  size_t used = strlen(run->message);
  snprintf(run->message + used, sizeof run->message - used, "%s%s %s: %s", used > 0 ? "; " : "",
           split->devices[device]->name, status == WEIR_ERROR_DEVICE_LOST ? "was lost" : "failed",
           reason_of(split->devices[device], message));
}

// How long devices have been busy with what they have.
static void note_running(weir__split_run *run) {
  for (uint32_t i = 0; i < run->view.device_count; i++) {
    weir_split_state *state = &run->states[i];
    state->running_ns = 0;
    if (state->in_flight == 0) continue;
    uint64_t now = weir_device_time(run->split->devices[i]), since = UINT64_MAX;
    for (uint32_t j = 0; j < WEIR__SPLIT_DEPTH; j++) {
      const weir__split_part *part = &run->parts[i][j];
      if (part->used && part->submit_ns < since) since = part->submit_ns;
    }
    if (since < run->busy_until[i]) since = run->busy_until[i];
    if (now > since) state->running_ns = now - since;
  }
}

// Asks the policy for each device in turn that may have another part, until none gets one.
static void ask(weir__split_run *run) {
  const weir_split_policy *policy = &run->split->policy;
  bool any = true;
  note_running(run);
  while (any && run->view.left > 0 && !run->failed) {
    any = false;
    for (uint32_t i = 0; i < run->view.device_count && run->view.left > 0 && !run->failed; i++) {
      if (run->states[i].out || run->states[i].in_flight == run->depth) continue;
      uint64_t units = policy->next(policy->user, &run->view, i);
      if (units > 0) any |= weir__split_hand_out(run, i, units);
    }
  }
}

// Nobody has a part and nobody got one: what is left goes to all in equal parts.
static void share_out(weir__split_run *run) {
  while (run->in_flight == 0 && run->view.left > 0 && !run->failed) {
    uint32_t in = 0;
    for (uint32_t i = 0; i < run->view.device_count; i++) in += !run->states[i].out;
    if (in == 0) {
      char message[WEIR__MESSAGE_BYTES];
      snprintf(message, sizeof message, "%s", run->message);
      weir__split_fails(run, run->status == WEIR_OK ? WEIR_ERROR_DEVICE_LOST : run->status,
                        message[0] == '\0' ? "all devices of the split are lost" : message);
      return;
    }
    uint64_t part = (run->view.left - 1) / in + 1;
    for (uint32_t i = 0; i < run->view.device_count && run->view.left > 0 && !run->failed; i++) {
      if (!run->states[i].out) weir__split_hand_out(run, i, part);
    }
  }
}

void weir__split_ask(weir__split_run *run) {
  ask(run);
  share_out(run);
}

void weir__split_pump(weir__split_run *run) {
  weir_context *context = run->split->context;
  weir__split_ask(run);
  if (run->in_flight == 0) {
    weir__split_finish(run);
  } else if (context->devices.flushes) { // who waits for the launch has flushed before these parts came
    weir__context_lock(context);
    weir__context_flush(context);
    weir__context_unlock(context);
  }
}

static void fill_round(weir__split_run *run) {
  weir_split_round *round = &run->round;
  round->launch = run->view.launch;
  round->status = run->failed ? run->status : WEIR_OK;
  snprintf(round->kernel, sizeof round->kernel, "%s", run->launch.kernel->name);
  round->groups = run->cut.total;
  round->wall_ns = weir__clock_ns() - run->start_clock_ns;
  for (uint32_t i = 0; i < round->device_count; i++) {
    weir_split_device_round *device = &round->devices[i];
    device->share = (double)device->groups / (double)run->cut.total;
    device->busy_ns = run->states[i].done_ns;
  }
}

// A launch without memory for what was measured is as good as one that was not measured.
static void remember(weir__split_run *run) {
  weir_split *split = run->split;
  uint64_t end_ns = weir_device_time(split->devices[0]);
  uint64_t ns = end_ns > run->start_device_ns ? end_ns - run->start_device_ns : 1;
  weir__lock_acquire(&split->lock);
  split->last = run->round;
  split->has_last = true;
  weir__split_entry *entry = run->failed ? NULL : weir__split_table_get(&split->table, run->key);
  for (uint32_t i = 0; entry != NULL && i < split->device_count; i++) {
    const weir_split_state *state = &run->states[i];
    if (state->done > 0 && !state->out)
      weir__split_past_add(&entry->devices[i], (weir_split_measure){state->done, state->done_ns});
  }
  if (entry != NULL && run->round.redone == 0)
    weir__split_way_add(&entry->ways[run->view.way], run->view.launch, (double)ns / (double)run->view.total);
  weir__lock_release(&split->lock);
}

void weir__split_finish(weir__split_run *run) {
  weir_split *split = run->split;
  weir_context *context = split->context;
  fill_round(run);
  remember(run);
  for (uint32_t i = 0; i < run->launch.arg_count; i++) weir_buffer_release(run->wholes[i]);
  weir__context_lock(context);
  weir__task *task = run->task;
  context->host.window.reserved -= run->reserved;
  weir__completion completion = {.status = run->failed ? run->status : WEIR_OK, .message = run->message};
  completion.start_ns = run->start_ns;
  completion.end_ns = context->host.devices[task->device]->ops->time(context->host.devices[task->device]);
  if (!run->failed && task->event != NULL)
    snprintf(task->event->message, sizeof task->event->message, "%s", run->message);
  weir__host_complete(&context->host, task, &completion);
  weir__host_completed(&context->host);
  weir__context_unlock(context);
  weir__free(run);
  weir__split_drop(split);
}
