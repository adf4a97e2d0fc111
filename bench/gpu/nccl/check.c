// SPDX-License-Identifier: Apache-2.0
//
// What collectives compute: every type and operator, and random programs against a model. A deadlock shows as a hang, which the
// program's own time-out ends.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

enum { NUMBERS = 1000, COUNT = 4096, BUFFERS = 8, TASKS = 120 };

typedef unsigned long long ull;

static bool check_one(weir_nccl *nccl, weir_buffer *const *buffers, weir_reduce_operation operation,
                      weir_reduce_type type) {
  static uint64_t input[CARDS][NUMBERS], wanted[NUMBERS], got[NUMBERS];
  const uint64_t bytes = (uint64_t)NUMBERS * weir_nccl_element_bytes(operation, type);
  for (uint32_t i = 0; i < NUMBERS; i++) {
    int32_t a = (int32_t)(i % 37), b = (int32_t)(i * 7 % 41);
    put_number(input[0], type, i, a);
    put_number(input[1], type, i, b);
    put_number(wanted, type, i, combine_numbers(operation, a, b));
  }
  for (uint32_t i = 0; i < CARDS; i++) must(weir_copy_in(buffers[i], 0, bytes, input[i], NULL), "copy");
  must(weir_nccl_all_reduce(nccl, buffers, 0, bytes, operation, type, NULL), "all-reduce");
  for (uint32_t i = 0; i < CARDS; i++) {
    must(weir_read(buffers[i], 0, bytes, got), "read");
    if (memcmp(got, wanted, bytes) == 0) continue;
    printf("wrong: operation %d of type %d, card %u\n", (int)operation, (int)type, i);
    return false;
  }
  return true;
}

bool check_results(const bench_options *options) {
  two_cards cards;
  weir_nccl *nccl;
  weir_buffer *buffers[CARDS];
  bool right = true;
  cards_open(options, 0, &cards);
  must(weir_nccl_create(cards.context, NULL, &nccl), "communicator");
  for (uint32_t i = 0; i < CARDS; i++) must(weir_buffer_create(cards.context, NUMBERS * 8, &buffers[i]), "buffer");
  for (int type = WEIR_REDUCE_F32; type <= WEIR_REDUCE_U64; type++) {
    for (int operation = WEIR_REDUCE_SUM; operation <= WEIR_REDUCE_MAX; operation++)
      right = check_one(nccl, buffers, (weir_reduce_operation)operation, (weir_reduce_type)type) && right;
  }
  must(weir_nccl_release(nccl), "communicator");
  cards_close(&cards);
  printf("results: 6 types, 4 operators: %s\n", right ? "right" : "WRONG");
  return right;
}

// ---------------------------------------------------------------------------------------------------------------
// Random programs

typedef struct program {
  two_cards cards;
  weir_nccl *nccl;
  weir_buffer *buffers[BUFFERS];
  uint32_t model[BUFFERS][COUNT];
  uint64_t state;
} program;

static uint32_t below(program *p, uint32_t bound) {
  p->state = p->state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(p->state >> 33) % bound;
}

static void submit_kernel(program *p, uint32_t at) {
  uint32_t value = below(p, 100), card = below(p, CARDS), a = below(p, BUFFERS), b = below(p, BUFFERS), count = COUNT;
  switch (below(p, 3)) {
  case 0:
    cards_number_task(&p->cards, p->cards.set, card, p->buffers[at], COUNT, value);
    for (uint32_t i = 0; i < COUNT; i++) p->model[at][i] = value + i;
    break;
  case 1:
    cards_number_task(&p->cards, p->cards.step, card, p->buffers[at], COUNT, value);
    for (uint32_t i = 0; i < COUNT; i++) p->model[at][i] = p->model[at][i] * 3 + value;
    break;
  default:
    if (a == at || b == at) break;
    weir_arg args[] = {weir_writes(p->buffers[at]), weir_reads(p->buffers[a]), weir_reads(p->buffers[b]),
                       weir_value(&count, sizeof count)};
    const weir_task task = {
        .kernel = p->cards.sum, .device = p->cards.card[card], .args = args, .arg_count = 4, .groups = {COUNT / 128}};
    must(weir_submit(p->cards.context, &task, NULL), "sum");
    for (uint32_t i = 0; i < COUNT; i++) p->model[at][i] = p->model[a][i] + p->model[b][i];
  }
}

