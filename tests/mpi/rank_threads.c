// SPDX-License-Identifier: Apache-2.0
#include "rank_threads.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *rank_threads_devices[RANK_THREADS_MOST] = {"cpu:1", "cpu:1", "cpu:1", "cpu:1"};
uint32_t rank_threads_flags;
int64_t rank_threads_skew_ns;
void (*rank_threads_after)(rank_run *run);

static const struct {
  const char *name, *devices[RANK_THREADS_MOST];
} ways[] = {
    {"opencl", {"cpu:1,opencl:0", "cpu:1,opencl:0", "cpu:1,opencl:0", "cpu:1,opencl:0"}},
    {"cuda", {"cpu:1,cuda:0", "cpu:1,cuda:1", "cpu:2,cuda:0,cuda:1", "cpu:1,cuda:1"}},
    {"mixed", {"cpu:1,opencl:0,cuda:0", "cpu:2,cuda:1", "cpu:1,opencl:0", "cuda:0,cpu:1,opencl:0"}},
};

bool rank_threads_choose(const char *name) {
  for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
    if (strcmp(name, ways[i].name) == 0) memcpy(rank_threads_devices, ways[i].devices, sizeof ways[i].devices);
  }
  for (uint32_t rank = 0; rank < RANK_THREADS_MOST; rank++) {
    weir_context *context;
    const weir_context_options options = {.devices = rank_threads_devices[rank]};
    if (weir_context_create(&options, &context) != WEIR_OK) {
      printf("%s\n", weir_last_error());
      return false;
    }
    weir_context_release(context);
  }
  return true;
}

static void *run_rank(void *argument) {
  rank_run *run = argument;
  const weir_context_options options = {.devices = rank_threads_devices[run->rank], .flags = rank_threads_flags};
  if (weir_context_create(&options, &run->context) != WEIR_OK) abort();
  weir__mpi_transport *transport = threads_transport(run->job, run->rank);
  transport->skew_ns = rank_threads_skew_ns * (int64_t)run->rank;
  if (weir__mpi_create_over(run->context, &run->options, transport, &run->mpi) != WEIR_OK) abort();
  run->body(run);
  run->released = weir_mpi_release(run->mpi);
  if (run->released != WEIR_OK) snprintf(run->end, sizeof run->end, "%s", weir_last_error());
  if (rank_threads_after != NULL) rank_threads_after(run);
  if (weir_context_release(run->context) != WEIR_OK) abort();
  return NULL;
}

void rank_threads_run(rank_run *runs, uint32_t size, uint64_t seed, const weir_mpi_options *options,
                      void (*body)(rank_run *)) {
  pthread_t threads[RANK_THREADS_MOST];
  threads_job *job = threads_job_create(size);
  for (uint32_t i = 0; i < size; i++) threads_transport(job, i);
  for (uint32_t i = 0; i < size; i++) {
    runs[i] = (rank_run){.job = job, .rank = i, .size = size, .seed = seed, .body = body, .options = *options};
    if (pthread_create(&threads[i], NULL, run_rank, &runs[i]) != 0) abort();
  }
  for (uint32_t i = 0; i < size; i++) pthread_join(threads[i], NULL);
  threads_job_release(job);
}
