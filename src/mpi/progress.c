// SPDX-License-Identifier: Apache-2.0
#include "progress.h"

#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include "job.h"
#include "watch.h"
#include "weir/external.h"

enum {
  BATCH = 64,                // messages that end at once
  SPIN_NS = 20000,           // after the last message the thread only yields for so long,
  SHORT_SLEEP_NS = 20000,    // then it sleeps while contents are on their way,
  LONG_SLEEP_NS = 1000000,   // and longer while there are none
  SUSPICION_NS = 1000000000, // how long the first call that differs is looked for
  LAST_NS = 200000000,       // how long what is left is waited for after a failure
};

static bool is_fine(const weir_mpi *mpi) {
  return !atomic_load_explicit(&mpi->has_failed, memory_order_acquire);
}

static void put_pending(weir_mpi *mpi, weir__mpi_message *message) {
  message->next = mpi->pending;
  message->place = &mpi->pending;
  if (message->next != NULL) message->next->place = &message->next;
  mpi->pending = message;
}

static void take_pending(weir__mpi_message *message) {
  *message->place = message->next;
  if (message->next != NULL) message->next->place = message->place;
}

static void end_send(weir_mpi *mpi, weir__mpi_message *message) {
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
  } else {
    mpi->statistics.poisoned++;
  }
  pthread_mutex_unlock(&mpi->shared);
}

// Contents do not fit what is waited for. All ranks are asked for their calls, so that the first that differs is found;
// if none is, what was seen here makes the job fail.
__attribute__((format(printf, 3, 4))) static void suspect(weir_mpi *mpi, const weir__mpi_message *message,
                                                          const char *format, ...) {
  if (mpi->suspected_ns != 0) return;
  va_list arguments;
  va_start(arguments, format);
  pthread_mutex_lock(&mpi->shared);
  vsnprintf(mpi->suspicion, sizeof mpi->suspicion, format, arguments);
  weir__mpi_check_flush(mpi);
  for (uint32_t rank = 0; rank < mpi->size; rank++) {
    if (rank != mpi->rank) weir__mpi_control_post(mpi, rank, WEIR__MPI_PING, message->number, NULL);
  }
  pthread_mutex_unlock(&mpi->shared);
  va_end(arguments);
  mpi->suspected_ns = weir__mpi_now();
}

static void end_receive(weir_mpi *mpi, weir__mpi_message *message) {
  const weir__mpi_header *header = message->wire;
  bool came = message->error == NULL && is_fine(mpi);
  if (came && (header->number != message->number || header->hash != message->hash || header->bytes != message->bytes)) {
    suspect(mpi, message,
            "rank %u sends %llu bytes for its call %llu, and rank %u waits for %llu bytes for its call %llu '%s'",
            message->peer, (unsigned long long)header->bytes, (unsigned long long)header->number, mpi->rank,
            (unsigned long long)message->bytes, (unsigned long long)message->number, message->label);
    came = false;
  }
  if (came) {
    take_cause(message);
    count_receive(mpi, message);
  } else {
    message->status = WEIR_ERROR_DEVICE_LOST;
    pthread_mutex_lock(&mpi->shared);
    snprintf(message->cause, sizeof message->cause, "%.*s", WEIR__MPI_CAUSE - 1,
             mpi->failure == WEIR_OK ? mpi->suspicion : mpi->failure_text);
    pthread_mutex_unlock(&mpi->shared);
  }
  weir_host_event_signal(message->event, WEIR_OK);
  weir__mpi_message_release(message);
}

static void end(weir_mpi *mpi, weir__mpi_message *message) {
  if (message->kind == WEIR__MPI_RECEIVE)
    end_receive(mpi, message);
  else
    end_send(mpi, message);
}

// The bytes of a piece: what the header and the contents, or the cause in their place, have there.
static uint64_t piece_bytes(const weir__mpi_message *message, uint64_t piece) {
  uint64_t length = weir__mpi_message_length(message), most = message->mpi->options.piece_bytes;
  if (message->kind == WEIR__MPI_SEND_CONTROL) return length;
  if (message->kind == WEIR__MPI_RECEIVE && piece == 0 && length < sizeof(weir__mpi_header) + WEIR__MPI_CAUSE)
    length = sizeof(weir__mpi_header) + WEIR__MPI_CAUSE;
  if (message->kind == WEIR__MPI_SEND && message->wire->status != WEIR_OK)
    length = piece == 0 ? sizeof(weir__mpi_header) + message->wire->text_bytes : 0;
  uint64_t offset = piece * most;
  if (offset >= length) return 0;
  return length - offset < most ? length - offset : most;
}

