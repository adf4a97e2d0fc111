// SPDX-License-Identifier: Apache-2.0
#include "way_opencl_lines.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DIMENSIONS = 3, VERSION_2_0 = 200, LOG_BYTES = 16 * 1024 };

bool way_opencl_good(cl_int result, const char *call, char why[JOB_WHY]) {
  char text[64];
  return result == CL_SUCCESS || way_refuse(why, "%s: %s", call, weir__opencl_result_text(result, text, sizeof text));
}

// ---------------------------------------------------------------------------------------------------------------
// Device, programs

static bool find_device(way_opencl *own, const char *device, char why[JOB_WHY]) {
  uint32_t number;
  if (!way_device_number(device, "opencl", &number, why)) return false;
  own->driver = weir__opencl_driver_load(why, JOB_WHY);
  if (!own->driver) return false;
  if (number >= own->driver->count)
    return way_refuse(why, "opencl:%u: this machine has %u OpenCL devices", number, own->driver->count);
  own->listed = &own->driver->devices[number];
  if (own->listed->reason[0] != '\0') return way_refuse(why, "opencl:%u: %s", number, own->listed->reason);
  cl_int result = CL_SUCCESS;
  own->context = own->driver->clCreateContext(NULL, 1, &own->listed->device, NULL, NULL, &result);
  return own->context != NULL || way_opencl_good(result, "clCreateContext", why);
}

cl_command_queue way_opencl_queue(const way_opencl *own, bool out_of_order, char why[JOB_WHY]) {
  const weir__opencl_driver *driver = own->driver;
  const cl_bitfield wanted = out_of_order ? CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE : 0;
  const cl_ulong properties[] = {CL_QUEUE_PROPERTIES, wanted, 0};
  cl_int result = CL_INVALID_OPERATION;
  cl_command_queue queue = NULL;
  if (own->listed->version >= VERSION_2_0 && driver->clCreateCommandQueueWithProperties)
    queue = driver->clCreateCommandQueueWithProperties(own->context, own->listed->device, properties, &result);
  else if (driver->clCreateCommandQueue)
    queue = driver->clCreateCommandQueue(own->context, own->listed->device, wanted, &result);
  if (!queue) way_opencl_good(result, out_of_order ? "an out-of-order queue" : "an in-order queue", why);
  return queue;
}

// Weir's options for code that is written once.
static const char *options_of(const way_opencl *own) {
  return own->listed->exact ? "-cl-kernel-arg-info -cl-fp32-correctly-rounded-divide-sqrt" : "-cl-kernel-arg-info";
}

static bool refuse_build(const way_opencl *own, cl_program program, const char *name, char why[JOB_WHY]) {
  char *log = calloc(1, LOG_BYTES);
  if (log)
    own->driver->clGetProgramBuildInfo(program, own->listed->device, CL_PROGRAM_BUILD_LOG, LOG_BYTES - 1, log, NULL);
  way_refuse(why, "kernel '%s' does not compile: %.160s", name, log ? log : "");
  free(log);
  return false;
}

static bool build(way_opencl *own, uint32_t step, char why[JOB_WHY]) {
  const weir_kernel_code *code = own->shape->steps[step].code;
  for (uint32_t s = 0; s < step; s++) {
    const job_step *other = &own->shape->steps[s];
    if (other->kind == JOB_KERNEL && other->code->source == code->source) own->programs[step] = own->programs[s];
  }
  if (own->programs[step]) return true;
  if (!code->source) return way_refuse(why, "kernel '%s' has no source", code->name);
  const char *source = code->source;
  cl_int result = CL_SUCCESS;
  own->programs[step] = own->driver->clCreateProgramWithSource(own->context, 1, &source, NULL, &result);
  if (!own->programs[step]) return way_opencl_good(result, "clCreateProgramWithSource", why);
  result = own->driver->clBuildProgram(own->programs[step], 1, &own->listed->device, options_of(own), NULL, NULL);
  return result == CL_SUCCESS || refuse_build(own, own->programs[step], code->name, why);
}

// ---------------------------------------------------------------------------------------------------------------
// Lines

