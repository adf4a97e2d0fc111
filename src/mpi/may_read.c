// SPDX-License-Identifier: Apache-2.0
//
// What weir_read, weir_copy_out and weir_copy may read of a distributed buffer: what this rank has, by its own calls. Of
// calls that it left out (weir_mpi_skip) it knows nothing: it cannot know whether one of them wrote the bytes.
#include <stdio.h>

#include "job.h"

// Says who has the bytes, and how they come here.
static weir_status refuse(weir_mpi *mpi, const weir__mpi_buffer *buffer, const weir__mpi_segment *missing) {
  char call[WEIR__MPI_TEXT / 2];
  pthread_mutex_lock(&mpi->shared);
  weir__mpi_history_describe(&mpi->history, missing->version, call, sizeof call);
  pthread_mutex_unlock(&mpi->shared);
  unsigned long long number = buffer->number, first = missing->first, end = missing->end;
  return weir__mpi_error(
      WEIR_ERROR_INVALID_ARGUMENT,
      "rank %u lacks bytes %llu to %llu of buffer %llu, which rank %u has since call %llu, %.200s: all ranks must call "
      "weir_mpi_fetch before, for bytes %llu to %llu and rank %u or all",
      mpi->rank, first, end, number, missing->writer, (unsigned long long)missing->version, call, first, end,
      mpi->rank);
}

weir_status weir__mpi_may_read(void *user, uint64_t offset, uint64_t bytes) {
  const weir__mpi_buffer *buffer = user;
  weir_mpi *mpi = buffer->mpi;
  if (weir__mpi_is_calling(mpi)) return WEIR_OK; // a message, which comes before the table says so
  weir__mpi_segment missing;
  pthread_mutex_lock(&mpi->tables);
  bool lacks = weir__mpi_table_missing(&buffer->table, offset, offset + bytes, mpi->rank, &missing) != UINT32_MAX;
  pthread_mutex_unlock(&mpi->tables);
  if (!lacks) return WEIR_OK;
  weir_status status = weir__mpi_job_status(mpi); // of a job that has failed no contents come any more
  return status == WEIR_OK ? refuse(mpi, buffer, &missing) : status;
}
