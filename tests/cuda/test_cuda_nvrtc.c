// SPDX-License-Identifier: Apache-2.0
//
// The real compiler, which needs no card.
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
#include "scratch.h"

static const char SOURCE[] = "extern \"C\" __global__ void scale(float *x, float a, int n) {\n"
                             "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                             "  if (i < n) x[i] *= a + OFFSET;\n"
                             "}\n";

static void expect(const char *text, const char *part) {
  if (strstr(text, part) == NULL) fail_msg("no '%s' in '%s'", part, text);
}

static void compile(const char *options, int capability, char **out_image, size_t *out_bytes) {
  void *image = NULL;
  if (weir__nvrtc_compile("scale", SOURCE, options, capability, &image, out_bytes) != WEIR_OK)
    fail_msg("%s", weir_last_error());
  *out_image = image;
}

static void test_binary(void **state) {
  (void)state;
  char *image, path[PATH_MAX];
  size_t bytes;
  compile("-DOFFSET=1", 90, &image, &bytes);
  assert_true(bytes > 1000);
  assert_memory_equal(image, "\177ELF", 4);
  weir__free(image);
  assert_int_equal(scratch_files(path), 1);
  compile(" -DOFFSET=1  -arch=sm_80 ", 90, &image, &bytes);
  assert_memory_equal(image, "\177ELF", 4);
  weir__free(image);
  assert_int_equal(scratch_files(path), 2);
}

// A device that is newer than the compiler gets PTX, which its driver compiles.
static void test_newer_device(void **state) {
  (void)state;
  char *image;
  size_t bytes;
  compile("-DOFFSET=1", 999, &image, &bytes);
  expect(image, ".version");
  expect(image, "scale");
  assert_int_equal(strlen(image) + 1, bytes);
  weir__free(image);
}

static void test_failure(void **state) {
  (void)state;
  void *image;
  size_t bytes;
  assert_int_equal(weir__nvrtc_compile("scale", SOURCE, NULL, 90, &image, &bytes), WEIR_ERROR_INVALID_ARGUMENT);
  assert_null(image);
  expect(weir_last_error(), "kernel 'scale' does not compile");
  expect(weir_last_error(), "scale.cu(3): error");
  expect(weir_last_error(), "OFFSET");
  assert_int_equal(weir__nvrtc_compile("scale", SOURCE, "--no-such-option", 90, &image, &bytes),
                   WEIR_ERROR_INVALID_ARGUMENT);
  expect(weir_last_error(), "no-such-option");
  assert_int_equal(weir__nvrtc_compile("scale", SOURCE, NULL, 10, &image, &bytes), WEIR_ERROR_UNAVAILABLE);
  expect(weir_last_error(), "compute capability 1.0");
}

// A log that is longer than an error text is cut, and says so.
static void test_long_log(void **state) {
  (void)state;
  char source[8192] = "";
  for (int i = 0; i < 90; i++)
    snprintf(source + strlen(source), sizeof source - strlen(source),
             "__device__ int number_%d = a_name_nobody_knows_%d;\n", i, i);
  void *image;
  size_t bytes;
  assert_int_equal(weir__nvrtc_compile("long", source, NULL, 90, &image, &bytes), WEIR_ERROR_INVALID_ARGUMENT);
  expect(weir_last_error(), "a_name_nobody_knows_30");
  assert_true(strlen(weir_last_error()) > 8000);
  expect(weir_last_error() + strlen(weir_last_error()) - 16, "(cut)");
}

int main(void) {
  char reason[512];
  if (weir__nvrtc_load(reason, sizeof reason) == NULL) {
    printf("skipped: %s\n", reason);
    return 77;
  }
  scratch_create();
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_binary), cmocka_unit_test(test_newer_device),
                                     cmocka_unit_test(test_failure), cmocka_unit_test(test_long_log)};
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  scratch_remove();
  return failed;
}
