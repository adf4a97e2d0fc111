// SPDX-License-Identifier: Apache-2.0
//
// weir-bench-window: should hazards be found by the host or by the card?
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "options.h"
#include "timing.h"
#include "ways.h"

enum { LAYER_KINDS = 3, RANDOM_KINDS = 3, TASKS = 2000, QUICK_TASKS = 100 };

typedef struct bench {
  window_options options;
  window_gpu *gpu; // NULL: none
  window_case *cases;
  window_measures *measures;
  uint32_t count;
  FILE *json;
  bool json_has_rows;
} bench;

static bool make_cases(bench *b) {
  const uint32_t widths[LAYER_KINDS] = {4, 16, 64}, ranges[RANDOM_KINDS] = {2, 4, 8};
  const uint32_t tasks = b->options.quick ? QUICK_TASKS : TASKS;
  size_t room = LAYER_KINDS + RANDOM_KINDS + 2 * (size_t)b->options.stream_count;
  b->cases = gpu_memory(room, sizeof *b->cases);
  b->measures = gpu_memory(room, sizeof *b->measures);
  for (int i = 0; i < LAYER_KINDS; i++) window_case_layers(tasks, widths[i], &b->cases[b->count++]);
  for (int i = 0; i < RANDOM_KINDS; i++) window_case_random(tasks, ranges[i], 1, &b->cases[b->count++]);
  for (int i = 0; i < b->options.stream_count; i++) {
    for (int renames = 1; renames >= 0; renames--) {
      if (!window_case_stream(b->options.streams[i], renames, &b->cases[b->count])) return false;
      b->count++;
    }
  }
  return true;
}

static bool measure(bench *b) {
  for (uint32_t i = 0; i < b->count; i++) {
    if (!window_measure_host(&b->cases[i], b->options.rounds, &b->measures[i])) return false;
    if (b->gpu != NULL && !window_measure_card(b->gpu, &b->cases[i], b->options.rounds, &b->measures[i])) return false;
  }
  return true;
}

// ---------------------------------------------------------------------------------------------------------------
// What came

// Of the rounds, per task, times `factor`. Adds a row to the JSON file.
static gpu_stat tell(bench *b, uint32_t index, const char *what, uint32_t slots, uint32_t warps,
                     const window_rounds *rounds, double factor) {
  double sorted[WINDOW_MOST_ROUNDS];
  memcpy(sorted, rounds->values, b->options.rounds * sizeof *sorted);
  gpu_stat stat = gpu_statistics(sorted, b->options.rounds);
  factor /= b->cases[index].program.task_count;
  stat = (gpu_stat){stat.median * factor, stat.low * factor, stat.high * factor};
  if (b->json != NULL)
    fprintf(b->json,
            "%s\n  {\"case\": \"%s\", \"tasks\": %u, \"what\": \"%s\", \"window\": %u, \"warps\": %u, \"value\": %.6g, "
            "\"low\": %.6g, "
            "\"high\": %.6g}",
            b->json_has_rows ? "," : "", b->cases[index].name, b->cases[index].program.task_count, what, slots, warps,
            stat.median, stat.low, stat.high);
  b->json_has_rows = true;
  return stat;
}

static void tell_number(bench *b, uint32_t index, const char *what, uint32_t slots, double value) {
  if (b->json == NULL) return;
  fprintf(b->json, "%s\n  {\"case\": \"%s\", \"tasks\": %u, \"what\": \"%s\", \"window\": %u, \"value\": %.6g}",
          b->json_has_rows ? "," : "", b->cases[index].name, b->cases[index].program.task_count, what, slots, value);
  b->json_has_rows = true;
}

static double ranges_of(const window_case *which) {
  uint64_t ranges = 0;
  for (uint32_t t = 0; t < which->program.task_count; t++) ranges += which->tasks[t].ranges;
  return (double)ranges / which->program.task_count;
}

static void print_line(int columns) {
  printf("|");
  while (columns-- > 0) printf("---|");
  printf("\n");
}

static void print_host(bench *b) {
  printf("The host, ns a task (tenth to ninetieth percentile): hazards alone, with so many tasks in flight; a whole "
         "submission to a "
         "device that runs nothing, in a window of 1024. Medians of %u rounds.\n\n",
         b->options.rounds);
  printf("| case | tasks | ranges a task |");
  for (int i = 0; i < WINDOW_SIZES; i++) printf(" hazards, %u |", window_sizes[i]);
  printf(" submission |\n");
  print_line(4 + WINDOW_SIZES);
  for (uint32_t c = 0; c < b->count; c++) {
    printf("| %s | %u | %.1f |", b->cases[c].name, b->cases[c].program.task_count, ranges_of(&b->cases[c]));
    for (int i = 0; i < WINDOW_SIZES; i++) {
      gpu_stat stat = tell(b, c, "host_find_ns", window_sizes[i], 0, &b->measures[c].find[i], 1e9);
      printf(" %.0f (%.0f to %.0f) |", stat.median, stat.low, stat.high);
    }
    gpu_stat stat = tell(b, c, "host_submit_ns", 1024, 0, &b->measures[c].submit, 1e9);
    printf(" %.0f (%.0f to %.0f) |\n", stat.median, stat.low, stat.high);
  }
}

