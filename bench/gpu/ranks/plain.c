// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

static void join(const rank_card *card, plain_card *plain) {
  weir__nccl_id id = {0};
  if (card->rank == 0) must_nccl(plain->nccl->ncclGetUniqueId(&id), "ncclGetUniqueId");
  MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD);
  must_nccl(plain->nccl->ncclCommInitRank(&plain->comm, (int)card->size, id, (int)card->rank), "ncclCommInitRank");
}

void ranks_plain_open(const rank_card *card, uint64_t bytes, plain_card *out_plain) {
  char reason[512];
  CUmodule module;
  *out_plain = (plain_card){.driver = weir__cuda_driver_load(reason, sizeof reason), .bytes = bytes};
  if (out_plain->driver != NULL) out_plain->nccl = weir__nccl_load(reason, sizeof reason);
  if (out_plain->driver == NULL || out_plain->nccl == NULL) {
    fprintf(stderr, "weir-gpu-ranks: %s\n", reason);
    exit(EXIT_LACKS);
  }
  const weir__cuda_driver *driver = out_plain->driver;
  int ordinal = atoi(weir_device_information(card->card)->name + strlen("cuda:"));
  must_cuda(driver->cuDevicePrimaryCtxRetain(&out_plain->context, ordinal), "context");
  must_cuda(driver->cuCtxSetCurrent(out_plain->context), "context");
  must_cuda(driver->cuModuleLoadDataEx(&module, cards_code, 0, NULL, NULL), "module");
  must_cuda(driver->cuModuleGetFunction(&out_plain->spin, module, "spin"), "function");
  must_cuda(driver->cuStreamCreateWithPriority(&out_plain->stream, CU_STREAM_NON_BLOCKING, 0), "stream");
  for (uint32_t k = 0; k < CHAINS; k++)
    must_cuda(driver->cuStreamCreateWithPriority(&out_plain->chains[k], CU_STREAM_NON_BLOCKING, 0), "stream");
  must_cuda(driver->cuEventCreate(&out_plain->event, CU_EVENT_DISABLE_TIMING), "event");
  must_cuda(driver->cuMemAlloc(&out_plain->memory, bytes), "memory");
  must_cuda(driver->cuMemsetD32Async(out_plain->memory, 0, bytes / 4, out_plain->stream), "memset");
  must_cuda(driver->cuStreamSynchronize(out_plain->stream), "memset");
  join(card, out_plain);
}

void ranks_plain_close(plain_card *plain) {
  ranks_plain_wait(plain);
  must_nccl(plain->nccl->ncclCommDestroy(plain->comm), "ncclCommDestroy");
  must_cuda(plain->driver->cuCtxSetCurrent(plain->context), "context");
  must_cuda(plain->driver->cuMemFree(plain->memory), "memory");
}

void ranks_plain_all_reduce(const plain_card *plain, uint64_t offset, uint64_t bytes) {
  void *data = (void *)(uintptr_t)(plain->memory + offset);
  must_nccl(
      plain->nccl->ncclAllReduce(data, data, bytes / 4, WEIR__NCCL_FLOAT32, WEIR__NCCL_SUM, plain->comm, plain->stream),
      "ncclAllReduce");
}

void ranks_plain_spin(const plain_card *plain, CUstream stream, uint64_t ns) {
  CUdeviceptr data = plain->memory;
  void *parameters[] = {&data, &ns};
  must_cuda(
      plain->driver->cuLaunchKernel(plain->spin, SPIN_BLOCKS, 1, 1, SPIN_THREADS, 1, 1, 0, stream, parameters, NULL),
      "spin");
}

void ranks_plain_wait(const plain_card *plain) {
  must_cuda(plain->driver->cuCtxSetCurrent(plain->context), "context");
  for (uint32_t k = 0; k < CHAINS; k++) must_cuda(plain->driver->cuStreamSynchronize(plain->chains[k]), "wait");
  must_cuda(plain->driver->cuStreamSynchronize(plain->stream), "wait");
}
