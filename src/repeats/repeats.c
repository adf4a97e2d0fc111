// SPDX-License-Identifier: Apache-2.0
#include "repeats/repeats.h"

#include <stdio.h>

#include "base/allocate.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/random.h"
#include "engine/queue.h"
#include "engine/submit.h"
#include "repeats/period.h"
#include "repeats/repeat.h"

enum {
  FEWEST_TASKS = 24,       // of a run that is worth a graph; 2 in tests
  LONGEST_WHOLE = 256,     // a longer run that repeats itself is taken for a loop
  MOST_KEPT_TASKS = 16384, // of all repeats
  MOST_LOOKS = 4096,       // tasks that are recorded while nothing comes again
  FIRST_SLEEP = 16384,     // tasks that are not looked at after that; doubled each time, up to
  LONGEST_SLEEP = 262144,
  BROKE_OFTEN = 4,     // a repeat that broke so often, and more often than it came, is given up
  CHECK_EACH = 16,     // launches, whether it is worth it is asked again
  TELL_EACH = 64,      // tasks that are held back, idle threads are told how many there are
  MOST_IN_FLIGHT = 64, // launches that may be in flight when a run begins
};

// A launch that may be in flight.
typedef struct launched {
  weir__id task;
  uint32_t tasks;
} launched;

typedef struct weir__repeats weir__repeats;

struct weir__repeats {
  weir__repeat *first; // the one that was used last
  uint32_t kept_tasks;
  // The run that is followed.
  weir__repeat *repeat;
  weir__bound bound;
  uint32_t count, entered; // tasks that are held back, and how many of these have been submitted after all
  bool settling;           // a thread submits them
  // The run that is recorded.
  weir__run run;
  weir__period period;
  bool starts;            // the next task may begin a run
  uint32_t looks;         // tasks that may still be recorded
  uint32_t fewest;        // tasks of a run that is kept
  uint32_t longest_whole; // run that is kept as it is, though it repeats itself
  bool tests;             // runs are followed although they are not worth it, and given up at random
  weir__random random;
  uint64_t next_sleep;
  launched flights[MOST_IN_FLIGHT];
  uint32_t flight;
};

// Idle threads look at the number, so it is not written each time.
static inline void hold(weir_context *context, uint32_t count) {
  context->repeating.repeats->count = count;
  if (count > 1 && count % TELL_EACH != 0) return;
  context->repeating.held = count > 0;
  atomic_store_explicit(&context->host.held, count, memory_order_relaxed);
}

// ---------------------------------------------------------------------------------------------------------------
// What is kept

static void forget(weir__repeats *self, weir__repeat *repeat) {
  weir__repeat **link = &self->first;
  while (*link != repeat) link = &(*link)->next;
  *link = repeat->next;
  self->kept_tasks -= repeat->run.count;
  weir__repeat_destroy(repeat);
}

static void forget_last(weir__repeats *self) {
  weir__repeat *last = self->first;
  while (last->next != NULL) last = last->next;
  if (last != self->repeat) forget(self, last);
}

static void use(weir__repeats *self, weir__repeat *repeat) {
  if (self->first == repeat) return;
  weir__repeat **link = &self->first;
  while (*link != repeat) link = &(*link)->next;
  *link = repeat->next;
  repeat->next = self->first;
  self->first = repeat;
}

static bool is_known(const weir__repeats *self, const weir__run *run) {
  for (const weir__repeat *repeat = self->first; repeat != NULL; repeat = repeat->next) {
    if (repeat->run.count == run->count && repeat->run.tasks[run->count - 1].place == run->tasks[run->count - 1].place)
      return true;
  }
  return false;
}

// Keeps tasks [first, end) of the run that is recorded.
static void keep(weir__repeats *self, uint32_t first, uint32_t end) {
  weir__run run;
  if (!weir__run_copy(&self->run, first, end, &run)) return;
  weir__repeat *repeat = is_known(self, &run) ? NULL : weir__repeat_create(&run);
  if (repeat == NULL) {
    weir__run_free(&run);
    return;
  }
  repeat->next = self->first;
  self->first = repeat;
  self->kept_tasks += repeat->run.count;
  if (self->kept_tasks > MOST_KEPT_TASKS) forget_last(self);
}

// ---------------------------------------------------------------------------------------------------------------
// Recording

static void begin_run(weir_context *context) {
  weir__repeats *self = context->repeating.repeats;
  weir__run_clear(&self->run, ++context->checks);
  weir__period_clear(&self->period);
  self->starts = true;
}

static void end_run(weir_context *context) {
  weir__repeats *self = context->repeating.repeats;
  if (self->run.count >= self->fewest) keep(self, 0, self->run.count);
  begin_run(context);
}

