// SPDX-License-Identifier: Apache-2.0
//
// What an all-reduce takes by Weir and by plain NCCL, and what overlaps it.
#include <stdio.h>
#include <stdlib.h>

#include "bench.h"
#include "common/clock.h"

enum { LATENCIES = 20, LAYERS = 16, OVERLAPPED = 20 };

static const uint64_t SPIN_NS = 50000, LAYER_NS = 200000, OVERLAP_BYTES = 16 << 20, LAYER_BYTES = 16 << 20;

typedef unsigned long long ull;

// ---------------------------------------------------------------------------------------------------------------
// Sizes

typedef struct both_ways {
  two_cards cards;
  weir_nccl *nccl;
  weir_buffer *buffers[CARDS];
  plain_cards plain;
} both_ways;

static void open_machine(const bench_options *options, uint64_t bytes, both_ways *out) {
  cards_open(options, 0, &out->cards);
  must(weir_nccl_create(out->cards.context, NULL, &out->nccl), "communicator");
  for (uint32_t i = 0; i < CARDS; i++) {
    must(weir_buffer_create(out->cards.context, bytes, &out->buffers[i]), "buffer");
    must(weir_fill(out->buffers[i], 0, WEIR_WHOLE, 0, NULL), "fill");
  }
  must(weir_finish(out->cards.context), "fill");
  plain_open(options, bytes, &out->plain);
}

static void close_machine(both_ways *machine) {
  plain_close(&machine->plain);
  must(weir_nccl_release(machine->nccl), "communicator");
  cards_close(&machine->cards);
}

static void reduce_by_weir(const both_ways *machine, uint64_t bytes) {
  must(weir_nccl_all_reduce(machine->nccl, machine->buffers, 0, bytes, WEIR_REDUCE_SUM, WEIR_REDUCE_F32, NULL),
       "all-reduce");
}

static double back_to_back(const both_ways *machine, bool by_weir, uint64_t bytes, uint32_t count) {
  double start = weir__bench_seconds();
  for (uint32_t i = 0; i < count; i++) {
    if (by_weir)
      reduce_by_weir(machine, bytes);
    else
      plain_all_reduce(&machine->plain, 0, bytes);
  }
  if (by_weir)
    must(weir_finish(machine->cards.context), "finish");
  else
    plain_wait(&machine->plain);
  return (weir__bench_seconds() - start) / count;
}

static double alone(const both_ways *machine, bool by_weir, uint64_t bytes) {
  double values[LATENCIES];
  for (uint32_t i = 0; i < LATENCIES; i++) values[i] = back_to_back(machine, by_weir, bytes, 1);
  return spread_of(values, LATENCIES).median;
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
  print_size(bytes, single, many, rounds);
}

void measure_sizes(const bench_options *options) {
  static const uint64_t KIB[] = {1, 4, 16, 64, 256, 1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10};
  uint32_t sizes = options->quick ? 3 : sizeof KIB / sizeof KIB[0];
  both_ways machine;
  open_machine(options, KIB[sizes - 1] * 1024, &machine);
  printf("\nAll-reduce of floats on two cards, us; medians of %u rounds (least-greatest).\n\n", options->rounds);
  printf("| bytes | alone: NCCL | alone: Weir | one after another: NCCL | one after another: Weir | GB/s: NCCL | GB/s: "
         "Weir |\n|--:|--:|--:|--:|--:|--:|--:|\n");
  for (uint32_t i = 0; i < sizes; i++) measure_size(&machine, KIB[i] * 1024, options->rounds);
  close_machine(&machine);
}

// ---------------------------------------------------------------------------------------------------------------
// Overlap: chains of kernels that have nothing to do with the collectives; and layers, whose gradients are summed up while
// the next layer computes.

enum { KERNELS = 1, COLLECTIVES = 2, BOTH = 3 };

typedef struct overlap_buffers {
  weir_buffer *buffers[CARDS][CHAINS];
  weir_buffer *layers[LAYERS][CARDS];
  weir_buffer *compute[CARDS];
} overlap_buffers;

static double overlap_by_weir(const both_ways *machine, const overlap_buffers *chains, uint32_t what) {
  double start = weir__bench_seconds();
  for (uint32_t k = 0; k < OVERLAPPED; k++) {
    for (uint32_t i = 0; i < CARDS && (what & KERNELS); i++) {
      for (uint32_t chain = 0; chain < CHAINS; chain++)
        cards_spin(&machine->cards, i, chains->buffers[i][chain], SPIN_NS);
    }
    if (what & COLLECTIVES) reduce_by_weir(machine, OVERLAP_BYTES);
  }
  must(weir_finish(machine->cards.context), "finish");
  return weir__bench_seconds() - start;
}

static double overlap_by_nccl(const both_ways *machine, uint32_t what) {
  const plain_cards *plain = &machine->plain;
  double start = weir__bench_seconds();
  for (uint32_t k = 0; k < OVERLAPPED; k++) {
    for (uint32_t i = 0; i < CARDS && (what & KERNELS); i++) {
      for (uint32_t chain = 0; chain < CHAINS; chain++) plain_spin(plain, i, plain->chains[i][chain], SPIN_NS);
    }
    if (what & COLLECTIVES) plain_all_reduce(plain, 0, OVERLAP_BYTES);
  }
  plain_wait(plain);
  return weir__bench_seconds() - start;
}

