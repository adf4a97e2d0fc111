// SPDX-License-Identifier: Apache-2.0
//
// What an all-reduce over ranks takes by Weir and by plain NCCL, and what overlaps it. Ranks start each measurement together,
// and the slowest one's time counts.
#include <stdio.h>
#include <stdlib.h>

#include "bench.h"
#include "common/clock.h"

enum { LATENCIES = 100, OVERLAPPED = 20, KERNELS = 1, COLLECTIVES = 2 };

static const uint64_t SPIN_NS = 50000, LAYER_NS = 200000, OVERLAP_BYTES = 16 << 20, LAYER_BYTES = 16 << 20;

typedef unsigned long long ull;

typedef struct both_ways {
  rank_card card;
  weir_buffer *buffers[MOST_RANKS];
  plain_card plain;
} both_ways;

static void create_buffers(const rank_card *card, uint64_t bytes, weir_buffer **out_buffers) {
  for (uint32_t rank = 0; rank < card->size; rank++) {
    must(weir_mpi_buffer_create(card->mpi, bytes, rank, &out_buffers[rank]), "buffer");
    if (rank == card->rank) must(weir_fill(out_buffers[rank], 0, WEIR_WHOLE, 0, NULL), "fill");
    must(weir_mpi_written(card->mpi, out_buffers[rank], 0, WEIR_WHOLE, (int32_t)rank), "written");
  }
}

static void open_machine(uint64_t bytes, both_ways *out) {
  ranks_open(0, &out->card);
  create_buffers(&out->card, bytes, out->buffers);
  must(weir_mpi_finish(out->card.mpi), "fill");
  ranks_plain_open(&out->card, bytes, &out->plain);
}

static void close_machine(both_ways *machine) {
  ranks_plain_close(&machine->plain);
  ranks_close(&machine->card);
}

static double begin(void) {
  MPI_Barrier(MPI_COMM_WORLD);
  return weir__bench_seconds();
}

