// SPDX-License-Identifier: Apache-2.0
#include "repeats/repeats.h"

#include "base/allocate.h"
#include "repeats/match.h"
#include "repeats/state.h"

enum {
  FEWEST_TASKS = 24, // of a run that is worth a graph; 2 in tests
  FAMILIAR =
      3, // times that a run came, so that it is likely to come for long: a graph takes as much as many submissions
  // The same by default where devices run ahead: what the driver takes to make the graph comes back after some 100 launches. Runs
  // between waits that follow each other more closely begin too late when they are held back.
  FEWEST_AHEAD = 48,
  FAMILIAR_AHEAD = 32,
  FIRST_AHEAD = 1024,  // tasks that are not looked at: a program that is short gets nothing back for it
  FIRST_PIECE = 48,    // tasks of the first piece of a run
  LONGEST_WHOLE = 256, // tasks: a longer run that repeats itself is taken for a loop
};

// Whether a run is followed, and the task is held back as its next one: the most frequent case, of which this asks as little as it
// can. Else nothing has changed, and weir__repeats_take says.
static inline bool go_on(weir_context *context, weir__repeats *self, const weir_task *task, weir_event **out_event) {
  uint32_t count = self->count;
  if ((count >= self->quick_end) | context->repeating.cut | (out_event != NULL) | weir__this_thread.in_task ||
      !weir__matches(self->repeat, count, task, &self->bound))
    return false;
  self->count = ++count;
  if (count % WEIR__REPEATS_TELL_EACH == 0) weir__repeats_hold(context, count);
  return true;
}

static void note(weir_context *context, const weir_task *task, bool ends, weir_status status) {
  if (context->repeating.repeats->asleep) return;
  if (status == WEIR_OK)
    weir__repeats_note(context, task, ends);
  else
    weir__repeats_end_run(context);
}

weir_status weir__repeats_submit_other(weir_context *context, const weir_task *task, weir_event **out_event) {
  weir__repeats *self = context->repeating.repeats;
  if (self == NULL) return weir__submit_special(context, task, out_event);
  if (go_on(context, self, task, out_event)) return WEIR_OK;
  if (self->asleep && !self->ahead) weir__repeats_wake(context);
  weir__repeats_way way = self->asleep ? WEIR__REPEATS_PASSED : weir__repeats_take(context, task, out_event);
  if (way == WEIR__REPEATS_TAKEN) return WEIR_OK;
  weir_status status = weir__repeats_submit_alone(context, task, out_event);
  if (way == WEIR__REPEATS_NOTED && self->count == 0 && !self->settling) // else another thread went on meanwhile
    note(context, task, out_event != NULL, status);
  return status;
}

weir_status weir__repeats_submit_next(weir_context *context, const weir_task *task, weir_event **out_event) {
  weir__context_lock_to_submit(context);
  weir__repeats *self = context->repeating.repeats;
  weir_status status = WEIR_OK;
  if (out_event != NULL) *out_event = NULL;
  if (!go_on(context, self, task, out_event)) status = weir__repeats_submit_other(context, task, out_event);
  weir__context_unlock(context);
  return status;
}

// Whether the context has devices with queues of their own. `all_follow`: all of them gain by launches of runs that came before.
// Elsewhere the caller has to ask for it.
static bool some_run_ahead(const weir__host *host, bool *all_follow) {
  bool some = false;
  *all_follow = true;
  for (uint32_t i = 0; i < host->device_count; i++) {
    const weir__device_ops *ops = host->devices[i]->ops;
    some = some || ops->run_ahead;
    *all_follow = *all_follow && (!ops->run_ahead || ops->follows_runs);
  }
  return some;
}

void weir__repeats_open(weir_context *context) {
  const weir__host *host = &context->host;
  const uint32_t flags = WEIR_CONTEXT_NO_RENAME | WEIR_CONTEXT_REPEATS;
  bool everywhere = (host->flags & WEIR_CONTEXT_REPEATS) != 0;
  if ((host->flags & ~flags) != 0 || host->issue != WEIR_ISSUE_AUTO || host->watch != NULL) return;
  bool all_follow, ahead = some_run_ahead(host, &all_follow);
  if (!everywhere && ahead && (!all_follow || host->seed != 0)) return;
  weir__repeats *self = weir__allocate_zeroed(sizeof *self);
  if (self == NULL) return;
  self->next_sleep = WEIR__REPEATS_FIRST_SLEEP;
  self->tests = host->seed != 0;
  self->everywhere = everywhere;
  self->ahead = ahead && !everywhere;
  self->familiar = self->everywhere ? 1 : self->ahead ? FAMILIAR_AHEAD : FAMILIAR;
  self->most_looks = self->ahead ? WEIR__REPEATS_LOOKS_AHEAD : WEIR__REPEATS_LOOKS;
  self->looks = self->most_looks;
  self->fewest = self->tests ? 2 : self->ahead ? FEWEST_AHEAD : FEWEST_TASKS;
  self->first_piece = self->tests ? 3 : FIRST_PIECE;
  self->longest_whole = self->tests ? 0 : LONGEST_WHOLE;
  self->random.state = host->seed | 1;
  self->bound.context = context;
  context->repeating.repeats = self;
  context->repeating.settle = weir__repeats_settle;
  context->repeating.plain = context->devices.plain;
  context->devices.plain = WEIR__PLAIN_NONE;
  weir__context_is_unusual(context);
  for (uint32_t space = 0; space < context->memory.space_count; space++) {
    context->memory.pools[space].recall = weir__repeats_recall;
    context->memory.pools[space].recall_user = context;
  }
  weir__repeats_begin_run(context);
  if (self->ahead) weir__repeats_sleep(context, FIRST_AHEAD);
}

void weir__repeats_close(weir_context *context) {
  weir__repeats *self = context->repeating.repeats;
  if (self == NULL) return;
  for (uint32_t space = 0; space < context->memory.space_count; space++) context->memory.pools[space].recall = NULL;
  context->repeating.repeats = NULL;
  while (self->first != NULL) weir__repeats_forget(self, self->first);
  weir__run_free(&self->run);
  weir__free(self->bound.buffers);
  weir__free(self->bound.values);
  weir__free(self->bound.given);
  weir__free(self);
}
