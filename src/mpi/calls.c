// SPDX-License-Identifier: Apache-2.0
//
// The calls of the sequence that are no tasks.
#include <stdlib.h>

#include "device_message.h"
#include "job.h"
#include "transfer.h"
#include "weir/external.h"
#include "weir/trace.h"

static weir_status add_buffer(weir_mpi *mpi, const weir__mpi_call *call, uint32_t owner, weir_buffer **out_buffer) {
  weir__mpi_buffer *buffer = calloc(1, sizeof *buffer);
  if (buffer == NULL) return weir__mpi_error(WEIR_ERROR_OUT_OF_MEMORY, "no memory");
  *buffer = (weir__mpi_buffer){.mpi = mpi, .number = call->number, .bytes = call->bytes, .owner = owner};
  weir_status status = weir_buffer_create(mpi->context, call->bytes, &buffer->local);
  if (status == WEIR_OK && (!weir__mpi_table_create(&buffer->table, call->bytes, mpi->size) ||
                            !weir__mpi_buffers_add(&mpi->buffers, buffer))) {
    weir_buffer_release(buffer->local);
    weir__mpi_table_release(&buffer->table);
    status = weir__mpi_error(WEIR_ERROR_OUT_OF_MEMORY, "no memory");
  }
  if (status == WEIR_OK) status = weir_buffer_set_may_read(buffer->local, weir__mpi_may_read, buffer);
  if (status == WEIR_OK)
    *out_buffer = buffer->local;
  else
    free(buffer);
  if (status == WEIR_OK && mpi->traces) weir_trace_note_buffer(*out_buffer, call->number);
  return status;
}

weir_status weir_mpi_buffer_create(weir_mpi *mpi, uint64_t bytes, uint32_t owner, weir_buffer **out_buffer) {
  const char *name = weir__mpi_kind_name(WEIR__MPI_BUFFER_CREATE);
  if (out_buffer == NULL) return weir__mpi_error(WEIR_ERROR_INVALID_ARGUMENT, "%s: out_buffer is NULL", name);
  *out_buffer = NULL;
  if (mpi == NULL) return weir__mpi_null(name);
  if (bytes == 0 || bytes == WEIR_WHOLE) // no part of the sequence: all ranks refuse them
    return weir__mpi_error(WEIR_ERROR_INVALID_ARGUMENT, "%s: a buffer of %s bytes", name,
                           bytes == 0 ? "0" : "too many");
  if (owner >= mpi->size) return weir__mpi_no_rank(mpi, name, owner);
  weir__mpi_call call = {.kind = WEIR__MPI_BUFFER_CREATE, .bytes = bytes, .rank = (int32_t)owner};
  weir__mpi_begin_call(mpi);
  weir__mpi_enter(mpi, &call);
  weir_status status = weir__mpi_job_status(mpi);
  if (status == WEIR_OK) {
    status = add_buffer(mpi, &call, owner, out_buffer);
    if (status != WEIR_OK) // the other ranks have the buffer
      weir__mpi_fail(mpi, status, true, "rank %u cannot create buffer %llu of %llu bytes: %.200s", mpi->rank,
                     (unsigned long long)call.number, (unsigned long long)bytes, weir_last_error());
  }
  weir__mpi_end_call(mpi);
  return status;
}

