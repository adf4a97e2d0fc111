// SPDX-License-Identifier: Apache-2.0
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "messages.h"

enum { MOST_BUFFERS = 8, REPEATS = 3 };
static const uint64_t STREAM_BYTES = UINT64_C(1) << 30; // that are in flight at a time

static void submit(const bench_world *world, weir_mpi *mpi, weir_kernel *kernel, weir_arg arg, uint32_t value,
                   int32_t rank) {
  const weir_arg args[] = {arg, weir_value(&value, sizeof value)};
  const weir_task task = {.kernel = kernel, .device = world->card, .args = args, .arg_count = 2, .label = "touch"};
  must(weir_mpi_submit(mpi, &task, rank, NULL) == WEIR_OK, "submit");
}

static void finish(weir_mpi *mpi) {
  must(weir_mpi_finish(mpi) == WEIR_OK, "finish");
}

static double begin(weir_mpi *mpi) {
  finish(mpi);
  MPI_Barrier(MPI_COMM_WORLD);
  return now_us();
}

// The pattern, with what the last hop wrote.
static void check(bench_world *world, weir_buffer *buffer, uint64_t bytes, uint32_t last) {
  uint32_t *got = malloc(bytes);
  must(got != NULL, "memory to check");
  must(weir_read(buffer, 0, bytes, got) == WEIR_OK, "read");
  bool good = memcmp(got + TOUCHED, world->pattern + TOUCHED, bytes - TOUCHED * 4) == 0;
  for (uint32_t i = 0; i < TOUCHED; i++) good = good && got[i] == last;
  if (!good)
    fprintf(stderr, "weir-gpu-messages: rank %d: contents of %llu bytes are wrong\n", world->rank,
            (unsigned long long)bytes);
  if (!good) world->wrong = true;
  free(got);
}

static double measure_hops(bench_world *world, weir_mpi *mpi, uint64_t bytes) {
  weir_buffer *buffer;
  double best = 0;
  uint32_t value = 0, hops = 2 * world->rounds;
  must(weir_mpi_buffer_create(mpi, bytes, 0, &buffer) == WEIR_OK, "buffer");
  submit(world, mpi, world->fill, weir_writes(buffer), 0, 0);
  for (uint32_t repeat = 0; repeat <= REPEATS; repeat++) { // the first one is not counted
    double began = begin(mpi);
    for (uint32_t i = 0; i < hops; i++)
      submit(world, mpi, world->touch, weir_updates(buffer), ++value, (int32_t)(i + 1) % 2);
    finish(mpi);
    double took = (now_us() - began) / hops;
    if (repeat > 0 && (best == 0 || took < best)) best = took;
  }
  if (world->rank == 0) check(world, buffer, bytes, value);
  must(weir_mpi_fetch(mpi, buffer, 0, WEIR_WHOLE, 1) == WEIR_OK, "fetch");
  if (world->rank == 1) check(world, buffer, bytes, value);
  must(weir_mpi_buffer_release(mpi, buffer) == WEIR_OK, "release");
  return best;
}

static double measure_stream(bench_world *world, weir_mpi *mpi, uint64_t bytes) {
  weir_buffer *buffers[MOST_BUFFERS];
  double best = 0;
  uint32_t count = STREAM_BYTES / bytes < MOST_BUFFERS ? (uint32_t)(STREAM_BYTES / bytes) : MOST_BUFFERS, value = 0;
  for (uint32_t i = 0; i < count; i++) must(weir_mpi_buffer_create(mpi, bytes, 0, &buffers[i]) == WEIR_OK, "buffer");
  for (uint32_t i = 0; i < count; i++) submit(world, mpi, world->fill, weir_writes(buffers[i]), 0, 0);
  for (uint32_t repeat = 0; repeat <= REPEATS; repeat++) {
    double began = begin(mpi);
    for (uint32_t round = 0; round < world->rounds; round++) {
      value++;
      for (uint32_t i = 0; i < count; i++) {
        submit(world, mpi, world->touch, weir_updates(buffers[i]), value, 0);
        submit(world, mpi, world->touch, weir_reads(buffers[i]), value, 1);
      }
    }
    finish(mpi);
    double gbs = (double)(bytes * count * world->rounds) / (now_us() - began) / 1e3;
    if (repeat > 0 && gbs > best) best = gbs;
  }
  for (uint32_t i = 0; i < count; i++) {
    if (world->rank == 1) check(world, buffers[i], bytes, value);
    must(weir_mpi_buffer_release(mpi, buffers[i]) == WEIR_OK, "release");
  }
  return best;
}

measured measure_size(bench_world *world, weir_mpi *mpi, uint64_t bytes) {
  weir_mpi_statistics before, after;
  weir_mpi_get_statistics(mpi, &before);
  double hop_us = measure_hops(world, mpi, bytes), stream_gbs = measure_stream(world, mpi, bytes);
  weir_mpi_get_statistics(mpi, &after);
  return (measured){hop_us, stream_gbs, after.direct_sent - before.direct_sent};
}
