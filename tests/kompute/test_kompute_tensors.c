// SPDX-License-Identifier: Apache-2.0
//
// kp::Tensor: buffers of every type that a shader may have, made, filled, read back, replaced and released.
#include <math.h>
#include <stdlib.h>

#include "gate.h"
#include "kompute.h"
#include "particles.spv.h"
#include "type_double.spv.h"
#include "type_float.spv.h"
#include "type_float16.spv.h"
#include "type_int.spv.h"
#include "type_int16.spv.h"
#include "type_int64.spv.h"
#include "type_int8.spv.h"
#include "type_uint.spv.h"
#include "type_uint16.spv.h"
#include "type_uint64.spv.h"
#include "type_uint8.spv.h"

// Runs a kernel of type.comp.in, elements[i] += elements[i] + 1, on COUNT elements. Where the device lacks the type, that is
// said: the capability is named, and false is returned.
static bool run_type(const weir_vulkan_code *code, const char *capability, void *elements, uint64_t bytes) {
  weir_kernel *kernel;
  good(weir_kernel_create(context, "type", &kernel));
  if (weir_kernel_set_vulkan(kernel, code, &(weir_vulkan_launch){0}, 1) != WEIR_OK) {
    assert_non_null(capability);
    if (strstr(weir_last_error(), capability) == NULL || strstr(weir_last_error(), " offers: ") == NULL)
      fail_msg("%s", weir_last_error());
    print_message("%s\n", weir_last_error());
    return false;
  }
  weir_buffer *buffer;
  good(weir_buffer_create(context, bytes, &buffer));
  assert_int_equal(weir_buffer_bytes(buffer), bytes);
  const weir_arg arg = weir_updates(buffer);
  const weir_task task = {.kernel = kernel, .args = &arg, .arg_count = 1, .groups = {COUNT}};
  weir_graph *sequence = make_sequence();
  good(weir_graph_copy_in(sequence, buffer, 0, WEIR_WHOLE, elements, NULL));
  good(weir_graph_add(sequence, &task, NULL));
  good(weir_graph_copy_out(sequence, buffer, 0, WEIR_WHOLE, elements, NULL));
  good(weir_graph_evaluate(sequence, WEIR_FOREVER));
  return true;
}