static bool make_kernel(way_opencl *own, way_opencl_line *line, uint32_t s, char why[JOB_WHY]) {
  const job_step *step = &own->shape->steps[s];
  cl_int result = CL_SUCCESS;
  line->kernels[s] = own->driver->clCreateKernel(own->programs[s], step->code->name, &result);
  if (!line->kernels[s]) return way_opencl_good(result, "clCreateKernel", why);
  for (uint32_t i = 0; i < step->arg_count; i++) {
    const job_arg *arg = &step->args[i];
    const void *value = arg->is_value ? (const void *)arg->value : &line->buffers[arg->buffer];
    size_t bytes = arg->is_value ? arg->bytes : sizeof(cl_mem);
    result = own->driver->clSetKernelArg(line->kernels[s], i, bytes, value);
    if (!way_opencl_good(result, "clSetKernelArg", why)) return false;
  }
  return true;
}

static bool make_line(way_opencl *own, way_opencl_line *line, char why[JOB_WHY]) {
  const job_shape *shape = own->shape;
  line->buffers = calloc((size_t)shape->buffer_count + 1, sizeof(cl_mem));
  line->kernels = calloc((size_t)shape->step_count + 1, sizeof(cl_kernel));
  line->events = calloc((size_t)shape->step_count + 1, sizeof(cl_event));
  line->waits = calloc((size_t)shape->step_count + 1, sizeof(cl_event));
  line->results = calloc((size_t)shape->host_count + 1, sizeof *line->results);
  if (!line->buffers || !line->kernels || !line->events || !line->waits || !line->results)
    return way_refuse(why, "no memory");
  for (uint32_t i = 0; i < shape->buffer_count; i++) {
    cl_int result = CL_SUCCESS;
    line->buffers[i] =
        own->driver->clCreateBuffer(own->context, CL_MEM_READ_WRITE, shape->buffer_bytes[i], NULL, &result);
    if (!line->buffers[i]) return way_opencl_good(result, "clCreateBuffer", why);
  }
  for (uint32_t s = 0; s < shape->step_count; s++) {
    const job_step *step = &shape->steps[s];
    if (step->kind == JOB_KERNEL && !make_kernel(own, line, s, why)) return false;
    if (step->kind != JOB_COPY_OUT || line->results[step->host]) continue;
    line->results[step->host] = calloc(1, shape->host_bytes[step->host]);
    if (!line->results[step->host]) return way_refuse(why, "no memory");
  }
  return true;
}

static void free_line(const way_opencl *own, way_opencl_line *line) {
  const job_shape *shape = own->shape;
  for (uint32_t s = 0; line->kernels && s < shape->step_count; s++)
    if (line->kernels[s]) own->driver->clReleaseKernel(line->kernels[s]);
  for (uint32_t i = 0; line->buffers && i < shape->buffer_count; i++)
    if (line->buffers[i]) own->driver->clReleaseMemObject(line->buffers[i]);
  for (uint32_t i = 0; line->results && i < shape->host_count; i++) free(line->results[i]);
  if (line->end) own->driver->clReleaseEvent(line->end);
  free(line->buffers);
  free(line->kernels);
  free(line->events);
  free(line->waits);
  free(line->results);
}

static bool make(way_opencl *own, const char *device, char why[JOB_WHY]) {
  const job_shape *shape = own->shape;
  if (!find_device(own, device, why)) return false;
  own->programs = calloc((size_t)shape->step_count + 1, sizeof(cl_program));
  own->lines = calloc(own->line_count, sizeof *own->lines);
  if (!own->programs || !own->lines || !way_steps_make(shape, &own->steps)) return way_refuse(why, "no memory");
  for (uint32_t s = 0; s < shape->step_count; s++)
    if (shape->steps[s].kind == JOB_KERNEL && !build(own, s, why)) return false;
  for (uint32_t i = 0; i < own->line_count; i++)
    if (!make_line(own, &own->lines[i], why)) return false;
  return true;
}

way_opencl *way_opencl_create(const job_shape *shape, const char *device, uint32_t lines, char why[JOB_WHY]) {
  way_opencl *own = calloc(1, sizeof *own);
  if (!own) {
    way_refuse(why, "no memory");
    return NULL;
  }
  own->shape = shape;
  own->line_count = lines > 0 ? lines : 1;
  if (make(own, device, why)) return own;
  way_opencl_destroy(own);
  return NULL;
}

