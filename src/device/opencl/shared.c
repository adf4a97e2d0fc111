// SPDX-License-Identifier: Apache-2.0
//
// Which devices work in the host's memory: those that say so (fine-grained system sharing), and CPUs, whose kernels run in this
// process, if the driver takes any address. That is tried once for each device.
#include <stdlib.h>
#include <string.h>

#include "base/allocate.h"
#include "device/opencl/opencl.h"

typedef enum answer { UNKNOWN, YES, NO } answer;

static struct {
  weir__lock lock;
  answer answers[WEIR__OPENCL_MOST_DEVICES];
} tried;

static const char source[] = "__kernel void weir_try(__global uint *words, uint add) { words[1] = words[0] + add; }";

typedef struct trial {
  cl_context context;
  cl_command_queue queue;
  cl_program program;
  cl_kernel kernel;
} trial;

static bool begin(const weir__opencl_driver *driver, const weir__opencl_listed *listed, trial *made) {
  cl_device_id device = listed->device;
  cl_int result;
  const char *text = source;
  made->context = driver->clCreateContext(NULL, 1, &device, NULL, NULL, &result);
  if (made->context == NULL) return false;
  made->queue = weir__opencl_queue_create(driver, listed, made->context, device, false, &result);
  made->program = driver->clCreateProgramWithSource(made->context, 1, &text, NULL, &result);
  if (made->queue == NULL || made->program == NULL ||
      driver->clBuildProgram(made->program, 1, &device, "", NULL, NULL) != CL_SUCCESS)
    return false;
  made->kernel = driver->clCreateKernel(made->program, "weir_try", &result);
  return made->kernel != NULL;
}

static void end(const weir__opencl_driver *driver, const trial *made) {
  if (made->kernel != NULL) driver->clReleaseKernel(made->kernel);
  if (made->program != NULL) driver->clReleaseProgram(made->program);
  if (made->queue != NULL) driver->clReleaseCommandQueue(made->queue);
  if (made->context != NULL) driver->clReleaseContext(made->context);
}

// Kernel, copy and fill on the memory. They are over when it returns, also where a later one was refused, unless it says not.
static bool use(const weir__opencl_driver *driver, const trial *made, uint32_t *words, bool *out_over) {
  const uint32_t add = 5, pattern = 9;
  const size_t one = 1;
  words[0] = 2;
  bool all =
      driver->clSetKernelArgSVMPointer(made->kernel, 0, words) == CL_SUCCESS &&
      driver->clSetKernelArg(made->kernel, 1, sizeof add, &add) == CL_SUCCESS &&
      driver->clEnqueueNDRangeKernel(made->queue, made->kernel, 1, NULL, &one, &one, 0, NULL, NULL) == CL_SUCCESS &&
      driver->clEnqueueSVMMemcpy(made->queue, CL_FALSE, words + 2, words + 1, 4, 0, NULL, NULL) == CL_SUCCESS &&
      driver->clEnqueueSVMMemFill(made->queue, words + 3, &pattern, 4, 4, 0, NULL, NULL) == CL_SUCCESS;
  *out_over = driver->clFinish(made->queue) == CL_SUCCESS;
  return all && *out_over && words[1] == 7 && words[2] == 7 && words[3] == 9;
}

// UNKNOWN: it could not be tried this time.
static answer try_it(const weir__opencl_driver *driver, const weir__opencl_listed *listed) {
  trial made = {0};
  uint32_t *words = weir__allocate(4 * sizeof *words);
  answer found = UNKNOWN;
  bool over = true;
  if (words != NULL && begin(driver, listed, &made)) found = use(driver, &made, words, &over) ? YES : NO;
  end(driver, &made);
  if (over) weir__free(words); // otherwise the driver may use them yet
  return found;
}

weir__opencl_memory_kind weir__opencl_memory_of(const weir__opencl_driver *driver, uint32_t number) {
  const weir__opencl_listed *listed = &driver->devices[number];
  const char *wanted = getenv("WEIR_OPENCL_MEMORY");
  if (!listed->has_svm || (wanted != NULL && strcmp(wanted, "objects") == 0)) return WEIR__OPENCL_OBJECTS;
  if (wanted != NULL && strcmp(wanted, "device") == 0) return WEIR__OPENCL_SHARED;
  if (listed->svm & CL_DEVICE_SVM_FINE_GRAIN_SYSTEM) return WEIR__OPENCL_HOST;
  if (!(listed->type & CL_DEVICE_TYPE_CPU)) return WEIR__OPENCL_SHARED;
  weir__lock_acquire(&tried.lock);
  if (tried.answers[number] == UNKNOWN) tried.answers[number] = try_it(driver, listed);
  bool works = tried.answers[number] == YES;
  weir__lock_release(&tried.lock);
  return works ? WEIR__OPENCL_HOST : WEIR__OPENCL_SHARED;
}
