// SPDX-License-Identifier: Apache-2.0
//
// The ends of a job: all that was submitted is done, and all ranks know that they submitted the same.
#include "drive.h"
#include "job.h"
#include "weir/external.h"

// Makes a last call of the sequence, and has the next rank compare all calls so far.
static void enter_end(weir_mpi *mpi, weir__mpi_kind kind) {
  weir__mpi_call call = {.kind = kind};
  pthread_mutex_lock(&mpi->sequence);
  weir__mpi_enter(mpi, &call);
  if (mpi->size > 1) {
    pthread_mutex_lock(&mpi->shared);
    weir__mpi_check_flush(mpi);
    mpi->awaited = call.number;
    mpi->awaited_ns = weir__mpi_now();
    weir__mpi_check_compare(mpi); // the other rank may have come to it before
    pthread_mutex_unlock(&mpi->shared);
  }
  pthread_mutex_unlock(&mpi->sequence);
}

// What copies to messages uses the job until it has ended, also when the job has failed.
static bool has_finished(const weir_mpi *mpi, uint64_t argument) {
  (void)argument;
  return mpi->copies == 0 && (mpi->failure != WEIR_OK || (mpi->outgoing_count == 0 && mpi->awaited == 0));
}

static weir_status finish(weir_mpi *mpi, weir__mpi_kind kind) {
  enter_end(mpi, kind);
  atomic_store_explicit(&mpi->in_call, true, memory_order_relaxed); // for as long as tasks take
  weir_status status = weir_finish(mpi->context);
  pthread_mutex_lock(&mpi->shared);
  weir__mpi_drive_until(mpi, has_finished, 0);
  pthread_mutex_unlock(&mpi->shared);
  atomic_store_explicit(&mpi->in_call, false, memory_order_relaxed);
  weir_status job = weir__mpi_job_status(mpi);
  return job != WEIR_OK ? job : status;
}

weir_status weir_mpi_finish(weir_mpi *mpi) {
  if (mpi == NULL) return weir__mpi_null("weir_mpi_finish");
  return finish(mpi, WEIR__MPI_FINISH);
}

static bool have_all_ended(const weir_mpi *mpi, uint64_t argument) {
  (void)argument;
  return mpi->failure != WEIR_OK || weir__mpi_all_ended(mpi);
}

// From here on nobody drives but this thread, and then the progress thread.
static void wait_for_all(weir_mpi *mpi) {
  if (mpi->looks_in_turns) (void)weir_context_set_progress(mpi->context, NULL, NULL);
  pthread_mutex_lock(&mpi->shared);
  if (mpi->size > 1 && mpi->failure == WEIR_OK) {
    weir__mpi_bye(mpi);
    mpi->ending_ns = weir__mpi_now();
    weir__mpi_drive_until(mpi, have_all_ended, 0);
    mpi->ending_ns = 0;
  }
  mpi->stops = true;
  pthread_cond_signal(&mpi->wake);
  pthread_mutex_unlock(&mpi->shared);
}

weir_status weir_mpi_release(weir_mpi *mpi) {
  if (mpi == NULL) return WEIR_OK;
  weir_status status = finish(mpi, WEIR__MPI_END);
  wait_for_all(mpi);
  weir_status job = weir__mpi_job_status(mpi);
  pthread_join(mpi->thread, NULL);
  weir__mpi_destroy(mpi);
  return status != WEIR_OK ? status : job;
}
