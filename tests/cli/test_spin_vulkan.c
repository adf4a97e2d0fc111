// SPDX-License-Identifier: Apache-2.0
//
// The shape of the kernel that stands for recorded ones on a Vulkan device. `test_spin_vulkan STREAM...`
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "weir/spin_vulkan.h"

static char **paths;
static int path_count;

static const weir__spin_vulkan_limits card_limits = {48 << 10, 1024, INT32_MAX}, small_limits = {32 << 10, 1024, 65535};

// Groups of a dispatch that fit a multiprocessor of the card: threads, groups, and what was measured of shared memory.
static uint32_t groups_that_fit(const weir__spin_vulkan_dispatch *dispatch, const weir__spin_vulkan_limits *limits) {
  uint32_t groups = 2048 / ((dispatch->threads + 31) / 32 * 32);
  uint32_t by_shared =
      dispatch->shared_bytes == 0 ? 32 : limits->shared_bytes * 9 / 8 / (dispatch->shared_bytes + 1024);
  if (groups > 32) groups = 32;
  return by_shared < groups ? by_shared : groups;
}

static uint64_t group_count(const weir__spin_vulkan_dispatch *dispatch) {
  return (uint64_t)dispatch->groups[0] * dispatch->groups[1] * dispatch->groups[2];
}

static void check_kernel(const weir__stream_kernel *kernel, uint32_t sms, const weir__spin_vulkan_limits *limits) {
  weir__spin_vulkan_dispatch dispatch;
  weir__spin_vulkan_shape(kernel, sms, limits, &dispatch);
  double us = kernel->us > 1.3 ? kernel->us - 1.3 : 0;
  assert_true(dispatch.threads >= 1 && dispatch.threads <= limits->threads);
  assert_true(dispatch.shared_bytes <= limits->shared_bytes);
  assert_int_equal(dispatch.shared_bytes % 128, 0);
  assert_true(dispatch.groups[0] <= limits->groups_x && dispatch.groups[1] <= limits->groups_x);
  if (kernel->copy_bytes > 0) {
    assert_int_equal(group_count(&dispatch), 8);
    assert_int_equal(dispatch.threads, 256);
    assert_true(dispatch.us == us);
    return;
  }
  weir__stream_cost cost;
  weir__stream_kernel_cost(kernel, sms, &cost);
  uint32_t fit = groups_that_fit(&dispatch, limits);
  assert_true(fit >= cost.blocks_per_sm && fit <= cost.blocks_per_sm + cost.blocks_per_sm / 6); // memory comes in steps
  assert_true(group_count(&dispatch) >= cost.blocks && group_count(&dispatch) < cost.blocks + dispatch.groups[1]);
  assert_true(dispatch.us == us / (double)cost.waves);
}

static void recorded_kernels_keep_their_occupancy(void **state) {
  (void)state;
  for (int i = 0; i < path_count; i++) {
    char message[512];
    weir__stream *stream;
    if (weir__stream_read(paths[i], message, sizeof message, &stream) != WEIR_OK) fail_msg("%s", message);
    for (uint32_t t = 0; t < stream->task_count; t++) {
      for (uint32_t k = 0; k < stream->tasks[t].kernel_count; k++) {
        check_kernel(&stream->tasks[t].kernels[k], stream->sms, &card_limits);
        check_kernel(&stream->tasks[t].kernels[k], stream->sms, &small_limits);
      }
    }
    weir__stream_destroy(stream);
  }
}

// Every number of blocks that a multiprocessor can hold, limited by threads, by registers or by shared memory.
static void every_occupancy(void **state) {
  (void)state;
  for (uint32_t threads = 1; threads <= 1024; threads++) {
    for (uint32_t registers = 0; registers <= 255; registers += 5) {
      weir__stream_kernel kernel = {.grid = {7, 3, 2}, .block = {threads, 1, 1}, .registers = registers, .us = 5};
      if ((uint64_t)(registers + 7) / 8 * 8 * threads > 65536) continue;
      check_kernel(&kernel, 132, &card_limits);
      check_kernel(&kernel, 132, &small_limits);
    }
  }
  for (uint32_t shared_bytes = 0; shared_bytes <= 226 * 1024; shared_bytes += 64) {
    weir__stream_kernel kernel = {.grid = {5000, 1, 1}, .block = {32, 2, 1}, .shared_bytes = shared_bytes, .us = 1};
    check_kernel(&kernel, 132, &card_limits);
    check_kernel(&kernel, 132, &small_limits);
  }
}

static void shapes_of_the_contract(void **state) {
  (void)state;
  static const struct {
    uint32_t recorded_bytes, shared_bytes;
  } expected[] = {
      {200 << 10, 48 << 10}, {100 << 10, 26 << 10}, {70 << 10, 17 << 10}, {50 << 10, 12800}, {36 << 10, 8 << 10}};
  for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
    weir__stream_kernel kernel = {
        .grid = {10, 1, 1}, .block = {128, 1, 1}, .shared_bytes = expected[i].recorded_bytes, .us = 9};
    weir__spin_vulkan_dispatch dispatch;
    weir__spin_vulkan_shape(&kernel, 132, &card_limits, &dispatch);
    assert_int_equal(dispatch.groups[0], 10);
    assert_int_equal(dispatch.threads, 128);
    assert_int_equal(dispatch.shared_bytes, expected[i].shared_bytes);
  }
}

// Devices with the least that Vulkan allows.
static void small_devices(void **state) {
  (void)state;
  const weir__spin_vulkan_limits least = {16 << 10, 128, 65535};
  for (uint32_t shared_bytes = 0; shared_bytes <= 226 * 1024; shared_bytes += 64) {
    weir__stream_kernel kernel = {.grid = {5000, 1, 1}, .block = {32, 8, 1}, .shared_bytes = shared_bytes, .us = 1};
    weir__spin_vulkan_dispatch dispatch;
    weir__spin_vulkan_shape(&kernel, 132, &least, &dispatch);
    assert_true(dispatch.threads <= least.threads && dispatch.shared_bytes <= least.shared_bytes);
    assert_int_equal(group_count(&dispatch), 5000);
  }
}

// More groups than fit one dimension.
static void many_groups(void **state) {
  (void)state;
  for (uint32_t blocks = 60000; blocks < 3000000; blocks += 7919) {
    weir__stream_kernel kernel = {.grid = {blocks, 1, 1}, .block = {1024, 1, 1}, .us = 100};
    check_kernel(&kernel, 132, &small_limits);
    check_kernel(&kernel, 132, &card_limits);
  }
}

int main(int argc, char **argv) {
  paths = argv + 1;
  path_count = argc - 1;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(recorded_kernels_keep_their_occupancy),
      cmocka_unit_test(every_occupancy),
      cmocka_unit_test(shapes_of_the_contract),
      cmocka_unit_test(small_devices),
      cmocka_unit_test(many_groups),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
