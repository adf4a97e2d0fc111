// SPDX-License-Identifier: Apache-2.0
#include "stages.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "weir/chain.h"
#include "weir/split.h"

enum {
  ROWS = 256,
  WIDTH = 1024,
  CELLS = ROWS * WIDTH,
  FRAMES = 24,
  ROUNDS = 11,
  BYTES = CELLS * 4,
  ROW_BYTES = WIDTH * 4
};

typedef struct bench {
  weir_context *context;
  weir_kernel *kernels[2];
  uint32_t steps[2]; // of the two kernels
  weir_buffer *in, *middle, *out;
  weir_chain *chains[2]; // of depth 1 and 2
  weir_split *split;
  uint32_t *frame, *expected, *found; // `found`: of all frames
} bench;

static uint32_t step_cell(uint32_t cell, uint32_t steps) {
  for (uint32_t i = 0; i < steps; i++) cell = cell * 1664525u + 1013904223u;
  return cell;
}

// A work-group is a row. Arguments: in, out, the number of steps.
static void step_rows(const weir_work *work) {
  const uint32_t *in = work->args[0], *steps = work->args[2];
  uint32_t *out = work->args[1];
  for (uint64_t i = work->first * WIDTH; i < work->end * WIDTH; i++) out[i] = step_cell(in[i], *steps);
}

static int good(weir_status status) {
  if (status == WEIR_OK) return 1;
  fprintf(stderr, "weir-bench-split: %s\n", weir_last_error());
  return 0;
}

static int make_chain(bench *b, uint32_t depth, weir_chain **out_chain) {
  const uint64_t bytes = BYTES;
  const weir_chain_arg steps[2] = {weir_chain_fixed(weir_value(&b->steps[0], sizeof b->steps[0])),
                                   weir_chain_fixed(weir_value(&b->steps[1], sizeof b->steps[1]))};
  const weir_chain_arg args[2][3] = {{weir_chain_item_arg(0), weir_chain_writes(0), steps[0]},
                                     {weir_chain_reads(0), weir_chain_item_arg(1), steps[1]}};
  weir_chain_stage stages[2];
  for (uint32_t i = 0; i < 2; i++)
    stages[i] = (weir_chain_stage){.kernel = b->kernels[i],
                                   .device = weir_context_device(b->context, i),
                                   .groups = {ROWS, 1, 1},
                                   .args = args[i],
                                   .arg_count = 3};
  const weir_chain_options options = {
      .stages = stages, .stage_count = 2, .link_bytes = &bytes, .link_count = 1, .depth = depth};
  return good(weir_chain_create(b->context, &options, out_chain));
}

static int submit_plain(bench *b, uint32_t index, weir_buffer *in, weir_buffer *out, uint32_t device) {
  weir_arg args[3] = {weir_reads(in), weir_writes(out), weir_value(&b->steps[index], sizeof b->steps[index])};
  weir_task task = {.kernel = b->kernels[index],
                    .args = args,
                    .arg_count = 3,
                    .groups = {ROWS, 1, 1},
                    .device = weir_context_device(b->context, device)};
  return good(weir_submit(b->context, &task, NULL));
}

static int submit_split(bench *b, uint32_t index, weir_buffer *in, weir_buffer *out) {
  weir_split_arg args[3] = {weir_split_block(weir_reads(in), ROW_BYTES), weir_split_block(weir_writes(out), ROW_BYTES),
                            weir_split_whole(weir_value(&b->steps[index], sizeof b->steps[index]))};
  weir_split_launch launch = {.kernel = b->kernels[index], .args = args, .arg_count = 3, .groups = {ROWS, 1, 1}};
  return good(weir_split_submit(b->split, &launch, NULL));
}

static int frame_on_one(bench *b) {
  return submit_plain(b, 0, b->in, b->middle, 0) && submit_plain(b, 1, b->middle, b->out, 0);
}

static int frame_on_two(bench *b) {
  return submit_plain(b, 0, b->in, b->middle, 0) && submit_plain(b, 1, b->middle, b->out, 1);
}

static int frame_in_chain(bench *b, weir_chain *chain) {
  weir_arg args[2] = {weir_reads(b->in), weir_writes(b->out)};
  return good(weir_chain_submit(chain, &(weir_chain_item){.args = args, .arg_count = 2}, NULL));
}

static int frame_in_chain_of_one(bench *b) {
  return frame_in_chain(b, b->chains[0]);
}

static int frame_in_chain_of_two(bench *b) {
  return frame_in_chain(b, b->chains[1]);
}

