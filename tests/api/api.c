// SPDX-License-Identifier: Apache-2.0
#include "api.h"

#include <string.h>

weir_context *api_context(const char *devices, uint32_t window, uint32_t flags) {
  weir_context_options options = {.devices = devices, .window = window, .flags = flags};
  weir_context *context = NULL;
  weir_status status = weir_context_create(&options, &context);
  if (status != WEIR_OK) fail_msg("context on %s: %s", devices, weir_last_error());
  assert_non_null(context);
  return context;
}

weir_buffer *api_buffer(weir_context *context, uint64_t bytes, const char *label) {
  weir_buffer *buffer = NULL;
  if (weir_buffer_create(context, bytes, &buffer) != WEIR_OK) fail_msg("buffer: %s", weir_last_error());
  assert_non_null(buffer);
  if (label != NULL) assert_int_equal(weir_buffer_set_label(buffer, label), WEIR_OK);
  return buffer;
}

weir_kernel *api_kernel(weir_context *context, const char *name, weir_function function) {
  weir_kernel *kernel = NULL;
  if (weir_kernel_create(context, name, &kernel) != WEIR_OK) fail_msg("kernel: %s", weir_last_error());
  assert_non_null(kernel);
  if (function != NULL) assert_int_equal(weir_kernel_set_cpu(kernel, function), WEIR_OK);
  return kernel;
}

weir_buffer *api_number(weir_context *context, uint64_t value) {
  weir_buffer *buffer = api_buffer(context, sizeof value, NULL);
  weir_event *event = NULL;
  assert_int_equal(weir_copy_in(buffer, 0, sizeof value, &value, &event), WEIR_OK);
  assert_int_equal(api_await(event), WEIR_OK);
  return buffer;
}

static weir_event *submit(weir_context *context, const weir_task *task) {
  weir_event *event = NULL;
  if (weir_submit(context, task, &event) != WEIR_OK) fail_msg("submit: %s", weir_last_error());
  assert_non_null(event);
  return event;
}

weir_event *api_submit(weir_context *context, weir_kernel *kernel, const weir_arg *args, uint32_t arg_count) {
  weir_task task = {.kernel = kernel, .args = args, .arg_count = arg_count};
  return submit(context, &task);
}

weir_event *api_submit_host(weir_context *context, weir_function host, void *user, const weir_arg *args,
                            uint32_t arg_count) {
  weir_task task = {.host = host, .user = user, .args = args, .arg_count = arg_count};
  return submit(context, &task);
}

weir_status api_read(weir_buffer *buffer, uint64_t offset, uint64_t bytes, void *destination) {
  weir_event *event = NULL;
  weir_status status = weir_copy_out(buffer, offset, bytes, destination, &event);
  return status == WEIR_OK ? api_await(event) : status;
}

uint64_t api_read_number(weir_buffer *buffer) {
  uint64_t value = 0;
  assert_int_equal(api_read(buffer, 0, sizeof value, &value), WEIR_OK);
  return value;
}

weir_status api_await(weir_event *event) {
  weir_status status = weir_event_wait(event, WEIR_FOREVER);
  weir_event_release(event);
  return status;
}

void api_expect(weir_status found, weir_status wanted, ...) {
  if (found != wanted)
    fail_msg("%s, not %s; last error: %s", weir_status_name(found), weir_status_name(wanted), weir_last_error());
  va_list list;
  va_start(list, wanted);
  for (const char *text; (text = va_arg(list, const char *)) != NULL;) {
    if (strstr(weir_last_error(), text) == NULL) fail_msg("\"%s\" does not say \"%s\"", weir_last_error(), text);
  }
  va_end(list);
}

void api_add(const weir_work *work) {
  uint64_t *sum = work->args[1];
  *sum += *(const uint64_t *)work->args[0];
}

void api_fail(const weir_work *work) {
  weir_work_fail(work, "on purpose");
}

void api_nothing(const weir_work *work) {
  (void)work;
}

void api_set_flag(const weir_work *work) {
  atomic_store((atomic_bool *)work->user, true);
}
