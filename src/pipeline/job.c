// SPDX-License-Identifier: Apache-2.0
//
// Jobs as graphs: recorded, followed, left.
#include "pipeline/job.h"

#include <string.h>

#include "base/allocate.h"
#include "base/error.h"
#include "engine/boxes.h"
#include "engine/copy.h"

// ---------------------------------------------------------------------------------------------------------------
// Shapes

enum { EMPTY_SHAPE = 1 };

static uint64_t mix(uint64_t shape, uint64_t word) {
  shape = (shape ^ word) * 0x9e3779b97f4a7c15u;
  return shape ^ shape >> 32;
}

// Of buffers, which may be none as long as nothing is checked, only the addresses count.
static uint64_t add_to_shape(uint64_t shape, const weir__job_step *step) {
  shape = mix(shape, step->kind);
  if (step->kind != WEIR__JOB_TASK) {
    shape = mix(mix(shape, (uintptr_t)step->to), (uintptr_t)step->from);
    return mix(mix(mix(shape, step->to_offset), step->from_offset), step->bytes);
  }
  const weir_task *task = step->task;
  shape = mix(mix(mix(shape, (uintptr_t)task->kernel), (uintptr_t)task->host), (uintptr_t)task->device);
  for (uint32_t i = 0; i < 3; i++) shape = mix(shape, task->groups[i]);
  for (uint32_t i = 0; i < task->arg_count && task->args != NULL; i++) {
    const weir_arg *arg = &task->args[i];
    shape = mix(mix(shape, (uint64_t)arg->mode), arg->shape == WEIR_BOX ? 0 : arg->bytes);
    if (arg->mode != WEIR_VALUE) shape = mix(mix(shape, (uintptr_t)arg->buffer), arg->offset);
    if (arg->mode == WEIR_VALUE || arg->shape != WEIR_BOX || arg->value == NULL) continue;
    const weir_box *box = arg->value;
    shape = mix(mix(mix(mix(mix(shape, box->width), box->pitch), box->rows), box->slice_pitch), box->slices);
  }
  return shape;
}

// The buffer may be another one by now, at the same place.
static bool same_range(const weir_arg *old, const weir_buffer *buffer, uint64_t offset, uint64_t bytes) {
  if (buffer != old->buffer || offset != old->offset || offset > buffer->bytes) return false;
  return (bytes == WEIR_WHOLE ? buffer->bytes - offset : bytes) == old->bytes && old->bytes <= buffer->bytes - offset;
}

static bool same_groups(const uint32_t *left, const uint32_t *right) {
  for (uint32_t i = 0; i < 3; i++) {
    if (left[i] != right[i] && (left[i] | right[i]) > 1) return false; // 0 counts as 1
  }
  return true;
}

// Most values have the size of a number.
static bool same_bytes(const void *left, const void *right, uint64_t bytes) {
  uint64_t words[2] = {0};
  if (bytes == 4) {
    memcpy(&words[0], left, 4);
    memcpy(&words[1], right, 4);
  } else if (bytes == 8) {
    memcpy(&words[0], left, 8);
    memcpy(&words[1], right, 8);
  } else {
    return memcmp(left, right, bytes) == 0;
  }
  return words[0] == words[1];
}

static void set_value(weir_graph *graph, uint32_t node, uint32_t index, const void *value, uint64_t bytes) {
  const weir_arg *kept = &graph->recorded[node].args[index];
  if (same_bytes(kept->value, value, bytes)) return;
  memcpy((void *)(uintptr_t)kept->value, value, bytes);
  weir__graph_set_value(graph, node, index);
}

static weir_mode mode_given(const struct weir__recorded *recorded, uint32_t index) {
  return recorded->autos != NULL && recorded->autos[index] ? WEIR_AUTO : recorded->args[index].mode;
}

