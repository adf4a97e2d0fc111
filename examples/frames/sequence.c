// SPDX-License-Identifier: Apache-2.0
#include "sequence.h"

#include <stdlib.h>
#include <string.h>

static weir_status complain(weir_status status) {
  if (status != WEIR_OK) fprintf(stderr, "tonemap: %s\n", weir_last_error());
  return status;
}

static weir_status no_memory(void) {
  fprintf(stderr, "tonemap: no memory\n");
  return WEIR_ERROR_OUT_OF_MEMORY;
}

// ---------------------------------------------------------------------------------------------------------------
// The sequence

static weir_status choose_size(sequence *self) {
  const frames_options *options = self->options;
  picture first;
  if (!picture_read(options->files[0], &first)) return WEIR_ERROR_IO;
  self->width = options->crop_width > 0 ? options->crop_width : (first.width + 1) / 2;
  self->height = options->crop_height > 0 ? options->crop_height : (first.height + 1) / 2;
  bool fits = self->width <= first.width && self->height <= first.height;
  if (!fits) fprintf(stderr, "tonemap: --crop is larger than the first picture, %dx%d\n", first.width, first.height);
  picture_release(&first);
  return fits ? WEIR_OK : WEIR_ERROR_INVALID_ARGUMENT;
}

// What the serial reference makes of every frame.
static weir_status expect(sequence *self) {
  const frames_options *options = self->options;
  size_t pixels = (size_t)self->width * (size_t)self->height * 3;
  self->expected = calloc((size_t)options->frames, pixels);
  if (!self->expected) return no_memory();
  bool good = true;
  for (int frame = 0; good && frame < options->frames; frame++) {
    picture in;
    tone_crop crop = {.width = self->width, .height = self->height};
    if (!picture_read(options->files[frame % options->file_count], &in)) continue; // the frame fails, too
    if (crop.width <= in.width && crop.height <= in.height) {
      frame_move(&crop, &in, frame, options->frames);
      good =
          reference_map(&in, crop, options->tone.kind, options->tone.settings, self->expected + (size_t)frame * pixels);
    }
    picture_release(&in);
  }
  return good ? WEIR_OK : WEIR_ERROR_OUT_OF_MEMORY;
}

weir_status sequence_initialize(sequence *self, const frames_options *options) {
  memset(self, 0, sizeof *self);
  self->options = options;
  weir_status status = choose_size(self);
  if (status != WEIR_OK) return status;
  uint32_t flags = options->timeline ? WEIR_CONTEXT_TRACE : 0;
  status = weir_context_create(&(weir_context_options){.devices = options->devices, .flags = flags}, &self->context);
  if (status != WEIR_OK) return complain(status);
  self->device_count = weir_context_device_count(self->context);
  status = complain(steps_create_kernels(self->context, &self->kernels));
  if (status == WEIR_OK && options->check) status = expect(self);
  if (status != WEIR_OK) sequence_deinitialize(self);
  return status;
}

void sequence_deinitialize(sequence *self) {
  steps_release_kernels(&self->kernels);
  weir_context_release(self->context);
  free(self->expected);
  memset(self, 0, sizeof *self);
}

// ---------------------------------------------------------------------------------------------------------------
// A run

static void close_line(void *user, uint32_t number, void *state) {
  (void)number;
  const sequence *self = user;
  sequence_line *line = state;
  weir_finish(self->context); // the weights may still be copied
  steps_deinitialize(&line->steps);
  free(line->staged);
  free(line->pixels);
  free(line);
}

static weir_status open_line(void *user, uint32_t number, void **out_state) {
  sequence *self = user;
  const arguments_tone *tone = &self->options->tone;
  sequence_line *line = calloc(1, sizeof *line);
  if (!line) return WEIR_ERROR_OUT_OF_MEMORY;
  weir_status status = steps_initialize(&line->steps, self->context, &self->kernels, tone->kind, tone->settings,
                                        self->width, self->height);
  if (status == WEIR_OK) {
    line->staged = calloc(1, weir_buffer_bytes(steps_picture(&line->steps)));
    line->pixels = malloc(weir_buffer_bytes(steps_result(&line->steps)));
    if (!line->staged || !line->pixels) status = WEIR_ERROR_OUT_OF_MEMORY;
  }
  if (status == WEIR_OK) *out_state = line;
  if (status != WEIR_OK) close_line(user, number, line);
  return status;
}

static void deliver(weir_token *token) {
  sequence *self = token->user;
  if (token->status != WEIR_OK) fprintf(stderr, "tonemap: frame %d: %s\n", (int)token->number + 1, token->message);
  sequence_leave_device(self, token->line_state);
}

static void report(sequence *self, weir_pipeline *pipeline, sequence_report *out_report) {
  weir_pipeline_statistics statistics;
  weir_pipeline_get_statistics(pipeline, &statistics);
  *out_report =
      (sequence_report){.per_second = statistics.per_second, .latency_ms = (double)statistics.latency_median_ns * 1e-6};
  double all = 0;
  for (uint32_t i = 0; i < statistics.line_count; i++) {
    const weir_pipeline_line *line = &statistics.lines[i];
    const uint64_t ns[] = {line->busy_ns, line->input_ns, line->turn_ns, line->tasks_ns, line->thread_ns};
    for (int k = 0; k < 5; k++) out_report->part[k] += (double)ns[k];
    for (int k = 0; k < 5; k++) all += (double)ns[k];
  }
  for (int k = 0; k < 5 && all > 0; k++) out_report->part[k] /= all;
  for (uint32_t i = 0; i < self->device_count; i++) out_report->mapped[i] = atomic_load(&self->mapped[i]);
}

weir_status sequence_run(sequence *self, int frames, int lines, sequence_report *out_report) {
  weir_stage stages[SEQUENCE_STAGES];
  sequence_stages(self, stages);
  const weir_pipeline_options options = {.stages = stages,
                                         .stage_count = SEQUENCE_STAGES,
                                         .lines = (uint32_t)lines,
                                         .flags = WEIR_PIPELINE_TIMES,
                                         .deliver = deliver,
                                         .open_line = open_line,
                                         .close_line = close_line,
                                         .user = self};
  self->frames = frames;
  for (uint32_t i = 0; i < ROWS_MAX_DEVICES; i++) {
    atomic_store(&self->in_flight[i], 0);
    atomic_store(&self->mapped[i], 0);
  }
  weir_pipeline *pipeline = NULL;
  weir_status status = complain(weir_pipeline_create(self->context, &options, &pipeline));
  if (status == WEIR_OK) status = complain(weir_finish(self->context)); // what fills the lines' buffers
  weir_trace_clear(self->context);                                      // of that, and of runs before
  if (status == WEIR_OK) status = weir_pipeline_run(pipeline, WEIR_FOREVER);
  if (status == WEIR_OK) report(self, pipeline, out_report);
  weir_pipeline_release(pipeline);
  return status;
}
