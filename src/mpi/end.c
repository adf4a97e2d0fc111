// SPDX-License-Identifier: Apache-2.0
#include <stdarg.h>
#include <stdio.h>

#include "exchange.h"
#include "job.h"
#include "weir/external.h"

enum {
  SUSPICIONS = 4,    // in a time-out; so long the first call that differs is looked for
  ASK_NS = 50000000, // after which ranks are asked again
};
static const uint64_t FOREVER_NS = UINT64_C(60000000000); // stands for a time-out without end

static void end_send(weir_mpi *mpi, weir__mpi_message *message) {
  if (message->held != NULL && !message->is_abandoned) weir_host_event_signal(message->held, WEIR_OK);
  if (message->kind == WEIR__MPI_SEND) {
    pthread_mutex_lock(&mpi->shared);
    mpi->outgoing_bytes -= message->bytes;
    mpi->outgoing_count--;
    pthread_cond_broadcast(&mpi->changed);
    pthread_mutex_unlock(&mpi->shared);
  }
  weir__mpi_message_release(message);
}

// Takes a copy of why the contents did not come.
static void take_cause(weir__mpi_message *message) {
  const weir__mpi_header *header = message->wire;
  message->status = (weir_status)header->status;
  if (header->status == WEIR_OK) return;
  snprintf(message->cause, sizeof message->cause, "rank %u: %.*s", message->peer, WEIR__MPI_CAUSE - 20,
           (const char *)(header + 1));
}

static void count_receive(weir_mpi *mpi, const weir__mpi_message *message) {
  pthread_mutex_lock(&mpi->shared);
  if (message->status == WEIR_OK) {
    mpi->statistics.messages_received++;
    mpi->statistics.bytes_received += message->bytes;
    mpi->statistics.direct_received += message->device != NULL;
  } else {
    mpi->statistics.poisoned++;
  }
  pthread_mutex_unlock(&mpi->shared);
}

// Has all ranks compare their calls, and tell how far they have.
static void ask_all(weir_mpi *mpi, uint64_t now) {
  pthread_mutex_lock(&mpi->shared);
  weir__mpi_check_flush(mpi);
  for (uint32_t rank = 0; rank < mpi->size; rank++) {
    if (rank != mpi->rank) weir__mpi_control_post(mpi, rank, WEIR__MPI_PING, mpi->suspected, NULL);
  }
  pthread_mutex_unlock(&mpi->shared);
  mpi->asked_ns = now;
}

// Contents do not fit what is waited for. All ranks are asked for their calls, so that the first that differs is found;
// if none is, what was seen here makes the job fail. `sent`: for which call the contents are, as far as that is known.
__attribute__((format(printf, 4, 5))) static void suspect(weir_mpi *mpi, const weir__mpi_message *message,
                                                          uint64_t sent, const char *format, ...) {
  if (mpi->suspected_ns != 0) return;
  va_list arguments;
  va_start(arguments, format);
  pthread_mutex_lock(&mpi->shared);
  vsnprintf(mpi->suspicion, sizeof mpi->suspicion, format, arguments);
  pthread_mutex_unlock(&mpi->shared);
  va_end(arguments);
  mpi->suspected = sent < message->number ? sent : message->number;
  mpi->suspected_ns = weir__mpi_now();
  ask_all(mpi, mpi->suspected_ns);
}

// All ranks have compared their calls up to where the two met that did not fit, and found no difference.
static bool are_alike(weir_mpi *mpi) {
  pthread_mutex_lock(&mpi->shared);
  uint64_t least = weir__mpi_check_compared(mpi);
  pthread_mutex_unlock(&mpi->shared);
  for (uint32_t rank = 0; rank < mpi->size; rank++) {
    if (rank != mpi->rank && mpi->peers[rank].compared < least) least = mpi->peers[rank].compared;
  }
  return least >= mpi->suspected;
}

