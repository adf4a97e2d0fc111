// SPDX-License-Identifier: Apache-2.0
//
// The Nth call of Vulkan fails, for every N, while an image is made and used, and while it is measured whether queues
// overlap: what is reported as done is right, nothing is left, and nothing is used that a call which failed left behind. And
// the device is lost while descriptor sets have run out.
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <time.h>

#include <cmocka.h>

#define VK_NO_PROTOTYPES
#include <vulkan/vulkan_core.h>

#include "device/vulkan/overlap.h"
#include "interposer.h"
#include "mix.spv.h"
#include "sweep.h"
#include "weir/enqueue.h"
#include "weir/image.h"
#include "weir/vulkan.h"

enum { WIDTH = 16, HEIGHT = 16, TEXELS = WIDTH * HEIGHT, BYTES = TEXELS * 4, MANY = 1000 };

typedef bool (*play_one)(weir_context *context); // whether all went well

static bool use_image(weir_context *context) {
  const weir_image_info info = {.dimensions = 2,
                                .width = WIDTH,
                                .height = HEIGHT,
                                .type = WEIR_IMAGE_UINT32,
                                .channels = 1,
                                .storage = true,
                                .sampled = true};
  uint32_t input[TEXELS], output[TEXELS] = {0};
  weir_buffer *image;
  for (uint32_t i = 0; i < TEXELS; i++) input[i] = i * 2654435761u;
  if (weir_image_create(weir_context_device(context, 0), &info, &image) != WEIR_OK) return false;
  bool good = weir_copy_in(image, 0, BYTES, input, NULL) == WEIR_OK;
  good = good && weir_read(image, 0, BYTES, output) == WEIR_OK;
  if (good) assert_memory_equal(output, input, BYTES);
  weir_buffer_release(image);
  return weir_finish(context) == WEIR_OK && good;
}

static bool measure_overlap(weir_context *context) {
  weir__vulkan_device *device = weir__vulkan_of(weir_context_device(context, 0));
  bool overlaps;
  // One queue twice: the device has perhaps no second one.
  return weir__vulkan_find_overlap(device, &device->queues[0], &device->queues[0], &overlaps) == WEIR_OK;
}

// Returns whether the call came.
static bool play(play_one one, uint64_t n, VkResult result) {
  const weir_context_options options = {.devices = "vulkan", .queues = 1};
  weir_context *context;
  interposer_fail(NULL, 0, 0);
  assert_int_equal(weir_context_create(&options, &context), WEIR_OK);
  interposer_fail(NULL, n, result);
  bool good = one(context), came = interposer_failed() != NULL;
  if (!good && !came) fail_msg("%s", weir_last_error());
  assert_int_equal(weir_context_release(context), WEIR_OK);
  if (interposer_undefined_used() != 0) fail_msg("%s fails, and its result is used", interposer_failed());
  assert_int_equal(interposer_destroyed_early(), 0);
  assert_int_equal(interposer_live(), 0);
  return came;
}

static void sweep(play_one one, VkResult result, uint64_t step, uint64_t least) {
  uint64_t n = 1;
  for (bool came = true; came && n < MANY; n += step) {
    alarm(60);
    came = play(one, n, result);
    alarm(0);
  }
  assert_true(n > least && n < MANY);
}

static void images(void **state) {
  (void)state;
  sweep(use_image, VK_ERROR_OUT_OF_DEVICE_MEMORY, 1, 10);
  sweep(use_image, VK_ERROR_DEVICE_LOST, 1, 2);
}

static void overlap(void **state) {
  (void)state;
  sweep(measure_overlap, VK_ERROR_OUT_OF_HOST_MEMORY, 1, 10);
  sweep(measure_overlap, VK_ERROR_DEVICE_LOST, 1, 2);
}

