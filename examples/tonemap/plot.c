// SPDX-License-Identifier: Apache-2.0
#include "plot.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shares_plot.h"

static void take_frame(const mapper_report *frame, shares_plot_round *round) {
  uint64_t rows = 0;
  for (uint32_t i = 0; i < frame->round.device_count; i++) rows += frame->round.devices[i].groups;
  round->ms = frame->ms;
  for (uint32_t i = 0; i < frame->round.device_count; i++) {
    round->shares[i] = rows > 0 ? (double)frame->round.devices[i].groups / (double)rows : 0;
    round->device_ms[i] = (double)frame->round.devices[i].busy_ns * 1e-6;
  }
}

bool plot_write(const char *path, const char *title, const mapper_report *frames, int count, const char *const *names) {
  shares_plot plot = {.title = title,
                      .of = "rows",
                      .round = "frame",
                      .device_count = frames->round.device_count,
                      .round_count = (uint32_t)count};
  shares_plot_round *rounds = calloc((size_t)count, sizeof *rounds);
  if (!rounds) {
    fprintf(stderr, "tonemap: no memory for the plot\n");
    return false;
  }
  for (int i = 0; i < count; i++) take_frame(&frames[i], &rounds[i]);
  for (uint32_t i = 0; i < plot.device_count; i++) plot.names[i] = names[i];
  plot.rounds = rounds;
  bool good = shares_plot_write(path, &plot);
  if (!good) fprintf(stderr, "tonemap: %s: cannot be written: %s\n", path, strerror(errno));
  free(rounds);
  return good;
}