// Elements from `first` on, in steps of `by`.
#define CHECK_TYPE(type, name, capability, first, by)                                                                  \
  do {                                                                                                                 \
    type before[COUNT], after[COUNT];                                                                                  \
    for (int i = 0; i < COUNT; i++) before[i] = (type)((first) + (by) * (type)i);                                      \
    memcpy(after, before, sizeof after);                                                                               \
    if (!run_type(CODE(name), capability, after, sizeof after)) break;                                                 \
    for (int i = 0; i < COUNT; i++) {                                                                                  \
      const type wanted = (type)(before[i] + before[i] + 1);                                                           \
      if (after[i] < wanted || after[i] > wanted) fail_msg("element %d of " #type " is wrong", i);                     \
    }                                                                                                                  \
  } while (0)

static void floats(void **state) {
  (void)state;
  CHECK_TYPE(float, type_float, NULL, -16.25f, 0.125f);
}

static void doubles(void **state) {
  (void)state;
  CHECK_TYPE(double, type_double, "Float64", 0.25, 0x1p-40); // more digits than a float has, and exact
}

static void ints(void **state) {
  (void)state;
  CHECK_TYPE(int32_t, type_int, NULL, -1000000, 5000);
}

static void unsigned_ints(void **state) {
  (void)state;
  CHECK_TYPE(uint32_t, type_uint, NULL, 2000000000u, 1000u);
}

static void ints_of_64_bits(void **state) {
  (void)state;
  CHECK_TYPE(int64_t, type_int64, "Int64", -1000000000000, 5000000000);
  CHECK_TYPE(uint64_t, type_uint64, "Int64", 9000000000000000000u, 1u);
}

static void ints_of_16_bits(void **state) {
  (void)state;
  CHECK_TYPE(int16_t, type_int16, "16", -128, 50);
  CHECK_TYPE(uint16_t, type_uint16, "16", 30000, 5);
}

static void ints_of_8_bits(void **state) {
  (void)state;
  CHECK_TYPE(int8_t, type_int8, "8", -64, 1);
  CHECK_TYPE(uint8_t, type_uint8, "8", 0, 1);
}

// Half floats by their bits: 2, 4 and 8 become 5, 9 and 17.
static void floats_of_16_bits(void **state) {
  (void)state;
  uint16_t elements[COUNT] = {0x4000, 0x4400, 0x4800};
  if (!run_type(CODE(type_float16), "16", elements, sizeof elements)) return;
  assert_int_equal(elements[0], 0x4500);
  assert_int_equal(elements[1], 0x4880);
  assert_int_equal(elements[2], 0x4c40);
  assert_int_equal(elements[3], 0x3c00); // 0 becomes 1
}

// A struct of the caller's, as std430 lays it out.
static void structs(void **state) {
  (void)state;
  typedef struct particle {
    float position[3], mass;
    uint32_t cell[3], seen;
  } particle;
  typedef struct step {
    float velocity[3], seconds;
    uint32_t mark;
  } step;
  particle particles[64];
  memset(particles, 0, sizeof particles);
  for (int i = 0; i < 64; i++) particles[i].mass = (float)i;
  const step push = {.velocity = {1, 2, 4}, .seconds = 0.5f, .mark = 7};
  weir_buffer *buffer;
  good(weir_buffer_create(context, sizeof particles, &buffer));
  weir_kernel *kernel = make_kernel("particles", CODE(particles), NULL, 0);
  const weir_arg args[] = {weir_updates(buffer), weir_value(&push, sizeof push)};
  good(weir_copy_in(buffer, 0, WEIR_WHOLE, particles, NULL));
  good(weir_submit(context, &(weir_task){.kernel = kernel, .args = args, .arg_count = 2, .groups = {2, 2, 2}}, NULL));
  good(weir_copy_out(buffer, 0, WEIR_WHOLE, particles, NULL));
  good(weir_finish(context));
  for (int i = 0; i < 64; i++) {
    const particle *one = &particles[i];
    assert_true(fabsf(one->position[0] - 0.5f) < 1e-6f && fabsf(one->position[2] - 2) < 1e-6f);
    assert_true(fabsf(one->mass - (float)i) < 1e-6f);
    assert_int_equal(one->cell[0] + 4 * one->cell[1] + 16 * one->cell[2], i);
    assert_int_equal(one->seen, 7);
  }
}

static void filled_and_read_back(void **state) {
  (void)state;
  uint32_t numbers[COUNT], half[COUNT / 2];
  weir_buffer *buffer = make_numbers(10); // with data
  read_numbers(buffer, numbers);
  for (uint32_t i = 0; i < COUNT; i++) assert_int_equal(numbers[i], 10 + i);
  good(weir_fill(buffer, 0, BYTES / 2, 0xabcd, NULL)); // a part of it
  good(weir_copy_out(buffer, BYTES / 4, BYTES / 2, half, NULL));
  good(weir_finish(context));
  for (uint32_t i = 0; i < COUNT / 2; i++) assert_int_equal(half[i], i < COUNT / 4 ? 0xabcd : 10 + COUNT / 4 + i);
}

// Kompute's eHost: a buffer on memory of the caller's, which a device writes through.
static void memory_of_the_caller(void **state) {
  (void)state;
  static uint32_t numbers[COUNT];
  for (uint32_t i = 0; i < COUNT; i++) numbers[i] = i;
  weir_buffer *buffer;
  good(weir_buffer_wrap(context, numbers, sizeof numbers, &buffer));
  weir_graph *sequence = make_sequence();
  record_scale(sequence, make_scale(2), buffer, 1);
  good(weir_graph_evaluate(sequence, WEIR_FOREVER));
  expect_numbers(buffer, 0, 2, 1);
}

// Kompute's eDeviceAndHost: memory that both reach, for what is copied in and out.
static void memory_that_both_reach(void **state) {
  (void)state;
  weir_device *device = weir_context_device(context, 0);
  uint32_t *numbers;
  good(weir_host_allocate(device, BYTES, (void **)&numbers));
  for (uint32_t i = 0; i < COUNT; i++) numbers[i] = i;
  weir_buffer *buffer;
  good(weir_buffer_create(context, BYTES, &buffer));
  weir_graph *sequence = make_sequence();
  good(weir_graph_copy_in(sequence, buffer, 0, WEIR_WHOLE, numbers, NULL));
  record_scale(sequence, make_scale(3), buffer, 1);
  good(weir_graph_copy_out(sequence, buffer, 0, WEIR_WHOLE, numbers, NULL));
  good(weir_graph_evaluate(sequence, WEIR_FOREVER));
  for (uint32_t i = 0; i < COUNT; i++) assert_int_equal(numbers[i], 3 * i + 1);
  weir_host_free(device, numbers);
}

// Kompute's eStorage: what is never copied to or from the host exists on the device only.
static void memory_of_the_device_only(void **state) {
  (void)state;
  weir_buffer *between, *buffer = make_numbers(1);
  good(weir_buffer_create(context, BYTES, &between));
  weir_statistics before, after;
  weir_context_statistics(context, &before);
  weir_graph *sequence = make_sequence();
  good(weir_graph_copy(sequence, between, 0, buffer, 0, BYTES, NULL));
  record_scale(sequence, make_scale(2), between, 1);
  good(weir_graph_copy(sequence, buffer, 0, between, 0, BYTES, NULL));
  good(weir_graph_evaluate(sequence, WEIR_FOREVER));
  weir_context_statistics(context, &after);
  assert_true(after.transfers - before.transfers <= 1); // `buffer`, if it was with the host
  expect_numbers(buffer, 1, 2, 1);
}

// Kompute's rebuild: another buffer, which takes the place of the old one in what was recorded.
static void rebuilt_larger(void **state) {
  (void)state;
  uint32_t numbers[2 * COUNT];
  weir_buffer *small = make_numbers(1), *large;
  weir_graph *sequence = make_sequence();
  record_scale(sequence, make_scale(2), small, 1);
  good(weir_graph_evaluate(sequence, WEIR_FOREVER));
  good(weir_buffer_create(context, 2 * BYTES, &large));
  good(weir_fill(large, 0, WEIR_WHOLE, 100, NULL));
  good(weir_graph_replace_buffer(sequence, small, large));
  good(weir_buffer_release(small));
  good(weir_graph_evaluate(sequence, WEIR_FOREVER));
  good(weir_copy_out(large, 0, WEIR_WHOLE, numbers, NULL));
  good(weir_finish(context));
  for (uint32_t i = 0; i < 2 * COUNT; i++) assert_int_equal(numbers[i], i < COUNT ? 201 : 100);
}

static void parts_of_a_buffer(void **state) {
  (void)state;
  uint32_t numbers[COUNT], add = 1;
  weir_buffer *buffer = make_numbers(1);
  weir_kernel *scale = make_scale(2);
  const weir_arg args[] = {weir_updates_range(buffer, BYTES / 2, BYTES / 4), weir_value(&add, sizeof add)};
  const weir_task task = {.kernel = scale, .args = args, .arg_count = 2, .groups = {COUNT / 32}};
  good(weir_submit(context, &task, NULL)); // the shader's length() is that of the range
  read_numbers(buffer, numbers);
  for (uint32_t i = 0; i < COUNT; i++) assert_int_equal(numbers[i], i / (COUNT / 4) == 2 ? 2 * (i + 1) + 1 : i + 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      KOMPUTE_TEST(floats),
      KOMPUTE_TEST(doubles),
      KOMPUTE_TEST(ints),
      KOMPUTE_TEST(unsigned_ints),
      KOMPUTE_TEST(ints_of_64_bits),
      KOMPUTE_TEST(ints_of_16_bits),
      KOMPUTE_TEST(ints_of_8_bits),
      KOMPUTE_TEST(floats_of_16_bits),
      KOMPUTE_TEST(structs),
      KOMPUTE_TEST(filled_and_read_back),
      KOMPUTE_TEST(memory_of_the_caller),
      KOMPUTE_TEST(memory_that_both_reach),
      KOMPUTE_TEST(memory_of_the_device_only),
      KOMPUTE_TEST(rebuilt_larger),
      KOMPUTE_TEST(parts_of_a_buffer),
  };
  kompute_skip_without_device();
  return cmocka_run_group_tests(tests, NULL, NULL);
}
