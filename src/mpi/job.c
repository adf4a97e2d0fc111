// SPDX-License-Identifier: Apache-2.0
#include "job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "drive.h"
#include "nccl.h"
#include "progress.h"
#include "weir/error.h"
#include "weir/external.h"

enum { DEFAULT_SECONDS = 60, DEFAULT_DIRECT_BYTES = 512 << 10 };
static const uint64_t GIB = UINT64_C(1) << 30;

uint64_t weir__mpi_now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

void weir__mpi_sleep(weir_mpi *mpi, pthread_cond_t *condition, uint64_t ns) {
  uint64_t until = weir__mpi_now() + ns;
  const struct timespec time = {.tv_sec = (time_t)(until / 1000000000), .tv_nsec = (long)(until % 1000000000)};
  pthread_cond_timedwait(condition, &mpi->shared, &time);
}

uint32_t weir_mpi_rank(const weir_mpi *mpi) {
  return mpi == NULL ? 0 : mpi->rank;
}

uint32_t weir_mpi_size(const weir_mpi *mpi) {
  return mpi == NULL ? 0 : mpi->size;
}

static void set_options(weir_mpi *mpi, const weir_mpi_options *options) {
  weir_mpi_options set = options == NULL ? (weir_mpi_options){0} : *options;
  if (set.timeout_ns == 0) set.timeout_ns = UINT64_C(1000000000) * DEFAULT_SECONDS;
  if (set.piece_bytes == 0 || set.piece_bytes > GIB) set.piece_bytes = GIB;
  if (set.piece_bytes < sizeof(weir__mpi_header) + WEIR__MPI_CAUSE)
    set.piece_bytes = sizeof(weir__mpi_header) + WEIR__MPI_CAUSE;
  if (set.direct_bytes == 0) set.direct_bytes = DEFAULT_DIRECT_BYTES;
  if (set.check_every == 0 || set.check_every > WEIR__MPI_CHECK_PAIRS) set.check_every = WEIR__MPI_CHECK_PAIRS;
  mpi->options = set;
}

static void initialize_locks(weir_mpi *mpi) {
  pthread_condattr_t clock;
  pthread_condattr_init(&clock);
  pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
  pthread_mutex_init(&mpi->sequence, NULL);
  pthread_mutex_init(&mpi->tables, NULL);
  pthread_mutex_init(&mpi->shared, NULL);
  weir__mpi_pool_initialize(&mpi->pool);
  pthread_cond_init(&mpi->wake, &clock);
  pthread_cond_init(&mpi->changed, &clock);
  pthread_condattr_destroy(&clock);
}

void weir__mpi_destroy(weir_mpi *mpi) {
  weir__mpi_buffers_release(&mpi->buffers);
  weir__mpi_history_release(&mpi->history);
  weir__mpi_nccl_release_all(mpi);
  weir__mpi_direct_close(&mpi->direct);
  weir__mpi_pool_deinitialize(&mpi->pool);
  pthread_mutex_destroy(&mpi->sequence);
  pthread_mutex_destroy(&mpi->tables);
  pthread_mutex_destroy(&mpi->shared);
  pthread_cond_destroy(&mpi->wake);
  pthread_cond_destroy(&mpi->changed);
  free(mpi->sent_to);
  free(mpi->received_from);
  free(mpi->peers);
  if (!mpi->leaves_some) free(mpi);
}

static bool allocate(weir_mpi *mpi) {
  mpi->sent_to = calloc(mpi->size, sizeof *mpi->sent_to);
  mpi->received_from = calloc(mpi->size, sizeof *mpi->received_from);
  mpi->peers = calloc(mpi->size, sizeof *mpi->peers);
  return mpi->sent_to != NULL && mpi->received_from != NULL && mpi->peers != NULL;
}

static uint32_t count_cpus(const weir_context *context) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < weir_context_device_count(context); i++)
    count += strcmp(weir_device_information(weir_context_device(context, i))->kind, "cpu") == 0;
  return count;
}

// Pinned memory has room for all messages that go through it: sends, receives (staging.h), and what their sizes are rounded up by.
static void set_limit(weir_mpi *mpi) {
  bool pins = mpi->direct.card != NULL && !mpi->direct.is_on;
  if (mpi->options.send_limit == 0) mpi->options.send_limit = pins ? WEIR__MPI_POOL_PINNED / 2 : GIB;
}

// Refused on one rank, the other ranks find it lost: the transport is there already.
static weir_status start(weir_mpi *mpi) {
  uint32_t cpus = count_cpus(mpi->context);
  mpi->only_host = cpus == weir_context_device_count(mpi->context);
  if (cpus == 0) return weir__mpi_error(WEIR_ERROR_UNAVAILABLE, "the context has no CPU device");
  weir_status status = weir__mpi_direct_open(mpi);
  if (status != WEIR_OK) return status;
  set_limit(mpi);
  if (!allocate(mpi)) return weir__mpi_error(WEIR_ERROR_OUT_OF_MEMORY, "no memory");
  weir__mpi_receive_control(mpi);
  if (pthread_create(&mpi->thread, NULL, weir__mpi_progress, mpi) != 0)
    return weir__mpi_error(WEIR_ERROR_OUT_OF_MEMORY, "no thread can be started");
  return WEIR_OK;
}

