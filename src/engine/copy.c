// SPDX-License-Identifier: Apache-2.0
//
// Copies and fills. A copy is a task like any other: a host task where all is in the host's memory; else a
// move by the device that has the buffer, through a buffer on the host where the device cannot reach the caller's memory.
#include <string.h>

#include "base/error.h"
#include "device/graph.h"
#include "engine/admit.h"
#include "engine/buffer.h"
#include "engine/check.h"
#include "engine/copier.h"
#include "engine/copy.h"
#include "engine/family.h"
#include "engine/pressure.h"
#include "engine/queue.h"
#include "engine/reduce.h"
#include "engine/room.h"
#include "engine/submit.h"
#include "engine/transfer.h"

static weir_arg range(weir_mode mode, weir_buffer *buffer, uint64_t offset, uint64_t bytes) {
  return (weir_arg){.mode = mode, .buffer = buffer, .offset = offset, .bytes = bytes};
}

static weir_arg value(const void *address, uint64_t bytes) {
  return (weir_arg){.mode = WEIR_VALUE, .value = address, .bytes = bytes};
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

static void run_fill(const weir_work *work) {
  uint64_t bytes;
  memcpy(&bytes, work->args[2], sizeof bytes);
  weir__fill_bytes(work->args[0], bytes, work->args[1]);
}

// Submits a copy as a host task.
static weir_status submit_copy(const weir__submission *by, weir_buffer *buffer, weir_function run, void *user,
                               const weir_arg *args, uint32_t arg_count, const char *label, weir_event **out_event) {
  weir_context *context = buffer->object.context;
  weir_task task = {.host = run,
                    .user = user,
                    .args = args,
                    .arg_count = arg_count,
                    .label = label,
                    .device = context->devices.copier};
  weir__submission submission = *by;
  submission.task = &task;
  submission.unchecked = true;
  weir__context_lock(context);
  weir_status status = weir__submit(context, &submission, out_event);
  weir__context_unlock(context);
  return status;
}

// A copy that a device makes: `to` and `from` are buffers with ranges, or NULL for memory of the caller's.
typedef struct device_copy {
  const weir__submission *by;
  const char *label;
  weir_buffer *to, *from;
  uint64_t to_offset, from_offset, bytes;
  void *to_memory;
  const void *from_memory;
  uint32_t to_space, from_space;
  weir_device *device;
  bool fill;
  uint32_t pattern;
} device_copy;

static weir_status check_range(const weir_context *context, const char *label, const weir_buffer *buffer,
                               uint64_t offset, uint64_t bytes) {
  weir_status status = weir__object_check(buffer, WEIR__KIND_BUFFER, context, label);
  if (status != WEIR_OK) return status;
  if (bytes == 0)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "%s: the range at byte %llu of buffer %llu '%s' is empty", label,
                       (unsigned long long)offset, (unsigned long long)buffer->id, buffer->label);
  if (offset >= buffer->bytes || bytes > buffer->bytes - offset)
    return weir__error(WEIR_ERROR_OUT_OF_RANGE,
                       "%s: %llu bytes from byte %llu on leave buffer %llu '%s', which has %llu bytes", label,
                       (unsigned long long)bytes, (unsigned long long)offset, (unsigned long long)buffer->id,
                       buffer->label, (unsigned long long)buffer->bytes);
  if (buffer->image && bytes != buffer->bytes)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT,
                       "%s: %llu bytes of buffer %llu '%s', which is an image of %llu bytes and copied whole", label,
                       (unsigned long long)bytes, (unsigned long long)buffer->id, buffer->label,
                       (unsigned long long)buffer->bytes);
  return WEIR_OK;
}

static weir_status check_copy(const weir_context *context, const device_copy *copy) {
  weir_status status = WEIR_OK;
  if (copy->to != NULL) status = check_range(context, copy->label, copy->to, copy->to_offset, copy->bytes);
  if (status == WEIR_OK && copy->from != NULL)
    status = check_range(context, copy->label, copy->from, copy->from_offset, copy->bytes);
  if (status == WEIR_OK && copy->to == copy->from && copy->to_offset < copy->from_offset + copy->bytes &&
      copy->from_offset < copy->to_offset + copy->bytes)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "%s: source and destination overlap in buffer %llu '%s'",
                       copy->label, (unsigned long long)copy->to->id, copy->to->label);
  return status;
}

