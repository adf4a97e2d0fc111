// SPDX-License-Identifier: Apache-2.0
//
// Arguments in short; copies and fills as the caller submits them.
#include "engine/copy.h"

#include <stdio.h>

#include "base/error.h"
#include "engine/process.h"

// Names all members, so that the first three are one store: submissions load them at once, which waits for two stores.
static inline weir_arg range_of(weir_mode mode, weir_buffer *buffer, uint64_t offset, uint64_t bytes) {
  return (weir_arg){.mode = mode,
                    .shape = WEIR_RANGE,
                    .reserved = 0,
                    .buffer = buffer,
                    .offset = offset,
                    .bytes = bytes,
                    .value = NULL};
}

weir_arg weir_reads_range(weir_buffer *buffer, uint64_t offset, uint64_t bytes) {
  return range_of(WEIR_READ, buffer, offset, bytes);
}

weir_arg weir_writes_range(weir_buffer *buffer, uint64_t offset, uint64_t bytes) {
  return range_of(WEIR_WRITE, buffer, offset, bytes);
}

weir_arg weir_updates_range(weir_buffer *buffer, uint64_t offset, uint64_t bytes) {
  return range_of(WEIR_READ_WRITE, buffer, offset, bytes);
}

weir_arg weir_reads(weir_buffer *buffer) {
  return range_of(WEIR_READ, buffer, 0, WEIR_WHOLE);
}

weir_arg weir_writes(weir_buffer *buffer) {
  return range_of(WEIR_WRITE, buffer, 0, WEIR_WHOLE);
}

weir_arg weir_updates(weir_buffer *buffer) {
  return range_of(WEIR_READ_WRITE, buffer, 0, WEIR_WHOLE);
}

weir_arg weir_auto(weir_buffer *buffer) {
  return (weir_arg){.mode = WEIR_AUTO, .buffer = buffer, .bytes = WEIR_WHOLE};
}

weir_arg weir_value(const void *value, uint64_t bytes) {
  return (weir_arg){.mode = WEIR_VALUE, .value = value, .bytes = bytes};
}

// Whose submission a copy from or to the buffer is: the caller's.
static weir_status find_submitter(const weir_buffer *buffer, const char *what, weir_event **out_event, uint64_t *ticket,
                                  weir__submission *out_by) {
  if (out_event != NULL) *out_event = NULL;
  weir_status status = weir__object_check(buffer, WEIR__KIND_BUFFER, NULL, what);
  if (status == WEIR_OK && weir__is_foreign(buffer->object.context)) return weir__refuse_foreign(what);
  if (status == WEIR_OK)
    *out_by =
        (weir__submission){.origin = weir__origin_of(buffer->object.context), .ticket = ticket, .may_queue = true};
  return status;
}

// The same of a copy from the buffer, about whose contents somebody else may know better. A range that leaves the buffer
// is refused later.
static weir_status find_reader(const weir_buffer *buffer, uint64_t offset, uint64_t bytes, const char *what,
                               weir_event **out_event, uint64_t *ticket, weir__submission *out_by) {
  weir_status status = find_submitter(buffer, what, out_event, ticket, out_by);
  if (status != WEIR_OK || !buffer->guarded || offset >= buffer->bytes) return status;
  uint64_t rest = buffer->bytes - offset;
  if (bytes == WEIR_WHOLE) bytes = rest;
  if (bytes == 0 || bytes > rest) return WEIR_OK;
  status = buffer->may_read(buffer->may_read_user, offset, bytes);
  if (status == WEIR_OK) return WEIR_OK;
  char prefix[16];
  snprintf(prefix, sizeof prefix, "%s: ", what);
  return weir__error_prefix(status, prefix);
}

weir_status weir_copy_in(weir_buffer *buffer, uint64_t offset, uint64_t bytes, const void *source,
                         weir_event **out_event) {
  uint64_t ticket = 0;
  weir__submission by;
  weir_status status = find_submitter(buffer, "copy in", out_event, &ticket, &by);
  return status == WEIR_OK ? weir__copy_in(&by, buffer, offset, bytes, source, out_event) : status;
}

weir_status weir_copy_out(weir_buffer *buffer, uint64_t offset, uint64_t bytes, void *destination,
                          weir_event **out_event) {
  uint64_t ticket = 0;
  weir__submission by;
  weir_status status = find_reader(buffer, offset, bytes, "copy out", out_event, &ticket, &by);
  return status == WEIR_OK ? weir__copy_out(&by, buffer, offset, bytes, destination, out_event) : status;
}

weir_status weir_read(weir_buffer *buffer, uint64_t offset, uint64_t bytes, void *destination) {
  if (weir__this_thread.in_task) return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "read: %s", weir__thread_place());
  uint64_t ticket = 0;
  weir__submission by;
  weir_event *event, *first = NULL;
  weir_status status = find_reader(buffer, offset, bytes, "read", &event, &ticket, &by);
  by.target = &(weir__completion_target){0}; // this call reports a failure, not weir_finish
  if (status == WEIR_OK) status = weir__copy_out_in_halves(&by, buffer, offset, bytes, destination, &first, &event);
  if (status != WEIR_OK) {
    weir_event_release(first);
    return status;
  }
  weir_context *context = event->object.context;
  uint64_t start_ns = weir__host_wait_begin(context);
  status = weir__event_await(event, WEIR_FOREVER);
  weir__host_wait_end(context, WEIR__TRACE_READ, event->task, true, start_ns);
  // Where the bytes did not come to the host, that is what failed.
  const weir_event *failed = event;
  weir_status brought =
      first != NULL ? (weir_status)atomic_load_explicit(&first->status, memory_order_acquire) : WEIR_OK;
  if (status == WEIR_ERROR_UPSTREAM_FAILED && brought != WEIR_OK && brought != WEIR_PENDING) {
    status = brought;
    failed = first;
  }
  if (status != WEIR_OK) weir__error(status, "read: %s", failed->message);
  weir_event_release(first);
  weir_event_release(event);
  return status;
}

weir_status weir_copy(weir_buffer *destination, uint64_t destination_offset, weir_buffer *source,
                      uint64_t source_offset, uint64_t bytes, weir_event **out_event) {
  uint64_t ticket = 0;
  weir__submission by;
  weir_status status = find_reader(source, source_offset, bytes, "copy", out_event, &ticket, &by);
  if (status != WEIR_OK) return status;
  return weir__copy(&by, destination, destination_offset, source, source_offset, bytes, out_event);
}

weir_status weir_fill(weir_buffer *buffer, uint64_t offset, uint64_t bytes, uint32_t pattern, weir_event **out_event) {
  uint64_t ticket = 0;
  weir__submission by;
  weir_status status = find_submitter(buffer, "fill", out_event, &ticket, &by);
  return status == WEIR_OK ? weir__fill(&by, buffer, offset, bytes, pattern, out_event) : status;
}
