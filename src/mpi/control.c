// SPDX-License-Identifier: Apache-2.0
#include "control.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "job.h"
#include "nccl.h"

void weir__mpi_control_send(weir_mpi *mpi, uint32_t to, const weir__mpi_control *control, size_t bytes) {
  weir__mpi_message *message = weir__mpi_message_create(mpi, WEIR__MPI_SEND_CONTROL, bytes, bytes);
  if (message == NULL) { // not by weir__mpi_fail, which would take the lock, and post in turn
    if (mpi->failure == WEIR_OK) {
      mpi->failure = WEIR_ERROR_OUT_OF_MEMORY;
      snprintf(mpi->failure_text, sizeof mpi->failure_text, "rank %u has no memory for a message", mpi->rank);
      atomic_store_explicit(&mpi->has_failed, true, memory_order_release);
    }
    return;
  }
  message->peer = to;
  memcpy(message->wire, control, bytes);
  mpi->statistics.control_messages++;
  weir__mpi_message_post(message);
}

void weir__mpi_control_post(weir_mpi *mpi, uint32_t to, weir__mpi_control_kind kind, uint64_t number,
                            const char *text) {
  weir__mpi_control control = {.kind = (uint32_t)kind, .status = (uint32_t)mpi->failure, .number = number};
  size_t bytes = offsetof(weir__mpi_control, text);
  if (text != NULL) {
    snprintf(control.text, sizeof control.text, "%s", text);
    bytes += strlen(control.text) + 1;
  }
  weir__mpi_control_send(mpi, to, &control, bytes);
}

void weir__mpi_check_flush(weir_mpi *mpi) {
  weir__mpi_control *check = &mpi->check;
  if (mpi->size == 1 || check->number == mpi->history.own_through) return;
  check->kind = WEIR__MPI_CHECK;
  check->number = mpi->history.own_through;
  weir__mpi_control_send(mpi, weir__mpi_next(mpi), check,
                         offsetof(weir__mpi_control, pairs) + check->count * sizeof check->pairs[0]);
  check->count = 0;
}

void weir__mpi_check_compare(weir_mpi *mpi) {
  uint64_t number = weir__mpi_history_compare(&mpi->history);
  if (number != 0 && mpi->differs == 0) {
    char text[WEIR__MPI_CONTROL_TEXT];
    weir__mpi_history_describe(&mpi->history, number, text, sizeof text);
    mpi->differs = number;
    weir__mpi_control_post(mpi, weir__mpi_previous(mpi), WEIR__MPI_DIFFER, number, text);
  }
  if (mpi->awaited != 0 && mpi->history.other_through >= mpi->awaited && mpi->differs == 0) {
    mpi->awaited = 0;
    pthread_cond_broadcast(&mpi->changed);
  }
}

uint64_t weir__mpi_check_compared(weir_mpi *mpi) {
  weir__mpi_check_compare(mpi); // this rank may have gone on since the last pairs came
  const weir__mpi_history *history = &mpi->history;
  if (mpi->differs != 0) return 0;
  return history->own_through < history->other_through ? history->own_through : history->other_through;
}

static void take_check(weir_mpi *mpi, const weir__mpi_control *control) {
  pthread_mutex_lock(&mpi->shared);
  bool added = weir__mpi_history_add_other(&mpi->history, control->pairs, control->count, control->number);
  if (added) weir__mpi_check_compare(mpi);
  pthread_mutex_unlock(&mpi->shared);
  if (!added) weir__mpi_fail(mpi, WEIR_ERROR_OUT_OF_MEMORY, true, "rank %u has no memory to compare calls", mpi->rank);
}

// Both sides know both texts now: this one gets the other's, and answers with its own.
static void take_differ(weir_mpi *mpi, uint32_t from, const weir__mpi_control *control, bool answers) {
  char own[WEIR__MPI_CONTROL_TEXT / 2];
  pthread_mutex_lock(&mpi->shared);
  weir__mpi_history_describe(&mpi->history, control->number, own, sizeof own);
  if (answers) weir__mpi_control_post(mpi, from, WEIR__MPI_DIFFERS, control->number, own);
  pthread_mutex_unlock(&mpi->shared);
  bool before = mpi->rank < from;
  weir__mpi_fail(mpi, WEIR_ERROR_INVALID_ARGUMENT, !answers,
                 "ranks submit different programs: call %llu of rank %u is %.200s, and that of rank %u is %.200s",
                 (unsigned long long)control->number, before ? mpi->rank : from, before ? own : control->text,
                 before ? from : mpi->rank, before ? control->text : own);
}

