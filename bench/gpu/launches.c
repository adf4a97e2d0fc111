// SPDX-License-Identifier: Apache-2.0
#include "launches.h"

#include <stdlib.h>

#define EMPTY_KERNEL_US 1.3 // what an empty kernel records

enum { MOST_STREAMS = 16 };

gpu_stat gpu_time(uint32_t runs, void (*pass)(void *argument), void *argument) {
  double *samples = gpu_memory(runs, sizeof *samples);
  for (uint32_t run = 0; run < runs + 3; run++) {
    GPU_CHECK(gpu.synchronize());
    double start = gpu_now_us();
    pass(argument);
    GPU_CHECK(gpu.synchronize());
    if (run >= 3) samples[run - 3] = gpu_now_us() - start;
  }
  gpu_stat stat = gpu_statistics(samples, runs);
  free(samples);
  return stat;
}

// Shared memory with which as many blocks fit a multiprocessor as of the recorded kernel.
static unsigned shared_bytes(unsigned blocks_per_sm, unsigned threads) {
  unsigned by_threads = 2048 / ((threads + 31) / 32 * 32);
  if (by_threads > 32) by_threads = 32;
  if (blocks_per_sm >= by_threads) return 0;
  return (227 * 1024 / blocks_per_sm - 1024) / 128 * 128;
}

static gpu_spin_launch replayed(const weir__stream_kernel *kernel, uint32_t sms) {
  weir__stream_cost cost;
  weir__stream_kernel_cost(kernel, sms, &cost);
  double us = kernel->us > EMPTY_KERNEL_US ? kernel->us - EMPTY_KERNEL_US : 0;
  if (kernel->copy_bytes > 0) return (gpu_spin_launch){.blocks = 8, .threads = 256, .ticks = gpu_spin_ticks(us)};
  unsigned threads = kernel->block[0] * kernel->block[1] * kernel->block[2];
  return (gpu_spin_launch){.blocks = (unsigned)cost.blocks,
                           .threads = threads,
                           .shared_bytes = shared_bytes(cost.blocks_per_sm, threads),
                           .ticks = gpu_spin_ticks(us / (double)cost.waves)};
}

void gpu_program_shape(gpu_program *program, uint32_t sms) {
  program->launches = gpu_memory(program->count, sizeof *program->launches);
  for (uint32_t i = 0; i < program->count; i++)
    program->launches[i] =
        program->kernels[i] ? replayed(program->kernels[i], sms) : (gpu_spin_launch){.blocks = 1, .threads = 32};
}

static void **streams_of_card(void) {
  static void *streams[MOST_STREAMS];
  for (uint32_t s = 0; s < MOST_STREAMS && !streams[s]; s++)
    GPU_CHECK(gpu.stream_create(&streams[s], 1)); // CU_STREAM_NON_BLOCKING
  return streams;
}

static void **events_of_card(uint32_t count) {
  static void **events;
  static uint32_t made;
  if (count <= made) return events;
  void **more = gpu_memory(count, sizeof *more);
  for (uint32_t e = 0; e < made; e++) more[e] = events[e];
  while (made < count) GPU_CHECK(gpu.event_create(&more[made++], 2)); // CU_EVENT_DISABLE_TIMING
  free(events);
  return events = more;
}

// Which stream each launch goes to: that of its first predecessor that is still last there, else round robin.
static void assign(const gpu_program *program, const weir__plan_graph *order, uint32_t stream_count,
                   uint32_t *out_streams) {
  uint32_t last[MOST_STREAMS], robin = 0;
  for (uint32_t s = 0; s < stream_count; s++) last[s] = UINT32_MAX;
  for (uint32_t i = 0; i < program->count; i++) {
    uint32_t stream = UINT32_MAX;
    for (uint64_t e = order->first[i]; e < order->first[i + 1] && stream == UINT32_MAX; e++) {
      uint32_t before = order->predecessors[e];
      if (last[out_streams[before]] == before) stream = out_streams[before];
    }
    if (stream == UINT32_MAX) stream = robin++ % stream_count;
    out_streams[i] = stream;
    last[stream] = i;
  }
}

static void put_in_one(void *argument) {
  const gpu_program *program = argument;
  void *stream = streams_of_card()[0];
  for (uint32_t i = 0; i < program->count; i++) gpu_spin_put(stream, &program->launches[i]);
}

gpu_stat gpu_one_stream_column(const gpu_program *program, uint32_t runs) {
  gpu_program copy = *program;
  return gpu_time(runs, put_in_one, &copy);
}

typedef struct spread {
  const gpu_program *program;
  const weir__plan_graph *order;
  const uint32_t *assigned;
  void **streams, **events;
} spread;

static void put_in_many(void *argument) {
  const spread *all = argument;
  for (uint32_t i = 0; i < all->program->count; i++) {
    uint32_t own = all->assigned[i];
    for (uint64_t e = all->order->first[i]; e < all->order->first[i + 1]; e++) {
      uint32_t before = all->order->predecessors[e];
      if (all->assigned[before] != own) GPU_CHECK(gpu.stream_wait_event(all->streams[own], all->events[before], 0));
    }
    gpu_spin_put(all->streams[own], &all->program->launches[i]);
    if (all->program->last[i]) GPU_CHECK(gpu.event_record(all->events[i], all->streams[own]));
  }
}

gpu_stat gpu_streams_column(const gpu_program *program, const weir__plan_graph *order, uint32_t stream_count,
                            uint32_t runs) {
  uint32_t *assigned = gpu_memory(program->count, sizeof *assigned);
  assign(program, order, stream_count, assigned);
  spread all = {program, order, assigned, streams_of_card(), events_of_card(program->count)};
  gpu_stat stat = gpu_time(runs, put_in_many, &all);
  free(assigned);
  return stat;
}
