// SPDX-License-Identifier: Apache-2.0
//
// What is done for a frame.
#include "sequence.h"

// Serial, the first: there is one more frame.
static weir_status begin(weir_token *token) {
  const sequence *self = token->user;
  return token->number < (uint64_t)self->frames ? WEIR_OK : weir_token_end_input(token);
}

// On the host, any number at once: reads the frame's picture, and sorts its numbers.
static weir_status decode(weir_token *token) {
  const sequence *self = token->user;
  sequence_line *line = token->line_state;
  const char *file = self->options->files[token->number % (uint64_t)self->options->file_count];
  picture in;
  if (!picture_read(file, &in)) return weir_token_fail(token, WEIR_ERROR_IO, file);
  tone_crop crop = {.width = self->width, .height = self->height};
  bool fits = crop.width <= in.width && crop.height <= in.height;
  if (fits) {
    frame_move(&crop, &in, (int)token->number, self->options->frames);
    steps_stage(&line->steps, &in, crop.x, crop.y, line->staged);
  }
  picture_release(&in);
  return fits ? WEIR_OK : weir_token_fail(token, WEIR_ERROR_INVALID_ARGUMENT, "the picture is smaller than the frames");
}

// Gives the frame to the device with the fewest, of several the first.
static void enter_device(sequence *self, sequence_line *line) {
  uint32_t chosen = 0;
  for (uint32_t i = 1; i < self->device_count; i++) {
    if (atomic_load(&self->in_flight[i]) < atomic_load(&self->in_flight[chosen])) chosen = i;
  }
  atomic_fetch_add(&self->in_flight[chosen], 1);
  line->device = chosen;
  line->mapping = true;
}

void sequence_leave_device(sequence *self, sequence_line *line) {
  if (!line->mapping) return;
  atomic_fetch_sub(&self->in_flight[line->device], 1);
  atomic_fetch_add(&self->mapped[line->device], 1);
  line->mapping = false;
}

// The stages from here on submit, and wait for nothing: that the kernels come after the copy follows from what they read.
static weir_status upload(weir_token *token) {
  sequence_line *line = token->line_state;
  return weir_token_copy_in(token, steps_picture(&line->steps), 0, WEIR_WHOLE, line->staged);
}

static weir_status map(weir_token *token) {
  sequence *self = token->user;
  sequence_line *line = token->line_state;
  enter_device(self, line);
  weir_status status = WEIR_OK;
  for (int step = 0; status == WEIR_OK && step < STEPS; step++) {
    steps_launch launch;
    if (!steps_get(&line->steps, step, &launch)) continue;
    weir_arg args[ROWS_MAX_ARGS];
    for (uint32_t i = 0; i < launch.arg_count; i++) args[i] = launch.args[i].arg;
    const weir_task task = {.kernel = launch.kernel,
                            .args = args,
                            .arg_count = launch.arg_count,
                            .groups = {1, launch.rows, 1},
                            .label = launch.name,
                            .device = weir_context_device(self->context, line->device)};
    status = weir_token_submit(token, &task);
  }
  return status == WEIR_OK ? status : weir_token_fail(token, status, weir_last_error());
}

// The next stage begins when the pixels are there.
static weir_status download(weir_token *token) {
  sequence_line *line = token->line_state;
  return weir_token_copy_out(token, steps_result(&line->steps), 0, WEIR_WHOLE, line->pixels);
}

static bool write_frame(const sequence *self, const sequence_line *line, int frame) {
  uint64_t stride = steps_stride(&line->steps);
  char path[FRAME_MAX_PATH];
  if (self->options->out) {
    return frame_path(self->options->out, frame, self->options->frames, path) &&
           picture_write_png(path, self->width, self->height, line->pixels, stride);
  }
  FILE *nowhere = fopen("/dev/null", "wb");
  bool good = nowhere && picture_encode_png(nowhere, "/dev/null", self->width, self->height, line->pixels, stride);
  if (nowhere) fclose(nowhere);
  return good;
}

// On the host, in the frames' order.
static weir_status encode(weir_token *token) {
  sequence *self = token->user;
  sequence_line *line = token->line_state;
  sequence_leave_device(self, line);
  tone_crop crop = {.width = self->width, .height = self->height};
  size_t pixels = (size_t)crop.width * (size_t)crop.height * 3;
  if (!write_frame(self, line, (int)token->number)) return weir_token_fail(token, WEIR_ERROR_IO, "it was not written");
  if (!self->expected ||
      frame_equals(crop, line->pixels, steps_stride(&line->steps), self->expected + token->number * pixels))
    return WEIR_OK;
  return weir_token_fail(token, WEIR_ERROR_TASK_FAILED, "it differs from the serial reference");
}

void sequence_stages(sequence *self, weir_stage out_stages[SEQUENCE_STAGES]) {
  // On one device a frame's kernels are the same graph from frame to frame.
  uint32_t graph = self->device_count == 1 ? WEIR_STAGE_GRAPH : 0;
  const weir_stage stages[SEQUENCE_STAGES] = {
      {.function = begin, .name = "begin"},
      {.function = decode, .flags = WEIR_STAGE_PARALLEL, .name = "decode"},
      {.function = upload, .flags = WEIR_STAGE_PARALLEL, .name = "upload"},
      {.function = map, .flags = WEIR_STAGE_PARALLEL | graph, .name = "map"},
      {.function = download, .flags = WEIR_STAGE_PARALLEL | WEIR_STAGE_AWAIT, .name = "download"},
      {.function = encode, .name = "encode"}};
  for (int i = 0; i < SEQUENCE_STAGES; i++) {
    out_stages[i] = stages[i];
    out_stages[i].user = self;
  }
}
