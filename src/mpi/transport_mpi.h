// SPDX-License-Identifier: Apache-2.0
//
// Messages by MPI, on two communicators of the transport's own: contents and control messages do not meet.
#ifndef WEIR_MPI_TRANSPORT_MPI_H
#define WEIR_MPI_TRANSPORT_MPI_H

#include <mpi.h>

#include "transport.h"

// All ranks of the communicator call it. NULL: no memory, or MPI failed.
weir__mpi_transport *weir__mpi_transport_create(MPI_Comm communicator);

#endif // WEIR_MPI_TRANSPORT_MPI_H
