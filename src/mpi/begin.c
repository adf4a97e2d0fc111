// SPDX-License-Identifier: Apache-2.0
#include "exchange.h"
#include "job.h"

static void put_pending(weir_mpi *mpi, weir__mpi_message *message) {
  message->next = mpi->pending;
  message->place = &mpi->pending;
  if (message->next != NULL) message->next->place = &message->next;
  mpi->pending = message;
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
  if (!weir__mpi_is_fine(mpi) && message->kind != WEIR__MPI_SEND_CONTROL) {
    weir__mpi_message_end(mpi, message);
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
    weir__mpi_fail(mpi, WEIR_ERROR_DEVICE_LOST, true,
                   "a message between ranks %u and %u was refused, or there is no memory for it", mpi->rank,
                   message->peer);
  if (message->pieces_left == 0)
    weir__mpi_message_end(mpi, message);
  else
    put_pending(mpi, message);
}

bool weir__mpi_begin_messages(weir_mpi *mpi, uint64_t now) {
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