void way_opencl_destroy(way_opencl *own) {
  if (!own) return;
  for (uint32_t i = 0; own->lines && i < own->line_count; i++) free_line(own, &own->lines[i]);
  for (uint32_t s = 0; own->programs && s < own->shape->step_count; s++) {
    bool is_first = own->programs[s] != NULL;
    for (uint32_t p = 0; p < s; p++) is_first = is_first && own->programs[p] != own->programs[s];
    if (is_first) own->driver->clReleaseProgram(own->programs[s]);
  }
  if (own->context) own->driver->clReleaseContext(own->context);
  way_steps_free(&own->steps);
  free(own->programs);
  free(own->lines);
  free(own);
}

// ---------------------------------------------------------------------------------------------------------------
// Jobs

static cl_int enqueue_step(const way_opencl *own, const way_opencl_line *line, uint32_t s, cl_command_queue queue,
                           void *const *inputs, cl_uint wait_count, const cl_event *waits, cl_event *out_event) {
  const job_step *step = &own->shape->steps[s];
  const weir__opencl_driver *driver = own->driver;
  uint64_t bytes = step->kind == JOB_KERNEL ? 0 : own->shape->host_bytes[step->host];
  size_t global[DIMENSIONS], local[DIMENSIONS];
  switch (step->kind) {
  case JOB_COPY_IN:
    return driver->clEnqueueWriteBuffer(queue, line->buffers[step->buffer], 0, 0, bytes, inputs[step->host], wait_count,
                                        waits, out_event);
  case JOB_COPY_OUT:
    return driver->clEnqueueReadBuffer(queue, line->buffers[step->buffer], 0, 0, bytes, line->results[step->host],
                                       wait_count, waits, out_event);
  case JOB_KERNEL:
    break;
  }
  for (int i = 0; i < DIMENSIONS; i++) {
    local[i] = step->code->block[i];
    global[i] = local[i] * way_groups(step, i);
  }
  return driver->clEnqueueNDRangeKernel(queue, line->kernels[s], DIMENSIONS, NULL, global, local, wait_count, waits,
                                        out_event);
}

bool way_opencl_enqueue(way_opencl *own, uint32_t line, cl_command_queue queue, void *const *inputs,
                        char why[JOB_WHY]) {
  for (uint32_t s = 0; s < own->shape->step_count; s++) {
    cl_int result = enqueue_step(own, &own->lines[line], s, queue, inputs, 0, NULL, NULL);
    if (!way_opencl_good(result, "a command", why)) return false;
  }
  return way_opencl_good(own->driver->clFlush(queue), "clFlush", why);
}

bool way_opencl_enqueue_graph(way_opencl *own, uint32_t line, cl_command_queue queue, void *const *inputs,
                              char why[JOB_WHY]) {
  way_opencl_line *at = &own->lines[line];
  const way_steps *steps = &own->steps;
  cl_int result = CL_SUCCESS;
  uint32_t put = 0;
  for (; put < steps->count && result == CL_SUCCESS; put++) {
    uint32_t first = steps->first_before[put], count = steps->first_before[put + 1] - first;
    for (uint32_t i = 0; i < count; i++) at->waits[i] = at->events[steps->before[first + i]];
    result = enqueue_step(own, at, put, queue, inputs, count, count > 0 ? at->waits : NULL, &at->events[put]);
  }
  uint32_t events = result == CL_SUCCESS ? put : put - 1;
  // In an out-of-order queue a marker without a list waits for all that is in the queue, other jobs' commands too.
  if (result == CL_SUCCESS && events > 0) {
    cl_uint count = 0;
    for (uint32_t s = 0; s < events; s++)
      if (steps->first_after[s] == steps->first_after[s + 1]) at->waits[count++] = at->events[s];
    result = own->driver->clEnqueueMarkerWithWaitList(queue, count, at->waits, &at->end);
  }
  for (uint32_t s = 0; s < events; s++) own->driver->clReleaseEvent(at->events[s]);
  if (result == CL_SUCCESS) result = own->driver->clFlush(queue);
  return way_opencl_good(result, "a command of the graph", why);
}
