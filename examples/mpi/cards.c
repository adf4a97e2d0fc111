// SPDX-License-Identifier: Apache-2.0
//
// A sum over ranks that have a card each: every rank fills a gradient on its card, NCCL adds all of them up, and every
// rank reads the sum. Without a card or NCCL it says why, and exits with 3.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <weir/mpi.h>

enum { COUNT = 1 << 20, LACKS = 3 };

static void check(weir_status status) {
  if (status == WEIR_OK) return;
  fprintf(stderr, "mpi_cards: %s\n", weir_last_error());
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static void fill(const weir_work *work) {
  float *gradient = work->args[0];
  const uint32_t *rank = work->args[1];
  for (uint32_t i = 0; i < COUNT; i++) gradient[i] = (float)(*rank + 1);
}

// Every rank submits all tasks; each runs on the rank that owns its buffer.
static void sum_up(weir_mpi *mpi, weir_mpi_nccl *nccl, weir_buffer **gradients) {
  uint32_t size = weir_mpi_size(mpi);
  for (uint32_t rank = 0; rank < size; rank++) {
    check(weir_mpi_buffer_create(mpi, COUNT * sizeof(float), rank, &gradients[rank]));
    weir_arg args[] = {weir_writes(gradients[rank]), weir_value(&rank, sizeof rank)};
    const weir_task task = {.host = fill, .args = args, .arg_count = 2, .label = "fill"};
    check(weir_mpi_submit(mpi, &task, WEIR_MPI_OWNER, NULL));
  }
  check(weir_mpi_nccl_all_reduce(nccl, gradients, 0, WEIR_WHOLE, WEIR_REDUCE_SUM, WEIR_REDUCE_F32));
  check(weir_mpi_nccl_broadcast(nccl, gradients, 0, sizeof(float), 0)); // the same number, once more
  check(weir_mpi_nccl_reduce(nccl, gradients, 0, sizeof(float), WEIR_REDUCE_MAX, WEIR_REDUCE_F32, 0));
}

static int run(weir_mpi *mpi) {
  uint32_t rank = weir_mpi_rank(mpi), size = weir_mpi_size(mpi);
  weir_mpi_nccl *nccl;
  weir_status status = weir_mpi_nccl_create(mpi, NULL, &nccl);
  if (status == WEIR_ERROR_UNAVAILABLE) {
    if (rank == 0) fprintf(stderr, "mpi_cards: %s\n", weir_last_error());
    return LACKS;
  }
  check(status);
  weir_buffer **gradients = calloc(size, sizeof *gradients);
  float got = 0, wanted = (float)(size * (size + 1) / 2);
  if (gradients == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
  sum_up(mpi, nccl, gradients);
  check(weir_read(gradients[rank], (COUNT - 1) * sizeof got, sizeof got, &got)); // this rank's own
  check(weir_mpi_finish(mpi));
  printf("rank %u: %g\n", rank, (double)got);
  check(weir_mpi_nccl_release(nccl));
  free(gradients);
  return got == wanted ? 0 : 1;
}

int main(int argc, char **argv) {
  int threads;
  weir_context *context;
  weir_mpi *mpi;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &threads);
  // Each rank of a machine takes another card.
  weir_status status = weir_context_create(&(weir_context_options){.devices = "cpu:1,cuda"}, &context);
  if (status == WEIR_ERROR_UNAVAILABLE) status = weir_context_create(NULL, &context);
  check(status);
  check(weir_mpi_create(context, NULL, &mpi));
  int code = run(mpi);
  check(weir_mpi_release(mpi));
  check(weir_context_release(context));
  MPI_Finalize();
  return fflush(stdout) == 0 ? code : 1;
}