// Nothing came again for long.
static void fall_asleep(weir_context *context) {
  weir__repeats *self = context->repeating.repeats;
  self->looks = MOST_LOOKS;
  context->repeating.sleep = self->next_sleep;
  if (self->next_sleep < LONGEST_SLEEP) self->next_sleep *= 2;
  begin_run(context);
}

// Notes a task that is to be submitted. `ends`: the run ends with it.
static void note(weir_context *context, const weir_task *task, bool ends) {
  weir__repeats *self = context->repeating.repeats;
  self->starts = false;
  if (self->looks == 0) {
    if (self->repeat == NULL) fall_asleep(context);
    return;
  }
  self->looks--;
  weir_device *device = weir__run_device(context, task);
  if (device == NULL) {
    end_run(context);
    return;
  }
  if (self->run.count > 0 && self->run.device != device) end_run(context);
  if (!weir__run_append(&self->run, task, device)) {
    end_run(context);
    if (!weir__run_append(&self->run, task, device)) return;
  }
  uint32_t period = weir__period_find(&self->period, &self->run, self->fewest);
  if (period > 0 && self->run.count >= self->longest_whole) {
    keep(self, self->run.count - period, self->run.count);
    begin_run(context);
  } else if (ends || self->run.count == WEIR__RUN_MOST_TASKS) {
    end_run(context);
  } else {
    self->starts = false;
  }
}

// ---------------------------------------------------------------------------------------------------------------
// What is held back goes its way

static void release(weir_context *context) {
  weir__repeats *self = context->repeating.repeats;
  weir__bound_clear(&self->bound);
  self->repeat = NULL;
  self->entered = 0;
  hold(context, 0);
}

static bool launch(weir_context *context, weir_event **out_event) {
  weir__repeats *self = context->repeating.repeats;
  weir__repeat *repeat = self->repeat;
  weir__id task = context->host.window.next;
  if (!weir__repeat_launch(context, repeat, &self->bound, out_event)) {
    repeat->broke++;
    return false;
  }
  repeat->came++;
  context->host.statistics.tasks += repeat->run.count - 1;
  context->host.statistics.repeated += repeat->run.count;
  self->flights[self->flight] = (launched){task, repeat->run.count};
  self->flight = (self->flight + 1) % MOST_IN_FLIGHT;
  self->looks = MOST_LOOKS;
  self->next_sleep = FIRST_SLEEP;
  release(context);
  begin_run(context);
  return true;
}

static bool continues(const weir__repeat *from, const weir__repeat *to, uint32_t count) {
  return to->run.count >= count && to->run.device == from->run.device && !to->useless &&
         to->run.tasks[count - 1].place == from->run.tasks[count - 1].place;
}

// A run that ends where another one goes on. False: there is none.
static bool launch_shorter(weir_context *context) {
  weir__repeats *self = context->repeating.repeats;
  if (self->entered > 0) return false;
  for (weir__repeat *repeat = self->first; repeat != NULL; repeat = repeat->next) {
    if (repeat->run.count != self->count || repeat == self->repeat || !continues(self->repeat, repeat, self->count))
      continue;
    self->repeat = repeat;
    use(self, repeat);
    return launch(context, NULL);
  }
  return false;
}

// The short way is open for tasks that are not taken.
static weir_status submit_alone(weir_context *context, const weir_task *task, weir_event **out_event) {
  context->devices.plain = context->repeating.plain;
  bool was_plain = weir__submit_plain(context, task, out_event);
  context->devices.plain = false;
  return was_plain ? WEIR_OK : weir__submit_special(context, task, out_event);
}

static void revive(const weir__bound *bound, bool live) {
  for (uint32_t i = 0; i < bound->buffer_count; i++) {
    if (bound->buffers[i]->gone) bound->buffers[i]->object.released = !live;
  }
}

// Submits one of the tasks that are held back. False: that would have to wait, and must not.
static bool enter(weir_context *context, bool may_wait) {
  weir__repeats *self = context->repeating.repeats;
  weir_arg args[WEIR_MAX_ARGS];
  weir_task task;
  weir__repeat_task(self->repeat, self->entered, &self->bound, args, &task);
  weir_status status = WEIR_OK;
  revive(&self->bound, true);
  if (may_wait) {
    status = submit_alone(context, &task, NULL);
  } else {
    const weir__submission submission = {.task = &task, .may_queue = true, .queued = true};
    weir__admit_result result;
    do {
      result = weir__submit_once(context, &submission, false, NULL, &status);
    } while (result == WEIR__RETRY);
    if (result == WEIR__REFUSED && weir__window_empty(&context->host.window)) {
      revive(&self->bound, false);
      weir__queue_fail(context, &task, NULL, status);
      self->entered++;
      return true;
    }
    if (result != WEIR__ADMITTED) {
      revive(&self->bound, false);
      return false;
    }
  }
  revive(&self->bound, false);
  if (status != WEIR_OK) weir__queue_fail(context, &task, NULL, status);
  if (may_wait) note(context, &task, false);
  self->entered++;
  return true;
}

