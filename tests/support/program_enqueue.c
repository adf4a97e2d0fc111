// SPDX-License-Identifier: Apache-2.0
#include "program_enqueue.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "program_body.h"
#include "program_cuda.h"
#include "program_runner.h"

enum { DEVICES = 8, SCRATCH_BYTES = 200 };

// The driver's functions, with handles as void *.
static struct {
  int (*retain)(void **context, int device);
  int (*release)(int device);
  int (*push)(void *context);
  int (*pop)(void **context);
  int (*load)(void **module, const void *image, unsigned int count, void *options, void *values);
  int (*unload)(void *module);
  int (*find)(void **function, void *module, const char *name);
  int (*set)(unsigned long long to, unsigned char value, size_t bytes, void *stream);
  int (*launch)(void *function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z, unsigned int block_x,
                unsigned int block_y, unsigned int block_z, unsigned int shared, void *stream, void **parameters,
                void **extra);
} driver;

// Of each device: a module of the program's own, and a hold of the context.
static struct { void *context, *module; } own[DEVICES];
static pthread_mutex_t own_lock = PTHREAD_MUTEX_INITIALIZER;

static void find(void *library, const char *name, void *out_function) {
  void *symbol = dlsym(library, name);
  memcpy(out_function, &symbol, sizeof symbol);
  if (symbol == NULL) abort();
}

static void expect(int result) {
  if (result == 0) return;
  fprintf(stderr, "an enqueue function: CUDA error %d\n", result);
  abort();
}

static void find_driver(void) {
  void *library = dlopen(getenv("WEIR_CUDA_DRIVER"), RTLD_NOW);
  find(library, "cuDevicePrimaryCtxRetain", &driver.retain);
  find(library, "cuDevicePrimaryCtxRelease_v2", &driver.release);
  find(library, "cuCtxPushCurrent_v2", &driver.push);
  find(library, "cuCtxPopCurrent_v2", &driver.pop);
  find(library, "cuModuleLoadDataEx", &driver.load);
  find(library, "cuModuleUnload", &driver.unload);
  find(library, "cuModuleGetFunction", &driver.find);
  find(library, "cuMemsetD8Async", &driver.set);
  find(library, "cuLaunchKernel", &driver.launch);
}

// The module in the call's context.
static void *module_of(const weir_enqueue *call) {
  unsigned device = 0;
  sscanf(weir_device_information(call->device)->name, "cuda:%u", &device);
  pthread_mutex_lock(&own_lock);
  if (driver.launch == NULL) find_driver();
  if (own[device].module == NULL) {
    expect(driver.retain(&own[device].context, (int)device));
    expect(driver.push(own[device].context));
    expect(driver.load(&own[device].module, program_cuda_image(runner_is_packed()), 0, NULL, NULL));
    expect(driver.pop(NULL));
  }
  void *module = own[device].module;
  pthread_mutex_unlock(&own_lock);
  return module;
}

// Launches the function for as many arguments as the call has.
static void launch(const weir_enqueue *call, const uint32_t groups[3]) {
  char name[16];
  void *function, *parameters[BODY_MAX_ARGS + 1];
  snprintf(name, sizeof name, "body%u", call->arg_count - 1);
  expect(driver.find(&function, module_of(call), name));
  for (uint32_t i = 0; i < call->arg_count; i++) {
    const weir_enqueue_arg *arg = &call->args[i];
    parameters[i] = (void *)(uintptr_t)(arg->value != NULL ? arg->value : (const void *)&arg->pointer);
  }
  expect(driver.launch(function, groups[0], groups[1], groups[2], 1, 1, 1, 0, call->queue, parameters, NULL));
}

// Makes no module while the queue is captured.
static weir_status prepare(const weir_enqueue *call) {
  if (call->capturing) abort();
  module_of(call);
  return WEIR_OK;
}

static weir_status enqueue(const weir_enqueue *call) {
  if (call->lane >= call->lane_count) abort();
  if (call->scratch.bytes > 0) {
    if (call->scratch.bytes != SCRATCH_BYTES || call->scratch.pointer % 256 != 0) abort();
    expect(driver.set(call->scratch.pointer, 0x5a, SCRATCH_BYTES, call->queue));
  }
  launch(call, call->groups);
  return WEIR_OK;
}

static weir_status refuse_capture(const weir_enqueue *call) {
  return call->capturing ? WEIR_ERROR_TASK_FAILED : enqueue(call);
}

weir_status program_enqueue_set(weir_kernel *kernel, bool scratch, bool pure, uint32_t refusal) {
  uint32_t flags = (pure ? WEIR_ENQUEUE_PURE : 0) | (refusal == 1 ? WEIR_ENQUEUE_NO_CAPTURE : 0);
  weir_enqueue_code code = {.function = refusal == 2 ? refuse_capture : enqueue,
                            .prepare = prepare,
                            .scratch_bytes = scratch ? SCRATCH_BYTES : 0,
                            .flags = flags};
  return weir_kernel_set_enqueue(kernel, "cuda", &code);
}

void program_enqueue_open(const weir_enqueue *call, const uint32_t groups[3]) {
  uint32_t all[3];
  for (int i = 0; i < 3; i++) all[i] = groups[i] == 0 ? 1 : groups[i];
  module_of(call); // which also finds the driver
  expect(driver.push(call->native_context));
  launch(call, all);
  expect(driver.pop(NULL));
}

void program_enqueue_end(void) {
  for (int i = 0; i < DEVICES; i++) {
    if (own[i].module == NULL) continue;
    expect(driver.push(own[i].context));
    expect(driver.unload(own[i].module));
    expect(driver.pop(NULL));
    expect(driver.release(i));
    own[i].module = own[i].context = NULL;
  }
}
