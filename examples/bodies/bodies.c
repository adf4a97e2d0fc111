// SPDX-License-Identifier: Apache-2.0
//
// Runs the worlds of simulation.h, says what they did, and compares ways to run them.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "options.h"
#include "picture.h"

enum { EXIT_WRONG = 1, EXIT_USAGE = 2, EXIT_MISSING = 3, LONGEST_CHAIN = 5 };

// A way to run.
typedef struct way {
  const char *name;
  uint32_t flags;
  weir_issue issue;
  bool cuda_only;
} way;

static const way ways[] = {
    {"in order", WEIR_CONTEXT_IN_ORDER, WEIR_ISSUE_AUTO, false},
    {"out of order", 0, WEIR_ISSUE_AUTO, false},
    {"queues", 0, WEIR_ISSUE_QUEUES, true},
    {"graphs", 0, WEIR_ISSUE_GRAPHS, true},
    {"resident", 0, WEIR_ISSUE_RESIDENT, true},
};
enum { IN_ORDER, OUT_OF_ORDER, WAYS = sizeof ways / sizeof *ways };

static int exit_code_of(weir_status status) {
  if (status == WEIR_OK) return 0;
  if (status == WEIR_ERROR_UNAVAILABLE) return EXIT_MISSING;
  return status == WEIR_ERROR_INVALID_ARGUMENT ? EXIT_USAGE : EXIT_WRONG;
}

static int compare_integers(const void *a, const void *b) {
  int32_t left = *(const int32_t *)a, right = *(const int32_t *)b;
  return (left > right) - (left < right);
}

static int compare_numbers(const void *a, const void *b) {
  double left = *(const double *)a, right = *(const double *)b;
  return (left > right) - (left < right);
}

// Prints the least, the median and the greatest of numbers, which it sorts.
static void print_spread(const char *what, int32_t *numbers, int32_t count) {
  qsort(numbers, (size_t)count, sizeof *numbers, compare_integers);
  printf("%s %d / %d / %d", what, numbers[0], numbers[count / 2], numbers[count - 1]);
}

static double world_steps_per_second(const simulation_options *run, const simulation_result *result) {
  return (double)run->worlds * (double)run->steps / result->seconds;
}

static void print_result(const simulation_options *run, simulation_result *result) {
  printf("%s: %d worlds of %d bodies, %d steps\n", run->devices, run->worlds, run->bodies, run->steps);
  printf("%.0f steps of a world per second (%.3f s)\n", world_steps_per_second(run, result), result->seconds);
  int64_t tasks = 0;
  for (int32_t i = 0; i < run->steps; i++) tasks += result->tasks[i];
  // Of each world the tasks of a step are a chain, but for its islands: the copy in, drive, an island, observe, the copy out.
  double parallelism = (double)tasks / ((double)run->steps * LONGEST_CHAIN);
  print_spread("per step, least / median / greatest: tasks", result->tasks, run->steps);
  print_spread(", islands", result->islands, run->steps);
  printf("; at most %d bodies in one\n", result->most_bodies);
  printf("tasks per task of the longest chain: %.1f\n", parallelism);
  printf("greatest overlap %.1f mm, error of a joint %.1f mm, gain of energy in a step as from %.2f mm of height\n",
         1e3 * result->record.overlap, 1e3 * result->record.stretch, 1e3 * result->record.gain);
  printf("energy from actions %.1f J, mean reward %.4f m/s\n", result->record.action_work, result->reward);
}

// Runs once in one way, in a context without trace.
static weir_status run_way(const bodies_options *options, const char *devices, const way *as,
                           simulation_result *out_result) {
  simulation_options run = options->run;
  run.devices = devices;
  run.flags = as->flags;
  run.issue = as->issue;
  run.timeline = NULL;
  run.look = NULL;
  return simulation_run(&run, out_result);
}

// Runs once more, in another way or elsewhere, and compares.
static int check_same(const bodies_options *options, const char *devices, const way *as,
                      const simulation_result *result, const char *what) {
  simulation_result other;
  int32_t step, number;
  weir_status status = run_way(options, devices, as, &other);
  bool same = status == WEIR_OK && simulation_same(&options->run, result, &other, &step, &number);
  if (same) printf("%s: the same bits\n", what);
  if (status == WEIR_OK && !same) printf("%s: DIFFERENT from step %d of world %d on\n", what, step, number);
  simulation_result_release(&other);
  return same ? 0 : status == WEIR_OK ? EXIT_WRONG : exit_code_of(status);
}