static int frame_split(bench *b) {
  return submit_split(b, 0, b->in, b->middle) && submit_split(b, 1, b->middle, b->out);
}

static int (*const ways[STAGES_WAYS])(bench *b) = {frame_on_one, frame_on_two, frame_in_chain_of_one,
                                                   frame_in_chain_of_two, frame_split};
static const char *const way_names[STAGES_WAYS] = {"one device", "a device each, no bound", "chain, depth 1",
                                                   "chain, depth 2", "split, auto"};

// Milliseconds for a frame of a sequence, each with its own input; negative: something failed.
static double measure_sequence(bench *b, int (*submit)(bench *b)) {
  memset(b->found, 0, (size_t)FRAMES * BYTES);
  double start = weir__bench_seconds();
  for (int frame = 0; frame < FRAMES; frame++) {
    if (!good(weir_copy_in(b->in, 0, BYTES, b->frame, NULL)) || !submit(b) ||
        !good(weir_copy_out(b->out, 0, BYTES, b->found + (size_t)frame * CELLS, NULL)))
      return -1;
  }
  if (!good(weir_finish(b->context))) return -1;
  double ms = (weir__bench_seconds() - start) * 1e3 / FRAMES;
  for (int frame = 0; frame < FRAMES; frame++) {
    if (memcmp(b->found + (size_t)frame * CELLS, b->expected, BYTES) == 0) continue;
    fprintf(stderr, "weir-bench-split: frame %d is wrong\n", frame);
    return -1;
  }
  return ms;
}

static int open_bench(bench *b) {
  weir_context_options options = {.devices = "cpu:1,cpu:1"};
  if (!good(weir_context_create(&options, &b->context))) return 0;
  for (int i = 0; i < 2; i++) {
    if (!good(weir_kernel_create(b->context, i == 0 ? "first" : "second", &b->kernels[i])) ||
        !good(weir_kernel_set_cpu(b->kernels[i], step_rows)))
      return 0;
  }
  b->frame = malloc(BYTES);
  b->expected = malloc(BYTES);
  b->found = malloc((size_t)FRAMES * BYTES);
  if (b->frame == NULL || b->expected == NULL || b->found == NULL) {
    fprintf(stderr, "weir-bench-split: no memory\n");
    return 0;
  }
  for (uint32_t i = 0; i < CELLS; i++) {
    b->frame[i] = i * 2654435761u;
    b->expected[i] = step_cell(b->frame[i], b->steps[0] + b->steps[1]);
  }
  return good(weir_buffer_create(b->context, BYTES, &b->in)) &&
         good(weir_buffer_create(b->context, BYTES, &b->middle)) &&
         good(weir_buffer_create(b->context, BYTES, &b->out)) && make_chain(b, 1, &b->chains[0]) &&
         make_chain(b, 2, &b->chains[1]) && good(weir_split_create(b->context, NULL, &b->split));
}

static int by_value(const void *left, const void *right) {
  double a = *(const double *)left, b = *(const double *)right;
  return a < b ? -1 : a > b;
}

// The ways take turns, so that what disturbs the machine hits all alike.
static int measure_case(uint32_t first, uint32_t second, double out_ms[STAGES_WAYS]) {
  bench b = {.steps = {first, second}};
  double ms[STAGES_WAYS][ROUNDS];
  int done = open_bench(&b);
  for (int round = -1; done && round < ROUNDS; round++) {
    for (int way = 0; done && way < STAGES_WAYS; way++) {
      double found = measure_sequence(&b, ways[way]);
      done = found >= 0;
      if (round >= 0) ms[way][round] = found;
    }
  }
  for (int way = 0; done && way < STAGES_WAYS; way++) {
    qsort(ms[way], ROUNDS, sizeof ms[way][0], by_value);
    out_ms[way] = ms[way][ROUNDS / 2];
  }
  weir_split_release(b.split);
  weir_context_release(b.context);
  free(b.frame);
  free(b.expected);
  free(b.found);
  return done;
}

int measure_stages(stages_table *out) {
  static const uint32_t steps[STAGES_CASES][2] = {{8, 8}, {12, 4}};
  static const char *const names[STAGES_CASES] = {"two kernels of one length", "the first three times as long"};
  for (int i = 0; i < STAGES_WAYS; i++) out->ways[i] = way_names[i];
  for (int i = 0; i < STAGES_CASES; i++) {
    out->cases[i] = names[i];
    if (!measure_case(steps[i][0], steps[i][1], out->ms[i])) return 0;
  }
  return 1;
}
