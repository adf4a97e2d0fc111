// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>

#include "replay.h"

// The stream as it is played: all passes that may overlap as one program.
typedef struct passes {
  weir__stream stream;
  weir__stream_access *accesses;
} passes;

static uint64_t count_accesses(const weir__stream *stream) {
  uint64_t count = 0;
  for (uint32_t t = 0; t < stream->task_count; t++) count += stream->tasks[t].access_count;
  return count;
}

static void free_passes(passes *all) {
  free(all->stream.tasks);
  free(all->stream.buffers);
  free(all->accesses);
}

// Buffers of pass p follow those of pass p - 1; parameters, and with kept storage all buffers, are those of pass 0.
static bool lay_out_passes(const weir__stream *stream, const weir__replay_options *options, uint64_t repeat,
                           passes *out_all) {
  uint64_t tasks = repeat * stream->task_count, buffers = repeat * stream->buffer_count;
  *out_all = (passes){.stream = *stream};
  out_all->stream.tasks = NULL;
  out_all->stream.buffers = NULL;
  if (tasks >= UINT32_MAX || buffers >= UINT32_MAX) return false;
  out_all->stream.task_count = (uint32_t)tasks;
  out_all->stream.buffer_count = (uint32_t)buffers;
  out_all->stream.tasks = malloc((tasks + 1) * sizeof *out_all->stream.tasks);
  out_all->stream.buffers = malloc((buffers + 1) * sizeof *out_all->stream.buffers);
  out_all->accesses = malloc((repeat * count_accesses(stream) + 1) * sizeof *out_all->accesses);
  if (!out_all->stream.tasks || !out_all->stream.buffers || !out_all->accesses) return false;
  weir__stream_task *task = out_all->stream.tasks;
  weir__stream_access *access = out_all->accesses;
  for (uint32_t pass = 0; pass < repeat; pass++) {
    uint32_t first = pass * stream->buffer_count;
    for (uint32_t b = 0; b < stream->buffer_count; b++) out_all->stream.buffers[first + b] = stream->buffers[b];
    for (uint32_t t = 0; t < stream->task_count; t++, task++) {
      *task = stream->tasks[t];
      task->accesses = access;
      if (options->no_host_waits) task->host_wait = false;
      for (uint32_t a = 0; a < task->access_count; a++, access++) {
        *access = stream->tasks[t].accesses[a];
        bool lives_on = options->storage == WEIR__REPLAY_KEPT || stream->buffers[access->buffer].parameter;
        if (!lives_on) access->buffer += first;
      }
    }
  }
  return true;
}

bool weir__replay_limits(const weir__stream *stream, const weir__replay_options *options, double *out_critical_us,
                         double *out_bound_us) {
  passes all;
  uint64_t programs = options->apart ? options->repeat : 1;
  bool planned =
      lay_out_passes(stream, options, options->repeat / programs, &all) &&
      weir__stream_limits(&all.stream, (weir__plan_mode)options->hazards, out_critical_us, out_bound_us) == WEIR_OK;
  free_passes(&all);
  if (!planned) *out_critical_us = *out_bound_us = 0;
  *out_critical_us *= options->time_scale * (double)programs;
  *out_bound_us *= options->time_scale * (double)programs;
  return planned;
}
