// SPDX-License-Identifier: Apache-2.0
#include "ways.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "device/opencl/opencl.h"
#include "weir/opencl.h"

enum { MOST_QUEUES = 16, WINDOW = 1024, READERS = 64, CELL_BYTES = 256, CL_OUT_OF_ORDER = 1 };

static const char source[] = "__kernel void work(__global uint *cell, __global const uint *a, __global const uint *b, "
                             "uint number, uint rounds) {\n"
                             "  volatile uint count = 0;\n"
                             "  for (uint i = 0; i < rounds; i++) count = count * 3 + 1;\n"
                             "  cell[0] = (a[0] * 31 + b[0]) * 17 + cell[0] * 7 + number;\n"
                             "}\n";

static double us_since(uint64_t start) {
  return (double)(weir__clock_ns() - start) / 1000;
}

static int check(const bench_work *work, const uint32_t *const cells[CELLS], const char *what) {
  for (uint32_t i = 0; i < CELLS; i++) {
    if (*cells[i] == work->expected[i]) continue;
    fprintf(stderr, "%s: cell %u is %u, not %u\n", what, i, *cells[i], work->expected[i]);
    return 0;
  }
  return 1;
}

// ---------------------------------------------------------------------------------------------------------------
// OpenCL's own queues

typedef struct cell_state {
  uint32_t writer, readers[READERS], reader_count; // tasks, plus 1; 0: none
} cell_state;

typedef struct raw {
  const weir__opencl_driver *driver;
  cl_context context;
  cl_program program;
  cl_kernel kernel;
  cl_command_queue queues[MOST_QUEUES];
  uint32_t queue_count;
  bool events;
  cl_event *list; // per task
  char *memory;
  cell_state cells[CELLS];
} raw;

static int raw_open(raw *r, uint32_t number, uint32_t queues, uint32_t count) {
  char reason[256];
  cl_int result;
  const char *text = source;
  r->driver = weir__opencl_driver_load(reason, sizeof reason);
  if (r->driver == NULL || number >= r->driver->count) {
    fprintf(stderr, "%s\n", r->driver == NULL ? reason : "no such device");
    return 0;
  }
  cl_device_id device = r->driver->devices[number].device;
  const cl_ulong properties[] = {CL_QUEUE_PROPERTIES, queues == 0 ? CL_OUT_OF_ORDER : 0, 0};
  r->context = r->driver->clCreateContext(NULL, 1, &device, NULL, NULL, &result);
  r->program = r->driver->clCreateProgramWithSource(r->context, 1, &text, NULL, &result);
  result = r->driver->clBuildProgram(r->program, 1, &device, "", NULL, NULL);
  if (result == CL_SUCCESS) r->kernel = r->driver->clCreateKernel(r->program, "work", &result);
  r->queue_count = queues == 0 ? 1 : queues;
  for (uint32_t i = 0; i < r->queue_count && result == CL_SUCCESS; i++)
    r->queues[i] = r->driver->clCreateCommandQueueWithProperties(r->context, device, properties, &result);
  r->events = queues != 1;
  r->list = calloc(count, sizeof(cl_event));
  r->memory = r->driver->clSVMAlloc(r->context, CL_MEM_READ_WRITE, CELLS * CELL_BYTES, 0);
  if (result == CL_SUCCESS && r->list != NULL && r->memory != NULL) return 1;
  fprintf(stderr, "OpenCL gives %d\n", (int)result);
  return 0;
}

static void raw_close(raw *r) {
  for (uint32_t i = 0; i < r->queue_count; i++) r->driver->clReleaseCommandQueue(r->queues[i]);
  r->driver->clSVMFree(r->context, r->memory);
  r->driver->clReleaseKernel(r->kernel);
  r->driver->clReleaseProgram(r->program);
  r->driver->clReleaseContext(r->context);
  free(r->list);
}

static void add(cl_uint *count, cl_event *waits, const raw *r, uint32_t task) {
  if (task != 0 && r->list[task - 1] != NULL && *count < 2 * READERS) waits[(*count)++] = r->list[task - 1];
}

// The events that a task waits for, by hand; then the cells know of the task.
static cl_uint find_waits(raw *r, const bench_task *task, uint32_t number, cl_event *waits) {
  cl_uint count = 0;
  for (int i = 0; i < 2; i++) {
    cell_state *cell = &r->cells[task->reads[i]];
    add(&count, waits, r, cell->writer);
    if (cell->reader_count == READERS) { // all of them, and then as one
      r->driver->clWaitForEvents(1, &r->list[cell->readers[0] - 1]);
      memmove(cell->readers, cell->readers + 1, (READERS - 1) * sizeof *cell->readers);
      cell->reader_count--;
    }
    cell->readers[cell->reader_count++] = number + 1;
  }
  cell_state *cell = &r->cells[task->write];
  add(&count, waits, r, cell->writer);
  for (uint32_t i = 0; i < cell->reader_count; i++) {
    if (cell->readers[i] != number + 1) add(&count, waits, r, cell->readers[i]);
  }
  cell->writer = number + 1;
  cell->reader_count = 0;
  return count;
}

