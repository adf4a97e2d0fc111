// SPDX-License-Identifier: Apache-2.0
#include "ways.h"

#include <inttypes.h>
#include <stdio.h>

#include "clocks.h"
#include "device_clock.h"

const wait_shape wait_shapes[WAIT_SHAPES] = {
    {"one task", 1, 1}, {"the last of a chain of 10", 10, 1}, {"the last of 100 tasks, 16 wide", 100, 16}};

const char *const wait_sight_names[WAIT_SIGHTS] = {"event", "copy", "word"};

const wait_way wait_ways[WAIT_WAYS] = {
    {"serial",
     "one task after another, in one queue",
     {true, true, true},
     false,
     false,
     WEIR_ISSUE_QUEUES,
     WEIR_CONTEXT_IN_ORDER},
    {"queues", "queues and events", {true, true, true}, false, false, WEIR_ISSUE_QUEUES, 0},
    {"auto", "as the library chooses", {true, true, true}, false, false, WEIR_ISSUE_AUTO, 0},
    {"resident", "a kernel that stays on the card", {true, true, true}, false, false, WEIR_ISSUE_RESIDENT, 0},
    {"CUDA, waits", "one stream, cuStreamSynchronize", {true, true, false}, true, false, WEIR_ISSUE_QUEUES, 0},
    {"CUDA, asks", "one stream, cuStreamQuery all the time", {true, true, false}, true, true, WEIR_ISSUE_QUEUES, 0},
    {"CUDA, looks",
     "one stream, no call while the host looks at the word",
     {false, false, true},
     true,
     false,
     WEIR_ISSUE_QUEUES,
     0},
};

uint32_t wait_cell_of(const wait_shape *shape, uint32_t task) {
  return task / shape->width % 2 * WAIT_MOST_WIDTH + task % shape->width;
}

void wait_inputs_of(const wait_shape *shape, uint32_t task, uint32_t inputs[WAIT_INPUTS]) {
  uint32_t layer = task / shape->width, column = task % shape->width;
  for (uint32_t i = 0; i < WAIT_INPUTS; i++) {
    uint32_t before = (column + i + shape->width - 1) % shape->width;
    inputs[i] = layer == 0 ? WAIT_ZERO : (layer - 1) % 2 * WAIT_MOST_WIDTH + before;
  }
}

static uint64_t serial_value(const wait_job *job) {
  uint64_t cells[WAIT_CELLS] = {0}, value = 0;
  for (uint32_t task = 0; task < job->shape->tasks; task++) {
    uint32_t inputs[WAIT_INPUTS];
    wait_inputs_of(job->shape, task, inputs);
    value = job->salt + task + cells[inputs[0]] * 3u + cells[inputs[1]] * 5u + cells[inputs[2]] * 7u;
    cells[wait_cell_of(job->shape, task)] = value;
  }
  return value;
}

bool wait_check(const char *way, const wait_job *job, uint64_t value, uint64_t write_ns) {
  uint64_t expected = serial_value(job);
  if (value == expected && write_ns != 0) return true;
  fprintf(stderr, "weir-bench-wait: %s: %s, %s: %" PRIu64 " was to be written, and %" PRIu64 " came, at %" PRIu64 "\n",
          way, job->shape->name, wait_sight_names[job->sight], expected, value, write_ns);
  return false;
}

bool wait_for_word(const char *way, const uint64_t *word, wait_sample *sample) {
  for (uint32_t looks = 1;; looks++) {
    sample->write_ns = wait_read(word);
    if (sample->write_ns != 0) break;
    if (looks % WAIT_LOOKS_PER_YIELD != 0) continue;
    if (wait_clock_ns() - sample->wait_ns > WAIT_LIMIT_NS) {
      fprintf(stderr, "weir-bench-wait: %s: no word came\n", way);
      return false;
    }
    wait_yield();
  }
  sample->seen_ns = wait_clock_ns();
  return true;
}
