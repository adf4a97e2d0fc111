// SPDX-License-Identifier: Apache-2.0
//
// Tasks by OpenCL's own queues. Who waits for whom is found by hand, from the last writer and the readers of each cell.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/opencl/opencl.h"
#include "tasks.h"

enum { MOST_QUEUES = 16, READERS = 64, CELL_BYTES = 256, OUT_OF_ORDER = 1, HALF = BENCH_WINDOW / 2 };

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
  bool lists, events; // tasks have event lists; tasks have events
  cl_event *list;     // per task; NULL: none, or it is done
  char *memory;
  cell_state cells[CELLS];
} raw;

static bool raw_open(raw *r, uint32_t number, const bench_way *way, uint32_t count) {
  char reason[256];
  cl_int result;
  const char *text = bench_source;
  r->driver = weir__opencl_driver_load(reason, sizeof reason);
  cl_device_id device = r->driver->devices[number].device;
  cl_bitfield kind = (way->kind == BENCH_RAW_ANY ? (cl_bitfield)OUT_OF_ORDER : 0) |
                     (way->profiling ? (cl_bitfield)CL_QUEUE_PROFILING_ENABLE : 0);
  const cl_ulong properties[] = {CL_QUEUE_PROPERTIES, kind, 0};
  r->context = r->driver->clCreateContext(NULL, 1, &device, NULL, NULL, &result);
  if (r->context == NULL) return false;
  r->program = r->driver->clCreateProgramWithSource(r->context, 1, &text, NULL, &result);
  result = r->driver->clBuildProgram(r->program, 1, &device, "", NULL, NULL);
  if (result == CL_SUCCESS) r->kernel = r->driver->clCreateKernel(r->program, "work", &result);
  r->queue_count = way->queues;
  for (uint32_t i = 0; i < r->queue_count && result == CL_SUCCESS; i++)
    r->queues[i] = r->driver->clCreateCommandQueueWithProperties(r->context, device, properties, &result);
  r->lists = way->kind == BENCH_RAW_ANY || way->queues > 1;
  r->events = r->lists || way->kind == BENCH_RAW_EVENT;
  r->list = calloc(count, sizeof(cl_event));
  r->memory = r->driver->clSVMAlloc(r->context, CL_MEM_READ_WRITE, CELLS * CELL_BYTES, 0);
  return result == CL_SUCCESS && r->list != NULL && r->memory != NULL;
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

// The events that a task waits for; then the cells know of the task.
static cl_uint find_waits(raw *r, const bench_task *task, uint32_t number, cl_event *waits) {
  cl_uint count = 0;
  for (int i = 0; i < 2; i++) {
    cell_state *cell = &r->cells[task->reads[i]];
    add(&count, waits, r, cell->writer);
    if (cell->reader_count == READERS) { // the oldest is waited for here
      uint32_t oldest = cell->readers[0] - 1;
      if (r->list[oldest] != NULL) r->driver->clWaitForEvents(1, &r->list[oldest]);
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

static void set_arguments(const raw *r, const bench_task *task, const bench_work *work, uint32_t number) {
  r->driver->clSetKernelArgSVMPointer(r->kernel, 0, r->memory + (size_t)task->write * CELL_BYTES);
  r->driver->clSetKernelArgSVMPointer(r->kernel, 1, r->memory + (size_t)task->reads[0] * CELL_BYTES);
  r->driver->clSetKernelArgSVMPointer(r->kernel, 2, r->memory + (size_t)task->reads[1] * CELL_BYTES);
  r->driver->clSetKernelArg(r->kernel, 3, sizeof number, &number);
  r->driver->clSetKernelArg(r->kernel, 4, sizeof work->rounds, &work->rounds);
}

// Waits for the tasks from `first` on that have events, and lets these go.
static cl_int retire(raw *r, uint32_t first, uint32_t end) {
  cl_event events[HALF];
  cl_uint count = 0;
  cl_int result = CL_SUCCESS;
  for (uint32_t i = first; i < end; i++) {
    if (r->list[i] == NULL) continue;
    events[count++] = r->list[i];
    r->list[i] = NULL;
  }
  if (count > 0) result = r->driver->clWaitForEvents(count, events);
  for (cl_uint i = 0; i < count; i++) r->driver->clReleaseEvent(events[i]);
  return result;
}

static cl_int raw_run(raw *r, const bench_work *work, bench_result *out_result) {
  const size_t one[] = {1, 1, 1};
  cl_int result = CL_SUCCESS;
  bench_clocks clocks = bench_start();
  for (uint32_t i = 0; i < work->count && result == CL_SUCCESS; i++) {
    cl_event waits[2 * READERS];
    cl_command_queue queue = r->queues[i % r->queue_count];
    if (i >= BENCH_WINDOW && i % HALF == 0) result = retire(r, i - BENCH_WINDOW, i - HALF);
    cl_uint count = r->lists ? find_waits(r, &work->tasks[i], i, waits) : 0;
    set_arguments(r, &work->tasks[i], work, i);
    bool event = r->events || i % HALF == HALF - 1;
    if (result == CL_SUCCESS)
      result = r->driver->clEnqueueNDRangeKernel(queue, r->kernel, 3, NULL, one, one, count, count > 0 ? waits : NULL,
                                                 event ? &r->list[i] : NULL);
    if (r->queue_count > 1) r->driver->clFlush(queue); // others wait for it
  }
  bench_submitted(&clocks, out_result);
  for (uint32_t i = 0; i < r->queue_count; i++) r->driver->clFinish(r->queues[i]);
  bench_done(&clocks, out_result);
  for (uint32_t i = 0; i < work->count; i++) {
    if (r->list[i] != NULL) r->driver->clReleaseEvent(r->list[i]);
  }
  return result;
}

bool bench_raw(uint32_t device, const bench_work *work, const bench_way *way, bench_result *out_result) {
  static raw r;
  r = (raw){0};
  if (!raw_open(&r, device, way, work->count)) {
    fprintf(stderr, "weir-bench-opencl: %s: it cannot be set up\n", way->name);
    return false;
  }
  const uint32_t zero = 0;
  uint32_t cells[CELLS];
  r.driver->clEnqueueSVMMemFill(r.queues[0], r.memory, &zero, sizeof zero, CELLS * CELL_BYTES, 0, NULL, NULL);
  r.driver->clFinish(r.queues[0]);
  cl_int result = raw_run(&r, work, out_result);
  for (uint32_t i = 0; i < CELLS; i++)
    r.driver->clEnqueueSVMMemcpy(r.queues[0], CL_TRUE, &cells[i], r.memory + (size_t)i * CELL_BYTES, 4, 0, NULL, NULL);
  raw_close(&r);
  if (result != CL_SUCCESS) fprintf(stderr, "weir-bench-opencl: %s: OpenCL gives %d\n", way->name, (int)result);
  return result == CL_SUCCESS && bench_check(work, cells, way->name);
}
