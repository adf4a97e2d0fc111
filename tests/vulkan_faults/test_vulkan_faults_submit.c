// SPDX-License-Identifier: Apache-2.0
//
// A submission fails that holds a part of a task: the first half of a copy through staging memory, or the first dispatches of
// a kernel. The task must fail, whatever happens to its other part.
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>
#include <vulkan/vulkan_core.h>

#include "advance.spv.h"
#include "interposer.h"
#include "mix.spv.h"
#include "weir/vulkan.h"

enum { WORDS = 64, MANY = 128 << 10, STEPS = 3, ROUNDS = 20 };

static const uint32_t value = 7;

static weir_kernel *make_kernel(weir_context *context, const weir_vulkan_code *code, uint32_t steps) {
  const weir_vulkan_launch launches[STEPS] = {0};
  weir_kernel *kernel;
  assert_int_equal(weir_kernel_create(context, "step", &kernel), WEIR_OK);
  assert_int_equal(weir_kernel_set_vulkan(kernel, code, launches, steps), WEIR_OK);
  return kernel;
}

static weir_buffer *make_buffer(weir_context *context, const uint32_t *contents, uint32_t words) {
  weir_buffer *buffer;
  assert_int_equal(weir_buffer_create(context, words * sizeof *contents, &buffer), WEIR_OK);
  assert_int_equal(weir_copy_in(buffer, 0, words * sizeof *contents, contents, NULL), WEIR_OK);
  return buffer;
}

static void submit(weir_context *context, weir_kernel *kernel, weir_arg to, weir_buffer *from, uint32_t words) {
  weir_arg args[] = {to, weir_reads(from), weir_value(&value, sizeof value)};
  const weir_task task = {.kernel = kernel,
                          .args = args,
                          .arg_count = 3,
                          .groups = {words / WORDS, 1, 1},
                          .device = weir_context_device(context, 0)};
  assert_int_equal(weir_submit(context, &task, NULL), WEIR_OK);
}

// The caller's memory gets what a task wrote: where the host does not reach the device's memory, by way of staging memory. So
// large a copy has a lane of its own, so that the second submission is the first half of it alone.
static void the_first_half_of_a_copy(void **state) {
  (void)state;
  static uint32_t input[MANY], memory[MANY], output[MANY];
  const weir_vulkan_code code = {.words = mix_spv, .bytes = sizeof mix_spv};
  const weir_context_options options = {.devices = "vulkan", .queues = 2};
  weir_context *context;
  weir_buffer *wrapped;
  for (uint32_t i = 0; i < MANY; i++) input[i] = i * 2654435761u;
  assert_int_equal(weir_context_create(&options, &context), WEIR_OK);
  weir_kernel *mix = make_kernel(context, &code, 1);
  weir_buffer *from = make_buffer(context, input, MANY), *to = make_buffer(context, input, MANY);
  assert_int_equal(weir_buffer_wrap(context, memory, sizeof memory, &wrapped), WEIR_OK);
  submit(context, mix, weir_writes(to), from, MANY); // now `from` is there
  assert_int_equal(weir_finish(context), WEIR_OK);
  interposer_fail("vkQueueSubmit", 2, VK_ERROR_OUT_OF_HOST_MEMORY);
  submit(context, mix, weir_writes(wrapped), from, MANY);
  weir_event *event;
  assert_int_equal(weir_copy_out(wrapped, 0, sizeof output, output, &event), WEIR_OK);
  weir_status status = weir_event_wait(event, WEIR_FOREVER);
  weir_status finished = weir_finish(context);
  bool failed = interposer_failed() != NULL;
  interposer_fail(NULL, 0, 0);
  assert_int_equal(status, failed ? WEIR_ERROR_UPSTREAM_FAILED : WEIR_OK);
  assert_int_equal(finished, failed ? WEIR_ERROR_OUT_OF_MEMORY : WEIR_OK);
  for (uint32_t i = 0; i < MANY && !failed; i++) assert_int_equal(output[i], input[i] * 3 + value);
  weir_event_release(event);
  weir_buffer_release(from);
  weir_buffer_release(to);
  weir_buffer_release(wrapped);
  weir_kernel_release(mix);
  weir_context_release(context);
}

