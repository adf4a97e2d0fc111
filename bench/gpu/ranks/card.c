// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <stdlib.h>

#include "bench.h"
#include "weir/cuda.h"

static weir_kernel *make(const rank_card *card, const char *name, uint32_t threads, uint32_t blocks) {
  weir_kernel *kernel;
  const weir_cuda_launch launch = {.function = name, .block = {threads}, .grid = {blocks, blocks > 0, blocks > 0}};
  must(weir_kernel_create(card->context, name, &kernel), name);
  must(weir_kernel_set_cuda(kernel, &(weir_cuda_code){.image = cards_code}, &launch, 1), name);
  return kernel;
}

void ranks_open(uint32_t queues, rank_card *out_card) {
  must(weir_context_create(&(weir_context_options){.devices = "cpu:2,cuda", .queues = queues}, &out_card->context),
       "context");
  must(weir_mpi_create(out_card->context, NULL, &out_card->mpi), "job");
  must(weir_mpi_nccl_create(out_card->mpi, NULL, &out_card->nccl), "communicator");
  out_card->card = weir_context_device(out_card->context, 1);
  out_card->rank = weir_mpi_rank(out_card->mpi);
  out_card->size = weir_mpi_size(out_card->mpi);
  out_card->set = make(out_card, "set", 128, 0);
  out_card->step = make(out_card, "step", 128, 0);
  out_card->sum = make(out_card, "sum", 128, 0);
  out_card->spin = make(out_card, "spin", SPIN_THREADS, SPIN_BLOCKS);
  out_card->layer = make(out_card, "layer", SPIN_THREADS, SPIN_BLOCKS);
}

void ranks_close(rank_card *card) {
  must(weir_mpi_finish(card->mpi), "finish");
  must(weir_mpi_nccl_release(card->nccl), "communicator");
  must(weir_mpi_release(card->mpi), "job");
  must(weir_context_release(card->context), "release");
}

void ranks_task(const rank_card *card, weir_kernel *kernel, uint32_t rank, const weir_arg *args, uint32_t arg_count,
                uint32_t groups) {
  const weir_task task = {
      .kernel = kernel, .device = card->card, .args = args, .arg_count = arg_count, .groups = {groups}};
  must(weir_mpi_submit(card->mpi, &task, (int32_t)rank, NULL), "task");
}

void ranks_wait(const rank_card *card) {
  must(weir_finish(card->context), "finish");
}

bool ranks_all(bool here) {
  int own = here, all = 0;
  MPI_Allreduce(&own, &all, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
  return all != 0;
}
