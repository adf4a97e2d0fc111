// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

static void open_card(plain_cards *plain, uint32_t i, int ordinal) {
  const weir__cuda_driver *driver = plain->driver;
  CUmodule module;
  must_cuda(driver->cuDevicePrimaryCtxRetain(&plain->context[i], ordinal), "context");
  must_cuda(driver->cuCtxSetCurrent(plain->context[i]), "context");
  must_cuda(driver->cuModuleLoadDataEx(&module, cards_code, 0, NULL, NULL), "module");
  must_cuda(driver->cuModuleGetFunction(&plain->spin[i], module, "spin"), "function");
  must_cuda(driver->cuStreamCreateWithPriority(&plain->stream[i], CU_STREAM_NON_BLOCKING, 0), "stream");
  for (uint32_t k = 0; k < CHAINS; k++)
    must_cuda(driver->cuStreamCreateWithPriority(&plain->chains[i][k], CU_STREAM_NON_BLOCKING, 0), "stream");
  must_cuda(driver->cuEventCreate(&plain->events[i], CU_EVENT_DISABLE_TIMING), "event");
  must_cuda(driver->cuMemAlloc(&plain->memory[i], plain->bytes), "memory");
  must_cuda(driver->cuMemsetD32Async(plain->memory[i], 0, plain->bytes / 4, plain->stream[i]), "memset");
  must_cuda(driver->cuStreamSynchronize(plain->stream[i]), "memset");
}

void plain_open(const bench_options *options, uint64_t bytes, plain_cards *out_plain) {
  char reason[512];
  int ordinals[CARDS];
  *out_plain = (plain_cards){.driver = weir__cuda_driver_load(reason, sizeof reason), .bytes = bytes};
  if (out_plain->driver != NULL) out_plain->nccl = weir__nccl_load(reason, sizeof reason);
  if (out_plain->driver == NULL || out_plain->nccl == NULL) {
    fprintf(stderr, "weir-gpu-nccl: %s\n", reason);
    exit(EXIT_LACKS);
  }
  for (uint32_t i = 0; i < CARDS; i++) {
    ordinals[i] = atoi(options->devices[i] + strlen("cuda:"));
    open_card(out_plain, i, ordinals[i]);
  }
  must_nccl(out_plain->nccl->ncclCommInitAll(out_plain->comms, CARDS, ordinals), "ncclCommInitAll");
}

void plain_close(plain_cards *plain) {
  plain_wait(plain);
  for (uint32_t i = 0; i < CARDS; i++) must_nccl(plain->nccl->ncclCommDestroy(plain->comms[i]), "ncclCommDestroy");
  for (uint32_t i = 0; i < CARDS; i++) {
    must_cuda(plain->driver->cuCtxSetCurrent(plain->context[i]), "context");
    must_cuda(plain->driver->cuMemFree(plain->memory[i]), "memory");
  }
}

void plain_all_reduce(const plain_cards *plain, uint64_t offset, uint64_t bytes) {
  must_nccl(plain->nccl->ncclGroupStart(), "ncclGroupStart");
  for (uint32_t i = 0; i < CARDS; i++) {
    void *data = (void *)(uintptr_t)(plain->memory[i] + offset);
    must_nccl(plain->nccl->ncclAllReduce(data, data, bytes / 4, WEIR__NCCL_FLOAT32, WEIR__NCCL_SUM, plain->comms[i],
                                         plain->stream[i]),
              "ncclAllReduce");
  }
  must_nccl(plain->nccl->ncclGroupEnd(), "ncclGroupEnd");
}

void plain_spin(const plain_cards *plain, uint32_t card, CUstream stream, uint64_t ns) {
  CUdeviceptr data = plain->memory[card];
  void *parameters[] = {&data, &ns};
  must_cuda(plain->driver->cuCtxSetCurrent(plain->context[card]), "context");
  must_cuda(plain->driver->cuLaunchKernel(plain->spin[card], SPIN_BLOCKS, 1, 1, SPIN_THREADS, 1, 1, 0, stream,
                                          parameters, NULL),
            "spin");
}

void plain_wait(const plain_cards *plain) {
  for (uint32_t i = 0; i < CARDS; i++) {
    must_cuda(plain->driver->cuCtxSetCurrent(plain->context[i]), "context");
    for (uint32_t k = 0; k < CHAINS; k++) must_cuda(plain->driver->cuStreamSynchronize(plain->chains[i][k]), "wait");
    must_cuda(plain->driver->cuStreamSynchronize(plain->stream[i]), "wait");
  }
}
