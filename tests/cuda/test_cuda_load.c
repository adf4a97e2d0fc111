// SPDX-License-Identifier: Apache-2.0
//
// A machine without the driver or NVRTC, or with a wrong library in their place: the reason is said.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "device/cuda/driver.h"
#include "device/cuda/nvrtc.h"

static const struct {
  const char *library, *reason;
} WRONG[] = {
    {"/nowhere/libcuda.so.1", "/nowhere/libcuda.so.1: cannot open"},
    {"./CMakeLists.txt", "invalid ELF header"}, // tests run in the root of the project
    {EMPTY_LIBRARY, NULL},
};

static void expect(const char *text, const char *part) {
  if (strstr(text, part) == NULL) fail_msg("no '%s' in '%s'", part, text);
}

static void test_driver(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof WRONG / sizeof WRONG[0]; i++) {
    char reason[256] = "", line[256] = "";
    setenv("WEIR_CUDA_DRIVER", WRONG[i].library, 1);
    assert_null(weir__cuda_driver_load(reason, sizeof reason));
    expect(reason, WRONG[i].reason != NULL ? WRONG[i].reason : "libweir_empty_library.so: the driver lacks cuInit");
    assert_false(weir__cuda_probe(line, sizeof line));
    assert_string_equal(line, reason);
  }
}

static void test_nvrtc(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof WRONG / sizeof WRONG[0]; i++) {
    char reason[256] = "";
    setenv("WEIR_NVRTC", WRONG[i].library, 1);
    assert_null(weir__nvrtc_load(reason, sizeof reason));
    expect(reason, WRONG[i].reason != NULL ? WRONG[i].reason : "NVRTC lacks nvrtcVersion");
    void *image = &image;
    size_t bytes = 1;
    assert_int_equal(weir__nvrtc_compile("blur", "", NULL, 90, &image, &bytes), WEIR_ERROR_UNAVAILABLE);
    assert_null(image);
    expect(weir_last_error(), "kernel 'blur'");
    expect(weir_last_error(), reason);
  }
}

static void test_results(void **state) {
  (void)state;
  assert_int_equal(weir__cuda_status(CUDA_SUCCESS), WEIR_OK);
  assert_int_equal(weir__cuda_status(CUDA_ERROR_NOT_READY), WEIR_PENDING);
  assert_int_equal(weir__cuda_status(CUDA_ERROR_OUT_OF_MEMORY), WEIR_ERROR_OUT_OF_MEMORY);
  assert_int_equal(weir__cuda_status(CUDA_ERROR_INVALID_VALUE), WEIR_ERROR_INVALID_ARGUMENT);
  assert_int_equal(weir__cuda_status(CUDA_ERROR_NO_DEVICE), WEIR_ERROR_UNAVAILABLE);
  assert_int_equal(weir__cuda_status(CUDA_ERROR_ILLEGAL_STATE), WEIR_ERROR_TASK_FAILED);
  assert_int_equal(weir__cuda_status((CUresult)12345), WEIR_ERROR_TASK_FAILED);
  static const CUresult DEAD[] = {CUDA_ERROR_ILLEGAL_ADDRESS, CUDA_ERROR_LAUNCH_FAILED, CUDA_ERROR_ASSERT,
                                  CUDA_ERROR_ECC_UNCORRECTABLE, CUDA_ERROR_MISALIGNED_ADDRESS};
  for (size_t i = 0; i < sizeof DEAD / sizeof DEAD[0]; i++) {
    assert_true(weir__cuda_is_sticky(DEAD[i]));
    assert_int_equal(weir__cuda_status(DEAD[i]), WEIR_ERROR_DEVICE_LOST);
  }
  assert_false(weir__cuda_is_sticky(CUDA_SUCCESS));
  assert_false(weir__cuda_is_sticky(CUDA_ERROR_OUT_OF_MEMORY));
  assert_false(weir__cuda_is_sticky(CUDA_ERROR_NOT_READY));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_driver), cmocka_unit_test(test_nvrtc),
                                     cmocka_unit_test(test_results)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
