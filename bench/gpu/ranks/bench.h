// SPDX-License-Identifier: Apache-2.0
//
// Ranks of MPI that have a card each: what collectives compute, what they take beside plain NCCL, which the same processes
// call, and what overlaps them. Weir and plain CUDA code work in the same primary context of the rank's card.
#ifndef WEIR_BENCH_GPU_RANKS_BENCH_H
#define WEIR_BENCH_GPU_RANKS_BENCH_H

#include <mpi.h>

#include "gpu/nccl/bench.h"
#include "weir/mpi.h"

enum { MOST_RANKS = 4, LAYERS = 16 };

typedef struct ranks_options {
  uint32_t rounds, programs;
  bool quick;
} ranks_options;

// A job over all ranks, each with a worker and its card, and kernels as those of two_cards.
typedef struct rank_card {
  weir_context *context;
  weir_mpi *mpi;
  weir_mpi_nccl *nccl;
  weir_device *card;
  uint32_t rank, size;
  weir_kernel *set, *step, *sum, *spin, *layer;
} rank_card;

void ranks_open(uint32_t queues, rank_card *out_card);
void ranks_close(rank_card *card);

// Submits a kernel of the job; it runs on the card of `rank`.
void ranks_task(const rank_card *card, weir_kernel *kernel, uint32_t rank, const weir_arg *args, uint32_t arg_count,
                uint32_t groups);

// Waits for this rank's tasks.
void ranks_wait(const rank_card *card);

// Whether it holds on all ranks.
bool ranks_all(bool here);

// The rank's card by plain CUDA code and NCCL.
typedef struct plain_card {
  const weir__cuda_driver *driver;
  const weir__nccl_library *nccl;
  CUcontext context;
  CUstream stream;         // of collectives
  CUstream chains[CHAINS]; // of other work
  CUevent event;
  CUfunction spin;
  ncclComm_t comm;
  CUdeviceptr memory; // zeros
  uint64_t bytes;
} plain_card;

void ranks_plain_open(const rank_card *card, uint64_t bytes, plain_card *out_plain);
void ranks_plain_close(plain_card *plain);
void ranks_plain_all_reduce(const plain_card *plain, uint64_t offset, uint64_t bytes);
void ranks_plain_spin(const plain_card *plain, CUstream stream, uint64_t ns);
void ranks_plain_wait(const plain_card *plain); // for all streams

// The parts. Rank 0 prints a table or a line; false: something was wrong.
bool ranks_check_results(const ranks_options *options);
bool ranks_check_programs(const ranks_options *options);
void ranks_measure_sizes(const ranks_options *options);
void ranks_measure_overlap(const ranks_options *options);

#endif // WEIR_BENCH_GPU_RANKS_BENCH_H