static _Atomic bool gate_is_reached, gate_is_open;

static void wait_for(_Atomic bool *flag) {
  const struct timespec nap = {.tv_nsec = 100000};
  while (!atomic_load(flag)) nanosleep(&nap, NULL);
}

static void wait_at_gate(const weir_work *work) {
  (void)work;
  atomic_store(&gate_is_reached, true);
  wait_for(&gate_is_open);
}

// A task of several steps comes to the device together with one that writes the caller's memory, both behind a task on the CPU
// that reads what they write. The copy to that memory has what is in the lane submitted before the last step is recorded.
static bool play_steps(weir_context *context, weir_kernel *gate, weir_kernel *mix, weir_kernel *advance) {
  uint32_t input[WORDS], memory[WORDS] = {0}, output[WORDS] = {0};
  for (uint32_t i = 0; i < WORDS; i++) input[i] = i * 2654435761u;
  weir_buffer *from = make_buffer(context, input, WORDS), *buffer = make_buffer(context, input, WORDS), *other;
  assert_int_equal(weir_buffer_wrap(context, memory, sizeof memory, &other), WEIR_OK);
  submit(context, mix, weir_writes(other), from, WORDS);
  submit(context, advance, weir_updates(buffer), from, WORDS);
  assert_int_equal(weir_finish(context), WEIR_OK);
  atomic_store(&gate_is_reached, false);
  atomic_store(&gate_is_open, false);
  weir_arg gate_args[] = {weir_reads(buffer), weir_reads(other)};
  const weir_task wait = {.kernel = gate, .args = gate_args, .arg_count = 2, .device = weir_context_device(context, 1)};
  assert_int_equal(weir_submit(context, &wait, NULL), WEIR_OK);
  submit(context, mix, weir_writes(other), from, WORDS);
  submit(context, advance, weir_updates(buffer), from, WORDS);
  wait_for(&gate_is_reached);
  interposer_fail("vkQueueSubmit", 1, VK_ERROR_OUT_OF_HOST_MEMORY);
  atomic_store(&gate_is_open, true);
  weir_finish(context);
  assert_non_null(interposer_failed());
  interposer_fail(NULL, 0, 0);
  weir_event *event;
  bool right = true;
  assert_int_equal(weir_copy_out(buffer, 0, sizeof output, output, &event), WEIR_OK);
  if (weir_event_wait(event, WEIR_FOREVER) == WEIR_OK) {
    for (uint32_t i = 0; i < WORDS; i++) {
      uint32_t expected = input[i];
      for (int step = 0; step < 2 * STEPS; step++) expected = expected * 3 + input[i] + value;
      right = right && output[i] == expected;
    }
  }
  weir_event_release(event);
  weir_finish(context);
  weir_buffer_release(from);
  weir_buffer_release(other);
  weir_buffer_release(buffer);
  return right;
}

static void the_first_steps_of_a_kernel(void **state) {
  (void)state;
  const weir_vulkan_code mix_code = {.words = mix_spv, .bytes = sizeof mix_spv};
  const weir_vulkan_code advance_code = {.words = advance_spv, .bytes = sizeof advance_spv};
  const weir_context_options options = {.devices = "vulkan,cpu:1", .queues = 1};
  weir_context *context;
  weir_kernel *gate;
  assert_int_equal(weir_context_create(&options, &context), WEIR_OK);
  assert_int_equal(weir_kernel_create(context, "gate", &gate), WEIR_OK);
  assert_int_equal(weir_kernel_set_cpu(gate, wait_at_gate), WEIR_OK);
  weir_kernel *mix = make_kernel(context, &mix_code, 1), *advance = make_kernel(context, &advance_code, STEPS);
  for (int i = 0; i < ROUNDS; i++) assert_true(play_steps(context, gate, mix, advance));
  weir_kernel_release(gate);
  weir_kernel_release(mix);
  weir_kernel_release(advance);
  weir_context_release(context);
}

int main(void) {
  setenv("WEIR_VULKAN_LOADER", INTERPOSER, 1);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_first_half_of_a_copy),
      cmocka_unit_test(the_first_steps_of_a_kernel),
  };
  return cmocka_run_group_tests_name("Vulkan: submissions of a part fail", tests, NULL, NULL);
}
