// SPDX-License-Identifier: Apache-2.0
//
// Programs cut into pieces, each a graph of its own, all instantiated beforehand and launched without waiting.
#include <stdio.h>
#include <stdlib.h>

#include "graphs.h"
#include "launches.h"
#include "ways.h"

typedef struct cut_graphs {
  gpu_graph *graphs;
  uint32_t count, streams;
} cut_graphs;

static void launch_all(void *argument) {
  const cut_graphs *all = argument;
  for (uint32_t p = 0; p < all->count; p++)
    GPU_CHECK(gpu.graph_launch(all->graphs[p].exec, gpu_streams()[p % all->streams]));
}

// Launches before `cut` that something behind it waits for.
static uint32_t open_at(const gpu_program *program, const uint32_t *last_use, uint32_t cut) {
  uint32_t open = 0;
  for (uint32_t i = 0; i < cut && i < program->count; i++) open += last_use[i] >= cut;
  return open;
}

// Bounds of pieces of `size` launches, `grow`: of twice as many each time up to 256; `moved`: each cut goes to where the
// fewest launches are waited for across it, within a quarter of the size. Returns how many pieces there are.
static uint32_t find_bounds(const gpu_program *program, uint32_t size, bool grow, bool moved, uint32_t *out_bounds) {
  uint32_t *last_use = gpu_memory(program->count, sizeof *last_use), count = 0, begin = 0;
  for (uint32_t i = 0; i < program->count; i++) {
    for (uint64_t e = program->buffer.first[i]; e < program->buffer.first[i + 1]; e++)
      last_use[program->buffer.predecessors[e]] = i;
  }
  while (begin < program->count) {
    uint32_t cut = begin + size;
    if (moved) {
      uint32_t least = UINT32_MAX, best = cut;
      for (uint32_t c = cut + size / 4; c + size / 4 >= cut; c--) {
        uint32_t open = open_at(program, last_use, c);
        if (open < least) least = open, best = c;
      }
      cut = best;
    }
    if (cut > program->count) cut = program->count;
    out_bounds[count++] = begin;
    begin = cut;
    if (grow && size < 256) size *= 2;
  }
  out_bounds[count] = program->count;
  free(last_use);
  return count;
}

static void destroy(cut_graphs *all) {
  for (uint32_t p = 0; p < all->count; p++) gpu_graph_destroy(&all->graphs[p]);
  free(all->graphs);
}

static double in_one_stream(const gpu_program *program, const uint32_t *bounds, uint32_t count, uint32_t runs) {
  cut_graphs all = {gpu_memory(count, sizeof(gpu_graph)), count, 1};
  for (uint32_t p = 0; p < count; p++) {
    gpu_graph_build(program, &program->buffer, bounds[p], bounds[p + 1], &all.graphs[p]);
    gpu_graph_instantiate(&all.graphs[p]);
  }
  double us = gpu_time(runs, launch_all, &all).median;
  destroy(&all);
  return us;
}

// Pieces in several streams by turns: a launch that a later piece waits for is followed by a node that records an event,
// and the first use in a later piece comes behind a node that waits for it. A piece of the same stream needs none.
static double in_streams(const gpu_program *program, const uint32_t *bounds, uint32_t count, uint32_t streams,
                         uint32_t runs) {
  const weir__plan_graph *order = &program->buffer;
  cut_graphs all = {gpu_memory(count, sizeof(gpu_graph)), count, streams};
  uint32_t *piece_of = gpu_memory(program->count, sizeof *piece_of);
  bool *watched = gpu_memory(program->count, sizeof *watched);
  void **waits = gpu_memory(program->count, sizeof *waits), **events = gpu_events(program->count);
  for (uint32_t p = 0; p < count; p++) {
    for (uint32_t i = bounds[p]; i < bounds[p + 1]; i++) piece_of[i] = p;
  }
  for (uint32_t i = 0; i < program->count; i++) {
    for (uint64_t e = order->first[i]; e < order->first[i + 1]; e++) {
      uint32_t before = order->predecessors[e];
      watched[before] |= piece_of[before] % streams != piece_of[i] % streams;
    }
  }
  for (uint32_t p = 0; p < count; p++) {
    gpu_graph *graph = &all.graphs[p];
    *graph = (gpu_graph){.nodes = gpu_memory(bounds[p + 1] - bounds[p], sizeof(void *))};
    GPU_CHECK(gpu.graph_create(&graph->graph, 0));
    for (uint32_t i = 0; i < bounds[p]; i++) waits[i] = NULL;
    for (uint32_t i = bounds[p]; i < bounds[p + 1]; i++) {
      void **before = gpu_memory((size_t)(order->first[i + 1] - order->first[i]), sizeof *before), *record = NULL;
      size_t before_count = 0;
      for (uint64_t e = order->first[i]; e < order->first[i + 1]; e++) {
        uint32_t predecessor = order->predecessors[e];
        if (predecessor >= bounds[p]) {
          before[before_count++] = graph->nodes[predecessor - bounds[p]];
        } else if (piece_of[predecessor] % streams != p % streams) {
          if (!waits[predecessor])
            GPU_CHECK(gpu.graph_add_wait(&waits[predecessor], graph->graph, NULL, 0, events[predecessor]));
          before[before_count++] = waits[predecessor];
        }
      }
      void *parameters[3];
      gpu_kernel_node node;
      gpu_spin_node(&program->launches[i], spin.function, parameters, &node);
      void **made = &graph->nodes[i - bounds[p]];
      GPU_CHECK(gpu.graph_add_kernel(made, graph->graph, before, before_count, &node));
      if (watched[i]) GPU_CHECK(gpu.graph_add_record(&record, graph->graph, made, 1, events[i]));
      free(before);
    }
    gpu_graph_instantiate(graph);
  }
  double us = gpu_time(runs, launch_all, &all).median;
  destroy(&all);
  free(waits);
  free(watched);
  free(piece_of);
  return us;
}

void gpu_ways_pieces(const gpu_program *programs, uint32_t count, uint32_t runs) {
  static const uint32_t sizes[] = {32, 64, 128, 256, 16};
  printf(
      "\nb. pieces as graphs, all instantiated, DAG by buffer: whole; pieces of 32 64 128 256, 16 growing | cuts moved "
      "| 2 streams, event nodes | 4 streams, event nodes\n");
  for (uint32_t p = 0; p < count; p++) {
    uint32_t *bounds = gpu_memory(programs[p].count, sizeof *bounds);
    uint32_t whole[] = {0, programs[p].count};
    printf("%-14s %5.0f |", programs[p].name, in_one_stream(&programs[p], whole, 1, runs));
    for (int moved = 0; moved < 2; moved++) {
      for (int s = 0; s < 5; s++) {
        uint32_t pieces = find_bounds(&programs[p], sizes[s], s == 4, moved != 0, bounds);
        printf(" %5.0f", in_one_stream(&programs[p], bounds, pieces, runs));
      }
      printf(" |");
    }
    for (uint32_t streams = 2; streams <= 4; streams += 2) {
      for (int s = 0; s < 5; s++) {
        uint32_t pieces = find_bounds(&programs[p], sizes[s], s == 4, true, bounds);
        printf(" %5.0f", in_streams(&programs[p], bounds, pieces, streams, runs));
      }
      printf(" |");
    }
    printf("\n");
    fflush(stdout);
    free(bounds);
  }
}