static void raw_arguments(const raw *r, const bench_task *task, const bench_work *work, uint32_t number) {
  r->driver->clSetKernelArgSVMPointer(r->kernel, 0, r->memory + (size_t)task->write * CELL_BYTES);
  r->driver->clSetKernelArgSVMPointer(r->kernel, 1, r->memory + (size_t)task->reads[0] * CELL_BYTES);
  r->driver->clSetKernelArgSVMPointer(r->kernel, 2, r->memory + (size_t)task->reads[1] * CELL_BYTES);
  r->driver->clSetKernelArg(r->kernel, 3, sizeof number, &number);
  r->driver->clSetKernelArg(r->kernel, 4, sizeof work->rounds, &work->rounds);
}

static void raw_run(raw *r, const bench_work *work, bench_result *out_result) {
  const size_t one = 1;
  uint64_t start = weir__clock_ns();
  for (uint32_t i = 0; i < work->count; i++) {
    cl_event waits[2 * READERS];
    cl_uint count = r->events ? find_waits(r, &work->tasks[i], i, waits) : 0;
    raw_arguments(r, &work->tasks[i], work, i);
    r->driver->clEnqueueNDRangeKernel(r->queues[i % r->queue_count], r->kernel, 1, NULL, &one, &one, count,
                                      count > 0 ? waits : NULL, r->events ? &r->list[i] : NULL);
    if (r->events && r->queue_count > 1) r->driver->clFlush(r->queues[i % r->queue_count]);
  }
  out_result->submit_us = us_since(start);
  for (uint32_t i = 0; i < r->queue_count; i++) r->driver->clFinish(r->queues[i]);
  out_result->total_us = us_since(start);
  for (uint32_t i = 0; r->events && i < work->count; i++) r->driver->clReleaseEvent(r->list[i]);
}

int bench_raw(const char *device, const bench_work *work, uint32_t queues, bench_result *out_result) {
  static raw r;
  r = (raw){0};
  if (!raw_open(&r, (uint32_t)strtoul(device, NULL, 10), queues, work->count)) return 0;
  const uint32_t zero = 0;
  const uint32_t *cells[CELLS];
  uint32_t values[CELLS];
  r.driver->clEnqueueSVMMemFill(r.queues[0], r.memory, &zero, sizeof zero, CELLS * CELL_BYTES, 0, NULL, NULL);
  r.driver->clFinish(r.queues[0]);
  raw_run(&r, work, out_result);
  for (uint32_t i = 0; i < CELLS; i++) {
    r.driver->clEnqueueSVMMemcpy(r.queues[0], CL_TRUE, &values[i], r.memory + (size_t)i * CELL_BYTES, 4, 0, NULL, NULL);
    cells[i] = &values[i];
  }
  raw_close(&r);
  return check(work, cells, "OpenCL");
}

// ---------------------------------------------------------------------------------------------------------------
// Weir

static weir_status weir_run(weir_context *context, const bench_work *work, uint32_t values[CELLS],
                            bench_result *out_result) {
  weir_kernel *kernel = NULL;
  weir_buffer *cells[CELLS];
  const weir_opencl_code code = {.source = source};
  weir_status status = weir_kernel_create(context, "work", &kernel);
  if (status == WEIR_OK) status = weir_kernel_set_opencl(kernel, &code, &(weir_opencl_launch){.entry = "work"});
  for (uint32_t i = 0; i < CELLS && status == WEIR_OK; i++) {
    status = weir_buffer_create(context, CELL_BYTES, &cells[i]);
    if (status == WEIR_OK) status = weir_fill(cells[i], 0, WEIR_WHOLE, 0, NULL);
  }
  if (status == WEIR_OK) status = weir_finish(context);
  uint64_t start = weir__clock_ns();
  for (uint32_t i = 0; i < work->count && status == WEIR_OK; i++) {
    const bench_task *task = &work->tasks[i];
    const weir_arg args[] = {weir_updates(cells[task->write]), weir_reads(cells[task->reads[0]]),
                             weir_reads(cells[task->reads[1]]), weir_value(&i, sizeof i),
                             weir_value(&work->rounds, sizeof work->rounds)};
    status = weir_submit(context, &(weir_task){.kernel = kernel, .args = args, .arg_count = 5}, NULL);
  }
  out_result->submit_us = us_since(start);
  if (status == WEIR_OK) status = weir_finish(context);
  out_result->total_us = us_since(start);
  for (uint32_t i = 0; i < CELLS && status == WEIR_OK; i++) status = weir_copy_out(cells[i], 0, 4, &values[i], NULL);
  return status == WEIR_OK ? weir_finish(context) : status;
}

int bench_weir(const char *device, const bench_work *work, uint32_t queues, bench_result *out_result) {
  char name[64];
  uint32_t values[CELLS];
  const uint32_t *cells[CELLS];
  for (uint32_t i = 0; i < CELLS; i++) cells[i] = &values[i];
  snprintf(name, sizeof name, "opencl:%s", device);
  weir_context *context;
  weir_status status =
      weir_context_create(&(weir_context_options){.devices = name, .queues = queues, .window = WINDOW}, &context);
  if (status == WEIR_OK) status = weir_run(context, work, values, out_result);
  if (status != WEIR_OK) fprintf(stderr, "Weir: %s\n", weir_last_error());
  weir_context_release(context);
  return status == WEIR_OK && check(work, cells, "Weir");
}
