// SPDX-License-Identifier: Apache-2.0
//
// A submission fails that brings order for those behind it: a barrier, an image's layout, the end that another lane waits
// for. Or what commands use is freed before they are submitted. The validation layer lies behind the loader that lets calls fail, and sees what reaches the driver.
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "device/vulkan/validation.h"
#include "device/vulkan/vulkan.h"
#include "gate.h"
#include "interposer.h"
#include "mix.spv.h"
#include "weir/enqueue.h"
#include "weir/graph.h"
#include "weir/image.h"
#include "weir/vulkan.h"

enum { WORDS = 64, BYTES = WORDS * 4, BUFFERS = 8, NODES = 4200 };

static const uint32_t value = 7;

static weir_context *context;
static weir_kernel *mix, *hold;
static weir_buffer *buffers[BUFFERS];
static uint32_t input[WORDS];
static gate held;
static uint64_t messages; // of the validation layer, before this test

static void good(weir_status status) {
  if (status != WEIR_OK) fail_msg("%s", weir_last_error());
}

// Holds the device's thread until the gate opens, so that what is submitted meanwhile is recorded together.
static weir_status wait_at_gate(const weir_enqueue *call) {
  (void)call;
  atomic_fetch_add(&held.entered, 1);
  while (!atomic_load(&held.open)) sched_yield();
  return WEIR_OK;
}

static void open_context(uint32_t queues) {
  const weir_vulkan_code code = {.words = mix_spv, .bytes = sizeof mix_spv};
  const weir_vulkan_launch launch = {0};
  alarm(60);
  messages = weir__vulkan_validation_messages();
  interposer_fail(NULL, 0, 0);
  for (uint32_t i = 0; i < WORDS; i++) input[i] = i * 2654435761u;
  good(weir_context_create(
      &(weir_context_options){.devices = "vulkan,cpu:1", .queues = queues, .flags = WEIR_CONTEXT_NO_RENAME}, &context));
  good(weir_kernel_create(context, "mix", &mix));
  good(weir_kernel_set_vulkan(mix, &code, &launch, 1));
  good(weir_kernel_create(context, "hold", &hold));
  good(weir_kernel_set_enqueue(hold, "vulkan", &(weir_enqueue_code){.function = wait_at_gate}));
  for (int i = 0; i < BUFFERS; i++) {
    good(weir_buffer_create(context, BYTES, &buffers[i]));
    good(weir_copy_in(buffers[i], 0, BYTES, input, NULL));
  }
  good(weir_finish(context));
}

static void close_context(void) {
  for (int i = 0; i < BUFFERS; i++) weir_buffer_release(buffers[i]);
  weir_kernel_release(mix);
  weir_kernel_release(hold);
  good(weir_context_release(context));
  alarm(0);
  assert_int_equal(weir__vulkan_validation_messages(), messages);
  assert_int_equal(interposer_undefined_used(), 0);
  assert_int_equal(interposer_live(), 0);
}

static weir_task task_of(weir_arg args[3], int to, int from) {
  args[0] = weir_writes(buffers[to]);
  args[1] = weir_reads(buffers[from]);
  args[2] = weir_value(&value, sizeof value);
  return (weir_task){
      .kernel = mix, .args = args, .arg_count = 3, .groups = {1}, .device = weir_context_device(context, 0)};
}

static void submit(int to, int from) {
  weir_arg args[3];
  const weir_task task = task_of(args, to, from);
  good(weir_submit(context, &task, NULL));
}

// Launched often enough to be recorded as it stays.
static weir_graph *make_graph(int to, int from) {
  weir_arg args[3];
  weir_graph *graph;
  const weir_task task = task_of(args, to, from);
  good(weir_graph_create(context, NULL, &graph));
  good(weir_graph_add(graph, &task, NULL));
  for (int i = 0; i < 4; i++) good(weir_graph_launch(graph, NULL));
  good(weir_finish(context));
  return graph;
}

static void hold_thread(void) {
  const weir_arg arg = weir_writes(buffers[BUFFERS - 1]);
  held = (gate){0};
  good(weir_submit(
      context, &(weir_task){.kernel = hold, .args = &arg, .arg_count = 1, .device = weir_context_device(context, 0)},
      NULL));
  gate_await(&held, 1);
}

// Launches end submissions. The second one has a barrier, for a task of its own, and fails. A task of the third reads what a
// task of the first wrote. (The layer does not see that: it forgets what ran before a submission without commands, such as the
// one that stands for the second.)
static void a_barrier(void **state) {
  (void)state;
  open_context(1);
  weir_graph *first = make_graph(5, 0), *second = make_graph(6, 2);
  hold_thread();
  submit(1, 0);
  submit(2, 0);
  good(weir_graph_launch(first, NULL));
  submit(3, 2);
  good(weir_graph_launch(second, NULL));
  submit(4, 1);
  interposer_fail("vkQueueSubmit", 3, VK_ERROR_OUT_OF_HOST_MEMORY);
  gate_open(&held);
  assert_int_equal(weir_finish(context), WEIR_ERROR_OUT_OF_MEMORY);
  assert_non_null(interposer_failed());
  assert_true(interposer_barriers() > 0);
  weir_graph_release(first);
  weir_graph_release(second);
  close_context();
}

