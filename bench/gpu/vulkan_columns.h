// SPDX-License-Identifier: Apache-2.0
//
// The columns of a recorded stream: how long a pass takes in each way to keep its order.
#ifndef WEIR_BENCH_GPU_VULKAN_COLUMNS_H
#define WEIR_BENCH_GPU_VULKAN_COLUMNS_H

#include <stdbool.h>
#include <stdint.h>

enum { VULKAN_MOST_RUNS = 1000 };

typedef struct vulkan_options {
  uint32_t runs; // samples of each column, up to VULKAN_MOST_RUNS
  bool json, quick;
} vulkan_options;

extern vulkan_options options;

// Measures every stream and prints a table, or in JSON "streams": [...].
void vulkan_columns(const char *const *paths, uint32_t count);

#endif // WEIR_BENCH_GPU_VULKAN_COLUMNS_H
