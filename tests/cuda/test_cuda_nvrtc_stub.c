// SPDX-License-Identifier: Apache-2.0
//
// When the compiler is called, with which options, and when compiled code comes from the disk.
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
#include "nvrtc_stub.h"
#include "scratch.h"

// Compiles; returns how often the compiler was called for it.
static int compile(const char *source, const char *options, int capability) {
  int before = nvrtc_stub_compilations();
  void *image = NULL;
  size_t bytes = 0;
  if (weir__nvrtc_compile("sum", source, options, capability, &image, &bytes) != WEIR_OK)
    fail_msg("%s", weir_last_error());
  assert_int_equal(bytes, strlen(source) + 1);
  assert_memory_equal(image, source, bytes);
  weir__free(image);
  return nvrtc_stub_compilations() - before;
}

static int create(void **state) {
  (void)state;
  scratch_create();
  return 0;
}

static int clean(void **state) {
  (void)state;
  scratch_remove();
  return 0;
}

static void test_options(void **state) {
  (void)state;
  compile("a", NULL, 90);
  assert_string_equal(nvrtc_stub_options(), "--gpu-architecture=sm_90");
  compile("a", " -DX=1\t-G ", 80);
  assert_string_equal(nvrtc_stub_options(), "-DX=1 -G --gpu-architecture=sm_80");
  compile("a", "", 86); // not known to the stub
  assert_string_equal(nvrtc_stub_options(), "--gpu-architecture=compute_80");
  compile("a", "", 120);
  assert_string_equal(nvrtc_stub_options(), "--gpu-architecture=compute_90");
  compile("a", "-arch=sm_90a -G", 90);
  assert_string_equal(nvrtc_stub_options(), "-arch=sm_90a -G");
}

static void test_found_again(void **state) {
  (void)state;
  assert_int_equal(compile("a", NULL, 90), 1);
  assert_int_equal(compile("a", NULL, 90), 0);
  assert_int_equal(compile("b", NULL, 90), 1);
  assert_int_equal(compile("a", "-G", 90), 1);
  assert_int_equal(compile("a", NULL, 80), 1);
  assert_int_equal(compile("a", "-G", 90), 0);
  assert_int_equal(compile("a", NULL, 90), 0);
}

// Nothing is included by a comment, nor by weir/kernel.h.
static void test_kept(void **state) {
  (void)state;
  static const char SOURCE[] = "// what includes\n#include <stdint.h>\n#include \"weir/weir.h\"\na // include\n";
  assert_int_equal(compile(SOURCE, NULL, 90), 1);
  assert_int_equal(compile(SOURCE, NULL, 90), 0);
  static char header[1 << 16];
  FILE *file = fopen("include/weir/kernel.h", "r");
  assert_non_null(file);
  size_t bytes = fread(header, 1, sizeof header - 1, file);
  fclose(file);
  assert_in_range(bytes, 1000, sizeof header - 2);
  assert_int_equal(compile(header, NULL, 90), 1);
  assert_int_equal(compile(header, NULL, 90), 0);
}

// What depends on other files is compiled every time.
static void test_not_kept(void **state) {
  (void)state;
  char path[PATH_MAX];
  for (int i = 0; i < 2; i++) {
    assert_int_equal(compile("#include \"a.h\"", NULL, 90), 1);
    assert_int_equal(compile("a // b\n # include <math.h>\n", NULL, 90), 1);
    assert_int_equal(compile("/* // */ #include <a.h>\n", NULL, 90), 1);
    assert_int_equal(compile("#include <math.h> \n#include <math.h>\n", NULL, 90), 1);
    assert_int_equal(compile("a", "--pre-include=a.h", 90), 1);
    assert_int_equal(compile("a", "--options-file options", 90), 1);
  }
  assert_int_equal(scratch_files(path), 0);
}

static void test_failure_is_not_kept(void **state) {
  (void)state;
  char path[PATH_MAX];
  for (int i = 0; i < 2; i++) {
    void *image;
    size_t bytes;
    assert_int_equal(weir__nvrtc_compile("sum", "#error is wrong", NULL, 90, &image, &bytes),
                     WEIR_ERROR_INVALID_ARGUMENT);
    assert_string_equal(weir_last_error(), "kernel 'sum' does not compile (NVRTC 12.9, error 6):\n#error is wrong");
  }
  assert_int_equal(scratch_files(path), 0);
}

static void test_no_memory(void **state) {
  (void)state;
  weir_status status = WEIR_ERROR_OUT_OF_MEMORY;
  int failures = 0;
  setenv("WEIR_CACHE", "", 1);
  for (uint64_t n = 1; status == WEIR_ERROR_OUT_OF_MEMORY; n++) {
    void *image;
    size_t bytes;
    weir__allocate_fail_at(n);
    status = weir__nvrtc_compile("sum", "a", NULL, 90, &image, &bytes);
    weir__free(image);
    if (status == WEIR_ERROR_OUT_OF_MEMORY) failures++;
  }
  weir__allocate_fail_at(0);
  assert_int_equal(status, WEIR_OK);
  assert_true(failures >= 1);
}

static void test_too_many_options(void **state) {
  (void)state;
  char options[65 * 3 + 1] = "";
  for (int i = 0; i < 65; i++) strcat(options, "-G ");
  void *image;
  size_t bytes;
  assert_int_equal(weir__nvrtc_compile("sum", "a", options, 90, &image, &bytes), WEIR_ERROR_INVALID_ARGUMENT);
  assert_string_equal(weir_last_error(), "kernel 'sum': more than 64 compiler options");
}

int main(void) {
  setenv("WEIR_NVRTC", NVRTC_STUB, 1);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_options, create, clean),
      cmocka_unit_test_setup_teardown(test_found_again, create, clean),
      cmocka_unit_test_setup_teardown(test_kept, create, clean),
      cmocka_unit_test_setup_teardown(test_not_kept, create, clean),
      cmocka_unit_test_setup_teardown(test_failure_is_not_kept, create, clean),
      cmocka_unit_test_setup_teardown(test_no_memory, create, clean),
      cmocka_unit_test_setup_teardown(test_too_many_options, create, clean),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
