// SPDX-License-Identifier: Apache-2.0
#include "way_weir.h"

#include <stdio.h>
#include <stdlib.h>

#include "host_memory.h"
#include "shape.h"
#include "weir/pipeline.h"

typedef struct line {
  weir_buffer *buffers[JOB_MOST_BUFFERS];
  void *results[JOB_MOST_HOSTS]; // NULL for inputs
} line;

typedef struct state {
  const job_shape *shape;
  weir_context *context;
  weir_device *device;
  weir_kernel **kernels; // by step
  weir_pipeline *pipeline;
  line lines[WEIR_PIPELINE_MOST_LINES];
  // Of a run
  uint64_t first, count; // tokens of the pipeline
  const job_feed *feed;
} state;

static weir_status take_input(weir_token *token) {
  state *s = token->user;
  uint64_t number = token->number - s->first;
  if (number == s->count) return weir_token_end_input(token);
  token->data = (void *)(uintptr_t)s->feed->next(s->feed->user, number);
  return WEIR_OK;
}

static weir_status submit_kernel(weir_token *token, const state *s, const line *l, uint32_t index) {
  const job_step *step = &s->shape->steps[index];
  weir_arg args[JOB_MOST_ARGS];
  for (uint32_t i = 0; i < step->arg_count; i++) {
    const job_arg *arg = &step->args[i];
    args[i] = arg->is_value ? weir_value(arg->value, arg->bytes)
                            : (weir_arg){.mode = arg->mode, .buffer = l->buffers[arg->buffer], .bytes = WEIR_WHOLE};
  }
  return weir_token_submit(token, &(weir_task){.kernel = s->kernels[index],
                                               .args = args,
                                               .arg_count = step->arg_count,
                                               .groups = {step->groups[0], step->groups[1], step->groups[2]}});
}

static weir_status submit_job(weir_token *token) {
  const state *s = token->user;
  const line *l = token->line_state;
  void *const *inputs = token->data;
  weir_status status = WEIR_OK;
  for (uint32_t i = 0; i < s->shape->step_count && status == WEIR_OK; i++) {
    const job_step *step = &s->shape->steps[i];
    weir_buffer *buffer = l->buffers[step->buffer];
    uint64_t bytes = s->shape->host_bytes[step->host];
    switch (step->kind) {
    case JOB_COPY_IN:
      status = weir_token_copy_in(token, buffer, 0, bytes, inputs[step->host]);
      break;
    case JOB_KERNEL:
      status = submit_kernel(token, s, l, i);
      break;
    case JOB_COPY_OUT:
      status = weir_token_copy_out(token, buffer, 0, bytes, l->results[step->host]);
      break;
    }
  }
  return status == WEIR_OK ? status : weir_token_fail(token, status, weir_last_error());
}

static void deliver(weir_token *token) {
  const state *s = token->user;
  const line *l = token->line_state;
  if (token->status == WEIR_OK) s->feed->done(s->feed->user, token->number - s->first, l->results);
}

static weir_status open_line(void *user, uint32_t number, void **out_state) {
  state *s = user;
  line *l = &s->lines[number];
  weir_status status = WEIR_OK;
  *out_state = l;
  for (uint32_t i = 0; i < s->shape->buffer_count && status == WEIR_OK; i++) {
    status = weir_buffer_create(s->context, s->shape->buffer_bytes[i], &l->buffers[i]);
  }
  for (uint32_t i = 0; i < s->shape->host_count && status == WEIR_OK; i++) {
    if (!job_is_result(s->shape, i)) continue;
    l->results[i] = job_host_allocate(s->device, s->shape->host_bytes[i]);
    if (!l->results[i]) status = WEIR_ERROR_OUT_OF_MEMORY;
  }
  return status;
}

static void close_line(line *l, const state *s) {
  for (uint32_t i = 0; i < JOB_MOST_BUFFERS; i++) weir_buffer_release(l->buffers[i]);
  for (uint32_t i = 0; i < JOB_MOST_HOSTS; i++) job_host_free(s->device, l->results[i]);
}