static weir__admit_result enter_copy(weir_context *context, const device_copy *copy, weir_event **out_event,
                                     weir_status *out_status) {
  const weir_task named = {.label = copy->label};
  weir__submission submission = *copy->by;
  submission.task = &named;
  weir__access accesses[2];
  uint32_t count = 0, write_backs;
  if (copy->to != NULL)
    accesses[count++] = (weir__access){.buffer = copy->to,
                                       .lo = copy->to_offset,
                                       .hi = copy->to_offset + copy->bytes,
                                       .mode = WEIR_WRITE,
                                       .space = (uint8_t)copy->to_space};
  if (copy->from != NULL)
    accesses[count++] = (weir__access){.buffer = copy->from,
                                       .lo = copy->from_offset,
                                       .hi = copy->from_offset + copy->bytes,
                                       .mode = WEIR_READ,
                                       .space = (uint8_t)copy->from_space};
  *out_status = check_copy(context, copy);
  if (*out_status != WEIR_OK) return WEIR__REFUSED;
  if (weir__reduce_any(context)) {
    weir__admit_result combined = weir__reduce_combine_for(context, &submission, NULL, accesses, count, out_status);
    if (combined != WEIR__ADMITTED) return combined;
  }
  context->checks++;
  for (uint32_t i = 0; i < count; i++) weir__pin(context, accesses[i].buffer);
  if (context->devices.polls && !submission.queued) weir__context_poll(context);
  weir__admit_result result = weir__transfer_accesses(context, &submission, accesses, count, &write_backs, out_status);
  if (result == WEIR__ADMITTED) result = weir__await_room(context, &submission, write_backs + 1, out_status);
  if (result != WEIR__ADMITTED) return result;
  if (!weir__range_pool_reserve(&context->order.ranges, count + write_backs))
    return weir__no_memory(&submission, "arguments", out_status);
  weir__task *slot = weir__window_task(&context->host.window, context->host.window.next);
  weir__access *kept = (weir__access *)(void *)slot->payload;
  weir__move *move = (weir__move *)(void *)(kept + 2);
  memcpy(kept, accesses, sizeof accesses);
  *move = (weir__move){.destination = copy->to_memory,
                       .source = copy->from_memory,
                       .bytes = copy->bytes,
                       .destination_space = (uint8_t)copy->to_space,
                       .source_space = (uint8_t)copy->from_space,
                       .fill = copy->fill,
                       .pattern = copy->pattern};
  weir__request request = {.submission = &submission,
                           .task = &named,
                           .kind = WEIR__TASK_COPY,
                           .device = copy->device,
                           .accesses = kept,
                           .checked.access_count = count,
                           .fresh = context->order.fresh,
                           .checked.repeats = true,
                           .checked.needs_storage = UINT64_MAX,
                           .checked.ranged = true,
                           .move = move};
  result = weir__admit(context, &request, out_event, out_status);
  if (result == WEIR__ADMITTED && write_backs > 0)
    weir__write_back(context, kept, count, write_backs, false, out_event != NULL ? *out_event : NULL);
  return result;
}

static weir__admit_result enter_queued(weir_context *context, const weir__queued *queued, weir_status *out_status) {
  device_copy copy = *(const device_copy *)queued->more;
  copy.by = &queued->submission;
  weir_event *event = queued->event;
  return enter_copy(context, &copy, &event, out_status);
}

// A copy that has to wait, and must not.
static weir_status queue(weir_context *context, const device_copy *copy, weir_event **out_event) {
  weir_status status = check_copy(context, copy);
  if (status != WEIR_OK) return status;
  weir_arg args[2];
  weir_task task = {.args = args, .label = copy->label};
  if (copy->to != NULL) args[task.arg_count++] = range(WEIR_WRITE, copy->to, copy->to_offset, copy->bytes);
  if (copy->from != NULL) args[task.arg_count++] = range(WEIR_READ, copy->from, copy->from_offset, copy->bytes);
  weir__submission submission = *copy->by;
  submission.task = &task;
  return weir__queue_add(context, &submission, enter_queued, NULL, copy, sizeof *copy, out_event);
}

// A task or callback submits the copy.
static __attribute__((noinline)) weir__admit_result enter_in_family(weir_context *context, const device_copy *copy,
                                                                    weir_event **out_event, weir_status *out_status) {
  weir__family family;
  *out_status = weir__family_find(context, NULL, &family);
  weir_event *own = NULL;
  if (out_event == NULL) out_event = &own;
  weir__submission by = *copy->by;
  by.family = &family;
  device_copy related = *copy;
  related.by = &by;
  weir__admit_result result = enter_copy(context, &related, out_event, out_status);
  if (result == WEIR__LATER) *out_status = queue(context, &related, out_event);
  if (own != NULL) weir__event_drop(own);
  return result;
}

