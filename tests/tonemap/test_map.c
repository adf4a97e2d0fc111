// SPDX-License-Identifier: Apache-2.0
//
// The tone mapper on devices: for pictures and settings at random, every policy and number of devices, the same bytes as the
// serial reference. `test_tonemap_map cuda,cpu:4` runs on these devices only, and is skipped where there are none.
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../support/random.h"
#include "mapper.h"

static const char *device_lists[] = {"cpu:1", "cpu:2", "cpu:1,cpu:1", "cpu:2,cpu:1,cpu:1",
                                     "cpu:1,cpu:1,cpu:1,cpu:1,cpu:1"};
static const char *const policies[] = {"static", "history", "queue", "guided", "frames", "auto"};
enum {
  MOST_DEVICES = 16,
  POLICIES = sizeof policies / sizeof *policies,
  DEVICE_LISTS = sizeof device_lists / sizeof *device_lists
};

// A picture whose numbers span all that there is: 0, 65504, and 2^-20 to 2^15 with some smoothness.
static picture random_picture(random_state *random, int32_t width, int32_t height) {
  picture made = {
      .width = width, .height = height, .numbers = malloc((size_t)width * (size_t)height * 3 * sizeof(float))};
  assert_non_null(made.numbers);
  float level = 1;
  for (int64_t i = 0; i < (int64_t)width * height * 3; i++) {
    if (random_chance(random, 3)) level = tone_exp2((float)random_below(random, 36) - 20);
    uint32_t kind = random_below(random, 100);
    float number = level * (1 + (float)random_below(random, 1000) / 1000);
    made.numbers[i] = kind == 0 ? 0 : kind == 1 ? 65504 : number < 65504 ? number : 65504;
  }
  return made;
}

static void map_frames(random_state *random, const picture *in, const mapper_options *options, uint64_t seed) {
  mapper *map;
  assert_int_equal(mapper_create(options, &map), WEIR_OK);
  size_t row = (size_t)options->width * 3;
  uint8_t *expected = malloc(row * (size_t)options->height);
  uint8_t *pixels = malloc(mapper_stride(map) * (size_t)options->height);
  assert_true(expected && pixels);
  for (int frame = 0; frame < 2; frame++) {
    tone_crop crop = {(int32_t)random_below(random, (uint32_t)(in->width - options->width + 1)),
                      (int32_t)random_below(random, (uint32_t)(in->height - options->height + 1)), options->width,
                      options->height};
    mapper_report report;
    assert_true(reference_map(in, crop, options->kind, options->settings, expected));
    assert_int_equal(mapper_map(map, in, crop.x, crop.y, pixels, &report), WEIR_OK);
    uint64_t rows = 0;
    for (uint32_t i = 0; i < report.round.device_count; i++) rows += report.round.devices[i].groups;
    assert_int_equal(rows, options->height);
    assert_int_equal(report.round.device_count, weir_context_device_count(mapper_context(map)));
    for (int32_t y = 0; y < options->height; y++) {
      if (memcmp(expected + (size_t)y * row, pixels + (size_t)y * mapper_stride(map), row) != 0) {
        fail_msg("seed %llu, devices %s, policy %s: row %d of frame %d differs from the reference",
                 (unsigned long long)seed, options->devices, options->policy, y, frame);
      }
    }
  }
  mapper_release(map);
  free(pixels);
  free(expected);
}

static void map_at_random(uint64_t seed) {
  random_state random = {seed};
  uint32_t most = random_chance(&random, 30) ? 9 : 300;
  int32_t width = (int32_t)random_between(&random, 1, most), height = (int32_t)random_between(&random, 1, 40);
  picture in =
      random_picture(&random, width + (int32_t)random_below(&random, 5), height + (int32_t)random_below(&random, 5));
  double shares[MOST_DEVICES];
  for (int i = 0; i < MOST_DEVICES; i++) shares[i] = random_below(&random, 3);
  shares[0] += 1;
  mapper_options options = {.shares = shares, .width = width, .height = height};
  options.settings = (tone_settings){.key = 0.18f, .range = 0.4f, .contrast = (float)random_below(&random, 8)};
  if (random_chance(&random, 50)) options.settings.white = 2;
  for (size_t i = 0; i < DEVICE_LISTS && device_lists[i]; i++) {
    options.devices = device_lists[i];
    options.share_count = random_chance(&random, 50) ? 1 : 0;
    for (const char *c = options.devices; options.share_count > 0 && *c; c++) options.share_count += *c == ',';
    options.policy = policies[random_below(&random, POLICIES)];
    options.kind = random_chance(&random, 30) ? TONE_REINHARD : TONE_DURAND;
    options.settings.radius = options.kind == TONE_DURAND ? (int32_t)random_between(&random, 1, 5) : 0;
    map_frames(&random, &in, &options, seed);
  }
  picture_release(&in);
}