static void give_up(weir_context *context) {
  weir__repeats *self = context->repeating.repeats;
  weir__repeat *repeat = self->repeat;
  release(context);
  repeat->broke++;
  if (repeat->useless || (repeat->broke >= BROKE_OFTEN && repeat->broke > repeat->came)) forget(self, repeat);
}

// The run went on in another way: its tasks are submitted.
static void leave(weir_context *context) {
  weir__repeats *self = context->repeating.repeats;
  weir__kept_error kept;
  weir__error_keep(&kept);
  self->settling = true;
  while (self->entered < self->count) (void)enter(context, true);
  self->settling = false;
  weir__error_put_back(&kept);
  give_up(context);
}

// Another thread submits what is held back.
static void await_settled(weir_context *context) {
  while (context->repeating.repeats->settling && !weir__this_thread.in_task) {
    _Atomic uint32_t nobody = 0;
    weir__host_unlock(&context->host);
    weir__sleep_on(&nobody, 0, 20000);
    weir__host_lock(&context->host);
  }
}

static void settle(weir_context *context) {
  weir__repeats *self = context->repeating.repeats;
  await_settled(context);
  if (self->count == 0 || self->settling) return;
  if (!launch_shorter(context)) leave(context);
  end_run(context);
}

void weir__host_settle(weir__host *host) {
  weir_context *context = weir__context_of(host);
  weir__repeats *self = context->repeating.repeats;
  if (self == NULL || self->count == 0 || self->settling || context->queue.first != NULL) return;
  context->repeating.cut = true;
  if (launch_shorter(context)) return;
  weir__kept_error kept;
  weir__error_keep(&kept);
  while (self->entered < self->count && weir__window_has_room(&host->window) && enter(context, false)) {
  }
  weir__error_put_back(&kept);
  if (self->entered == self->count) give_up(context);
}

// ---------------------------------------------------------------------------------------------------------------
// Following

// Whether runs may be followed now.
static bool is_usual(const weir_context *context) {
  const weir__host *host = &context->host;
  weir__id oldest = host->window.live.oldest;
  return !((context->failures != NULL) | (context->queue.first != NULL) | (context->order.fence >= oldest) |
           (oldest < context->order.barrier) | (context->stalled.task != NULL) | weir__this_thread.in_task) &&
         weir__window_has_room(&host->window);
}

// Tasks in flight, where a launch counts as all of its tasks, and launches.
static uint64_t count_in_flight(const weir_context *context, uint32_t *out_launches) {
  const weir__repeats *self = context->repeating.repeats;
  const weir__window *window = &context->host.window;
  uint64_t tasks = window->next - window->live.oldest;
  *out_launches = 0;
  for (uint32_t i = 0; i < MOST_IN_FLIGHT; i++) {
    if (self->flights[i].tasks == 0 || !weir__live(&window->live, self->flights[i].task)) continue;
    tasks += self->flights[i].tasks - 1;
    ++*out_launches;
  }
  return tasks;
}

// The window is full when as many tasks are in flight, so a run may have to wait. False: others have begun one meanwhile, or there
// are too many launches.
static bool await_room(weir_context *context) {
  const weir__repeats *self = context->repeating.repeats;
  uint32_t launches;
  while (count_in_flight(context, &launches) >= context->host.window.size) {
    weir__context_flush(context);
    weir__submission_wait(context, WEIR__TRACE_WINDOW, context->host.window.live.oldest + 1, WEIR_FOREVER);
    if (self->count > 0 || self->settling) return false;
  }
  return launches < MOST_IN_FLIGHT;
}

// Not where workers share a task, which a graph runs in one piece.
static bool is_worth_it(weir__repeat *repeat) {
  const weir_device *device = repeat->run.device;
  if (device->ops->shares == NULL || repeat->came % CHECK_EACH != 0) return true;
  for (uint32_t i = 0; i < repeat->run.count; i++) {
    const weir__run_task *task = &repeat->run.tasks[i];
    uint64_t groups = 1;
    for (int j = 0; j < 3; j++) groups *= task->groups[j] == 0 ? 1 : task->groups[j];
    if (device->ops->shares(device, task->kernel, groups)) return false;
  }
  return true;
}