static void submit_collective(program *p, uint32_t a) {
  uint32_t b = (a + 1 + below(p, BUFFERS - 1)) % BUFFERS, root = below(p, CARDS), kind = below(p, 3);
  uint32_t first = below(p, COUNT), count = 1 + below(p, COUNT - first);
  weir_buffer *buffers[] = {p->buffers[a], p->buffers[b]};
  uint32_t *at[] = {&p->model[a][first], &p->model[b][first]};
  uint64_t offset = first * 4, bytes = count * 4;
  if (kind == 0)
    must(weir_nccl_broadcast(p->nccl, buffers, offset, bytes, root, NULL), "broadcast");
  else if (kind == 1)
    must(weir_nccl_reduce(p->nccl, buffers, offset, bytes, WEIR_REDUCE_SUM, WEIR_REDUCE_U32, root, NULL), "reduce");
  else
    must(weir_nccl_all_reduce(p->nccl, buffers, offset, bytes, WEIR_REDUCE_SUM, WEIR_REDUCE_U32, NULL), "all-reduce");
  for (uint32_t i = 0; i < count; i++) {
    uint32_t sum = at[0][i] + at[1][i];
    if (kind == 0) at[1 - root][i] = at[root][i];
    if (kind == 1) at[root][i] = sum;
    if (kind == 2) at[0][i] = at[1][i] = sum;
  }
}

static bool run_program(program *p, uint64_t seed) {
  static uint32_t numbers[COUNT];
  bool right = true;
  p->state = seed * 0x9E3779B97F4A7C15u;
  for (uint32_t i = 0; i < BUFFERS; i++) {
    cards_number_task(&p->cards, p->cards.set, i % CARDS, p->buffers[i], COUNT, i);
    for (uint32_t k = 0; k < COUNT; k++) p->model[i][k] = i + k;
  }
  for (uint32_t i = 0; i < TASKS; i++) {
    uint32_t at = below(p, BUFFERS);
    if (below(p, 3) == 0)
      submit_collective(p, at);
    else
      submit_kernel(p, at);
  }
  for (uint32_t i = 0; i < BUFFERS && right; i++) {
    must(weir_read(p->buffers[i], 0, sizeof numbers, numbers), "read");
    right = memcmp(numbers, p->model[i], sizeof numbers) == 0;
    if (!right) printf("wrong: program %llu, buffer %u\n", (ull)seed, i);
  }
  return right;
}

static bool run_programs(const bench_options *options, uint32_t queues) {
  program *p = calloc(1, sizeof *p);
  if (p == NULL) exit(1);
  bool right = true;
  cards_open(options, queues, &p->cards);
  must(weir_nccl_create(p->cards.context, NULL, &p->nccl), "communicator");
  for (uint32_t i = 0; i < BUFFERS; i++)
    must(weir_buffer_create(p->cards.context, COUNT * 4, &p->buffers[i]), "buffer");
  for (uint32_t i = 1; i <= options->programs; i++) right = run_program(p, i + 1000 * queues) && right;
  must(weir_nccl_release(p->nccl), "communicator");
  cards_close(&p->cards);
  free(p);
  printf("random programs: %u of %d tasks, %s: %s\n", options->programs, TASKS,
         queues == 0 ? "all queues" : "1 queue a card", right ? "right" : "WRONG");
  return right;
}

bool check_programs(const bench_options *options) {
  bool all = run_programs(options, 0);
  return run_programs(options, 1) && all;
}
