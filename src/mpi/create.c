// SPDX-License-Identifier: Apache-2.0
#include "job.h"
#include "transport_mpi.h"

static weir_status check_mpi(void) {
  int initialized = 0, finalized = 0, threads = 0;
  MPI_Initialized(&initialized);
  MPI_Finalized(&finalized);
  if (!initialized || finalized)
    return weir__mpi_error(WEIR_ERROR_INVALID_ARGUMENT, "MPI is not initialised: call MPI_Init_thread first");
  MPI_Query_thread(&threads);
  if (threads < MPI_THREAD_SERIALIZED)
    return weir__mpi_error(WEIR_ERROR_INVALID_ARGUMENT,
                           "MPI was initialised without support for threads: ask MPI_Init_thread for "
                           "MPI_THREAD_MULTIPLE, or for MPI_THREAD_SERIALIZED if the program itself does not call MPI");
  return WEIR_OK;
}

weir_status weir_mpi_create_sized(weir_context *context, const weir_mpi_options *options, size_t options_size,
                                  weir_mpi **out_mpi) {
  if (out_mpi == NULL) return weir__mpi_error(WEIR_ERROR_INVALID_ARGUMENT, "weir_mpi_create: out_mpi is NULL");
  *out_mpi = NULL;
  if (context == NULL) return weir__mpi_error(WEIR_ERROR_INVALID_ARGUMENT, "weir_mpi_create: the context is NULL");
  weir_mpi_options known;
  weir_status status = weir__mpi_take_struct(&known, sizeof known, options, options_size, "weir_mpi_create");
  if (status == WEIR_OK) status = check_mpi();
  if (status != WEIR_OK) return status;
  MPI_Comm communicator = known.communicator == NULL ? MPI_COMM_WORLD : *(const MPI_Comm *)known.communicator;
  weir__mpi_transport *transport = weir__mpi_transport_create(communicator);
  if (transport == NULL)
    return weir__mpi_error(WEIR_ERROR_UNAVAILABLE, "the communicator could not be duplicated, or there is no memory");
  return weir__mpi_create_over(context, &known, transport, out_mpi);
}
