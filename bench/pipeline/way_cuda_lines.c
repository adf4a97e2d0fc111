// SPDX-License-Identifier: Apache-2.0
#include "way_cuda_lines.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/allocate.h"
#include "device/cuda/nvrtc.h"
#include "ways.h"

bool way_cuda_good(const way_cuda *own, CUresult result, const char *call, char why[JOB_WHY]) {
  char text[160];
  return result == CUDA_SUCCESS ||
         way_refuse(why, "%s: %s", call, weir__cuda_result_text(own->driver, result, text, sizeof text));
}

// ---------------------------------------------------------------------------------------------------------------
// Device, modules

// N of "cuda:N"; 0 of "cuda".
static bool read_number(const char *device, uint32_t *out_number, char why[JOB_WHY]) {
  char *end = NULL;
  *out_number = 0;
  if (strcmp(device, "cuda") == 0) return true;
  if (strncmp(device, "cuda:", 5) == 0 && device[5] >= '0' && device[5] <= '9') {
    unsigned long number = strtoul(device + 5, &end, 10);
    *out_number = (uint32_t)number;
    if (*end == '\0' && number <= 9999) return true;
  }
  return way_refuse(why, "it runs on 'cuda' and 'cuda:N', and not on '%.60s'", device);
}

static bool find_device(way_cuda *own, const char *device, char why[JOB_WHY]) {
  uint32_t number;
  if (!read_number(device, &number, why)) return false;
  const weir__cuda_driver *driver = weir__cuda_driver_load(why, JOB_WHY);
  if (!driver) return false;
  own->driver = driver;
  if (number >= (uint32_t)driver->device_count)
    return way_refuse(why, "cuda:%u: this machine has %d CUDA devices", number, driver->device_count);
  return way_cuda_good(own, driver->cuDeviceGet(&own->device, (int)number), "cuDeviceGet", why) &&
         way_cuda_good(own, driver->cuDevicePrimaryCtxRetain(&own->context, own->device), "cuDevicePrimaryCtxRetain",
                       why);
}

bool way_cuda_enter(const way_cuda *own, char why[JOB_WHY]) {
  return way_cuda_good(own, own->driver->cuCtxPushCurrent(own->context), "cuCtxPushCurrent", why);
}

void way_cuda_leave(const way_cuda *own) {
  CUcontext context = NULL;
  own->driver->cuCtxPopCurrent(&context);
}

// Weir's options for code that is written once.
static bool load(way_cuda *own, uint32_t step, char why[JOB_WHY]) {
  const weir_kernel_code *code = own->shape->steps[step].code;
  for (uint32_t s = 0; s < step; s++) {
    const job_step *other = &own->shape->steps[s];
    if (other->kind == JOB_KERNEL && other->code->source == code->source) own->modules[step] = own->modules[s];
  }
  if (!own->modules[step]) {
    if (!code->source) return way_refuse(why, "kernel '%s' has no source", code->name);
    int major = 0, minor = 0;
    own->driver->cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, own->device);
    own->driver->cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, own->device);
    void *image = NULL;
    size_t bytes = 0;
    if (weir__nvrtc_compile(code->name, code->source, "-fmad=false", 10 * major + minor, &image, &bytes) != WEIR_OK)
      return way_refuse(why, "%s", weir_last_error());
    CUresult result = own->driver->cuModuleLoadDataEx(&own->modules[step], image, 0, NULL, NULL);
    weir__free(image);
    if (!way_cuda_good(own, result, "cuModuleLoadDataEx", why)) return false;
  }
  return way_cuda_good(own, own->driver->cuModuleGetFunction(&own->functions[step], own->modules[step], code->name),
                       code->name, why);
}

// ---------------------------------------------------------------------------------------------------------------
// Lines

static bool make_host(const way_cuda *own, void **memory, uint64_t bytes, char why[JOB_WHY]) {
  return *memory || way_cuda_good(own, own->driver->cuMemHostAlloc(memory, bytes, CU_MEMHOSTALLOC_PORTABLE),
                                  "cuMemHostAlloc", why);
}

static void set_parameters(const way_cuda *own, way_cuda_line *line, uint32_t s) {
  const job_step *step = &own->shape->steps[s];
  for (uint32_t i = 0; i < step->arg_count; i++) {
    const job_arg *arg = &step->args[i];
    line->parameters[own->first_arg[s] + i] =
        arg->is_value ? (void *)(uintptr_t)arg->value : (void *)&line->buffers[arg->buffer];
  }
}

static bool make_line(way_cuda *own, way_cuda_line *line, char why[JOB_WHY]) {
  const job_shape *shape = own->shape;
  line->buffers = calloc((size_t)shape->buffer_count + 1, sizeof *line->buffers);
  line->inputs = calloc((size_t)shape->host_count + 1, sizeof *line->inputs);
  line->from = calloc((size_t)shape->host_count + 1, sizeof *line->from);
  line->results = calloc((size_t)shape->host_count + 1, sizeof *line->results);
  line->parameters = calloc((size_t)own->first_arg[shape->step_count] + 1, sizeof *line->parameters);
  line->nodes = calloc((size_t)shape->step_count + 1, sizeof *line->nodes);
  line->sources = calloc((size_t)shape->step_count + 1, sizeof *line->sources);
  if (!line->buffers || !line->inputs || !line->from || !line->results || !line->parameters || !line->nodes ||
      !line->sources)
    return way_refuse(why, "no memory");
  for (uint32_t i = 0; i < shape->buffer_count; i++) {
    CUresult result = own->driver->cuMemAlloc(&line->buffers[i], shape->buffer_bytes[i]);
    if (!way_cuda_good(own, result, "cuMemAlloc", why)) return false;
  }
  for (uint32_t s = 0; s < shape->step_count; s++) {
    const job_step *step = &shape->steps[s];
    if (step->kind == JOB_KERNEL) {
      set_parameters(own, line, s);
      continue;
    }
    void **memory = step->kind == JOB_COPY_IN ? &line->inputs[step->host] : &line->results[step->host];
    if (!make_host(own, memory, shape->host_bytes[step->host], why)) return false;
  }
  return true;
}