static void print_windows(bench *b) {
  printf("\nWhat a window of N tasks sees: steps of a schedule of tasks that take one step each, with N tasks in "
         "flight / predecessors a "
         "task that the card lists, and the host / tasks with more than %d for the card's list.\n\n",
         WEIR__R_EDGES);
  printf("| case | steps, no limit |");
  for (int i = 0; i < WINDOW_SIZES; i++) printf(" %u |", window_sizes[i]);
  printf("\n");
  print_line(2 + WINDOW_SIZES);
  for (uint32_t c = 0; c < b->count; c++) {
    const window_measures *m = &b->measures[c];
    printf("| %s | %.0f |", b->cases[c].name, m->steps_unlimited);
    tell_number(b, c, "steps", 0, m->steps_unlimited);
    for (int i = 0; i < WINDOW_SIZES; i++) {
      printf(" %.0f / %.1f, %.1f / %.0f %% |", m->steps[i], m->card_edges[i], m->host_edges[i], 100 * m->too_many[i]);
      tell_number(b, c, "steps", window_sizes[i], m->steps[i]);
      tell_number(b, c, "card_edges", window_sizes[i], m->card_edges[i]);
      tell_number(b, c, "host_edges", window_sizes[i], m->host_edges[i]);
      tell_number(b, c, "too_many", window_sizes[i], m->too_many[i]);
    }
    printf("\n");
  }
}

static void print_card(bench *b) {
  static const char *const names[WINDOW_KINDS] = {"card_full_us", "card_quarter_us", "card_from_host_us"};
  static const char *const walls[WINDOW_KINDS] = {"card_full_wall_us", "card_quarter_wall_us",
                                                  "card_from_host_wall_us"};
  printf("\nThe card, %s, us a task, by its clock: window / warps. Full, or a quarter full; the ring in the card's "
         "memory, or in the "
         "host's.\n\n",
         window_gpu_name(b->gpu));
  printf("| case | window |");
  for (int i = 0; i < WINDOW_CARD_COLUMNS; i++) printf(" %u/%u |", window_columns[i].slots, window_columns[i].warps);
  printf("\n");
  print_line(2 + WINDOW_CARD_COLUMNS);
  for (uint32_t c = 0; c < b->count; c++) {
    for (int kind = 0; kind < WINDOW_KINDS; kind++) {
      printf("| %s | %s |", b->cases[c].name, window_kind_names[kind]);
      for (int i = 0; i < WINDOW_CARD_COLUMNS; i++) {
        const window_column *column = &window_columns[i];
        gpu_stat stat = tell(b, c, names[kind], column->slots, column->warps, &b->measures[c].card[kind][i], 1);
        tell(b, c, walls[kind], column->slots, column->warps, &b->measures[c].wall[kind][i], 1);
        printf(" %.3f |", stat.median);
      }
      printf("\n");
    }
  }
}

static void close_all(bench *b) {
  for (uint32_t i = 0; i < b->count; i++) window_case_free(&b->cases[i]);
  free(b->cases);
  free(b->measures);
  window_gpu_close(b->gpu);
}

int main(int argc, char **argv) {
  static bench b;
  char reason[1024] = "";
  if (!window_options_parse(argc, argv, &b.options)) return b.options.exit_code;
  if (b.options.json != NULL && (b.json = fopen(b.options.json, "w")) == NULL) {
    fprintf(stderr, "weir-bench-window: %s cannot be written\n", b.options.json);
    return WINDOW_USAGE;
  }
  b.gpu = window_gpu_open(b.options.device, reason, sizeof reason);
  bool good = make_cases(&b) && measure(&b);
  if (b.json != NULL) fputs("[", b.json);
  if (good) {
    print_host(&b);
    print_windows(&b);
    if (b.gpu != NULL)
      print_card(&b);
    else
      printf("\nThere are no times of the card: %s.\n", reason);
  }
  close_all(&b);
  if (b.json != NULL) {
    fputs("\n]\n", b.json);
    if (fclose(b.json) != 0) {
      fprintf(stderr, "weir-bench-window: %s could not be written\n", b.options.json);
      good = false;
    }
  }
  return good ? WINDOW_OK : WINDOW_FAILED;
}
