// SPDX-License-Identifier: Apache-2.0
//
// The arithmetic of the tone mapper beside the C library's.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tone.h"

// Numbers of all sizes from 2^-`range` to 2^`range`.
static float number_at(int i, int count, int range) {
  return (float)exp2(2.0 * range * i / count - range);
}

static void test_log2(void **state) {
  (void)state;
  enum { COUNT = 200000 };
  for (int i = 0; i <= COUNT; i++) {
    float x = number_at(i, COUNT, 60);
    double is = (double)tone_log2(x), should = log2((double)x);
    if (!(fabs(is - should) <= 3e-7 + 1.2e-7 * fabs(should)))
      fail_msg("log2 %g: %.9g, not %.9g", (double)x, is, should);
  }
  for (int power = -126; power <= 127; power++) {
    assert_true(tone_log2((float)ldexp(1, power)) == (float)power);
  }
}

static void test_exp2(void **state) {
  (void)state;
  for (int i = -120000; i <= 120000; i++) {
    float x = (float)i / 1000;
    double is = (double)tone_exp2(x), should = exp2((double)x);
    if (!(fabs(is / should - 1) <= 2e-7)) fail_msg("2^%g: %.9g, not %.9g", (double)x, is, should);
  }
  assert_true(tone_exp2(1e30f) == tone_exp2(120));
  assert_true(tone_exp2(-1e30f) == tone_exp2(-120));
}

static void test_reciprocal(void **state) {
  (void)state;
  enum { COUNT = 200000 };
  for (int i = 0; i <= COUNT; i++) {
    float x = number_at(i, COUNT, 120);
    double is = (double)tone_reciprocal(x) * (double)x;
    if (!(fabs(is - 1) <= 3e-7)) fail_msg("1 / %g is off: times itself %.9g", (double)x, is);
  }
}

// Every step of sRGB, both ways; never darker for more light.
static void test_srgb(void **state) {
  (void)state;
  for (int code = 0; code <= 255; code++) {
    double value = code / 255.0;
    double linear = value <= 0.04045 ? value / 12.92 : pow((value + 0.055) / 1.055, 2.4);
    assert_int_equal(tone_srgb((float)linear), code);
  }
  int32_t before = 0;
  for (int i = -100; i <= 100100; i++) {
    int32_t now = tone_srgb((float)i / 100000);
    assert_true(now >= before && now <= 255);
    before = now;
  }
  assert_int_equal(tone_srgb(-1e30f), 0);
  assert_int_equal(tone_srgb(1e30f), 255);
}

static void test_operators(void **state) {
  (void)state;
  // The equations of Reinhard et al. in double.
  tone_settings settings = {.key = 0.18f};
  double mean = -3.5;
  tone_common common = tone_expose((int64_t)((mean + 20) * TONE_LOG_STEPS) * 1000, 9.0f, 1000, settings);
  double scale = 0.18 / exp2(mean), white = scale * exp2(9.0);
  for (int i = 0; i <= 1000; i++) {
    float luminance = number_at(i, 1000, 9);
    double scaled = scale * (double)luminance, expected = scaled * (1 + scaled / (white * white)) / (1 + scaled);
    double is = (double)(tone_reinhard(luminance, common) * luminance);
    if (!(fabs(is / expected - 1) < 1e-5)) fail_msg("luminance %g: %g, not %g", (double)luminance, is, expected);
  }
  // A base layer that has the contrast already, and one that has more.
  settings.contrast = 5;
  int64_t steps = 10 * TONE_LOG_STEPS, wide = 4 * TONE_LOG_STEPS;
  common = tone_compress(2 * steps, 2 * steps * steps, 2, settings);
  assert_true(common.slope == 1);
  common = tone_compress(2 * steps, (steps - wide) * (steps - wide) + (steps + wide) * (steps + wide), 2, settings);
  assert_true(fabs((double)common.slope - 5.0 / 20) < 1e-5);
  assert_true(fabs((double)common.white - (10 - 20 + 2.5 * 4)) < 1e-4);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_log2), cmocka_unit_test(test_exp2),
                                     cmocka_unit_test(test_reciprocal), cmocka_unit_test(test_srgb),
                                     cmocka_unit_test(test_operators)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