static bool start(weir_context *context, const weir_task *task) {
  weir__repeats *self = context->repeating.repeats;
  if (self->first == NULL || !is_usual(context) || !await_room(context) || !is_usual(context)) return false;
  self->bound.number = ++context->checks;
  for (weir__repeat *repeat = self->first; repeat != NULL; repeat = repeat->next) {
    if (repeat->run.tasks[0].kernel != task->kernel || !weir__bound_reserve(&self->bound, &repeat->run) ||
        !weir__repeat_matches(repeat, 0, task, &self->bound))
      continue;
    if (!self->tests && !is_worth_it(repeat)) {
      weir__bound_clear(&self->bound);
      return false;
    }
    self->repeat = repeat;
    use(self, repeat);
    hold(context, 1);
    weir_device *copier = context->devices.copier;
    if (copier->ops->look_after != NULL) copier->ops->look_after(copier);
    return true;
  }
  return false;
}

// The same task of another run that went the same way so far. False: there is none.
static bool change_over(weir__repeats *self, const weir_task *task, bool ends) {
  uint32_t count = self->count;
  for (weir__repeat *repeat = self->first; repeat != NULL; repeat = repeat->next) {
    if (repeat == self->repeat || repeat->run.count <= count || (ends && repeat->run.count != count + 1) ||
        !continues(self->repeat, repeat, count) || !weir__bound_reserve(&self->bound, &repeat->run) ||
        !weir__repeat_matches(repeat, count, task, &self->bound))
      continue;
    self->repeat = repeat;
    use(self, repeat);
    return true;
  }
  return false;
}

static bool follow(weir_context *context, const weir_task *task, weir_event **out_event) {
  weir__repeats *self = context->repeating.repeats;
  uint32_t count = self->count;
  if (self->entered > 0) return false;
  if (self->tests && weir__random_next(&self->random) % 32 == 0) {
    weir__host_settle(&context->host);
    return false;
  }
  bool ends = out_event != NULL;
  bool same =
      (!ends || count + 1 == self->repeat->run.count) && weir__repeat_matches(self->repeat, count, task, &self->bound);
  if (!same && !change_over(self, task, ends)) return false;
  if (count + 1 < self->repeat->run.count) {
    hold(context, count + 1);
    return true;
  }
  return launch(context, out_event);
}

// Whether the task is held back, or was launched with those that are.
static bool take(weir_context *context, const weir_task *task, weir_event **out_event) {
  weir__repeats *self = context->repeating.repeats;
  if (self->settling) await_settled(context);
  if (self->settling) return false;
  if (context->repeating.cut) {
    context->repeating.cut = false;
    if (self->count > 0) settle(context);
    end_run(context);
  }
  if (self->count > 0) {
    if (follow(context, task, out_event)) return true;
    if (self->count > 0) leave(context);
  } else if (self->starts && out_event == NULL && start(context, task)) {
    return true;
  }
  note(context, task, out_event != NULL);
  return false;
}

weir_status weir__repeats_submit_other(weir_context *context, const weir_task *task, weir_event **out_event) {
  if (context->repeating.repeats == NULL) return weir__submit_special(context, task, out_event);
  if (context->repeating.sleep > 0)
    context->repeating.sleep--;
  else if (take(context, task, out_event))
    return WEIR_OK;
  return submit_alone(context, task, out_event);
}

void weir__repeats_open(weir_context *context) {
  const weir__host *host = &context->host;
  if ((host->flags & ~(uint32_t)WEIR_CONTEXT_NO_RENAME) != WEIR_CONTEXT_REPEATS || host->issue != WEIR_ISSUE_AUTO)
    return;
  weir__repeats *self = weir__allocate_zeroed(sizeof *self);
  if (self == NULL) return;
  self->looks = MOST_LOOKS;
  self->next_sleep = FIRST_SLEEP;
  self->tests = host->seed != 0;
  self->fewest = self->tests ? 2 : FEWEST_TASKS;
  self->longest_whole = self->tests ? 0 : LONGEST_WHOLE;
  self->random.state = host->seed | 1;
  context->repeating.repeats = self;
  context->repeating.settle = settle;
  context->repeating.plain = context->devices.plain;
  context->devices.plain = false;
  begin_run(context);
}

void weir__repeats_close(weir_context *context) {
  weir__repeats *self = context->repeating.repeats;
  if (self == NULL) return;
  context->repeating.repeats = NULL;
  while (self->first != NULL) forget(self, self->first);
  weir__run_free(&self->run);
  weir__free(self->bound.buffers);
  weir__free(self->bound.values);
  weir__free(self);
}
