// SPDX-License-Identifier: Apache-2.0
//
// Clocks are rows of one number per queue: so many of its first tasks are known to be done. A queue has the clock of
// what is done before whatever comes next in it; a task has that clock with itself counted in, which is what a semaphore
// signalled behind it stands for, since such a signal waits for everything before it in its queue.
#include "plan/barriers_queues.h"

#include <stdbool.h>
#include <string.h>

#include "base/allocate.h"
#include "base/error.h"

#define NOTHING UINT32_MAX

typedef struct queue_state {
  uint32_t issued; // tasks so far
  double ready;    // when the epoch's tasks can start
  double end;      // when all tasks so far have ended
  uint32_t *clock; // of what comes next
  uint32_t latest; // among the predecessors of the task at hand: the last one in this queue, or NOTHING
  uint32_t value;  // of its semaphore, while steps are written
} queue_state;

typedef struct queue_planner {
  const weir__plan_graph *graph;
  const weir__barrier_queues *asked;
  queue_state *items;   // per queue
  uint32_t *clocks;     // of the queues
  uint32_t *taken;      // per task: its queue
  uint32_t *places;     // per task: which one of its queue, from 1
  uint32_t *rows;       // per task: a clock
  double *done;         // per task: when it and everything before it in its queue has ended
  uint8_t *barriers;    // per task: a barrier before it
  uint8_t *signals;     // per task: a signal behind it
  uint64_t *first_wait; // per task in order, and one more: in `waits`
  uint32_t *waits;      // tasks that are waited for
  uint64_t *values;     // per task: of its signal
} queue_planner;

static double time_of(const queue_planner *planner, uint32_t task) {
  return planner->asked->times ? planner->asked->times[task] : 1;
}

static const uint32_t *row_of(const queue_planner *planner, uint32_t task) {
  return planner->rows + (size_t)task * planner->asked->queue_count;
}

// Notes the last predecessor in each queue; those before it in the same queue need nothing of their own.
static void note_predecessors(queue_planner *planner, uint32_t task) {
  const weir__plan_graph *graph = planner->graph;
  for (uint32_t q = 0; q < planner->asked->queue_count; q++) planner->items[q].latest = NOTHING;
  for (uint64_t e = graph->first[task]; e < graph->first[task + 1]; e++) {
    uint32_t predecessor = graph->predecessors[e];
    uint32_t *latest = &planner->items[planner->taken[predecessor]].latest;
    if (*latest == NOTHING || planner->places[*latest] < planner->places[predecessor]) *latest = predecessor;
  }
}

// Whether the next task of a queue comes after the noted predecessor of another (or the same) queue as things are.
static bool covered(const queue_planner *planner, uint32_t queue, uint32_t other) {
  uint32_t latest = planner->items[other].latest;
  return latest == NOTHING || planner->places[latest] <= planner->items[queue].clock[other];
}

typedef struct estimate {
  double end, growth;
  uint32_t syncs;
} estimate;

static estimate estimate_in(const queue_planner *planner, uint32_t task, uint32_t queue) {
  const queue_state *state = &planner->items[queue];
  estimate result = {.end = state->ready};
  if (!covered(planner, queue, queue)) {
    double drained = state->end + planner->asked->barrier_time;
    if (drained > result.end) result.end = drained;
    result.syncs++;
  }
  for (uint32_t q = 0; q < planner->asked->queue_count; q++) {
    if (q == queue || covered(planner, queue, q)) continue;
    double arrival = planner->done[planner->items[q].latest] + planner->asked->semaphore_time;
    if (arrival > result.end) result.end = arrival;
    result.syncs++;
  }
  result.end += time_of(planner, task);
  result.growth = result.end > state->end ? result.end - state->end : 0;
  return result;
}

static bool better(const estimate *a, const estimate *b) {
  if (a->end != b->end) return a->end < b->end;
  if (a->syncs != b->syncs) return a->syncs < b->syncs;
  return a->growth < b->growth;
}

