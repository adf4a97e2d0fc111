// SPDX-License-Identifier: Apache-2.0
//
// Memory for large contents that go through the host. It is taken when it is needed, and not when the message is
// submitted, so that submission that runs far ahead takes no more than the messages on their way:
// - A receive gets it in the order of submission, as long as receives have no more than 256 MiB, or send_limit.
//   It is posted then. The oldest one always gets it.
// - A send of a host task gets it when the task runs. A copy out of a buffer must know at its submission where to, so that
//   such a send has it from then on; weir__mpi_send waits for room.
//
// Ranks do not wait for each other in a circle. Of all messages that were submitted on both sides and have not ended, let
// M be the first one in the sequence. Its receiver has no older receive with memory, so M has some, and is posted. Its
// sender's task waits for calls before M alone, which are done.
#ifndef WEIR_MPI_STAGING_H
#define WEIR_MPI_STAGING_H

#include "message.h"

// Contents of so many bytes are apart from the header, and from the message.
enum { WEIR__MPI_STAGING_BYTES = 512 << 10 };

// Takes memory for the contents, for who submits a message or is a task of the host. False: there is none.
bool weir__mpi_stage(weir__mpi_message *message);

// Posts a receive that is submitted as soon as it may have memory. Not under a lock.
void weir__mpi_stage_receive(weir__mpi_message *message);

// Gives back the memory of a message that nobody uses. The receives behind it may go on: weir__mpi_stage_waiting.
void weir__mpi_unstage(weir__mpi_message *message);

// Posts the receives that may have memory now, or all if the job has failed. Not under a lock. Does not wait, and makes no
// call of a driver.
void weir__mpi_stage_waiting(struct weir_mpi *mpi);

#endif // WEIR_MPI_STAGING_H
