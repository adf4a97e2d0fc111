// SPDX-License-Identifier: Apache-2.0
//
// Arguments in short, and copies, which are host tasks like any other.
#include <string.h>

#include "api/context.h"
#include "base/error.h"

weir_arg weir_reads_range(weir_buffer *buffer, uint64_t offset, uint64_t bytes) {
  return (weir_arg){.mode = WEIR_READ, .buffer = buffer, .offset = offset, .bytes = bytes};
}

weir_arg weir_writes_range(weir_buffer *buffer, uint64_t offset, uint64_t bytes) {
  return (weir_arg){.mode = WEIR_WRITE, .buffer = buffer, .offset = offset, .bytes = bytes};
}

weir_arg weir_updates_range(weir_buffer *buffer, uint64_t offset, uint64_t bytes) {
  return (weir_arg){.mode = WEIR_READ_WRITE, .buffer = buffer, .offset = offset, .bytes = bytes};
}

weir_arg weir_reads(weir_buffer *buffer) {
  return weir_reads_range(buffer, 0, WEIR_WHOLE);
}

weir_arg weir_writes(weir_buffer *buffer) {
  return weir_writes_range(buffer, 0, WEIR_WHOLE);
}

weir_arg weir_updates(weir_buffer *buffer) {
  return weir_updates_range(buffer, 0, WEIR_WHOLE);
}

weir_arg weir_value(const void *value, uint64_t bytes) {
  return (weir_arg){.mode = WEIR_VALUE, .value = value, .bytes = bytes};
}

static void run_copy_in(const weir_work *work) {
  uint64_t bytes;
  memcpy(&bytes, work->args[1], sizeof bytes);
  memcpy(work->args[0], work->user, bytes);
}

static void run_copy_out(const weir_work *work) {
  uint64_t bytes;
  memcpy(&bytes, work->args[1], sizeof bytes);
  memcpy(work->user, work->args[0], bytes);
}

static void run_copy(const weir_work *work) {
  uint64_t bytes;
  memcpy(&bytes, work->args[2], sizeof bytes);
  memcpy(work->args[0], work->args[1], bytes);
}

// Submits a copy on the CPU, or, in a context without one, on its first device that runs host tasks.
static weir_status submit_copy(weir_buffer *buffer, weir_function run, void *user, const weir_arg *args,
                               uint32_t arg_count, const char *label, weir_event **out_event) {
  if (out_event != NULL) *out_event = NULL;
  weir_status status = weir__object_check(buffer, WEIR__KIND_BUFFER, NULL, label);
  if (status != WEIR_OK) return status;
  weir_context *context = buffer->object.context;
  weir_task task = {.host = run, .user = user, .args = args, .arg_count = arg_count, .label = label};
  for (uint32_t i = 0; context->cpu == NULL && task.device == NULL && i < context->device_count; i++) {
    if (context->devices[i]->ops->has_code(context->devices[i], NULL)) task.device = context->devices[i];
  }
  return weir_submit(context, &task, out_event);
}

static uint64_t resolve(const weir_buffer *buffer, uint64_t offset, uint64_t bytes) {
  return bytes == WEIR_WHOLE && offset <= buffer->bytes ? buffer->bytes - offset : bytes;
}

weir_status weir_copy_in(weir_buffer *buffer, uint64_t offset, uint64_t bytes, const void *source,
                         weir_event **out_event) {
  if (out_event != NULL) *out_event = NULL;
  weir_status status = weir__object_check(buffer, WEIR__KIND_BUFFER, NULL, "copy in");
  if (status != WEIR_OK) return status;
  if (source == NULL) return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "copy in: the source is NULL");
  bytes = resolve(buffer, offset, bytes);
  weir_arg args[] = {weir_writes_range(buffer, offset, bytes), weir_value(&bytes, sizeof bytes)};
  return submit_copy(buffer, run_copy_in, (void *)(uintptr_t)source, args, 2, "copy in", out_event);
}

weir_status weir_copy_out(weir_buffer *buffer, uint64_t offset, uint64_t bytes, void *destination,
                          weir_event **out_event) {
  if (out_event != NULL) *out_event = NULL;
  weir_status status = weir__object_check(buffer, WEIR__KIND_BUFFER, NULL, "copy out");
  if (status != WEIR_OK) return status;
  if (destination == NULL) return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "copy out: the destination is NULL");
  bytes = resolve(buffer, offset, bytes);
  weir_arg args[] = {weir_reads_range(buffer, offset, bytes), weir_value(&bytes, sizeof bytes)};
  return submit_copy(buffer, run_copy_out, destination, args, 2, "copy out", out_event);
}

weir_status weir_copy(weir_buffer *destination, uint64_t destination_offset, weir_buffer *source,
                      uint64_t source_offset, uint64_t bytes, weir_event **out_event) {
  if (out_event != NULL) *out_event = NULL;
  weir_status status = weir__object_check(source, WEIR__KIND_BUFFER, NULL, "copy");
  if (status != WEIR_OK) return status;
  bytes = resolve(source, source_offset, bytes);
  weir_arg args[] = {weir_writes_range(destination, destination_offset, bytes),
                     weir_reads_range(source, source_offset, bytes), weir_value(&bytes, sizeof bytes)};
  return submit_copy(destination, run_copy, NULL, args, 3, "copy", out_event);
}
