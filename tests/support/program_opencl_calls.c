// SPDX-License-Identifier: Apache-2.0
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "device/opencl/opencl.h"
#include "program_calls.h"
#include "program_opencl.h"

static const char OPTIONS[] = "-cl-kernel-arg-info "; // as Weir's own, so that PoCL keeps one binary for both

typedef struct opencl_call {
  program_call head;
  pthread_mutex_t lock; // of `programs`
  const weir__opencl_driver *driver;
  cl_program programs[PROGRAM_MOST_DEVICES];
  cl_kernel kernels[PROGRAM_MOST_DEVICES][PROGRAM_MOST_LANES];
} opencl_call;

static void destroy(program_call *head) {
  opencl_call *own = (opencl_call *)(void *)head;
  for (uint32_t i = 0; i < PROGRAM_MOST_DEVICES; i++) {
    for (uint32_t j = 0; j < PROGRAM_MOST_LANES; j++)
      if (own->kernels[i][j] != NULL) own->driver->clReleaseKernel(own->kernels[i][j]);
    if (own->programs[i] != NULL) own->driver->clReleaseProgram(own->programs[i]);
  }
  pthread_mutex_destroy(&own->lock);
  free(own);
}

static cl_program build(const opencl_call *own, const weir_enqueue *call) {
  cl_int result;
  cl_device_id device;
  char *text = program_opencl_source(own->head.form);
  const char *texts[] = {text};
  cl_program program = own->driver->clCreateProgramWithSource(call->native_context, 1, texts, NULL, &result);
  result = own->driver->clGetCommandQueueInfo(call->queue, CL_QUEUE_DEVICE, sizeof device, &device, NULL);
  if (program != NULL && result == CL_SUCCESS)
    result = own->driver->clBuildProgram(program, 1, &device, OPTIONS, NULL, NULL);
  free(text);
  if (program == NULL || result == CL_SUCCESS) return program;
  own->driver->clReleaseProgram(program);
  return NULL;
}

// A program for each device, and a kernel for each lane, whose arguments no two calls set at once.
static weir_status prepare(const weir_enqueue *call) {
  opencl_call *own = call->data;
  uint32_t device = call->device->index;
  cl_int result;
  pthread_mutex_lock(&own->lock);
  if (own->driver == NULL) own->driver = weir__opencl_of(call->device)->driver;
  if (own->programs[device] == NULL) own->programs[device] = build(own, call);
  cl_program program = own->programs[device];
  pthread_mutex_unlock(&own->lock);
  if (program != NULL) own->kernels[device][call->lane] = own->driver->clCreateKernel(program, "body", &result);
  return own->kernels[device][call->lane] != NULL ? WEIR_OK : WEIR_ERROR_NO_CODE;
}

static cl_int set_argument(const opencl_call *own, cl_kernel kernel, uint32_t index, const weir_enqueue_arg *arg) {
  cl_mem memory = (cl_mem)(uintptr_t)arg->handle;
  if (arg->value != NULL) return own->driver->clSetKernelArg(kernel, index, arg->bytes, arg->value);
  if (memory == NULL) return own->driver->clSetKernelArgSVMPointer(kernel, index, (void *)(uintptr_t)arg->pointer);
  return arg->offset == 0 ? own->driver->clSetKernelArg(kernel, index, sizeof memory, &memory) : CL_INVALID_VALUE;
}

// Junk, which nobody reads.
static cl_int fill_scratch(const opencl_call *own, const weir_enqueue *call) {
  const uint32_t junk = 0x5a5a5a5a;
  const weir_enqueue_arg *scratch = &call->scratch;
  if (scratch->handle == 0)
    return own->driver->clEnqueueSVMMemFill(call->queue, (void *)(uintptr_t)scratch->pointer, &junk, sizeof junk,
                                            scratch->bytes, 0, NULL, NULL);
  return own->driver->clEnqueueFillBuffer(call->queue, (cl_mem)(uintptr_t)scratch->handle, &junk, sizeof junk,
                                          scratch->offset, scratch->bytes, 0, NULL, NULL);
}

static cl_int launch(const opencl_call *own, const weir_enqueue *call) {
  cl_kernel kernel = own->kernels[call->device->index][call->lane];
  cl_int result = CL_SUCCESS;
  for (uint32_t i = 0; i < call->arg_count && result == CL_SUCCESS; i++)
    result = set_argument(own, kernel, i, &call->args[i]);
  const size_t groups[3] = {call->groups[0], call->groups[1], call->groups[2]}, one[3] = {1, 1, 1};
  if (result == CL_SUCCESS)
    result = own->driver->clEnqueueNDRangeKernel(call->queue, kernel, 3, NULL, groups, one, 0, NULL, NULL);
  return result;
}

static weir_status run(const weir_enqueue *call) {
  const opencl_call *own = call->data;
  cl_int result = call->scratch.bytes == PROGRAM_SCRATCH_BYTES ? fill_scratch(own, call) : CL_INVALID_VALUE;
  if (result == CL_SUCCESS) result = launch(own, call);
  if (result != CL_SUCCESS) weir_enqueue_fail(call, "a call of OpenCL failed");
  return result != CL_SUCCESS || program_call_fails(call) ? WEIR_ERROR_TASK_FAILED : WEIR_OK;
}

static opencl_call *make(uint32_t form, program_call **list) {
  opencl_call *own = program_memory(sizeof *own);
  own->head = (program_call){.next = *list, .destroy = destroy, .form = form};
  pthread_mutex_init(&own->lock, NULL);
  *list = &own->head;
  return own;
}

weir_status program_opencl_open(const weir_enqueue *call, const uint32_t groups[3], uint32_t form,
                                program_call **list) {
  opencl_call *own = (opencl_call *)(void *)program_call_find(*list, form, destroy);
  if (own == NULL) own = make(form, list);
  own->head.opens = true;
  const weir_enqueue made = program_call_of_open(call, groups, &own->head);
  bool is_ready = own->kernels[made.device->index][made.lane] != NULL;
  weir_status status = is_ready ? WEIR_OK : prepare(&made);
  if (status != WEIR_OK) return status;
  return launch(own, &made) == CL_SUCCESS ? WEIR_OK : WEIR_ERROR_TASK_FAILED;
}

weir_status program_opencl_set_call(weir_kernel *kernel, uint32_t form, program_call **list) {
  opencl_call *own = make(form, list);
  const weir_enqueue_code code = {
      .function = run, .prepare = prepare, .scratch_bytes = PROGRAM_SCRATCH_BYTES, .data = own};
  return weir_kernel_set_enqueue(kernel, "opencl", &code);
}
