// SPDX-License-Identifier: Apache-2.0
//
// Tone mapping of a sequence of frames as a pipeline, beside one frame at a time.
#include <stdio.h>
#include <stdlib.h>

#include "sequence.h"

enum { EXIT_WRONG = 1, EXIT_USAGE = 2, EXIT_MISSING = 3 };

static int exit_code_of(weir_status status) {
  if (status == WEIR_OK) return 0;
  if (status == WEIR_ERROR_UNAVAILABLE) return EXIT_MISSING;
  return status == WEIR_ERROR_INVALID_ARGUMENT ? EXIT_USAGE : EXIT_WRONG;
}

static int compare(const void *left, const void *right) {
  double a = *(const double *)left, b = *(const double *)right;
  return (a > b) - (a < b);
}

// By round. Sorts them.
static double print_row(const char *name, double *per_second, double *latency_ms, int rounds) {
  size_t count = (size_t)rounds;
  qsort(per_second, count, sizeof *per_second, compare);
  qsort(latency_ms, count, sizeof *latency_ms, compare);
  double median = (per_second[(rounds - 1) / 2] + per_second[rounds / 2]) / 2;
  printf("%-20s %8.2f %8.2f %8.2f %10.1f\n", name, median, per_second[0], per_second[rounds - 1],
         (latency_ms[(rounds - 1) / 2] + latency_ms[rounds / 2]) / 2);
  return median;
}

static void print_lines(const sequence *self, const sequence_report *last) {
  printf(
      "lines:   %.0f %% in stages, %.0f %% without a frame, %.0f %% before a frame's turn, %.0f %% waiting for tasks, "
      "%.0f %% for a thread\n",
      100 * last->part[0], 100 * last->part[1], 100 * last->part[2], 100 * last->part[3], 100 * last->part[4]);
  printf("devices:");
  for (uint32_t i = 0; i < self->device_count; i++) {
    printf("%s %u frames on %s", i > 0 ? "," : "", last->mapped[i],
           weir_device_information(weir_context_device(self->context, i))->name);
  }
  printf("\n");
}

static int print_results(const sequence *self, double *values, const sequence_report *last) {
  const frames_options *options = self->options;
  int rounds = options->rounds;
  char name[32];
  printf("%d frames of %dx%d, %s, median of %d round%s\n\n", options->frames, self->width, self->height,
         options->tone.kind == TONE_DURAND ? "durand" : "reinhard", rounds, rounds == 1 ? "" : "s");
  printf("%-20s %8s %8s %8s %10s\n", "", "frames/s", "least", "most", "latency ms");
  double alone = print_row("one at a time", values, values + rounds, rounds);
  snprintf(name, sizeof name, "%d line%s", options->lines, options->lines == 1 ? "" : "s");
  double together = print_row(name, values + 2 * rounds, values + 3 * rounds, rounds);
  printf("\n%.2f times as many\n", together / alone);
  print_lines(self, last);
  if (options->check) printf("all frames are those of the serial reference\n");
  if (fflush(stdout) == 0) return 0;
  fprintf(stderr, "tonemap: cannot write to standard output\n");
  return EXIT_WRONG;
}

// One frame at a time, and the pipeline, in turn; `values` has room for rates and latencies of both.
static weir_status measure(sequence *self, double *values, sequence_report *out_last) {
  const frames_options *options = self->options;
  int rounds = options->rounds, untimed = 2 * options->lines < options->frames ? 2 * options->lines : options->frames;
  weir_status status = sequence_run(self, untimed, options->lines, out_last);
  for (int round = 0; status == WEIR_OK && round < rounds; round++) {
    sequence_report alone;
    status = sequence_run(self, options->frames, 1, &alone);
    if (status != WEIR_OK) break;
    status = sequence_run(self, options->frames, options->lines, out_last);
    values[round] = alone.per_second;
    values[rounds + round] = alone.latency_ms;
    values[2 * rounds + round] = out_last->per_second;
    values[3 * rounds + round] = out_last->latency_ms;
  }
  return status;
}

static int run(sequence *self) {
  const frames_options *options = self->options;
  double *values = calloc((size_t)options->rounds, 4 * sizeof *values);
  if (!values) {
    fprintf(stderr, "tonemap: no memory\n");
    return EXIT_WRONG;
  }
  sequence_report last;
  int exit_code = measure(self, values, &last) == WEIR_OK ? print_results(self, values, &last) : EXIT_WRONG;
  if (exit_code == 0 && options->timeline &&
      weir_trace_save(self->context, options->timeline, "Frames through a pipeline") != WEIR_OK) {
    fprintf(stderr, "tonemap: %s\n", weir_last_error());
    exit_code = EXIT_WRONG;
  }
  free(values);
  return exit_code;
}

int main(int argc, char **argv) {
  frames_options options;
  int exit_code;
  if (!options_read(argc, argv, &options, &exit_code)) return exit_code;
  sequence self;
  weir_status status = sequence_initialize(&self, &options);
  if (status != WEIR_OK) return exit_code_of(status);
  exit_code = run(&self);
  sequence_deinitialize(&self);
  return exit_code;
}