static void free_line(way_cuda *own, uint32_t index) {
  const job_shape *shape = own->shape;
  way_cuda_line *line = &own->lines[index];
  way_cuda_graph_free(own, index);
  for (uint32_t i = 0; line->buffers && i < shape->buffer_count; i++)
    if (line->buffers[i]) own->driver->cuMemFree(line->buffers[i]);
  for (uint32_t i = 0; i < shape->host_count; i++) {
    if (line->inputs && line->inputs[i]) own->driver->cuMemFreeHost(line->inputs[i]);
    if (line->results && line->results[i]) own->driver->cuMemFreeHost(line->results[i]);
  }
  free(line->buffers);
  free(line->inputs);
  free(line->from);
  free(line->results);
  free(line->parameters);
  free(line->nodes);
  free(line->sources);
}

static bool make(way_cuda *own, char why[JOB_WHY]) {
  const job_shape *shape = own->shape;
  own->modules = calloc((size_t)shape->step_count + 1, sizeof *own->modules);
  own->functions = calloc((size_t)shape->step_count + 1, sizeof *own->functions);
  own->first_arg = calloc((size_t)shape->step_count + 1, sizeof *own->first_arg);
  own->lines = calloc(own->line_count, sizeof *own->lines);
  if (!own->modules || !own->functions || !own->first_arg || !own->lines) return way_refuse(why, "no memory");
  for (uint32_t s = 0; s < shape->step_count; s++) {
    bool launches = shape->steps[s].kind == JOB_KERNEL;
    own->first_arg[s + 1] = own->first_arg[s] + (launches ? shape->steps[s].arg_count : 0);
    if (launches && !load(own, s, why)) return false;
  }
  for (uint32_t i = 0; i < own->line_count; i++)
    if (!make_line(own, &own->lines[i], why) || !way_cuda_graph_make(own, i, why)) return false;
  return true;
}

way_cuda *way_cuda_create(const job_shape *shape, const char *device, uint32_t lines, char why[JOB_WHY]) {
  way_cuda *own = calloc(1, sizeof *own);
  if (!own) {
    way_refuse(why, "no memory");
    return NULL;
  }
  own->shape = shape;
  own->line_count = lines > 0 ? lines : 1;
  bool made = find_device(own, device, why) && way_cuda_enter(own, why);
  if (made) {
    made = make(own, why);
    way_cuda_leave(own);
  }
  if (made) return own;
  way_cuda_destroy(own);
  return NULL;
}

static void free_modules(way_cuda *own) {
  for (uint32_t s = 0; own->modules && s < own->shape->step_count; s++) {
    bool is_first = own->modules[s] != NULL;
    for (uint32_t p = 0; p < s; p++) is_first = is_first && own->modules[p] != own->modules[s];
    if (is_first) own->driver->cuModuleUnload(own->modules[s]);
  }
}

void way_cuda_destroy(way_cuda *own) {
  if (!own) return;
  char why[JOB_WHY];
  if (own->context && way_cuda_enter(own, why)) {
    for (uint32_t i = 0; own->lines && i < own->line_count; i++) free_line(own, i);
    free_modules(own);
    way_cuda_leave(own);
  }
  if (own->context) own->driver->cuDevicePrimaryCtxRelease(own->device);
  free(own->modules);
  free(own->functions);
  free(own->first_arg);
  free(own->lines);
  free(own);
}

// ---------------------------------------------------------------------------------------------------------------
// Jobs

void way_cuda_begin(way_cuda *own) {
  for (uint32_t i = 0; i < own->line_count; i++) own->lines[i].known_count = 0;
}

static bool is_pinned(way_cuda *own, way_cuda_line *line, const void *host) {
  uint32_t count = line->known_count < WAY_CUDA_KNOWN ? line->known_count : WAY_CUDA_KNOWN;
  for (uint32_t i = 0; i < count; i++)
    if (line->known[i].host == host) return line->known[i].pinned;
  unsigned int type = 0;
  CUresult result =
      own->driver->cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (CUdeviceptr)(uintptr_t)host);
  bool pinned = result == CUDA_SUCCESS && type == CU_MEMORYTYPE_HOST;
  uint32_t at = line->known_count++ % WAY_CUDA_KNOWN;
  line->known[at].host = host;
  line->known[at].pinned = pinned;
  return pinned;
}

void way_cuda_stage(way_cuda *own, uint32_t line, void *const *inputs) {
  way_cuda_line *at = &own->lines[line];
  for (uint32_t i = 0; i < own->shape->host_count; i++) {
    if (!at->inputs[i]) continue;
    at->from[i] =
        is_pinned(own, at, inputs[i]) ? inputs[i] : memcpy(at->inputs[i], inputs[i], own->shape->host_bytes[i]);
  }
}
