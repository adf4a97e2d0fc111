// SPDX-License-Identifier: Apache-2.0
//
// Several host threads: launching, and instantiating graphs.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "graphs.h"
#include "launches.h"
#include "ways.h"

static void *context;

void gpu_ways_open(void *of_card) {
  context = of_card;
}

typedef struct crew {
  void (*work)(void *argument, uint32_t index);
  void *argument;
  atomic_uint ready, go, next, done;
} crew;

static void *member(void *argument) {
  crew *all = argument;
  GPU_CHECK(gpu.set_current(context));
  uint32_t index = atomic_fetch_add(&all->next, 1);
  atomic_fetch_add(&all->ready, 1);
  while (!atomic_load(&all->go)) {
  }
  all->work(all->argument, index);
  atomic_fetch_add(&all->done, 1);
  return NULL;
}

double gpu_on_threads(uint32_t count, void (*work)(void *argument, uint32_t index), void *argument) {
  crew all = {.work = work, .argument = argument, .next = 1};
  pthread_t threads[64];
  for (uint32_t t = 1; t < count; t++) {
    if (pthread_create(&threads[t], NULL, member, &all) != 0) exit(1);
  }
  while (atomic_load(&all.ready) + 1 < count) {
  }
  double start = gpu_now_us();
  atomic_store(&all.go, 1);
  work(argument, 0);
  while (atomic_load(&all.done) + 1 < count) {
  }
  double us = gpu_now_us() - start;
  for (uint32_t t = 1; t < count; t++) pthread_join(threads[t], NULL);
  return us;
}

// ---------------------------------------------------------------------------------------------------------------
// Instantiation

typedef struct instances {
  const gpu_program *program;
  uint32_t size, rounds;
} instances;

static void instantiate(void *argument, uint32_t index) {
  const instances *all = argument;
  for (uint32_t round = 0; round < all->rounds; round++) {
    uint32_t begin = (index * all->rounds + round) * all->size % (all->program->count - all->size + 1);
    gpu_graph graph;
    gpu_graph_build(all->program, &all->program->buffer, begin, begin + all->size, &graph);
    gpu_graph_instantiate(&graph);
    gpu_graph_destroy(&graph);
  }
}

typedef struct setting {
  gpu_graph *graphs; // one per thread
  const gpu_program *program;
  uint32_t size, rounds;
  bool grids;
} setting;

static void set_nodes(void *argument, uint32_t index) {
  const setting *all = argument;
  for (uint32_t round = 0; round < all->rounds; round++) {
    for (uint32_t i = 0; i < all->size; i++) {
      gpu_spin_launch launch = all->program->launches[i];
      gpu_kernel_node node;
      void *parameters[3];
      launch.ticks += round % 2;
      launch.blocks += all->grids ? round % 2 : 0;
      gpu_spin_node(&launch, spin.function, parameters, &node);
      GPU_CHECK(gpu.exec_node_set(all->graphs[index].exec, all->graphs[index].nodes[i], &node));
    }
  }
}

static void set_by_threads(const gpu_program *program) {
  static const uint32_t counts[] = {1, 2, 4, 8, 12};
  gpu_graph graphs[12];
  for (uint32_t g = 0; g < 12; g++) {
    gpu_graph_build(program, &program->buffer, 0, 64, &graphs[g]);
    gpu_graph_instantiate(&graphs[g]);
  }
  for (int grids = 0; grids < 2; grids++) {
    printf("set %s of nodes, us per node over all threads, 1 2 4 8 12 threads:", grids ? "grids" : "parameters");
    for (uint32_t c = 0; c < 5; c++) {
      setting all = {graphs, program, 64, 8, grids != 0};
      double samples[20];
      for (uint32_t run = 0; run < 20; run++)
        samples[run] = gpu_on_threads(counts[c], set_nodes, &all) / (counts[c] * all.rounds * all.size);
      printf(" %7.3f", gpu_statistics(samples, 20).median);
    }
    printf("\n");
  }
  for (uint32_t g = 0; g < 12; g++) gpu_graph_destroy(&graphs[g]);
}