static void test_random(void **state) {
  (void)state;
  const char *text = getenv("WEIR_TEST_SEED");
  uint64_t start = text ? strtoull(text, NULL, 10) : 1, count = text ? 1 : 12;
  for (uint64_t seed = start; seed < start + count; seed++) map_at_random(seed);
}

// Every policy on every list of devices.
static void test_policies(void **state) {
  (void)state;
  for (int i = 0; i < POLICIES * DEVICE_LISTS; i++) {
    random_state random = {(uint64_t)i};
    picture in = random_picture(&random, 140, 70);
    mapper_options options = {.devices = device_lists[i / POLICIES],
                              .policy = policies[i % POLICIES],
                              .width = 137,
                              .height = 67,
                              .kind = TONE_DURAND};
    options.settings = (tone_settings){.key = 0.18f, .range = 0.4f, .contrast = 5, .radius = 3};
    if (options.devices) map_frames(&random, &in, &options, (uint64_t)i);
    picture_release(&in);
  }
}

// Radius at its largest, for which halos are larger than the blocks that they belong to.
static void test_large_halo(void **state) {
  (void)state;
  for (int i = 0; i < DEVICE_LISTS && device_lists[i]; i++) {
    random_state random = {99};
    picture in = random_picture(&random, 129, 11);
    mapper_options options = {
        .devices = device_lists[i], .policy = "static", .kind = TONE_DURAND, .width = 129, .height = 11};
    options.settings = (tone_settings){.range = 0.1f, .contrast = 5, .radius = TONE_MAX_RADIUS};
    map_frames(&random, &in, &options, 99);
    picture_release(&in);
  }
}

// One brightness everywhere: neither operator divides by what is not there.
static void test_flat(void **state) {
  (void)state;
  static const float levels[] = {0, 0.5f, 65504};
  for (int i = 0; i < 6; i++) {
    random_state random = {7};
    picture in = random_picture(&random, 40, 20);
    for (int k = 0; k < 40 * 20 * 3; k++) in.numbers[k] = levels[i / 2];
    mapper_options options = {.devices = device_lists[0], .policy = "auto", .width = 40, .height = 20};
    options.kind = i % 2 ? TONE_DURAND : TONE_REINHARD;
    options.settings = (tone_settings){.key = 0.18f, .range = 0.4f, .contrast = 5, .radius = i % 2 ? 4 : 0};
    map_frames(&random, &in, &options, 7);
    picture_release(&in);
  }
}

static void test_refused(void **state) {
  (void)state;
  mapper *map;
  const double shares[] = {1, 2};
  mapper_options options = {.devices = "quantum", .kind = TONE_REINHARD, .width = 8, .height = 8};
  assert_int_equal(mapper_create(&options, &map), WEIR_ERROR_INVALID_ARGUMENT);
  assert_null(map);
  options.devices = "cpu:1";
  options.shares = shares;
  options.share_count = 2;
  assert_int_equal(mapper_create(&options, &map), WEIR_ERROR_INVALID_ARGUMENT);
  assert_null(map);
  options.share_count = 0;
  options.devices =
      "cpu:1,cpu:1,cpu:1,cpu:1,cpu:1,cpu:1,cpu:1,cpu:1,cpu:1,cpu:1,cpu:1,cpu:1,cpu:1,cpu:1,cpu:1,cpu:1,cpu:1";
  assert_int_not_equal(mapper_create(&options, &map), WEIR_OK);
  assert_null(map);
}

// Leaves these devices in the list. False, with the reason: they are not there.
static bool only_on(const char *devices) {
  weir_context *context;
  if (weir_context_create(&(weir_context_options){.devices = devices}, &context) != WEIR_OK) {
    printf("%s\n", weir_last_error());
    return false;
  }
  weir_context_release(context);
  memset(device_lists, 0, sizeof device_lists);
  device_lists[0] = devices;
  return true;
}

int main(int argc, char **argv) {
  if (argc > 1 && !only_on(argv[1])) return 77;
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_random), cmocka_unit_test(test_policies),
                                     cmocka_unit_test(test_large_halo), cmocka_unit_test(test_flat),
                                     cmocka_unit_test(test_refused)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
