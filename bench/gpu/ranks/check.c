// SPDX-License-Identifier: Apache-2.0
//
// What collectives over ranks compute: every type, operator and root, and random programs against a model. All ranks make
// the same choices. A deadlock shows as a hang, which the program's own time-out ends.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

enum { NUMBERS = 1000, COUNT = 4096, BUFFERS = 12, TASKS = 120, CASES = 3 };

typedef unsigned long long ull;

typedef enum collective { ALL_REDUCE, REDUCE, BROADCAST } collective;

// Small enough for products of all ranks.
static int32_t number_of(uint32_t rank, uint32_t index) {
  return (int32_t)(index * (2 * rank + 1) % (5 + rank % 2));
}

static int32_t wanted_of(const rank_card *card, collective kind, weir_reduce_operation operation, uint32_t root,
                         uint32_t index) {
  if (kind == REDUCE && card->rank != root) return number_of(card->rank, index);
  if (kind == BROADCAST) return number_of(root, index);
  int32_t value = number_of(0, index);
  for (uint32_t rank = 1; rank < card->size; rank++) value = combine_numbers(operation, value, number_of(rank, index));
  return value;
}

static void submit(const rank_card *card, weir_buffer *const *buffers, uint64_t offset, uint64_t bytes, collective kind,
                   weir_reduce_operation operation, weir_reduce_type type, uint32_t root) {
  if (kind == ALL_REDUCE)
    must(weir_mpi_nccl_all_reduce(card->nccl, buffers, offset, bytes, operation, type), "all-reduce");
  else if (kind == REDUCE)
    must(weir_mpi_nccl_reduce(card->nccl, buffers, offset, bytes, operation, type, root), "reduce");
  else
    must(weir_mpi_nccl_broadcast(card->nccl, buffers, offset, bytes, root), "broadcast");
}

static bool check_one(const rank_card *card, weir_buffer *const *buffers, collective kind,
                      weir_reduce_operation operation, weir_reduce_type type, uint32_t root) {
  static uint64_t input[NUMBERS], wanted[NUMBERS], got[NUMBERS];
  const uint64_t bytes = (uint64_t)NUMBERS * weir_nccl_element_bytes(operation, type);
  for (uint32_t i = 0; i < NUMBERS; i++) {
    put_number(input, type, i, number_of(card->rank, i));
    put_number(wanted, type, i, wanted_of(card, kind, operation, root, i));
  }
  must(weir_copy_in(buffers[card->rank], 0, bytes, input, NULL), "copy");
  for (uint32_t rank = 0; rank < card->size; rank++)
    must(weir_mpi_written(card->mpi, buffers[rank], 0, bytes, (int32_t)rank), "written");
  submit(card, buffers, 0, bytes, kind, operation, type, root);
  must(weir_read(buffers[card->rank], 0, bytes, got), "read");
  if (memcmp(got, wanted, bytes) == 0) return true;
  printf("wrong: rank %u: collective %d, operation %d of type %d, root %u\n", card->rank, (int)kind, (int)operation,
         (int)type, root);
  return false;
}

bool ranks_check_results(const ranks_options *options) {
  rank_card card;
  weir_buffer *buffers[MOST_RANKS];
  bool right = true;
  (void)options;
  ranks_open(0, &card);
  for (uint32_t rank = 0; rank < card.size; rank++)
    must(weir_mpi_buffer_create(card.mpi, NUMBERS * 8, rank, &buffers[rank]), "buffer");
  for (int type = WEIR_REDUCE_F32; type <= WEIR_REDUCE_U64; type++) {
    for (int operation = WEIR_REDUCE_SUM; operation <= WEIR_REDUCE_MAX; operation++) {
      for (uint32_t i = 0; i < 1 + 2 * card.size; i++)
        right = check_one(&card, buffers,
                          i == 0       ? ALL_REDUCE
                          : i % 2 == 1 ? REDUCE
                                       : BROADCAST,
                          (weir_reduce_operation)operation, (weir_reduce_type)type, i == 0 ? 0 : (i - 1) / 2) &&
                right;
    }
  }
  right = ranks_all(right);
  if (card.rank == 0)
    printf("results: 6 types, 4 operators, all roots, of all-reductions, reductions and broadcasts: %s\n",
           right ? "right" : "WRONG");
  ranks_close(&card);
  return right;
}

// ---------------------------------------------------------------------------------------------------------------
// Random programs

typedef struct program {
  rank_card card;
  weir_buffer *buffers[BUFFERS];
  uint32_t model[BUFFERS][COUNT];
  uint64_t state;
} program;

static uint32_t below(program *p, uint32_t bound) {
  p->state = p->state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(p->state >> 33) % bound;
}

