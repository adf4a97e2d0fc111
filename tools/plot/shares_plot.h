// SPDX-License-Identifier: Apache-2.0
//
// A plot of launches over several devices: above each device's share of every launch, below the time that each took. Shared by
// the command and the tone mapping example.
#ifndef WEIR_TOOLS_PLOT_SHARES_PLOT_H
#define WEIR_TOOLS_PLOT_SHARES_PLOT_H

#include <stdbool.h>
#include <stdint.h>

enum { SHARES_PLOT_MOST_DEVICES = 16 };

typedef struct shares_plot_round {
  double ms;                                  // of the whole
  double shares[SHARES_PLOT_MOST_DEVICES];    // of 1
  double device_ms[SHARES_PLOT_MOST_DEVICES]; // that the device was busy
} shares_plot_round;

typedef struct shares_plot {
  const char *title;
  const char *of;    // what is shared: "rows"
  const char *round; // what a round is called: "frame"
  uint32_t device_count;
  const char *names[SHARES_PLOT_MOST_DEVICES]; // of devices
  const shares_plot_round *rounds;
  uint32_t round_count; // at least 1
} shares_plot;

// Writes an SVG file. False: it cannot be written, as errno says.
bool shares_plot_write(const char *path, const shares_plot *plot);

#endif // WEIR_TOOLS_PLOT_SHARES_PLOT_H