// Tries what need not succeed, and leaves the last error as it was. The thread alone is enough, and slower: a context that
// takes part in two jobs gives its workers to the first. And a context may trace or not.
static void try_more(weir_mpi *mpi) {
  char before[8192];
  snprintf(before, sizeof before, "%s", weir_last_error());
  mpi->looks_in_turns = weir_context_set_progress(mpi->context, weir__mpi_idle, mpi) == WEIR_OK;
  weir__mpi_clock_begin(mpi);
  if (strcmp(before, weir_last_error()) != 0) (void)weir_set_last_error(WEIR_OK, before);
}

weir_status weir__mpi_create_over(weir_context *context, const weir_mpi_options *options,
                                  weir__mpi_transport *transport, weir_mpi **out_mpi) {
  *out_mpi = NULL;
  weir_mpi *mpi = calloc(1, sizeof *mpi);
  if (mpi == NULL) {
    transport->close(transport, true);
    return weir__mpi_error(WEIR_ERROR_OUT_OF_MEMORY, "no memory");
  }
  mpi->context = context;
  mpi->transport = transport;
  mpi->rank = transport->rank;
  mpi->size = transport->size;
  mpi->inbox_end = &mpi->inbox;
  mpi->waiting_end = &mpi->waiting;
  set_options(mpi, options);
  initialize_locks(mpi);
  weir_status status = start(mpi);
  if (status != WEIR_OK) {
    mpi->leaves_some = !transport->close(transport, true);
    weir__mpi_destroy(mpi);
    return status;
  }
  try_more(mpi);
  *out_mpi = mpi;
  return WEIR_OK;
}

void weir__mpi_begin_call(weir_mpi *mpi) {
  pthread_mutex_lock(&mpi->sequence);
  atomic_store_explicit(&mpi->caller, (uintptr_t)pthread_self(), memory_order_relaxed);
  atomic_store_explicit(&mpi->in_call, true, memory_order_relaxed);
}

bool weir__mpi_is_calling(const weir_mpi *mpi) {
  return atomic_load_explicit(&mpi->caller, memory_order_relaxed) == (uintptr_t)pthread_self();
}

void weir__mpi_end_call(weir_mpi *mpi) {
  atomic_store_explicit(&mpi->caller, 0, memory_order_relaxed);
  atomic_store_explicit(&mpi->in_call, false, memory_order_release); // what the call counted is seen by who sees this
  pthread_mutex_unlock(&mpi->sequence);
}

void weir__mpi_enter(weir_mpi *mpi, weir__mpi_call *call) {
  uint64_t hash = weir__mpi_hash(call->hash, (uint64_t)call->kind << 32 | (uint32_t)call->rank);
  hash = weir__mpi_hash(weir__mpi_hash(hash, call->buffer), call->offset);
  hash = weir__mpi_hash(weir__mpi_hash(hash, call->bytes), call->args);
  call->hash = weir__mpi_hash_text(hash, call->label);
  call->number = weir__mpi_count(&mpi->number, 1);
  if (mpi->size == 1) return;
  pthread_mutex_lock(&mpi->shared);
  bool added = weir__mpi_history_add(&mpi->history, call);
  mpi->check.pairs[mpi->check.count++] = (weir__mpi_pair){call->number, call->hash, call->code};
  if (mpi->check.count >= mpi->options.check_every) weir__mpi_check_flush(mpi);
  pthread_mutex_unlock(&mpi->shared);
  if (!added) weir__mpi_fail(mpi, WEIR_ERROR_OUT_OF_MEMORY, true, "rank %u has no memory to note calls", mpi->rank);
}

weir_status weir_mpi_skip(weir_mpi *mpi, uint64_t count) {
  if (mpi == NULL) return weir__mpi_null("weir_mpi_skip");
  pthread_mutex_lock(&mpi->sequence);
  if (count > UINT64_MAX - atomic_load_explicit(&mpi->number, memory_order_relaxed)) {
    pthread_mutex_unlock(&mpi->sequence);
    return weir__mpi_error(WEIR_ERROR_INVALID_ARGUMENT, "weir_mpi_skip: %llu calls are too many",
                           (unsigned long long)count);
  }
  uint64_t number = weir__mpi_count(&mpi->number, count);
  pthread_mutex_lock(&mpi->shared);
  mpi->history.own_through = number;
  mpi->statistics.skipped += count;
  pthread_mutex_unlock(&mpi->shared);
  pthread_mutex_unlock(&mpi->sequence);
  return weir__mpi_job_status(mpi);
}

weir_status weir_mpi_get_statistics_sized(weir_mpi *mpi, weir_mpi_statistics *out_statistics, size_t statistics_size) {
  if (out_statistics == NULL)
    return weir__mpi_error(WEIR_ERROR_INVALID_ARGUMENT, "weir_mpi_get_statistics: out_statistics is NULL");
  memset(out_statistics, 0, statistics_size);
  if (mpi == NULL) return weir__mpi_null("weir_mpi_get_statistics");
  pthread_mutex_lock(&mpi->shared); // and not `sequence`, with which a submission may wait for a task that calls this
  weir_mpi_statistics statistics = mpi->statistics;
  pthread_mutex_unlock(&mpi->shared);
  statistics.submitted = atomic_load_explicit(&mpi->number, memory_order_relaxed);
  statistics.tasks = atomic_load_explicit(&mpi->tasks, memory_order_relaxed);
  memcpy(out_statistics, &statistics, statistics_size < sizeof statistics ? statistics_size : sizeof statistics);
  return WEIR_OK;
}
