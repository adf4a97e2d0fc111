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
  const gpu_program *program;
  const uint32_t *bounds;
  uint32_t pass;
  int way;
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

// Pieces in several streams by turns: a launch that a later piece waits for is followed by a node that records an event,
// and the first use in a later piece comes behind a node that waits for it. A piece of the same stream needs none.
static cut_graphs build(const gpu_program *program, const uint32_t *bounds, uint32_t count, uint32_t streams,
                        bool launch) {
  const weir__plan_graph *order = &program->buffer;
  cut_graphs all = {.graphs = gpu_memory(count, sizeof(gpu_graph)), .count = count, .streams = streams};
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
    if (launch) GPU_CHECK(gpu.graph_launch(graph->exec, gpu_streams()[p % streams]));
  }
  free(waits);
  free(watched);
  free(piece_of);
  all.program = program;
  all.bounds = bounds;
  return all;
}

static double in_streams(const gpu_program *program, const uint32_t *bounds, uint32_t count, uint32_t streams,
                         uint32_t runs) {
  cut_graphs all = build(program, bounds, count, streams, false);
  double us = gpu_time(runs, launch_all, &all).median;
  destroy(&all);
  return us;
}

// The same never seen before: each piece is built, instantiated and launched, one after another.
static double cold(const gpu_program *program, const uint32_t *bounds, uint32_t count, uint32_t streams,
                   uint32_t runs) {
  double *samples = gpu_memory(runs, sizeof *samples);
  for (uint32_t run = 0; run < runs + 2; run++) {
    GPU_CHECK(gpu.synchronize());
    double start = gpu_now_us();
    cut_graphs all = build(program, bounds, count, streams, true);
    GPU_CHECK(gpu.synchronize());
    if (run >= 2) samples[run - 2] = gpu_now_us() - start;
    destroy(&all);
  }
  double us = gpu_statistics(samples, runs).median;
  free(samples);
  return us;
}

void gpu_ways_cold(const gpu_program *programs, uint32_t count, uint32_t runs) {
  static const uint32_t sizes[] = {8, 16, 32, 64, 8};
  printf("\nj. pieces built, instantiated and launched by one thread: 8 16 32 64, 8 growing, cuts moved, in 1 stream | "
         "2 | 4\n");
  for (uint32_t p = 0; p < count; p++) {
    uint32_t *bounds = gpu_memory(programs[p].count, sizeof *bounds);
    printf("%-14s", programs[p].name);
    for (uint32_t streams = 1; streams <= 4; streams *= 2) {
      for (int s = 0; s < 5; s++) {
        uint32_t piece_count = find_bounds(&programs[p], sizes[s], s == 4, true, bounds);
        printf(" %5.0f", cold(&programs[p], bounds, piece_count, streams, runs));
      }
      printf(" |");
    }
    printf("\n");
    fflush(stdout);
    free(bounds);
  }
}

// ---------------------------------------------------------------------------------------------------------------
// The same with new parameters in every pass

enum { PARAMETERS = 0, GRIDS = 1, UPDATE = 2, UPDATE_GRIDS = 3 };

static void refill_all(void *argument) {
  cut_graphs *all = argument;
  all->pass++;
  for (uint32_t p = 0; p < all->count; p++) {
    gpu_graph *graph = &all->graphs[p];
    for (uint32_t i = all->bounds[p]; i < all->bounds[p + 1]; i++) {
      gpu_spin_launch launch = all->program->launches[i];
      void *parameters[3], *node_of = graph->nodes[i - all->bounds[p]];
      gpu_kernel_node node;
      launch.ticks += all->pass % 2;
      if (all->way == GRIDS || all->way == UPDATE_GRIDS) launch.blocks += all->pass % 2;
      gpu_spin_node(&launch, spin.function, parameters, &node);
      if (all->way <= GRIDS)
        GPU_CHECK(gpu.exec_node_set(graph->exec, node_of, &node));
      else
        GPU_CHECK(gpu.graph_node_set(node_of, &node));
    }
    gpu_update_result result;
    if (all->way >= UPDATE) GPU_CHECK(gpu.exec_update(graph->exec, graph->graph, &result));
    GPU_CHECK(gpu.graph_launch(graph->exec, gpu_streams()[p % all->streams]));
  }
}

