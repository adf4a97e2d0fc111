// SPDX-License-Identifier: Apache-2.0
//
// Takes messages to the transport and from it. Any thread may drive, one at a time: who posts a message, a worker that
// finds no task, who waits for the job, and the progress thread when no one else does.
#ifndef WEIR_MPI_DRIVE_H
#define WEIR_MPI_DRIVE_H

#include <stdbool.h>
#include <stdint.h>

struct weir_mpi;

// Begins the messages that were posted, and ends those that have ended. Whether there were any. If another thread drives,
// that one begins what was posted, and this one does nothing. Does not wait. No lock is held.
bool weir__mpi_drive(struct weir_mpi *mpi);

// The same without looking for messages that have ended: by who posted one, and wants to go on.
void weir__mpi_drive_posted(struct weir_mpi *mpi);

// Becomes the only one to drive, for good.
void weir__mpi_drive_last(struct weir_mpi *mpi);

// Waits for the next message of control. Makes the job fail if it cannot.
void weir__mpi_receive_control(struct weir_mpi *mpi);

// Nanoseconds after which who waits drives again, if nothing had happened: 0, at once, for a while, then a part of the time for
// which nothing has.
uint64_t weir__mpi_drive_again(const struct weir_mpi *mpi);

// Drives until `is_over`. `shared` is held before and after, and when `is_over` is called.
void weir__mpi_drive_until(struct weir_mpi *mpi, bool (*is_over)(const struct weir_mpi *mpi, uint64_t argument),
                           uint64_t argument);

// The function that workers without a task call (weir_context_set_progress).
uint64_t weir__mpi_idle(void *mpi);

#endif // WEIR_MPI_DRIVE_H
