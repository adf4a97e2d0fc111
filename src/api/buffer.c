// SPDX-License-Identifier: Apache-2.0
//
// Buffers as the caller sees them.
#include "engine/buffer.h"

#include <string.h>

#include "base/allocate.h"
#include "base/error.h"

weir_status weir_buffer_create(weir_context *context, uint64_t bytes, weir_buffer **out_buffer) {
  return weir__buffer_make(context, "buffer create", bytes, out_buffer);
}

weir_status weir_buffer_wrap(weir_context *context, void *memory, uint64_t bytes, weir_buffer **out_buffer) {
  return weir__buffer_make_of(context, "buffer wrap", memory, WEIR__HOST_SPACE, bytes, out_buffer);
}

weir_status weir_buffer_release(weir_buffer *buffer) {
  if (buffer == NULL) return WEIR_OK;
  if (!weir__object_is(&buffer->object, WEIR__KIND_BUFFER))
    return weir__object_check(buffer, WEIR__KIND_BUFFER, NULL, "buffer release");
  if (buffer->guarded)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT,
                       "buffer release: buffer %llu '%s' is a library's, and released by that: a buffer of ranks by "
                       "weir_mpi_buffer_release",
                       (unsigned long long)buffer->id, buffer->label);
  return weir__buffer_release(buffer);
}

weir_status weir_buffer_set_label(weir_buffer *buffer, const char *label) {
  weir_status status = weir__object_check(buffer, WEIR__KIND_BUFFER, NULL, "buffer label");
  if (status != WEIR_OK) return status;
  weir_context *context = buffer->object.context;
  weir__context_lock_to_submit(context); // it does not matter to the order of tasks
  size_t length = label == NULL ? 0 : strnlen(label, sizeof buffer->label - 1);
  memcpy(buffer->label, label == NULL ? "" : label, length);
  buffer->label[length] = '\0';
  if (context->host.trace != NULL)
    weir__trace_add_buffer(context->host.trace, buffer->id, buffer->bytes, buffer->label);
  weir__context_unlock(context);
  return WEIR_OK;
}

weir_status weir_buffer_set_may_read(weir_buffer *buffer, weir_read_function function, void *user) {
  weir_status status = weir__object_check(buffer, WEIR__KIND_BUFFER, NULL, "buffer may read");
  if (status != WEIR_OK) return status;
  weir__context_lock(buffer->object.context); // others read the bits beside
  buffer->guarded = function != NULL;
  buffer->may_read = function;
  buffer->may_read_user = user;
  weir__context_unlock(buffer->object.context);
  return WEIR_OK;
}

uint64_t weir_buffer_bytes(const weir_buffer *buffer) {
  return weir__object_check(buffer, WEIR__KIND_BUFFER, NULL, "buffer bytes") == WEIR_OK ? buffer->bytes : 0;
}

weir_status weir_host_allocate(weir_device *device, uint64_t bytes, void **out_memory) {
  if (out_memory == NULL) return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "host allocate: out_memory is NULL");
  *out_memory = NULL;
  if (device == NULL) return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "host allocate: the device is NULL");
  if (bytes == 0) return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "host allocate: 0 bytes");
  const weir__memory_ops *own = device->ops->memory;
  if (own != NULL && own->host_allocate != NULL) return own->host_allocate(device, bytes, out_memory);
  *out_memory = weir__allocate(bytes);
  if (*out_memory != NULL) return WEIR_OK;
  return weir__error(WEIR_ERROR_OUT_OF_MEMORY, "host allocate: no %llu bytes", (unsigned long long)bytes);
}

void weir_host_free(weir_device *device, void *memory) {
  if (device == NULL || memory == NULL) return;
  const weir__memory_ops *own = device->ops->memory;
  if (own != NULL && own->host_free != NULL)
    own->host_free(device, memory);
  else
    weir__free(memory);
}
