// SPDX-License-Identifier: Apache-2.0
//
// Kernels and tasks that no Vulkan device can run are refused, with a text that says why, and change nothing.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "add.spv.h"
#include "device/vulkan/driver.h"
#include "gate.h"
#include "kinds.spv.h"
#include "rig.h"
#include "scale.spv.h"
#include "weir/vulkan.h"

enum { COUNT = 1000, BYTES = COUNT * 4 };

static weir_context *context;
static weir_kernel *kernel; // add
static weir_buffer *buffers[3];
static VkPhysicalDeviceLimits limits;

#define CODE(name) (&(const weir_vulkan_code){name##_spv, sizeof name##_spv})

static const weir_vulkan_launch PLAIN = {.entry = NULL};
static const uint32_t ALL = COUNT;

static void assert_text(const char *text) {
  if (strstr(weir_last_error(), text) == NULL) fail_msg("'%s' does not say '%s'", weir_last_error(), text);
}

static int create(void **state) {
  (void)state;
  const weir_context_options options = {.devices = "vulkan,cpu:1"};
  if (weir_context_create(&options, &context) != WEIR_OK) fail_msg("%s", weir_last_error());
  assert_int_equal(weir_kernel_create(context, "add", &kernel), WEIR_OK);
  if (weir_kernel_set_vulkan(kernel, CODE(add), &PLAIN, 1) != WEIR_OK) fail_msg("%s", weir_last_error());
  float numbers[COUNT];
  for (int i = 0; i < COUNT; i++) numbers[i] = (float)i;
  for (int i = 0; i < 3; i++) assert_int_equal(weir_buffer_create(context, BYTES, &buffers[i]), WEIR_OK);
  for (int i = 0; i < 2; i++) assert_int_equal(weir_copy_in(buffers[i], 0, BYTES, numbers, NULL), WEIR_OK);
  assert_int_equal(weir_finish(context), WEIR_OK);
  return 0;
}

// Whatever was refused, the context is as it was: a task that is right runs.
static int destroy(void **state) {
  (void)state;
  const weir_arg args[] = {weir_reads(buffers[0]), weir_reads(buffers[1]), weir_writes(buffers[2]),
                           weir_value(&ALL, sizeof ALL)};
  const weir_task task = {.kernel = kernel, .args = args, .arg_count = 4, .groups = {(COUNT + 63) / 64}};
  float sums[COUNT];
  if (weir_submit(context, &task, NULL) != WEIR_OK) fail_msg("%s", weir_last_error());
  assert_int_equal(weir_copy_out(buffers[2], 0, BYTES, sums, NULL), WEIR_OK);
  if (weir_finish(context) != WEIR_OK) fail_msg("%s", weir_last_error());
  for (int i = 0; i < COUNT; i++) assert_true(sums[i] == 2 * (float)i);
  weir_context_release(context);
  return 0;
}

static void refused_kernel(const weir_vulkan_code *code, const weir_vulkan_launch *launches, uint32_t count,
                           const char *text) {
  assert_int_equal(weir_kernel_set_vulkan(kernel, code, launches, count), WEIR_ERROR_INVALID_ARGUMENT);
  assert_text(text);
}

static void what_is_missing(void **state) {
  (void)state;
  const weir_vulkan_code empty = {NULL, 40};
  refused_kernel(NULL, &PLAIN, 1, "kernel 'add': the code is NULL");
  refused_kernel(&empty, &PLAIN, 1, "kernel 'add': the code is NULL");
  refused_kernel(CODE(add), NULL, 1, "kernel 'add': the list of launches is NULL");
  refused_kernel(CODE(add), &PLAIN, 0, "kernel 'add': code, but no launch");
  refused_kernel(CODE(add), &(weir_vulkan_launch){.constant_count = 1}, 1, "launch 0: the list of constants is NULL");
  refused_kernel(CODE(add), &(weir_vulkan_launch){.value = &ALL}, 1, "launch 0: a value of 0 bytes");
}