weir__admit_result weir__fill_once(weir_context *context, const weir__submission *by, weir_device *device,
                                   weir_buffer *buffer, uint32_t pattern, weir_status *out_status) {
  const device_copy fill = {.by = by,
                            .label = "identity",
                            .to = buffer,
                            .bytes = buffer->bytes,
                            .to_space = device->space,
                            .from_space = device->space,
                            .device = device,
                            .fill = true,
                            .pattern = pattern};
  return enter_copy(context, &fill, NULL, out_status);
}

static weir_status submit_device_copy(weir_context *context, const device_copy *copy, weir_event **out_event) {
  weir_status status;
  weir__admit_result result;
  weir__context_lock(context);
  do {
    result = weir__this_thread.in_task ? enter_in_family(context, copy, out_event, &status)
                                       : enter_copy(context, copy, out_event, &status);
  } while (result == WEIR__RETRY);
  weir__context_unlock(context);
  return status;
}

static uint64_t resolve(const weir_buffer *buffer, uint64_t offset, uint64_t bytes) {
  return bytes == WEIR_WHOLE && offset <= buffer->bytes ? buffer->bytes - offset : bytes;
}

static weir_status copy_in_on_host(const weir__submission *by, weir_buffer *buffer, uint64_t offset, uint64_t bytes,
                                   const void *source, weir_event **out_event) {
  weir_arg args[] = {range(WEIR_WRITE, buffer, offset, bytes), value(&bytes, sizeof bytes)};
  return submit_copy(by, buffer, run_copy_in, (void *)(uintptr_t)source, args, 2, "copy in", out_event);
}

static weir_status copy_out_on_host(const weir__submission *by, weir_buffer *buffer, uint64_t offset, uint64_t bytes,
                                    void *destination, weir_event **out_event) {
  weir_arg args[] = {range(WEIR_READ, buffer, offset, bytes), value(&bytes, sizeof bytes)};
  return submit_copy(by, buffer, run_copy_out, destination, args, 2, "copy out", out_event);
}

weir_status weir__copy_in(const weir__submission *by, weir_buffer *buffer, uint64_t offset, uint64_t bytes,
                          const void *source, weir_event **out_event) {
  if (out_event != NULL) *out_event = NULL;
  weir_status status = weir__object_check(buffer, WEIR__KIND_BUFFER, NULL, "copy in");
  if (status != WEIR_OK) return status;
  if (source == NULL) return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "copy in: the source is NULL");
  bytes = resolve(buffer, offset, bytes);
  weir_context *context = buffer->object.context;
  weir_device *device = weir__copier_of(by, context, buffer, offset, bytes, false);
  if (device == NULL) return copy_in_on_host(by, buffer, offset, bytes, source, out_event);
  device_copy copy = {.by = by,
                      .label = "copy in",
                      .to = buffer,
                      .to_offset = offset,
                      .bytes = bytes,
                      .from_memory = source,
                      .to_space = device->space,
                      .device = device};
  if (device->ops->memory->can_access_host(device, source, bytes, false))
    return submit_device_copy(context, &copy, out_event);
  status = check_range(context, "copy in", buffer, offset, bytes);
  if (status == WEIR_OK) status = weir__buffer_make(context, "copy in", bytes, &copy.from);
  if (status != WEIR_OK) return status;
  status = copy_in_on_host(by, copy.from, 0, bytes, source, NULL);
  if (status == WEIR_OK) status = submit_device_copy(context, &copy, out_event);
  weir__buffer_release(copy.from);
  return status;
}

// The first half of a copy by way of a buffer on the host. Whoever is to hear of a failure hears of the second half's;
// who asks for the event of this one learns more.
static weir_status submit_first_half(weir_context *context, device_copy *copy, weir_event **out_first) {
  static const weir__completion_target silent = {.reported = false};
  weir__submission by = *copy->by;
  if (by.target == NULL || by.target->reported) return submit_device_copy(context, copy, NULL);
  weir_event *event = NULL;
  by.target = &silent;
  copy->by = &by;
  weir_status status = submit_device_copy(context, copy, &event);
  if (out_first != NULL) *out_first = event;
  if (event == NULL || out_first != NULL) return status;
  weir__context_lock_again(context);
  weir__event_drop(event);
  weir__context_unlock(context);
  return status;
}

weir_status weir__copy_out(const weir__submission *by, weir_buffer *buffer, uint64_t offset, uint64_t bytes,
                           void *destination, weir_event **out_event) {
  return weir__copy_out_in_halves(by, buffer, offset, bytes, destination, NULL, out_event);
}

