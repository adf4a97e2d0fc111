// SPDX-License-Identifier: Apache-2.0
#include "way_cpu_job.h"

#include <stdlib.h>
#include <string.h>

#include "way_steps.h"

enum { ALIGNMENT = 64, LEAST_COPY = 64 * 1024 };

static void *allocate(uint64_t bytes) {
  void *memory = NULL;
  if (posix_memalign(&memory, ALIGNMENT, bytes > 0 ? bytes : 1) != 0) return NULL;
  return memset(memory, 0, bytes);
}

static void free_line(const job_shape *shape, way_cpu_line *line) {
  for (uint32_t i = 0; line->buffers && i < shape->buffer_count; i++) free(line->buffers[i]);
  for (uint32_t i = 0; line->results && i < shape->host_count; i++) free(line->results[i]);
  free(line->buffers);
  free(line->results);
  free(line->args);
}

static void set_args(const way_cpu_job *job, way_cpu_line *line) {
  for (uint32_t s = 0; s < job->shape->step_count; s++) {
    const job_step *step = &job->shape->steps[s];
    for (uint32_t i = 0; step->kind == JOB_KERNEL && i < step->arg_count; i++) {
      uint32_t at = job->first_arg[s] + i;
      line->args[at] = step->args[i].is_value ? (void *)job->values[at] : line->buffers[step->args[i].buffer];
    }
  }
}

static bool make_line(const way_cpu_job *job, way_cpu_line *line) {
  const job_shape *shape = job->shape;
  line->buffers = calloc((size_t)shape->buffer_count + 1, sizeof *line->buffers);
  line->results = calloc((size_t)shape->host_count + 1, sizeof *line->results);
  line->args = calloc((size_t)job->first_arg[shape->step_count] + 1, sizeof *line->args);
  if (!line->buffers || !line->results || !line->args) return false;
  for (uint32_t i = 0; i < shape->buffer_count; i++) {
    line->buffers[i] = allocate(shape->buffer_bytes[i]);
    if (!line->buffers[i]) return false;
  }
  for (uint32_t s = 0; s < shape->step_count; s++) {
    const job_step *step = &shape->steps[s];
    if (step->kind != JOB_COPY_OUT || line->results[step->host]) continue;
    line->results[step->host] = allocate(shape->host_bytes[step->host]);
    if (!line->results[step->host]) return false;
  }
  set_args(job, line);
  return true;
}

static bool make(const job_shape *shape, way_cpu_job *job) {
  job->first_arg = calloc((size_t)shape->step_count + 1, sizeof *job->first_arg);
  job->lines = calloc(job->line_count, sizeof *job->lines);
  if (!job->first_arg || !job->lines) return false;
  for (uint32_t s = 0; s < shape->step_count; s++) {
    const job_step *step = &shape->steps[s];
    job->first_arg[s + 1] = job->first_arg[s] + (step->kind == JOB_KERNEL ? step->arg_count : 0);
  }
  job->values = allocate(((uint64_t)job->first_arg[shape->step_count] + 1) * sizeof *job->values);
  if (!job->values) return false;
  for (uint32_t s = 0; s < shape->step_count; s++) {
    const job_step *step = &shape->steps[s];
    for (uint32_t i = 0; step->kind == JOB_KERNEL && i < step->arg_count; i++)
      memcpy(job->values[job->first_arg[s] + i], step->args[i].value, sizeof step->args[i].value);
  }
  for (uint32_t i = 0; i < job->line_count; i++) {
    if (!make_line(job, &job->lines[i])) return false;
  }
  return true;
}

bool way_cpu_job_make(const job_shape *shape, const job_options *options, way_cpu_job *out_job, char why[JOB_WHY]) {
  uint32_t number;
  *out_job = (way_cpu_job){.shape = shape, .line_count = options->lines > 0 ? options->lines : 1};
  if (!way_device_number(options->device, "cpu", &number, why)) return false;
  if (make(shape, out_job)) return true;
  way_cpu_job_free(out_job);
  return way_refuse(why, "no memory for %u lines", options->lines);
}

void way_cpu_job_free(way_cpu_job *job) {
  for (uint32_t i = 0; job->lines && i < job->line_count; i++) free_line(job->shape, &job->lines[i]);
  free(job->lines);
  free(job->first_arg);
  free(job->values);
  *job = (way_cpu_job){0};
}

uint64_t way_cpu_step_size(const way_cpu_job *job, uint32_t step) {
  const job_step *at = &job->shape->steps[step];
  if (at->kind != JOB_KERNEL) return job->shape->host_bytes[at->host];
  return (uint64_t)way_groups(at, 0) * way_groups(at, 1) * way_groups(at, 2);
}

uint32_t way_cpu_step_parts(const way_cpu_job *job, uint32_t step, uint32_t most) {
  uint64_t size = way_cpu_step_size(job, step);
  uint64_t parts = job->shape->steps[step].kind == JOB_KERNEL ? size : size / LEAST_COPY;
  return parts >= most ? most : parts > 0 ? (uint32_t)parts : 1;
}

static void launch(const way_cpu_job *job, uint32_t line, uint32_t step, uint64_t first, uint64_t end) {
  const job_step *at = &job->shape->steps[step];
  weir_work work = {.args = job->lines[line].args + job->first_arg[step],
                    .arg_count = at->arg_count,
                    .groups = {way_groups(at, 0), way_groups(at, 1), way_groups(at, 2)},
                    .first = first,
                    .end = end};
  at->code->function(&work);
}

void way_cpu_run_part(const way_cpu_job *job, uint32_t line, uint32_t step, uint32_t part, uint32_t parts,
                      void *const *inputs) {
  const job_step *at = &job->shape->steps[step];
  const way_cpu_line *own = &job->lines[line];
  uint64_t size = way_cpu_step_size(job, step);
  uint64_t first = size / parts * part + (part < size % parts ? part : size % parts);
  uint64_t end = first + size / parts + (part < size % parts ? 1 : 0);
  if (at->kind == JOB_KERNEL)
    launch(job, line, step, first, end);
  else if (at->kind == JOB_COPY_IN)
    memcpy(own->buffers[at->buffer] + first, (const unsigned char *)inputs[at->host] + first, end - first);
  else
    memcpy((unsigned char *)own->results[at->host] + first, own->buffers[at->buffer] + first, end - first);
}

void way_cpu_run(const way_cpu_job *job, uint32_t line, void *const *inputs) {
  for (uint32_t s = 0; s < job->shape->step_count; s++) way_cpu_run_part(job, line, s, 0, 1, inputs);
}