// A function that Weir does not call.
#define CALL(of, name)                                                                                                 \
  ((PFN_##name)weir__vulkan_of(of)->driver->vkGetDeviceProcAddr(weir__vulkan_of(of)->device, #name))

enum { WORDS = 64, RANGES = 8400, WINDOW = 16384, ROUNDS = 12 };
static const uint64_t NAP_NS = 300000000;

static VkEvent event;

static weir_status wait_for_event(const weir_enqueue *call) {
  CALL(call->device, vkCmdWaitEvents)
  (call->queue, 1, &event, VK_PIPELINE_STAGE_HOST_BIT, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, 0, NULL, 0, NULL, 0, NULL);
  return WEIR_OK;
}

static void submit(weir_kernel *kernel, weir_arg to, weir_arg from) {
  const uint32_t value = 7;
  const weir_arg args[] = {to, from, weir_value(&value, sizeof value)};
  const weir_task task = {.kernel = kernel, .args = args, .arg_count = 3, .groups = {1}};
  assert_int_equal(weir_submit(kernel->object.context, &task, NULL), WEIR_OK);
}

// The device is lost while it waits for descriptor sets to become free, which are used behind a copy that the host has made,
// but cannot tell of.
static void sets_run_out(void **state) {
  (void)state;
  const struct timespec nap = {.tv_nsec = (long)NAP_NS};
  const weir_context_options options = {
      .devices = "vulkan", .queues = 1, .window = WINDOW, .flags = WEIR_CONTEXT_NO_RENAME};
  const weir_vulkan_code code = {.words = mix_spv, .bytes = sizeof mix_spv};
  const VkEventCreateInfo info = {.sType = VK_STRUCTURE_TYPE_EVENT_CREATE_INFO};
  const uint64_t bytes = WORDS * sizeof(uint32_t);
  uint32_t input[WORDS] = {0};
  weir_context *context;
  weir_kernel *mix, *wait;
  weir_buffer *from, *to;
  interposer_fail(NULL, 0, 0);
  assert_int_equal(weir_context_create(&options, &context), WEIR_OK);
  weir_device *device = weir_context_device(context, 0);
  weir__vulkan_device *vulkan = weir__vulkan_of(device);
  assert_int_equal(weir_kernel_create(context, "mix", &mix), WEIR_OK);
  assert_int_equal(weir_kernel_set_vulkan(mix, &code, &(weir_vulkan_launch){0}, 1), WEIR_OK);
  assert_int_equal(weir_kernel_create(context, "wait", &wait), WEIR_OK);
  assert_int_equal(weir_kernel_set_enqueue(wait, "vulkan", &(weir_enqueue_code){.function = wait_for_event}), WEIR_OK);
  assert_int_equal(weir_buffer_create(context, bytes, &from), WEIR_OK);
  assert_int_equal(weir_buffer_create(context, RANGES * bytes, &to), WEIR_OK);
  assert_int_equal(weir_copy_in(from, 0, bytes, input, NULL), WEIR_OK);
  assert_int_equal(weir_fill(to, 0, RANGES * bytes, 0, NULL), WEIR_OK);
  assert_int_equal(weir_finish(context), WEIR_OK);
  assert_int_equal(CALL(device, vkCreateEvent)(vulkan->device, &info, NULL, &event), VK_SUCCESS);
  interposer_fail("vkSignalSemaphore", 1, VK_ERROR_OUT_OF_HOST_MEMORY);
  alarm(60);
  const weir_arg arg = weir_updates(from);
  assert_int_equal(weir_submit(context, &(weir_task){.kernel = wait, .args = &arg, .arg_count = 1}, NULL), WEIR_OK);
  assert_int_equal(weir_copy_in(from, 0, bytes, input, NULL), WEIR_OK);
  for (uint32_t i = 0; i < RANGES; i++) submit(mix, weir_writes_range(to, i * bytes, bytes), weir_reads(from));
  nanosleep(&nap, NULL); // by then it waits, most likely
  assert_int_equal(CALL(device, vkSetEvent)(vulkan->device, event), VK_SUCCESS);
  assert_int_equal(weir_finish(context), WEIR_ERROR_DEVICE_LOST);
  alarm(0);
  assert_non_null(interposer_failed());
  CALL(device, vkDestroyEvent)(vulkan->device, event, NULL);
  weir_buffer_release(from);
  weir_buffer_release(to);
  weir_kernel_release(mix);
  weir_kernel_release(wait);
  assert_int_equal(weir_context_release(context), WEIR_OK);
  assert_int_equal(interposer_live(), 0);
}

// Nothing that was in flight when the device was removed is done.
static void removed(void **state) {
  (void)state;
  const VkEventCreateInfo info = {.sType = VK_STRUCTURE_TYPE_EVENT_CREATE_INFO};
  const weir_context_options options = {.devices = "vulkan", .queues = 1};
  weir_context *context;
  weir_kernel *wait;
  weir_buffer *buffer;
  weir_event *end;
  interposer_fail(NULL, 0, 0);
  assert_int_equal(weir_context_create(&options, &context), WEIR_OK);
  weir_device *device = weir_context_device(context, 0);
  VkDevice native = weir__vulkan_of(device)->device;
  assert_int_equal(CALL(device, vkCreateEvent)(native, &info, NULL, &event), VK_SUCCESS);
  assert_int_equal(weir_kernel_create(context, "wait", &wait), WEIR_OK);
  assert_int_equal(weir_kernel_set_enqueue(wait, "vulkan", &(weir_enqueue_code){.function = wait_for_event}), WEIR_OK);
  assert_int_equal(weir_buffer_create(context, BYTES, &buffer), WEIR_OK);
  assert_int_equal(weir_fill(buffer, 0, BYTES, 0, NULL), WEIR_OK);
  assert_int_equal(weir_finish(context), WEIR_OK);
  const weir_arg arg = weir_updates(buffer);
  alarm(60);
  assert_int_equal(weir_submit(context, &(weir_task){.kernel = wait, .args = &arg, .arg_count = 1}, &end), WEIR_OK);
  interposer_remove();
  weir_status status = weir_event_wait(end, NAP_NS); // the device's thread waits for the queue, which runs on here
  assert_int_equal(CALL(device, vkSetEvent)(native, event), VK_SUCCESS);
  assert_int_equal(weir_event_wait(end, WEIR_FOREVER), WEIR_ERROR_DEVICE_LOST);
  alarm(0);
  interposer_fail(NULL, 0, 0);
  assert_int_not_equal(status, WEIR_OK);
  CALL(device, vkDestroyEvent)(native, event, NULL);
  weir_event_release(end);
  weir_buffer_release(buffer);
  weir_kernel_release(wait);
  assert_int_equal(weir_context_release(context), WEIR_OK);
  assert_int_equal(interposer_live(), 0);
}

static atomic_bool stopping;

static void *take_memory(void *device) {
  while (!atomic_load(&stopping)) {
    void *memory;
    if (weir_host_allocate(device, BYTES, &memory) == WEIR_OK) weir_host_free(device, memory);
  }
  return NULL;
}

// A thread takes and gives memory of the host's, which is ordinary memory once the device is lost.
static void memory_of_the_host(void **state) {
  (void)state;
  const weir_context_options options = {.devices = "vulkan", .queues = 1};
  for (uint64_t round = 0; round < ROUNDS; round++) {
    weir_context *context;
    weir_buffer *buffer;
    pthread_t thread;
    interposer_fail(NULL, 0, 0);
    assert_int_equal(weir_context_create(&options, &context), WEIR_OK);
    assert_int_equal(weir_buffer_create(context, BYTES, &buffer), WEIR_OK);
    atomic_store(&stopping, false);
    assert_int_equal(pthread_create(&thread, NULL, take_memory, weir_context_device(context, 0)), 0);
    interposer_fail("vkQueueSubmit", 1 + round % 4, VK_ERROR_DEVICE_LOST);
    for (int i = 0; i < 8 && weir_finish(context) == WEIR_OK; i++) weir_fill(buffer, 0, BYTES, 1, NULL);
    atomic_store(&stopping, true);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_non_null(interposer_failed());
    weir_buffer_release(buffer);
    assert_int_equal(weir_context_release(context), WEIR_OK);
    assert_int_equal(interposer_live(), 0);
  }
}

int main(void) {
  setenv("WEIR_VULKAN_LOADER", INTERPOSER, 1);
  const struct CMUnitTest tests[] = {cmocka_unit_test(images), cmocka_unit_test(overlap),
                                     cmocka_unit_test(sets_run_out), cmocka_unit_test(removed),
                                     cmocka_unit_test(memory_of_the_host)};
  return cmocka_run_group_tests_name("Vulkan: images and queues while calls fail", tests, NULL, NULL);
}
