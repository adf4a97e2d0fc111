// SPDX-License-Identifier: Apache-2.0
//
// A barrier plan as a list to follow, in words and as JSON.
#include "cli.h"
#include "plan_barriers.h"

enum { RESOURCE_BYTES = 48 };

static const char *resource_name(const weir__stream_plan *plan, const weir__stream_barriers *barriers,
                                 uint32_t resource, char *text) {
  const weir__dispatch_resource *named = &barriers->dispatches.resources[resource];
  unsigned long long id = plan->stream->buffers[named->buffer].id;
  if (named->storage)
    snprintf(text, RESOURCE_BYTES, "buffer %llu.%u", id, named->storage);
  else
    snprintf(text, RESOURCE_BYTES, "buffer %llu", id);
  return text;
}

static void print_transition(const weir__stream_plan *plan, const weir__stream_barriers *barriers,
                             const weir__barrier_transition *change) {
  char name[RESOURCE_BYTES];
  printf("    %s, bytes [%llu, %llu): ", resource_name(plan, barriers, change->resource, name),
         (unsigned long long)change->lo, (unsigned long long)change->hi);
  const char *after = weir__barrier_state_name(change->after);
  if (change->before == WEIR__STATE_UNDEFINED)
    printf("first use, %s\n", after);
  else if (change->before == change->after)
    printf("%s as before, after writes\n", after);
  else
    printf("%s -> %s\n", weir__barrier_state_name(change->before), after);
}

static void print_step(const weir__stream_plan *plan, const weir__stream_barriers *barriers,
                       const weir__barrier_step *step) {
  if (barriers->request.queues > 1) printf("queue %u: ", step->queue);
  unsigned long long value = step->value;
  switch (step->kind) {
  case WEIR__BARRIER_BARRIER:
    printf("barrier\n");
    break;
  case WEIR__BARRIER_SIGNAL:
    printf("signal semaphore %u, value %llu\n", step->semaphore, value);
    break;
  case WEIR__BARRIER_WAIT:
    printf("wait for semaphore %u, value %llu\n", step->semaphore, value);
    break;
  case WEIR__BARRIER_DISPATCH: {
    uint32_t task = barriers->dispatches.tasks[step->task];
    const weir__stream_task *row = &plan->stream->tasks[task];
    printf("dispatch %u: task %llu, ", step->task, (unsigned long long)row->number);
    weir__cli_put(row->op, stdout);
    if (row->kernel_count > 1)
      printf(", kernel %u of %u", barriers->dispatches.kernels[step->task] + 1, row->kernel_count);
    printf("\n");
    break;
  }
  }
}

static const char *counted(uint32_t count, const char *one, const char *many) {
  return count == 1 ? one : many;
}

static void print_heading(const weir__stream_plan *plan, const weir__stream_barriers *barriers) {
  const weir__barrier_plan *made = &barriers->plan;
  const weir__barrier_request *request = &barriers->request;
  weir__cli_put(plan->stream->name, stdout);
  printf(", hazards: %s, %s, %u %s: %u tasks, %u dispatches.\n", weir__plan_mode_name(plan->mode),
         request->reorder ? "reordered" : "program order", request->queues, counted(request->queues, "queue", "queues"),
         plan->stream->task_count, barriers->dispatches.count);
  printf("%u %s", made->barriers, counted(made->barriers, "barrier", "barriers"));
  if (request->queues > 1)
    printf(", %u %s, %u %s", made->signals, counted(made->signals, "signal", "signals"), made->waits,
           counted(made->waits, "wait", "waits"));
  printf("; %u with one after every dispatch", barriers->each);
  if (barriers->fewest == (int64_t)made->barriers)
    printf("; fewer cannot keep the order");
  else if (barriers->fewest >= 0)
    printf("; %lld could do, and take longer", (long long)barriers->fewest);
  printf(".\nEstimated %.1f us; %.1f us with one after every dispatch.\n", barriers->plan_us, barriers->each_us);
  if (barriers->transitions.mixed)
    printf("%zu of the states combine what D3D12 cannot: parts of a buffer that are used side by side.\n",
           barriers->transitions.mixed);
  printf("\n");
}

void weir__plan_print_steps(const weir__stream_plan *plan, const weir__stream_barriers *barriers) {
  const weir__barrier_transitions *transitions = &barriers->transitions;
  size_t next = 0;
  print_heading(plan, barriers);
  for (size_t i = 0; i < barriers->plan.step_count; i++) {
    print_step(plan, barriers, &barriers->plan.steps[i]);
    for (; next < transitions->count && transitions->items[next].step == i; next++)
      print_transition(plan, barriers, &transitions->items[next]);
  }
}

void weir__plan_barriers_columns(weir__table *table) {
  weir__table_column(table, "stream", "", false);
  weir__table_column(table, "tasks", "", true);
  weir__table_column(table, "dispatches", "", true);
  weir__table_column(table, "after each", "", true);
  weir__table_column(table, "barriers", "", true);
  weir__table_column(table, "fewest", "", true);
  weir__table_column(table, "signals", "", true);
  weir__table_column(table, "waits", "", true);
  weir__table_column(table, "after each", "us", true);
  weir__table_column(table, "plan", "us", true);
}