static uint32_t choose(const queue_planner *planner, uint32_t task) {
  uint32_t best = 0;
  estimate least = estimate_in(planner, task, 0);
  for (uint32_t q = 1; q < planner->asked->queue_count; q++) {
    estimate next = estimate_in(planner, task, q);
    if (!better(&next, &least)) continue;
    best = q;
    least = next;
  }
  return best;
}

// Whether the noted predecessor of a queue is done when that of another queue is.
static bool implied(const queue_planner *planner, uint32_t queue, uint32_t wanted) {
  for (uint32_t q = 0; q < planner->asked->queue_count; q++) {
    uint32_t latest = planner->items[q].latest;
    if (q == wanted || q == queue || latest == NOTHING) continue;
    if (row_of(planner, latest)[wanted] >= planner->places[planner->items[wanted].latest]) return true;
  }
  return false;
}

// Puts down the waits of the task, `place` th in the order. A wait is kept only if no other one implies it; those that
// are left out are covered once the others are merged.
static void place_waits(queue_planner *planner, uint32_t place, uint32_t queue) {
  queue_state *state = &planner->items[queue];
  uint64_t count = planner->first_wait[place];
  for (uint32_t q = 0; q < planner->asked->queue_count; q++) {
    if (q == queue || covered(planner, queue, q) || implied(planner, queue, q)) continue;
    planner->waits[count++] = planner->items[q].latest;
  }
  planner->first_wait[place + 1] = count;
  for (uint64_t i = planner->first_wait[place]; i < count; i++) {
    uint32_t awaited = planner->waits[i];
    const uint32_t *row = row_of(planner, awaited);
    for (uint32_t q = 0; q < planner->asked->queue_count; q++) {
      if (state->clock[q] < row[q]) state->clock[q] = row[q];
    }
    double arrival = planner->done[awaited] + planner->asked->semaphore_time;
    if (arrival > state->ready) state->ready = arrival;
    planner->signals[awaited] = 1;
  }
}

static void place_task(queue_planner *planner, uint32_t place, uint32_t task, uint32_t queue) {
  queue_state *state = &planner->items[queue];
  place_waits(planner, place, queue);
  planner->barriers[task] = !covered(planner, queue, queue);
  if (planner->barriers[task]) {
    state->clock[queue] = state->issued;
    double drained = state->end + planner->asked->barrier_time;
    if (drained > state->ready) state->ready = drained;
  }
  double end = state->ready + time_of(planner, task);
  if (end > state->end) state->end = end;
  planner->taken[task] = queue;
  planner->places[task] = ++state->issued;
  planner->done[task] = state->end;
  uint32_t count = planner->asked->queue_count, *row = planner->rows + (size_t)task * count;
  memcpy(row, state->clock, count * sizeof *row);
  row[queue] = state->issued;
}

static void write_steps(queue_planner *planner, weir__barrier_plan *plan) {
  const weir__barrier_queues *asked = planner->asked;
  for (uint32_t i = 0; i < planner->graph->task_count; i++) {
    uint32_t task = asked->order ? asked->order[i] : i, queue = planner->taken[task];
    for (uint64_t w = planner->first_wait[i]; w < planner->first_wait[i + 1]; w++) {
      uint32_t awaited = planner->waits[w];
      plan->steps[plan->step_count++] = (weir__barrier_step){.kind = WEIR__BARRIER_WAIT,
                                                             .queue = queue,
                                                             .semaphore = planner->taken[awaited],
                                                             .value = planner->values[awaited]};
      plan->waits++;
    }
    if (planner->barriers[task]) {
      plan->steps[plan->step_count++] = (weir__barrier_step){.kind = WEIR__BARRIER_BARRIER, .queue = queue};
      plan->barriers++;
    }
    plan->steps[plan->step_count++] = (weir__barrier_step){.queue = queue, .task = task};
    if (!planner->signals[task]) continue;
    planner->values[task] = ++planner->items[queue].value;
    plan->steps[plan->step_count++] = (weir__barrier_step){
        .kind = WEIR__BARRIER_SIGNAL, .queue = queue, .semaphore = queue, .value = planner->values[task]};
    plan->signals++;
  }
}

