// SPDX-License-Identifier: Apache-2.0
//
// Whether MPI is given addresses in the memory of CUDA devices.
#ifndef WEIR_MPI_DIRECT_H
#define WEIR_MPI_DIRECT_H

#include "weir/weir.h"

struct weir_mpi;

typedef struct weir__mpi_direct {
  bool is_on;
  char reason[160];
  weir_device *card;           // the context's first CUDA device; NULL: it has none
  weir_kernel *address, *hold; // of the tasks around a message (device_message.c); NULL unless it is on
  weir_kernel *copy;           // of a receive into memory of the host for a device; NULL: there is no card
  // Of the driver; NULL: it is not found.
  int (*push)(void *native_context), (*pop)(void **out_native_context);
  int (*get)(int *out_device, int ordinal), (*retain)(void **out_native_context, int device);
  int (*copy_async)(uint64_t to, uint64_t from, size_t bytes, void *stream);
  void *in_use; // CUcontext of the device whose memory was named last; guarded by `driven`
} weir__mpi_direct;

// Decides, and says why. Errors: as weir_mpi_create says.
weir_status weir__mpi_direct_open(struct weir_mpi *mpi);
void weir__mpi_direct_close(weir__mpi_direct *direct);

// MPI may use pinned memory beyond the context: the driver keeps it from then on.
void weir__mpi_direct_keep_pinned(const weir__mpi_direct *direct);

// Around calls of MPI: makes a CUcontext current, in which MPI finds the device's memory; NULL: that is not needed. Returns what
// the end of it is to be told.
bool weir__mpi_direct_enter(weir__mpi_direct *direct, void *native_context);
void weir__mpi_direct_leave(const weir__mpi_direct *direct, bool entered);

#endif // WEIR_MPI_DIRECT_H
