// SPDX-License-Identifier: Apache-2.0
//
// Ways of getting tasks to a device and of waiting for the last of them: Weir's, and those of the CUDA driver alone.
#ifndef WEIR_BENCH_WAIT_WAYS_H
#define WEIR_BENCH_WAIT_WAYS_H

#include "nvrtc_card.h"
#include "weir/weir.h"

enum { WAIT_SHAPES = 3, WAIT_WAYS = 7, WAIT_MOST_WIDTH = 16, WAIT_INPUTS = 3 };

// Layers of tasks. Each reads three tasks of the layer before, and writes over the layer before the last; those of the
// first layer read a cell that nobody writes.
typedef struct wait_shape {
  const char *name;
  uint32_t tasks, width;
} wait_shape;

extern const wait_shape wait_shapes[WAIT_SHAPES];

// How the host sees what the last task wrote.
typedef enum wait_sight {
  WAIT_EVENT, // it waits until it knows that the task is done; the value is on the device
  WAIT_COPY,  // the value is copied to the host's memory behind the task, and it waits for the copy
  WAIT_WORD,  // the task's last write is to a word of the host's memory, which it looks at all the time
  WAIT_SIGHTS
} wait_sight;

extern const char *const wait_sight_names[WAIT_SIGHTS];

// What is to be run once.
typedef struct wait_job {
  const wait_shape *shape;
  wait_sight sight;
  uint64_t spin_ns; // of each task
  uint64_t salt;    // values depend on it, so that none is left over from another run
} wait_job;

// When what happened: by the host's clock, but the write.
typedef struct wait_sample {
  uint64_t submit_ns; // before the first call
  uint64_t wait_ns;   // the last task was submitted, and the wait begins
  uint64_t seen_ns;   // the wait is over
  uint64_t write_ns;  // the device's clock: the last write of the last task
} wait_sample;

typedef struct wait_way {
  const char *name, *about;
  bool sights[WAIT_SIGHTS];
  bool is_peer;     // CUDA's own calls
  bool asks;        // of a peer: asks all the time, instead of waiting in the driver
  weir_issue issue; // of Weir's
  uint32_t flags;   // of Weir's
} wait_way;

extern const wait_way wait_ways[WAIT_WAYS];

// Cells: numbers of those that tasks write, 0 to 2 * WAIT_MOST_WIDTH - 1, and the one that nobody writes.
enum { WAIT_ZERO = 2 * WAIT_MOST_WIDTH, WAIT_CELLS, WAIT_CELL_BYTES = 16 };
uint32_t wait_cell_of(const wait_shape *shape, uint32_t task);
void wait_inputs_of(const wait_shape *shape, uint32_t task, uint32_t inputs[WAIT_INPUTS]);

// Whether a run saw what serial execution gives and when it was written. False: a message was printed.
bool wait_check(const char *way, const wait_job *job, uint64_t value, uint64_t write_ns);

// Looks at a word until it is not 0; false, and a message was printed, if that takes too long. Returns its value in the
// sample, with the time.
bool wait_for_word(const char *way, const uint64_t *word, wait_sample *sample);

// Nobody waits for longer.
static const uint64_t WAIT_LIMIT_NS = 20000000000;

// Of Weir. NULL: a message was printed, and out_status says why.
typedef struct wait_weir wait_weir;
wait_weir *wait_weir_open(const wait_way *way, const char *device, weir_status *out_status);
void wait_weir_close(wait_weir *state);
bool wait_weir_run(wait_weir *state, const wait_job *job, wait_sample *out_sample); // False: a message was printed.

// The share of the tasks that a resident kernel ran.
double wait_weir_resident(const wait_weir *state);

// Of the driver's calls alone, all tasks in one stream. NULL, false: a message was printed. `card` must live as long.
typedef struct wait_cuda wait_cuda;
wait_cuda *wait_cuda_open(const wait_way *way, const nvrtc_card *card);
void wait_cuda_close(wait_cuda *state);
bool wait_cuda_run(wait_cuda *state, const wait_job *job, wait_sample *out_sample);

#endif // WEIR_BENCH_WAIT_WAYS_H