static weir_status check_asked(const weir__plan_graph *graph, const weir__barrier_queues *asked) {
  if (asked->queue_count == 0) return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "a plan needs at least one queue");
  for (uint32_t t = 0; asked->wanted && t < graph->task_count; t++) {
    if (asked->wanted[t] >= asked->queue_count)
      return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "task %u is wanted in queue %u of %u", t, asked->wanted[t],
                         asked->queue_count);
  }
  return WEIR_OK;
}

static bool allocate_planner(queue_planner *planner) {
  size_t tasks = (size_t)planner->graph->task_count + 1, queues = planner->asked->queue_count;
  uint64_t edges = weir__plan_graph_edge_count(planner->graph);
  size_t waits = edges < tasks * queues ? (size_t)edges : tasks * queues;
  planner->items = weir__allocate_zeroed(queues * sizeof *planner->items);
  planner->clocks = weir__allocate_zeroed(queues * queues * sizeof *planner->clocks);
  planner->taken = weir__allocate(tasks * sizeof *planner->taken);
  planner->places = weir__allocate(tasks * sizeof *planner->places);
  planner->rows = weir__allocate(tasks * queues * sizeof *planner->rows);
  planner->done = weir__allocate(tasks * sizeof *planner->done);
  planner->barriers = weir__allocate(tasks * sizeof *planner->barriers);
  planner->signals = weir__allocate_zeroed(tasks * sizeof *planner->signals);
  planner->first_wait = weir__allocate_zeroed((tasks + 1) * sizeof *planner->first_wait);
  planner->waits = weir__allocate((waits + 1) * sizeof *planner->waits);
  planner->values = weir__allocate(tasks * sizeof *planner->values);
  return planner->items && planner->clocks && planner->taken && planner->places && planner->rows && planner->done &&
         planner->barriers && planner->signals && planner->first_wait && planner->waits && planner->values;
}

static void free_planner(queue_planner *planner) {
  weir__free(planner->items);
  weir__free(planner->clocks);
  weir__free(planner->taken);
  weir__free(planner->places);
  weir__free(planner->rows);
  weir__free(planner->done);
  weir__free(planner->barriers);
  weir__free(planner->signals);
  weir__free(planner->first_wait);
  weir__free(planner->waits);
  weir__free(planner->values);
}

static double place_all(queue_planner *planner) {
  const weir__barrier_queues *asked = planner->asked;
  double makespan = 0;
  for (uint32_t q = 0; q < asked->queue_count; q++)
    planner->items[q].clock = planner->clocks + (size_t)q * asked->queue_count;
  for (uint32_t i = 0; i < planner->graph->task_count; i++) {
    uint32_t task = asked->order ? asked->order[i] : i;
    note_predecessors(planner, task);
    place_task(planner, i, task, asked->wanted ? asked->wanted[task] : choose(planner, task));
    if (planner->done[task] > makespan) makespan = planner->done[task];
  }
  return makespan;
}

weir_status weir__barrier_plan_queues(const weir__plan_graph *graph, const weir__barrier_queues *queues,
                                      weir__barrier_plan *out_plan, double *out_makespan) {
  *out_plan = (weir__barrier_plan){0};
  if (out_makespan) *out_makespan = 0;
  weir_status status = check_asked(graph, queues);
  if (status != WEIR_OK) return status;
  queue_planner planner = {.graph = graph, .asked = queues};
  weir__barrier_plan plan = {.task_count = graph->task_count, .queue_count = queues->queue_count};
  if (allocate_planner(&planner)) {
    double makespan = place_all(&planner);
    size_t steps = 3 * (size_t)graph->task_count + planner.first_wait[graph->task_count];
    plan.steps = weir__allocate((steps + 1) * sizeof *plan.steps);
    if (plan.steps && out_makespan) *out_makespan = makespan;
  }
  if (plan.steps) {
    write_steps(&planner, &plan);
    *out_plan = plan;
  } else {
    status = weir__error(WEIR_ERROR_OUT_OF_MEMORY, "no memory to plan %u tasks over %u queues", graph->task_count,
                         queues->queue_count);
  }
  free_planner(&planner);
  return status;
}
