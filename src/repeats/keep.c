// SPDX-License-Identifier: Apache-2.0
//
// What a trace cache records, and which runs it keeps.
#include "repeats/state.h"

enum {
  LARGEST_PIECE = WEIR__RUN_MOST_TASKS,
  LOOP_TASKS = 128, // a loop is kept in as many whole turns as have so many tasks, since each launch costs the same
  GROWTH = 8,       // each piece of a run has so many times the tasks of the one before
  MOST_KEPT_TASKS = 16384, // of all repeats
  LONGEST_SLEEP = 1 << 20,
  LONGEST_AHEAD = 640, // tasks between two other calls: longer passes gain little by graphs, which take long to make
  LOOK_AGAIN = 64,     // times that a run came whole after it was given up, until it is followed again
};

void weir__repeats_forget(weir__repeats *self, weir__repeat *repeat) {
  weir__repeat **link = &self->first;
  while (*link != repeat) link = &(*link)->next;
  *link = repeat->next;
  self->kept_tasks -= repeat->run.count;
  if (self->last == repeat) self->last = NULL;
  if (self->broken == repeat) self->broken = NULL;
  for (weir__repeat *other = self->first; other != NULL; other = other->next) {
    if (other->then == repeat) other->then = NULL;
  }
  weir__repeat_destroy(repeat);
}

static void forget_last(weir__repeats *self) {
  weir__repeat *last = self->first;
  while (last->next != NULL) last = last->next;
  if (last != self->repeat) weir__repeats_forget(self, last);
}

void weir__repeats_use(weir__repeats *self, weir__repeat *repeat) {
  if (self->first == repeat) return;
  weir__repeat **link = &self->first;
  while (*link != repeat) link = &(*link)->next;
  *link = repeat->next;
  repeat->next = self->first;
  self->first = repeat;
}

static weir__repeat *find(const weir__repeats *self, const weir__run *run) {
  for (weir__repeat *repeat = self->first; repeat != NULL; repeat = repeat->next) {
    if (repeat->run.count == run->count && repeat->run.tasks[run->count - 1].place == run->tasks[run->count - 1].place)
      return repeat;
  }
  return NULL;
}

static void see_again(weir__repeats *self, weir__repeat *repeat) {
  weir__repeats_use(self, repeat);
  repeat->seen++;
  if (!repeat->useless && repeat->seen <= self->familiar) self->looks = self->most_looks;
  if (!repeat->useless || repeat->seen < LOOK_AGAIN) return;
  repeat->useless = false;
  repeat->broke = repeat->came = repeat->slow = 0;
}

void weir__repeats_give_up(weir__repeats *self, weir__repeat *repeat) {
  if (self->everywhere) {
    weir__repeats_forget(self, repeat);
    return;
  }
  repeat->useless = true;
  repeat->seen = 0;
  weir__repeat_forget_graph(repeat);
  if (self->last == repeat) self->last = NULL;
}

static void keep_piece(weir__repeats *self, uint32_t first, uint32_t end) {
  weir__run run;
  if (!weir__run_copy(&self->run, first, end, &run)) return;
  weir__repeat *known = find(self, &run), *repeat = known == NULL ? weir__repeat_create(&run) : NULL;
  if (known != NULL) see_again(self, known);
  if (repeat == NULL) {
    weir__run_free(&run);
    return;
  }
  repeat->seen = 1;
  repeat->next = self->first;
  self->first = repeat;
  self->kept_tasks += repeat->run.count;
  if (self->kept_tasks > MOST_KEPT_TASKS) forget_last(self);
}

// How many of `count` tasks from `first` on overwrite no more than so many bytes. A buffer that several of them overwrite counts for
// each: they may be buffers of their own the next time. All, if those were fewer than `fewest`, for which a launch is not worth it.
static uint32_t fit(const weir__run *run, uint32_t first, uint32_t count, uint64_t limit, uint32_t fewest) {
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < count; i++) {
    const weir__run_task *task = &run->tasks[first + i];
    for (uint32_t j = 0; j < task->arg_count; j++) {
      const weir__run_arg *arg = &run->args[task->first_arg + j];
      if (arg->mode != WEIR_WRITE) continue;
      bytes += run->buffer_bytes[arg->place];
      if (bytes > limit) return i < fewest ? count : i;
    }
  }
  return count;
}

