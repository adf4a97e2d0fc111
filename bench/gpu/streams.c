// SPDX-License-Identifier: Apache-2.0
#include "streams.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/critical_path.h"
#include "plan/hazards.h"
#include "plan/reduction.h"

static void check(weir_status status, const char *name) {
  if (status == WEIR_OK) return;
  fprintf(stderr, "cannot plan %s: status %d\n", name, (int)status);
  exit(1);
}

void gpu_task_graph(const weir__stream *stream, weir__plan_mode mode, weir__plan_graph *out_graph) {
  size_t access_count = 0;
  for (uint32_t t = 0; t < stream->task_count; t++) access_count += stream->tasks[t].access_count;
  weir__plan_buffer *buffers = gpu_memory(stream->buffer_count, sizeof *buffers);
  weir__plan_task *tasks = gpu_memory(stream->task_count, sizeof *tasks);
  weir__plan_access *accesses = gpu_memory(access_count, sizeof *accesses), *next = accesses;
  for (uint32_t b = 0; b < stream->buffer_count; b++)
    buffers[b] = (weir__plan_buffer){stream->buffers[b].bytes, stream->buffers[b].address};
  for (uint32_t t = 0; t < stream->task_count; t++) {
    const weir__stream_task *task = &stream->tasks[t];
    tasks[t] = (weir__plan_task){next, task->access_count, false};
    for (uint32_t a = 0; a < task->access_count; a++) {
      const weir__stream_access *access = &task->accesses[a];
      *next++ = (weir__plan_access){access->mode, access->buffer, access->offset, access->bytes};
    }
  }
  weir__plan_program program = {buffers, stream->buffer_count, tasks, stream->task_count};
  weir__plan_hazards hazards;
  weir__plan_graph graph;
  check(weir__plan_find_hazards(&program, mode, &hazards), stream->name);
  check(weir__plan_hazard_graph(stream->task_count, &hazards, mode == WEIR__PLAN_BUFFER, &graph), stream->name);
  check(weir__plan_reduce(&graph, out_graph), stream->name);
  weir__plan_graph_free(&graph);
  weir__plan_hazards_free(&hazards);
  free(buffers);
  free(tasks);
  free(accesses);
}

// From a graph of tasks to that of their launches; `ends[t]` is behind the last launch of task t.
static void launch_graph(const gpu_program *program, const weir__plan_graph *tasks, const uint32_t *ends,
                         weir__plan_graph *out_graph) {
  weir__plan_edge *edges = gpu_memory(weir__plan_graph_edge_count(tasks) + program->count, sizeof *edges);
  size_t count = 0;
  for (uint32_t t = 0; t < tasks->task_count; t++) {
    uint32_t begin = t > 0 ? ends[t - 1] : 0;
    for (uint64_t e = tasks->first[t]; e < tasks->first[t + 1]; e++)
      edges[count++] = (weir__plan_edge){ends[tasks->predecessors[e]] - 1, begin};
    for (uint32_t i = begin + 1; i < ends[t]; i++) edges[count++] = (weir__plan_edge){i - 1, i};
  }
  check(weir__plan_graph_build(program->count, edges, count, out_graph), program->name);
  free(edges);
}

static void fill(const weir__stream *stream, uint32_t sms, gpu_program *program) {
  uint32_t *ends = gpu_memory(stream->task_count, sizeof *ends);
  double *times = gpu_memory(program->count, sizeof *times), work_us = 0;
  uint32_t next = 0;
  for (uint32_t t = 0; t < stream->task_count; t++) {
    const weir__stream_task *task = &stream->tasks[t];
    for (uint32_t k = 0; k < task->kernel_count; k++) {
      weir__stream_cost cost;
      weir__stream_kernel_cost(&task->kernels[k], sms, &cost);
      work_us += cost.work_us;
      times[next] = task->kernels[k].us;
      program->kernels[next++] = &task->kernels[k];
    }
    if (task->kernel_count == 0) next++;
    program->last[next - 1] = true;
    ends[t] = next;
  }
  weir__plan_graph tasks;
  gpu_task_graph(stream, WEIR__PLAN_ADDRESS, &tasks);
  launch_graph(program, &tasks, ends, &program->address);
  weir__plan_graph_free(&tasks);
  gpu_task_graph(stream, WEIR__PLAN_BUFFER, &tasks);
  launch_graph(program, &tasks, ends, &program->buffer);
  weir__plan_graph_free(&tasks);
  for (uint32_t i = 0; i < program->count; i++) program->kernel_us += times[i];
  double *path_ends = gpu_memory(program->count, sizeof *path_ends);
  double path_us = weir__plan_earliest_ends(&program->buffer, times, path_ends);
  program->limit_us = path_us > work_us ? path_us : work_us;
  free(path_ends);
  free(times);
  free(ends);
}

void gpu_program_read(const char *path, uint32_t sms, gpu_program *out_program) {
  char message[512];
  weir__stream *stream = NULL;
  if (weir__stream_read(path, message, sizeof message, &stream) != WEIR_OK) {
    fprintf(stderr, "%s\n", message);
    exit(1);
  }
  gpu_program program = {.task_count = stream->task_count, .stream = stream};
  for (uint32_t t = 0; t < stream->task_count; t++)
    program.count += stream->tasks[t].kernel_count > 0 ? stream->tasks[t].kernel_count : 1;
  program.name = gpu_memory(strlen(stream->name), 1);
  strcpy(program.name, stream->name);
  program.kernels = gpu_memory(program.count, sizeof *program.kernels);
  program.last = gpu_memory(program.count, sizeof *program.last);
  fill(stream, sms, &program);
  *out_program = program;
}

void gpu_program_free(gpu_program *program) {
  weir__plan_graph_free(&program->address);
  weir__plan_graph_free(&program->buffer);
  weir__stream_destroy(program->stream);
  free(program->name);
  free(program->kernels);
  free(program->launches);
  free(program->last);
  *program = (gpu_program){0};
}
