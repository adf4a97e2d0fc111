// SPDX-License-Identifier: Apache-2.0
#include "staging.h"

#include "drive.h"
#include "job.h"

// `pins`: calls of the driver may be made for it.
static bool stage(weir__mpi_message *message, bool pins) {
  weir__mpi_pool *pool = &message->mpi->pool;
  size_t bytes = weir__mpi_pool_aligned((size_t)message->bytes);
  message->contents = pins ? weir__mpi_pool_take(pool, bytes, &message->staged)
                           : weir__mpi_pool_take_there(pool, bytes, &message->staged);
  return message->contents != NULL;
}

bool weir__mpi_stage(weir__mpi_message *message) {
  return stage(message, true);
}

static void append(weir_mpi *mpi, weir__mpi_message *message) {
  message->next = NULL;
  *mpi->waiting_end = message;
  mpi->waiting_end = &message->next;
}

// Not more than the pool keeps: else far receives would get memory that was used, in place of near ones, and all of it
// would be used in turn.
static uint64_t limit_of(const weir_mpi *mpi) {
  return mpi->options.send_limit < WEIR__MPI_POOL_KEPT ? mpi->options.send_limit : WEIR__MPI_POOL_KEPT;
}

// Also after a failure, so that the task behind each of them fails.
static bool may_have_memory(const weir_mpi *mpi, const weir__mpi_message *message) {
  return !weir__mpi_is_fine(mpi) || mpi->receiving_bytes == 0 || mpi->receiving_bytes + message->bytes <= limit_of(mpi);
}

static weir__mpi_message *take_waiting(weir_mpi *mpi) {
  pthread_mutex_lock(&mpi->shared);
  weir__mpi_message *first = mpi->waiting;
  if (first != NULL && !may_have_memory(mpi, first)) first = NULL;
  if (first != NULL) {
    mpi->waiting = first->next;
    if (mpi->waiting == NULL) mpi->waiting_end = &mpi->waiting;
    mpi->receiving_bytes += first->bytes;
    first->is_counted = true;
  }
  pthread_mutex_unlock(&mpi->shared);
  return first;
}

// One without memory is not begun, since the job has failed.
static void post(weir_mpi *mpi, weir__mpi_message *message, bool submits) {
  if (weir__mpi_is_fine(mpi) && !stage(message, submits))
    weir__mpi_fail(mpi, WEIR_ERROR_OUT_OF_MEMORY, true, "rank %u has no memory for a message of call %llu", mpi->rank,
                   (unsigned long long)message->number);
  pthread_mutex_lock(&mpi->shared);
  weir__mpi_message_post(message);
  pthread_mutex_unlock(&mpi->shared);
}

static void post_waiting(weir_mpi *mpi, bool submits) {
  weir__mpi_message *message = take_waiting(mpi);
  if (message == NULL) return;
  for (; message != NULL; message = take_waiting(mpi)) post(mpi, message, submits);
  weir__mpi_drive_posted(mpi);
}

void weir__mpi_stage_waiting(weir_mpi *mpi) {
  post_waiting(mpi, false);
}

void weir__mpi_stage_receive(weir__mpi_message *message) {
  weir_mpi *mpi = message->mpi;
  pthread_mutex_lock(&mpi->shared);
  append(mpi, message);
  pthread_mutex_unlock(&mpi->shared);
  post_waiting(mpi, true);
}

void weir__mpi_unstage(weir__mpi_message *message) {
  weir_mpi *mpi = message->mpi;
  if (message->staged > 0) weir__mpi_pool_give(&mpi->pool, message->contents, message->staged);
  if (!message->is_counted) return;
  pthread_mutex_lock(&mpi->shared);
  mpi->receiving_bytes -= message->bytes;
  pthread_mutex_unlock(&mpi->shared);
}