// A layer's kernel updates what the layer before left, and writes its gradient.
static void layer_by_weir(const both_ways *machine, const overlap_buffers *chains, uint32_t layer, uint32_t card) {
  weir_arg args[] = {weir_updates(chains->layers[layer][card]), weir_value(&LAYER_NS, sizeof LAYER_NS),
                     weir_updates_range(chains->compute[card], 0, 8)};
  const weir_task task = {
      .kernel = machine->cards.layer, .device = machine->cards.card[card], .args = args, .arg_count = 3};
  must(weir_submit(machine->cards.context, &task, NULL), "layer");
}

static double layers_by_weir(const both_ways *machine, const overlap_buffers *chains, uint32_t what) {
  double start = weir__bench_seconds();
  for (uint32_t layer = 0; layer < LAYERS; layer++) {
    for (uint32_t i = 0; i < CARDS && (what & KERNELS); i++) layer_by_weir(machine, chains, layer, i);
    if (what & COLLECTIVES)
      must(weir_nccl_all_reduce(machine->nccl, chains->layers[layer], 0, WEIR_WHOLE, WEIR_REDUCE_SUM, WEIR_REDUCE_F32,
                                NULL),
           "all-reduce");
  }
  must(weir_finish(machine->cards.context), "finish");
  return weir__bench_seconds() - start;
}

static double layers_by_nccl(const both_ways *machine, uint32_t what) {
  const plain_cards *plain = &machine->plain;
  const weir__cuda_driver *driver = plain->driver;
  double start = weir__bench_seconds();
  for (uint32_t layer = 0; layer < LAYERS; layer++) {
    for (uint32_t i = 0; i < CARDS && (what & KERNELS); i++) {
      plain_spin(plain, i, plain->chains[i][0], LAYER_NS);
      if (!(what & COLLECTIVES)) continue;
      must_cuda(driver->cuEventRecord(plain->events[i], plain->chains[i][0]), "event");
      must_cuda(driver->cuStreamWaitEvent(plain->stream[i], plain->events[i], CU_EVENT_WAIT_DEFAULT), "event");
    }
    if (what & COLLECTIVES) plain_all_reduce(plain, layer % 2 * LAYER_BYTES, LAYER_BYTES);
  }
  plain_wait(plain);
  return weir__bench_seconds() - start;
}

static void open_chains(const both_ways *machine, overlap_buffers *out) {
  weir_context *context = machine->cards.context;
  for (uint32_t i = 0; i < CARDS; i++) {
    for (uint32_t k = 0; k < CHAINS; k++) must(weir_buffer_create(context, 4096, &out->buffers[i][k]), "buffer");
    for (uint32_t k = 0; k < LAYERS; k++) {
      must(weir_buffer_create(context, LAYER_BYTES, &out->layers[k][i]), "buffer");
      must(weir_fill(out->layers[k][i], 0, WEIR_WHOLE, 0, NULL), "fill");
    }
    must(weir_buffer_create(context, 4096, &out->compute[i]), "buffer");
  }
  must(weir_finish(context), "fill");
}

static double measure_one(const both_ways *machine, const overlap_buffers *chains, bool layers, bool by_weir,
                          uint32_t what) {
  if (layers) return by_weir ? layers_by_weir(machine, chains, what) : layers_by_nccl(machine, what);
  return by_weir ? overlap_by_weir(machine, chains, what) : overlap_by_nccl(machine, what);
}

static void print_row(const char *name, double values[3][MOST_VALUES], uint32_t rounds) {
  printf("| %s |", name);
  for (uint32_t k = 0; k < 3; k++) {
    spread s = spread_of(values[k], rounds);
    printf(" %.2f (%.2f-%.2f) |", s.median * 1e3, s.least * 1e3, s.greatest * 1e3);
  }
  printf("\n");
  fflush(stdout);
}

void measure_overlap(const bench_options *options) {
  static double values[2][2][3][MOST_VALUES]; // layers, way, what
  both_ways machine;
  overlap_buffers chains;
  open_machine(options, 2 * LAYER_BYTES, &machine);
  open_chains(&machine, &chains);
  for (uint32_t round = 0; round < options->rounds + 1; round++) { // the first one is not counted
    for (uint32_t k = 0; k < 12; k++)
      values[k / 6][k / 3 % 2][k % 3][round == 0 ? 0 : round - 1] =
          measure_one(&machine, &chains, k / 6 == 1, k / 3 % 2 == 1, 1 + k % 3);
  }
  printf("\nOverlap on two cards, ms; medians of %u rounds (least-greatest).\n\n", options->rounds);
  printf("| | kernels alone | collectives alone | both |\n|---|--:|--:|--:|\n");
  char name[96];
  for (uint32_t k = 0; k < 4; k++) {
    if (k < 2)
      snprintf(name, sizeof name, "%d chains of %d kernels of %llu us, %d times %llu MiB: %s", CHAINS, OVERLAPPED,
               (ull)SPIN_NS / 1000, OVERLAPPED, (ull)OVERLAP_BYTES >> 20, k % 2 == 0 ? "NCCL" : "Weir");
    else
      snprintf(name, sizeof name, "%d layers of %llu us, each with a gradient of %llu MiB: %s", LAYERS,
               (ull)LAYER_NS / 1000, (ull)LAYER_BYTES >> 20, k % 2 == 0 ? "NCCL" : "Weir");
    print_row(name, values[k / 2][k % 2], options->rounds);
  }
  close_machine(&machine);
}
