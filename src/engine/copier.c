// SPDX-License-Identifier: Apache-2.0
#include "engine/copier.h"

#include "engine/buffer.h"
#include "engine/context.h"
#include "engine/place.h"
#include "engine/transfer.h"

// The spaces that have these bytes of a buffer. Where none has all of them: none for who reads them, else those that have the
// first.
static uint16_t spaces_of(const weir_buffer *buffer, uint64_t offset, uint64_t bytes, bool reads) {
  if (buffer->parts == NULL || offset >= buffer->bytes || bytes > buffer->bytes - offset) return buffer->valid;
  uint64_t end;
  uint16_t common = weir__buffer_common_spaces(buffer, offset, offset + bytes);
  return common != 0 || reads ? common : weir__buffer_spaces(buffer, offset, &end);
}

// The device whose memory these bytes are in; NULL: they are the host's, or for who only reads them there too. A device that is
// lost counts only where nothing else has what is read.
static weir_device *holder_of(const weir_context *context, const weir_buffer *buffer, uint64_t offset, uint64_t bytes,
                              bool reads) {
  uint16_t spaces = spaces_of(buffer, offset, bytes, reads);
  if (reads && (spaces & weir__space_bit(WEIR__HOST_SPACE)) != 0) return NULL;
  weir_device *device = NULL, *lost = NULL;
  for (uint32_t space = 1; space < context->memory.space_count; space++) {
    if (!(spaces & weir__space_bit(space))) continue;
    weir_device *holder = context->memory.devices[space];
    *(holder->lost ? &lost : &device) = holder;
  }
  return device == NULL && reads ? lost : device;
}

// The device that gets a buffer without contents; otherwise `holder`.
static weir_device *first_device(weir_context *context, const weir_buffer *buffer, weir_device *holder) {
  if (buffer->valid != 0) return holder;
  if (context->placement != NULL) return weir__place_contents(context, buffer->bytes);
  weir_device *first = context->host.devices[0];
  return first->space != WEIR__HOST_SPACE && !first->lost ? first : holder;
}

// The device that gets what is written, if contents would be put with `holder`. What the caller wrapped in a device's memory
// must come there at last, and other devices may not reach it. Other contents go where tasks wanted what was copied the last
// time: bytes between those that tasks read stay where they are.
static weir_device *writer_of(const weir_context *context, const weir_buffer *buffer, weir_device *holder) {
  weir_device *home = context->memory.devices[buffer->home], *wanting = context->memory.devices[buffer->brought];
  if (buffer->wrapped && buffer->home != WEIR__HOST_SPACE && !home->lost) return home;
  return holder != NULL && buffer->brought != WEIR__HOST_SPACE && !wanting->lost ? wanting : holder;
}

weir_device *weir__copier_of(const weir__submission *by, weir_context *context, const weir_buffer *buffer,
                             uint64_t offset, uint64_t bytes, bool reads) {
  if (by->aside != NULL) return by->aside->space == WEIR__HOST_SPACE ? NULL : by->aside;
  if (context->devices.checker != NULL) return NULL; // all contents are the host's
  if (context->memory.space_count == 1 || buffer->object.released) return NULL;
  weir__context_lock(context);
  weir_device *device = first_device(context, buffer, holder_of(context, buffer, offset, bytes, reads));
  if (!reads) device = writer_of(context, buffer, device);
  weir__context_unlock(context);
  return device;
}

bool weir__copier_can(const weir_device *device, const weir_buffer *to, uint64_t to_offset, const weir_buffer *from,
                      uint64_t from_offset, uint32_t pattern) {
  if (weir__is_written_back(to, WEIR_WRITE, device->space) &&
      !weir__is_direct(weir__context_of(device->host), device->space, to->home))
    return false;
  bool any = (to->image && to->home == device->space) || (from != NULL && from->image && from->home == device->space);
  return !any || device->ops->images->can_copy(device, to, to_offset, from, from_offset, pattern);
}
