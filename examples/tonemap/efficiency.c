// SPDX-License-Identifier: Apache-2.0
#include "efficiency.h"

#include <stdio.h>
#include <stdlib.h>

enum { WARM_ROUNDS = 12, ROUNDS = 25 };

// Milliseconds of the launch that takes longest, by round: of each device alone, and of all together.
typedef struct times {
  double alone[ROWS_MAX_DEVICES][ROUNDS], together[ROUNDS];
} times;

static int compare_numbers(const void *a, const void *b) {
  double left = *(const double *)a, right = *(const double *)b;
  return (left > right) - (left < right);
}

// Sorts.
static double median(double *numbers) {
  qsort(numbers, ROUNDS, sizeof *numbers, compare_numbers);
  return numbers[ROUNDS / 2];
}

static weir_status create_alone(const mapper_options *options, uint32_t device, uint32_t count, mapper **out_mapper) {
  double shares[ROWS_MAX_DEVICES] = {0};
  shares[device] = 1;
  mapper_options alone = *options;
  alone.policy = "static";
  alone.shares = shares;
  alone.share_count = (int)count;
  return mapper_create(&alone, out_mapper);
}

// The devices alone and together take turns, so that what changes their speed for longer than that changes all alike.
static weir_status measure(mapper **maps, uint32_t devices, const picture *in, int32_t x, int32_t y, uint8_t *pixels,
                           times *out_times) {
  mapper_report report;
  for (int round = -WARM_ROUNDS; round < ROUNDS; round++) {
    for (uint32_t i = 0; i <= devices; i++) { // the last one is for all
      weir_status status = mapper_map(maps[i], in, x, y, pixels, &report);
      if (status != WEIR_OK) return status;
      double ms = (double)report.round.wall_ns * 1e-6;
      if (round >= 0) *(i < devices ? &out_times->alone[i][round] : &out_times->together[round]) = ms;
    }
  }
  return WEIR_OK;
}

static void print(times *t, uint32_t devices) {
  double best_rate = 0, ratios[ROUNDS];
  for (int round = 0; round < ROUNDS; round++) {
    double rate = 0;
    for (uint32_t i = 0; i < devices; i++) rate += 1 / t->alone[i][round];
    ratios[round] = 1 / rate / t->together[round];
  }
  printf("alone:");
  for (uint32_t i = 0; i < devices; i++) {
    double middle = median(t->alone[i]), best = t->alone[i][0];
    printf(" %.2f ms (median %.2f)", best, middle);
    best_rate += 1 / best;
  }
  double taken = median(t->together);
  printf("; at the best rates together %.2f ms, taken %.2f ms: efficiency %.3f, by the rates of the moment %.3f\n",
         1 / best_rate, taken, 1 / best_rate / taken, median(ratios));
}

weir_status efficiency_print(const mapper_options *options, uint32_t devices, const picture *in, int32_t x, int32_t y,
                             uint8_t *pixels) {
  mapper *maps[ROWS_MAX_DEVICES + 1] = {NULL};
  times *t = calloc(1, sizeof *t);
  weir_status status = t ? WEIR_OK : WEIR_ERROR_OUT_OF_MEMORY;
  if (!t) fprintf(stderr, "tonemap: no memory\n");
  for (uint32_t i = 0; status == WEIR_OK && i < devices; i++) status = create_alone(options, i, devices, &maps[i]);
  if (status == WEIR_OK) status = mapper_create(options, &maps[devices]);
  if (status == WEIR_OK) status = measure(maps, devices, in, x, y, pixels, t);
  if (status == WEIR_OK) print(t, devices);
  for (uint32_t i = 0; i <= devices; i++) mapper_release(maps[i]);
  free(t);
  return status;
}