// An image whose first task, which brings it into its layout, fails.
static weir_buffer *make_image(void) {
  const weir_image_info info = {
      .dimensions = 1, .width = WORDS, .type = WEIR_IMAGE_UINT32, .channels = 1, .storage = true};
  weir_buffer *image;
  interposer_fail("vkQueueSubmit", 1, VK_ERROR_OUT_OF_HOST_MEMORY);
  good(weir_image_create(weir_context_device(context, 0), &info, &image));
  assert_int_equal(weir_finish(context), WEIR_ERROR_OUT_OF_MEMORY);
  assert_non_null(interposer_failed());
  interposer_fail(NULL, 0, 0);
  return image;
}

static void expect_input(weir_buffer *buffer) {
  uint32_t output[WORDS] = {0};
  good(weir_read(buffer, 0, BYTES, output));
  assert_memory_equal(output, input, BYTES);
}

static void a_layout(void **state) {
  (void)state;
  open_context(1);
  weir_buffer *image = make_image();
  good(weir_copy(image, 0, buffers[0], 0, BYTES, NULL));
  expect_input(image);
  weir_buffer_release(image);
  close_context();
}

// A graph uses it first, whose recording is launched several times.
static void a_layout_for_a_graph(void **state) {
  (void)state;
  weir_graph *graph;
  open_context(1);
  weir_buffer *image = make_image();
  good(weir_graph_create(context, NULL, &graph));
  good(weir_graph_copy(graph, image, 0, buffers[0], 0, BYTES, NULL));
  for (int i = 0; i < 4; i++) {
    good(weir_graph_launch(graph, NULL));
    good(weir_copy(buffers[1], 0, image, 0, BYTES, NULL));
  }
  expect_input(buffers[1]);
  weir_graph_release(graph);
  weir_buffer_release(image);
  close_context();
}

// The recording of a graph that uses it first fails.
static void a_layout_in_a_recording(void **state) {
  (void)state;
  weir_graph *graph;
  open_context(1);
  weir_buffer *image = make_image();
  good(weir_graph_create(context, NULL, &graph));
  good(weir_graph_copy(graph, image, 0, buffers[0], 0, BYTES, NULL));
  interposer_fail("vkEndCommandBuffer", 1, VK_ERROR_OUT_OF_HOST_MEMORY);
  good(weir_graph_launch(graph, NULL));
  assert_int_equal(weir_finish(context), WEIR_ERROR_OUT_OF_MEMORY);
  assert_non_null(interposer_failed());
  interposer_fail(NULL, 0, 0);
  good(weir_graph_launch(graph, NULL));
  expect_input(image);
  weir_graph_release(graph);
  weir_buffer_release(image);
  close_context();
}

// A submission fails, and so does the one that only tells of its end, for which another lane waits. The device is lost, and
// nothing that was submitted may wait for ever.
static void an_end(void **state) {
  (void)state;
  open_context(2);
  hold_thread();
  submit(1, 0);
  submit(2, 0);
  const uint32_t word = 3;
  const weir_arg args[] = {weir_updates(buffers[2]), weir_reads(buffers[1]), weir_value(&word, sizeof word)};
  good(weir_submit(
      context,
      &(weir_task){
          .kernel = mix, .args = args, .arg_count = 3, .groups = {1}, .device = weir_context_device(context, 0)},
      NULL));
  interposer_fail_times("vkQueueSubmit", 2, 2, VK_ERROR_OUT_OF_HOST_MEMORY);
  gate_open(&held);
  assert_int_equal(weir_finish(context), WEIR_ERROR_DEVICE_LOST);
  close_context();
}

// The host has made a copy, and cannot say so for a while: the kernel behind it waits in the queue.
static void a_copy(void **state) {
  (void)state;
  open_context(1);
  hold_thread();
  submit(1, 0);
  good(weir_copy_in(buffers[1], 0, BYTES, input, NULL));
  submit(2, 1);
  interposer_fail_times("vkSignalSemaphore", 1, 3, VK_ERROR_OUT_OF_HOST_MEMORY);
  gate_open(&held);
  assert_int_equal(weir_finish(context), WEIR_ERROR_DEVICE_LOST);
  assert_non_null(interposer_failed());
  close_context();
}

