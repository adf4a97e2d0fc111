// SPDX-License-Identifier: Apache-2.0
//
// What a task of a random program over ranks does, on the CPU, an OpenCL device and a CUDA device, which is a card or the
// stub driver of tests/cuda/stub.
#ifndef WEIR_TESTS_MPI_DEVICES_H
#define WEIR_TESTS_MPI_DEVICES_H

#include <stdbool.h>

#include "weir/weir.h"

enum { MPI_ARGS = 3, MPI_DEVICES = 4, MPI_MODES = 27 }; // 27: of three buffers

typedef struct mpi_use {
  weir_mode mode;
  uint32_t buffer, offset, bytes;
} mpi_use;

// A copy goes with the task as a value.
typedef struct mpi_work {
  uint64_t seed;
  uint32_t count, fails;
  mpi_use accesses[MPI_ARGS];
} mpi_work;

// Reads all that is read, then writes all that is written.
void mpi_work_perform(const mpi_work *work, uint8_t *const *args);

// The same, as the function of a host task. Fails if the work says so.
void mpi_work_function(const weir_work *work);

// The devices of a context beside its CPU, and kernels for them: by the number of buffers, and for cards by the modes, too,
// since Weir reads in a kernel's code what it writes.
typedef struct mpi_devices {
  weir_device *devices[MPI_DEVICES];
  uint32_t count;
  bool by_modes;
  weir_kernel *kernels[MPI_ARGS][MPI_MODES];
} mpi_devices;

weir_kernel *mpi_devices_kernel(const mpi_devices *devices, const mpi_work *work);

// Finds the devices, and makes the kernels if there are any. The status is of the first call that failed.
weir_status mpi_devices_open(weir_context *context, mpi_devices *out_devices);
weir_status mpi_devices_close(mpi_devices *devices);

// Where the host finds `bytes` bytes of memory that a library gets, which may be of a device of the stub driver; NULL, and a wrong
// use, if they are freed. Other memory is where it is.
void *mpi_devices_memory(const void *memory, uint64_t bytes);

// Wrong uses of the stub driver in this process so far; 0 without it.
uint64_t mpi_devices_violations(void);

#endif // WEIR_TESTS_MPI_DEVICES_H
