// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>

#include "job.h"

// Of this job, so that no task is refused behind others.
static weir_status check_owner(weir_mpi *mpi, weir_buffer *part, uint32_t index) {
  char place[48];
  weir__mpi_buffer *buffer;
  uint64_t end;
  pthread_mutex_lock(&mpi->sequence);
  weir_status status = weir__mpi_buffer_range(mpi, part, 0, WEIR_WHOLE, &buffer, &end);
  pthread_mutex_unlock(&mpi->sequence);
  snprintf(place, sizeof place, "weir_mpi_reduce: buffer %u", index);
  return status == WEIR_OK ? WEIR_OK : weir__mpi_in_call(status, place);
}

static weir_status check(weir_mpi *mpi, const weir_task *combine, weir_buffer *const *parts, uint32_t count) {
  if (count == 0 || parts == NULL)
    return weir__mpi_error(WEIR_ERROR_INVALID_ARGUMENT, "weir_mpi_reduce: no buffers to combine");
  if (combine->destroy != NULL)
    return weir__mpi_error(WEIR_ERROR_INVALID_ARGUMENT,
                           "weir_mpi_reduce: a task that runs many times has no destroy function");
  for (uint32_t i = 0; i < count; i++) {
    weir_status status = check_owner(mpi, parts[i], i);
    if (status != WEIR_OK) return status;
    if (weir_buffer_bytes(parts[i]) != weir_buffer_bytes(parts[0]))
      return weir__mpi_error(
          WEIR_ERROR_INVALID_ARGUMENT, "weir_mpi_reduce: buffer %u has %llu bytes, and the first one %llu", i,
          (unsigned long long)weir_buffer_bytes(parts[i]), (unsigned long long)weir_buffer_bytes(parts[0]));
  }
  return WEIR_OK;
}

weir_status weir_mpi_reduce_sized(weir_mpi *mpi, const weir_task *combine, size_t task_size, weir_buffer *const *parts,
                                  uint32_t count) {
  if (mpi == NULL) return weir__mpi_null("weir_mpi_reduce");
  if (combine == NULL) return weir__mpi_error(WEIR_ERROR_INVALID_ARGUMENT, "weir_mpi_reduce: the task is NULL");
  weir_task task;
  weir_status first = WEIR_OK;
  weir_status status = weir__mpi_take_struct(&task, sizeof task, combine, task_size, "weir_mpi_reduce");
  if (status == WEIR_OK) status = check(mpi, &task, parts, count);
  if (status != WEIR_OK) return status;
  for (uint64_t distance = 1; distance < count; distance *= 2) {
    for (uint64_t i = 0; i + distance < count; i += 2 * distance) {
      const weir_arg args[] = {weir_updates(parts[i]), weir_reads(parts[i + distance])};
      task.args = args;
      task.arg_count = 2;
      status = weir_mpi_submit(mpi, &task, WEIR_MPI_OWNER, NULL);
      if (first == WEIR_OK) first = status; // all are submitted, as on ranks where none is refused
    }
  }
  return first;
}
