// SPDX-License-Identifier: Apache-2.0
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "device/opencl/opencl.h"
#include "recorded.h"
#include "weir/replay_pass.h"

enum { IN_ORDER, ANY_ORDER, TIMED, QUEUES, OUT_OF_ORDER = 1, NOT_COUNTED = 2 };
enum { TIMER_RESOLUTION = 0x101F }; // CL_DEVICE_PROFILING_TIMER_RESOLUTION

struct bench_peers {
  const weir__opencl_driver *driver;
  cl_context context;
  cl_program program;
  cl_kernel kernel;
  cl_command_queue queues[QUEUES];
  double per_us;
  size_t timer_ns; // what the queue's times are exact to
};

void bench_peers_close(bench_peers *peers) {
  if (peers == NULL) return;
  for (int i = 0; i < QUEUES; i++) {
    if (peers->queues[i] != NULL) peers->driver->clReleaseCommandQueue(peers->queues[i]);
  }
  if (peers->kernel != NULL) peers->driver->clReleaseKernel(peers->kernel);
  if (peers->program != NULL) peers->driver->clReleaseProgram(peers->program);
  if (peers->context != NULL) peers->driver->clReleaseContext(peers->context);
  free(peers);
}

static cl_int set_up(bench_peers *peers, cl_device_id device) {
  static const cl_bitfield kinds[QUEUES] = {0, OUT_OF_ORDER, OUT_OF_ORDER | (cl_bitfield)CL_QUEUE_PROFILING_ENABLE};
  const char *text = weir__replay_opencl_source;
  cl_int result = CL_SUCCESS;
  peers->context = peers->driver->clCreateContext(NULL, 1, &device, NULL, NULL, &result);
  if (result != CL_SUCCESS) return result;
  peers->program = peers->driver->clCreateProgramWithSource(peers->context, 1, &text, NULL, &result);
  if (result == CL_SUCCESS) result = peers->driver->clBuildProgram(peers->program, 1, &device, "", NULL, NULL);
  if (result == CL_SUCCESS) peers->kernel = peers->driver->clCreateKernel(peers->program, "spin", &result);
  for (int i = 0; i < QUEUES && result == CL_SUCCESS; i++) {
    const cl_ulong properties[] = {CL_QUEUE_PROPERTIES, kinds[i], 0};
    peers->queues[i] = peers->driver->clCreateCommandQueueWithProperties(peers->context, device, properties, &result);
  }
  return result;
}

bench_peers *bench_peers_open(uint32_t device, double per_us) {
  char reason[256];
  bench_peers *peers = gpu_memory(1, sizeof *peers);
  peers->driver = weir__opencl_driver_load(reason, sizeof reason);
  peers->per_us = per_us;
  cl_device_id id = peers->driver->devices[device].device;
  peers->driver->clGetDeviceInfo(id, TIMER_RESOLUTION, sizeof peers->timer_ns, &peers->timer_ns, NULL);
  cl_int result = set_up(peers, id);
  if (result == CL_SUCCESS) return peers;
  fprintf(stderr, "weir-bench-opencl: the device cannot be set up: OpenCL gives %d\n", (int)result);
  bench_peers_close(peers);
  return NULL;
}

static cl_int put(const bench_peers *peers, const bench_recorded_stream *recorded, uint32_t task, int queue,
                  cl_event *events) {
  static cl_event waits[1 << 16];
  const weir__plan_graph *order = &recorded->order;
  const size_t one = 1;
  cl_ulong rounds = (cl_ulong)llround(recorded->us[task] * peers->per_us);
  cl_uint count = 0;
  for (uint64_t e = order->first[task]; events != NULL && e < order->first[task + 1] && count < 1 << 16; e++)
    waits[count++] = events[order->predecessors[e]];
  cl_int result = peers->driver->clSetKernelArg(peers->kernel, 0, sizeof rounds, &rounds);
  if (result != CL_SUCCESS) return result;
  return peers->driver->clEnqueueNDRangeKernel(peers->queues[queue], peers->kernel, 1, NULL, &one, &one, count,
                                               count > 0 ? waits : NULL, events != NULL ? &events[task] : NULL);
}