void gpu_ways_instantiate(const gpu_program *program) {
  static const uint32_t counts[] = {1, 2, 4, 8, 12};
  printf("\nc. build + instantiate + destroy, us per node over all threads (pieces of %s), 1 2 4 8 12 threads\n",
         program->name);
  for (uint32_t size = 32; size <= 256 && size <= program->count; size *= 2) {
    printf("%5u", size);
    for (uint32_t c = 0; c < 5; c++) {
      double samples[20];
      instances all = {program, size, 4};
      for (uint32_t run = 0; run < 20; run++)
        samples[run] = gpu_on_threads(counts[c], instantiate, &all) / (counts[c] * all.rounds * size);
      printf(" %7.2f", gpu_statistics(samples, 20).median);
    }
    printf("\n");
  }
  set_by_threads(program);
  fflush(stdout);
}

// ---------------------------------------------------------------------------------------------------------------
// Launches

// As a scheduler would that knows neither kernels' times nor how long a launch takes: earliest start by guesses of 4 us a
// kernel, 2.5 us a launch, 1.5 us more for one that waits for another stream, and streams that belong to threads.
static void assign_by_start(const gpu_program *program, uint32_t stream_count, uint32_t threads,
                            uint32_t *out_streams) {
  const weir__plan_graph *order = &program->buffer;
  double card[GPU_MAX_STREAMS] = {0}, host[GPU_MAX_STREAMS] = {0};
  double *ends = gpu_memory(program->count, sizeof *ends), *puts = gpu_memory(program->count, sizeof *puts);
  for (uint32_t i = 0; i < program->count; i++) {
    double best_start = 1e30, best_put = 0;
    uint32_t best = 0;
    for (uint32_t s = 0; s < stream_count; s++) {
      double put = host[s % threads], start = card[s];
      for (uint64_t e = order->first[i]; e < order->first[i + 1]; e++) {
        uint32_t before = order->predecessors[e];
        bool crosses = out_streams[before] != s;
        if (crosses && puts[before] > put) put = puts[before];
        double end = ends[before] + (crosses ? 1.5 : 0);
        if (end > start) start = end;
        if (crosses) put += 0.7;
      }
      put += 2.5;
      if (put > start) start = put;
      if (start < best_start - 0.01) best_start = start, best_put = put, best = s;
    }
    out_streams[i] = best;
    host[best % threads] = puts[i] = best_put;
    card[best] = ends[i] = best_start + 4;
  }
  free(ends);
  free(puts);
}

typedef struct launching {
  const gpu_program *program;
  const uint32_t *assigned;
  const bool *watched; // launches that another stream waits for
  void **streams, **events;
  atomic_uint *recorded; // per launch: in which round its event was recorded
  uint32_t threads, round;
  gpu_graph *graphs; // not NULL: each launch is a graph of one node, whose parameters are set first
} launching;

static void launch_one(launching *all, uint32_t launch, void *stream) {
  if (!all->graphs) {
    gpu_spin_put(stream, &all->program->launches[launch]);
    return;
  }
  gpu_spin_launch changed = all->program->launches[launch];
  gpu_kernel_node node;
  void *parameters[3];
  changed.ticks += all->round % 2;
  gpu_spin_node(&changed, spin.function, parameters, &node);
  GPU_CHECK(gpu.exec_node_set(all->graphs[launch].exec, all->graphs[launch].nodes[0], &node));
  GPU_CHECK(gpu.graph_launch(all->graphs[launch].exec, stream));
}

static void launch_own(void *argument, uint32_t index) {
  launching *all = argument;
  const weir__plan_graph *order = &all->program->buffer;
  for (uint32_t i = 0; i < all->program->count; i++) {
    uint32_t own = all->assigned[i];
    if (own % all->threads != index) continue;
    for (uint64_t e = order->first[i]; e < order->first[i + 1]; e++) {
      uint32_t before = order->predecessors[e];
      if (all->assigned[before] == own) continue;
      while (atomic_load_explicit(&all->recorded[before], memory_order_acquire) != all->round) {
      }
      GPU_CHECK(gpu.stream_wait_event(all->streams[own], all->events[before], 0));
    }
    launch_one(all, i, all->streams[own]);
    if (all->watched[i]) {
      GPU_CHECK(gpu.event_record(all->events[i], all->streams[own]));
      atomic_store_explicit(&all->recorded[i], all->round, memory_order_release);
    }
  }
}

