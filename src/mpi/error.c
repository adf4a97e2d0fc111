// SPDX-License-Identifier: Apache-2.0
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "job.h"
#include "weir/error.h"

weir_status weir__mpi_error(weir_status status, const char *format, ...) {
  char text[WEIR__MPI_TEXT];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  return weir_set_last_error(status, text);
}

weir_status weir__mpi_null(const char *call) {
  return weir__mpi_error(WEIR_ERROR_INVALID_ARGUMENT, "%s: the job (weir_mpi) is NULL", call);
}

weir_status weir__mpi_no_rank(const weir_mpi *mpi, const char *call, int64_t rank) {
  return weir__mpi_error(WEIR_ERROR_INVALID_ARGUMENT, "%s: there is no rank %lld; the job has ranks 0 to %u", call,
                         (long long)rank, mpi->size - 1);
}

weir_status weir__mpi_take_struct(void *out, size_t known, const void *given, size_t given_bytes, const char *call) {
  size_t taken = given == NULL ? 0 : given_bytes < known ? given_bytes : known;
  if (taken > 0) memcpy(out, given, taken);
  memset((unsigned char *)out + taken, 0, known - taken);
  for (size_t i = known; given != NULL && i < given_bytes; i++) {
    if (((const unsigned char *)given)[i] != 0)
      return weir__mpi_error(WEIR_ERROR_INVALID_ARGUMENT, "%s: a member is set that this library does not know", call);
  }
  return WEIR_OK;
}

weir_status weir__mpi_in_call(weir_status status, const char *call) {
  return weir__mpi_error(status, "%s: %.400s", call, weir_last_error());
}

weir_status weir__mpi_job_status(weir_mpi *mpi) {
  if (!atomic_load_explicit(&mpi->has_failed, memory_order_acquire)) return WEIR_OK;
  pthread_mutex_lock(&mpi->shared);
  weir_status status = weir__mpi_error(mpi->failure, "%s", mpi->failure_text);
  pthread_mutex_unlock(&mpi->shared);
  return status;
}

void weir__mpi_fail(weir_mpi *mpi, weir_status status, bool tells, const char *format, ...) {
  pthread_mutex_lock(&mpi->shared);
  if (mpi->failure == WEIR_OK) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(mpi->failure_text, sizeof mpi->failure_text, format, arguments);
    va_end(arguments);
    mpi->failure = status;
    atomic_store_explicit(&mpi->has_failed, true, memory_order_release);
    for (uint32_t rank = 0; tells && rank < mpi->size; rank++) {
      if (rank != mpi->rank) weir__mpi_control_post(mpi, rank, WEIR__MPI_FAILED, 0, mpi->failure_text);
    }
    pthread_cond_broadcast(&mpi->changed);
    pthread_cond_signal(&mpi->wake);
  }
  pthread_mutex_unlock(&mpi->shared);
}
