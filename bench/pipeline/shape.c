// SPDX-License-Identifier: Apache-2.0
#include "shape.h"

#include <stdlib.h>
#include <string.h>

job_arg job_int(int32_t value) {
  job_arg arg = {.is_value = true, .bytes = sizeof value};
  memcpy(arg.value, &value, sizeof value);
  return arg;
}

static job_step *add_step(job_builder *builder, job_step_kind kind) {
  job_shape *shape = &builder->shape;
  if (shape->step_count == builder->room) {
    uint32_t room = builder->room ? 2 * builder->room : 16;
    job_step *steps = realloc(shape->steps, room * sizeof *steps);
    if (!steps) {
      builder->failed = true;
      return NULL;
    }
    shape->steps = steps;
    builder->room = room;
  }
  job_step *step = &shape->steps[shape->step_count++];
  *step = (job_step){.kind = kind, .groups = {1, 1, 1}};
  return step;
}

static uint32_t add_host(job_builder *builder, uint64_t bytes) {
  if (builder->shape.host_count == JOB_MOST_HOSTS) {
    builder->failed = true;
    return 0;
  }
  builder->shape.host_bytes[builder->shape.host_count] = bytes;
  return builder->shape.host_count++;
}

static void add_copy(job_builder *builder, job_step_kind kind, uint32_t buffer) {
  uint32_t host = add_host(builder, builder->shape.buffer_bytes[buffer]);
  job_step *step = add_step(builder, kind);
  if (!step) return;
  step->buffer = buffer;
  step->host = host;
}

uint32_t job_add_buffer(job_builder *builder, uint64_t bytes) {
  if (builder->shape.buffer_count == JOB_MOST_BUFFERS) {
    builder->failed = true;
    return 0;
  }
  builder->shape.buffer_bytes[builder->shape.buffer_count] = bytes;
  return builder->shape.buffer_count++;
}

uint32_t job_add_input(job_builder *builder, uint64_t bytes) {
  uint32_t buffer = job_add_buffer(builder, bytes);
  add_copy(builder, JOB_COPY_IN, buffer);
  return buffer;
}

uint32_t job_add_result(job_builder *builder, uint32_t buffer) {
  add_copy(builder, JOB_COPY_OUT, buffer);
  return builder->shape.host_count - 1;
}

void job_add_kernel(job_builder *builder, const weir_kernel_code *code, uint32_t groups_x, uint32_t groups_y,
                    const job_arg *args, uint32_t arg_count) {
  job_step *step = add_step(builder, JOB_KERNEL);
  if (!step) return;
  step->code = code;
  step->groups[0] = groups_x;
  step->groups[1] = groups_y;
  step->arg_count = arg_count;
  memcpy(step->args, args, arg_count * sizeof *args);
}

bool job_shape_built(job_builder *builder, job_shape *out_shape) {
  if (builder->failed) {
    job_shape_free(&builder->shape);
    *out_shape = (job_shape){0};
    return false;
  }
  *out_shape = builder->shape;
  return true;
}

void job_shape_free(job_shape *shape) {
  free(shape->steps);
  *shape = (job_shape){0};
}

bool job_is_result(const job_shape *shape, uint32_t host) {
  for (uint32_t i = 0; i < shape->step_count; i++) {
    if (shape->steps[i].kind == JOB_COPY_OUT && shape->steps[i].host == host) return true;
  }
  return false;
}

uint32_t job_size_index(uint64_t kernels_ns) {
  return kernels_ns < 30000 ? 0 : kernels_ns < 300000 ? 1 : 2;
}

uint32_t job_kind_index(const char *kind) {
  return strcmp(kind, "opencl") == 0 ? 1 : strcmp(kind, "cuda") == 0 ? 2 : 0;
}