static double launch_all(const gpu_program *program, uint32_t threads, uint32_t stream_count, bool by_start,
                         bool as_graphs, uint32_t runs) {
  uint32_t *assigned = gpu_memory(program->count, sizeof *assigned);
  bool *watched = gpu_memory(program->count, sizeof *watched);
  atomic_uint *recorded = gpu_memory(program->count, sizeof *recorded);
  double *samples = gpu_memory(runs, sizeof *samples);
  if (by_start)
    assign_by_start(program, stream_count, threads, assigned);
  else
    gpu_assign(program, &program->buffer, stream_count, assigned);
  const weir__plan_graph *order = &program->buffer;
  for (uint32_t i = 0; i < program->count; i++) {
    for (uint64_t e = order->first[i]; e < order->first[i + 1]; e++)
      watched[order->predecessors[e]] |= assigned[order->predecessors[e]] != assigned[i];
  }
  launching all = {program,
                   assigned,
                   watched,
                   gpu_streams(),
                   gpu_events(program->count),
                   recorded,
                   threads,
                   0,
                   as_graphs ? gpu_memory(program->count, sizeof(gpu_graph)) : NULL};
  for (uint32_t i = 0; as_graphs && i < program->count; i++) {
    gpu_graph_build(program, NULL, i, i + 1, &all.graphs[i]);
    gpu_graph_instantiate(&all.graphs[i]);
  }
  for (uint32_t run = 0; run < runs + 2; run++) {
    all.round++;
    GPU_CHECK(gpu.synchronize());
    double us = gpu_on_threads(threads, launch_own, &all), start = gpu_now_us();
    GPU_CHECK(gpu.synchronize());
    if (run >= 2) samples[run - 2] = us + gpu_now_us() - start;
  }
  double median = gpu_statistics(samples, runs).median;
  for (uint32_t i = 0; as_graphs && i < program->count; i++) gpu_graph_destroy(&all.graphs[i]);
  free(all.graphs);
  free(samples);
  free(recorded);
  free(watched);
  free(assigned);
  return median;
}

void gpu_ways_threads(const gpu_program *programs, uint32_t count, uint32_t runs) {
  static const uint32_t threads[] = {1, 2, 4, 8, 12}, streams[] = {1, 2, 3, 4, 6, 8};
  printf(
      "\ne. several threads launch, a stream belongs to one of them, events where another stream waits: 1 2 4 8 12 "
      "threads with 16 streams | with 32 | 1 2 3 4 6 8 threads of one stream each | streams by earliest start: 1 2 3 4 "
      "6 8 threads of one stream, | 2 each | one each, each launch a graph of one node with new parameters\n");
  for (uint32_t p = 0; p < count; p++) {
    const gpu_program *program = &programs[p];
    printf("%-14s", program->name);
    for (uint32_t many = 16; many <= 32; many += 16) {
      for (uint32_t t = 0; t < 5; t++) printf(" %6.0f", launch_all(program, threads[t], many, false, false, runs));
      printf(" |");
    }
    for (uint32_t s = 0; s < 6; s++) printf(" %6.0f", launch_all(program, streams[s], streams[s], false, false, runs));
    printf(" |");
    for (uint32_t s = 0; s < 6; s++) printf(" %6.0f", launch_all(program, streams[s], streams[s], true, false, runs));
    printf(" |");
    for (uint32_t s = 0; s < 6; s++)
      printf(" %6.0f", launch_all(program, streams[s], 2 * streams[s], true, false, runs));
    printf(" |");
    for (uint32_t s = 0; s < 6; s++) printf(" %6.0f", launch_all(program, streams[s], streams[s], true, true, runs));
    printf("\n");
    fflush(stdout);
  }
}

// ---------------------------------------------------------------------------------------------------------------
// Graphs built by threads while the card works