// Keeps tasks [first, end) of the run that is recorded. Where a launch has to reach a device they are kept in pieces: the device
// begins with the first one while the next is submitted. A launch takes storage for all that it overwrites at once.
static void keep(const weir_context *context, uint32_t first, uint32_t end) {
  weir__repeats *self = context->repeating.repeats;
  const weir_device *device = self->run.device;
  if (!device->ops->run_ahead && !self->tests) {
    keep_piece(self, first, end);
    return;
  }
  uint64_t limit = context->memory.pools[device->space].waiting_limit;
  for (uint32_t size = self->first_piece; first < end; size *= GROWTH) {
    if (size > LARGEST_PIECE) size = LARGEST_PIECE;
    uint32_t rest = end - first, piece = rest < size + self->fewest ? rest : size;
    piece = fit(&self->run, first, piece, limit, self->fewest);
    if (piece < rest && rest - piece < self->fewest) // what follows is a piece, too
      piece = rest < 2 * self->fewest ? rest : rest - self->fewest;
    keep_piece(self, first, first + piece);
    first += piece;
  }
}

void weir__repeats_begin_run(weir_context *context) {
  weir__repeats *self = context->repeating.repeats;
  if (self->run.count > 0) weir__period_clear(&self->period);
  weir__run_clear(&self->run, ++context->checks);
  self->starts = true;
}

void weir__repeats_end_run(weir_context *context) {
  weir__repeats *self = context->repeating.repeats;
  if (self->run.count >= self->fewest) keep(context, 0, self->run.count);
  weir__repeats_begin_run(context);
}

void weir__repeats_sleep(weir_context *context, uint64_t tasks) {
  weir__repeats *self = context->repeating.repeats;
  self->looks = self->most_looks;
  self->asleep = true;
  self->wake = context->host.window.next + tasks;
  context->devices.plain = context->repeating.plain;
  weir__repeats_hold(context, 0);
  weir__repeats_begin_run(context);
}

// Nothing came again for long.
static void fall_asleep(weir_context *context) {
  weir__repeats *self = context->repeating.repeats;
  weir__repeats_sleep(context, self->next_sleep);
  if (self->next_sleep < LONGEST_SLEEP) self->next_sleep *= 2;
}

void weir__repeats_wake(weir_context *context) {
  weir__repeats *self = context->repeating.repeats;
  if (context->host.window.next < self->wake) return;
  self->asleep = false;
  context->devices.plain = WEIR__PLAIN_NONE;
  weir__context_is_unusual(context);
  weir__repeats_hold(context, 0);
}

void weir__repeats_note(weir_context *context, const weir_task *task, bool ends) {
  weir__repeats *self = context->repeating.repeats;
  self->starts = false;
  self->last = NULL;
  if (self->ahead && self->since > LONGEST_AHEAD) {
    if (self->run.count > 0) weir__repeats_begin_run(context);
    return;
  }
  if (self->looks == 0) {
    if (self->repeat == NULL) fall_asleep(context);
    return;
  }
  self->looks--;
  weir_device *device = weir__run_device(context, task);
  if (device == NULL || (!self->everywhere && task->kernel == NULL) || (self->ahead && !device->ops->run_ahead)) {
    weir__repeats_end_run(context);
    return;
  }
  if (self->run.count > 0 && self->run.device != device) weir__repeats_end_run(context);
  if (!weir__run_append(&self->run, task, device)) {
    weir__repeats_end_run(context);
    if (!weir__run_append(&self->run, task, device)) return;
  }
  bool launches_whole = !device->ops->run_ahead && !self->tests;
  uint32_t period = weir__period_find(&self->period, &self->run, launches_whole ? LOOP_TASKS : self->fewest);
  if (period > 0 && self->run.count >= self->longest_whole) {
    keep(context, self->run.count - period, self->run.count);
    weir__repeats_begin_run(context);
  } else if (ends || self->run.count == WEIR__RUN_MOST_TASKS) {
    weir__repeats_end_run(context);
  } else {
    self->starts = false;
  }
}
