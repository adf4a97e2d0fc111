// SPDX-License-Identifier: Apache-2.0
//
// The rows that `--ways` prints, as a table or as JSON.
#ifndef WEIR_BENCH_GPU_VULKAN_ROWS_H
#define WEIR_BENCH_GPU_VULKAN_ROWS_H

#include <stdbool.h>

#include "timing.h"

typedef struct vulkan_options {
  uint32_t runs;
  bool json, quick;
} vulkan_options;

extern vulkan_options options;

// Begins and ends the rows. In JSON they are an array.
void vulkan_rows_begin(void);
void vulkan_rows_end(void);

// A measurement: `section` is its letter, the rest its name.
__attribute__((format(printf, 4, 5))) void vulkan_row(char section, gpu_stat stat, const char *unit, const char *format,
                                                      ...);

// What cannot be measured here, and why.
__attribute__((format(printf, 3, 4))) void vulkan_row_missing(char section, const char *reason, const char *format,
                                                              ...);

// What the device says, or a single number.
__attribute__((format(printf, 3, 4))) void vulkan_fact(char section, const char *name, const char *format, ...);

#endif // WEIR_BENCH_GPU_VULKAN_ROWS_H
