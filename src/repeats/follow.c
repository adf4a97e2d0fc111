// SPDX-License-Identifier: Apache-2.0
//
// Following a run that came before.
#include "base/clock.h"
#include "repeats/state.h"

enum {
  FEW_IN_FLIGHT = 16, // tasks of before, as copies of inputs, when a run begins on a device with queues of its own
  SHORT_NS = 2000,    // for a task; where tasks take longer in the mean, a run is not followed
  CHECK_EACH = 16,    // launches, whether it is worth it is asked again
};

// Whether runs may be followed now.
static bool is_usual(const weir_context *context) {
  const weir__host *host = &context->host;
  weir__id oldest = host->window.live.oldest;
  return !(context->poisoned | (context->queue.first != NULL) | (context->order.fence >= oldest) |
           (oldest < context->order.barrier) | (context->stalled.task != NULL) | weir__this_thread.in_task) &&
         weir__window_has_room(&host->window);
}

// Tasks in flight, where a launch counts as all of its tasks, and launches.
static uint64_t count_in_flight(const weir_context *context, uint32_t *out_launches) {
  const weir__repeats *self = context->repeating.repeats;
  const weir__window *window = &context->host.window;
  uint64_t tasks = window->next - window->live.oldest;
  *out_launches = 0;
  for (uint32_t i = 1; i <= WEIR__REPEATS_IN_FLIGHT; i++) { // the newest first
    const weir__repeat_flight *flight = &self->flights[(self->flight - i) % WEIR__REPEATS_IN_FLIGHT];
    if (flight->tasks == 0 || flight->task < window->live.oldest) break;
    if (!weir__live(&window->live, flight->task)) continue;
    tasks += flight->tasks - 1;
    ++*out_launches;
  }
  return tasks;
}

// The window is full when as many tasks are in flight, so a run may have to wait. False: others have begun one meanwhile, or nothing
// is looked at any more, or there are too many launches.
static bool await_room(weir_context *context) {
  const weir__repeats *self = context->repeating.repeats;
  uint32_t launches;
  while (count_in_flight(context, &launches) >= context->host.window.size) {
    weir__context_flush(context);
    weir__submission_wait(context, WEIR__TRACE_WINDOW, context->host.window.live.oldest + 1, WEIR_FOREVER);
    if (self->count > 0 || self->settling || self->asleep) return false;
  }
  return launches < WEIR__REPEATS_IN_FLIGHT;
}

// Not where workers share a task, which a graph runs in one piece, nor, unless the caller asked for it, where tasks take so long
// that what a submission costs does not matter.
static bool is_short(const weir__repeats *self, const weir__repeat *repeat) {
  const weir_device *device = repeat->run.device;
  if (device->ops->expected_ns == NULL) return true;
  uint64_t ns = 0;
  for (uint32_t i = 0; i < repeat->run.count; i++) {
    const weir__run_task *task = &repeat->run.tasks[i];
    uint64_t groups = 1;
    for (int j = 0; j < 3; j++) groups *= task->groups[j] == 0 ? 1 : task->groups[j];
    uint64_t expected = device->ops->expected_ns(device, task->kernel, groups);
    if (expected == UINT64_MAX) return false;
    ns += expected;
  }
  return self->everywhere || ns <= (uint64_t)SHORT_NS * repeat->run.count;
}

// A launch takes storage for all that the run overwrites, at once. By default that is not more than renaming may take.
static bool is_small(const weir_context *context, const weir__run *run) {
  uint64_t bytes = 0;
  uint32_t named = 0;
  for (uint32_t i = 0; i < run->arg_count; i++) {
    const weir__run_arg *arg = &run->args[i];
    if (arg->mode == WEIR_VALUE || arg->place != named) continue;
    if (arg->mode == WEIR_WRITE) bytes += run->buffer_bytes[named];
    named++;
  }
  return bytes <= context->memory.pools[run->device->space].waiting_limit;
}

static bool is_worth_it(const weir_context *context, const weir__repeat *repeat) {
  const weir__repeats *self = context->repeating.repeats;
  return repeat->came % CHECK_EACH != 0 ||
         (is_short(self, repeat) && (self->everywhere || is_small(context, &repeat->run)));
}

// A program that runs ahead gains nothing on a device that has a queue of its own: single tasks overlap better than launches do.
static bool is_ahead(const weir_context *context, const weir__repeat *repeat) {
  const weir__repeats *self = context->repeating.repeats;
  if (!repeat->run.device->ops->run_ahead || self->tests) return false;
  const weir__window *window = &context->host.window;
  return self->since == WEIR__REPEATS_LONG_LOOP ||
         (self->last == NULL && window->next - window->live.oldest > FEW_IN_FLIGHT);
}

