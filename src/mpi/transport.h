// SPDX-License-Identifier: Apache-2.0
//
// What carries messages between ranks. Messages of one channel, sender, receiver and tag arrive in the order in which
// they were sent, and fit receives in the order of these. One thread at a time calls the functions; none of them
// waits, but `close`, which waits for the other ranks unless the job is lost, and then for a fraction of a second.
#ifndef WEIR_MPI_TRANSPORT_H
#define WEIR_MPI_TRANSPORT_H

#include <stdbool.h>
#include <stdint.h>

typedef enum weir__mpi_channel {
  WEIR__MPI_CONTENTS = 0,
  WEIR__MPI_CONTROL = 1, // tag 0
} weir__mpi_channel;

#define WEIR__MPI_ANY_RANK UINT32_MAX

// A send or receive that ended.
typedef struct weir__mpi_done {
  void *token;
  uint32_t source;   // of a receive
  uint64_t bytes;    // of a receive: those that came
  const char *error; // NULL: none. Static, or valid until the next call
  bool cancelled;    // by `cancel`
  bool truncated;    // the message is longer than the receive
} weir__mpi_done;

typedef struct weir__mpi_transport weir__mpi_transport;
struct weir__mpi_transport {
  uint32_t rank, size;
  uint32_t tags; // tags lie below
  // Ranks whose number, other than 0, is the same are on one machine, and have one clock.
  uint64_t machine;
  int64_t skew_ns; // added to this rank's clock, for tests
  // Whether `memory` below may be that of a CUDA device, and who says so or that it may not.
  enum { WEIR__MPI_HOST_MEMORY, WEIR__MPI_DEVICE_MEMORY, WEIR__MPI_CANNOT_TELL } takes;
  const char *takes_text;
  // Begin a message. The memory stays valid until `poll` gives the token back. False: refused, no token comes back.
  bool (*send)(weir__mpi_transport *self, weir__mpi_channel channel, uint32_t to, uint32_t tag, const void *memory,
               uint64_t bytes, void *token);
  bool (*receive)(weir__mpi_transport *self, weir__mpi_channel channel, uint32_t from, uint32_t tag, void *memory,
                  uint64_t bytes, void *token);
  // Gives up to `most` messages that ended.
  uint32_t (*poll)(weir__mpi_transport *self, weir__mpi_done *out_done, uint32_t most);
  // Cancels all messages that can be: `poll` gives their tokens back.
  void (*cancel)(weir__mpi_transport *self);
  // Frees the transport. `lost`: without the other ranks, and with messages left. Returns whether the memory of
  // receives on the channel of control is not used any more.
  bool (*close)(weir__mpi_transport *self, bool lost);
};

#endif // WEIR_MPI_TRANSPORT_H
