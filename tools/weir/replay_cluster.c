// SPDX-License-Identifier: Apache-2.0
//
// Replays on a simulated cluster: the stream put to the model of tools/cluster, call by call as tools/ranks/play.c puts it to
// libweir-mpi.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ranks/deal.h"
#include "replay.h"

enum { MESSAGE = 512, USUAL_WINDOW = 1024 };

bool weir__replay_settle_cluster(const weir__replay_options *options) {
  if (options->cluster == NULL) return true;
  char message[MESSAGE];
  const char *why = NULL;
  weir__cluster_settings settings = weir__cluster_usual;
  if (options->ranks == 0) why = "it needs --ranks";
  if (strcmp(options->device, "cpu") != 0) why = "it does not go with --device; workers= says how many a rank has";
  if (options->memory > 0 || options->rename != WEIR__REPLAY_ON) why = "it goes neither with --memory nor --rename off";
  if (options->check || options->timeline) why = "it goes neither with --check nor --timeline: nothing runs";
  if (!weir__cluster_settings_read(options->cluster, &settings, message, sizeof message)) why = message;
  if (why != NULL) weir__cli_error("replay", "--cluster: %s", why);
  return why == NULL;
}

typedef struct player {
  const weir__stream *stream;
  const weir__replay_options *options;
  weir__cluster_program program;
  uint64_t deal;
  uint32_t *buffers; // of the program, by index in the stream; NONE: not there (now)
  weir__plan_access accesses[WEIR_MAX_ARGS];
} player;

static void create(player *self, uint32_t index) {
  if (self->buffers[index] != WEIR__CLUSTER_NONE) return;
  uint32_t owner = weir__deal(index, self->deal, self->options->ranks);
  self->buffers[index] = weir__cluster_program_buffer(&self->program, self->stream->buffers[index].bytes, owner);
}

static void release(player *self, uint32_t index) {
  weir__cluster_program_release(&self->program, self->buffers[index]);
  self->buffers[index] = WEIR__CLUSTER_NONE;
}

static void submit(player *self, uint32_t index) {
  const weir__stream_task *task = &self->stream->tasks[index];
  for (uint32_t i = 0; i < task->access_count; i++) {
    const weir__stream_access *access = &task->accesses[i];
    self->accesses[i] = (weir__plan_access){access->mode, self->buffers[access->buffer], access->offset, access->bytes};
  }
  double ns = round(weir__stream_task_us(task) * self->options->time_scale * 1000);
  weir__cluster_program_task(&self->program, self->accesses, task->access_count, ns,
                             task->host_wait && !self->options->no_host_waits);
}

static void play_pass(player *self) {
  bool kept = self->options->storage == WEIR__REPLAY_KEPT;
  for (uint32_t i = 0; i < self->stream->event_count && !self->program.failed; i++) {
    const weir__stream_event *event = &self->stream->events[i];
    if (event->kind == WEIR__STREAM_BUFFER) create(self, event->index);
    if (event->kind == WEIR__STREAM_TASK) submit(self, event->index);
    for (uint32_t f = 0; event->kind == WEIR__STREAM_FREE && !kept && f < event->count; f++)
      release(self, self->stream->freed[event->index + f]);
  }
  for (uint32_t b = 0; b < self->stream->buffer_count && !kept; b++) {
    if (!self->stream->buffers[b].parameter) release(self, b);
  }
}

static weir_status play(player *self, weir__cluster_result *out_result) {
  weir__cluster_settings settings = weir__cluster_usual;
  char message[MESSAGE];
  if (!weir__cluster_settings_read(self->options->cluster, &settings, message, sizeof message))
    return WEIR_ERROR_INVALID_ARGUMENT;
  for (uint64_t pass = 0; pass < self->options->repeat && !self->program.failed; pass++) play_pass(self);
  if (!weir__cluster_program_end(&self->program)) return WEIR_ERROR_OUT_OF_MEMORY;
  uint32_t window = self->options->window > 0 ? (uint32_t)self->options->window : USUAL_WINDOW;
  return weir__cluster_run(&self->program, &settings, window, out_result);
}

int weir__replay_run_cluster(const char *path, const weir__stream *stream, const weir__replay_options *options,
                             weir__cluster_result *out_result) {
  player *self = calloc(1, sizeof *self);
  weir_status status = WEIR_ERROR_OUT_OF_MEMORY;
  if (self != NULL) {
    *self = (player){.stream = stream, .options = options, .deal = weir__replay_deal(path, options)};
    self->buffers = malloc(((size_t)stream->buffer_count + 1) * sizeof *self->buffers);
    bool created = weir__cluster_program_create(&self->program, (uint32_t)options->ranks) && self->buffers != NULL;
    for (uint32_t b = 0; created && b < stream->buffer_count; b++) self->buffers[b] = WEIR__CLUSTER_NONE;
    if (created) status = play(self, out_result);
    weir__cluster_program_free(&self->program);
    free(self->buffers);
  }
  free(self);
  if (status != WEIR_OK) weir__cli_error("replay", "%s: no memory for the cluster, or too many tasks", stream->name);
  return status == WEIR_OK ? WEIR__EXIT_OK : WEIR__EXIT_FAILED;
}
