// SPDX-License-Identifier: Apache-2.0
//
// kp::Algorithm: shaders with work-groups, specialization constants and push constants, and what is refused.
#include <math.h>

#include "constants.spv.h"
#include "flags.spv.h"
#include "kompute.h"
#include "particles.spv.h"
#include "scale.spv.h"
#include "wide_constants.spv.h"

// An algorithm of Kompute's is made with its tensors; a kernel gets them task by task.
static void one_kernel_many_buffers(void **state) {
  (void)state;
  weir_kernel *scale = make_scale(2);
  weir_graph *sequence = make_sequence();
  weir_buffer *buffers[5];
  for (uint32_t i = 0; i < 5; i++) {
    buffers[i] = make_numbers(i);
    record_scale(sequence, scale, buffers[i], i);
  }
  good(weir_graph_evaluate(sequence, WEIR_FOREVER));
  for (uint32_t i = 0; i < 5; i++) expect_numbers(buffers[i], i, 2, i);
}

static void groups_of_tasks_and_launches(void **state) {
  (void)state;
  const uint32_t add = 1;
  uint32_t numbers[COUNT];
  weir_buffer *buffer = make_numbers(0);
  weir_kernel *scale = make_scale(2), *fixed;
  const weir_arg args[] = {weir_updates(buffer), weir_value(&add, sizeof add)};
  good(weir_submit(context, &(weir_task){.kernel = scale, .args = args, .arg_count = 2}, NULL)); // 1 group of 32
  const weir_vulkan_constant size = {.id = 0, .bytes = 4, .u32 = 16};
  good(weir_kernel_create(context, "fixed", &fixed));
  const weir_vulkan_launch launch = {.constants = &size, .constant_count = 1, .groups = {4}};
  good(weir_kernel_set_vulkan(fixed, CODE(scale), &launch, 1));
  good(weir_submit(context, &(weir_task){.kernel = fixed, .args = args, .arg_count = 2, .groups = {8}}, NULL));
  read_numbers(buffer, numbers);
  for (uint32_t i = 0; i < COUNT; i++) assert_int_equal(numbers[i], (i < 32 ? 2 * i + 1 : i) + (i < 64));
}

static void specialization_constants(void **state) {
  (void)state;
  const weir_vulkan_constant constants[] = {
      {.id = 0, .bytes = 4, .u32 = 8},         {.id = 1, .bytes = 4, .i32 = -5}, {.id = 2, .bytes = 4, .u32 = 1u << 30},
      {.id = 3, .bytes = 4, .f32 = 0.015625f}, {.id = 4, .bytes = 4, .u32 = 1},
  };
  const float wanted[] = {-5, 1u << 30, 0.015625f, 1, 77, 8};
  float results[6];
  weir_kernel *kernel = make_kernel("constants", CODE(constants), constants, 5);
  weir_buffer *buffer;
  good(weir_buffer_create(context, sizeof results, &buffer));
  const weir_arg arg = weir_writes(buffer);
  good(weir_submit(context, &(weir_task){.kernel = kernel, .args = &arg, .arg_count = 1}, NULL));
  good(weir_copy_out(buffer, 0, WEIR_WHOLE, results, NULL));
  good(weir_finish(context));
  for (int i = 0; i < 6; i++) assert_true(fabsf(results[i] - wanted[i]) < 1e-7f);
}

static void specialization_constants_of_64_bits(void **state) {
  (void)state;
  const weir_vulkan_constant constants[] = {{.id = 0, .bytes = 8, .f64 = 1.0 / 3.0},
                                            {.id = 1, .bytes = 8, .i64 = INT64_MIN},
                                            {.id = 2, .bytes = 8, .u64 = UINT64_MAX}};
  struct {
    double real;
    int64_t integer;
    uint64_t natural;
  } results;
  weir_kernel *kernel;
  good(weir_kernel_create(context, "wide", &kernel));
  const weir_vulkan_launch launch = {.constants = constants, .constant_count = 3};
  if (weir_kernel_set_vulkan(kernel, CODE(wide_constants), &launch, 1) != WEIR_OK) {
    if (strstr(weir_last_error(), "64; ") == NULL) fail_msg("%s", weir_last_error());
    print_message("%s\n", weir_last_error());
    return;
  }
  weir_buffer *buffer;
  good(weir_buffer_create(context, sizeof results, &buffer));
  const weir_arg arg = weir_writes(buffer);
  good(weir_submit(context, &(weir_task){.kernel = kernel, .args = &arg, .arg_count = 1}, NULL));
  good(weir_copy_out(buffer, 0, WEIR_WHOLE, &results, NULL));
  good(weir_finish(context));
  assert_true(fabs(results.real - 1.0 / 3.0) < 1e-16);
  assert_true(results.integer == INT64_MIN);
  assert_true(results.natural == UINT64_MAX);
}

