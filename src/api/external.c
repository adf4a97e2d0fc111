// SPDX-License-Identifier: Apache-2.0
//
// Order with work outside Weir: events of the host, accesses to single buffers.
#include "weir/external.h"

#include <stdio.h>

#include "base/allocate.h"
#include "base/error.h"
#include "base/tsan.h"
#include "engine/check.h"
#include "engine/external.h"
#include "engine/fence.h"
#include "engine/follow.h"

static const char without_label[] = "a host event";

weir_status weir_host_event_create(weir_context *context, const char *label, weir_event **out_event) {
  if (out_event == NULL) return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "host event: out_event is NULL");
  *out_event = NULL;
  if (context == NULL) return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "host event: the context is NULL");
  char name[WEIR__EXTERNAL_NAME_BYTES];
  bool named = label != NULL && label[0] != '\0';
  snprintf(name, sizeof name, named ? "host event '%.47s'" : without_label, label);
  weir__context_lock_to_submit(context);
  weir__external *external = weir__external_create(context, name);
  if (external != NULL) *out_event = external->event;
  weir__context_unlock(context);
  return external != NULL ? WEIR_OK : weir__error(WEIR_ERROR_OUT_OF_MEMORY, "host event: no memory");
}

// A host event that was not signalled; NULL: it is none. The lock is held.
static weir__external *pending_of(const weir_event *event) {
  weir__external *external = weir__external_of(event);
  return external != NULL && external->import == NULL ? external : NULL;
}

static weir_status not_pending(const char *what) {
  return weir__error(WEIR_ERROR_INVALID_ARGUMENT,
                     "%s: the event is not of weir_host_event_create, or was signalled before", what);
}

// `leaves`: the storage of tasks that wait is left to work outside.
static weir_status signal(weir_event *event, weir_status status, bool leaves, const char *what) {
  weir_status found = weir__object_check(event, WEIR__KIND_EVENT, NULL, what);
  if (found != WEIR_OK) return found;
  if (status == WEIR_PENDING || status == WEIR_TIMEOUT || (int)status < 0 || status > WEIR_ERROR_IO ||
      (leaves && status == WEIR_OK))
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "%s: %d is no status of something that is done", what, (int)status);
  weir_context *context = event->object.context;
  weir__context_lock_to_submit(context); // a thread that submits what is held back may wait for just this
  weir__external *external = pending_of(event);
  if (external != NULL && event->sync != NULL) weir__tsan_release(&event->sync->end);
  if (external != NULL && leaves) weir__external_leave(context, external);
  if (external != NULL) weir__external_end(context, external, status, weir_status_text(status));
  weir__context_unlock(context);
  return external != NULL ? WEIR_OK : not_pending(what);
}

weir_status weir_host_event_signal(weir_event *event, weir_status status) {
  return signal(event, status, false, "host event signal");
}

weir_status weir_host_event_abandon(weir_event *event, weir_status status) {
  return signal(event, status, true, "host event abandon");
}

weir_status weir_host_event_hold(weir_event *event) {
  weir_status found = weir__object_check(event, WEIR__KIND_EVENT, NULL, "host event hold");
  if (found != WEIR_OK) return found;
  weir_context *context = event->object.context;
  weir__context_lock_to_submit(context);
  weir__external *external = pending_of(event);
  if (external != NULL) external->holds = true;
  weir__context_unlock(context);
  return external != NULL ? WEIR_OK : not_pending("host event hold");
}

