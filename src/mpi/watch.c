// SPDX-License-Identifier: Apache-2.0
#include "watch.h"

#include <stdio.h>

#include "job.h"
#include "nccl.h"

enum { LOOKS = 16, PINGS = 4 }; // in a time-out

// The oldest thing that this rank waits for from another one.
typedef struct waiting {
  uint64_t since;  // 0: nothing
  uint64_t number; // of the call that the other rank must submit
  bool is_unknown; // the other rank does not know of a message
  char what[256];
} waiting;

uint64_t weir__mpi_watch_interval(const weir_mpi *mpi) {
  return mpi->options.timeout_ns == WEIR_FOREVER ? 0 : mpi->options.timeout_ns / LOOKS + 1;
}

static void describe(const weir_mpi *mpi, const weir__mpi_message *message, waiting *out_waiting) {
  bool sends = message->kind == WEIR__MPI_SEND;
  snprintf(out_waiting->what, sizeof out_waiting->what,
           "call %llu '%s' of rank %u %s bytes %llu to %llu of buffer %llu %s it", (unsigned long long)message->number,
           message->label, mpi->rank, sends ? "sends" : "waits for", (unsigned long long)message->offset,
           (unsigned long long)(message->offset + message->bytes), (unsigned long long)message->buffer,
           sends ? "to" : "from");
}

// The other rank has submitted the call of the message, and has no such message: it left out what concerns it
// (weir_mpi_skip), or its calls differ.
static bool is_unknown(const weir__mpi_peer *peer, const weir__mpi_message *message) {
  uint64_t known = message->kind == WEIR__MPI_SEND ? peer->receives : peer->sends;
  return peer->completed >= message->number && known <= message->order;
}

static void find_message(const weir_mpi *mpi, uint32_t peer, waiting *out_waiting) {
  for (const weir__mpi_message *message = mpi->pending; message != NULL; message = message->next) {
    if (message->peer != peer || message->kind == WEIR__MPI_SEND_CONTROL) continue;
    out_waiting->is_unknown = is_unknown(&mpi->peers[peer], message);
    if (!out_waiting->is_unknown && out_waiting->since != 0 && message->begun_ns >= out_waiting->since) continue;
    out_waiting->since = message->begun_ns;
    out_waiting->number = message->number;
    describe(mpi, message, out_waiting);
    if (out_waiting->is_unknown) return;
  }
}

// A comparison, or the end of all ranks, which rank 0 tells.
static void find_wait(weir_mpi *mpi, uint32_t peer, waiting *out_waiting) {
  pthread_mutex_lock(&mpi->shared);
  bool waits = mpi->awaited != 0 && peer == weir__mpi_previous(mpi);
  if (waits && !out_waiting->is_unknown && (out_waiting->since == 0 || mpi->awaited_ns < out_waiting->since)) {
    out_waiting->since = mpi->awaited_ns;
    out_waiting->number = mpi->awaited;
    snprintf(out_waiting->what, sizeof out_waiting->what, "rank %u waits for it to come to call %llu, which is the end",
             mpi->rank, (unsigned long long)mpi->awaited);
  }
  if (mpi->ending_ns != 0 && out_waiting->since == 0 && (mpi->rank == 0 || peer == 0)) {
    out_waiting->since = mpi->ending_ns;
    snprintf(out_waiting->what, sizeof out_waiting->what, "rank %u waits for the end of all ranks", mpi->rank);
  }
  pthread_mutex_unlock(&mpi->shared);
}

// A collective, for which this rank is ready, or a communicator that NCCL makes when all ranks have come.
static void find_collective(weir_mpi *mpi, uint32_t peer, waiting *out_waiting) {
  pthread_mutex_lock(&mpi->shared);
  const struct weir__mpi_readiness *at = weir__mpi_nccl_waits(mpi, peer);
  const weir__mpi_peer *other = &mpi->peers[peer];
  bool is_unknown = at != NULL && other->completed >= at->call && other->collectives < at->order;
  bool is_older = at != NULL && (out_waiting->since == 0 || at->since_ns < out_waiting->since);
  if (!out_waiting->is_unknown && (is_unknown || is_older)) {
    *out_waiting = (waiting){.since = at->since_ns, .number = at->call, .is_unknown = is_unknown};
    snprintf(out_waiting->what, sizeof out_waiting->what,
             "rank %u waits for it to be ready for call %llu, the collective %s of NCCL", mpi->rank,
             (unsigned long long)at->call, at->name);
  }
  if (mpi->joining_ns != 0 && out_waiting->since == 0) {
    *out_waiting = (waiting){.since = mpi->joining_ns, .number = mpi->joining};
    snprintf(out_waiting->what, sizeof out_waiting->what, "rank %u waits for it in weir_mpi_nccl_create", mpi->rank);
  }
  pthread_mutex_unlock(&mpi->shared);
}

static uint64_t later(uint64_t a, uint64_t b) {
  return a > b ? a : b;
}

static void ping(weir_mpi *mpi, uint32_t rank, uint64_t now) {
  mpi->peers[rank].pinged_ns = now;
  pthread_mutex_lock(&mpi->shared);
  weir__mpi_check_flush(mpi);
  weir__mpi_control_post(mpi, rank, WEIR__MPI_PING, 0, NULL);
  pthread_mutex_unlock(&mpi->shared);
}

static void fail_unknown(weir_mpi *mpi, uint32_t rank, const waiting *waits) {
  weir__mpi_fail(
      mpi, WEIR_ERROR_INVALID_ARGUMENT, true,
      "ranks submit different programs: rank %u has submitted call %llu, and has no part in what rank %u waits for: %s",
      rank, (unsigned long long)mpi->peers[rank].number, mpi->rank, waits->what);
}

static void fail(weir_mpi *mpi, uint32_t rank, const waiting *waits, bool lost) {
  double seconds = (double)mpi->options.timeout_ns / 1e9;
  if (lost)
    weir__mpi_fail(mpi, WEIR_ERROR_DEVICE_LOST, true, "rank %u is lost: nothing was heard of it for %g s; %s", rank,
                   seconds, waits->what);
  else
    weir__mpi_fail(mpi, WEIR_ERROR_DEVICE_LOST, true, "rank %u has stayed at call %llu for %g s; %s", rank,
                   (unsigned long long)mpi->peers[rank].number, seconds, waits->what);
}

// It gives signs of life. One that does not is lost soon, wherever it was last.
static bool answers(const weir_mpi *mpi, const weir__mpi_peer *peer, uint64_t now) {
  return peer->answered_ns != 0 && now < peer->answered_ns + mpi->options.timeout_ns / 2;
}

void weir__mpi_watch(weir_mpi *mpi, uint64_t now) {
  uint64_t timeout = mpi->options.timeout_ns;
  for (uint32_t rank = 0; rank < mpi->size; rank++) {
    waiting waits = {0};
    weir__mpi_peer *peer = &mpi->peers[rank];
    find_message(mpi, rank, &waits);
    find_wait(mpi, rank, &waits);
    find_collective(mpi, rank, &waits);
    if (rank == mpi->rank || waits.since == 0 || now < waits.since + timeout / PINGS) continue;
    if (now >= peer->pinged_ns + timeout / PINGS) ping(mpi, rank, now);
    if (waits.is_unknown)
      fail_unknown(mpi, rank, &waits);
    else if (now >= later(waits.since, peer->heard_ns) + timeout)
      fail(mpi, rank, &waits, true);
    else if (answers(mpi, peer, now) && peer->number < waits.number &&
             now >= later(waits.since, peer->number_ns) + timeout)
      fail(mpi, rank, &waits, false);
  }
}
