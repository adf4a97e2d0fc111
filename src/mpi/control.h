// SPDX-License-Identifier: Apache-2.0
//
// Messages without contents: comparisons of calls, signs of life, failures, the end.
#ifndef WEIR_MPI_CONTROL_H
#define WEIR_MPI_CONTROL_H

#include <stdbool.h>
#include <stddef.h>

#include "history.h"

typedef enum weir__mpi_control_kind {
  WEIR__MPI_CHECK = 1, // pairs of the rank before, through call `number`
  WEIR__MPI_DIFFER,    // call `number` differs from the sender's, which the text describes
  WEIR__MPI_DIFFERS,   // the answer: the text describes this rank's call
  WEIR__MPI_PING,      // answer with your number
  // `number`: the last call of the sender; `in_call`: it has not returned, or waits for tasks; `messages`.
  WEIR__MPI_PONG,
  WEIR__MPI_FAILED,  // the job has failed with `status`, as the text says
  WEIR__MPI_BYE,     // to rank 0: the sender has come to its end
  WEIR__MPI_ALL_BYE, // from rank 0: all have
  WEIR__MPI_CLOCK,   // to rank 0: answer with the time
  WEIR__MPI_TIME,    // the answer
  // The sender is ready for collective `number` of communicator `count`; a `status` and the text say why it is not. If
  // `in_call` is not 0, it is ready if the collective so many before takes place.
  WEIR__MPI_READY,
} weir__mpi_control_kind;

enum { WEIR__MPI_CHECK_PAIRS = 64, WEIR__MPI_CONTROL_TEXT = 512 };

typedef struct weir__mpi_control {
  uint32_t kind, status, count, in_call;
  uint64_t number;
  union {
    weir__mpi_pair pairs[WEIR__MPI_CHECK_PAIRS];
    char text[WEIR__MPI_CONTROL_TEXT];
    struct {
      uint64_t asked_ns, answered_ns, machine;
    } clock;
    struct {
      uint64_t to, from; // the receiver, by the calls that the sender has submitted
      uint64_t collectives;
      uint64_t compared; // calls up to this one are like those of the rank before the sender
    } messages;
  };
} weir__mpi_control;

struct weir_mpi;

// Posts a message to a rank; `text` may be NULL. `shared` is held. Makes the job fail if there is no memory.
void weir__mpi_control_post(struct weir_mpi *mpi, uint32_t to, weir__mpi_control_kind kind, uint64_t number,
                            const char *text);

// Posts a message whose first `bytes` bytes count. `shared` is held.
void weir__mpi_control_send(struct weir_mpi *mpi, uint32_t to, const weir__mpi_control *control, size_t bytes);

// Sends what the next rank has not got of this rank's calls. `shared` is held.
void weir__mpi_check_flush(struct weir_mpi *mpi);

// Compares calls with those of the rank before, and asks for its text if one differs. `shared` is held.
void weir__mpi_check_compare(struct weir_mpi *mpi);

// The call up to which this rank's calls are compared, and like those of the rank before. `shared` is held.
uint64_t weir__mpi_check_compared(struct weir_mpi *mpi);

// Tells rank 0 that this rank has come to its end; whether all ranks have. `shared` is held.
void weir__mpi_bye(struct weir_mpi *mpi);
bool weir__mpi_all_ended(const struct weir_mpi *mpi);

// Takes a message that came, by the thread that drives.
void weir__mpi_control_take(struct weir_mpi *mpi, uint32_t from, const weir__mpi_control *control);

#endif // WEIR_MPI_CONTROL_H
