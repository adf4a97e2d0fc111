// SPDX-License-Identifier: Apache-2.0
//
// Kernels as SPIR-V, as far as they can be tested without a driver that takes any: a loader stands in for one, which knows just one
// module and makes a program of a source of it. So this shows what Weir passes on, shares, keeps and refuses, and not that a driver
// understands SPIR-V.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fault_loader.h"
#include "leaks.h"
#include "scratch.h"
#include "weir/opencl.h"

enum { COUNT = 100, NEVER = 1 << 30 };

static const char source[] =
    "__kernel void add(__global uint *words, uint value) { words[get_global_id(0)] += value; }\n";

// The head of a module, and no more.
static const uint32_t words[] = {0x07230203, 0x00010000, 0, 8, 0}, others[] = {0x07230203, 0x00010000, 0, 9, 0};

static weir_context *context;
static weir_kernel *kernel;

static int open_context(void **state) {
  (void)state;
  return weir_context_create(&(weir_context_options){.devices = "opencl"}, &context) == WEIR_OK &&
                 weir_kernel_create(context, "add", &kernel) == WEIR_OK
             ? 0
             : -1;
}

static int close_context(void **state) {
  (void)state;
  weir_kernel_release(kernel);
  weir_context_release(context);
  return fault_loader_live() == 0 ? 0 : -1;
}

static weir_status set(weir_kernel *of, const uint32_t *module, uint64_t bytes) {
  return weir_kernel_set_opencl(of, &(weir_opencl_code){.spirv = module, .spirv_bytes = bytes},
                                &(weir_opencl_launch){.entry = "add"});
}

static void expect_sum(uint32_t value) {
  uint32_t found[COUNT];
  weir_buffer *buffer;
  assert_int_equal(weir_buffer_create(context, sizeof found, &buffer), WEIR_OK);
  assert_int_equal(weir_fill(buffer, 0, WEIR_WHOLE, 1, NULL), WEIR_OK);
  weir_arg args[] = {weir_updates(buffer), weir_value(&value, sizeof value)};
  const weir_task task = {.kernel = kernel, .args = args, .arg_count = 2, .groups = {COUNT}};
  assert_int_equal(weir_submit(context, &task, NULL), WEIR_OK);
  assert_int_equal(weir_copy_out(buffer, 0, WEIR_WHOLE, found, NULL), WEIR_OK);
  assert_int_equal(weir_finish(context), WEIR_OK);
  for (int i = 0; i < COUNT; i++) assert_int_equal(found[i], value + 1);
  weir_buffer_release(buffer);
}

static uint64_t calls_of(const char *function, weir_kernel *of) {
  fault_loader_fail(function, NEVER, -5);
  assert_int_equal(set(of, words, sizeof words), WEIR_OK);
  uint64_t calls = NEVER - fault_loader_left();
  fault_loader_fail("", 0, 0);
  return calls;
}

// Built once for kernels that share it, and checked as code from source is.
static void modules(void **state) {
  (void)state;
  weir_kernel *second;
  uint32_t value = 3;
  assert_int_equal(calls_of("clCreateProgramWithIL", kernel), 1);
  expect_sum(4);
  assert_int_equal(weir_kernel_create(context, "second", &second), WEIR_OK);
  assert_int_equal(calls_of("clCreateProgramWithIL", second), 0);
  weir_arg args[] = {weir_value(&value, sizeof value)};
  const weir_task task = {.kernel = second, .args = args, .arg_count = 1};
  assert_int_equal(weir_submit(context, &task, NULL), WEIR_ERROR_INVALID_ARGUMENT);
  assert_non_null(strstr(weir_last_error(), "1 arguments; the OpenCL kernel 'add' has 2"));
  weir_kernel_release(second);
}

static void expect_refusal(weir_status found, weir_status wanted, const char *text) {
  assert_int_equal(found, wanted);
  if (strstr(weir_last_error(), text) == NULL) fail_msg("'%s' does not say '%s'", weir_last_error(), text);
}

static void refusals(void **state) {
  (void)state;
  const weir_status invalid = WEIR_ERROR_INVALID_ARGUMENT;
  expect_refusal(set(kernel, others, sizeof others), invalid, "kernel 'add': code for opencl:0: CL_INVALID_VALUE");
  expect_refusal(set(kernel, words, 4), invalid, "CL_INVALID_VALUE");
  expect_refusal(set(kernel, words, 0), invalid, "the SPIR-V has no bytes");
  expect_refusal(weir_kernel_set_opencl(kernel, &(weir_opencl_code){.spirv = words, .spirv_bytes = sizeof words},
                                        &(weir_opencl_launch){.entry = "sub"}),
                 invalid, "no kernel 'sub'");
  fault_loader_fail("clBuildProgram", 1, -11);
  weir_kernel *second;
  weir_context *fresh;
  assert_int_equal(weir_context_create(&(weir_context_options){.devices = "opencl"}, &fresh), WEIR_OK);
  assert_int_equal(weir_kernel_create(fresh, "second", &second), WEIR_OK);
  expect_refusal(set(second, words, sizeof words), invalid, "CL_BUILD_PROGRAM_FAILURE");
  fault_loader_fail("clCreateProgramWithIL", 1, -6);
  expect_refusal(set(second, words, sizeof words), WEIR_ERROR_OUT_OF_MEMORY, "CL_OUT_OF_HOST_MEMORY");
  fault_loader_fail("", 0, 0);
  assert_int_equal(set(second, words, sizeof words), WEIR_OK);
  weir_kernel_release(second);
  weir_context_release(fresh);
}

// What was built is kept on disk, by the module.
static void cache_on_disk(void **state) {
  (void)state;
  char path[PATH_MAX];
  scratch_create();
  for (uint64_t round = 0; round < 2; round++) {
    assert_int_equal(open_context(NULL), 0);
    assert_int_equal(calls_of("clCreateProgramWithIL", kernel), round == 0 ? 1 : 0);
    assert_int_equal(scratch_files(path), 1);
    expect_sum(9);
    assert_int_equal(close_context(NULL), 0);
  }
  scratch_remove();
  setenv("WEIR_CACHE", "", 1);
}

static void nothing_leaked(void **state) {
  (void)state;
  check_leaks();
}

int main(void) {
  fault_loader_use_or_skip(FAULT_LOADER);
  setenv("WEIR_CACHE", "", 1);
  fault_loader_translate(words, sizeof words, source);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(modules, open_context, close_context),
      cmocka_unit_test_setup_teardown(refusals, open_context, close_context),
      cmocka_unit_test(cache_on_disk),
      cmocka_unit_test(nothing_leaked),
  };
  return cmocka_run_group_tests_name("OpenCL: SPIR-V", tests, NULL, NULL);
}