static int check(const bodies_options *options, const simulation_result *result) {
  const char *devices = options->run.devices;
  const way *other = options->in_order ? &ways[OUT_OF_ORDER] : &ways[IN_ORDER];
  int exit_code = check_same(options, devices, other, result, "out of order and in order");
  if (exit_code == 0 && strncmp(devices, "cpu", 3) != 0) {
    exit_code = check_same(options, "cpu", &ways[OUT_OF_ORDER], result, "this device and the CPU");
  }
  return exit_code;
}

// Runs all ways in turns and prints the medians of their rates. Each must give the same bits.
static int compare(const bodies_options *options, const simulation_result *expected) {
  bool cuda = strncmp(options->run.devices, "cuda", 4) == 0;
  double *rates[WAYS] = {NULL};
  int exit_code = 0;
  for (int i = 0; i < WAYS; i++) rates[i] = calloc((size_t)options->rounds, sizeof(double));
  for (int round = 0; round < options->rounds; round++) {
    for (int i = 0; i < WAYS && exit_code == 0; i++) {
      if (!rates[i] || (ways[i].cuda_only && !cuda)) continue;
      simulation_result result;
      int32_t step, number;
      exit_code = exit_code_of(run_way(options, options->run.devices, &ways[i], &result));
      if (exit_code == 0) rates[i][round] = world_steps_per_second(&options->run, &result);
      if (exit_code == 0 && !simulation_same(&options->run, expected, &result, &step, &number)) {
        printf("%s: DIFFERENT from step %d of world %d on\n", ways[i].name, step, number);
        exit_code = EXIT_WRONG;
      }
      simulation_result_release(&result);
    }
  }
  for (int i = 0; i < WAYS; i++) {
    if (rates[i] && exit_code == 0 && (cuda || !ways[i].cuda_only)) {
      qsort(rates[i], (size_t)options->rounds, sizeof(double), compare_numbers);
      double rate = rates[i][options->rounds / 2];
      printf("%-13s %9.0f steps of a world per second, median of %d (%.0f to %.0f), %.2fx\n", ways[i].name, rate,
             options->rounds, rates[i][0], rates[i][options->rounds - 1], rate / rates[IN_ORDER][options->rounds / 2]);
    }
  }
  for (int i = 0; i < WAYS; i++) free(rates[i]);
  return exit_code;
}

static int run_options(bodies_options *options, picture *drawing) {
  simulation_options run = options->run;
  run.flags = (options->in_order ? WEIR_CONTEXT_IN_ORDER : 0u) | (run.timeline ? WEIR_CONTEXT_TRACE : 0u);
  if (options->picture) {
    drawing->steps = run.steps;
    run.look = picture_look;
    run.user = drawing;
  }
  simulation_result result;
  int exit_code = exit_code_of(simulation_run(&run, &result));
  if (exit_code == 0) print_result(&run, &result);
  if (exit_code == 0 && options->check) exit_code = check(options, &result);
  if (exit_code == 0 && options->compare) exit_code = compare(options, &result);
  if (exit_code == 0 && options->picture && !picture_save(drawing, options->picture)) {
    fprintf(stderr, "weir-bodies: cannot write '%s': %s\n", options->picture, strerror(errno));
    exit_code = EXIT_WRONG;
  }
  simulation_result_release(&result);
  return exit_code;
}

int main(int argc, char **argv) {
  bodies_options options;
  int exit_code = EXIT_WRONG;
  if (!options_read(argc, argv, &options, &exit_code)) return exit_code;
  picture *drawing = calloc(1, sizeof *drawing);
  if (drawing) exit_code = run_options(&options, drawing);
  if (!drawing) fprintf(stderr, "weir-bodies: no memory\n");
  free(drawing);
  if (exit_code == 0 && fflush(stdout) != 0) {
    fprintf(stderr, "weir-bodies: cannot write to standard output\n");
    exit_code = EXIT_WRONG;
  }
  return exit_code;
}
