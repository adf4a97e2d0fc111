// SPDX-License-Identifier: Apache-2.0
//
// Buffers as the caller sees them.
#include "engine/buffer.h"

#include <string.h>

#include "base/error.h"

weir_status weir_buffer_create(weir_context *context, uint64_t bytes, weir_buffer **out_buffer) {
  return weir__buffer_make(context, "buffer create", NULL, 0, bytes, false, out_buffer);
}

weir_status weir_buffer_wrap(weir_context *context, void *memory, uint64_t bytes, weir_buffer **out_buffer) {
  return weir__buffer_make(context, "buffer wrap", memory, WEIR__HOST_SPACE, bytes, true, out_buffer);
}

weir_status weir_buffer_release(weir_buffer *buffer) {
  if (buffer == NULL) return WEIR_OK;
  weir_status status = weir__object_check(buffer, WEIR__KIND_BUFFER, NULL, "buffer release");
  if (status != WEIR_OK) return status;
  weir_context *context = buffer->object.context;
  weir__context_lock(context);
  if (buffer->object.released) {
    status = weir__error(WEIR_ERROR_RELEASED, "buffer release: the buffer was released before");
  } else {
    weir__id last_use = buffer->last_use;
    weir__buffer_drop_storage(buffer, context->pools, weir__buffer_idle(buffer, &context->host.window.live));
    weir_device *device = buffer->wrapped ? context->space_devices[buffer->home] : NULL; // NULL: the host's
    void *memory = device != NULL ? buffer->places[buffer->home].memory : NULL;
    if (buffer->image)
      device->ops->image_released(device, memory, last_use);
    else if (device != NULL && device->ops->wrap_released != NULL)
      device->ops->wrap_released(device, memory, last_use);
    weir__segment_empty(&buffer->whole, &context->ranges.arrays);
    weir__object_give(&context->buffers, &buffer->object);
  }
  weir__context_unlock(context);
  return status;
}

weir_status weir_buffer_set_label(weir_buffer *buffer, const char *label) {
  weir_status status = weir__object_check(buffer, WEIR__KIND_BUFFER, NULL, "buffer label");
  if (status != WEIR_OK) return status;
  weir_context *context = buffer->object.context;
  weir__context_lock(context);
  size_t length = label == NULL ? 0 : strnlen(label, sizeof buffer->label - 1);
  memcpy(buffer->label, label == NULL ? "" : label, length);
  buffer->label[length] = '\0';
  if (context->host.trace != NULL)
    weir__trace_add_buffer(context->host.trace, buffer->id, buffer->bytes, buffer->label);
  weir__context_unlock(context);
  return WEIR_OK;
}

uint64_t weir_buffer_bytes(const weir_buffer *buffer) {
  return weir__object_check(buffer, WEIR__KIND_BUFFER, NULL, "buffer bytes") == WEIR_OK ? buffer->bytes : 0;
}

const char *weir_buffer_label(const weir_buffer *buffer) {
  return weir__object_check(buffer, WEIR__KIND_BUFFER, NULL, "buffer label") == WEIR_OK ? buffer->label : "";
}