// Whether the task is of the same shape as the node's, which gets its tag and values: at least those before the first argument that is
// not. The plan, if there is one, has no launch in flight.
static bool follow_task(weir_graph *graph, uint32_t node, const weir_task *task) {
  weir_task *old = &graph->recorded[node].task;
  if (task->kernel != old->kernel || task->host != old->host || task->user != old->user ||
      task->arg_count != old->arg_count || (task->args == NULL && task->arg_count > 0) ||
      task->priority != old->priority || task->after_count != 0 || !same_groups(task->groups, old->groups) ||
      (task->device != NULL && task->device != graph->device))
    return false;
  old->tag = task->tag;
  if (graph->plan != NULL) graph->plan->nodes[node].tag = task->tag;
  for (uint32_t i = 0; i < task->arg_count; i++) {
    const weir_arg *was = &old->args[i], *arg = &task->args[i];
    if (weir__graph_mode(arg->mode) != mode_given(&graph->recorded[node], i)) return false;
    if (arg->mode != WEIR_VALUE) {
      uint64_t bytes = arg->shape == WEIR_BOX ? was->bytes : arg->bytes; // those of equal boxes are the same
      if (!weir__arg_same_shape(was, arg) || !same_range(was, arg->buffer, arg->offset, bytes)) return false;
      continue;
    }
    if (arg->bytes != was->bytes || arg->value == NULL) return false;
    set_value(graph, node, i, arg->value, arg->bytes);
  }
  return true;
}

static weir__job_kind kind_of(const struct weir__recorded *recorded) {
  if (recorded->kind == WEIR__GRAPH_CALL) return WEIR__JOB_TASK;
  if (recorded->kind == WEIR__GRAPH_FILL) return WEIR__JOB_FILL;
  return recorded->host == NULL ? WEIR__JOB_COPY : recorded->writes_host ? WEIR__JOB_COPY_OUT : WEIR__JOB_COPY_IN;
}

// Whether a copy or fill is of the same shape as the recorded one.
static bool same_move(const struct weir__recorded *old, const weir__job_step *step) {
  const weir_arg *args = old->args;
  switch (step->kind) {
  case WEIR__JOB_COPY_IN:
    return step->host != NULL && same_range(&args[0], step->to, step->to_offset, step->bytes);
  case WEIR__JOB_COPY_OUT:
    return step->host != NULL && same_range(&args[1], step->from, step->from_offset, step->bytes);
  case WEIR__JOB_FILL:
    return same_range(&args[0], step->to, step->to_offset, step->bytes);
  case WEIR__JOB_COPY:
  case WEIR__JOB_TASK:
    break;
  }
  return same_range(&args[1], step->from, step->from_offset, step->bytes) &&
         same_range(&args[0], step->to, step->to_offset, old->bytes);
}

// Whether the step is of the same shape as the node, which becomes the step then.
static bool follow(weir_graph *graph, uint32_t node, const weir__job_step *step) {
  struct weir__recorded *old = &graph->recorded[node];
  if (kind_of(old) != step->kind) return false;
  if (step->kind == WEIR__JOB_TASK) return follow_task(graph, node, step->task);
  if (!same_move(old, step)) return false;
  if (step->host != NULL) old->host = step->host;
  if (step->kind == WEIR__JOB_FILL) set_value(graph, node, 1, &step->pattern, sizeof step->pattern);
  return true;
}

// ---------------------------------------------------------------------------------------------------------------
// One by one

// Other faults of buffers are found when they are used.
static weir_status check_context(const weir__pipeline_line *line, const weir_buffer *buffer) {
  const weir_context *context = line->pipeline->context;
  if (buffer == NULL || !weir__object_is(&buffer->object, WEIR__KIND_BUFFER) || buffer->object.context == context)
    return WEIR_OK;
  return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "token copy or fill: buffer %llu '%s' belongs to another context",
                     (unsigned long long)buffer->id, buffer->label);
}

