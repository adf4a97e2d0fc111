// SPDX-License-Identifier: Apache-2.0
//
// Random programs whose tasks use boxes and ranges of a few buffers. Serial execution is kept beside them.
#ifndef WEIR_TESTS_BOXES_PROGRAM_H
#define WEIR_TESTS_BOXES_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>

#include "boxes_shape.h"
#include "random.h"
#include "weir/box.h"

enum { BOXES_BUFFERS = 3 };

// A buffer: words, what serial execution has in them, and whether they are poisoned.
typedef struct boxes_buffer {
  uint32_t words, pitch, rows, slices; // of most boxes in it
  bool wrapped;
  uint32_t *memory; // that it wraps, or what it begins with
  uint32_t *expected;
  bool *poisoned;
  weir_buffer *buffer;
} boxes_buffer;

// Bytes of a buffer that a task uses.
typedef struct boxes_use {
  uint32_t buffer, first;
  boxes_part part;
  bool box; // else all from the first to the last word
} boxes_use;

typedef struct boxes_task {
  boxes_use from, to;
  weir_mode to_mode; // WRITE or READ_WRITE
  uint32_t seed, device;
  bool host, fails;
} boxes_task;

uint32_t boxes_word(const boxes_part *part, uint32_t index);
static inline uint32_t boxes_count(const boxes_part *part) {
  return part->width * part->rows * part->slices;
}

// Makes the buffers' contents. `unit`: what offsets and pitches are multiples of.
void boxes_create(boxes_buffer *buffers, random_state *random, uint32_t unit);
void boxes_destroy(boxes_buffer *buffers);

// A random task whose two parts have no word in common. False: none was found.
bool boxes_choose(const boxes_buffer *buffers, random_state *random, uint32_t unit, boxes_task *out_task);

// Runs it on what is expected. Returns its status.
weir_status boxes_run(boxes_buffer *buffers, const boxes_task *task);

// Arguments for it, and for `shape` and `boxes`, which the arguments point to.
void boxes_args(const boxes_buffer *buffers, const boxes_task *task, boxes_shape *shape, weir_box boxes[2],
                weir_arg args[3]);

// The same as a function; the shape's seed is that of a task that fails if `updates` has bit 1.
void boxes_host(const weir_work *work);

#endif // WEIR_TESTS_BOXES_PROGRAM_H
