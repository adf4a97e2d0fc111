// SPDX-License-Identifier: Apache-2.0
//
// An algorithm of a library as a task: quantiles of batches of numbers, which CUB sorts on a CUDA device.
//
//   quantiles [ROUNDS]
//
// CUB works in memory that the caller gives it: the task's scratch memory, which Weir takes from its pool for each call
// and which a graph keeps. Batches do not depend on each other, and so overlap.
#include <stdio.h>
#include <stdlib.h>
#include <weir/cuda.h>
#include <weir/enqueue.h>
#include <weir/graph.h>

#include "require.h"
#include "sort.h"

enum { COUNT = 1 << 14, BYTES = COUNT * 4, BATCHES = 4, QUANTILES = 4, NO_DEVICE = 3 };

typedef struct program {
  weir_context *context;
  weir_kernel *sort, *pick;
  weir_buffer *keys[BATCHES], *sorted[BATCHES], *quantiles[BATCHES];
  uint32_t numbers[BATCHES][COUNT];
  size_t scratch;
} program;

static const char pick_source[] = "extern \"C\" __global__ void pick(const unsigned *sorted, unsigned *quantiles,\n"
                                  "                                unsigned count) {\n"
                                  "  unsigned i = threadIdx.x;\n"
                                  "  quantiles[i] = sorted[(i + 1) * (size_t)count / (blockDim.x + 1)];\n"
                                  "}\n";

// Key `i` of a batch: each of 0 to COUNT - 1 once, plus the batch's number.
static uint32_t key(uint32_t batch, uint32_t i) {
  return (i * 2654435761u + 12345) % COUNT + batch;
}

static uint32_t quantile(uint32_t batch, uint32_t i) {
  return (i + 1) * COUNT / (QUANTILES + 1) + batch;
}

// Argument 0: the keys, argument 1: where they go. As `prepare`, too: the first call loads CUB's kernels.
static weir_status sort(const weir_enqueue *call) {
  int error = sort_enqueue(call->scratch.pointer, call->scratch.bytes, call->args[0].pointer, call->args[1].pointer,
                           COUNT, call->queue);
  if (error == 0) return WEIR_OK;
  char text[48];
  snprintf(text, sizeof text, "CUB: error %d of the CUDA runtime", error);
  weir_enqueue_fail(call, text);
  return WEIR_ERROR_TASK_FAILED;
}

static void make_kernels(program *p) {
  weir_enqueue_code code = {.function = sort, .prepare = sort, .scratch_bytes = p->scratch, .flags = WEIR_ENQUEUE_PURE};
  weir_cuda_launch launch = {.function = "pick", .grid = {1, 1, 1}, .block = {QUANTILES, 1, 1}};
  require(weir_kernel_create(p->context, "sort", &p->sort));
  require(weir_kernel_set_enqueue(p->sort, "cuda", &code));
  require(weir_kernel_create(p->context, "pick", &p->pick));
  require(weir_kernel_set_cuda(p->pick, &(weir_cuda_code){.source = pick_source}, &launch, 1));
}

static void make_batch(program *p, uint32_t batch) {
  for (uint32_t i = 0; i < COUNT; i++) p->numbers[batch][i] = key(batch, i);
  require(weir_buffer_create(p->context, BYTES, &p->keys[batch]));
  require(weir_buffer_create(p->context, BYTES, &p->sorted[batch]));
  require(weir_buffer_create(p->context, QUANTILES * sizeof(uint32_t), &p->quantiles[batch]));
  require(weir_copy_in(p->keys[batch], 0, BYTES, p->numbers[batch], NULL));
}

static void add_batch(program *p, weir_graph *graph, uint32_t batch) {
  const uint32_t count = COUNT;
  const weir_arg sorts[] = {weir_reads(p->keys[batch]), weir_writes(p->sorted[batch])};
  const weir_arg picks[] = {weir_reads(p->sorted[batch]), weir_writes(p->quantiles[batch]),
                            weir_value(&count, sizeof count)};
  require(weir_graph_add(graph, &(weir_task){.kernel = p->sort, .args = sorts, .arg_count = 2}, NULL));
  require(weir_graph_add(graph, &(weir_task){.kernel = p->pick, .args = picks, .arg_count = 3}, NULL));
}

static int count_wrong(program *p) {
  int wrong = 0;
  for (uint32_t batch = 0; batch < BATCHES; batch++) {
    uint32_t found[QUANTILES];
    require(weir_read(p->quantiles[batch], 0, sizeof found, found));
    for (uint32_t i = 0; i < QUANTILES; i++) wrong += found[i] != quantile(batch, i);
  }
  return wrong;
}

int main(int argc, char **argv) {
  static program p;
  int rounds = argc > 1 ? atoi(argv[1]) : 3;
  weir_graph *graph;
  if (weir_context_create(&(weir_context_options){.devices = "cuda"}, &p.context) != WEIR_OK) {
    printf("%s\n", weir_last_error());
    return NO_DEVICE;
  }
  p.scratch = sort_scratch(COUNT);
  if (p.scratch == 0) {
    fprintf(stderr, "CUB does not start\n");
    return 1;
  }
  make_kernels(&p);
  require(weir_graph_create(p.context, NULL, &graph));
  for (uint32_t i = 0; i < BATCHES; i++) make_batch(&p, i);
  for (uint32_t i = 0; i < BATCHES; i++) add_batch(&p, graph, i);
  for (int i = 0; i < rounds; i++) require(weir_graph_launch(graph, NULL));
  require(weir_finish(p.context));
  int wrong = rounds == 0 ? 0 : count_wrong(&p);
  printf("%d batches of %d numbers, sorted %d times by CUB: %d quantiles are wrong\n", BATCHES, COUNT, rounds, wrong);
  require(weir_graph_release(graph));
  require(weir_context_release(p.context));
  return wrong > 0 || fflush(stdout) != 0;
}
