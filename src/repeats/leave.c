// SPDX-License-Identifier: Apache-2.0
//
// How what a trace cache holds back goes its way: as a launch, or task by task.
#include "base/clock.h"
#include "base/error.h"
#include "engine/queue.h"
#include "repeats/state.h"

enum {
  BROKE_OFTEN = 4, // a repeat that broke so often, and more often than it came, is given up
  // A program that takes longer than this from task to task is not bound by what they cost. What is held back begins late for nothing.
  SLOW_NS = 500,
  SLOW_OFTEN = 4, // a repeat that came so slowly so often in a row is given up
};

static void release(weir_context *context) {
  weir__repeats *self = context->repeating.repeats;
  weir__repeats_count(self, self->count - 1); // the first one was counted
  self->quick_end = 0;
  weir__bound_clear(&self->bound);
  self->repeat = NULL;
  self->entered = 0;
  context->repeating.cancelled = false;
  weir__repeats_hold(context, 0);
}

// Whether the run that is followed came so slowly that to hold it back cost more than it gained. Not asked where the caller chose to
// have runs followed.
static bool came_slowly(const weir__repeats *self) {
  const weir__run *run = &self->repeat->run;
  if (self->everywhere || self->tests || run->device->ops->run_ahead) return false;
  return weir__ticks() - self->begun > weir__ticks_per_us() * run->count * SLOW_NS / 1000;
}

// Tasks that are held back have no parent and no group, also where the function of a task submits them.
static weir__thread forget_parent(void) {
  weir__thread thread = weir__this_thread;
  weir__this_thread.task = NULL;
  weir__this_thread.event = NULL;
  return thread;
}

static void recall_parent(const weir__thread *thread) {
  weir__this_thread.task = thread->task;
  weir__this_thread.event = thread->event;
}

bool weir__repeats_launch(weir_context *context, weir_event **out_event) {
  weir__repeats *self = context->repeating.repeats;
  weir__repeat *repeat = self->repeat;
  weir__id task = context->host.window.next;
  bool slow = came_slowly(self);
  self->quick_end = 0;
  // Where memory is short the lock is released meanwhile, and an idle thread would submit what is held back a second time.
  self->settling = true;
  weir__thread thread = forget_parent();
  bool launched = weir__repeat_launch(context, repeat, &self->bound, out_event);
  recall_parent(&thread);
  self->settling = false;
  if (!launched) {
    repeat->broke++;
    return false;
  }
  weir__repeats_keep_storage(self, repeat);
  repeat->came++;
  if (self->last != NULL) self->last->then = repeat;
  self->last = repeat;
  context->host.statistics.tasks += repeat->run.count - 1;
  context->host.statistics.repeated += repeat->run.count;
  self->flights[self->flight] = (weir__repeat_flight){task, repeat->run.count};
  self->flight = (self->flight + 1) % WEIR__REPEATS_IN_FLIGHT;
  self->looks = self->most_looks;
  self->next_sleep = WEIR__REPEATS_FIRST_SLEEP;
  release(context);
  weir__repeats_begin_run(context);
  repeat->slow = slow ? repeat->slow + 1 : 0;
  if (repeat->slow >= SLOW_OFTEN) weir__repeats_give_up(self, repeat);
  return true;
}

bool weir__repeats_agree(const weir__repeat *from, const weir__repeat *to, uint32_t count) {
  return to->run.count >= count && to->run.device == from->run.device && !to->useless &&
         to->run.tasks[count - 1].place == from->run.tasks[count - 1].place;
}

// A run that ends where another one goes on. False: there is none.
static bool launch_shorter(weir_context *context) {
  weir__repeats *self = context->repeating.repeats;
  if (self->entered > 0) return false;
  for (weir__repeat *repeat = self->first; repeat != NULL; repeat = repeat->next) {
    if (repeat->run.count != self->count || repeat == self->repeat ||
        !weir__repeats_agree(self->repeat, repeat, self->count))
      continue;
    self->repeat = repeat;
    weir__repeats_use(self, repeat);
    return weir__repeats_launch(context, NULL);
  }
  return false;
}

// The short way is open for tasks that are not taken.
static bool submit_short(weir_context *context, const weir_task *task, weir_event **out_event) {
  context->devices.plain = context->repeating.plain;
  bool was_plain = weir__submit_short(context, task, out_event);
  context->devices.plain = context->repeating.repeats->asleep ? context->repeating.plain : WEIR__PLAIN_NONE;
  weir__context_is_unusual(context);
  return was_plain;
}

weir_status weir__repeats_submit_alone(weir_context *context, const weir_task *task, weir_event **out_event) {
  return submit_short(context, task, out_event) ? WEIR_OK : weir__submit_special(context, task, out_event);
}

// Tasks that are held back keep their kernels while this thread waits for room, though a task may release them meanwhile.
static void keep_kernels(const weir__repeats *self, uint32_t first) {
  for (uint32_t i = first; i < self->count; i++) {
    weir_kernel *kernel = self->repeat->run.tasks[i].kernel;
    if (kernel != NULL) kernel->queued++;
  }
}

static void let_kernels_go(const weir__repeats *self, uint32_t first) {
  for (uint32_t i = first; i < self->count; i++) {
    weir_kernel *kernel = self->repeat->run.tasks[i].kernel;
    if (kernel != NULL) weir__kernel_unqueue(kernel);
  }
}

