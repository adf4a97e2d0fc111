// SPDX-License-Identifier: Apache-2.0
//
// Graphs of a fixed shape, instantiated once, that are refilled with the launches of a program never seen before: levels
// with a join between them, or lanes that know nothing of each other.
#include <stdio.h>
#include <stdlib.h>

#include "graphs.h"
#include "launches.h"
#include "ways.h"

#define COPIES 4u
#define WINDOW 128u // launches that a refill looks at

typedef struct template_shape {
  uint32_t width, length;
  bool lanes;
} template_shape;

typedef struct template {
  void *graph, *exec, **nodes; // width * length, by level
  bool *enabled;
  uint32_t *held; // which launch a node has in this refill; UINT32_MAX: none
}
template;

typedef struct refill {
  const gpu_program *program;
  const template_shape *shape;
  template copies[COPIES];
  uint32_t *level, *lane, *piece; // per launch: where it is, and in which refill; piece 0: nowhere yet
  uint32_t *used;                 // nodes used of each level or lane
  uint32_t launches;              // of graphs, in the last pass
  double host_us;
} refill;

static void build(const template_shape *shape, template *out_copy) {
  uint32_t count = shape->width * shape->length;
  template copy = {.nodes = gpu_memory(count, sizeof(void *)),
                   .enabled = gpu_memory(count, sizeof(bool)),
                   .held = gpu_memory(count, sizeof(uint32_t))};
  gpu_spin_launch empty = {1, 32, 0, 0, 0, 0};
  gpu_kernel_node node;
  void *parameters[3], *join = NULL;
  gpu_spin_node(&empty, spin.function, parameters, &node);
  GPU_CHECK(gpu.graph_create(&copy.graph, 0));
  for (uint32_t level = 0; level < shape->length; level++) {
    void **row = &copy.nodes[(size_t)level * shape->width];
    for (uint32_t lane = 0; lane < shape->width; lane++) {
      void *before = !shape->lanes ? join : level > 0 ? copy.nodes[(size_t)(level - 1) * shape->width + lane] : NULL;
      GPU_CHECK(gpu.graph_add_kernel(&row[lane], copy.graph, &before, before ? 1 : 0, &node));
      copy.enabled[(size_t)level * shape->width + lane] = true;
    }
    if (!shape->lanes) GPU_CHECK(gpu.graph_add_empty(&join, copy.graph, row, shape->width));
  }
  GPU_CHECK(gpu.graph_instantiate(&copy.exec, copy.graph, 0));
  GPU_CHECK(gpu.graph_upload(copy.exec, gpu_streams()[0]));
  *out_copy = copy;
}

static void destroy(template *copy) {
  GPU_CHECK(gpu.exec_destroy(copy->exec));
  GPU_CHECK(gpu.graph_destroy(copy->graph));
  free(copy->nodes);
  free(copy->enabled);
  free(copy->held);
}

// Finds a place for a launch whose predecessors all have one. False: not in this refill.
static bool place_on_level(refill *all, uint32_t launch, uint32_t piece) {
  const weir__plan_graph *order = &all->program->buffer;
  uint32_t level = 0;
  for (uint64_t e = order->first[launch]; e < order->first[launch + 1]; e++) {
    uint32_t before = order->predecessors[e];
    if (all->piece[before] == piece && all->level[before] >= level) level = all->level[before] + 1;
  }
  while (level < all->shape->length && all->used[level] == all->shape->width) level++;
  if (level == all->shape->length) return false;
  all->level[launch] = level;
  all->lane[launch] = all->used[level]++;
  return true;
}

static bool place_on_lane(refill *all, uint32_t launch, uint32_t piece) {
  const weir__plan_graph *order = &all->program->buffer;
  uint32_t lane = UINT32_MAX;
  for (uint64_t e = order->first[launch]; e < order->first[launch + 1]; e++) {
    uint32_t before = order->predecessors[e];
    if (all->piece[before] != piece) continue;
    if (lane != UINT32_MAX && lane != all->lane[before]) return false; // it would have to wait for two lanes
    lane = all->lane[before];
  }
  if (lane == UINT32_MAX) {
    lane = 0;
    for (uint32_t l = 1; l < all->shape->width; l++) {
      if (all->used[l] < all->used[lane]) lane = l;
    }
  }
  if (all->used[lane] == all->shape->length) return false;
  all->lane[launch] = lane;
  all->level[launch] = all->used[lane]++;
  return true;
}

