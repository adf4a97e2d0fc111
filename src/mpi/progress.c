// SPDX-License-Identifier: Apache-2.0
#include "progress.h"

#include <sched.h>
#include <sys/prctl.h>
#include <time.h>

#include "exchange.h"
#include "job.h"
#include "watch.h"

enum {
  BATCH = 64,                // messages that end at once
  SPIN_NS = 20000,           // after the last message the thread only yields for so long,
  SHORT_SLEEP_NS = 20000,    // then it sleeps while contents are on their way,
  LONG_SLEEP_NS = 1000000,   // and longer while there are none
  SUSPICION_NS = 1000000000, // how long the first call that differs is looked for
  LAST_NS = 200000000,       // how long what is left is waited for after a failure
};

static void take_pending(weir__mpi_message *message) {
  *message->place = message->next;
  if (message->next != NULL) message->next->place = message->place;
}

static void receive_control(weir_mpi *mpi) {
  mpi->transport->receive(mpi->transport, WEIR__MPI_CONTROL, WEIR__MPI_ANY_RANK, 0, &mpi->incoming,
                          sizeof mpi->incoming, &mpi->incoming);
}

static void take_done(weir_mpi *mpi, const weir__mpi_done *done, uint64_t now) {
  if (done->token == &mpi->incoming) {
    if (done->error != NULL) return;
    mpi->peers[done->source].heard_ns = now;
    weir__mpi_control_take(mpi, done->source, &mpi->incoming);
    receive_control(mpi);
    return;
  }
  weir__mpi_message *message = done->token;
  if (done->error != NULL)
    weir__mpi_message_error(mpi, message, done);
  else if (message->kind == WEIR__MPI_RECEIVE)
    mpi->peers[message->peer].heard_ns = now;
  if (--message->pieces_left > 0) return;
  take_pending(message);
  weir__mpi_message_end(mpi, message);
}

static bool poll(weir_mpi *mpi, uint64_t now) {
  weir__mpi_done done[BATCH];
  uint32_t count = mpi->transport->poll(mpi->transport, done, BATCH);
  for (uint32_t i = 0; i < count; i++) take_done(mpi, &done[i], now);
  return count > 0;
}

// Sleeps until something is posted, for so long at most.
static void sleep_for(weir_mpi *mpi, uint64_t ns) {
  struct timespec until;
  clock_gettime(CLOCK_MONOTONIC, &until);
  until.tv_nsec += (long)ns;
  if (until.tv_nsec >= 1000000000) {
    until.tv_nsec -= 1000000000;
    until.tv_sec++;
  }
  pthread_mutex_lock(&mpi->shared);
  if (mpi->inbox == NULL && !mpi->stops) pthread_cond_timedwait(&mpi->wake, &mpi->shared, &until);
  pthread_mutex_unlock(&mpi->shared);
}

static bool has_stopped(weir_mpi *mpi) {
  pthread_mutex_lock(&mpi->shared);
  bool stops = mpi->stops && mpi->inbox == NULL;
  pthread_mutex_unlock(&mpi->shared);
  return stops && mpi->pending == NULL;
}

// After a failure: what is on its way gets a little time, and is then left. The memory of what cannot be cancelled is
// not freed, since the transport may still use it.
static bool gives_up(weir_mpi *mpi, uint64_t now, uint64_t *stopped_ns) {
  if (weir__mpi_is_fine(mpi)) return false;
  pthread_mutex_lock(&mpi->shared);
  bool stops = mpi->stops;
  pthread_mutex_unlock(&mpi->shared);
  if (stops && *stopped_ns == 0) *stopped_ns = now;
  return stops && now > *stopped_ns + LAST_NS;
}

static void rest(weir_mpi *mpi, uint64_t idle_ns) {
  if (idle_ns < SPIN_NS)
    sched_yield();
  else
    sleep_for(mpi, mpi->pending != NULL ? SHORT_SLEEP_NS : LONG_SLEEP_NS);
}

static void look_after(weir_mpi *mpi, uint64_t now) {
  uint64_t interval = weir__mpi_watch_interval(mpi);
  if (weir__mpi_is_fine(mpi) && interval != 0 && now >= mpi->watched_ns + interval) {
    mpi->watched_ns = now;
    weir__mpi_watch(mpi, now);
  }
  if (weir__mpi_is_fine(mpi) && mpi->suspected_ns != 0 && now >= mpi->suspected_ns + SUSPICION_NS)
    weir__mpi_fail(mpi, WEIR_ERROR_INVALID_ARGUMENT, true, "ranks submit different programs: %.400s", mpi->suspicion);
  if (weir__mpi_is_fine(mpi) || mpi->has_cancelled) return;
  mpi->has_cancelled = true;
  mpi->transport->cancel(mpi->transport);
}

void *weir__mpi_progress(void *argument) {
  weir_mpi *mpi = argument;
  prctl(PR_SET_NAME, "weir-mpi");
  prctl(PR_SET_TIMERSLACK, 1000);
  uint64_t busy_ns = weir__mpi_now(), stopped_ns = 0;
  receive_control(mpi);
  for (;;) {
    uint64_t now = weir__mpi_now();
    bool begun = weir__mpi_begin_messages(mpi, now), ended = poll(mpi, now);
    look_after(mpi, now);
    if (begun || ended)
      busy_ns = now;
    else if (has_stopped(mpi) || gives_up(mpi, now, &stopped_ns))
      break;
    else
      rest(mpi, now - busy_ns);
  }
  mpi->transport->close(mpi->transport, !weir__mpi_is_fine(mpi));
  return NULL;
}