// In tests each task is taken with all questions asked.
static void go_along(weir__repeats *self, weir__repeat *repeat) {
  self->repeat = repeat;
  self->quick_end = self->tests ? 0 : repeat->run.count - 1;
}

// Begins to follow a repeat, if the task is its first one.
static bool try_repeat(weir_context *context, weir__repeat *repeat, const weir_task *task) {
  weir__repeats *self = context->repeating.repeats;
  if (repeat->run.tasks[0].kernel != task->kernel || repeat->useless || repeat->seen < self->familiar ||
      is_ahead(context, repeat) || !weir__bound_reserve(&self->bound, &repeat->run) ||
      !weir__repeat_matches(repeat, 0, task, &self->bound))
    return false;
  if (!self->tests && !is_worth_it(context, repeat)) {
    weir__bound_clear(&self->bound);
    return false;
  }
  go_along(self, repeat);
  self->begun = weir__ticks();
  weir__repeats_use(self, repeat);
  weir__repeats_hold(context, 1);
  weir_device *copier = context->devices.copier;
  if (copier->ops->look_after != NULL) copier->ops->look_after(copier);
  return true;
}

// The repeat that came after the last launch before is likely to come again.
static bool start(weir_context *context, const weir_task *task) {
  weir__repeats *self = context->repeating.repeats;
  if (self->first == NULL || !is_usual(context) || !await_room(context) || !is_usual(context)) return false;
  self->bound.number = ++context->checks;
  weir__repeat *likely = self->last != NULL ? self->last->then : NULL;
  if (likely != NULL && try_repeat(context, likely, task)) return true;
  for (weir__repeat *repeat = self->first; repeat != NULL; repeat = repeat->next) {
    if (repeat != likely && try_repeat(context, repeat, task)) return true;
  }
  return false;
}

// The same task of another run that went the same way so far. False: there is none.
static bool change_over(weir__repeats *self, const weir_task *task, bool ends) {
  uint32_t count = self->count;
  for (weir__repeat *repeat = self->first; repeat != NULL; repeat = repeat->next) {
    if (repeat == self->repeat || repeat->run.count <= count || repeat->seen < self->familiar ||
        (ends && repeat->run.count != count + 1) || !weir__repeats_agree(self->repeat, repeat, count) ||
        !weir__bound_reserve(&self->bound, &repeat->run) || !weir__repeat_matches(repeat, count, task, &self->bound))
      continue;
    go_along(self, repeat);
    weir__repeats_use(self, repeat);
    return true;
  }
  return false;
}

static bool follow(weir_context *context, const weir_task *task, weir_event **out_event) {
  weir__repeats *self = context->repeating.repeats;
  uint32_t count = self->count;
  if (self->entered > 0) return false;
  if (self->tests && weir__random_next(&self->random) % 32 == 0) {
    weir__host_settle(&context->host, atomic_load_explicit(&context->host.held, memory_order_relaxed));
    return false;
  }
  bool ends = out_event != NULL;
  bool same =
      (!ends || count + 1 == self->repeat->run.count) && weir__repeat_matches(self->repeat, count, task, &self->bound);
  if (!same && !change_over(self, task, ends)) return false;
  if (count + 1 < self->repeat->run.count) {
    weir__repeats_hold(context, count + 1);
    return true;
  }
  return weir__repeats_launch(context, out_event);
}

// A task of a run that an idle thread broke off. After the last one, what came after the run is likely to come.
static void pass_by(weir_context *context) {
  weir__repeats *self = context->repeating.repeats;
  if (--self->to_come > 0) return;
  weir__repeats_begin_run(context);
  self->last = self->broken;
}

weir__repeats_way weir__repeats_take(weir_context *context, const weir_task *task, weir_event **out_event) {
  weir__repeats *self = context->repeating.repeats;
  if (self->settling) weir__repeats_await_settled(context);
  if (self->settling || self->asleep) return WEIR__REPEATS_PASSED;
  if (context->repeating.cut) {
    context->repeating.cut = false;
    self->pass++;
    self->pass_bytes = 0;
    self->to_come = 0;
    self->last = NULL;
    if (self->count > 0) weir__repeats_settle(context, true);
    weir__repeats_end_run(context);
    self->since = 0;
  } else {
    weir__repeats_count(self, 1);
  }
  if (self->count > 0) {
    if (!weir__this_thread.in_task && follow(context, task, out_event))
      return WEIR__REPEATS_TAKEN; // not a task's child
    if (self->count > 0) weir__repeats_leave(context);
  } else if (self->to_come == 0 && self->starts && out_event == NULL && start(context, task)) {
    return WEIR__REPEATS_TAKEN;
  }
  if (self->to_come > 0) {
    pass_by(context);
    return WEIR__REPEATS_PASSED;
  }
  self->starts = false;
  self->last = NULL;
  return WEIR__REPEATS_NOTED;
}
