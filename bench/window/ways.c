// SPDX-License-Identifier: Apache-2.0
#include "ways.h"

#include <stdio.h>
#include <stdlib.h>

#include "plan/schedule.h"
#include "timing.h"

const uint32_t window_sizes[WINDOW_SIZES] = {32, 128, 256, 512, 1024};
const window_column window_columns[WINDOW_CARD_COLUMNS] = {{32, 1},  {128, 1},  {128, 4},  {256, 1},
                                                           {256, 4}, {256, 8},  {512, 1},  {512, 4},
                                                           {512, 8}, {1024, 1}, {1024, 4}, {1024, 8}};
const char *const window_kind_names[WINDOW_KINDS] = {"full", "quarter", "full, from the host"};

window_way window_way_of(int kind, const window_column *column) {
  return (window_way){column->slots, column->warps, kind == 1 ? column->slots / 4 : column->slots - 1, kind == 2};
}

static bool fail(const window_case *which, const char *what, uint32_t task) {
  fprintf(stderr, "weir-bench-window: %s: %s, task %u\n", which->name, what, task);
  return false;
}

static bool contains(const uint32_t *numbers, uint32_t count, uint32_t sought) {
  for (uint32_t i = 0; i < count; i++)
    if (numbers[i] == sought) return true;
  return false;
}

bool window_check(const window_case *which, uint32_t live, uint32_t first, const window_result *results) {
  bool good = true;
  uint32_t *known = gpu_memory(live, sizeof *known);
  for (uint32_t t = 0; t < which->program.task_count && good; t++) {
    const window_result *result = &results[t];
    uint32_t count = window_case_predecessors(which, t, live, known);
    if (result->number != first + t) good = fail(which, "there is no result", t);
    if (good && result->count != count) good = fail(which, "the count of predecessors is wrong", t);
    for (uint32_t i = 0; i < count && i < WEIR__R_EDGES && good; i++) {
      if (!contains(known, count, result->edges[i] - first)) good = fail(which, "a predecessor is wrong", t);
      if (contains(result->edges, i, result->edges[i])) good = fail(which, "a predecessor is there twice", t);
    }
  }
  free(known);
  return good;
}

// What the card's window has to find, and what a window of a size lets a schedule do.
static void look_at(const window_case *which, int size, window_measures *measures) {
  const uint32_t tasks = which->program.task_count, live = window_sizes[size] - 1;
  uint32_t *known = gpu_memory(live, sizeof *known);
  double *weights = gpu_memory(tasks, sizeof *weights), *ends = gpu_memory(tasks, sizeof *ends);
  uint64_t edges = 0, too_many = 0;
  for (uint32_t t = 0; t < tasks; t++) {
    uint32_t count = window_case_predecessors(which, t, live, known);
    edges += count;
    too_many += count > WEIR__R_EDGES;
    weights[t] = 1;
  }
  measures->card_edges[size] = (double)edges / tasks;
  measures->too_many[size] = (double)too_many / tasks;
  measures->steps[size] = weir__plan_window_schedule(&which->graph, weights, window_sizes[size], ends);
  measures->steps_unlimited = weir__plan_window_schedule(&which->graph, weights, 0, ends);
  free(known);
  free(weights);
  free(ends);
}

bool window_measure_host(const window_case *which, uint32_t rounds, window_measures *out_measures) {
  const uint32_t tasks = which->program.task_count;
  window_host host;
  window_host_open(which, &host);
  window_host_list *lists = gpu_memory(tasks, sizeof *lists);
  for (int size = 0; size < WINDOW_SIZES; size++) {
    for (uint32_t round = 0; round < rounds; round++)
      out_measures->find[size].values[round] = window_host_find(&host, window_sizes[size], lists);
    uint64_t edges = 0;
    for (uint32_t t = 0; t < tasks; t++) edges += lists[t].count;
    out_measures->host_edges[size] = (double)edges / tasks;
    look_at(which, size, out_measures);
  }
  weir_status status = window_host_submit(&host, rounds, out_measures->submit.values);
  if (status != WEIR_OK) fprintf(stderr, "weir-bench-window: %s: %s\n", which->name, weir_last_error());
  free(lists);
  window_host_close(&host);
  return status == WEIR_OK;
}

bool window_measure_card(window_gpu *gpu, const window_case *which, uint32_t rounds, window_measures *out_measures) {
  if (!window_gpu_load(gpu, which)) return false;
  bool good = true;
  window_result *results = gpu_memory(which->program.task_count, sizeof *results);
  for (int kind = 0; kind < WINDOW_KINDS; kind++) {
    for (int c = 0; c < WINDOW_CARD_COLUMNS && good; c++) {
      const window_way way = window_way_of(kind, &window_columns[c]);
      double *card = out_measures->card[kind][c].values, *wall = out_measures->wall[kind][c].values;
      good = window_gpu_run(gpu, &way, &card[0], &wall[0], results); // not counted
      for (uint32_t round = 0; round < rounds && good; round++)
        good = window_gpu_run(gpu, &way, &card[round], &wall[round], results);
      good = good && window_check(which, way.live, 1, results);
      if (!good) fprintf(stderr, "weir-bench-window: %s: window of %u, %u warps\n", which->name, way.slots, way.warps);
    }
  }
  free(results);
  return good;
}
