// SPDX-License-Identifier: Apache-2.0
//
// Calls of a library as tasks: the layers of a small network, whose products are CLBlast's, on an OpenCL device.
//
//   layers [ROUNDS]
//
// A product is a task whose code is an enqueue function: it hands the queue that Weir chose to CLBlast, which puts as
// many kernels there as it likes. What follows a product is a kernel of Weir's own. Weir orders both by what they read
// and write, so that batches, which do not depend on each other, overlap. The last product of a batch is an open task: the
// program calls CLBlast itself, on a queue that Weir has ordered. Numbers are small integers, and so exact.
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <clblast_c.h>
#include <stdio.h>
#include <stdlib.h>
#include <weir/enqueue.h>
#include <weir/opencl.h>

#include "require.h"

enum { SIZE = 32, LAYERS = 3, BATCHES = 4, NUMBERS = SIZE * SIZE, NO_DEVICE = 3 };

static const char rectify_source[] = "__kernel void rectify(__global float *x) {\n"
                                     "  int i = get_global_id(0);\n"
                                     "  x[i] = x[i] < 0 ? 0 : fmod(x[i], 16.0f);\n"
                                     "}\n";

typedef struct program {
  cl_context context;
  cl_device_id device;
  weir_context *weir;
  weir_kernel *product, *rectify;
  weir_buffer *weights[LAYERS], *batches[BATCHES], *results[BATCHES];
  float weight_numbers[LAYERS][NUMBERS], batch_numbers[BATCHES][NUMBERS], result_numbers[BATCHES][NUMBERS];
} program;

// Argument 0 = argument 1 * argument 2. Weir has put all that this waits for into the queue, and knows by itself when
// it is done: CLBlast needs no events.
static weir_status multiply(const weir_enqueue *call) {
  const weir_enqueue_arg *to = &call->args[0], *a = &call->args[1], *b = &call->args[2];
  cl_command_queue queue = call->queue;
  CLBlastStatusCode code = CLBlastSgemm(CLBlastLayoutRowMajor, CLBlastTransposeNo, CLBlastTransposeNo, SIZE, SIZE, SIZE,
                                        1, (cl_mem)(uintptr_t)a->handle, a->offset / sizeof(float), SIZE,
                                        (cl_mem)(uintptr_t)b->handle, b->offset / sizeof(float), SIZE, 0,
                                        (cl_mem)(uintptr_t)to->handle, to->offset / sizeof(float), SIZE, &queue, NULL);
  if (code == CLBlastSuccess) return WEIR_OK;
  char text[64];
  snprintf(text, sizeof text, "CLBlast: status %d", (int)code);
  weir_enqueue_fail(call, text);
  return WEIR_ERROR_TASK_FAILED;
}

// The memory of a device of the caller's is cl_mem objects, which CLBlast takes.
static int open_device(program *p) {
  cl_platform_id platform;
  char name[32];
  if (clGetPlatformIDs(1, &platform, NULL) != CL_SUCCESS ||
      clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &p->device, NULL) != CL_SUCCESS)
    return 0;
  p->context = clCreateContext(NULL, 1, &p->device, NULL, NULL, NULL);
  if (p->context == NULL) return 0;
  const weir_opencl_handles handles = {.context = p->context, .device = p->device};
  require(weir_opencl_register(&handles, name, sizeof name));
  require(weir_context_create(&(weir_context_options){.devices = name}, &p->weir));
  require(weir_opencl_unregister(name)); // the context goes on
  return 1;
}

static void make_kernels(program *p) {
  require(weir_kernel_create(p->weir, "product", &p->product));
  require(weir_kernel_set_enqueue(p->product, "opencl", &(weir_enqueue_code){.function = multiply}));
  require(weir_kernel_create(p->weir, "rectify", &p->rectify));
  require(weir_kernel_set_opencl(p->rectify, &(weir_opencl_code){.source = rectify_source},
                                 &(weir_opencl_launch){.entry = "rectify"}));
}

static void fill(float *numbers, unsigned *seed) {
  for (int i = 0; i < NUMBERS; i++) {
    *seed = *seed * 1664525 + 1013904223;
    numbers[i] = (float)(int)(*seed >> 28) - 6;
  }
}

