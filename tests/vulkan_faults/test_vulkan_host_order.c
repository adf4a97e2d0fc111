// SPDX-License-Identifier: Apache-2.0
//
// A kernel writes a buffer, the host then writes a part of it, another kernel then writes just that part: its only predecessor is
// the host's copy, but the validation layer must see the first kernel's write ordered before it, on one queue and on two.
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "mix.spv.h"
#include "weir/vulkan.h"

enum { GROUP = 64, WORDS = 2 << 20, PART = 2 * GROUP, AT = 8 * GROUP, ROUNDS = 4 };

static const uint32_t value = 7;

static weir_kernel *make_kernel(weir_context *context) {
  const weir_vulkan_code code = {.words = mix_spv, .bytes = sizeof mix_spv};
  const weir_vulkan_launch launch = {0};
  weir_kernel *kernel;
  assert_int_equal(weir_kernel_create(context, "mix", &kernel), WEIR_OK);
  assert_int_equal(weir_kernel_set_vulkan(kernel, &code, &launch, 1), WEIR_OK);
  return kernel;
}

static void submit(weir_context *context, weir_kernel *kernel, weir_arg to, weir_arg from, uint32_t words) {
  weir_arg args[] = {to, from, weir_value(&value, sizeof value)};
  const weir_task task = {.kernel = kernel, .args = args, .arg_count = 3, .groups = {words / GROUP, 1, 1}};
  assert_int_equal(weir_submit(context, &task, NULL), WEIR_OK);
}

static void run(uint32_t queues) {
  const weir_context_options options = {.devices = "vulkan", .queues = queues};
  const size_t bytes = WORDS * sizeof(uint32_t), at = AT * sizeof(uint32_t), part_bytes = PART * sizeof(uint32_t);
  uint32_t part[PART] = {0}, output[PART];
  uint32_t *input = malloc(bytes);
  weir_context *context;
  weir_buffer *from, *to;
  assert_non_null(input);
  for (uint32_t i = 0; i < WORDS; i++) input[i] = i * 2654435761u;
  assert_int_equal(weir_context_create(&options, &context), WEIR_OK);
  weir_kernel *mix = make_kernel(context);
  assert_int_equal(weir_buffer_create(context, bytes, &from), WEIR_OK);
  assert_int_equal(weir_buffer_create(context, bytes, &to), WEIR_OK);
  assert_int_equal(weir_copy_in(from, 0, bytes, input, NULL), WEIR_OK);
  for (int round = 0; round < ROUNDS; round++) {
    submit(context, mix, weir_writes(to), weir_reads(from), WORDS);
    assert_int_equal(weir_copy_in(to, at, part_bytes, part, NULL), WEIR_OK);
    submit(context, mix, weir_writes_range(to, at, part_bytes), weir_reads_range(from, 0, part_bytes), PART);
    assert_int_equal(weir_copy_out(to, at, part_bytes, output, NULL), WEIR_OK);
    assert_int_equal(weir_finish(context), WEIR_OK);
    for (uint32_t i = 0; i < PART; i++) assert_int_equal(output[i], input[i] * 3 + value);
  }
  weir_buffer_release(from);
  weir_buffer_release(to);
  weir_kernel_release(mix);
  weir_context_release(context);
  free(input);
}

static void one_queue(void **state) {
  (void)state;
  run(1);
}

static void two_queues(void **state) {
  (void)state;
  run(2);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(one_queue),
      cmocka_unit_test(two_queues),
  };
  return cmocka_run_group_tests_name("Vulkan: what the host copied in between", tests, NULL, NULL);
}
