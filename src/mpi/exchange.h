// SPDX-License-Identifier: Apache-2.0
//
// What who drives does with a message: it begins its pieces, and ends it when all of them have ended.
#ifndef WEIR_MPI_EXCHANGE_H
#define WEIR_MPI_EXCHANGE_H

#include <stdbool.h>
#include <stdint.h>

#include "message.h"
#include "transport.h"

// Begins all messages that were posted; whether there were any.
bool weir__mpi_begin_messages(struct weir_mpi *mpi, uint64_t now);

// Notes how a piece failed, and ends a message whose pieces have ended: a send is freed, and a receive lets its task
// go.
void weir__mpi_message_error(struct weir_mpi *mpi, weir__mpi_message *message, const weir__mpi_done *done);
void weir__mpi_message_end(struct weir_mpi *mpi, weir__mpi_message *message);

// After contents came that did not fit: makes the job fail once it is known, or cannot be found out, that no call differs.
void weir__mpi_look_after_suspicion(struct weir_mpi *mpi, uint64_t now);

// After a failure: lets tasks go whose contents came and did not fit. They fail with the job's failure.
void weir__mpi_settle_doubted(struct weir_mpi *mpi);

// After a failure: lets the task of a receive go that does not end, and contents of a device that are not sent. The message
// is still the transport's, and memory of a device is left to it.
void weir__mpi_message_abandon(struct weir_mpi *mpi, weir__mpi_message *message);

#endif // WEIR_MPI_EXCHANGE_H
