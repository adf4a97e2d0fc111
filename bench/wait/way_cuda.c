// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clocks.h"
#include "task.kernels.h"
#include "timing.h"
#include "ways.h"

enum { WORD = 16, WORDS = 32, THREADS = 32 }; // indices of words as in way_weir.c

struct wait_cuda {
  const wait_way *way;
  const nvrtc_card *card;
  CUmodule module;
  CUfunction function;
  CUstream stream;
  CUdeviceptr cells; // all of them
  uint64_t *words;   // pinned
};

static CUdeviceptr cell(const wait_cuda *state, uint32_t index) {
  return state->cells + index * (uint64_t)WAIT_CELL_BYTES;
}

static bool fail(const wait_cuda *state, const char *reason) {
  fprintf(stderr, "weir-bench-wait: %s: %s\n", state->way->name, reason);
  return false;
}

static bool good(const wait_cuda *state, CUresult result, const char *what) {
  char reason[512];
  return nvrtc_card_good(state->card, result, what, reason, sizeof reason) || fail(state, reason);
}

static bool make(wait_cuda *state) {
  const weir__cuda_driver *driver = state->card->driver;
  char reason[1024];
  void *words = NULL;
  if (!nvrtc_card_compile(state->card, "wait_task", task_kernels_source, &state->module, reason, sizeof reason))
    return fail(state, reason);
  CUresult result = driver->cuModuleGetFunction(&state->function, state->module, "wait_task");
  if (result == CUDA_SUCCESS) result = driver->cuStreamCreateWithPriority(&state->stream, CU_STREAM_NON_BLOCKING, 0);
  if (result == CUDA_SUCCESS) result = driver->cuMemAlloc(&state->cells, WAIT_CELLS * WAIT_CELL_BYTES);
  if (result == CUDA_SUCCESS)
    result = driver->cuMemHostAlloc(&words, WORDS * sizeof *state->words,
                                    CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP);
  state->words = words;
  if (result == CUDA_SUCCESS)
    result = driver->cuMemsetD8Async(state->cells, 0, WAIT_CELLS * WAIT_CELL_BYTES, state->stream);
  if (result == CUDA_SUCCESS) result = driver->cuStreamSynchronize(state->stream);
  return good(state, result, "it cannot be set up");
}

wait_cuda *wait_cuda_open(const wait_way *way, const nvrtc_card *card) {
  wait_cuda *state = gpu_memory(1, sizeof *state);
  state->way = way;
  state->card = card;
  if (make(state)) return state;
  wait_cuda_close(state);
  return NULL;
}

void wait_cuda_close(wait_cuda *state) {
  if (state == NULL) return;
  const weir__cuda_driver *driver = state->card->driver;
  if (state->stream != NULL) driver->cuStreamSynchronize(state->stream);
  if (state->stream != NULL) driver->cuStreamDestroy(state->stream);
  if (state->cells != 0) driver->cuMemFree(state->cells);
  if (state->words != NULL) driver->cuMemFreeHost(state->words);
  if (state->module != NULL) driver->cuModuleUnload(state->module);
  free(state);
}

static CUresult launch(const wait_cuda *state, const wait_job *job, uint32_t task) {
  bool last = task + 1 == job->shape->tasks;
  uint32_t inputs[WAIT_INPUTS];
  wait_inputs_of(job->shape, task, inputs);
  CUdeviceptr out = cell(state, wait_cell_of(job->shape, task)), in[WAIT_INPUTS];
  for (int i = 0; i < WAIT_INPUTS; i++) in[i] = cell(state, inputs[i]);
  uint64_t number = job->salt + task, spin_ns = job->spin_ns;
  // Pinned memory has the same address on the card.
  uint64_t word = last && job->sight == WAIT_WORD ? (uintptr_t)(state->words + WORD) : 0;
  void *parameters[] = {&out, &in[0], &in[1], &in[2], &number, &spin_ns, &word};
  return state->card->driver->cuLaunchKernel(state->function, 1, 1, 1, THREADS, 1, 1, 0, state->stream, parameters,
                                             NULL);
}

static CUresult copy_out(const wait_cuda *state, const wait_job *job) {
  CUdeviceptr last = cell(state, wait_cell_of(job->shape, job->shape->tasks - 1));
  return state->card->driver->cuMemcpyAsync((CUdeviceptr)(uintptr_t)state->words, last, WAIT_CELL_BYTES, state->stream);
}

static CUresult await(const wait_cuda *state) {
  const weir__cuda_driver *driver = state->card->driver;
  if (!state->way->asks) return driver->cuStreamSynchronize(state->stream);
  CUresult result;
  do {
    result = driver->cuStreamQuery(state->stream);
  } while (result == CUDA_ERROR_NOT_READY);
  return result;
}

bool wait_cuda_run(wait_cuda *state, const wait_job *job, wait_sample *sample) {
  memset(state->words, 0, WORDS * sizeof *state->words);
  CUresult result = CUDA_SUCCESS;
  sample->submit_ns = wait_clock_ns();
  for (uint32_t t = 0; t < job->shape->tasks && result == CUDA_SUCCESS; t++) result = launch(state, job, t);
  if (result == CUDA_SUCCESS && job->sight == WAIT_COPY) result = copy_out(state, job);
  sample->wait_ns = wait_clock_ns();
  if (result == CUDA_SUCCESS && job->sight == WAIT_WORD) {
    if (!wait_for_word(state->way->name, state->words + WORD, sample)) return false;
  } else if (result == CUDA_SUCCESS) {
    result = await(state);
    sample->seen_ns = wait_clock_ns();
  }
  if (result == CUDA_SUCCESS && job->sight != WAIT_COPY) result = copy_out(state, job);
  if (result == CUDA_SUCCESS) result = state->card->driver->cuStreamSynchronize(state->stream);
  if (!good(state, result, "a call failed")) return false;
  if (job->sight != WAIT_WORD) sample->write_ns = state->words[1];
  return wait_check(state->way->name, job, state->words[0], sample->write_ns);
}
