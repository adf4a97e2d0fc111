// SPDX-License-Identifier: Apache-2.0
//
// weir-bench-layers: graphs of small tasks that were never seen before, by every way of issuing them.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "options.h"
#include "timing.h"

enum { CHAIN_TASKS = 64, FEW_ROUNDS = 4096, MANY_ROUNDS = 20480, CALIBRATIONS = 5, WAITS = 100 };

static const double US = 1e6; // in a second

typedef struct bench {
  layer_options options;
  layer_tasks tasks[LAYER_MODES];
  double rounds_per_us; // of the kernel's loop
  FILE *json;
  bool json_has_rows;
} bench;

// What one mode did with the graphs of one kind.
typedef struct column {
  double submit[LAYER_MOST_ROUNDS], total[LAYER_MOST_ROUNDS], build[LAYER_MOST_ROUNDS];
} column;

static bool say(const char *mode, const char *what) {
  fprintf(stderr, "weir-bench-layers: %s: %s\n", mode, what);
  return false;
}

static bool open_all(bench *b) {
  for (int i = 0; i < LAYER_MODES; i++) {
    const layer_mode *mode = &layer_modes[i];
    if (!b->options.modes[i]) continue;
    weir_status status = layer_tasks_open(&b->tasks[i], b->options.device, mode->issue, mode->flags);
    if (status == WEIR_OK) continue;
    b->options.exit_code = status == WEIR_ERROR_UNAVAILABLE ? LAYER_UNAVAILABLE : LAYER_FAILED;
    return say(mode->name, weir_last_error());
  }
  return true;
}

static void close_all(bench *b) {
  for (int i = 0; i < LAYER_MODES; i++) layer_tasks_close(&b->tasks[i]);
}

// Seconds that a chain of tasks takes in the first mode that was asked for; the least of some runs.
static bool time_chain(bench *b, uint32_t rounds, double *out_seconds) {
  int mode = 0;
  while (!b->options.modes[mode]) mode++;
  *out_seconds = INFINITY;
  for (uint64_t run = 0; run < CALIBRATIONS; run++) {
    layer_graph graph;
    layer_times times = {0};
    uint32_t wrong = 0;
    bool made = layer_graph_make(&graph, CHAIN_TASKS, 1, rounds, run);
    weir_status status =
        made ? layer_mode_run(&layer_modes[mode], &b->tasks[mode], &graph, &times, &wrong) : WEIR_ERROR_OUT_OF_MEMORY;
    layer_graph_free(&graph);
    if (status != WEIR_OK) return say(layer_modes[mode].name, made ? weir_last_error() : "no memory");
    if (wrong > 0) return say(layer_modes[mode].name, "a chain's result is wrong");
    if (times.total < *out_seconds) *out_seconds = times.total;
  }
  return true;
}

static bool calibrate(bench *b) {
  double few, many;
  if (!time_chain(b, FEW_ROUNDS, &few) || !time_chain(b, MANY_ROUNDS, &many)) return false;
  b->rounds_per_us = (double)(MANY_ROUNDS - FEW_ROUNDS) * CHAIN_TASKS / ((many - few) * 1e6);
  return b->rounds_per_us > 0 || say("calibration", "longer tasks did not take longer");
}

static void add_json(bench *b, const char *mode, uint32_t width, uint32_t us, const char *what, gpu_stat stat,
                     double factor) {
  if (b->json == NULL) return;
  fprintf(b->json,
          "%s\n  {\"mode\": \"%s\", \"width\": %u, \"time_us\": %u, \"what\": \"%s\", \"value\": %.6g, \"low\": %.6g, "
          "\"high\": %.6g}",
          b->json_has_rows ? "," : "", mode, width, us, what, stat.median * factor, stat.low * factor,
          stat.high * factor);
  b->json_has_rows = true;
}

static bool run_round(bench *b, const layer_graph *graph, uint32_t round, column columns[LAYER_MODES]) {
  for (int i = 0; i < LAYER_MODES; i++) {
    if (!b->options.modes[i]) continue;
    layer_times times;
    uint32_t wrong;
    weir_status status = layer_mode_run(&layer_modes[i], &b->tasks[i], graph, &times, &wrong);
    if (status != WEIR_OK) return say(layer_modes[i].name, weir_last_error());
    if (wrong > 0) return say(layer_modes[i].name, "results differ from serial execution");
    columns[i].submit[round] = times.submit;
    columns[i].total[round] = times.total;
    columns[i].build[round] = times.build;
  }
  return true;
}