void weir__mpi_look_after_suspicion(weir_mpi *mpi, uint64_t now) {
  if (mpi->suspected_ns == 0) return;
  uint64_t timeout = mpi->options.timeout_ns == WEIR_FOREVER ? FOREVER_NS : mpi->options.timeout_ns;
  if (are_alike(mpi) || now >= mpi->suspected_ns + timeout / SUSPICIONS)
    weir__mpi_fail(mpi, WEIR_ERROR_INVALID_ARGUMENT, true, "ranks submit different programs: %.400s", mpi->suspicion);
  else if (now >= mpi->asked_ns + ASK_NS)
    ask_all(mpi, now);
}

// The contents did not come: the task says why.
static void take_failure(weir_mpi *mpi, weir__mpi_message *message) {
  message->status = WEIR_ERROR_DEVICE_LOST;
  pthread_mutex_lock(&mpi->shared);
  snprintf(message->cause, sizeof message->cause, "%.*s", WEIR__MPI_CAUSE - 1,
           mpi->failure == WEIR_OK ? mpi->suspicion : mpi->failure_text);
  pthread_mutex_unlock(&mpi->shared);
}

void weir__mpi_message_abandon(weir_mpi *mpi, weir__mpi_message *message) {
  bool receives = message->kind == WEIR__MPI_RECEIVE;
  if (!receives && message->held == NULL) return;
  message->is_abandoned = true;
  if (receives) take_failure(mpi, message);
  if (message->device != NULL)
    weir_host_event_abandon(receives ? message->event : message->held, WEIR_ERROR_DEVICE_LOST);
  else
    weir_host_event_signal(message->event, WEIR_OK);
}

// The task goes on, and has or says what came.
static void let_go(weir__mpi_message *message) {
  weir_host_event_signal(message->event, WEIR_OK);
  weir__mpi_message_release(message);
}

void weir__mpi_settle_doubted(weir_mpi *mpi) {
  while (mpi->doubted != NULL) {
    weir__mpi_message *message = mpi->doubted;
    mpi->doubted = message->next;
    take_failure(mpi, message);
    let_go(message);
  }
}

static void doubt(weir_mpi *mpi, weir__mpi_message *message) {
  message->next = mpi->doubted;
  mpi->doubted = message;
}

static void end_receive(weir_mpi *mpi, weir__mpi_message *message) {
  const weir__mpi_header *header = message->wire;
  bool came = message->error == NULL && weir__mpi_is_fine(mpi);
  if (came && (header->number != message->number || header->hash != message->hash || header->bytes != message->bytes)) {
    suspect(mpi, message, header->number,
            "rank %u sends %llu bytes for its call %llu, and rank %u waits for %llu bytes for its call %llu '%s'",
            message->peer, (unsigned long long)header->bytes, (unsigned long long)header->number, mpi->rank,
            (unsigned long long)message->bytes, (unsigned long long)message->number, message->label);
    doubt(mpi, message);
    return;
  }
  if (message->error != NULL && weir__mpi_is_fine(mpi)) { // more bytes than there is room for
    doubt(mpi, message);
    return;
  }
  if (came) {
    take_cause(message);
    count_receive(mpi, message);
  } else {
    take_failure(mpi, message);
  }
  let_go(message);
}

void weir__mpi_message_end(weir_mpi *mpi, weir__mpi_message *message) {
  if (message->kind != WEIR__MPI_RECEIVE)
    end_send(mpi, message);
  else if (message->is_abandoned)
    weir__mpi_message_release(message);
  else
    end_receive(mpi, message);
}

void weir__mpi_message_error(weir_mpi *mpi, weir__mpi_message *message, const weir__mpi_done *done) {
  message->error = done->error;
  if (done->cancelled) return;
  if (done->truncated)
    suspect(mpi, message, UINT64_MAX,
            "rank %u sends more than the %llu bytes that rank %u waits for in its call %llu '%s'", message->peer,
            (unsigned long long)message->bytes, mpi->rank, (unsigned long long)message->number, message->label);
  else
    weir__mpi_fail(mpi, WEIR_ERROR_DEVICE_LOST, true, "call %llu '%s': a message between ranks %u and %u failed: %s",
                   (unsigned long long)message->number, message->label, mpi->rank, message->peer, done->error);
}
