// SPDX-License-Identifier: Apache-2.0
//
// More descriptor sets than two generations hold, by kernels of several dispatches: sets are reused only when nothing in
// flight uses them.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "scale.spv.h"
#include "weir/vulkan.h"

enum { RANGES = 10000, WORDS = 64, DISPATCHES = 3, LOCAL_SIZE = 64 };

static void test_many_sets(void **state) {
  (void)state;
  weir_context *context;
  weir_kernel *kernel;
  weir_buffer *buffer;
  const uint64_t bytes = (uint64_t)RANGES * WORDS * sizeof(uint32_t);
  uint32_t *words = calloc(1, bytes);
  assert_non_null(words);
  assert_int_equal(weir_context_create(&(weir_context_options){.devices = "vulkan"}, &context), WEIR_OK);
  assert_int_equal(weir_kernel_create(context, "scale", &kernel), WEIR_OK);
  assert_int_equal(weir_buffer_create(context, bytes, &buffer), WEIR_OK);
  const weir_vulkan_constant constant = {.id = 0, .bytes = 4, .u32 = LOCAL_SIZE};
  weir_vulkan_launch launches[DISPATCHES];
  for (int i = 0; i < DISPATCHES; i++) launches[i] = (weir_vulkan_launch){.constants = &constant, .constant_count = 1};
  const weir_vulkan_code code = {.words = scale_spv, .bytes = sizeof scale_spv};
  assert_int_equal(weir_kernel_set_vulkan(kernel, &code, launches, DISPATCHES), WEIR_OK);
  assert_int_equal(weir_copy_in(buffer, 0, bytes, words, NULL), WEIR_OK);
  for (uint32_t i = 0; i < RANGES; i++) {
    const uint32_t values[2] = {i + 1, WORDS};
    const weir_arg args[] = {weir_updates_range(buffer, (uint64_t)i * WORDS * 4, WORDS * 4),
                             weir_value(values, sizeof values)};
    assert_int_equal(weir_submit(context, &(weir_task){.kernel = kernel, .args = args, .arg_count = 2}, NULL), WEIR_OK);
  }
  assert_int_equal(weir_copy_out(buffer, 0, bytes, words, NULL), WEIR_OK);
  assert_int_equal(weir_finish(context), WEIR_OK);
  for (uint32_t i = 0; i < RANGES * WORDS; i++)
    assert_int_equal(words[i], 7 * (i / WORDS + 1)); // ((0 * 2 + a) * 2 + a) * 2 + a
  weir_context_release(context);
  free(words);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_many_sets)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
