// SPDX-License-Identifier: Apache-2.0
#include "efficiency.h"

#include <stdio.h>
#include <stdlib.h>

enum { PASSES = 7 };

static int compare_numbers(const void *a, const void *b) {
  double left = *(const double *)a, right = *(const double *)b;
  return (left > right) - (left < right);
}

// Median of the second half of the frames; NaN without memory.
static double median_ms(const mapper_report *reports, int count) {
  int used = count - count / 2;
  double *times = malloc((size_t)used * sizeof *times), median = 0.0 / 0.0;
  for (int i = 0; times && i < used; i++) times[i] = (double)reports[count - used + i].round.wall_ns * 1e-6;
  if (times) {
    qsort(times, (size_t)used, sizeof *times, compare_numbers);
    median = times[used / 2];
  }
  free(times);
  return median;
}

// The best time of one device that gets all rows.
static weir_status best_alone_ms(const mapper_options *options, uint32_t device, uint32_t count, const picture *in,
                                 int32_t x, int32_t y, uint8_t *pixels, double *out_ms) {
  double shares[ROWS_MAX_DEVICES] = {0};
  shares[device] = 1;
  mapper_options alone = *options;
  alone.policy = "static";
  alone.shares = shares;
  alone.share_count = (int)count;
  mapper *map;
  weir_status status = mapper_create(&alone, &map);
  if (status != WEIR_OK) return status;
  for (int pass = 0; status == WEIR_OK && pass < PASSES; pass++) {
    mapper_report report;
    status = mapper_map(map, in, x, y, pixels, &report);
    double ms = (double)report.round.wall_ns * 1e-6;
    if (pass == 0 || ms < *out_ms) *out_ms = ms;
  }
  mapper_release(map);
  return status;
}

weir_status efficiency_print(const mapper_options *options, const picture *in, int32_t x, int32_t y, uint8_t *pixels,
                             const mapper_report *reports, int count) {
  uint32_t devices = reports->round.device_count;
  double together_ms = median_ms(reports, count), rate = 0;
  printf("alone:");
  for (uint32_t i = 0; i < devices; i++) {
    double ms = 0;
    weir_status status = best_alone_ms(options, i, devices, in, x, y, pixels, &ms);
    if (status != WEIR_OK) return status;
    printf(" %.2f ms", ms);
    rate += 1 / ms;
  }
  printf("; at these rates together %.2f ms, taken %.2f ms: efficiency %.3f\n", 1 / rate, together_ms,
         1 / rate / together_ms);
  return WEIR_OK;
}
