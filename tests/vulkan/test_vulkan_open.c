// SPDX-License-Identifier: Apache-2.0
//
// Open tasks on Vulkan devices, which the validation layer watches: the cases of all kinds, images, buffers that are made
// meanwhile.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "commands.h"
#include "open_cases.h"
#include "rig.h"
#include "weir/image.h"
#include "weir/vulkan.h"

static void open(const char *devices, const weir_context_options *options) {
  weir_context_options chosen = options != NULL ? *options : (weir_context_options){0};
  chosen.devices = devices;
  commands_open(&chosen);
}

static bool fill(const weir_enqueue *call, const weir_enqueue_arg *to, uint32_t pattern) {
  commands_fill(call, to, pattern);
  return true;
}

static bool copy(const weir_enqueue *call, const weir_enqueue_arg *to, const weir_enqueue_arg *from) {
  commands_copy(call, to, from);
  return true;
}

static const open_rig vulkan_rig_of_opens = {.kind = "vulkan",
                                             .open = open,
                                             .close = commands_close,
                                             .context = &commands_context,
                                             .fill = fill,
                                             .copy = copy,
                                             .separate = commands_barrier};

// What an open task binds and leaves is nothing that tasks behind it see, and lanes are not those of functions.
static void dispatches(void **state) {
  (void)state;
  for (uint32_t queues = 0; queues < 3; queues++) {
    commands_open(&(weir_context_options){.queues = queues, .flags = queues == 1 ? WEIR_CONTEXT_TRACE : 0});
    weir_kernel *scale = commands_kernel("scale", &(weir_enqueue_code){.function = commands_scale_task});
    weir_buffer *buffer = open_buffer(1);
    uint32_t wanted = 1;
    for (uint32_t i = 0; i < 20; i++) {
      const weir_arg args[] = {weir_updates(buffer), weir_value(&i, sizeof i)};
      const weir_enqueue *call;
      weir_open_task *task = open_begin(args, 1, &call);
      assert_true(call->lane + 8 >= call->lane_count);
      commands_scale(call, &call->args[0], i);
      commands_barrier(call);
      commands_scale(call, &call->args[0], 1);
      open_end(task);
      commands_good(weir_submit(commands_context, &(weir_task){.kernel = scale, .args = args, .arg_count = 2}, NULL));
      wanted = 2 * (2 * (2 * wanted + i) + 1) + i;
    }
    open_expect(buffer, 0, OPEN_BYTES, wanted);
    commands_close();
  }
}

// The first use of an image: it is in the layout GENERAL.
static void images(void **state) {
  (void)state;
  enum { SIDE = 16, TEXEL = 16 };
  static uint32_t texels[SIDE * SIDE * TEXEL / 4];
  const weir_image_info info = {
      .dimensions = 2, .width = SIDE, .height = SIDE, .channels = 4, .type = WEIR_IMAGE_FLOAT32, .storage = true};
  weir_buffer *image, *second;
  const weir_enqueue *call;
  const VkImageSubresourceRange range = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1};
  const VkClearColorValue color = {.uint32 = {7, 7, 7, 7}};
  commands_open(NULL);
  commands_good(weir_image_create(commands_device, &info, &image));
  commands_good(weir_image_create(commands_device, &info, &second));
  const weir_arg args[] = {weir_writes(image), weir_writes(second)};
  weir_open_task *task = open_begin(args, 2, &call);
  for (int i = 0; i < 2; i++) {
    assert_true(call->args[i].image && call->args[i].handle != 0 && call->args[i].view != 0);
    commands_calls.vkCmdClearColorImage(call->queue, (VkImage)call->args[i].handle, VK_IMAGE_LAYOUT_GENERAL, &color, 1,
                                        &range);
  }
  open_end(task);
  for (int i = 0; i < 2; i++) {
    commands_good(weir_read(i == 0 ? image : second, 0, sizeof texels, texels));
    for (size_t j = 0; j < sizeof texels / 4; j++) assert_int_equal(texels[j], 7);
  }
  commands_close();
}

// Memory that the work itself makes.
static void made_meanwhile(void **state) {
  (void)state;
  enum { ROUNDS = 4 };
  commands_open(NULL);
  vulkan_rig rig = {.calls = commands_calls, .device = commands_vk_device()};
  char reason[256];
  rig.driver = weir__vulkan_driver_load(reason, sizeof reason);
  weir__vulkan_find_facts(rig.driver, rig.driver->devices[0], &rig.facts);
  weir_buffer *buffers[ROUNDS + 1] = {open_buffer(3)};
  rig_buffer memory[ROUNDS];
  for (int i = 0; i < ROUNDS; i++) {
    const weir_enqueue *call;
    const weir_arg arg = weir_reads(buffers[i]);
    weir_open_task *task = open_begin(&arg, 1, &call);
    memory[i] = rig_make_buffer(&rig, OPEN_BYTES);
    commands_good(weir_buffer_wrap_vulkan(commands_device, (uint64_t)memory[i].buffer, 0, OPEN_BYTES, &buffers[i + 1]));
    commands_copy(call, &(weir_enqueue_arg){.handle = (uint64_t)memory[i].buffer, .bytes = OPEN_BYTES}, &call->args[0]);
    const weir_arg made = weir_writes(buffers[i + 1]);
    commands_good(weir_task_end(task, &made, 1, NULL));
  }
  open_expect(buffers[ROUNDS], 0, OPEN_BYTES, 3);
  for (int i = 0; i < ROUNDS; i++) {
    commands_good(weir_buffer_release(buffers[i + 1]));
    commands_good(weir_vulkan_forget_buffer(commands_device, (uint64_t)memory[i].buffer));
    rig_free_buffer(&rig, &memory[i]);
  }
  commands_close();
}

// What was recorded is not submitted: it may be anything, such as commands that were begun and not ended.
static void abandoned_half_way(void **state) {
  (void)state;
  const weir_enqueue *call;
  commands_open(NULL);
  weir_buffer *buffer = open_buffer(1);
  const weir_arg arg = weir_updates(buffer);
  weir_open_task *task = open_begin(&arg, 1, &call);
  const weir_enqueue_arg outside = {.handle = call->args[0].handle, .offset = call->args[0].offset, .bytes = 64};
  commands_fill(call, &outside, 9);
  commands_calls.vkEndCommandBuffer(call->queue);
  commands_good(weir_task_abandon(task, WEIR_ERROR_TASK_FAILED, NULL));
  assert_int_equal(weir_finish(commands_context), WEIR_ERROR_TASK_FAILED);
  open_good(weir_fill(buffer, 64, OPEN_BYTES - 64, 1, NULL));
  open_good(weir_fill(buffer, 0, 64, 2, NULL));
  open_expect(buffer, 0, 64, 2);
  commands_close();
}

int main(void) {
  rig_skip_without_device();
  open_rig_now = &vulkan_rig_of_opens;
  const struct CMUnitTest tests[] = {OPEN_CASES, cmocka_unit_test(dispatches), cmocka_unit_test(images),
                                     cmocka_unit_test(made_meanwhile), cmocka_unit_test(abandoned_half_way)};
  return cmocka_run_group_tests_name("Vulkan: open tasks", tests, NULL, NULL);
}
