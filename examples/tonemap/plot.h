// SPDX-License-Identifier: Apache-2.0
//
// A plot of the frames of a sequence: above each device's share of the rows, below the time that each took.
#ifndef TONEMAP_PLOT_H
#define TONEMAP_PLOT_H

#include <stdbool.h>

#include "mapper.h"

// Writes an SVG file. `names` has one for each device of the reports. On failure prints why and returns false.
bool plot_write(const char *path, const char *title, const mapper_report *frames, int count, const char *const *names);

#endif // TONEMAP_PLOT_H