enum { FREE = 0, TAKEN = 1, READY = 2 };

typedef struct building {
  const gpu_program *program;
  const uint32_t *bounds; // of pieces
  uint32_t pieces;
  atomic_uint *states;
  gpu_graph *graphs;
  bool direct; // thread 0 launches a piece itself that nobody has begun to build
  uint32_t launched;
  void *stream;
} building;

static void build_ahead(building *all) {
  for (uint32_t p = all->direct ? 1 : 0; p < all->pieces; p++) {
    unsigned expected = FREE;
    if (!atomic_compare_exchange_strong(&all->states[p], &expected, TAKEN)) continue;
    gpu_graph_build(all->program, &all->program->buffer, all->bounds[p], all->bounds[p + 1], &all->graphs[p]);
    gpu_graph_instantiate(&all->graphs[p]);
    atomic_store_explicit(&all->states[p], READY, memory_order_release);
  }
}

static void launch_in_order(building *all) {
  for (uint32_t p = 0; p < all->pieces; p++) {
    unsigned expected = FREE;
    if (all->direct && atomic_compare_exchange_strong(&all->states[p], &expected, TAKEN)) {
      for (uint32_t i = all->bounds[p]; i < all->bounds[p + 1]; i++)
        gpu_spin_put(all->stream, &all->program->launches[i]);
      all->launched++;
      continue;
    }
    while (atomic_load_explicit(&all->states[p], memory_order_acquire) != READY) {
    }
    GPU_CHECK(gpu.graph_launch(all->graphs[p].exec, all->stream));
  }
}

static void build_or_launch(void *argument, uint32_t index) {
  if (index == 0)
    launch_in_order(argument);
  else
    build_ahead(argument);
}

static double build_beside(const gpu_program *program, uint32_t size, uint32_t threads, bool direct, uint32_t runs) {
  uint32_t pieces = (program->count + size - 1) / size;
  uint32_t *bounds = gpu_memory(pieces, sizeof *bounds);
  atomic_uint *states = gpu_memory(pieces, sizeof *states);
  gpu_graph *graphs = gpu_memory(pieces, sizeof *graphs);
  double *samples = gpu_memory(runs, sizeof *samples);
  for (uint32_t p = 1; p <= pieces; p++) bounds[p] = p * size < program->count ? p * size : program->count;
  for (uint32_t run = 0; run < runs + 2; run++) {
    for (uint32_t p = 0; p < pieces; p++) atomic_store(&states[p], FREE);
    building all = {program, bounds, pieces, states, graphs, direct, 0, gpu_streams()[0]};
    GPU_CHECK(gpu.synchronize());
    double us = gpu_on_threads(threads, build_or_launch, &all), start = gpu_now_us();
    GPU_CHECK(gpu.synchronize());
    if (run >= 2) samples[run - 2] = us + gpu_now_us() - start;
    for (uint32_t p = 0; p < pieces; p++) {
      if (graphs[p].graph) gpu_graph_destroy(&graphs[p]);
    }
  }
  double median = gpu_statistics(samples, runs).median;
  free(samples);
  free(graphs);
  free(states);
  free(bounds);
  return median;
}

void gpu_ways_build_beside(const gpu_program *programs, uint32_t count, uint32_t runs) {
  static const uint32_t sizes[] = {16, 32, 64}, threads[] = {3, 5, 9, 13};
  printf(
      "\nf. threads build and instantiate pieces, one launches them in order: pieces of 16 32 64, each with 2 4 8 12 "
      "builders | the same where pieces nobody has begun are launched kernel by kernel\n");
  for (uint32_t p = 0; p < count; p++) {
    printf("%-14s", programs[p].name);
    for (int direct = 0; direct < 2; direct++) {
      for (uint32_t s = 0; s < 3; s++) {
        for (uint32_t t = 0; t < 4; t++)
          printf(" %5.0f", build_beside(&programs[p], sizes[s], threads[t], direct != 0, runs));
        printf(s < 2 ? "," : " |");
      }
    }
    printf("\n");
    fflush(stdout);
  }
}
