// SPDX-License-Identifier: Apache-2.0
#include "repeats/repeats.h"

#include "base/allocate.h"
#include "repeats/match.h"
#include "repeats/state.h"

enum {
  FEWEST_TASKS = 24, // of a run that is worth a graph; 2 in tests
  FAMILIAR =
      3, // times that a run came, so that it is likely to come for long: a graph takes as much as many submissions
  FIRST_PIECE = 32,    // tasks of the first piece of a run
  LONGEST_WHOLE = 256, // tasks: a longer run that repeats itself is taken for a loop
};

// Whether a run is followed, and the task is held back as its next one: the most frequent case, of which this asks as little as it
// can. Else nothing has changed, and weir__repeats_take says.
static inline bool go_on(weir_context *context, weir__repeats *self, const weir_task *task, weir_event **out_event) {
  uint32_t count = self->count;
  if ((count == 0) | (self->entered > 0) | context->repeating.cut | self->settling | self->tests | (out_event != NULL))
    return false;
  if (count + 1 == self->repeat->run.count || !weir__matches(self->repeat, count, task, &self->bound)) return false;
  self->since += self->since < WEIR__REPEATS_LONG_LOOP;
  weir__repeats_hold(context, count + 1);
  return true;
}

weir_status weir__repeats_submit_other(weir_context *context, const weir_task *task, weir_event **out_event) {
  weir__repeats *self = context->repeating.repeats;
  if (self == NULL) return weir__submit_special(context, task, out_event);
  if (go_on(context, self, task, out_event)) return WEIR_OK;
  if (self->asleep) weir__repeats_wake(context);
  if (!self->asleep && weir__repeats_take(context, task, out_event)) return WEIR_OK;
  return weir__repeats_submit_alone(context, task, out_event);
}

// A device with queues of its own overlaps single tasks better than launches, so there the caller has to ask for it.
static bool some_run_ahead(const weir__host *host) {
  for (uint32_t i = 0; i < host->device_count; i++) {
    if (host->devices[i]->ops->run_ahead) return true;
  }
  return false;
}

void weir__repeats_open(weir_context *context) {
  const weir__host *host = &context->host;
  const uint32_t flags = WEIR_CONTEXT_NO_RENAME | WEIR_CONTEXT_REPEATS;
  bool everywhere = (host->flags & WEIR_CONTEXT_REPEATS) != 0;
  if ((host->flags & ~flags) != 0 || host->issue != WEIR_ISSUE_AUTO || host->watch != NULL) return;
  if (!everywhere && some_run_ahead(host)) return;
  weir__repeats *self = weir__allocate_zeroed(sizeof *self);
  if (self == NULL) return;
  self->looks = WEIR__REPEATS_LOOKS;
  self->next_sleep = WEIR__REPEATS_FIRST_SLEEP;
  self->tests = host->seed != 0;
  self->everywhere = everywhere;
  self->familiar = self->everywhere ? 1 : FAMILIAR;
  self->fewest = self->tests ? 2 : FEWEST_TASKS;
  self->first_piece = self->tests ? 3 : FIRST_PIECE;
  self->longest_whole = self->tests ? 0 : LONGEST_WHOLE;
  self->random.state = host->seed | 1;
  context->repeating.repeats = self;
  context->repeating.settle = weir__repeats_settle;
  context->repeating.plain = context->devices.plain;
  context->devices.plain = false;
  weir__repeats_begin_run(context);
}

void weir__repeats_close(weir_context *context) {
  weir__repeats *self = context->repeating.repeats;
  if (self == NULL) return;
  context->repeating.repeats = NULL;
  while (self->first != NULL) weir__repeats_forget(self, self->first);
  weir__run_free(&self->run);
  weir__free(self->bound.buffers);
  weir__free(self->bound.values);
  weir__free(self);
}