static void bad_shaders(void **state) {
  (void)state;
  uint32_t words[sizeof add_spv / 4];
  memcpy(words, add_spv, sizeof words);
  words[0] = 0;
  refused_kernel(&(weir_vulkan_code){words, sizeof words}, &PLAIN, 1,
                 "kernel 'add', launch 0: SPIR-V, word 0: 0x00000000");
  refused_kernel(&(weir_vulkan_code){add_spv, 99}, &PLAIN, 1, "no multiple of 4");
  refused_kernel(&(weir_vulkan_code){add_spv, 100}, &PLAIN, 1, "SPIR-V, word ");
  const weir_vulkan_launch launches[] = {PLAIN, {.entry = "mian"}};
  refused_kernel(CODE(add), launches, 2, "kernel 'add', launch 1: SPIR-V, word 5: no entry point 'mian'");
}

static void bad_launches(void **state) {
  (void)state;
  const weir_vulkan_constant unknown = {.id = 5, .bytes = 4}, size = {.id = 0, .bytes = 4, .u32 = 1 << 20};
  refused_kernel(CODE(add), &(weir_vulkan_launch){.constants = &unknown, .constant_count = 1}, 1,
                 "no specialization constant 5; it has none");
  refused_kernel(CODE(scale), &(weir_vulkan_launch){.constants = &size, .constant_count = 1}, 1,
                 "work-groups of 1048576 x 1 x 1 invocations; ");
  refused_kernel(CODE(add), &(weir_vulkan_launch){.value = "12345678", .value_bytes = 8}, 1,
                 "the shader's push constants have 4 bytes, the value 8");
  if (limits.maxComputeWorkGroupCount[1] < UINT32_MAX)
    refused_kernel(CODE(add), &(weir_vulkan_launch){.groups = {1, UINT32_MAX}}, 1, "1 x 4294967295 x 1 work-groups; ");
}

static void no_vulkan_device(void **state) {
  (void)state;
  const weir_context_options options = {.devices = "cpu:1"};
  weir_context *other;
  weir_kernel *lonely;
  assert_int_equal(weir_context_create(&options, &other), WEIR_OK);
  assert_int_equal(weir_kernel_create(other, "lonely", &lonely), WEIR_OK);
  assert_int_equal(weir_kernel_set_vulkan(lonely, CODE(add), &PLAIN, 1), WEIR_ERROR_UNAVAILABLE);
  assert_text("kernel 'lonely': the context has no Vulkan device");
  weir_context_release(other);
}

static void refused_task(const weir_arg *args, uint32_t count, weir_status status, const char *text) {
  const weir_task task = {.kernel = kernel, .args = args, .arg_count = count, .tag = 7};
  assert_int_equal(weir_submit(context, &task, NULL), status);
  assert_text("task 'add' (tag 7)");
  assert_text(text);
}

static void wrong_counts(void **state) {
  (void)state;
  const weir_arg args[] = {weir_reads(buffers[0]),       weir_reads(buffers[1]), weir_writes(buffers[2]),
                           weir_value(&ALL, sizeof ALL), weir_value(&ALL, 2),    weir_updates(buffers[2])};
  refused_task(args, 2, WEIR_ERROR_INVALID_ARGUMENT, "2 buffers; the shader of launch 0 has 3 bindings");
  refused_task(args, 6, WEIR_ERROR_INVALID_ARGUMENT, "4 buffers; the shader of launch 0 has 3 bindings");
  refused_task(args, 3, WEIR_ERROR_INVALID_ARGUMENT,
               "values of 0 bytes together; the push constants of launch 0 have 4");
  refused_task(args, 5, WEIR_ERROR_INVALID_ARGUMENT,
               "values of 6 bytes together; the push constants of launch 0 have 4");
  refused_task(NULL, 0, WEIR_ERROR_INVALID_ARGUMENT, "0 buffers");
}

