// SPDX-License-Identifier: Apache-2.0
//
// A message between two ranks. Contents are sent from, and received into, memory of their own, so that no message waits
// for tasks that use a buffer, and no task for a message that it does not need:
// - A send is a task that copies the contents and posts the message, or a copy out of the buffer (weir_copy_out) whose
//   end posts it. If the copy was skipped, since the contents are poisoned, the message says so in their place.
// - A receive is begun when it is submitted. A host task behind an event of the host, which overwrites the range,
//   copies what came. It is submitted in the place of the sequence where the bytes are needed, and Weir renames what it
//   overwrites.
// Longer contents travel in pieces, each a message of the transport with the same tag. From weir_mpi_options.direct_bytes
// bytes on, or 512 KiB, the header is a piece of its own, so that either side may have the contents where it likes: in memory
// of a CUDA device (device_message.c), or of the host (staging.h).
#ifndef WEIR_MPI_MESSAGE_H
#define WEIR_MPI_MESSAGE_H

#include <stdatomic.h>

#include "control.h"
#include "weir/weir.h"

// Before the contents. The contents stay aligned to 64 bytes.
typedef struct weir__mpi_header {
  uint64_t number, hash, bytes; // of the call that the contents are for, and of the contents
  uint32_t status;              // not OK: a text of `text_bytes` bytes follows, in place of the contents
  uint32_t text_bytes;
  uint64_t unused[4];
} weir__mpi_header;

enum { WEIR__MPI_CAUSE = 256 }; // most bytes of that text, with its end

typedef enum weir__mpi_message_kind {
  WEIR__MPI_SEND,
  WEIR__MPI_RECEIVE,
  WEIR__MPI_SEND_CONTROL,
} weir__mpi_message_kind;

typedef struct weir__mpi_message weir__mpi_message;
struct weir__mpi_message {
  weir__mpi_message *next, **place; // in the inbox; among those that were begun
  struct weir_mpi *mpi;
  weir__mpi_message_kind kind;
  uint32_t peer, tag;
  uint64_t order;        // among the messages of contents to or from the peer
  uint64_t number, hash; // of the call that it is for
  uint64_t bytes;        // of the contents
  uint64_t buffer, offset;
  uint64_t begun_ns;
  uint64_t pieces, pieces_left;
  const char *error;       // of the transport; NULL: none
  atomic_uint references;  // a receive has three: of the submitter, who drives and the task; a send two
  size_t allocated;        // bytes of memory
  bool is_apart;           // the header is a piece of its own
  bool is_staged;          // the contents have memory of the host apart from the message (staging.h),
  bool is_counted;         // which counts among that of receives,
  size_t staged;           // and has so many bytes; 0: none yet
  weir_device *device;     // MPI takes the contents from its memory, or brings them there; NULL: the host's
  unsigned char *contents; // where they are; NULL: that is not known yet
  void *native_context;    // CUcontext of the device
  void *spare;             // memory for contents that nobody takes; NULL: none
  weir_event *held;   // of a device: SEND: until it ends the contents stay; RECEIVE: until then the task is held that
                      // overwrites in name
  bool is_given;      // SEND: the task that copies has handed it on
  bool is_abandoned;  // what waits for its end was let go before it
  weir_event *event;  // SEND: of the copy; RECEIVE: behind which the task stands
  weir_status status; // RECEIVE: not OK: the contents did not come, for this reason
  char cause[WEIR__MPI_CAUSE];
  char label[WEIR__MPI_LABEL]; // of the call
  weir__mpi_header *wire;      // the header, and the contents behind it; SEND_CONTROL: a weir__mpi_control
};

// Begin a transfer of a range for a call, in its place of the sequence. `sequence` is held. May wait for room.
void weir__mpi_send(struct weir_mpi *mpi, const weir__mpi_call *call, uint32_t to, weir_buffer *buffer, uint64_t offset,
                    uint64_t bytes);
// `device`: that is to use what comes; NULL: the host, or that is not known.
void weir__mpi_receive(struct weir_mpi *mpi, const weir__mpi_call *call, uint32_t from, weir_buffer *buffer,
                       uint64_t offset, uint64_t bytes, weir_device *device);

// A message of `bytes` bytes, with room for `room` bytes behind the header; NULL: no memory.
weir__mpi_message *weir__mpi_message_create(struct weir_mpi *mpi, weir__mpi_message_kind kind, uint64_t bytes,
                                            uint64_t room);
void weir__mpi_message_release(weir__mpi_message *message);

// Hands a send on, with its contents or with the cause why there are none.
void weir__mpi_post_send(weir__mpi_message *message, weir_status status, const char *cause);

// Hands a receive on.
void weir__mpi_post_receive(weir__mpi_message *message);

// A function for weir_event_on_done of a task behind which a send is handed on. It takes a reference.
void weir__mpi_copied(void *message, weir_status status);

// "from rank 7: " and the label of the call; out_label has WEIR__MPI_LABEL bytes.
void weir__mpi_message_label(const weir__mpi_message *message, char *out_label);

// Hands a message to the next thread that drives. `shared` is held.
void weir__mpi_message_post(weir__mpi_message *message);

// How many pieces carry a message.
uint64_t weir__mpi_message_pieces(const weir__mpi_message *message);

#endif // WEIR_MPI_MESSAGE_H
