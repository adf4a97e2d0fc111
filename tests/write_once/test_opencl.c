// SPDX-License-Identifier: Apache-2.0
//
// The embedded text of forms.c compiles with every OpenCL device of this machine, as it is, and gives what plain C gives,
// to the bit. Kernels that use double need a device that has it; exact float divisions and roots are asked for.
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "cases.h"
#include "forms.kernels.h"
#include "layers.kernels.h"
#include "opencl.h"
#include "own.kernels.h"

enum { SKIPPED = 77, MAX_DEVICES = 16 };

static cl_handle devices[MAX_DEVICES];
static uint32_t device_count;

typedef struct session {
  char name[128];
  cl_handle device, context, queue, program;
} session;

static void find_devices(void) {
  cl_handle platforms[MAX_DEVICES];
  uint32_t platform_count = 0;
  if (opencl.clGetPlatformIDs(MAX_DEVICES, platforms, &platform_count) != 0) return;
  for (uint32_t i = 0; i < platform_count && i < MAX_DEVICES; i++) {
    uint32_t room = MAX_DEVICES - device_count, found = 0;
    if (room == 0 || opencl.clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, room, &devices[device_count], &found) != 0)
      continue;
    device_count += found < room ? found : room;
  }
}

// Whether a device divides floats and takes their roots with correct rounding, and has double.
static bool is_exact(cl_handle device) {
  uint64_t single = 0, twice = 0;
  opencl.clGetDeviceInfo(device, CL_DEVICE_SINGLE_FP_CONFIG, sizeof single, &single, NULL);
  opencl.clGetDeviceInfo(device, CL_DEVICE_DOUBLE_FP_CONFIG, sizeof twice, &twice, NULL);
  return (single & CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT) != 0 && twice != 0;
}

static void session_open(cl_handle device, const char *source, session *out_session) {
  session *self = out_session;
  *self = (session){.device = device};
  int32_t status = 0;
  opencl.clGetDeviceInfo(device, CL_DEVICE_NAME, sizeof self->name - 1, self->name, NULL);
  self->context = opencl.clCreateContext(NULL, 1, &device, NULL, NULL, &status);
  assert_int_equal(status, 0);
  self->queue = opencl.clCreateCommandQueue(self->context, device, 0, &status);
  assert_int_equal(status, 0);
  self->program = opencl.clCreateProgramWithSource(self->context, 1, &source, NULL, &status);
  assert_int_equal(status, 0);
  if (opencl.clBuildProgram(self->program, 1, &device, "-cl-fp32-correctly-rounded-divide-sqrt", NULL, NULL) == 0)
    return;
  static char log[1 << 16];
  opencl.clGetProgramBuildInfo(self->program, device, CL_PROGRAM_BUILD_LOG, sizeof log - 1, log, NULL);
  fail_msg("%s: %s", self->name, log);
}

static void session_close(session *self) {
  opencl.clReleaseProgram(self->program);
  opencl.clReleaseCommandQueue(self->queue);
  opencl.clReleaseContext(self->context);
}

static void run_case(session *self, const launch_case *test) {
  int32_t status = 0;
  cl_handle kernel = opencl.clCreateKernel(self->program, test->code->name, &status);
  assert_int_equal(status, 0);
  cl_handle buffers[CASE_MAX_ARGS] = {0};
  for (uint32_t i = 0; i < test->arg_count; i++) {
    const case_arg *arg = &test->args[i];
    if (arg->is_buffer) {
      uint64_t flags = CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR;
      buffers[i] = opencl.clCreateBuffer(self->context, flags, arg->bytes, arg->start, &status);
      assert_int_equal(status, 0);
      assert_int_equal(opencl.clSetKernelArg(kernel, i, sizeof buffers[i], &buffers[i]), 0);
    } else {
      assert_int_equal(opencl.clSetKernelArg(kernel, i, arg->bytes, arg->start), 0);
    }
  }
  size_t global[3], local[3];
  for (int d = 0; d < 3; d++) {
    local[d] = test->code->block[d];
    global[d] = local[d] * test->groups[d];
  }
  assert_int_equal(opencl.clEnqueueNDRangeKernel(self->queue, kernel, 3, NULL, global, local, 0, NULL, NULL), 0);
  for (uint32_t i = 0; i < test->arg_count; i++) {
    if (!buffers[i]) continue;
    size_t bytes = test->args[i].bytes;
    void *contents = malloc(bytes);
    assert_non_null(contents);
    assert_int_equal(opencl.clEnqueueReadBuffer(self->queue, buffers[i], CL_TRUE, 0, bytes, contents, 0, NULL, NULL),
                     0);
    assert_true(case_right(test, i, contents, self->name));
    free(contents);
    opencl.clReleaseMemObject(buffers[i]);
  }
  assert_int_equal(opencl.clFinish(self->queue), 0);
  opencl.clReleaseKernel(kernel);
}

static void test_every_device(void **state) {
  (void)state;
  for (uint32_t i = 0; i < device_count; i++) {
    session self;
    session_open(devices[i], forms_kernels_source, &self);
    printf("on %s\n", self.name);
    for (int index = 0; index < CASE_COUNT; index++) {
      launch_case test = case_create(index);
      run_case(&self, &test);
      case_release(&test);
    }
    session_close(&self);
  }
}

static void test_examples_compile(void **state) {
  (void)state;
  const char *const sources[] = {layers_kernels_source, own_kernels_source};
  for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
    session self;
    session_open(devices[0], sources[i], &self);
    session_close(&self);
  }
}

int main(void) {
  setenv("POCL_KERNEL_CACHE", "0", 0); // leave no files behind
  if (!opencl_load()) return SKIPPED;
  find_devices();
  uint32_t exact = 0;
  for (uint32_t i = 0; i < device_count; i++) {
    if (is_exact(devices[i])) devices[exact++] = devices[i];
  }
  if (exact == 0) {
    printf("OpenCL: of %u devices none has double and exact float divisions\n", device_count);
    return SKIPPED;
  }
  device_count = exact;
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_device), cmocka_unit_test(test_examples_compile)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
