// SPDX-License-Identifier: Apache-2.0
#include "play.h"

#include <math.h>
#include <stdlib.h>

#include "base/clock.h"
#include "deal.h"

typedef struct play {
  weir_mpi *mpi;
  const weir__stream *stream;
  const weir__play_options *options;
  weir_buffer **buffers; // by index in the stream; NULL: not there (now)
  weir_kernel **kernels; // by task
  uint64_t *spin_ns;     // the same
  uint64_t pass, waited_ns;
  weir_arg args[WEIR_MAX_ARGS];
} play;

// A task takes its time, and touches nothing.
static void spin(const weir_work *work) {
  const uint64_t *ns = work->user;
  uint64_t start = weir__clock_ns();
  while (weir__clock_ns() - start < *ns) {
  }
}

static weir_status create(play *self, uint32_t index) {
  if (self->buffers[index] != NULL) return WEIR_OK;
  uint32_t owner = weir__deal(index, self->options->round, weir_mpi_size(self->mpi));
  return weir_mpi_buffer_create(self->mpi, self->stream->buffers[index].bytes, owner, &self->buffers[index]);
}

static weir_status release(play *self, uint32_t index) {
  weir_buffer *buffer = self->buffers[index];
  self->buffers[index] = NULL;
  return buffer == NULL ? WEIR_OK : weir_mpi_buffer_release(self->mpi, buffer);
}

static weir_status release_freed(play *self, const weir__stream_event *event) {
  weir_status status = WEIR_OK;
  if (self->options->kept) return status;
  for (uint32_t i = 0; i < event->count && status == WEIR_OK; i++)
    status = release(self, self->stream->freed[event->index + i]);
  return status;
}

static weir_status wait_for(play *self, weir_event *event) {
  if (event == NULL) return WEIR_OK; // it runs on another rank
  uint64_t start = weir__clock_ns();
  weir_status status = weir_event_wait(event, WEIR_FOREVER);
  weir_event_release(event);
  self->waited_ns += weir__clock_ns() - start;
  return status;
}

static weir_status submit(play *self, uint32_t index) {
  const weir__stream_task *recorded = &self->stream->tasks[index];
  for (uint32_t i = 0; i < recorded->access_count; i++) {
    const weir__stream_access *access = &recorded->accesses[i];
    self->args[i] = (weir_arg){.mode = access->mode,
                               .buffer = self->buffers[access->buffer],
                               .offset = access->offset,
                               .bytes = access->bytes};
  }
  const weir_task task = {.kernel = self->kernels[index],
                          .user = &self->spin_ns[index],
                          .args = self->args,
                          .arg_count = recorded->access_count,
                          .label = recorded->op,
                          .tag = self->pass << 32 | (index + 1)};
  bool waits = recorded->host_wait && !self->options->no_host_waits;
  weir_event *event = NULL;
  int32_t rank = recorded->access_count > 0 ? WEIR_MPI_OWNER : 0;
  weir_status status = weir_mpi_submit(self->mpi, &task, rank, waits ? &event : NULL);
  return status == WEIR_OK ? wait_for(self, event) : status;
}

static weir_status play_pass(play *self) {
  weir_status status = WEIR_OK;
  for (uint32_t i = 0; i < self->stream->event_count && status == WEIR_OK; i++) {
    const weir__stream_event *event = &self->stream->events[i];
    if (event->kind == WEIR__STREAM_BUFFER) status = create(self, event->index);
    if (event->kind == WEIR__STREAM_FREE) status = release_freed(self, event);
    if (event->kind == WEIR__STREAM_TASK) status = submit(self, event->index);
  }
  for (uint32_t b = 0; b < self->stream->buffer_count && status == WEIR_OK && !self->options->kept; b++) {
    if (!self->stream->buffers[b].parameter) status = release(self, b);
  }
  return status;
}

// Kernels have the names of those recorded, by which timelines colour tasks.
static weir_status create_kernels(play *self, weir_context *context) {
  weir_status status = WEIR_OK;
  for (uint32_t t = 0; t < self->stream->task_count && status == WEIR_OK; t++) {
    const weir__stream_task *task = &self->stream->tasks[t];
    self->spin_ns[t] = (uint64_t)llround(weir__stream_task_us(task) * self->options->time_scale * 1000);
    status = weir_kernel_create(context, task->kernel_count > 0 ? task->kernels[0].name : task->op, &self->kernels[t]);
    if (status == WEIR_OK) status = weir_kernel_set_cpu(self->kernels[t], spin);
  }
  return status;
}

weir_status weir__play(weir_context *context, weir_mpi *mpi, const weir__stream *stream,
                       const weir__play_options *options, void (*begin)(void), double *out_submit_ns) {
  play *self = calloc(1, sizeof *self);
  weir_buffer **buffers = calloc((size_t)stream->buffer_count + 1, sizeof(weir_buffer *));
  uint64_t *spin_ns = calloc((size_t)stream->task_count + 1, sizeof *spin_ns);
  weir_kernel **kernels = calloc((size_t)stream->task_count + 1, sizeof(weir_kernel *));
  weir_status status = self && buffers && spin_ns && kernels ? WEIR_OK : WEIR_ERROR_OUT_OF_MEMORY;
  if (status == WEIR_OK) {
    *self = (play){
        .mpi = mpi, .stream = stream, .options = options, .buffers = buffers, .kernels = kernels, .spin_ns = spin_ns};
    status = create_kernels(self, context);
    begin();
    uint64_t start = weir__clock_ns();
    for (; self->pass < options->repeat && status == WEIR_OK; self->pass++) status = play_pass(self);
    *out_submit_ns = (double)(weir__clock_ns() - start - self->waited_ns);
  }
  weir_status finished = weir_mpi_finish(mpi); // tasks in flight use the times
  free(self);
  free(buffers);
  free(kernels); // which the context releases
  free(spin_ns);
  return status == WEIR_OK ? finished : status;
}
