// SPDX-License-Identifier: Apache-2.0
//
// Jobs on an OpenCL device: each line's buffers and kernel objects, whose arguments are set once, and what puts a job in a queue.
#ifndef WEIR_BENCH_PIPELINE_WAY_OPENCL_LINES_H
#define WEIR_BENCH_PIPELINE_WAY_OPENCL_LINES_H

#include "device/opencl/driver.h"
#include "job.h"
#include "way_steps.h"

typedef struct way_opencl_line {
  cl_mem *buffers;
  cl_kernel *kernels; // per step; NULL for copies
  void **results;     // by number of host memory; NULL for inputs
  cl_event *events;   // per step; of the job that is being enqueued
  cl_event *waits;    // room for as many
  cl_event end;       // of a job that way_opencl_enqueue_graph put in; else NULL
} way_opencl_line;

typedef struct way_opencl {
  const job_shape *shape; // outlives it
  const weir__opencl_driver *driver;
  const weir__opencl_listed *listed;
  cl_context context;
  cl_program *programs; // per step; a program of many steps is there once
  way_steps steps;
  uint32_t line_count;
  way_opencl_line *lines;
} way_opencl;

// NULL: the machine has no such device, or something failed.
way_opencl *way_opencl_create(const job_shape *shape, const char *device, uint32_t lines, char why[JOB_WHY]);
void way_opencl_destroy(way_opencl *own); // NULL is allowed

// A queue, which the caller releases. NULL: `why`.
cl_command_queue way_opencl_queue(const way_opencl *own, bool out_of_order, char why[JOB_WHY]);

// Whether the call succeeded. false: `why` names it.
bool way_opencl_good(cl_int result, const char *call, char why[JOB_WHY]);

// Puts all steps of a job in an in-order queue.
bool way_opencl_enqueue(way_opencl *own, uint32_t line, cl_command_queue queue, void *const *inputs, char why[JOB_WHY]);

// Puts them in an out-of-order queue, each with the list of events that it waits for; the line's `end` is the job's event, which
// the caller releases.
bool way_opencl_enqueue_graph(way_opencl *own, uint32_t line, cl_command_queue queue, void *const *inputs,
                              char why[JOB_WHY]);

#endif // WEIR_BENCH_PIPELINE_WAY_OPENCL_LINES_H