weir_status weir__copy_out_in_halves(const weir__submission *by, weir_buffer *buffer, uint64_t offset, uint64_t bytes,
                                     void *destination, weir_event **out_first, weir_event **out_event) {
  if (out_first != NULL) *out_first = NULL;
  if (out_event != NULL) *out_event = NULL;
  weir_status status = weir__object_check(buffer, WEIR__KIND_BUFFER, NULL, "copy out");
  if (status != WEIR_OK) return status;
  if (destination == NULL) return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "copy out: the destination is NULL");
  bytes = resolve(buffer, offset, bytes);
  weir_context *context = buffer->object.context;
  weir_device *device = weir__copier_of(by, context, buffer, offset, bytes, true);
  if (device == NULL) return copy_out_on_host(by, buffer, offset, bytes, destination, out_event);
  device_copy copy = {.by = by,
                      .label = "copy out",
                      .from = buffer,
                      .from_offset = offset,
                      .bytes = bytes,
                      .to_memory = destination,
                      .from_space = device->space,
                      .device = device};
  if (device->ops->memory->can_access_host(device, destination, bytes, true))
    return submit_device_copy(context, &copy, out_event);
  status = check_range(context, "copy out", buffer, offset, bytes);
  if (status == WEIR_OK) status = weir__buffer_make(context, "copy out", bytes, &copy.to);
  if (status != WEIR_OK) return status;
  status = submit_first_half(context, &copy, out_first);
  if (status == WEIR_OK) status = copy_out_on_host(by, copy.to, 0, bytes, destination, out_event);
  weir__buffer_release(copy.to);
  return status;
}

weir_status weir__copy(const weir__submission *by, weir_buffer *destination, uint64_t destination_offset,
                       weir_buffer *source, uint64_t source_offset, uint64_t bytes, weir_event **out_event) {
  if (out_event != NULL) *out_event = NULL;
  weir_status status = weir__object_check(source, WEIR__KIND_BUFFER, NULL, "copy");
  if (status != WEIR_OK) return status;
  weir_context *context = source->object.context;
  status = weir__object_check(destination, WEIR__KIND_BUFFER, context, "copy");
  if (status != WEIR_OK) return status;
  bytes = resolve(source, source_offset, bytes);
  weir_device *device = weir__copier_of(by, context, source, source_offset, bytes, true);
  if (device != NULL && weir__copier_can(device, destination, destination_offset, source, source_offset, 0)) {
    device_copy copy = {.by = by,
                        .label = "copy",
                        .to = destination,
                        .to_offset = destination_offset,
                        .from = source,
                        .from_offset = source_offset,
                        .bytes = bytes,
                        .to_space = device->space,
                        .from_space = device->space,
                        .device = device};
    return submit_device_copy(context, &copy, out_event);
  }
  weir_arg args[] = {range(WEIR_WRITE, destination, destination_offset, bytes),
                     range(WEIR_READ, source, source_offset, bytes), value(&bytes, sizeof bytes)};
  return submit_copy(by, destination, run_copy, NULL, args, 3, "copy", out_event);
}

weir_status weir__check_fill(const weir_buffer *buffer, uint64_t offset, uint64_t bytes, const char *what) {
  if (offset % sizeof(uint32_t) == 0 && (bytes % sizeof(uint32_t) == 0 || bytes == WEIR_WHOLE)) return WEIR_OK;
  return weir__error(
      WEIR_ERROR_INVALID_ARGUMENT, "%s: %llu bytes from byte %llu on of buffer %llu '%s' are no multiples of 4", what,
      (unsigned long long)bytes, (unsigned long long)offset, (unsigned long long)buffer->id, buffer->label);
}

weir_status weir__fill(const weir__submission *by, weir_buffer *buffer, uint64_t offset, uint64_t bytes,
                       uint32_t pattern, weir_event **out_event) {
  if (out_event != NULL) *out_event = NULL;
  weir_status status = weir__object_check(buffer, WEIR__KIND_BUFFER, NULL, "fill");
  if (status != WEIR_OK) return status;
  bytes = resolve(buffer, offset, bytes);
  status = weir__check_fill(buffer, offset, bytes, "fill");
  if (status != WEIR_OK) return status;
  weir_context *context = buffer->object.context;
  weir_device *device = weir__copier_of(by, context, buffer, offset, bytes, false);
  if (device != NULL && weir__copier_can(device, buffer, offset, NULL, 0, pattern)) {
    device_copy fill = {.by = by,
                        .label = "fill",
                        .to = buffer,
                        .to_offset = offset,
                        .bytes = bytes,
                        .to_space = device->space,
                        .from_space = device->space,
                        .device = device,
                        .fill = true,
                        .pattern = pattern};
    return submit_device_copy(context, &fill, out_event);
  }
  weir_arg args[] = {range(WEIR_WRITE, buffer, offset, bytes), value(&pattern, sizeof pattern),
                     value(&bytes, sizeof bytes)};
  return submit_copy(by, buffer, run_fill, NULL, args, 3, "fill", out_event);
}