static weir_buffer *make_buffer(program *p, const float *numbers) {
  weir_buffer *buffer;
  require(weir_buffer_create(p->weir, NUMBERS * sizeof(float), &buffer));
  if (numbers != NULL) require(weir_copy_in(buffer, 0, WEIR_WHOLE, numbers, NULL));
  return buffer;
}

static void make_buffers(program *p) {
  unsigned seed = 1;
  for (int i = 0; i < LAYERS; i++) {
    fill(p->weight_numbers[i], &seed);
    p->weights[i] = make_buffer(p, p->weight_numbers[i]);
  }
  for (int i = 0; i < BATCHES; i++) {
    fill(p->batch_numbers[i], &seed);
    p->batches[i] = make_buffer(p, p->batch_numbers[i]);
    p->results[i] = make_buffer(p, NULL);
  }
}

static void submit_product(program *p, const weir_arg args[3]) {
  require(weir_submit(p->weir, &(weir_task){.kernel = p->product, .args = args, .arg_count = 3}, NULL));
}

// The same in this thread's own code: the queue comes after all that the product waits for, and what is submitted later and
// uses the same bytes waits for the end.
static void call_product(program *p, const weir_arg args[3]) {
  weir_open_task *open;
  const weir_enqueue *call;
  require(weir_task_begin(p->weir, &(weir_task){.args = args, .arg_count = 3, .label = "product"}, &open, &call));
  weir_status status = multiply(call);
  require(status == WEIR_OK ? weir_task_end(open, NULL, 0, NULL) : weir_task_abandon(open, status, "CLBlast failed"));
}

// x = rectify(weights * x), for each layer. Each product overwrites the result, whose old contents the product before
// it may still need: Weir gives it fresh storage then.
static void submit_batch(program *p, int batch) {
  weir_buffer *x = p->batches[batch], *next = p->results[batch];
  for (int i = 0; i < LAYERS; i++) {
    const weir_arg args[] = {weir_writes(next), weir_reads(p->weights[i]), weir_reads(x)};
    const weir_arg updated[] = {weir_updates(next)};
    if (i < LAYERS - 1)
      submit_product(p, args);
    else
      call_product(p, args);
    require(weir_submit(
        p->weir, &(weir_task){.kernel = p->rectify, .args = updated, .arg_count = 1, .groups = {NUMBERS}}, NULL));
    weir_buffer *last = x;
    x = next;
    next = last;
  }
  p->batches[batch] = x;
  p->results[batch] = next;
}

static void expect_batch(program *p, float *x) {
  float y[NUMBERS];
  for (int layer = 0; layer < LAYERS; layer++) {
    for (int i = 0; i < NUMBERS; i++) {
      float sum = 0;
      for (int k = 0; k < SIZE; k++) sum += p->weight_numbers[layer][i / SIZE * SIZE + k] * x[k * SIZE + i % SIZE];
      y[i] = sum < 0 ? 0 : (float)((int)sum % 16);
    }
    for (int i = 0; i < NUMBERS; i++) x[i] = y[i];
  }
}

int main(int argc, char **argv) {
  static program p;
  int rounds = argc > 1 ? atoi(argv[1]) : 3, wrong = 0;
  if (!open_device(&p)) {
    printf("there is no OpenCL device\n");
    return NO_DEVICE;
  }
  make_kernels(&p);
  make_buffers(&p);
  for (int round = 0; round < rounds; round++)
    for (int i = 0; i < BATCHES; i++) submit_batch(&p, i);
  for (int i = 0; i < BATCHES; i++) require(weir_copy_out(p.batches[i], 0, WEIR_WHOLE, p.result_numbers[i], NULL));
  require(weir_finish(p.weir));
  for (int i = 0; i < BATCHES; i++) {
    for (int round = 0; round < rounds; round++) expect_batch(&p, p.batch_numbers[i]);
    for (int j = 0; j < NUMBERS; j++) wrong += p.result_numbers[i][j] != p.batch_numbers[i][j];
  }
  printf("%d products by CLBlast, %d of %d numbers are wrong\n", rounds * BATCHES * LAYERS, wrong, BATCHES * NUMBERS);
  require(weir_context_release(p.weir));
  clReleaseContext(p.context);
  return wrong != 0 || fflush(stdout) != 0;
}