static void wrong_buffers(void **state) {
  (void)state;
  weir_arg args[] = {weir_reads(buffers[0]), weir_reads(buffers[1]), weir_reads(buffers[2]),
                     weir_value(&ALL, sizeof ALL)};
  assert_int_equal(weir_buffer_set_label(buffers[2], "sum"), WEIR_OK);
  refused_task(
      args, 4, WEIR_ERROR_INVALID_ARGUMENT,
      "of buffer 3 'sum': declared as only read, but the code of kernel 'add' for vulkan:0 writes it; declare");
  args[2] = weir_writes(buffers[2]);
  args[1] = weir_reads_range(buffers[1], 4, 400);
  if (limits.minStorageBufferOffsetAlignment > 4)
    refused_task(args, 4, WEIR_ERROR_INVALID_ARGUMENT, "(binding 1): a range from byte 4 on; vulkan");
  args[1] = weir_reads(NULL);
  refused_task(args, 4, WEIR_ERROR_INVALID_ARGUMENT, "argument 1");
  args[1] = weir_reads_range(buffers[1], 1 << 20, 64);
  refused_task(args, 4, WEIR_ERROR_OUT_OF_RANGE, "argument 1");
}

static void too_large_ranges(void **state) {
  (void)state;
  weir_buffer *large;
  assert_int_equal(weir_buffer_create(context, (uint64_t)limits.maxStorageBufferRange + 64, &large), WEIR_OK);
  const weir_arg args[] = {weir_reads(buffers[0]), weir_reads(buffers[1]), weir_writes(large),
                           weir_value(&ALL, sizeof ALL)};
  char text[96];
  snprintf(text, sizeof text, "(binding 2): a range of %llu bytes; ",
           (unsigned long long)limits.maxStorageBufferRange + 64);
  refused_task(args, 4, WEIR_ERROR_INVALID_ARGUMENT, text);
  assert_int_equal(weir_buffer_release(large), WEIR_OK);
}

static void buffers_for_images(void **state) {
  (void)state;
  weir_kernel *kinds;
  weir_arg args[9];
  for (int i = 0; i < 9; i++) args[i] = weir_updates(buffers[2]);
  assert_int_equal(weir_kernel_create(context, "kinds", &kinds), WEIR_OK);
  if (weir_kernel_set_vulkan(kinds, CODE(kinds), &PLAIN, 1) != WEIR_OK) fail_msg("%s", weir_last_error());
  const weir_task task = {.kernel = kinds, .args = args, .arg_count = 9};
  assert_int_equal(weir_submit(context, &task, NULL), WEIR_ERROR_INVALID_ARGUMENT);
  assert_text("task 'kinds' (tag 0), argument 1, buffer ");
  assert_text("(binding 1): the shader has a 2D image there, and this is no image");
}

static void too_many_groups(void **state) {
  (void)state;
  const weir_arg args[] = {weir_reads(buffers[0]), weir_reads(buffers[1]), weir_writes(buffers[2]),
                           weir_value(&ALL, sizeof ALL)};
  const weir_task task = {.kernel = kernel, .args = args, .arg_count = 4, .groups = {1, UINT32_MAX}};
  if (limits.maxComputeWorkGroupCount[1] == UINT32_MAX) return;
  assert_int_equal(weir_submit(context, &task, NULL), WEIR_ERROR_INVALID_ARGUMENT);
  assert_text("1 x 4294967295 x 0 work-groups; vulkan");
}

static void kernels_without_code(void **state) {
  (void)state;
  weir_kernel *empty;
  assert_int_equal(weir_kernel_create(context, "empty", &empty), WEIR_OK);
  const weir_task task = {.kernel = empty};
  assert_int_equal(weir_submit(context, &task, NULL), WEIR_ERROR_NO_CODE);
  assert_int_equal(weir_kernel_set_vulkan(empty, NULL, NULL, 0), WEIR_OK); // from now on it dispatches nothing
  assert_int_equal(weir_submit(context, &task, NULL), WEIR_OK);
  assert_int_equal(weir_finish(context), WEIR_OK);
}