static weir_status submit_step(weir__pipeline_line *line, const weir__job_step *step) {
  weir_event *event = NULL;
  weir_status status = check_context(line, step->to);
  if (status == WEIR_OK) status = check_context(line, step->from);
  if (status != WEIR_OK) return status;
  const weir__completion_target target = {.user = line}; // its failure is the token's
  const weir__submission by = {.target = &target, .origin = line->trace != NULL ? &line->origin : NULL};
  switch (step->kind) {
  case WEIR__JOB_TASK:
    return weir__line_submit(line, step->task);
  case WEIR__JOB_COPY_IN:
    status = weir__copy_in(&by, step->to, step->to_offset, step->bytes, step->host, &event);
    break;
  case WEIR__JOB_COPY_OUT:
    status = weir__copy_out(&by, step->from, step->from_offset, step->bytes, step->host, &event);
    break;
  case WEIR__JOB_COPY:
    status = weir__copy(&by, step->to, step->to_offset, step->from, step->from_offset, step->bytes, &event);
    break;
  case WEIR__JOB_FILL:
    status = weir__fill(&by, step->to, step->to_offset, step->bytes, step->pattern, &event);
    break;
  }
  if (status != WEIR_OK) return status;
  status = weir__line_await(line, event);
  weir_event_release(event);
  return status;
}

static weir__job_step recorded_step(const weir_graph *graph, uint32_t node) {
  const struct weir__recorded *recorded = &graph->recorded[node];
  weir__job_step step = {
      .kind = kind_of(recorded), .task = &recorded->task, .bytes = recorded->bytes, .host = recorded->host};
  if (step.kind == WEIR__JOB_TASK) return step;
  const weir_arg *args = recorded->args;
  if (args[0].mode != WEIR_VALUE) {
    step.to = args[0].buffer;
    step.to_offset = args[0].offset;
  }
  if (args[1].mode != WEIR_VALUE) {
    step.from = args[1].buffer;
    step.from_offset = args[1].offset;
  }
  if (step.kind == WEIR__JOB_FILL) memcpy(&step.pattern, args[1].value, sizeof step.pattern);
  return step;
}

// The job does not become a graph: submits what was collected.
static weir_status leave_graph(weir__pipeline_line *line) {
  weir__line_job *job = line->job;
  weir_status status = WEIR_OK;
  job->shape = EMPTY_SHAPE;
  for (uint32_t i = 0; i < job->count; i++) {
    weir__job_step step = recorded_step(job->graph, i);
    job->shape = add_to_shape(job->shape, &step);
    weir_status submitted = submit_step(line, &step);
    if (status == WEIR_OK) status = submitted;
  }
  if (job->mode == WEIR__JOB_RECORD && job->graph != NULL) weir_graph_clear(job->graph);
  job->mode = WEIR__JOB_SINGLE;
  job->count = 0;
  return status;
}

// ---------------------------------------------------------------------------------------------------------------
// As graphs

static weir_status record(weir__pipeline_line *line, const weir__job_step *step) {
  weir__line_job *job = line->job;
  if (job->graph == NULL) {
    weir_status status = weir_graph_create(line->pipeline->context, NULL, &job->graph);
    if (status != WEIR_OK) return status;
  }
  switch (step->kind) {
  case WEIR__JOB_TASK:
    return weir_graph_add(job->graph, step->task, NULL);
  case WEIR__JOB_COPY_IN:
    return weir_graph_copy_in(job->graph, step->to, step->to_offset, step->bytes, step->host, NULL);
  case WEIR__JOB_COPY_OUT:
    return weir_graph_copy_out(job->graph, step->from, step->from_offset, step->bytes, step->host, NULL);
  case WEIR__JOB_FILL:
    return weir_graph_fill(job->graph, step->to, step->to_offset, step->bytes, step->pattern, NULL);
  case WEIR__JOB_COPY:
    break;
  }
  return weir_graph_copy(job->graph, step->to, step->to_offset, step->from, step->from_offset, step->bytes, NULL);
}