static double end(double start) {
  double own = weir__bench_seconds() - start, longest = 0;
  MPI_Allreduce(&own, &longest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return longest;
}

static void wait_for(const both_ways *machine, bool by_weir) {
  if (by_weir)
    ranks_wait(&machine->card);
  else
    ranks_plain_wait(&machine->plain);
}

static void reduce_by_weir(const both_ways *machine, weir_buffer *const *buffers, uint64_t bytes) {
  must(weir_mpi_nccl_all_reduce(machine->card.nccl, buffers, 0, bytes, WEIR_REDUCE_SUM, WEIR_REDUCE_F32), "all-reduce");
}

// ---------------------------------------------------------------------------------------------------------------
// Sizes

static void reduce(const both_ways *machine, bool by_weir, uint64_t bytes) {
  if (by_weir)
    reduce_by_weir(machine, machine->buffers, bytes);
  else
    ranks_plain_all_reduce(&machine->plain, 0, bytes);
}

static double back_to_back(const both_ways *machine, bool by_weir, uint64_t bytes, uint32_t count) {
  double start = begin();
  for (uint32_t i = 0; i < count; i++) reduce(machine, by_weir, bytes);
  wait_for(machine, by_weir);
  return end(start) / count;
}

// Each is waited for before the next one. They keep the ranks together: a barrier of MPI between them would be part of what is timed,
// as ranks leave it one after the other.
static double alone(const both_ways *machine, bool by_weir, uint64_t bytes) {
  double start = begin();
  for (uint32_t i = 0; i < LATENCIES; i++) {
    reduce(machine, by_weir, bytes);
    wait_for(machine, by_weir);
  }
  return end(start) / LATENCIES;
}

static void measure_size(const both_ways *machine, uint64_t bytes, uint32_t rounds) {
  double single[2][MOST_VALUES], many[2][MOST_VALUES];
  uint32_t count = bytes <= 1 << 20 ? 400 : bytes <= 1 << 26 ? 50 : 20;
  for (uint32_t way = 0; way < 2; way++) back_to_back(machine, way == 1, bytes, 20); // connections
  for (uint32_t round = 0; round < rounds; round++) {
    for (uint32_t way = 0; way < 2; way++) {
      single[way][round] = alone(machine, way == 1, bytes);
      many[way][round] = back_to_back(machine, way == 1, bytes, count);
    }
  }
  if (machine->card.rank == 0) print_size(bytes, single, many, rounds);
}

void ranks_measure_sizes(const ranks_options *options) {
  static const uint64_t KIB[] = {1, 4, 16, 64, 256, 1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10};
  uint32_t sizes = options->quick ? 3 : sizeof KIB / sizeof KIB[0];
  both_ways machine;
  open_machine(KIB[sizes - 1] * 1024, &machine);
  if (machine.card.rank == 0)
    printf("\nAll-reduce of floats over %u ranks, us; medians of %u rounds (least-greatest).\n\n"
           "| bytes | alone: NCCL | alone: Weir | one after another: NCCL | one after another: Weir | GB/s: NCCL | "
           "GB/s: Weir |\n|--:|--:|--:|--:|--:|--:|--:|\n",
           machine.card.size, options->rounds);
  for (uint32_t i = 0; i < sizes; i++) measure_size(&machine, KIB[i] * 1024, options->rounds);
  close_machine(&machine);
}

// ---------------------------------------------------------------------------------------------------------------
// Overlap: chains of kernels that have nothing to do with the collectives; and layers, whose gradients are summed up while
// the next layer computes.

typedef struct overlap_buffers {
  weir_buffer *chains[CHAINS][MOST_RANKS];
  weir_buffer *layers[LAYERS][MOST_RANKS];
  weir_buffer *compute[MOST_RANKS];
} overlap_buffers;

static void chains_by_weir(const both_ways *machine, const overlap_buffers *b, uint32_t what) {
  const rank_card *card = &machine->card;
  for (uint32_t k = 0; k < OVERLAPPED; k++) {
    for (uint32_t i = 0; i < card->size * CHAINS && (what & KERNELS); i++) {
      const weir_arg args[] = {weir_updates(b->chains[i / card->size][i % card->size]),
                               weir_value(&SPIN_NS, sizeof SPIN_NS)};
      ranks_task(card, card->spin, i % card->size, args, 2, 0);
    }
    if (what & COLLECTIVES) reduce_by_weir(machine, machine->buffers, OVERLAP_BYTES);
  }
}

static void chains_by_nccl(const both_ways *machine, uint32_t what) {
  const plain_card *plain = &machine->plain;
  for (uint32_t k = 0; k < OVERLAPPED; k++) {
    for (uint32_t chain = 0; chain < CHAINS && (what & KERNELS); chain++)
      ranks_plain_spin(plain, plain->chains[chain], SPIN_NS);
    if (what & COLLECTIVES) ranks_plain_all_reduce(plain, 0, OVERLAP_BYTES);
  }
}

// A layer's kernel updates what the layer before left, and writes its gradient.
static void layers_by_weir(const both_ways *machine, const overlap_buffers *b, uint32_t what) {
  const rank_card *card = &machine->card;
  for (uint32_t layer = 0; layer < LAYERS; layer++) {
    for (uint32_t rank = 0; rank < card->size && (what & KERNELS); rank++) {
      const weir_arg args[] = {weir_updates(b->layers[layer][rank]), weir_value(&LAYER_NS, sizeof LAYER_NS),
                               weir_updates_range(b->compute[rank], 0, 8)};
      ranks_task(card, card->layer, rank, args, 3, 0);
    }
    if (what & COLLECTIVES) reduce_by_weir(machine, b->layers[layer], WEIR_WHOLE);
  }
}

static void layers_by_nccl(const both_ways *machine, uint32_t what) {
  const plain_card *plain = &machine->plain;
  const weir__cuda_driver *driver = plain->driver;
  for (uint32_t layer = 0; layer < LAYERS; layer++) {
    if (what & KERNELS) ranks_plain_spin(plain, plain->chains[0], LAYER_NS);
    if (what == (KERNELS | COLLECTIVES)) {
      must_cuda(driver->cuEventRecord(plain->event, plain->chains[0]), "event");
      must_cuda(driver->cuStreamWaitEvent(plain->stream, plain->event, CU_EVENT_WAIT_DEFAULT), "event");
    }
    if (what & COLLECTIVES) ranks_plain_all_reduce(plain, layer % 2 * LAYER_BYTES, LAYER_BYTES);
  }
}

static double measure_one(const both_ways *machine, const overlap_buffers *buffers, bool layers, bool by_weir,
                          uint32_t what) {
  double start = begin();
  if (by_weir)
    (layers ? layers_by_weir : chains_by_weir)(machine, buffers, what);
  else
    (layers ? layers_by_nccl : chains_by_nccl)(machine, what);
  wait_for(machine, by_weir);
  return end(start);
}

static void open_buffers(const rank_card *card, overlap_buffers *out) {
  for (uint32_t k = 0; k < CHAINS; k++) create_buffers(card, 4096, out->chains[k]);
  for (uint32_t k = 0; k < LAYERS; k++) create_buffers(card, LAYER_BYTES, out->layers[k]);
  create_buffers(card, 4096, out->compute);
  must(weir_mpi_finish(card->mpi), "fill");
}

static void print_row(uint32_t row, double values[3][MOST_VALUES], uint32_t rounds) {
  const char *way = row % 2 == 0 ? "NCCL" : "Weir";
  if (row < 2)
    printf("| %d chains of %d kernels of %llu us, %d times %llu MiB: %s |", CHAINS, OVERLAPPED, (ull)SPIN_NS / 1000,
           OVERLAPPED, (ull)OVERLAP_BYTES >> 20, way);
  else
    printf("| %d layers of %llu us, each with a gradient of %llu MiB: %s |", LAYERS, (ull)LAYER_NS / 1000,
           (ull)LAYER_BYTES >> 20, way);
  for (uint32_t k = 0; k < 3; k++) {
    spread s = spread_of(values[k], rounds);
    printf(" %.2f (%.2f-%.2f) |", s.median * 1e3, s.least * 1e3, s.greatest * 1e3);
  }
  printf("\n");
  fflush(stdout);
}

void ranks_measure_overlap(const ranks_options *options) {
  static double values[4][3][MOST_VALUES]; // chains or layers by NCCL or Weir; what
  both_ways machine;
  overlap_buffers buffers;
  open_machine(2 * LAYER_BYTES, &machine);
  open_buffers(&machine.card, &buffers);
  for (uint32_t round = 0; round < options->rounds + 1; round++) { // the first one is not counted
    for (uint32_t k = 0; k < 12; k++)
      values[k / 3][k % 3][round == 0 ? 0 : round - 1] =
          measure_one(&machine, &buffers, k / 6 == 1, k / 3 % 2 == 1, 1 + k % 3);
  }
  if (machine.card.rank == 0) {
    printf("\nOverlap over %u ranks, ms; medians of %u rounds (least-greatest).\n\n", machine.card.size,
           options->rounds);
    printf("| | kernels alone | collectives alone | both |\n|---|--:|--:|--:|\n");
    for (uint32_t row = 0; row < 4; row++) print_row(row, values[row], options->rounds);
  }
  close_machine(&machine);
}
