// SPDX-License-Identifier: Apache-2.0
//
// How long a launch of a graph takes to start, to end, and to follow another one.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "graphs.h"
#include "launches.h"
#include "ways.h"

enum { START = 0, END = 1, START_NEXT = 2, END_NEXT = 3, WORDS = 4 };

static uint64_t *words, address;

typedef struct watch {
  _Atomic double seen; // when the host saw START change; 0: not yet
  atomic_bool stop;
} watch;

static void *watching(void *argument) {
  watch *all = argument;
  volatile uint64_t *word = words + START;
  while (!atomic_load_explicit(&all->stop, memory_order_relaxed)) {
    if (*word != 0 && atomic_load_explicit(&all->seen, memory_order_relaxed) == 0)
      atomic_store(&all->seen, gpu_now_us());
  }
  return NULL;
}

// Levels of `width` nodes, each behind one or two nodes of the level before. The first and the last node stamp.
static void layered(uint32_t nodes, uint32_t width, double us, bool next, gpu_program *out_program) {
  gpu_program program = {.count = nodes, .launches = gpu_memory(nodes, sizeof(gpu_spin_launch))};
  weir__plan_edge *edges = gpu_memory((size_t)nodes * 2, sizeof *edges);
  size_t count = 0;
  for (uint32_t i = 0; i < nodes; i++) {
    program.launches[i] = (gpu_spin_launch){.blocks = 1, .threads = 128, .ticks = gpu_spin_ticks(us)};
    if (i < width) continue;
    edges[count++] = (weir__plan_edge){i - width, i};
    if (width > 1) edges[count++] = (weir__plan_edge){i / width * width - width + (i + 1) % width, i};
  }
  program.launches[0].start = address + (next ? START_NEXT : START) * sizeof *words;
  program.launches[nodes - 1].end = address + (next ? END_NEXT : END) * sizeof *words;
  if (weir__plan_graph_build(nodes, edges, count, &program.buffer) != WEIR_OK) exit(1);
  free(edges);
  *out_program = program;
}

static void drop(gpu_program *program, gpu_graph *graph) {
  gpu_graph_destroy(graph);
  weir__plan_graph_free(&program->buffer);
  free(program->launches);
}

static void measure(uint32_t nodes, uint32_t width, watch *watcher, uint32_t runs) {
  gpu_program program, after;
  gpu_graph graph, next;
  layered(nodes, width, 0.7, false, &program);
  layered(nodes, width, 0.7, true, &after);
  gpu_graph_build(&program, &program.buffer, 0, nodes, &graph);
  gpu_graph_build(&after, &after.buffer, 0, nodes, &next);
  gpu_graph_instantiate(&graph);
  gpu_graph_instantiate(&next);
  double *samples = gpu_memory((size_t)runs * 7, sizeof *samples);
  void *stream = gpu_streams()[0];
  for (uint32_t run = 0; run < runs + 3; run++) {
    uint32_t at = run < 3 ? 0 : run - 3;
    GPU_CHECK(gpu.synchronize());
    words[START] = 0;
    atomic_store(&watcher->seen, 0);
    double start = gpu_now_us();
    GPU_CHECK(gpu.graph_launch(graph.exec, stream));
    samples[at] = gpu_now_us() - start;
    GPU_CHECK(gpu.stream_synchronize(stream));
    samples[2 * runs + at] = gpu_now_us() - start;
    while (atomic_load(&watcher->seen) == 0) {
    }
    samples[runs + at] = atomic_load(&watcher->seen) - start;
    samples[3 * runs + at] = (double)(words[END] - words[START]) / 1000;
    GPU_CHECK(gpu.graph_launch(graph.exec, stream)); // and one queued behind it
    double second = gpu_now_us();
    GPU_CHECK(gpu.graph_launch(next.exec, stream));
    samples[6 * runs + at] = gpu_now_us() - second;
    GPU_CHECK(gpu.stream_synchronize(stream));
    samples[4 * runs + at] = (double)words[START_NEXT] / 1000 - (double)words[END] / 1000;
    samples[5 * runs + at] = (double)(words[END_NEXT] - words[START_NEXT]) / 1000;
  }
  printf("%6u %6u", nodes, width);
  for (uint32_t c = 0; c < 7; c++) printf(" %10.1f", gpu_statistics(samples + (size_t)c * runs, runs).median);
  printf("\n");
  free(samples);
  drop(&program, &graph);
  drop(&after, &next);
}

void gpu_ways_graphs(uint32_t runs) {
  words = gpu_shared_words(WORDS, &address);
  watch watcher = {0};
  pthread_t thread;
  if (pthread_create(&thread, NULL, watching, &watcher) != 0) exit(1);
  printf("\na. launch of a layered graph of 2 us kernels\n%6s %6s %10s %10s %10s %10s %10s %10s %10s\n", "nodes",
         "width", "call", "to start", "to end", "on card", "gap next", "next card", "2nd call");
  for (uint32_t nodes = 16; nodes <= 1024; nodes *= 4) {
    for (uint32_t width = 1; width <= 16; width *= 4) measure(nodes, width, &watcher, runs);
  }
  fflush(stdout);
  atomic_store(&watcher.stop, true);
  pthread_join(thread, NULL);
}