static void take_failed(weir_mpi *mpi, uint32_t from, const weir__mpi_control *control) {
  weir__mpi_fail(mpi, (weir_status)control->status, false, "%.400s (says rank %u)", control->text, from);
}

static void take_ping(weir_mpi *mpi, uint32_t from) {
  pthread_mutex_lock(&mpi->shared);
  weir__mpi_check_flush(mpi);
  // Of a call that has returned all is counted, and none is entered meanwhile.
  const weir__mpi_control answer = {.kind = WEIR__MPI_PONG,
                                    .in_call = atomic_load_explicit(&mpi->in_call, memory_order_acquire),
                                    .number = mpi->history.own_through,
                                    .messages = {atomic_load_explicit(&mpi->sent_to[from], memory_order_relaxed),
                                                 atomic_load_explicit(&mpi->received_from[from], memory_order_relaxed),
                                                 mpi->collectives, weir__mpi_check_compared(mpi)}};
  weir__mpi_control_send(mpi, from, &answer, offsetof(weir__mpi_control, messages) + sizeof answer.messages);
  pthread_mutex_unlock(&mpi->shared);
}

static void take_pong(weir_mpi *mpi, uint32_t from, const weir__mpi_control *control) {
  weir__mpi_peer *peer = &mpi->peers[from];
  peer->answered_ns = weir__mpi_now();
  if (control->number > peer->number || peer->number_ns == 0 || control->in_call) {
    peer->number = control->number;
    peer->number_ns = peer->answered_ns;
  }
  peer->completed = control->number - (control->in_call && control->number > 0);
  peer->collectives = control->messages.collectives;
  peer->sends = control->messages.to;
  peer->receives = control->messages.from;
  peer->compared = control->messages.compared;
}

// Rank 0 counts the ranks that have come to their end, itself among them, and tells the others when all have.
static void count_bye(weir_mpi *mpi, uint64_t number) {
  mpi->ends++;
  for (uint32_t rank = 1; mpi->ends == mpi->size && rank < mpi->size; rank++)
    weir__mpi_control_post(mpi, rank, WEIR__MPI_ALL_BYE, number, NULL);
  pthread_cond_broadcast(&mpi->changed);
}

void weir__mpi_bye(weir_mpi *mpi) {
  if (mpi->rank == 0)
    count_bye(mpi, mpi->history.own_through);
  else
    weir__mpi_control_post(mpi, 0, WEIR__MPI_BYE, mpi->history.own_through, NULL);
}

bool weir__mpi_all_ended(const weir_mpi *mpi) {
  return mpi->ends == (mpi->rank == 0 ? mpi->size : 1);
}

static void take_bye(weir_mpi *mpi, const weir__mpi_control *control) {
  pthread_mutex_lock(&mpi->shared);
  count_bye(mpi, control->number);
  pthread_mutex_unlock(&mpi->shared);
}

static void take_all_bye(weir_mpi *mpi) {
  pthread_mutex_lock(&mpi->shared);
  mpi->ends = 1;
  pthread_cond_broadcast(&mpi->changed);
  pthread_mutex_unlock(&mpi->shared);
}

void weir__mpi_control_take(weir_mpi *mpi, uint32_t from, const weir__mpi_control *control) {
  switch ((weir__mpi_control_kind)control->kind) {
  case WEIR__MPI_CHECK:
    take_check(mpi, control);
    break;
  case WEIR__MPI_DIFFER:
    take_differ(mpi, from, control, true);
    break;
  case WEIR__MPI_DIFFERS:
    take_differ(mpi, from, control, false);
    break;
  case WEIR__MPI_PING:
    take_ping(mpi, from);
    break;
  case WEIR__MPI_PONG:
    take_pong(mpi, from, control);
    break;
  case WEIR__MPI_FAILED:
    take_failed(mpi, from, control);
    break;
  case WEIR__MPI_BYE:
    take_bye(mpi, control);
    break;
  case WEIR__MPI_ALL_BYE:
    take_all_bye(mpi);
    break;
  case WEIR__MPI_CLOCK:
    weir__mpi_clock_answer(mpi, from, control);
    break;
  case WEIR__MPI_TIME:
    weir__mpi_clock_take(mpi, control);
    break;
  case WEIR__MPI_READY:
    weir__mpi_nccl_take(mpi, from, control);
    break;
  }
}
