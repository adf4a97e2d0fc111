// SPDX-License-Identifier: Apache-2.0
//
// The kernel that stands for recorded ones on a CUDA device: its shape, and that it compiles. `test_spin STREAM...`
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/allocate.h"
#include "device/cuda/nvrtc.h"
#include "weir/spin.h"

static char **paths;
static int path_count;

// Blocks of a launch that fit a multiprocessor of the card: threads, blocks, and 1 KiB of shared memory for each block.
static uint32_t blocks_that_fit(const weir__spin_launch *launch) {
  uint32_t threads = (launch->block[0] * launch->block[1] * launch->block[2] + 31) / 32 * 32;
  uint32_t blocks = 2048 / threads, by_shared = 228 * 1024 / ((launch->shared_bytes + 127) / 128 * 128 + 1024);
  if (blocks > 32) blocks = 32;
  return by_shared < blocks ? by_shared : blocks;
}

// On a resident kernel a launch takes as much of a multiprocessor, for as long.
static void check_groups(const weir__stream_kernel *kernel, uint32_t sms, const weir__spin_launch *launch) {
  weir__spin_launch groups;
  weir__spin_groups_shape(kernel, sms, &groups);
  assert_true(groups.us == launch->us);
  assert_int_equal(groups.block[0], 128);
  assert_int_equal(groups.grid[1] * groups.grid[2], 1);
  uint64_t blocks = (uint64_t)launch->grid[0] * launch->grid[1] * launch->grid[2];
  double wanted = (double)blocks / blocks_that_fit(launch), taken = (double)groups.grid[0] / WEIR__SPIN_WORKERS;
  assert_true(taken >= wanted - 1e-9 && taken < wanted + 1.0 / WEIR__SPIN_WORKERS);
}

static void check_kernel(const weir__stream_kernel *kernel, uint32_t sms) {
  weir__spin_launch launch;
  weir__spin_shape(kernel, sms, &launch);
  double us = kernel->us > 1.3 ? kernel->us - 1.3 : 0;
  if (kernel->copy_bytes > 0) {
    assert_int_equal(launch.grid[0] * launch.grid[1] * launch.grid[2], 8);
    assert_int_equal(launch.block[0] * launch.block[1] * launch.block[2], 256);
    assert_true(launch.us == us);
    check_groups(kernel, sms, &launch);
    return;
  }
  weir__stream_cost cost;
  weir__stream_kernel_cost(kernel, sms, &cost);
  assert_int_equal(blocks_that_fit(&launch), cost.blocks_per_sm);
  assert_true(launch.shared_bytes <= 227 * 1024);
  assert_memory_equal(launch.grid, kernel->grid, sizeof launch.grid);
  assert_memory_equal(launch.block, kernel->block, sizeof launch.block);
  assert_true(launch.us == us / (double)cost.waves);
  check_groups(kernel, sms, &launch);
}

static void recorded_kernels_keep_their_occupancy(void **state) {
  (void)state;
  for (int i = 0; i < path_count; i++) {
    char message[512];
    weir__stream *stream;
    if (weir__stream_read(paths[i], message, sizeof message, &stream) != WEIR_OK) fail_msg("%s", message);
    for (uint32_t t = 0; t < stream->task_count; t++) {
      for (uint32_t k = 0; k < stream->tasks[t].kernel_count; k++) {
        check_kernel(&stream->tasks[t].kernels[k], stream->sms);
      }
    }
    weir__stream_destroy(stream);
  }
}

// Every number of blocks that a multiprocessor can hold, limited by registers or by shared memory.
static void every_occupancy(void **state) {
  (void)state;
  for (uint32_t threads = 1; threads <= 1024; threads++) {
    for (uint32_t registers = 0; registers <= 255; registers += 5) {
      weir__stream_kernel kernel = {.grid = {7, 3, 2}, .block = {threads, 1, 1}, .registers = registers, .us = 5};
      if ((uint64_t)(registers + 7) / 8 * 8 * threads > 65536) continue;
      check_kernel(&kernel, 132);
    }
  }
  for (uint32_t shared_bytes = 0; shared_bytes <= 226 * 1024; shared_bytes += 64) {
    check_kernel(
        &(weir__stream_kernel){.grid = {5000, 1, 1}, .block = {32, 2, 1}, .shared_bytes = shared_bytes, .us = 1}, 132);
  }
}

static void the_kernel_compiles(void **state) {
  (void)state;
  char reason[256];
  if (!weir__nvrtc_load(reason, sizeof reason)) {
    printf("without NVRTC: %s\n", reason);
    skip();
  }
  static const char *const options[] = {NULL, "-DWEIR__SPIN_CLOCK64"};
  for (int i = 0; i < 2; i++) {
    void *image = NULL;
    size_t bytes;
    // As PTX, whose text shows the clock.
    if (weir__nvrtc_compile("spin", weir__spin_source, options[i], 999, &image, &bytes) != WEIR_OK) {
      fail_msg("%s", weir_last_error());
    }
    const char *spin = strstr(image, ".entry spin("), *measure = strstr(image, ".entry spin_measure(");
    assert_non_null(spin);
    assert_non_null(measure);
    const char *clock = strstr(spin, i == 0 ? "%globaltimer" : "%clock64");
    assert_true(clock && (measure < spin || clock < measure));
    weir__free(image);
  }
}

int main(int argc, char **argv) {
  paths = argv + 1;
  path_count = argc - 1;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(recorded_kernels_keep_their_occupancy),
      cmocka_unit_test(every_occupancy),
      cmocka_unit_test(the_kernel_compiles),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
