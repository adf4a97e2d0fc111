// SPDX-License-Identifier: Apache-2.0
//
// weir-bench-wait: how long it takes from the last write of a task until the host, which waits for it, sees it.
#include <stdio.h>
#include <string.h>

#include "measure.h"
#include "timing.h"

typedef struct report {
  const wait_bench *bench;
  wait_measures *measures;
  FILE *json; // NULL: none
  bool json_has_rows;
} report;

static void begin_row(report *r) {
  fprintf(r->json, "%s\n  {", r->json_has_rows ? "," : "");
  r->json_has_rows = true;
}

static void tell_number(report *r, const char *what, double value) {
  if (r->json == NULL) return;
  begin_row(r);
  fprintf(r->json, "\"what\": \"%s\", \"value\": %.6g}", what, value);
}

// Of samples, which it sorts.
static void print_samples(report *r, int way, int shape, int sight, const char *what, double *samples, uint32_t count) {
  const wait_column *column = wait_column_of(r->measures, way, shape, sight);
  if (!wait_bench_has(r->bench, way, (wait_sight)sight)) {
    printf(" |");
    return;
  }
  if (count == 0) {
    printf(" late |");
    return;
  }
  gpu_stat stat = gpu_statistics(samples, count);
  printf(" %.2f (%.2f to %.2f) |", stat.median, stat.low, stat.high);
  if (r->json == NULL) return;
  begin_row(r);
  fprintf(r->json,
          "\"way\": \"%s\", \"tasks\": \"%s\", \"sight\": \"%s\", \"what\": \"%s\", \"value\": %.6g, \"low\": %.6g, "
          "\"high\": %.6g, \"samples\": %u, \"late\": %u, \"contradicted\": %u}",
          wait_ways[way].name, wait_shapes[shape].name, wait_sight_names[sight], what, stat.median, stat.low, stat.high,
          count, column->all - column->waited, column->contradicted);
}

static void print_table(report *r, int shape) {
  printf("\n| %s |", wait_shapes[shape].name);
  for (int sight = 0; sight < WAIT_SIGHTS; sight++)
    printf(" %s, from the write | from the submission |", wait_sight_names[sight]);
  printf("\n|---|");
  for (int sight = 0; sight < WAIT_SIGHTS; sight++) printf("---|---|");
  printf("\n");
  for (int way = 0; way < WAIT_WAYS; way++) {
    if (wait_ways[way].is_peer && !r->bench->has_card) continue;
    printf("| %s |", wait_ways[way].name);
    for (int sight = 0; sight < WAIT_SIGHTS; sight++) {
      const wait_column *column = wait_column_of(r->measures, way, shape, sight);
      print_samples(r, way, shape, sight, "from_write_us", column->from_write, column->waited);
      print_samples(r, way, shape, sight, "from_submit_us", column->from_submit, column->all);
    }
    printf("\n");
  }
}

static void print_clocks(report *r) {
  const wait_measures *m = r->measures;
  const double step = (double)r->bench->clocks.step_ns, error = (double)m->most_error_ns / 1000;
  printf("\nThe device's clock steps by %.0f ns. ", step);
  tell_number(r, "clock_step_ns", step);
  tell_number(r, "clock_error_us", error);
  if (!r->bench->has_card) {
    printf("It is the host's.\n");
    return;
  }
  printf(
      "Questions to the card and back took %.2f to %.2f us at the least, before and behind the samples of each column; "
      "so each time from a last write may be off by up to %.2f us. Meanwhile one clock gained up to %.2f us on the "
      "other, which is taken off.\n",
      (double)m->least_round_ns / 1000, (double)m->most_round_ns / 1000, error, (double)m->most_drift_ns / 1000);
  tell_number(r, "clock_least_round_us", (double)m->least_round_ns / 1000);
  tell_number(r, "clock_most_round_us", (double)m->most_round_ns / 1000);
  tell_number(r, "clock_drift_us", (double)m->most_drift_ns / 1000);
}

static void print_resident(report *r) {
  printf("Tasks that a resident kernel ran:");
  for (int way = 0; way < WAIT_WAYS; way++) {
    if (wait_ways[way].is_peer) continue;
    printf("%s %s %.1f %%", way > 0 ? "," : "", wait_ways[way].name, 100 * r->measures->resident[way]);
    if (r->json == NULL) continue;
    begin_row(r);
    fprintf(r->json, "\"way\": \"%s\", \"what\": \"resident_share\", \"value\": %.6g}", wait_ways[way].name,
            r->measures->resident[way]);
  }
  printf(".\n");
}

static void print_notes(report *r) {
  uint32_t all = 0, waited = 0, contradicted = 0;
  for (int i = 0; i < WAIT_COLUMNS; i++) {
    all += r->measures->columns[i].all;
    waited += r->measures->columns[i].waited;
    contradicted += r->measures->columns[i].contradicted;
  }
  printf("In %u of %u samples the host did not wait yet when the last write came: they count for the whole time only. "
         "%u contradict the clocks.\n",
         all - waited, all, contradicted);
  if (r->bench->has_card)
    print_resident(r);
  else
    printf("There are no lines of CUDA's own calls: %s.\n", r->bench->no_card);
}

static void print_all(report *r) {
  const wait_options *options = r->bench->options;
  printf("From the last write of the last task until the host sees it, and from the submission of the first task, on "
         "%s%s%s: us, medians of %u (tenth to ninetieth percentile). Each task takes %u us. By \"event\" the host sees "
         "that the task is done; by \"copy\" the value, which is copied to its memory behind the task; by \"word\" the "
         "value, which the task writes there itself.\n",
         options->device, r->bench->has_card ? ", " : "", r->bench->card.name, options->rounds * options->samples,
         options->us);
  for (int shape = 0; shape < WAIT_SHAPES; shape++) print_table(r, shape);
  print_clocks(r);
  print_notes(r);
}

int main(int argc, char **argv) {
  static wait_bench bench;
  static wait_measures measures;
  wait_options options;
  report r = {&bench, &measures, NULL, false};
  if (!wait_options_parse(argc, argv, &options)) return options.exit_code;
  if (options.json != NULL && (r.json = fopen(options.json, "w")) == NULL) {
    fprintf(stderr, "weir-bench-wait: %s cannot be written\n", options.json);
    return WAIT_USAGE;
  }
  int code = wait_bench_open(&options, &bench);
  if (code == WAIT_OK && !wait_measure(&bench, &measures)) code = WAIT_FAILED;
  if (r.json != NULL) fputs("[", r.json);
  if (code == WAIT_OK) print_all(&r);
  wait_measures_free(&measures);
  wait_bench_close(&bench);
  if (r.json == NULL) return code;
  fputs("\n]\n", r.json);
  if (fclose(r.json) == 0) return code;
  fprintf(stderr, "weir-bench-wait: %s could not be written\n", options.json);
  return WAIT_FAILED;
}