// One pass; `events`: room for one a task, which are the caller's to release, or NULL.
static cl_int pass(const bench_peers *peers, const bench_recorded_stream *recorded, int queue, cl_event *events,
                   double *out_submit_us) {
  cl_int result = CL_SUCCESS;
  double start = gpu_now_us();
  for (uint32_t t = 0; t < recorded->stream->task_count && result == CL_SUCCESS; t++)
    result = put(peers, recorded, t, queue, events);
  *out_submit_us = gpu_now_us() - start;
  cl_int finished = peers->driver->clFinish(peers->queues[queue]);
  return result == CL_SUCCESS ? finished : result;
}

static void release(const bench_peers *peers, cl_event *events, uint32_t count) {
  for (uint32_t t = 0; events != NULL && t < count; t++) {
    if (events[t] != NULL) peers->driver->clReleaseEvent(events[t]);
    events[t] = NULL;
  }
}

static bool say(const bench_recorded_stream *recorded, cl_int result) {
  if (result != CL_SUCCESS)
    fprintf(stderr, "weir-bench-opencl: %s: OpenCL gives %d\n", recorded->stream->name, (int)result);
  return result == CL_SUCCESS;
}

bool bench_peers_measure(bench_peers *peers, const bench_recorded_stream *recorded, bool out_of_order, uint32_t runs,
                         gpu_stat *out_pass, gpu_stat *out_submit) {
  uint32_t count = recorded->stream->task_count;
  cl_event *events = out_of_order ? gpu_memory(count, sizeof(cl_event)) : NULL;
  double *times = gpu_memory(runs, sizeof *times), *submits = gpu_memory(runs, sizeof *submits), submit;
  cl_int result = CL_SUCCESS;
  for (uint32_t run = 0; run < runs + NOT_COUNTED && result == CL_SUCCESS; run++) {
    double start = gpu_now_us();
    result = pass(peers, recorded, out_of_order ? ANY_ORDER : IN_ORDER, events, &submit);
    if (run >= NOT_COUNTED) times[run - NOT_COUNTED] = gpu_now_us() - start;
    if (run >= NOT_COUNTED) submits[run - NOT_COUNTED] = submit;
    release(peers, events, count);
  }
  *out_pass = gpu_statistics(times, runs);
  *out_submit = gpu_statistics(submits, runs);
  free(submits);
  free(times);
  free(events);
  return say(recorded, result);
}

static cl_int time_of(const bench_peers *peers, cl_event event, cl_uint what, cl_ulong *out_time) {
  return peers->driver->clGetEventProfilingInfo(event, what, sizeof *out_time, out_time, NULL);
}

bool bench_peers_check(bench_peers *peers, const bench_recorded_stream *recorded) {
  const weir__plan_graph *order = &recorded->order;
  uint32_t count = recorded->stream->task_count;
  cl_event *events = gpu_memory(count, sizeof(cl_event));
  double submit;
  bool kept = true;
  cl_int result = pass(peers, recorded, TIMED, events, &submit);
  for (uint32_t t = 0; t < count && result == CL_SUCCESS; t++) {
    cl_ulong start = 0, end = 0;
    result = time_of(peers, events[t], CL_PROFILING_COMMAND_START, &start);
    for (uint64_t e = order->first[t]; e < order->first[t + 1] && result == CL_SUCCESS; e++) {
      result = time_of(peers, events[order->predecessors[e]], CL_PROFILING_COMMAND_END, &end);
      if (end <= start + peers->timer_ns) continue;
      kept = false;
      fprintf(stderr, "weir-bench-opencl: %s: task %u starts %llu ns before the end of task %u\n",
              recorded->stream->name, t, (unsigned long long)(end - start), order->predecessors[e]);
    }
  }
  release(peers, events, count);
  free(events);
  return say(recorded, result) && kept;
}