void gpu_ways_refill(const gpu_program *programs, uint32_t count, uint32_t runs) {
  static const uint32_t sizes[] = {16, 32, 64, 128};
  printf("\nh. pieces of 16 32 64 128 whose launches all change in every pass, in one stream, | in 4: parameters; "
         "grids too; "
         "parameters by update; grids by update\n");
  for (uint32_t p = 0; p < count; p++) {
    uint32_t *bounds = gpu_memory(programs[p].count, sizeof *bounds);
    printf("%-14s", programs[p].name);
    for (uint32_t streams = 1; streams <= 4; streams += 3) {
      for (int way = 0; way < 4; way++) {
        for (int s = 0; s < 4; s++) {
          uint32_t piece_count = find_bounds(&programs[p], sizes[s], false, true, bounds);
          cut_graphs all = build(&programs[p], bounds, piece_count, streams, false);
          all.way = way;
          printf(" %5.0f", gpu_time(runs, refill_all, &all).median);
          destroy(&all);
        }
        printf(way < 3 ? ";" : " |");
      }
    }
    printf("\n");
    fflush(stdout);
    free(bounds);
  }
}

// ---------------------------------------------------------------------------------------------------------------
// Passes back to back

enum { PASSES = 12, MOST_COPIES = 6 };

typedef struct overlapped {
  cut_graphs copies[MOST_COPIES];
  uint32_t count;
} overlapped;

static void launch_passes(void *argument) {
  const overlapped *all = argument;
  for (uint32_t pass = 0; pass < PASSES; pass++) {
    const cut_graphs *copy = &all->copies[pass % all->count];
    for (uint32_t p = 0; p < copy->count; p++)
      GPU_CHECK(gpu.graph_launch(copy->graphs[p].exec, gpu_streams()[pass % all->count]));
  }
}

void gpu_ways_passes(const gpu_program *programs, uint32_t count, uint32_t runs) {
  static const uint32_t counts[] = {1, 2, 3, 4, 6};
  printf("\ni. 12 passes back to back, us a pass, whole graphs: 1 2 3 4 6 copies, each in a stream of its own | pieces "
         "of 128: "
         "the same\n");
  for (uint32_t p = 0; p < count; p++) {
    uint32_t *bounds = gpu_memory(programs[p].count, sizeof *bounds);
    printf("%-14s", programs[p].name);
    for (int cut = 0; cut < 2; cut++) {
      for (int c = 0; c < 5; c++) {
        overlapped all = {.count = counts[c]};
        uint32_t piece_count = find_bounds(&programs[p], cut ? 128 : programs[p].count, false, cut != 0, bounds);
        for (uint32_t copy = 0; copy < all.count; copy++)
          all.copies[copy] = build(&programs[p], bounds, piece_count, 1, false);
        printf(" %5.0f", gpu_time(runs, launch_passes, &all).median / PASSES);
        for (uint32_t copy = 0; copy < all.count; copy++) destroy(&all.copies[copy]);
      }
      printf(cut ? "\n" : " |");
    }
    fflush(stdout);
    free(bounds);
  }
}

void gpu_ways_pieces(const gpu_program *programs, uint32_t count, uint32_t runs) {
  static const uint32_t sizes[] = {32, 64, 128, 256, 16};
  printf(
      "\nb. pieces as graphs, all instantiated, DAG by buffer: whole; pieces of 32 64 128 256, 16 growing | cuts moved "
      "| 2 streams, event nodes | 4 streams, event nodes\n");
  for (uint32_t p = 0; p < count; p++) {
    uint32_t *bounds = gpu_memory(programs[p].count, sizeof *bounds);
    uint32_t whole[] = {0, programs[p].count};
    printf("%-14s %5.0f |", programs[p].name, in_streams(&programs[p], whole, 1, 1, runs));
    for (int moved = 0; moved < 2; moved++) {
      for (int s = 0; s < 5; s++) {
        uint32_t pieces = find_bounds(&programs[p], sizes[s], s == 4, moved != 0, bounds);
        printf(" %5.0f", in_streams(&programs[p], bounds, pieces, 1, runs));
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