// The first of the tasks that are held back and have not been submitted.
static void next_task(const weir__repeats *self, weir_arg *args, weir_task *out_task) {
  weir__repeat_task(self->repeat, self->entered, &self->bound, args, out_task);
}

// Submits the next one without waiting. False: the task would have to wait. `*out_status`: whether it was refused.
static bool enter_now(weir_context *context, weir_status *out_status) {
  weir__repeats *self = context->repeating.repeats;
  weir_arg args[WEIR_MAX_ARGS];
  weir_task task;
  next_task(self, args, &task);
  const weir__submission submission = {
      .task = &task, .kernel_checked = true, .may_queue = true, .queued = true, .held = true};
  weir__admit_result result;
  *out_status = WEIR_OK;
  weir__bound_revive(&self->bound, true);
  do {
    result = weir__submit_once(context, &submission, false, NULL, out_status);
  } while (result == WEIR__RETRY);
  weir__bound_revive(&self->bound, false);
  bool refused = result == WEIR__REFUSED && weir__window_empty(&context->host.window); // for good
  if (refused) weir__queue_fail(context, &task, NULL, *out_status);
  self->entered += refused || result == WEIR__ADMITTED;
  return refused || result == WEIR__ADMITTED;
}

// Whether enter_now may be called: it passes what is queued.
static bool has_room(const weir_context *context) {
  return context->queue.first == NULL && weir__window_has_room(&context->host.window);
}

// Submits the next one, and records it. False: it would have to wait, and must not.
static bool enter(weir_context *context, bool waits) {
  weir__repeats *self = context->repeating.repeats;
  weir_arg args[WEIR_MAX_ARGS];
  weir_task task;
  next_task(self, args, &task);
  weir__bound_revive(&self->bound, true);
  bool entered = !context->repeating.cancelled && submit_short(context, &task, NULL);
  uint64_t ticket = 0;
  const weir__submission submission = {
      .task = &task, .ticket = &ticket, .kernel_checked = true, .may_queue = true, .held = true};
  weir_status status = entered || !waits ? WEIR_OK : weir__submit(context, &submission, NULL);
  weir__bound_revive(&self->bound, false);
  if (status != WEIR_OK) weir__queue_fail(context, &task, NULL, status);
  if (entered || waits)
    self->entered++;
  else if (!has_room(context) || !enter_now(context, &status))
    return false;
  if (status == WEIR_OK)
    weir__repeats_note(context, &task, false);
  else
    weir__repeats_end_run(context);
  return true;
}

static void give_up(weir_context *context) {
  weir__repeats *self = context->repeating.repeats;
  weir__repeat *repeat = self->repeat;
  release(context);
  repeat->broke++;
  if (repeat->useless || (repeat->broke >= BROKE_OFTEN && repeat->broke > repeat->came))
    weir__repeats_give_up(self, repeat);
}

static bool leave(weir_context *context, bool waits) {
  weir__repeats *self = context->repeating.repeats;
  weir__kept_error kept;
  weir__error_keep(&kept);
  uint32_t first = self->entered;
  self->quick_end = 0;
  weir__repeats_free_storage(self);
  self->settling = true;
  weir__thread thread = forget_parent();
  keep_kernels(self, first);
  while (self->entered < self->count && enter(context, waits)) {
  }
  let_kernels_go(self, first);
  recall_parent(&thread);
  self->settling = false;
  weir__error_put_back(&kept);
  if (self->entered < self->count) return false;
  give_up(context);
  if (first > 0) weir__repeats_begin_run(context); // it was broken off before
  return true;
}

// The run went on in another way: its tasks are submitted.
void weir__repeats_leave(weir_context *context) {
  leave(context, true);
}

// Another thread submits what is held back.
void weir__repeats_await_settled(weir_context *context) {
  while (context->repeating.repeats->settling && !weir__this_thread.in_task) {
    _Atomic uint32_t nobody = 0;
    weir__host_unlock(&context->host);
    weir__sleep_on(&nobody, 0, 20000);
    weir__host_lock(&context->host);
  }
}

bool weir__repeats_settle(weir_context *context, bool waits) {
  weir__repeats *self = context->repeating.repeats;
  if (self->settling && !waits) return false;
  if (self->asleep) weir__repeats_wake(context);
  weir__repeats_await_settled(context);
  if (self->settling) return false;
  if (self->count == 0) return true;
  if (!waits && !has_room(context)) return false;
  if (!launch_shorter(context) && !leave(context, waits)) return false;
  weir__repeats_end_run(context);
  return true;
}

void weir__host_settle(weir__host *host, uint64_t seen) {
  if (atomic_load_explicit(&host->held, memory_order_relaxed) != seen) return;
  weir_context *context = weir__context_of(host);
  weir__repeats *self = context->repeating.repeats;
  if (self == NULL || self->count == 0 || self->settling || !has_room(context)) return;
  self->quick_end = 0;
  if (self->entered == 0) {
    self->broken = self->repeat;
    self->to_come = self->repeat->run.count - self->count;
  }
  if (launch_shorter(context)) return;
  weir__kept_error kept;
  weir__error_keep(&kept);
  weir__repeats_free_storage(self);
  self->settling = true; // the lock may be released here, too
  weir_status status;
  uint32_t first = self->entered;
  keep_kernels(self, first);
  while (self->entered < self->count && has_room(context) && enter_now(context, &status)) {
  }
  let_kernels_go(self, first);
  self->settling = false;
  weir__error_put_back(&kept);
  if (self->entered == self->count) give_up(context);
}
