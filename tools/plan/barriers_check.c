// SPDX-License-Identifier: Apache-2.0
#include "plan/barriers_check.h"

#include <string.h>

#include "base/allocate.h"
#include "base/error.h"

#define NOWHERE UINT32_MAX

// Clocks are rows of one number per queue: so many of its first tasks are known to be done.
typedef struct replay {
  const weir__plan_graph *graph;
  const weir__barrier_plan *plan;
  uint32_t *queues;    // per task; NOWHERE: not run yet
  uint32_t *places;    // per task: which one of its queue, from 1
  uint32_t *issued;    // per queue: tasks so far
  uint32_t *signalled; // per queue: the value of its semaphore so far
  uint32_t *first;     // per queue: the snapshot of its semaphore's first value
  uint32_t *clocks;    // per queue: a clock, of what is done before whatever comes in it
  uint32_t *ended;     // per queue: a clock, of what is done once all its tasks so far are
  uint32_t *snapshots; // per value of a semaphore: a clock, of what is done when it has that value
} replay;

static weir_status wrong_step(size_t step, const char *what) {
  return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "step %zu of the plan %s", step, what);
}

static uint32_t *clock_of(const replay *state, uint32_t queue) {
  return state->clocks + (size_t)queue * state->plan->queue_count;
}

static uint32_t *snapshot_of(const replay *state, uint32_t semaphore, uint64_t value) {
  return state->snapshots + ((size_t)state->first[semaphore] + value - 1) * state->plan->queue_count;
}

static weir_status run_dispatch(replay *state, size_t at) {
  const weir__barrier_step *step = &state->plan->steps[at];
  const weir__plan_graph *graph = state->graph;
  uint32_t task = step->task;
  if (task >= graph->task_count) return wrong_step(at, "runs a task that does not exist");
  if (state->queues[task] != NOWHERE) return wrong_step(at, "runs a task again");
  const uint32_t *clock = clock_of(state, step->queue);
  for (uint64_t e = graph->first[task]; e < graph->first[task + 1]; e++) {
    uint32_t predecessor = graph->predecessors[e], queue = state->queues[predecessor];
    if (queue == NOWHERE || state->places[predecessor] > clock[queue])
      return weir__error(WEIR_ERROR_INVALID_ARGUMENT,
                         "step %zu of the plan runs task %u, and nothing says that task %u is done before it", at, task,
                         predecessor);
  }
  state->queues[task] = step->queue;
  state->places[task] = ++state->issued[step->queue];
  uint32_t *ended = state->ended + (size_t)step->queue * state->plan->queue_count;
  memcpy(ended, clock, state->plan->queue_count * sizeof *ended);
  ended[step->queue] = state->issued[step->queue];
  return WEIR_OK;
}

static weir_status run_signal(replay *state, size_t at) {
  const weir__barrier_step *step = &state->plan->steps[at];
  if (step->semaphore != step->queue) return wrong_step(at, "signals another queue's semaphore");
  if (step->value != (uint64_t)state->signalled[step->queue] + 1)
    return wrong_step(at, "signals a value that is not the next one");
  state->signalled[step->queue]++;
  uint32_t *snapshot = snapshot_of(state, step->queue, step->value);
  memcpy(snapshot, state->ended + (size_t)step->queue * state->plan->queue_count,
         state->plan->queue_count * sizeof *snapshot);
  return WEIR_OK;
}

static weir_status run_wait(replay *state, size_t at) {
  const weir__barrier_step *step = &state->plan->steps[at];
  uint32_t count = state->plan->queue_count;
  if (step->semaphore >= count) return wrong_step(at, "waits for a semaphore that does not exist");
  if (step->value == 0 || step->value > state->signalled[step->semaphore])
    return wrong_step(at, "waits for a value that was not signalled before");
  uint32_t *clock = clock_of(state, step->queue);
  const uint32_t *snapshot = snapshot_of(state, step->semaphore, step->value);
  for (uint32_t q = 0; q < count; q++) {
    if (clock[q] < snapshot[q]) clock[q] = snapshot[q];
  }
  return WEIR_OK;
}

