// SPDX-License-Identifier: Apache-2.0
#include "buffers.h"

#include <stdlib.h>

#include "job.h"
#include "weir/external.h"

static uint32_t slot_of(const weir__mpi_buffers *buffers, const weir_buffer *local) {
  return (uint32_t)weir__mpi_hash(0, (uint64_t)(uintptr_t)local) & (buffers->capacity - 1);
}

// The slot that a buffer is in, or the free one where it would be.
static uint32_t search(const weir__mpi_buffers *buffers, const weir_buffer *local) {
  uint32_t slot = slot_of(buffers, local);
  while (buffers->slots[slot].local != NULL && buffers->slots[slot].local != local)
    slot = (slot + 1) & (buffers->capacity - 1);
  return slot;
}

static bool grow(weir__mpi_buffers *buffers) {
  weir__mpi_buffers grown = {.capacity = buffers->capacity == 0 ? 64 : buffers->capacity * 2, .count = buffers->count};
  grown.slots = calloc(grown.capacity, sizeof *grown.slots);
  if (grown.slots == NULL) return false;
  for (uint32_t i = 0; i < buffers->capacity; i++) {
    if (buffers->slots[i].local != NULL) grown.slots[search(&grown, buffers->slots[i].local)] = buffers->slots[i];
  }
  free(buffers->slots);
  *buffers = grown;
  return true;
}

bool weir__mpi_buffers_add(weir__mpi_buffers *buffers, weir__mpi_buffer *buffer) {
  if (2 * (buffers->count + 1) > buffers->capacity && !grow(buffers)) return false;
  buffers->slots[search(buffers, buffer->local)] = (weir__mpi_slot){buffer->local, buffer};
  buffers->count++;
  return true;
}

weir__mpi_buffer *weir__mpi_buffers_find(const weir__mpi_buffers *buffers, const weir_buffer *local) {
  return buffers->capacity == 0 || local == NULL ? NULL : buffers->slots[search(buffers, local)].buffer;
}

static void destroy(weir__mpi_buffer *buffer) {
  weir__mpi_table_release(&buffer->table);
  free(buffer);
}

void weir__mpi_buffers_remove(weir__mpi_buffers *buffers, weir__mpi_buffer *buffer) {
  uint32_t mask = buffers->capacity - 1, hole = search(buffers, buffer->local);
  buffers->slots[hole] = (weir__mpi_slot){0};
  buffers->count--;
  destroy(buffer);
  // Those behind it that are not where they would be found now move into the hole.
  for (uint32_t slot = (hole + 1) & mask; buffers->slots[slot].local != NULL; slot = (slot + 1) & mask) {
    weir__mpi_slot moved = buffers->slots[slot];
    buffers->slots[slot] = (weir__mpi_slot){0};
    buffers->slots[search(buffers, moved.local)] = moved;
  }
}

void weir__mpi_buffers_release(weir__mpi_buffers *buffers) {
  for (uint32_t i = 0; i < buffers->capacity; i++) {
    if (buffers->slots[i].local == NULL) continue;
    (void)weir_buffer_set_may_read(buffers->slots[i].buffer->local, NULL, NULL);
    destroy(buffers->slots[i].buffer);
  }
  free(buffers->slots);
  *buffers = (weir__mpi_buffers){0};
}

static weir_status out_of_range(const weir__mpi_buffer *buffer, uint64_t offset, uint64_t bytes) {
  unsigned long long number = buffer->number, has = buffer->bytes;
  if (bytes > UINT64_MAX - offset || bytes == WEIR_WHOLE)
    return weir__mpi_error(WEIR_ERROR_OUT_OF_RANGE, "%s from byte %llu on leave buffer %llu, which has %llu",
                           bytes == WEIR_WHOLE ? "all bytes" : "so many bytes", (unsigned long long)offset, number,
                           has);
  return weir__mpi_error(WEIR_ERROR_OUT_OF_RANGE, "bytes %llu to %llu leave buffer %llu, which has %llu",
                         (unsigned long long)offset, (unsigned long long)(offset + bytes), number, has);
}

weir_status weir__mpi_buffer_range(weir_mpi *mpi, weir_buffer *local, uint64_t offset, uint64_t bytes,
                                   weir__mpi_buffer **out_buffer, uint64_t *out_end) {
  weir__mpi_buffer *buffer = weir__mpi_buffers_find(&mpi->buffers, local);
  if (buffer == NULL)
    return weir__mpi_error(WEIR_ERROR_INVALID_ARGUMENT, "%s",
                           local == NULL ? "the buffer is NULL"
                                         : "the buffer is none of weir_mpi_buffer_create of this job, or was released");
  if (bytes == WEIR_WHOLE && offset < buffer->bytes) bytes = buffer->bytes - offset;
  if (bytes == 0)
    return weir__mpi_error(WEIR_ERROR_INVALID_ARGUMENT, "a range of buffer %llu, from byte %llu on, has no bytes",
                           (unsigned long long)buffer->number, (unsigned long long)offset);
  if (offset >= buffer->bytes || bytes > buffer->bytes - offset) return out_of_range(buffer, offset, bytes);
  *out_buffer = buffer;
  *out_end = offset + bytes;
  return WEIR_OK;
}