static bool begin_piece(weir_mpi *mpi, weir__mpi_message *message, uint64_t piece) {
  weir__mpi_transport *transport = mpi->transport;
  unsigned char *memory = (unsigned char *)message->wire + piece * mpi->options.piece_bytes;
  uint64_t bytes = piece_bytes(message, piece);
  if (message->kind == WEIR__MPI_RECEIVE)
    return transport->receive(transport, WEIR__MPI_CONTENTS, message->peer, message->tag, memory, bytes, message);
  weir__mpi_channel channel = message->kind == WEIR__MPI_SEND ? WEIR__MPI_CONTENTS : WEIR__MPI_CONTROL;
  return transport->send(transport, channel, message->peer, message->tag, memory, bytes, message);
}

static void begin(weir_mpi *mpi, weir__mpi_message *message, uint64_t now) {
  if (!is_fine(mpi) && message->kind != WEIR__MPI_SEND_CONTROL) {
    end(mpi, message);
    return;
  }
  message->begun_ns = now;
  uint64_t pieces = message->pieces;
  for (uint64_t piece = 0; piece < pieces; piece++) {
    if (begin_piece(mpi, message, piece))
      message->pieces_left++;
    else
      message->error = "the message was refused";
  }
  if (message->error != NULL)
    weir__mpi_fail(mpi, WEIR_ERROR_DEVICE_LOST, true, "a message from rank %u to rank %u was refused", mpi->rank,
                   message->peer);
  if (message->pieces_left == 0)
    end(mpi, message);
  else
    put_pending(mpi, message);
}

static bool begin_all(weir_mpi *mpi, uint64_t now) {
  if (!atomic_load_explicit(&mpi->has_inbox, memory_order_acquire)) return false;
  pthread_mutex_lock(&mpi->shared);
  weir__mpi_message *message = mpi->inbox;
  mpi->inbox = NULL;
  mpi->inbox_end = &mpi->inbox;
  atomic_store_explicit(&mpi->has_inbox, false, memory_order_relaxed);
  pthread_mutex_unlock(&mpi->shared);
  while (message != NULL) {
    weir__mpi_message *next = message->next;
    begin(mpi, message, now);
    message = next;
  }
  return true;
}

static void receive_control(weir_mpi *mpi) {
  mpi->transport->receive(mpi->transport, WEIR__MPI_CONTROL, WEIR__MPI_ANY_RANK, 0, &mpi->incoming,
                          sizeof mpi->incoming, &mpi->incoming);
}

static void note_error(weir_mpi *mpi, weir__mpi_message *message, const weir__mpi_done *done) {
  message->error = done->error;
  if (done->cancelled) return;
  if (done->truncated)
    suspect(mpi, message, "rank %u sends more than the %llu bytes that rank %u waits for in its call %llu '%s'",
            message->peer, (unsigned long long)message->bytes, mpi->rank, (unsigned long long)message->number,
            message->label);
  else
    weir__mpi_fail(mpi, WEIR_ERROR_DEVICE_LOST, true, "call %llu '%s': a message between ranks %u and %u failed: %s",
                   (unsigned long long)message->number, message->label, mpi->rank, message->peer, done->error);
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
    note_error(mpi, message, done);
  else if (message->kind == WEIR__MPI_RECEIVE)
    mpi->peers[message->peer].heard_ns = now;
  if (--message->pieces_left > 0) return;
  take_pending(message);
  end(mpi, message);
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

// After a failure: what is on its way gets a little time, and is then left. The memory of what cannot be cancelled is not
// freed, since the transport may still use it.
static bool gives_up(weir_mpi *mpi, uint64_t now, uint64_t *stopped_ns) {
  if (is_fine(mpi)) return false;
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
  if (is_fine(mpi) && interval != 0 && now >= mpi->watched_ns + interval) {
    mpi->watched_ns = now;
    weir__mpi_watch(mpi, now);
  }
  if (is_fine(mpi) && mpi->suspected_ns != 0 && now >= mpi->suspected_ns + SUSPICION_NS)
    weir__mpi_fail(mpi, WEIR_ERROR_INVALID_ARGUMENT, true, "ranks submit different programs: %.400s", mpi->suspicion);
  if (is_fine(mpi) || mpi->has_cancelled) return;
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
    bool begun = begin_all(mpi, now), ended = poll(mpi, now);
    look_after(mpi, now);
    if (begun || ended)
      busy_ns = now;
    else if (has_stopped(mpi) || gives_up(mpi, now, &stopped_ns))
      break;
    else
      rest(mpi, now - busy_ns);
  }
  mpi->transport->close(mpi->transport, !is_fine(mpi));
  return NULL;
}