static weir_status run_step(replay *state, size_t at) {
  const weir__barrier_step *step = &state->plan->steps[at];
  switch (step->kind) {
  case WEIR__BARRIER_DISPATCH:
    return run_dispatch(state, at);
  case WEIR__BARRIER_BARRIER:
    clock_of(state, step->queue)[step->queue] = state->issued[step->queue];
    return WEIR_OK;
  case WEIR__BARRIER_SIGNAL:
    return run_signal(state, at);
  default:
    return run_wait(state, at);
  }
}

// The steps' kinds, queues and counts, before anything is made for them.
static weir_status check_counts(const weir__barrier_plan *plan) {
  size_t counts[4] = {0};
  for (size_t i = 0; i < plan->step_count; i++) {
    const weir__barrier_step *step = &plan->steps[i];
    if ((unsigned)step->kind > WEIR__BARRIER_WAIT) return wrong_step(i, "is of an unknown kind");
    if (step->queue >= plan->queue_count) return wrong_step(i, "is in a queue that does not exist");
    counts[step->kind]++;
  }
  if (counts[WEIR__BARRIER_BARRIER] == plan->barriers && counts[WEIR__BARRIER_SIGNAL] == plan->signals &&
      counts[WEIR__BARRIER_WAIT] == plan->waits)
    return WEIR_OK;
  return weir__error(WEIR_ERROR_INVALID_ARGUMENT,
                     "the plan has %zu barriers, %zu signals and %zu waits, not %u, %u and %u as it says",
                     counts[WEIR__BARRIER_BARRIER], counts[WEIR__BARRIER_SIGNAL], counts[WEIR__BARRIER_WAIT],
                     plan->barriers, plan->signals, plan->waits);
}

static void place_snapshots(replay *state) {
  const weir__barrier_plan *plan = state->plan;
  for (size_t i = 0; i < plan->step_count; i++) {
    if (plan->steps[i].kind == WEIR__BARRIER_SIGNAL) state->first[plan->steps[i].queue + 1]++;
  }
  for (uint32_t q = 0; q < plan->queue_count; q++) state->first[q + 1] += state->first[q];
}

static weir_status run_steps(replay *state) {
  for (uint32_t t = 0; t < state->graph->task_count; t++) state->queues[t] = NOWHERE;
  place_snapshots(state);
  for (size_t i = 0; i < state->plan->step_count; i++) {
    weir_status status = run_step(state, i);
    if (status != WEIR_OK) return status;
  }
  for (uint32_t t = 0; t < state->graph->task_count; t++) {
    if (state->queues[t] == NOWHERE)
      return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "the plan does not run task %u", t);
  }
  return WEIR_OK;
}

weir_status weir__barrier_check_plan(const weir__plan_graph *graph, const weir__barrier_plan *plan) {
  if (plan->task_count != graph->task_count)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "the plan is for %u tasks, not for %u", plan->task_count,
                       graph->task_count);
  weir_status status = check_counts(plan);
  if (status != WEIR_OK) return status;
  size_t tasks = graph->task_count, queues = plan->queue_count;
  replay state = {.graph = graph, .plan = plan};
  state.queues = weir__allocate((tasks + 1) * sizeof *state.queues);
  state.places = weir__allocate((tasks + 1) * sizeof *state.places);
  state.issued = weir__allocate_zeroed((queues + 1) * sizeof *state.issued);
  state.signalled = weir__allocate_zeroed((queues + 1) * sizeof *state.signalled);
  state.first = weir__allocate_zeroed((queues + 1) * sizeof *state.first);
  state.clocks = weir__allocate_zeroed((queues * queues + 1) * sizeof *state.clocks);
  state.ended = weir__allocate_zeroed((queues * queues + 1) * sizeof *state.ended);
  state.snapshots = weir__allocate((plan->signals * queues + 1) * sizeof *state.snapshots);
  if (state.queues && state.places && state.issued && state.signalled && state.first && state.clocks && state.ended &&
      state.snapshots)
    status = run_steps(&state);
  else
    status = weir__error(WEIR_ERROR_OUT_OF_MEMORY, "no memory to check a plan of %zu steps", plan->step_count);
  weir__free(state.queues);
  weir__free(state.places);
  weir__free(state.issued);
  weir__free(state.signalled);
  weir__free(state.first);
  weir__free(state.clocks);
  weir__free(state.ended);
  weir__free(state.snapshots);
  return status;
}
