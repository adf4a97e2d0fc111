// SPDX-License-Identifier: Apache-2.0
#include "exchange.h"
#include "job.h"

static void put_pending(weir_mpi *mpi, weir__mpi_message *message) {
  message->next = mpi->pending;
  message->place = &mpi->pending;
  if (message->next != NULL) message->next->place = &message->next;
  mpi->pending = message;
}

typedef struct piece {
  unsigned char *memory;
  uint64_t bytes;
} piece;

// Of `bytes` bytes from `first` on, those of piece number `index`.
static piece cut(unsigned char *first, uint64_t bytes, uint64_t index, uint64_t most) {
  uint64_t offset = index * most;
  if (offset >= bytes) return (piece){first, 0};
  return (piece){first + offset, bytes - offset < most ? bytes - offset : most};
}

// What a piece carries of the header and the contents, or of the cause in their place.
static piece find_piece(const weir__mpi_message *message, uint64_t index) {
  unsigned char *wire = (unsigned char *)message->wire;
  uint64_t most = message->mpi->options.piece_bytes, header = sizeof(weir__mpi_header);
  bool sends = message->kind == WEIR__MPI_SEND, apart = message->is_apart;
  if (message->kind == WEIR__MPI_SEND_CONTROL) return (piece){wire, message->bytes};
  if (sends && message->wire->status != WEIR_OK)
    return index == 0 ? (piece){wire, header + message->wire->text_bytes} : (piece){wire, 0};
  if (apart && index == 0) return (piece){wire, header + (sends ? 0 : WEIR__MPI_CAUSE)};
  if (apart) return cut(message->contents, message->bytes, index - 1, most);
  uint64_t length = header + message->bytes;
  if (!sends && index == 0 && message->bytes < WEIR__MPI_CAUSE) length = header + WEIR__MPI_CAUSE;
  return cut(wire, length, index, most);
}

static bool begin_piece(weir_mpi *mpi, weir__mpi_message *message, uint64_t index) {
  weir__mpi_transport *transport = mpi->transport;
  piece at = find_piece(message, index);
  if (message->kind == WEIR__MPI_RECEIVE)
    return transport->receive(transport, WEIR__MPI_CONTENTS, message->peer, message->tag, at.memory, at.bytes, message);
  weir__mpi_channel channel = message->kind == WEIR__MPI_SEND ? WEIR__MPI_CONTENTS : WEIR__MPI_CONTROL;
  return transport->send(transport, channel, message->peer, message->tag, at.memory, at.bytes, message);
}

static void begin(weir_mpi *mpi, weir__mpi_message *message, uint64_t now) {
  if (!weir__mpi_is_fine(mpi) && message->kind != WEIR__MPI_SEND_CONTROL) {
    weir__mpi_message_end(mpi, message);
    return;
  }
  message->begun_ns = now;
  uint64_t pieces = message->pieces;
  bool entered = weir__mpi_direct_enter(&mpi->direct, message->native_context);
  for (uint64_t i = 0; i < pieces; i++) {
    if (begin_piece(mpi, message, i))
      message->pieces_left++;
    else
      message->error = "the message was refused";
  }
  weir__mpi_direct_leave(&mpi->direct, entered);
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
