// SPDX-License-Identifier: Apache-2.0
#include "plan/stream_plan.h"

#include <stdlib.h>

#include "base/error.h"
#include "plan/critical_path.h"
#include "plan/paths.h"
#include "plan/reduction.h"
#include "plan/schedule.h"

const char *weir__plan_mode_name(weir__plan_mode mode) {
  static const char *const names[] = {"serial", "address", "buffer"};
  return names[mode];
}

static weir_status no_memory(const weir__stream *stream) {
  return weir__error(WEIR_ERROR_OUT_OF_MEMORY, "no memory to plan %s", stream->name);
}

static size_t count_accesses(const weir__stream *stream) {
  size_t count = 0;
  for (uint32_t t = 0; t < stream->task_count; t++) count += stream->tasks[t].access_count;
  return count;
}

static void fill_program(const weir__stream *stream, weir__plan_buffer *buffers, weir__plan_task *tasks,
                         weir__plan_access *accesses) {
  for (uint32_t b = 0; b < stream->buffer_count; b++)
    buffers[b] = (weir__plan_buffer){stream->buffers[b].bytes, stream->buffers[b].address};
  for (uint32_t t = 0; t < stream->task_count; t++) {
    const weir__stream_task *task = &stream->tasks[t];
    tasks[t] = (weir__plan_task){accesses, task->access_count, task->host_wait};
    for (uint32_t a = 0; a < task->access_count; a++, accesses++) {
      const weir__stream_access *access = &task->accesses[a];
      // A plan keeps the order of the stream, which is as good as any.
      weir_mode mode = access->mode == WEIR_COMMUTE ? WEIR_READ_WRITE : access->mode;
      *accesses = (weir__plan_access){mode, access->buffer, access->offset, access->bytes};
    }
  }
}

static weir_status find_hazards(const weir__stream *stream, weir__plan_mode mode, weir__plan_hazards *out_hazards) {
  *out_hazards = (weir__plan_hazards){0};
  weir__plan_buffer *buffers = malloc(((size_t)stream->buffer_count + 1) * sizeof *buffers);
  weir__plan_task *tasks = malloc(((size_t)stream->task_count + 1) * sizeof *tasks);
  weir__plan_access *accesses = malloc((count_accesses(stream) + 1) * sizeof *accesses);
  weir_status status = WEIR_OK;
  if (buffers && tasks && accesses) {
    fill_program(stream, buffers, tasks, accesses);
    weir__plan_program program = {buffers, stream->buffer_count, tasks, stream->task_count};
    status = weir__plan_find_hazards(&program, mode, out_hazards);
  } else {
    status = no_memory(stream);
  }
  free(buffers);
  free(tasks);
  free(accesses);
  return status;
}

// Graph of a mode, and the ends of its tasks. What is there after a failure is freed by the caller.
static weir_status find_graph(weir__stream_plan *plan) {
  const weir__stream *stream = plan->stream;
  size_t count = (size_t)stream->task_count + 1;
  plan->task_us = malloc(count * sizeof *plan->task_us);
  plan->ends = malloc(count * sizeof *plan->ends);
  if (!plan->task_us || !plan->ends) return no_memory(stream);
  for (uint32_t t = 0; t < stream->task_count; t++) {
    plan->task_us[t] = weir__stream_task_us(&stream->tasks[t]);
    plan->serial_us += plan->task_us[t];
    plan->work_us += weir__stream_task_work_us(&stream->tasks[t], stream->sms);
  }
  weir_status status = find_hazards(stream, plan->mode, &plan->hazards);
  if (status == WEIR_OK)
    status = weir__plan_hazard_graph(stream->task_count, &plan->hazards, plan->mode == WEIR__PLAN_BUFFER, &plan->graph);
  if (status == WEIR_OK) plan->critical_us = weir__plan_earliest_ends(&plan->graph, plan->task_us, plan->ends);
  return status;
}

static weir_status find_bound(weir__stream_plan *plan) {
  double critical_us = plan->critical_us;
  weir_status status = WEIR_OK;
  if (plan->mode != WEIR__PLAN_BUFFER) {
    weir__stream_plan renamed = {.stream = plan->stream, .mode = WEIR__PLAN_BUFFER};
    status = find_graph(&renamed);
    critical_us = renamed.critical_us;
    weir__stream_plan_free(&renamed);
  }
  plan->bound_us = critical_us > plan->work_us ? critical_us : plan->work_us;
  return status;
}

static weir_status find_details(weir__stream_plan *plan) {
  size_t count = (size_t)plan->stream->task_count + 1;
  plan->levels = malloc(count * sizeof *plan->levels);
  plan->ranks = malloc(count * sizeof *plan->ranks);
  plan->critical_path = malloc(count * sizeof *plan->critical_path);
  double *ends = malloc(count * sizeof *ends);
  weir_status status = WEIR_OK;
  if (plan->levels && plan->ranks && plan->critical_path && ends) {
    plan->level_count = weir__plan_levels(&plan->graph, plan->levels);
    weir__plan_upward_ranks(&plan->graph, plan->task_us, plan->ranks);
    plan->critical_count = weir__plan_critical_path(&plan->graph, plan->ends, plan->critical_path);
    plan->makespan_us = weir__plan_window_schedule(&plan->graph, plan->task_us, plan->window, ends);
    status = weir__plan_reduce(&plan->graph, &plan->reduced);
  } else {
    status = no_memory(plan->stream);
  }
  free(ends);
  return status;
}

weir_status weir__stream_plan_create(const weir__stream *stream, weir__plan_mode mode, uint32_t window,
                                     weir__stream_plan *out_plan) {
  weir__stream_plan plan = {.stream = stream, .mode = mode, .window = window};
  weir_status status = find_graph(&plan);
  if (status == WEIR_OK) status = find_bound(&plan);
  if (status == WEIR_OK) status = find_details(&plan);
  if (status != WEIR_OK) weir__stream_plan_free(&plan);
  *out_plan = plan;
  return status;
}

void weir__stream_plan_free(weir__stream_plan *plan) {
  weir__plan_hazards_free(&plan->hazards);
  weir__plan_graph_free(&plan->graph);
  weir__plan_graph_free(&plan->reduced);
  free(plan->task_us);
  free(plan->levels);
  free(plan->ends);
  free(plan->ranks);
  free(plan->critical_path);
  *plan = (weir__stream_plan){0};
}

weir_status weir__stream_limits(const weir__stream *stream, weir__plan_mode mode, double *out_critical_us,
                                double *out_bound_us) {
  weir__stream_plan plan = {.stream = stream, .mode = mode};
  weir_status status = find_graph(&plan);
  if (status == WEIR_OK) status = find_bound(&plan);
  if (out_critical_us) *out_critical_us = status == WEIR_OK ? plan.critical_us : 0;
  if (out_bound_us) *out_bound_us = status == WEIR_OK ? plan.bound_us : 0;
  weir__stream_plan_free(&plan);
  return status;
}