void weir__plan_barriers_row(weir__table *table, const weir__stream_plan *plan, const weir__stream_barriers *barriers) {
  weir__table_cell(table, "%s", plan->stream->name);
  weir__table_cell(table, "%u", plan->stream->task_count);
  weir__table_cell(table, "%u", barriers->dispatches.count);
  weir__table_cell(table, "%u", barriers->each);
  weir__table_cell(table, "%u", barriers->plan.barriers);
  if (barriers->fewest >= 0)
    weir__table_cell(table, "%lld", (long long)barriers->fewest);
  else
    weir__table_cell(table, "-");
  weir__table_cell(table, "%u", barriers->plan.signals);
  weir__table_cell(table, "%u", barriers->plan.waits);
  weir__table_cell(table, "%.1f", barriers->each_us);
  weir__table_cell(table, "%.1f", barriers->plan_us);
}

static json_t *transition_json(const weir__stream_plan *plan, const weir__stream_barriers *barriers,
                               const weir__barrier_transition *change) {
  const weir__dispatch_resource *resource = &barriers->dispatches.resources[change->resource];
  return json_pack("{s:I, s:I, s:s, s:s, s:I, s:I}", "buffer", (json_int_t)plan->stream->buffers[resource->buffer].id,
                   "storage", (json_int_t)resource->storage, "before", weir__barrier_state_name(change->before),
                   "after", weir__barrier_state_name(change->after), "lo", (json_int_t)change->lo, "hi",
                   (json_int_t)change->hi);
}

static json_t *step_json(const weir__stream_plan *plan, const weir__stream_barriers *barriers,
                         const weir__barrier_step *step, json_t *transitions) {
  uint32_t task = barriers->dispatches.count ? barriers->dispatches.tasks[step->task] : 0;
  json_int_t queue = step->queue, semaphore = step->semaphore, value = (json_int_t)step->value;
  switch (step->kind) {
  case WEIR__BARRIER_DISPATCH:
    return json_pack("{s:s, s:I, s:I, s:I, s:I, s:o}", "step", "dispatch", "queue", queue, "dispatch",
                     (json_int_t)step->task, "task",
                     (json_int_t)(barriers->dispatches.count ? plan->stream->tasks[task].number : 0), "kernel",
                     (json_int_t)barriers->dispatches.kernels[step->task], "resources", transitions);
  case WEIR__BARRIER_BARRIER:
    return json_pack("{s:s, s:I, s:o}", "step", "barrier", "queue", queue, "resources", transitions);
  default:
    json_decref(transitions);
    return json_pack("{s:s, s:I, s:I, s:I}", "step", step->kind == WEIR__BARRIER_SIGNAL ? "signal" : "wait", "queue",
                     queue, "semaphore", semaphore, "value", value);
  }
}

static json_t *steps_json(const weir__stream_plan *plan, const weir__stream_barriers *barriers) {
  const weir__barrier_transitions *transitions = &barriers->transitions;
  json_t *steps = json_array();
  int failed = steps == NULL;
  size_t next = 0;
  for (size_t i = 0; i < barriers->plan.step_count && !failed; i++) {
    json_t *changes = json_array();
    failed = changes == NULL;
    for (; next < transitions->count && transitions->items[next].step == i && !failed; next++)
      failed = json_array_append_new(changes, transition_json(plan, barriers, &transitions->items[next]));
    if (failed)
      json_decref(changes);
    else
      failed = json_array_append_new(steps, step_json(plan, barriers, &barriers->plan.steps[i], changes));
  }
  if (!failed) return steps;
  json_decref(steps);
  return NULL;
}

bool weir__plan_add_barriers_json(json_t *object, const weir__stream_plan *plan,
                                  const weir__stream_barriers *barriers) {
  const weir__barrier_plan *made = &barriers->plan;
  json_t *fewest = barriers->fewest < 0 ? json_null() : json_integer(barriers->fewest);
  json_t *numbers =
      json_pack("{s:b, s:I, s:I, s:I, s:I, s:o, s:I, s:I, s:I}", "reorder", barriers->request.reorder, "queues",
                (json_int_t)barriers->request.queues, "dispatches", (json_int_t)barriers->dispatches.count, "barriers",
                (json_int_t)made->barriers, "barriers_each", (json_int_t)barriers->each, "barriers_fewest", fewest,
                "signals", (json_int_t)made->signals, "waits", (json_int_t)made->waits, "mixed_states",
                (json_int_t)barriers->transitions.mixed);
  json_t *times = json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "barrier_us", weir__json_us(barriers->request.barrier_us),
                            "semaphore_us", weir__json_us(barriers->request.semaphore_us), "estimated_us",
                            weir__json_us(barriers->plan_us), "estimated_each_us", weir__json_us(barriers->each_us),
                            "plan_ns_per_task", weir__json_us(barriers->plan_ns), "steps", steps_json(plan, barriers));
  bool added = numbers && times && json_object_update(object, numbers) == 0 && json_object_update(object, times) == 0;
  json_decref(numbers);
  json_decref(times);
  return added;
}