static bool is_placed_before(const refill *all, uint32_t launch) {
  const weir__plan_graph *order = &all->program->buffer;
  for (uint64_t e = order->first[launch]; e < order->first[launch + 1]; e++) {
    if (all->piece[order->predecessors[e]] == 0) return false;
  }
  return true;
}

static void put(template *copy, uint32_t count, const gpu_program *program) {
  for (uint32_t n = 0; n < count; n++) {
    bool wanted = copy->held[n] != UINT32_MAX;
    if (wanted) {
      void *parameters[3];
      gpu_kernel_node node;
      gpu_spin_node(&program->launches[copy->held[n]], spin.function, parameters, &node);
      GPU_CHECK(gpu.exec_node_set(copy->exec, copy->nodes[n], &node));
    }
    if (wanted != copy->enabled[n]) GPU_CHECK(gpu.exec_node_enable(copy->exec, copy->nodes[n], wanted));
    copy->enabled[n] = wanted;
  }
  GPU_CHECK(gpu.graph_launch(copy->exec, gpu_streams()[0]));
}

static void pass(void *argument) {
  refill *all = argument;
  double start = gpu_now_us();
  uint32_t count = all->program->count, first = 0, piece = 0, nodes = all->shape->width * all->shape->length;
  uint32_t rows = all->shape->lanes ? all->shape->width : all->shape->length;
  for (uint32_t i = 0; i < count; i++) all->piece[i] = 0;
  while (first < count) {
    template *copy = &all->copies[piece++ % COPIES];
    for (uint32_t n = 0; n < nodes; n++) copy->held[n] = UINT32_MAX;
    for (uint32_t r = 0; r < rows; r++) all->used[r] = 0;
    uint32_t refused = 0;
    for (uint32_t i = first; i < count && i < first + WINDOW && refused < 32; i++) {
      if (all->piece[i] != 0) continue;
      bool placed = is_placed_before(all, i) &&
                    (all->shape->lanes ? place_on_lane(all, i, piece) : place_on_level(all, i, piece));
      if (placed) {
        all->piece[i] = piece;
        copy->held[all->level[i] * all->shape->width + all->lane[i]] = i;
      } else {
        refused++;
      }
    }
    put(copy, nodes, all->program);
    while (first < count && all->piece[first] != 0) first++;
  }
  all->launches = piece;
  all->host_us = gpu_now_us() - start;
}

static void measure(const gpu_program *program, const template_shape *shape, uint32_t runs) {
  refill all = {.program = program, .shape = shape};
  for (uint32_t c = 0; c < COPIES; c++) build(shape, &all.copies[c]);
  all.level = gpu_memory(program->count, sizeof *all.level);
  all.lane = gpu_memory(program->count, sizeof *all.lane);
  all.piece = gpu_memory(program->count, sizeof *all.piece);
  all.used = gpu_memory((size_t)shape->width + shape->length, sizeof *all.used);
  double us = gpu_time(runs, pass, &all).median;
  printf(" %5.0f (%5.0f,%3u)", us, all.host_us, all.launches);
  for (uint32_t c = 0; c < COPIES; c++) destroy(&all.copies[c]);
  free(all.level);
  free(all.lane);
  free(all.piece);
  free(all.used);
}

void gpu_ways_templates(const gpu_program *programs, uint32_t count, uint32_t runs) {
  static const template_shape shapes[] = {{4, 8, false},  {4, 16, false}, {8, 4, false}, {8, 8, false}, {8, 16, false},
                                          {16, 4, false}, {4, 8, true},   {4, 16, true}, {8, 8, true},  {16, 4, true}};
  printf("\nd. templates: total (host, graphs): levels 4x8 4x16 8x4 8x8 8x16 16x4, lanes 4x8 4x16 8x8 16x4\n");
  for (uint32_t p = 0; p < count; p++) {
    printf("%-14s", programs[p].name);
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) measure(&programs[p], &shapes[s], runs);
    printf("\n");
    fflush(stdout);
  }
}
