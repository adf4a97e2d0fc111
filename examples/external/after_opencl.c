// SPDX-License-Identifier: Apache-2.0
//
// A task of Weir's that comes after a command of the program's own OpenCL code, while other tasks do not wait for it.
// The program maps a buffer of its own cl_context, and the task starts when the map is done.
//
// Exit status: 0 good; 1 something failed; 77 this machine has no OpenCL device.
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>

#include <weir/external.h>
#include <weir/opencl.h>

enum { BYTES = 4096 };

static void check(weir_status status, const char *what) {
  if (status == WEIR_OK) return;
  fprintf(stderr, "after_opencl: %s: %s\n", what, weir_last_error());
  exit(status == WEIR_ERROR_UNAVAILABLE ? 77 : 1);
}

static void cl_check(cl_int result, const char *what) {
  if (result == CL_SUCCESS) return;
  fprintf(stderr, "after_opencl: %s: OpenCL error %d\n", what, (int)result);
  exit(1);
}

static void add_up(const weir_work *work) {
  const unsigned char *mapped = work->user;
  uint64_t sum = 0;
  for (int i = 0; i < BYTES; i++) sum += mapped[i];
  *(uint64_t *)work->args[0] = sum;
}

int main(void) {
  weir_context *context;
  cl_platform_id platform;
  cl_device_id device;
  cl_int result;
  check(weir_context_create(&(weir_context_options){.devices = "opencl,cpu:2"}, &context), "context");
  cl_check(clGetPlatformIDs(1, &platform, NULL), "platform");
  cl_check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "device");
  cl_context mine = clCreateContext(NULL, 1, &device, NULL, NULL, &result);
  cl_check(result, "context");
  cl_command_queue queue = clCreateCommandQueue(mine, device, 0, &result);
  cl_check(result, "queue");
  cl_mem memory = clCreateBuffer(mine, CL_MEM_READ_WRITE, BYTES, NULL, &result);
  cl_check(result, "buffer");

  const unsigned char two = 2;
  cl_event mapped;
  cl_check(clEnqueueFillBuffer(queue, memory, &two, 1, 0, BYTES, 0, NULL, NULL), "fill");
  void *bytes = clEnqueueMapBuffer(queue, memory, CL_FALSE, CL_MAP_READ, 0, BYTES, 0, NULL, &mapped, &result);
  cl_check(result, "map");
  cl_check(clFlush(queue), "flush");

  weir_event *outside;
  weir_buffer *sum;
  check(weir_opencl_import_event(weir_context_device(context, 0), mapped, &outside), "import");
  check(weir_buffer_create(context, sizeof(uint64_t), &sum), "sum");
  const weir_arg arg = weir_writes(sum);
  check(
      weir_submit(context,
                  &(weir_task){
                      .host = add_up, .user = bytes, .args = &arg, .arg_count = 1, .after = &outside, .after_count = 1},
                  NULL),
      "task");
  uint64_t found = 0;
  check(weir_read(sum, 0, WEIR_WHOLE, &found), "read");
  weir_event_release(outside);
  check(weir_context_release(context), "release");
  cl_check(clEnqueueUnmapMemObject(queue, memory, bytes, 0, NULL, NULL), "unmap");
  cl_check(clFinish(queue), "finish");
  clReleaseEvent(mapped);
  clReleaseMemObject(memory);
  clReleaseCommandQueue(queue);
  clReleaseContext(mine);
  printf("%s: the sum is %d\n", found == 2 * BYTES ? "right" : "wrong", (int)found);
  return found == 2 * BYTES && fflush(stdout) == 0 ? 0 : 1;
}
