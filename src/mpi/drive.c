// SPDX-License-Identifier: Apache-2.0
#include "drive.h"

#include <sched.h>

#include "exchange.h"
#include "job.h"
#include "nccl.h"
#include "staging.h"
#include "watch.h"

enum {
  BATCH = 64,                 // messages that end at once
  SPIN_NS = 200000,           // after the last message who waits only gives way to others for so long,
  PART = 8,                   // then it sleeps for such a part of the time since then,
  LONGEST_SLEEP_NS = 1000000, // for so long at most
};

static void take_pending(weir__mpi_message *message) {
  *message->place = message->next;
  if (message->next != NULL) message->next->place = message->place;
}

void weir__mpi_receive_control(weir_mpi *mpi) {
  if (!mpi->transport->receive(mpi->transport, WEIR__MPI_CONTROL, WEIR__MPI_ANY_RANK, 0, &mpi->incoming,
                               sizeof mpi->incoming, &mpi->incoming))
    weir__mpi_fail(mpi, WEIR_ERROR_OUT_OF_MEMORY, true, "rank %u cannot hear other ranks: there is no memory",
                   mpi->rank);
}

static void take_done(weir_mpi *mpi, const weir__mpi_done *done, uint64_t now) {
  if (done->token == &mpi->incoming) {
    if (done->error != NULL) {
      if (!done->cancelled)
        weir__mpi_fail(mpi, WEIR_ERROR_DEVICE_LOST, true, "rank %u cannot hear other ranks: %.200s", mpi->rank,
                       done->error);
      return;
    }
    mpi->peers[done->source].heard_ns = now;
    weir__mpi_control_take(mpi, done->source, &mpi->incoming);
    weir__mpi_receive_control(mpi);
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
  bool entered = weir__mpi_direct_enter(&mpi->direct, mpi->direct.in_use);
  uint32_t count = mpi->transport->poll(mpi->transport, done, BATCH);
  weir__mpi_direct_leave(&mpi->direct, entered);
  for (uint32_t i = 0; i < count; i++) take_done(mpi, &done[i], now);
  return count > 0;
}

// After a failure: cancels what was begun, and lets tasks go on that wait for what cannot be cancelled, since the
// transport has matched it, and does not end.
static void clear(weir_mpi *mpi, uint64_t now) {
  if (mpi->cancelled_ns == 0) {
    mpi->cancelled_ns = now;
    mpi->transport->cancel(mpi->transport);
  } else if (!mpi->has_abandoned && now >= mpi->cancelled_ns + WEIR__MPI_LAST_NS) {
    mpi->has_abandoned = true;
    for (weir__mpi_message *message = mpi->pending; message != NULL; message = message->next)
      weir__mpi_message_abandon(mpi, message);
  }
}

static void look_after(weir_mpi *mpi, uint64_t now) {
  uint64_t interval = weir__mpi_watch_interval(mpi);
  if (weir__mpi_is_fine(mpi) && interval != 0 && now >= mpi->watched_ns + interval) {
    mpi->watched_ns = now;
    weir__mpi_watch(mpi, now);
  }
  if (weir__mpi_is_fine(mpi)) weir__mpi_look_after_suspicion(mpi, now);
  if (weir__mpi_is_fine(mpi)) return;
  weir__mpi_settle_doubted(mpi);
  weir__mpi_stage_waiting(mpi);
  clear(mpi, now);
  weir__mpi_nccl_abort(mpi);
}

// The thread must look again soon, since there is something to look for now.
static void wake_thread(weir_mpi *mpi) {
  pthread_mutex_lock(&mpi->shared);
  atomic_store_explicit(&mpi->sleeps_long, false, memory_order_relaxed);
  pthread_cond_signal(&mpi->wake);
  pthread_mutex_unlock(&mpi->shared);
}

// What one that drives does; `polls`: it also looks for messages that have ended.
static bool turn(weir_mpi *mpi, bool polls) {
  uint64_t now = weir__mpi_now();
  bool any = weir__mpi_begin_messages(mpi, now);
  if (polls) {
    if (poll(mpi, now)) any = true;
    look_after(mpi, now);
    atomic_store_explicit(&mpi->driven_ns, now, memory_order_relaxed);
  }
  if (any) atomic_store_explicit(&mpi->busy_ns, now, memory_order_relaxed);
  bool has_messages = mpi->pending != NULL || mpi->doubted != NULL;
  bool awaits = has_messages || weir__mpi_awaits_collectives(mpi);
  atomic_store_explicit(&mpi->has_pending, awaits, memory_order_relaxed);
  if (has_messages && atomic_load_explicit(&mpi->sleeps_long, memory_order_relaxed)) wake_thread(mpi);
  return any;
}

// Who posts sets `has_inbox` before it finds that another thread drives, and that one looks there after it has stopped:
// one of the two takes what was posted.
static bool drive(weir_mpi *mpi, bool polls) {
  bool any = false;
  do {
    if (atomic_exchange_explicit(&mpi->driven, true, memory_order_seq_cst)) break;
    if (turn(mpi, polls)) any = true;
    atomic_store_explicit(&mpi->driven, false, memory_order_seq_cst);
  } while (atomic_load_explicit(&mpi->has_inbox, memory_order_seq_cst));
  return any;
}

bool weir__mpi_drive(weir_mpi *mpi) {
  return drive(mpi, true);
}

void weir__mpi_drive_posted(weir_mpi *mpi) {
  drive(mpi, false);
}

void weir__mpi_drive_last(weir_mpi *mpi) {
  while (atomic_exchange_explicit(&mpi->driven, true, memory_order_seq_cst)) sched_yield();
}

uint64_t weir__mpi_drive_again(const weir_mpi *mpi) {
  uint64_t busy = atomic_load_explicit(&mpi->busy_ns, memory_order_relaxed), now = weir__mpi_now();
  if (now < busy + SPIN_NS) return 0;
  uint64_t again = (now - busy) / PART;
  return again < LONGEST_SLEEP_NS ? again : LONGEST_SLEEP_NS;
}

uint64_t weir__mpi_idle(void *argument) {
  weir_mpi *mpi = argument;
  if (weir__mpi_drive(mpi)) return 0;
  if (!atomic_load_explicit(&mpi->has_pending, memory_order_relaxed)) return WEIR_FOREVER;
  uint64_t again_ns = weir__mpi_drive_again(mpi);
  if (again_ns == 0) sched_yield();
  return again_ns;
}

void weir__mpi_drive_until(weir_mpi *mpi, bool (*is_over)(const weir_mpi *mpi, uint64_t argument), uint64_t argument) {
  while (!is_over(mpi, argument)) {
    pthread_mutex_unlock(&mpi->shared);
    bool any = weir__mpi_drive(mpi);
    uint64_t again_ns = any ? 0 : weir__mpi_drive_again(mpi);
    if (!any && again_ns == 0) sched_yield();
    pthread_mutex_lock(&mpi->shared);
    if (again_ns > 0 && !is_over(mpi, argument)) weir__mpi_sleep(mpi, &mpi->changed, again_ns);
  }
}