// Makes a call that concerns a range of a buffer, up to what is done with it. On success `sequence` is held.
static weir_status enter_range(weir_mpi *mpi, weir__mpi_kind kind, weir_buffer *local, uint64_t offset, uint64_t bytes,
                               int32_t rank, weir__mpi_call *out_call, weir__mpi_buffer **out_buffer) {
  if (mpi == NULL) return weir__mpi_null(weir__mpi_kind_name(kind));
  bool is_rank = rank >= 0 && (uint32_t)rank < mpi->size;
  if (!is_rank && !(rank == WEIR_MPI_ALL && kind == WEIR__MPI_FETCH))
    return weir__mpi_no_rank(mpi, weir__mpi_kind_name(kind), rank);
  uint64_t end;
  weir__mpi_begin_call(mpi);
  weir_status status = weir__mpi_buffer_range(mpi, local, offset, bytes, out_buffer, &end);
  if (status != WEIR_OK) {
    weir__mpi_in_call(status, weir__mpi_kind_name(kind));
  } else {
    *out_call = (weir__mpi_call){
        .kind = kind, .buffer = (*out_buffer)->number, .offset = offset, .bytes = end - offset, .rank = rank};
    weir__mpi_enter(mpi, out_call);
    if (!weir__mpi_make_room(mpi, *out_buffer, 4))
      weir__mpi_fail(mpi, WEIR_ERROR_OUT_OF_MEMORY, true, "rank %u has no memory for call %llu", mpi->rank,
                     (unsigned long long)out_call->number);
    status = weir__mpi_job_status(mpi);
  }
  if (status != WEIR_OK) weir__mpi_end_call(mpi);
  return status;
}

weir_status weir_mpi_buffer_release(weir_mpi *mpi, weir_buffer *local) {
  weir__mpi_call call;
  weir__mpi_buffer *buffer;
  weir_status status = enter_range(mpi, WEIR__MPI_BUFFER_RELEASE, local, 0, WEIR_WHOLE, 0, &call, &buffer);
  if (status != WEIR_OK) return status;
  weir__mpi_buffers_remove(&mpi->buffers, buffer);
  (void)weir_buffer_set_may_read(local, NULL, NULL);
  status = weir_buffer_release(local);
  weir__mpi_end_call(mpi);
  return status;
}

weir_status weir_mpi_buffer_move(weir_mpi *mpi, weir_buffer *local, uint32_t owner) {
  weir__mpi_call call;
  weir__mpi_buffer *buffer;
  int32_t rank = owner > INT32_MAX ? INT32_MAX : (int32_t)owner;
  weir_status status = enter_range(mpi, WEIR__MPI_BUFFER_MOVE, local, 0, WEIR_WHOLE, rank, &call, &buffer);
  if (status != WEIR_OK) return status;
  buffer->owner = owner;
  weir__mpi_end_call(mpi);
  return WEIR_OK;
}

weir_status weir_mpi_fetch(weir_mpi *mpi, weir_buffer *local, uint64_t offset, uint64_t bytes, int32_t rank) {
  weir__mpi_call call;
  weir__mpi_buffer *buffer;
  weir_status status = enter_range(mpi, WEIR__MPI_FETCH, local, offset, bytes, rank, &call, &buffer);
  if (status != WEIR_OK) return status;
  weir_device *device = weir__mpi_lacks(mpi, buffer, offset, offset + call.bytes)
                            ? weir__mpi_device_of(mpi, local, offset, call.bytes)
                            : NULL;
  if (rank == WEIR_MPI_ALL)
    weir__mpi_supply_all(mpi, &call, buffer, offset, offset + call.bytes, device);
  else
    weir__mpi_supply(mpi, &call, buffer, offset, offset + call.bytes, (uint32_t)rank, device);
  weir__mpi_end_call(mpi);
  return WEIR_OK;
}

weir_status weir_mpi_written(weir_mpi *mpi, weir_buffer *local, uint64_t offset, uint64_t bytes, int32_t rank) {
  weir__mpi_call call;
  weir__mpi_buffer *buffer;
  weir_status status = enter_range(mpi, WEIR__MPI_WRITTEN, local, offset, bytes, rank, &call, &buffer);
  if (status != WEIR_OK) return status;
  weir__mpi_note_write(mpi, buffer, offset, offset + call.bytes, (uint32_t)rank, call.number);
  if (mpi->traces && (uint32_t)rank == mpi->rank) weir_trace_note_written(local, call.number, offset, call.bytes);
  weir__mpi_end_call(mpi);
  return WEIR_OK;
}
