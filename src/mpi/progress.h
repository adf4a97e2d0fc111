// SPDX-License-Identifier: Apache-2.0
//
// The progress thread, which drives when nobody else does (drive.h).
#ifndef WEIR_MPI_PROGRESS_H
#define WEIR_MPI_PROGRESS_H

// Runs until the job stops (weir_mpi.stops), and closes the transport. `argument` is the weir_mpi.
void *weir__mpi_progress(void *argument);

#endif // WEIR_MPI_PROGRESS_H