static void close_way(void *user) {
  state *s = user;
  weir_pipeline_release(s->pipeline);
  if (s->context) weir_finish(s->context);
  for (uint32_t i = 0; i < WEIR_PIPELINE_MOST_LINES; i++) close_line(&s->lines[i], s);
  weir_context_release(s->context); // with the kernels
  free(s->kernels);
  free(s);
}

// One kernel for each code, whatever the number of its launches.
static weir_status make_kernels(state *s) {
  const job_shape *shape = s->shape;
  weir_status status = WEIR_OK;
  for (uint32_t i = 0; i < shape->step_count && status == WEIR_OK; i++) {
    if (shape->steps[i].kind != JOB_KERNEL) continue;
    for (uint32_t j = 0; j < i && !s->kernels[i]; j++) {
      if (shape->steps[j].code == shape->steps[i].code) s->kernels[i] = s->kernels[j];
    }
    if (!s->kernels[i]) status = weir_kernel_create_from(s->context, shape->steps[i].code, &s->kernels[i]);
  }
  return status;
}

// `graph`: 0, or WEIR_STAGE_GRAPH.
static void *open_way(const job_shape *shape, const job_options *options, uint32_t graph, char why[JOB_WHY]) {
  state *s = calloc(1, sizeof *s);
  weir_kernel **kernels = calloc(shape->step_count, sizeof *kernels);
  if (!s || !kernels) {
    snprintf(why, JOB_WHY, "no memory");
    free(s);
    free(kernels);
    return NULL;
  }
  s->shape = shape;
  s->kernels = kernels;
  weir_status status = weir_context_create(&(weir_context_options){.devices = options->device}, &s->context);
  if (status == WEIR_OK) {
    s->device = weir_context_device(s->context, 0);
    status = make_kernels(s);
  }
  if (status == WEIR_OK) {
    // While one thread waits for an input, another one delivers.
    uint32_t threads = options->workers > 1 ? options->workers : 2;
    weir_stage stages[] = {
        {.function = take_input, .user = s, .device = s->device, .name = "input"},
        {.function = submit_job, .user = s, .flags = WEIR_STAGE_PARALLEL | graph, .device = s->device, .name = "job"}};
    status = weir_pipeline_create(s->context,
                                  &(weir_pipeline_options){.stages = stages,
                                                           .stage_count = 2,
                                                           .lines = options->lines,
                                                           .threads = threads,
                                                           .deliver = deliver,
                                                           .open_line = open_line,
                                                           .user = s},
                                  &s->pipeline);
  }
  if (status == WEIR_OK) return s;
  snprintf(why, JOB_WHY, "%s", weir_last_error());
  close_way(s);
  return NULL;
}

static bool run_way(void *user, uint64_t count, const job_feed *feed, char why[JOB_WHY]) {
  state *s = user;
  s->count = count;
  s->feed = feed;
  weir_status status = weir_pipeline_run(s->pipeline, WEIR_FOREVER);
  s->first += count;
  if (status == WEIR_OK) return true;
  snprintf(why, JOB_WHY, "%s", weir_last_error());
  return false;
}

static void *open_graph(const job_shape *shape, const job_options *options, char why[JOB_WHY]) {
  return open_way(shape, options, WEIR_STAGE_GRAPH, why);
}

static void *open_tasks(const job_shape *shape, const job_options *options, char why[JOB_WHY]) {
  return open_way(shape, options, 0, why);
}

const job_way job_ways_weir[] = {
    {"weir", "a pipeline whose jobs become graphs that lines keep", open_graph, run_way, close_way},
    {"weir, tasks", "the same pipeline; a job's tasks one by one", open_tasks, run_way, close_way},
};
const uint32_t job_ways_weir_count = sizeof job_ways_weir / sizeof *job_ways_weir;