weir_status weir_buffer_device(weir_buffer *buffer, uint64_t offset, uint64_t bytes, weir_device **out_device) {
  if (out_device == NULL) return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "buffer device: out_device is NULL");
  *out_device = NULL;
  weir_status status = weir__object_check(buffer, WEIR__KIND_BUFFER, NULL, "buffer device");
  if (status != WEIR_OK) return status;
  if (offset >= buffer->bytes || (bytes != WEIR_WHOLE && (bytes == 0 || bytes > buffer->bytes - offset))) {
    char count[24] = "all";
    if (bytes != WEIR_WHOLE) snprintf(count, sizeof count, "%llu", (unsigned long long)bytes);
    return weir__error(
        WEIR_ERROR_OUT_OF_RANGE,
        "buffer device: %s bytes from byte %llu on are no part of buffer %llu '%s', which has %llu bytes", count,
        (unsigned long long)offset, (unsigned long long)buffer->id, buffer->label, (unsigned long long)buffer->bytes);
  }
  weir_context *context = buffer->object.context;
  weir__context_lock(context);
  uint64_t end = bytes == WEIR_WHOLE ? buffer->bytes : offset + bytes;
  uint32_t spaces = weir__buffer_common_spaces(buffer, offset, end);
  if (spaces != 0 && (spaces & weir__space_bit(WEIR__HOST_SPACE)) == 0)
    *out_device = context->memory.devices[__builtin_ctz(spaces)];
  weir__context_unlock(context);
  return WEIR_OK;
}

static weir_status check(weir_buffer *buffer, weir_mode mode, const char *what) {
  weir_status status = weir__object_check(buffer, WEIR__KIND_BUFFER, NULL, what);
  if (status != WEIR_OK) return status;
  if (mode == WEIR_READ || mode == WEIR_WRITE || mode == WEIR_READ_WRITE) return WEIR_OK;
  return weir__error(WEIR_ERROR_INVALID_ARGUMENT,
                     "%s: buffer %llu '%s': the mode is %s; READ, WRITE and READ_WRITE are possible", what,
                     (unsigned long long)buffer->id, buffer->label, weir__mode_name(mode));
}

weir_status weir_buffer_follow(weir_buffer *buffer, weir_mode mode, weir_event *event) {
  weir_status status = check(buffer, mode, "buffer follow");
  if (status != WEIR_OK) return status;
  weir_context *context = buffer->object.context;
  status = weir__object_check(event, WEIR__KIND_EVENT, context, "buffer follow");
  if (status != WEIR_OK) return status;
  if (!buffer->wrapped)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT,
                       "buffer follow: the storage of buffer %llu '%s' is Weir's own, and no work outside has its "
                       "address; wrap memory of yours",
                       (unsigned long long)buffer->id, buffer->label);
  weir__context_lock(context);
  status = weir__follow_submit(buffer, mode, event);
  weir__context_unlock(context);
  return status;
}

weir_device *weir_kernel_device(weir_kernel *kernel) {
  if (kernel == NULL || weir__object_check(kernel, WEIR__KIND_KERNEL, NULL, "kernel device") != WEIR_OK) return NULL;
  weir_context *context = kernel->object.context;
  weir__context_lock_to_submit(context); // it does not matter to the order of tasks
  weir_device *device = kernel->has_device && context->placement == NULL ? context->host.devices[kernel->device] : NULL;
  weir__context_unlock(context);
  return device;
}

// The device in whose queues an event of the buffer has a place: that of the memory where the buffer is.
static weir_device *device_of(weir_context *context, const weir_buffer *buffer) {
  weir__context_lock(context);
  uint32_t spaces = buffer->wrapped ? weir__space_bit(buffer->home) : buffer->valid;
  weir_device *device = spaces != 0 ? context->memory.devices[__builtin_ctz(spaces)] : NULL;
  weir__context_unlock(context);
  return device != NULL && device->ops->marker != NULL ? device : context->devices.copier;
}

weir_status weir_buffer_event(weir_buffer *buffer, weir_mode mode, weir_event **out_event) {
  if (out_event == NULL) return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "buffer event: out_event is NULL");
  *out_event = NULL;
  weir_status status = check(buffer, mode, "buffer event");
  if (status != WEIR_OK) return status;
  weir_device *device = device_of(buffer->object.context, buffer);
  weir__external_fence *marker = NULL;
  if (device->ops->marker != NULL) {
    marker = device->ops->marker(device);
    if (marker == NULL) return weir__error(WEIR_ERROR_OUT_OF_MEMORY, "buffer event: no memory");
  }
  status = weir__fence_submit_behind(device, marker, buffer, mode, out_event);
  if (status != WEIR_OK) weir__free(marker);
  return status;
}
