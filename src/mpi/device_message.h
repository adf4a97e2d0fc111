// SPDX-License-Identifier: Apache-2.0
//
// Messages whose contents MPI takes from, or brings to, the memory of a CUDA device.
#ifndef WEIR_MPI_DEVICE_MESSAGE_H
#define WEIR_MPI_DEVICE_MESSAGE_H

#include "message.h"
#include "weir/enqueue.h"

// Whether a device, or NULL, is one of CUDA.
bool weir__mpi_is_card(const weir_device *device);

// Whether a device is one of this rank's context, which others that a caller names are not.
bool weir__mpi_has_device(const struct weir_mpi *mpi, const weir_device *device);

// The CUDA device that has a range when all tasks submitted so far are done; NULL: none, or messages are not direct.
weir_device *weir__mpi_device_of(const struct weir_mpi *mpi, weir_buffer *local, uint64_t offset, uint64_t bytes);

// From which device a send takes its contents, and to which one a receive brings them, if `device` is to use them; NULL: they go
// through the host.
weir_device *weir__mpi_source(const struct weir_mpi *mpi, weir_buffer *local, uint64_t offset, uint64_t bytes);
weir_device *weir__mpi_destination(const struct weir_mpi *mpi, weir_device *device, uint64_t bytes);

// Whether the contents of a receive, which come through the host, are copied straight to `device`, and not to the buffer's memory of
// the host: they are pinned.
bool weir__mpi_copies_to(const weir__mpi_message *message, const weir_device *device);

// Submit the tasks around a message, in place of its copy. A send has its event then, if it succeeds, and is handed on by who is
// told of its end. A receive hands itself on.
weir_status weir__mpi_send_from_device(weir__mpi_message *message, weir_buffer *local);
weir_status weir__mpi_receive_on_device(weir__mpi_message *message, weir_buffer *local);

// Functions of these tasks.
weir_status weir__mpi_note_address(const weir_enqueue *call);
weir_status weir__mpi_end_hold(const weir_enqueue *call);
weir_status weir__mpi_copy_to_device(const weir_enqueue *call);

#endif // WEIR_MPI_DEVICE_MESSAGE_H