static void code_in_use(void **state) {
  (void)state;
  gate closed = {0};
  const weir_arg held = weir_updates(buffers[0]);
  assert_int_equal(gate_submit(context, &closed, &held, 1, NULL), WEIR_OK);
  const weir_arg args[] = {weir_reads(buffers[0]), weir_reads(buffers[1]), weir_writes(buffers[2]),
                           weir_value(&ALL, sizeof ALL)};
  const weir_task task = {.kernel = kernel, .args = args, .arg_count = 4};
  assert_int_equal(weir_submit(context, &task, NULL), WEIR_OK);
  refused_kernel(CODE(add), &PLAIN, 1, "kernel 'add': tasks in flight use its Vulkan code");
  gate_open(&closed);
  assert_int_equal(weir_finish(context), WEIR_OK);
  assert_int_equal(weir_kernel_set_vulkan(kernel, CODE(add), &PLAIN, 1), WEIR_OK);
}

// Several launches, with constants and push constants of their own, and groups of their own.
static void several_launches(void **state) {
  (void)state;
  const uint32_t first[2] = {1, COUNT}, second[2] = {0, COUNT / 2};
  const weir_vulkan_constant constants[] = {{.id = 0, .bytes = 4, .u32 = 32}, {.id = 1, .bytes = 4, .u32 = 10}};
  const weir_vulkan_launch launches[] = {
      {.constants = constants, .constant_count = 1, .value = first, .value_bytes = sizeof first},
      {.constants = constants, .constant_count = 2, .groups = {16}, .value = second, .value_bytes = sizeof second}};
  weir_kernel *scale;
  uint32_t numbers[COUNT];
  for (uint32_t i = 0; i < COUNT; i++) numbers[i] = i;
  assert_int_equal(weir_kernel_create(context, "scale", &scale), WEIR_OK);
  if (weir_kernel_set_vulkan(scale, CODE(scale), launches, 2) != WEIR_OK) fail_msg("%s", weir_last_error());
  assert_int_equal(weir_copy_in(buffers[2], 0, BYTES, numbers, NULL), WEIR_OK);
  const weir_arg args[] = {weir_updates(buffers[2])};
  const weir_task task = {.kernel = scale, .args = args, .arg_count = 1, .groups = {(COUNT + 31) / 32}};
  if (weir_submit(context, &task, NULL) != WEIR_OK) fail_msg("%s", weir_last_error());
  assert_int_equal(weir_copy_out(buffers[2], 0, BYTES, numbers, NULL), WEIR_OK);
  if (weir_finish(context) != WEIR_OK) fail_msg("%s", weir_last_error());
  for (uint32_t i = 0; i < COUNT; i++) assert_int_equal(numbers[i], (2 * i + 1) * (i < COUNT / 2 ? 10 : 1));
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, create, destroy)
  const struct CMUnitTest tests[] = {
      TEST(what_is_missing),      TEST(bad_shaders),      TEST(bad_launches),       TEST(no_vulkan_device),
      TEST(wrong_counts),         TEST(wrong_buffers),    TEST(too_large_ranges),   TEST(too_many_groups),
      TEST(kernels_without_code), TEST(several_launches), TEST(buffers_for_images), TEST(code_in_use),
  };
#undef TEST
  rig_skip_without_device();
  char reason[512];
  const weir__vulkan_driver *driver = weir__vulkan_driver_load(reason, sizeof reason);
  weir__vulkan_facts facts;
  weir__vulkan_find_facts(driver, driver->devices[0], &facts);
  limits = facts.properties.limits;
  return cmocka_run_group_tests(tests, NULL, NULL);
}
