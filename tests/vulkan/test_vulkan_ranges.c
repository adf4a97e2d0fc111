// SPDX-License-Identifier: Apache-2.0
//
// Parts of one buffer in the memories of two Vulkan devices, and of a CUDA device on the driver of ../cuda/stub/ and a Vulkan
// device: what goes between them goes by way of the host, and only what is missing.
#include <string.h>

#include "rig.h"
#include "scale.spv.h"
#include "share.h"
#include "weir/vulkan.h"

enum { COUNT = 1024, HALF = COUNT / 2, ROW = 64, WORD = 4, BYTES = COUNT * WORD };

static weir_kernel *make_scale(weir_context *context) {
  weir_kernel *scale; // numbers = 2 * numbers + add
  weir_vulkan_constant size = {.id = 0, .bytes = 4, .u32 = 64};
  share_ok(weir_kernel_create(context, "scale", &scale));
  share_ok(weir_kernel_set_vulkan(scale, &(weir_vulkan_code){scale_spv, sizeof scale_spv},
                                  &(weir_vulkan_launch){.constants = &size, .constant_count = 1}, 1));
  return scale;
}

static void submit_scale(weir_context *context, weir_kernel *scale, weir_device *device, weir_buffer *buffer,
                         uint32_t first, uint32_t count, uint32_t add, weir_event **out_event) {
  weir_arg args[] = {weir_updates_range(buffer, first * WORD, count * WORD), weir_value(&add, 4),
                     weir_value(&count, 4)};
  weir_task task = {
      .kernel = scale, .device = device, .args = args, .arg_count = 3, .groups = {(count + 63) / 64, 1, 1}};
  share_ok(weir_submit(context, &task, out_event));
}

static uint64_t moved(weir_context *context) {
  weir_statistics statistics;
  weir_context_statistics(context, &statistics);
  return statistics.transfer_bytes;
}

// Each device has half of the rows and updates a row of its neighbour's, too.
static void halves_with_halos(void **state) {
  (void)state;
  weir_context *context;
  weir_buffer *buffer;
  weir_event *event;
  uint32_t numbers[COUNT], wanted[COUNT];
  share_ok(weir_context_create(&(weir_context_options){.devices = "vulkan:0,vulkan:0"}, &context));
  weir_device *left = weir_context_device(context, 0), *right = weir_context_device(context, 1);
  weir_kernel *scale = make_scale(context);
  share_ok(weir_buffer_create(context, BYTES, &buffer));
  for (uint32_t i = 0; i < COUNT; i++) wanted[i] = i;
  share_ok(weir_copy_in(buffer, 0, BYTES, wanted, &event));
  share_ok(share_await(event));
  uint64_t before = moved(context);
  submit_scale(context, scale, right, buffer, HALF, HALF, 1, NULL);
  for (uint32_t i = HALF; i < COUNT; i++) wanted[i] = 2 * wanted[i] + 1;
  assert_int_equal(moved(context) - before, 2 * HALF * WORD); // to the host, and on
  before = moved(context);
  submit_scale(context, scale, left, buffer, 0, HALF, 2, NULL);
  for (uint32_t i = 0; i < HALF; i++) wanted[i] = 2 * wanted[i] + 2;
  assert_int_equal(moved(context), before);
  for (uint32_t round = 0; round < 8; round++) {
    submit_scale(context, scale, left, buffer, 0, HALF + ROW, 3, NULL);
    for (uint32_t i = 0; i < HALF + ROW; i++) wanted[i] = 2 * wanted[i] + 3;
    submit_scale(context, scale, right, buffer, HALF - ROW, HALF + ROW, 4, NULL);
    for (uint32_t i = HALF - ROW; i < COUNT; i++) wanted[i] = 2 * wanted[i] + 4;
    uint32_t rows = round == 0 ? 3 : 4; // at first only one is missing on the left
    assert_int_equal(moved(context) - before, rows * ROW * WORD * 2);
    before = moved(context);
  }
  share_ok(weir_copy_out(buffer, 0, BYTES, numbers, &event));
  share_ok(share_await(event));
  assert_memory_equal(numbers, wanted, sizeof numbers);
  assert_int_equal(moved(context) - before, BYTES);
  share_ok(weir_finish(context));
  weir_context_release(context);
}

// A device is lost while what only it has goes to another one, by way of the host: it arrives, or who reads it is told. The
// other half stays.
static void lost_on_the_way(share *s) {
  weir_kernel *scale = make_scale(s->context);
  weir_buffer *buffer = share_buffer(s, COUNT), *victim = share_buffer(s, COUNT);
  uint32_t numbers[COUNT], zeros[HALF] = {0};
  weir_event *event, *broken;
  share_submit(s, s->set, s->cuda, buffer, HALF, 5, NULL);
  share_ok(weir_copy_in(buffer, HALF * WORD, sizeof zeros, zeros, &event));
  share_ok(share_await(event));
  submit_scale(s->context, scale, s->second, buffer, HALF, HALF, 9, &event);
  share_ok(share_await(event));
  share_submit(s, s->broken, s->cuda, victim, COUNT, 0, &broken);
  submit_scale(s->context, scale, s->second, buffer, 0, HALF, 1, &event);
  weir_status status = share_await(event);
  assert_int_equal(share_await(broken), WEIR_ERROR_DEVICE_LOST);
  if (status == WEIR_OK) {
    share_ok(weir_copy_out(buffer, 0, HALF * WORD, numbers, &event));
    share_ok(share_await(event));
    for (uint32_t i = 0; i < HALF; i++) assert_int_equal(numbers[i], 2 * (5 + i) + 1);
  } else if (status != WEIR_ERROR_UPSTREAM_FAILED) {
    assert_int_equal(status, WEIR_ERROR_DEVICE_LOST);
  }
  submit_scale(s->context, scale, s->second, buffer, HALF, HALF, 1, &event);
  share_ok(share_await(event));
  (void)weir_finish(s->context);
  share_ok(weir_copy_out(buffer, HALF * WORD, HALF * WORD, numbers, &event));
  share_ok(share_await(event));
  for (uint32_t i = 0; i < HALF; i++) assert_int_equal(numbers[i], 19);
}

static void lost_between_drivers(void **state) {
  (void)state;
  share_run("cuda,vulkan", lost_on_the_way);
}

int main(void) {
  rig_skip_without_device();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(halves_with_halos),
      cmocka_unit_test(lost_between_drivers),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