weir_status weir__job_add(weir__pipeline_line *line, const weir__job_step *step) {
  weir__line_job *job = line->job;
  if (job == NULL) return submit_step(line, step);
  if (job->mode == WEIR__JOB_FOLLOW && job->count < job->graph->recorded_count &&
      follow(job->graph, job->count, step)) {
    job->count++;
    return WEIR_OK;
  }
  if (job->mode == WEIR__JOB_RECORD && record(line, step) == WEIR_OK) {
    job->count++;
    return WEIR_OK;
  }
  weir_status status = job->mode == WEIR__JOB_SINGLE ? WEIR_OK : leave_graph(line);
  job->shape = add_to_shape(job->shape, step);
  return status == WEIR_OK ? submit_step(line, step) : status;
}

void weir__job_begin(weir__pipeline_line *line) {
  weir__line_job *job = line->job;
  bool recorded = job->graph != NULL && job->graph->recorded_count > 0;
  job->mode = recorded ? WEIR__JOB_FOLLOW : job->record ? WEIR__JOB_RECORD : WEIR__JOB_SINGLE;
  job->recording = job->mode == WEIR__JOB_RECORD;
  job->count = 0;
  job->shape = EMPTY_SHAPE;
}

static void count_one(_Atomic uint64_t *count) {
  atomic_store_explicit(count, atomic_load_explicit(count, memory_order_relaxed) + 1, memory_order_relaxed);
}

// What a job tells that was submitted task by task.
static void learn(weir__line_job *job) {
  job->record = false;
  if (job->recording) {
    job->no_graph = job->shape;
  } else if (job->shape == job->last_shape && job->shape != job->no_graph) {
    if (job->graph != NULL) weir_graph_clear(job->graph);
    job->record = true;
  }
  job->last_shape = job->shape;
}

weir_status weir__job_end(weir__pipeline_line *line, weir_status stage_status) {
  weir__line_job *job = line->job;
  weir_status status = WEIR_OK;
  if (job->count > 0) {
    bool whole = stage_status == WEIR_OK && job->count == job->graph->recorded_count;
    if (whole && job->count == 1) { // a graph of one task gains nothing over the task
      weir__job_step step = recorded_step(job->graph, 0);
      count_one(&line->task_jobs);
      return submit_step(line, &step);
    }
    if (whole && weir__line_launch(line, job->graph) == WEIR_OK) {
      count_one(&line->graph_jobs);
      job->last_shape = 0;
      job->record = false;
      return WEIR_OK;
    }
    status = leave_graph(line);
  }
  if (job->shape == EMPTY_SHAPE) return status;
  count_one(&line->task_jobs);
  if (stage_status == WEIR_OK) learn(job);
  return status;
}

// ---------------------------------------------------------------------------------------------------------------

bool weir__jobs_create(weir_pipeline *pipeline) {
  bool any = false;
  for (uint32_t i = 0; i < pipeline->stage_count; i++) any = any || pipeline->stages[i].job;
  for (uint32_t i = 0; any && i < pipeline->line_count; i++) {
    weir__pipeline_line *line = &pipeline->lines[i];
    line->jobs = weir__allocate_zeroed(pipeline->stage_count * sizeof *line->jobs);
    if (line->jobs == NULL) return false;
    for (uint32_t j = 0; j < pipeline->stage_count; j++) line->jobs[j].record = true;
  }
  return true;
}

void weir__jobs_destroy(weir_pipeline *pipeline) {
  for (uint32_t i = 0; pipeline->lines != NULL && i < pipeline->line_count; i++) {
    weir__line_job *jobs = pipeline->lines[i].jobs;
    for (uint32_t j = 0; jobs != NULL && j < pipeline->stage_count; j++) weir_graph_release(jobs[j].graph);
    weir__free(jobs);
  }
}
