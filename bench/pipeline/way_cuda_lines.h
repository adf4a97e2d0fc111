// SPDX-License-Identifier: Apache-2.0
//
// Jobs on a CUDA device: each line's memory and its graph, which puts a job in a stream. Inputs are copied straight from the feed's memory where that is pinned, else by way of pinned memory of the line.
#ifndef WEIR_BENCH_PIPELINE_WAY_CUDA_LINES_H
#define WEIR_BENCH_PIPELINE_WAY_CUDA_LINES_H

#include "device/cuda/driver.h"
#include "job.h"

enum { WAY_CUDA_KNOWN = 32 };

typedef struct way_cuda_line {
  CUdeviceptr *buffers;
  void **inputs, **results; // pinned memory by number of host memory, or NULL
  const void **from;        // what the job in the line copies in, by number of host memory
  void **parameters;        // of all launches, one after the other
  struct {
    const void *host;
    bool pinned;
  } known[WAY_CUDA_KNOWN]; // memory of the feed that was asked about in this run
  uint32_t known_count;
  CUgraph graph;
  CUgraphExec exec;
  CUgraphNode *nodes;   // per step
  const void **sources; // per step: what its node copies in
} way_cuda_line;

typedef struct way_cuda {
  const job_shape *shape; // outlives it
  const weir__cuda_driver *driver;
  CUdevice device;
  CUcontext context;
  CUmodule *modules;     // per step; a module of many steps is there once
  CUfunction *functions; // per step
  uint32_t *first_arg;   // per step
  uint32_t line_count;
  way_cuda_line *lines;
} way_cuda;

// The device's primary context must be entered by each thread that calls what follows; way_cuda_create and way_cuda_destroy
// enter it by themselves.
bool way_cuda_enter(const way_cuda *own, char why[JOB_WHY]);
void way_cuda_leave(const way_cuda *own);

// NULL: the machine has no such device, or something failed.
way_cuda *way_cuda_create(const job_shape *shape, const char *device, uint32_t lines, char why[JOB_WHY]);
void way_cuda_destroy(way_cuda *own); // NULL is allowed

// Whether the call succeeded. false: `why` names it.
bool way_cuda_good(const way_cuda *own, CUresult result, const char *call, char why[JOB_WHY]);

// Forgets which memory of the feed is pinned: before each run.
void way_cuda_begin(way_cuda *own);

// Finds out, for a job, where each host memory is copied in from: pinned memory with the job's inputs (the line's `from`).
void way_cuda_stage(way_cuda *own, uint32_t line, void *const *inputs);

// way_cuda_graph.c: a line's graph, with an edge for each dependence that no others imply; made once, and launched for each job.

// Whether each step directly follows each other one: out_direct[s * step_count + p]: step s comes after step p, and not through
// others. Two steps are in order when both touch a buffer or a host memory and one of them writes it. NULL: no memory; to be freed.
bool *way_cuda_direct_edges(const job_shape *shape);

bool way_cuda_graph_make(way_cuda *own, uint32_t line, char why[JOB_WHY]);
void way_cuda_graph_free(way_cuda *own, uint32_t line);
bool way_cuda_graph_launch(way_cuda *own, uint32_t line, CUstream stream, void *const *inputs, char why[JOB_WHY]);

#endif // WEIR_BENCH_PIPELINE_WAY_CUDA_LINES_H