static void submit_number_task(program *p, weir_kernel *kernel, uint32_t rank, uint32_t at, uint32_t value) {
  const uint32_t count = COUNT;
  bool sets = kernel == p->card.set;
  const weir_arg args[] = {sets ? weir_writes(p->buffers[at]) : weir_updates(p->buffers[at]),
                           weir_value(&count, sizeof count), weir_value(&value, sizeof value)};
  ranks_task(&p->card, kernel, rank, args, 3, COUNT / 128);
  for (uint32_t i = 0; i < COUNT; i++) p->model[at][i] = sets ? value + i : p->model[at][i] * 3 + value;
}

static void submit_kernel(program *p, uint32_t at) {
  const uint32_t count = COUNT;
  uint32_t value = below(p, 100), rank = below(p, p->card.size), a = below(p, BUFFERS), b = below(p, BUFFERS);
  uint32_t choice = below(p, 3);
  if (choice < 2) {
    submit_number_task(p, choice == 0 ? p->card.set : p->card.step, rank, at, value);
  } else if (a != at && b != at) {
    const weir_arg args[] = {weir_writes(p->buffers[at]), weir_reads(p->buffers[a]), weir_reads(p->buffers[b]),
                             weir_value(&count, sizeof count)};
    ranks_task(&p->card, p->card.sum, rank, args, 4, COUNT / 128);
    for (uint32_t i = 0; i < COUNT; i++) p->model[at][i] = p->model[a][i] + p->model[b][i];
  }
}

static void model_collective(program *p, const uint32_t *chosen, uint32_t first, uint32_t count, collective kind,
                             uint32_t root) {
  uint32_t size = p->card.size;
  for (uint32_t i = first; i < first + count; i++) {
    uint32_t sum = 0, from = p->model[chosen[root]][i];
    for (uint32_t rank = 0; rank < size; rank++) sum += p->model[chosen[rank]][i];
    for (uint32_t rank = 0; rank < size; rank++) {
      if (kind == BROADCAST)
        p->model[chosen[rank]][i] = from;
      else if (kind == ALL_REDUCE || rank == root)
        p->model[chosen[rank]][i] = sum;
    }
  }
}

static void submit_collective(program *p, uint32_t a) {
  uint32_t size = p->card.size, chosen[MOST_RANKS], root = below(p, size), step = 1 + below(p, BUFFERS / size - 1);
  uint32_t first = below(p, COUNT), count = 1 + below(p, COUNT - first);
  collective kind = (collective)below(p, CASES);
  weir_buffer *buffers[MOST_RANKS];
  for (uint32_t rank = 0; rank < size; rank++) {
    chosen[rank] = (a + rank * step) % BUFFERS; // all different: (size - 1) * step < BUFFERS
    buffers[rank] = p->buffers[chosen[rank]];
  }
  submit(&p->card, buffers, first * 4, count * 4, kind, WEIR_REDUCE_SUM, WEIR_REDUCE_U32, root);
  model_collective(p, chosen, first, count, kind, root);
}

static bool run_program(program *p, uint64_t seed) {
  static uint32_t numbers[COUNT];
  bool right = true;
  p->state = seed * 0x9E3779B97F4A7C15u;
  for (uint32_t i = 0; i < BUFFERS; i++) submit_number_task(p, p->card.set, i % p->card.size, i, i);
  for (uint32_t i = 0; i < TASKS; i++) {
    uint32_t at = below(p, BUFFERS);
    if (below(p, 3) == 0)
      submit_collective(p, at);
    else
      submit_kernel(p, at);
  }
  for (uint32_t i = 0; i < BUFFERS; i++) {
    must(weir_mpi_fetch(p->card.mpi, p->buffers[i], 0, WEIR_WHOLE, WEIR_MPI_ALL), "fetch");
    must(weir_read(p->buffers[i], 0, sizeof numbers, numbers), "read");
    if (memcmp(numbers, p->model[i], sizeof numbers) == 0) continue;
    printf("wrong: rank %u: program %llu, buffer %u\n", p->card.rank, (ull)seed, i);
    right = false;
  }
  return right;
}

static bool run_programs(const ranks_options *options, uint32_t queues) {
  program *p = calloc(1, sizeof *p);
  if (p == NULL) exit(1);
  bool right = true;
  ranks_open(queues, &p->card);
  for (uint32_t i = 0; i < BUFFERS; i++)
    must(weir_mpi_buffer_create(p->card.mpi, COUNT * 4, i % p->card.size, &p->buffers[i]), "buffer");
  for (uint32_t i = 1; i <= options->programs; i++) right = run_program(p, i + 1000 * queues) && right;
  right = ranks_all(right);
  if (p->card.rank == 0)
    printf("random programs: %u of %d tasks, a third of them collectives, %s: %s\n", options->programs, TASKS,
           queues == 0 ? "all queues" : "1 queue a card", right ? "right" : "WRONG");
  ranks_close(&p->card);
  free(p);
  return right;
}

bool ranks_check_programs(const ranks_options *options) {
  bool all = run_programs(options, 0);
  return run_programs(options, 1) && all;
}
