// SPDX-License-Identifier: Apache-2.0
//
// kp::Manager and what a Weir context does for it: devices, queues, lifetimes, messages.
#include "gate.h"
#include "kompute.h"

static void default_device_is_the_first(void **state) {
  (void)state;
  weir_device *device = weir_context_device(context, 0);
  weir_vulkan_description description;
  good(weir_vulkan_device_describe(0, &description));
  assert_string_equal(weir_device_information(device)->kind, "vulkan");
  assert_non_null(strstr(weir_device_information(device)->description, description.name));
}

static void device_by_index(void **state) {
  (void)state;
  weir_context *other;
  good(weir_context_create(&(weir_context_options){.devices = "vulkan:0"}, &other));
  assert_int_equal(weir_context_device_count(other), 1);
  assert_string_equal(weir_device_information(weir_context_device(other, 0))->name, "vulkan:0");
  weir_context_release(other);
  refused(weir_context_create(&(weir_context_options){.devices = "vulkan:999"}, &other), WEIR_ERROR_UNAVAILABLE,
          "vulkan:999");
  assert_null(other);
}

static void devices_are_listed(void **state) {
  (void)state;
  uint32_t count = 0;
  good(weir_vulkan_device_count(&count));
  assert_true(count > 0);
  for (uint32_t i = 0; i < count; i++) {
    weir_vulkan_description description;
    good(weir_vulkan_device_describe(i, &description));
    assert_true(description.name[0] != '\0');
    assert_true(description.version[0] >= 1);
    assert_true(!description.usable || (description.group_threads >= 128 && description.push_bytes >= 128));
    assert_true(description.usable || description.reason[0] != '\0');
  }
  weir_vulkan_description none;
  refused(weir_vulkan_device_describe(count, &none), WEIR_ERROR_INVALID_ARGUMENT, "");
}

static void queue_families_are_found(void **state) {
  (void)state;
  weir_vulkan_description description;
  good(weir_vulkan_device_describe(0, &description));
  uint32_t computing = 0;
  for (uint32_t i = 0; i < description.family_count; i++)
    if (description.families[i].compute) computing += description.families[i].queues;
  assert_true(computing > 0);
  assert_true(weir_device_information(weir_context_device(context, 0))->queues > 0);
}

static void queues_are_limited(void **state) {
  (void)state;
  weir_context *other;
  good(weir_context_create(&(weir_context_options){.devices = "vulkan", .queues = 1}, &other));
  assert_int_equal(weir_device_information(weir_context_device(other, 0))->queues, 1);
  weir_context_release(other);
}

// Nothing of what is made in a context must be released before it is, and tasks in flight are waited for.
static void releasing_a_context_releases_all(void **state) {
  (void)state;
  weir_context *kept = context;
  uint32_t numbers[COUNT];
  good(weir_context_create(&(weir_context_options){.devices = "vulkan"}, &context));
  weir_buffer *buffer = make_numbers(3);
  weir_graph *sequence = make_sequence();
  record_scale(sequence, make_scale(2), buffer, 1);
  good(weir_graph_launch(sequence, NULL));
  good(weir_copy_out(buffer, 0, WEIR_WHOLE, numbers, NULL));
  weir_context_release(context);
  for (uint32_t i = 0; i < COUNT; i++) assert_int_equal(numbers[i], (3 + i) * 2 + 1);
  context = kept;
}

// Released while they are in use: what was launched goes on, and whoever names them later is told.
static void objects_are_released_one_by_one(void **state) {
  (void)state;
  gate door = {0};
  uint32_t numbers[COUNT];
  weir_buffer *buffer = make_numbers(5);
  weir_kernel *scale = make_scale(3);
  weir_graph *sequence = make_sequence();
  record_scale(sequence, scale, buffer, 1);
  weir_event *event;
  const weir_arg held = weir_updates(buffer);
  good(gate_submit(context, &door, &held, 1, NULL));
  good(weir_graph_launch(sequence, NULL));
  good(weir_copy_out(buffer, 0, WEIR_WHOLE, numbers, &event));
  good(weir_graph_release(sequence));
  good(weir_kernel_release(scale));
  good(weir_buffer_release(buffer));
  refused(weir_copy_out(buffer, 0, WEIR_WHOLE, numbers, NULL), WEIR_ERROR_RELEASED, "released");
  gate_open(&door);
  good(weir_event_wait(event, WEIR_FOREVER));
  weir_event_release(event);
  for (uint32_t i = 0; i < COUNT; i++) assert_int_equal(numbers[i], (5 + i) * 3 + 1);
}

static void failed_creation_gives_nothing(void **state) {
  (void)state;
  weir_buffer *buffer;
  refused(weir_buffer_create(context, 0, &buffer), WEIR_ERROR_INVALID_ARGUMENT, "");
  assert_null(buffer);
  weir_context *other;
  refused(weir_context_create(&(weir_context_options){.devices = "vulcan"}, &other), WEIR_ERROR_INVALID_ARGUMENT,
          "vulcan");
  assert_null(other);
}

// What Kompute writes to a log, the failing call says.
static void messages_say_what_is_wrong(void **state) {
  (void)state;
  weir_buffer *buffer = make_numbers(1);
  good(weir_buffer_set_label(buffer, "prices"));
  uint32_t number = 0;
  refused(weir_copy_out(buffer, BYTES, 4, &number, NULL), WEIR_ERROR_OUT_OF_RANGE, "prices");
  refused(weir_copy_out(buffer, BYTES, 4, &number, NULL), WEIR_ERROR_OUT_OF_RANGE, "1024");
  assert_string_equal(weir_status_name(WEIR_ERROR_OUT_OF_RANGE), "WEIR_ERROR_OUT_OF_RANGE");
}

static void note_vulkan(void *user, const char *kind, bool available, const char *text) {
  (void)text;
  if (strcmp(kind, "vulkan") == 0) *(bool *)user = available;
}

static void kinds_of_devices_are_probed(void **state) {
  (void)state;
  bool available = false;
  weir_probe(note_vulkan, &available);
  assert_true(available);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      KOMPUTE_TEST(default_device_is_the_first),
      KOMPUTE_TEST(device_by_index),
      KOMPUTE_TEST(devices_are_listed),
      KOMPUTE_TEST(queue_families_are_found),
      KOMPUTE_TEST(queues_are_limited),
      KOMPUTE_TEST(releasing_a_context_releases_all),
      KOMPUTE_TEST(objects_are_released_one_by_one),
      KOMPUTE_TEST(failed_creation_gives_nothing),
      KOMPUTE_TEST(messages_say_what_is_wrong),
      KOMPUTE_TEST(kinds_of_devices_are_probed),
  };
  kompute_skip_without_device();
  return cmocka_run_group_tests(tests, NULL, NULL);
}