// Booleans as specialization constants, and in buffers.
static void booleans(void **state) {
  (void)state;
  uint32_t flags[COUNT];
  for (uint32_t i = 0; i < COUNT; i++) flags[i] = i % 3 == 0;
  const weir_vulkan_constant turned = {.id = 0, .bytes = 4, .u32 = 1};
  weir_kernel *kernel = make_kernel("flags", CODE(flags), &turned, 1);
  weir_buffer *buffer;
  good(weir_buffer_create(context, sizeof flags, &buffer));
  const weir_arg arg = weir_updates(buffer);
  good(weir_copy_in(buffer, 0, WEIR_WHOLE, flags, NULL));
  good(weir_submit(context, &(weir_task){.kernel = kernel, .args = &arg, .arg_count = 1, .groups = {COUNT}}, NULL));
  read_numbers(buffer, flags);
  for (uint32_t i = 0; i < COUNT; i++) assert_int_equal(flags[i], i % 3 != 0);
}

// Each dispatch of a sequence has its own.
static void push_constants_of_each_dispatch(void **state) {
  (void)state;
  weir_buffer *buffer = make_numbers(1);
  weir_kernel *scale = make_scale(10);
  weir_graph *sequence = make_sequence();
  for (uint32_t add = 1; add <= 3; add++) record_scale(sequence, scale, buffer, add);
  good(weir_graph_evaluate(sequence, WEIR_FOREVER));
  expect_numbers(buffer, 1, 1000, 123);
}

// Kompute's setPushConstants: for the evaluations that follow, without recording anew.
static void push_constants_are_replaced(void **state) {
  (void)state;
  weir_buffer *buffer = make_numbers(1);
  weir_graph *sequence = make_sequence();
  const uint32_t node = record_scale(sequence, make_scale(10), buffer, 1);
  good(weir_graph_launch(sequence, NULL));
  const uint32_t add = 2;
  good(weir_graph_set_arg(sequence, node, 1, &(weir_arg){.mode = WEIR_VALUE, .value = &add, .bytes = sizeof add}));
  good(weir_graph_launch(sequence, NULL));
  good(weir_graph_wait(sequence, WEIR_FOREVER));
  expect_numbers(buffer, 1, 100, 12);
  const weir_arg longer = weir_value("12345678", 8);
  refused(weir_graph_set_arg(sequence, node, 1, &longer), WEIR_ERROR_INVALID_ARGUMENT, "4 bytes");
}

// Push constants of a launch belong to the kernel; tasks then have none.
static void push_constants_of_the_kernel(void **state) {
  (void)state;
  const uint32_t add = 9;
  weir_kernel *kernel;
  const weir_vulkan_constant size = {.id = 0, .bytes = 4, .u32 = COUNT / 4};
  const weir_vulkan_launch launch = {
      .constants = &size, .constant_count = 1, .groups = {4}, .value = &add, .value_bytes = sizeof add};
  good(weir_kernel_create(context, "nine", &kernel));
  good(weir_kernel_set_vulkan(kernel, CODE(scale), &launch, 1));
  weir_buffer *buffer = make_numbers(1);
  const weir_arg arg = weir_updates(buffer);
  good(weir_submit(context, &(weir_task){.kernel = kernel, .args = &arg, .arg_count = 1}, NULL));
  expect_numbers(buffer, 1, 1, 9);
}