// Nothing can be recorded for a signal to the caller's work, which waits for it all the same.
static void a_signal(void **state) {
  (void)state;
  open_context(1);
  const VkSemaphoreTypeCreateInfo type = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
                                          .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE};
  const VkSemaphoreCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, .pNext = &type};
  weir_device *device = weir_context_device(context, 0);
  const weir__vulkan_device *vulkan = weir__vulkan_of(device);
  VkSemaphore semaphore;
  assert_int_equal(vulkan->calls.vkCreateSemaphore(vulkan->device, &info, NULL, &semaphore), VK_SUCCESS);
  uint64_t reached = 0;
  interposer_fail("vkBeginCommandBuffer", 1, VK_ERROR_OUT_OF_HOST_MEMORY);
  good(weir_vulkan_signal_semaphore(device, (uint64_t)semaphore, 7, NULL));
  assert_int_equal(weir_finish(context), WEIR_ERROR_OUT_OF_MEMORY);
  assert_non_null(interposer_failed());
  interposer_fail(NULL, 0, 0);
  assert_int_equal(vulkan->calls.vkGetSemaphoreCounterValue(vulkan->device, semaphore, &reached), VK_SUCCESS);
  assert_int_equal(reached, 7);
  vulkan->calls.vkDestroySemaphore(vulkan->device, semaphore, NULL);
  close_context();
}

// A command buffer cannot be reset after its use.
static void a_reset(void **state) {
  (void)state;
  open_context(1);
  interposer_fail("vkResetCommandPool", 1, VK_ERROR_OUT_OF_HOST_MEMORY);
  for (int i = 0; i < 4; i++) {
    submit(1, 0);
    good(weir_finish(context));
  }
  assert_non_null(interposer_failed());
  close_context();
}

static weir_status fail_call(const weir_enqueue *call) {
  (void)call;
  return WEIR_ERROR_TASK_FAILED;
}

// A graph with more nodes than a generation of descriptor sets has sets, of which one is skipped: so its commands use the
// device's sets, and not those of a recording.
static weir_graph *make_large_graph(weir_buffer *large) {
  weir_graph *graph;
  good(weir_graph_create(context, &(weir_graph_options){.queue = 3}, &graph));
  for (uint64_t i = 0; i <= NODES; i++) {
    const weir_arg args[] = {weir_writes_range(large, i * BYTES, BYTES), weir_reads(buffers[i < NODES ? 0 : 2]),
                             weir_value(&value, sizeof value)};
    good(weir_graph_add(
        graph,
        &(weir_task){
            .kernel = mix, .args = args, .arg_count = 3, .groups = {1}, .device = weir_context_device(context, 0)},
        NULL));
  }
  return graph;
}

// The first dispatch of a task is recorded, and then so much else that sets are freed before its last one is.
static void sets_of_first_steps(void **state) {
  (void)state;
  const weir_vulkan_code code = {.words = mix_spv, .bytes = sizeof mix_spv};
  const weir_vulkan_launch launches[3] = {0};
  weir_kernel *fails, *steps;
  weir_buffer *large;
  open_context(3);
  good(weir_kernel_create(context, "fails", &fails));
  good(weir_kernel_set_enqueue(fails, "vulkan", &(weir_enqueue_code){.function = fail_call}));
  good(weir_kernel_create(context, "steps", &steps));
  good(weir_kernel_set_vulkan(steps, &code, launches, 3));
  good(weir_buffer_create(context, (uint64_t)(NODES + 1) * BYTES, &large));
  weir_graph *first = make_large_graph(large), *second = make_large_graph(large);
  good(weir_graph_build(first));
  good(weir_graph_build(second));
  const weir_arg poisoned = weir_writes(buffers[2]);
  good(weir_submit(context, &(weir_task){.kernel = fails, .args = &poisoned, .arg_count = 1}, NULL));
  assert_int_equal(weir_finish(context), WEIR_ERROR_TASK_FAILED);
  hold_thread();
  weir_arg args[3];
  weir_task task = task_of(args, 1, 0);
  task.kernel = steps;
  good(weir_submit(context, &task, NULL));
  good(weir_graph_launch(first, NULL));
  good(weir_graph_launch(second, NULL));
  gate_open(&held);
  weir_finish(context);
  weir_graph_release(first);
  weir_graph_release(second);
  weir_buffer_release(large);
  weir_kernel_release(fails);
  weir_kernel_release(steps);
  close_context();
}

int main(void) {
  setenv("WEIR_VULKAN_LOADER", INTERPOSER, 1);
  const struct CMUnitTest tests[] = {cmocka_unit_test(a_barrier),
                                     cmocka_unit_test(a_layout),
                                     cmocka_unit_test(a_layout_for_a_graph),
                                     cmocka_unit_test(a_layout_in_a_recording),
                                     cmocka_unit_test(an_end),
                                     cmocka_unit_test(a_copy),
                                     cmocka_unit_test(a_signal),
                                     cmocka_unit_test(a_reset),
                                     cmocka_unit_test(sets_of_first_steps)};
  return cmocka_run_group_tests_name("Vulkan: submissions that bring order fail", tests, NULL, NULL);
}
