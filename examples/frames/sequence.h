// SPDX-License-Identifier: Apache-2.0
//
// The frames of a sequence on their way through a pipeline: decode, upload, map, download, encode.
#ifndef FRAMES_SEQUENCE_H
#define FRAMES_SEQUENCE_H

#include <stdatomic.h>
#include <weir/pipeline.h>

#include "frame.h"
#include "options.h"
#include "steps.h"

typedef struct sequence {
  const frames_options *options;
  weir_context *context;
  uint32_t device_count;
  steps_kernels kernels;
  int32_t width, height; // of frames
  uint8_t *expected;     // pixels of all frames; NULL: not to be checked
  // Of a run:
  int frames;
  atomic_uint in_flight[ROWS_MAX_DEVICES], mapped[ROWS_MAX_DEVICES]; // frames of each device
} sequence;

// What a line has: room for one frame.
typedef struct sequence_line {
  steps steps;     // the buffers
  float *staged;   // the frame as the kernels want it
  uint8_t *pixels; // the result
  uint32_t device; // that maps the frame, if `mapping`
  bool mapping;
} sequence_line;

typedef struct sequence_report {
  double per_second, latency_ms; // frames; from a frame's first stage to its delivery, the median
  double part[5];                // of the time of all lines: in stages, without a frame, before a turn, tasks, thread
  uint32_t mapped[ROWS_MAX_DEVICES];
} sequence_report;

// Functions that fail print why to stderr.

// Creates the context and the kernels, with what `expected` needs. Errors: as weir_context_create; INVALID_ARGUMENT (a rectangle that is larger than the first picture), IO (the picture), OUT_OF_MEMORY.
weir_status sequence_initialize(sequence *self, const frames_options *options);
void sequence_deinitialize(sequence *self);

// Has `frames` frames go through a pipeline of so many lines. A frame that fails does not stop others. Returns how the first of
// those failed.
weir_status sequence_run(sequence *self, int frames, int lines, sequence_report *out_report);

// What is done for a frame (stages.c).
enum { SEQUENCE_STAGES = 6 };
void sequence_stages(sequence *self, weir_stage out_stages[SEQUENCE_STAGES]);
void sequence_leave_device(sequence *self, sequence_line *line); // if the line's frame is on one

#endif // FRAMES_SEQUENCE_H