// Kompute's rebuild: other code or constants for a kernel that is not in flight.
static void code_is_replaced(void **state) {
  (void)state;
  weir_buffer *buffer = make_numbers(1);
  weir_kernel *kernel = make_scale(2);
  const uint32_t add = 0;
  const weir_arg args[] = {weir_updates(buffer), weir_value(&add, sizeof add)};
  const weir_task task = {.kernel = kernel, .args = args, .arg_count = 2, .groups = {COUNT / 32}};
  good(weir_submit(context, &task, NULL));
  good(weir_finish(context));
  const weir_vulkan_constant constants[] = {{.id = 0, .bytes = 4, .u32 = 32}, {.id = 1, .bytes = 4, .u32 = 5}};
  const weir_vulkan_launch launch = {.constants = constants, .constant_count = 2};
  good(weir_kernel_set_vulkan(kernel, CODE(scale), &launch, 1));
  good(weir_submit(context, &task, NULL));
  expect_numbers(buffer, 1, 10, 0);
}

static void several_dispatches_as_one_kernel(void **state) {
  (void)state;
  const weir_vulkan_constant twice[] = {{.id = 0, .bytes = 4, .u32 = 32}, {.id = 1, .bytes = 4, .u32 = 2}};
  const weir_vulkan_constant thrice[] = {{.id = 0, .bytes = 4, .u32 = 64}, {.id = 1, .bytes = 4, .u32 = 3}};
  const weir_vulkan_launch launches[] = {{.constants = twice, .constant_count = 2, .groups = {8}},
                                         {.constants = thrice, .constant_count = 2, .groups = {4}}};
  weir_kernel *kernel;
  good(weir_kernel_create(context, "both", &kernel));
  good(weir_kernel_set_vulkan(kernel, CODE(scale), launches, 2));
  weir_buffer *buffer = make_numbers(1);
  const uint32_t add = 1;
  const weir_arg args[] = {weir_updates(buffer), weir_value(&add, sizeof add)};
  good(weir_submit(context, &(weir_task){.kernel = kernel, .args = args, .arg_count = 2}, NULL));
  expect_numbers(buffer, 1, 6, 4);
}

static void wrong_algorithms_are_refused(void **state) {
  (void)state;
  weir_kernel *scale = make_scale(2);
  weir_buffer *buffer = make_numbers(1);
  const uint64_t value = 1;
  weir_arg args[] = {weir_updates(buffer), weir_value(&value, 8), weir_updates(buffer)};
  weir_task task = {.kernel = scale, .args = args, .arg_count = 2};
  refused(weir_submit(context, &task, NULL), WEIR_ERROR_INVALID_ARGUMENT, "argument 1: a value of 8 bytes");
  task.arg_count = 1;
  refused(weir_submit(context, &task, NULL), WEIR_ERROR_INVALID_ARGUMENT, "values of 0 bytes together");
  args[1] = weir_value(&value, 4);
  task.arg_count = 3;
  refused(weir_submit(context, &task, NULL), WEIR_ERROR_INVALID_ARGUMENT, "2 buffers");
  const weir_vulkan_constant unknown = {.id = 40, .bytes = 4};
  const weir_vulkan_launch launch = {.constants = &unknown, .constant_count = 1};
  refused(weir_kernel_set_vulkan(scale, CODE(particles), &launch, 1), WEIR_ERROR_INVALID_ARGUMENT,
          "no specialization constant 40");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      KOMPUTE_TEST(one_kernel_many_buffers),
      KOMPUTE_TEST(groups_of_tasks_and_launches),
      KOMPUTE_TEST(specialization_constants),
      KOMPUTE_TEST(specialization_constants_of_64_bits),
      KOMPUTE_TEST(booleans),
      KOMPUTE_TEST(push_constants_of_each_dispatch),
      KOMPUTE_TEST(push_constants_are_replaced),
      KOMPUTE_TEST(push_constants_of_the_kernel),
      KOMPUTE_TEST(code_is_replaced),
      KOMPUTE_TEST(several_dispatches_as_one_kernel),
      KOMPUTE_TEST(wrong_algorithms_are_refused),
  };
  kompute_skip_without_device();
  return cmocka_run_group_tests(tests, NULL, NULL);
}
