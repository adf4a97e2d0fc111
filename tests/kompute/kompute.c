// SPDX-License-Identifier: Apache-2.0
#include "kompute.h"

#include <stdlib.h>

#include "scale.spv.h"

weir_context *context;

int kompute_create(void **state) {
  (void)state;
  good(weir_context_create(&(weir_context_options){.devices = "vulkan,cpu:1", .window = 64}, &context));
  return 0;
}

int kompute_destroy(void **state) {
  (void)state;
  weir_context_release(context);
  return 0;
}

void kompute_skip_without_device(void) {
  uint32_t count;
  if (weir_vulkan_device_count(&count) == WEIR_OK) return;
  printf("skipped: %s\n", weir_last_error());
  exit(77);
}

void good(weir_status status) {
  if (status != WEIR_OK) fail_msg("%s: %s", weir_status_name(status), weir_last_error());
}

void refused(weir_status status, weir_status wanted, const char *text) {
  assert_string_equal(weir_status_name(status), weir_status_name(wanted));
  if (strstr(weir_last_error(), text) == NULL) fail_msg("\"%s\" does not say \"%s\"", weir_last_error(), text);
}

weir_kernel *make_kernel(const char *name, const weir_vulkan_code *code, const weir_vulkan_constant *constants,
                         uint32_t count) {
  weir_kernel *kernel;
  good(weir_kernel_create(context, name, &kernel));
  const weir_vulkan_launch launch = {.constants = constants, .constant_count = count};
  good(weir_kernel_set_vulkan(kernel, code, &launch, 1));
  return kernel;
}

weir_kernel *make_scale(uint32_t factor) {
  const weir_vulkan_constant constants[] = {{.id = 0, .bytes = 4, .u32 = 32}, {.id = 1, .bytes = 4, .u32 = factor}};
  return make_kernel("scale", CODE(scale), constants, 2);
}

weir_buffer *make_numbers(uint32_t first) {
  uint32_t numbers[COUNT];
  for (uint32_t i = 0; i < COUNT; i++) numbers[i] = first + i;
  weir_buffer *buffer;
  weir_event *event;
  good(weir_buffer_create(context, BYTES, &buffer));
  good(weir_copy_in(buffer, 0, WEIR_WHOLE, numbers, &event));
  good(weir_event_wait(event, WEIR_FOREVER));
  weir_event_release(event);
  return buffer;
}

weir_graph *make_sequence_with(const weir_graph_options *options) {
  weir_graph *sequence;
  good(weir_graph_create(context, options, &sequence));
  return sequence;
}

weir_graph *make_sequence(void) {
  return make_sequence_with(NULL);
}

uint32_t record_scale(weir_graph *sequence, weir_kernel *scale, weir_buffer *numbers, uint32_t add) {
  const weir_arg args[] = {weir_updates(numbers), weir_value(&add, sizeof add)};
  const weir_task task = {.kernel = scale, .args = args, .arg_count = 2, .groups = {COUNT / 32}};
  uint32_t node;
  good(weir_graph_add(sequence, &task, &node));
  return node;
}

void read_numbers(weir_buffer *buffer, uint32_t *numbers) {
  weir_event *event;
  good(weir_copy_out(buffer, 0, WEIR_WHOLE, numbers, &event));
  good(weir_event_wait(event, WEIR_FOREVER));
  weir_event_release(event);
}

void expect_numbers(weir_buffer *buffer, uint32_t first, uint32_t factor, uint32_t add) {
  uint32_t numbers[COUNT];
  read_numbers(buffer, numbers);
  for (uint32_t i = 0; i < COUNT; i++) {
    const uint32_t wanted = (first + i) * factor + add;
    if (numbers[i] != wanted) fail_msg("number %u is %u, not %u", i, numbers[i], wanted);
  }
}