// One row of the table: graphs of one width, with tasks of one length.
static bool run_row(bench *b, column columns[LAYER_MODES], uint32_t width, uint32_t us) {
  uint32_t rounds = b->options.rounds, loop = (uint32_t)(us * b->rounds_per_us + 0.5);
  for (uint32_t round = 0; round < rounds; round++) {
    layer_graph graph;
    uint64_t seed = (uint64_t)width << 40 | (uint64_t)us << 20 | round;
    bool good = layer_graph_make(&graph, b->options.tasks, width, loop, seed) && run_round(b, &graph, round, columns);
    layer_graph_free(&graph);
    if (!good) return false;
  }
  uint32_t layers = (b->options.tasks + width - 1) / width;
  printf("| %u | %u | %u |", width, us, layers * us);
  for (int i = 0; i < LAYER_MODES; i++) {
    if (!b->options.modes[i]) continue;
    gpu_stat total = gpu_statistics(columns[i].total, rounds), submit = gpu_statistics(columns[i].submit, rounds);
    printf(" %.0f (%.3f) |", total.median * US, submit.median * US / b->options.tasks);
    add_json(b, layer_modes[i].name, width, us, "total_us", total, US);
    add_json(b, layer_modes[i].name, width, us, "submit_us_per_task", submit, US / b->options.tasks);
    if (layer_modes[i].recorded)
      add_json(b, layer_modes[i].name, width, us, "build_us", gpu_statistics(columns[i].build, rounds), US);
  }
  printf("\n");
  fflush(stdout);
  return true;
}

static void print_head(const bench *b, const char *title) {
  printf("%s |", title);
  uint32_t bars = 0;
  for (const char *at = title; *at != '\0'; at++) bars += *at == '|';
  for (int i = 0; i < LAYER_MODES; i++) {
    if (!b->options.modes[i]) continue;
    printf(" %s |", layer_modes[i].name);
    bars++;
  }
  printf("\n|");
  while (bars-- > 0) printf("---|");
  printf("\n");
}

// The time from the submission of one task, alone, until the host knows that it is done.
static bool run_waits(bench *b) {
  layer_graph graph;
  bool good = layer_graph_make(&graph, 1, 1, 1, 1);
  printf("\n");
  print_head(b, "|");
  printf("| us to submit one task and wait for it |");
  for (int i = 0; i < LAYER_MODES && good; i++) {
    double rounds[LAYER_MOST_ROUNDS];
    if (!b->options.modes[i]) continue;
    for (uint32_t round = 0; round < b->options.rounds && good; round++) {
      weir_status status = layer_mode_wait(&b->tasks[i], &graph, WAITS, &rounds[round]);
      good = status == WEIR_OK || say(layer_modes[i].name, weir_last_error());
    }
    if (!good) break;
    gpu_stat wait = gpu_statistics(rounds, b->options.rounds);
    printf(" %.1f |", wait.median * US);
    add_json(b, layer_modes[i].name, 1, 0, "wait_us", wait, US);
  }
  printf("\n");
  layer_graph_free(&graph);
  return good;
}

static bool run_all(bench *b) {
  if (!calibrate(b)) return false;
  column *columns = calloc(LAYER_MODES, sizeof *columns);
  if (columns == NULL) return say("table", "no memory");
  printf(
      "Graphs of %u tasks, each new, on %s: us for all (us of the submitting thread for each task); medians of %u.\n\n",
      b->options.tasks, b->options.device, b->options.rounds);
  print_head(b, "| wide | us each | critical path");
  bool good = true;
  for (uint32_t w = 0; w < b->options.widths.count && good; w++) {
    for (uint32_t t = 0; t < b->options.times.count && good; t++)
      good = run_row(b, columns, b->options.widths.values[w], b->options.times.values[t]);
  }
  free(columns);
  return good && run_waits(b);
}

int main(int argc, char **argv) {
  static bench b;
  if (!layer_options_parse(argc, argv, &b.options)) return b.options.exit_code;
  if (b.options.json != NULL) {
    b.json = fopen(b.options.json, "w");
    if (b.json == NULL) {
      fprintf(stderr, "weir-bench-layers: %s cannot be written\n", b.options.json);
      return LAYER_USAGE;
    }
    fputs("[", b.json);
  }
  bool good = open_all(&b) && run_all(&b);
  close_all(&b);
  if (b.json != NULL) {
    fputs("\n]\n", b.json);
    if (fclose(b.json) != 0) good = say(b.options.json, "it could not be written");
  }
  if (good) return LAYER_OK;
  return b.options.exit_code != LAYER_OK ? b.options.exit_code : LAYER_FAILED;
}
