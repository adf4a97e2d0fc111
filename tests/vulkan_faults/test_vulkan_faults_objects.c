// SPDX-License-Identifier: Apache-2.0
//
// The Nth call of Vulkan fails, for every N, while an image is made and used, and while it is measured whether queues
// overlap: what is reported as done is right, nothing is left, and nothing is used that a call which failed left behind.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "device/vulkan/overlap.h"
#include "interposer.h"
#include "sweep.h"
#include "weir/image.h"

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

int main(void) {
  setenv("WEIR_VULKAN_LOADER", INTERPOSER, 1);
  const struct CMUnitTest tests[] = {cmocka_unit_test(images), cmocka_unit_test(overlap)};
  return cmocka_run_group_tests_name("Vulkan: images and queues while calls fail", tests, NULL, NULL);
}
