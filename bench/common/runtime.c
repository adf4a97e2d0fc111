// SPDX-License-Identifier: Apache-2.0
#include "runtime.h"

#include <errno.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"

enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_UNAVAILABLE = 3 };

void weir__bench_pin(void) {
  cpu_set_t usable, chosen;
  CPU_ZERO(&chosen);
  if (sched_getaffinity(0, sizeof(usable), &usable) != 0) return;
  for (size_t cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&chosen) < WEIR__BENCH_WORKERS; cpu++) {
    if (CPU_ISSET(cpu, &usable)) CPU_SET(cpu, &chosen);
  }
  if (sched_setaffinity(0, sizeof(chosen), &chosen) != 0) perror("sched_setaffinity");
}

void weir__bench_print(const char *case_name, const char *runtime, const char *unit, double value) {
  printf("{\"case\": \"%s\", \"runtime\": \"%s\", \"unit\": \"%s\", \"value\": %.6g}\n", case_name, runtime, unit,
         value);
  fflush(stdout);
}

const char *weir__bench_text_option(int argc, char **argv, const char *name, const char *fallback) {
  for (int i = 1; i + 1 < argc; i++) {
    if (strcmp(argv[i], name) == 0) return argv[i + 1];
  }
  return fallback;
}

uint64_t weir__bench_option(int argc, char **argv, const char *name, uint64_t fallback) {
  const char *text = weir__bench_text_option(argc, argv, name, NULL);
  if (!text) return fallback;
  char *end = NULL;
  errno = 0;
  uint64_t value = strtoull(text, &end, 10);
  if (*text >= '0' && *text <= '9' && !*end && errno == 0) return value;
  fprintf(stderr, "%s: \"%s\" is not a whole number\n", name, text);
  exit(EXIT_USAGE);
}

typedef enum overhead_case { INDEPENDENT, CHAIN, RANDOM, REPLAY, CASE_COUNT } overhead_case;

static const char *const case_names[CASE_COUNT] = {"independent", "chain", "random", "replay"};

// Serial execution.
static void run_serially(overhead_case which, const weir__bench_tasks *tasks, uint64_t *cells) {
  for (uint64_t i = 0; i < tasks->count; i++) {
    if (which == INDEPENDENT) {
      cells[i] = weir__bench_mix(i, i, i);
    } else if (which == CHAIN) {
      cells[0] = weir__bench_mix(cells[0], cells[0], i);
    } else {
      const weir__bench_access *access = &tasks->accesses[i];
      cells[access->write] = weir__bench_mix(cells[access->read[0]], cells[access->read[1]], i);
    }
  }
}

// Runs the tasks once; *out_seconds is the time, or NULL to run them untimed. Returns an exit code.
static int run_case(const weir__bench_runtime *runtime, overhead_case which, uint64_t count, double *out_seconds) {
  uint64_t cell_count = which == INDEPENDENT ? count : WEIR__BENCH_CELLS;
  uint64_t *cells = calloc(cell_count, sizeof(*cells)), *expected = calloc(cell_count, sizeof(*expected));
  weir__bench_access *accesses = malloc(count * sizeof(*accesses));
  int exit_code = EXIT_FAILED;
  if (!cells || !expected || !accesses) {
    fprintf(stderr, "no memory\n");
    goto done;
  }
  for (uint64_t i = 0; which != INDEPENDENT && i < cell_count; i++) cells[i] = expected[i] = i + 1;
  weir__bench_sequence(WEIR__BENCH_SEED, accesses, count);
  const weir__bench_tasks tasks = {count, which == INDEPENDENT ? NULL : accesses, cells};

  const char *problem = runtime->prepare ? runtime->prepare(&tasks) : NULL;
  if (!problem && which == REPLAY) {
    runtime->record(&tasks);
    runtime->replay(&tasks); // builds what is built at the first launch
    run_serially(which, &tasks, expected);
  }
  int rounds = which == REPLAY ? WEIR__BENCH_REPLAYS : 1;
  double begin = weir__bench_seconds();
  for (int round = 0; !problem && round < rounds; round++) {
    if (which == INDEPENDENT) runtime->independent(&tasks);
    if (which == CHAIN) runtime->chain(&tasks);
    if (which == RANDOM) runtime->random(&tasks);
    if (which == REPLAY) runtime->replay(&tasks);
  }
  double seconds = weir__bench_seconds() - begin;
  if (!problem && runtime->finish) problem = runtime->finish(&tasks);
  if (problem) {
    fprintf(stderr, "%s\n", problem);
    goto done;
  }
  for (int round = 0; round < rounds; round++) run_serially(which, &tasks, expected);
  for (uint64_t i = 0; i < cell_count; i++) {
    if (cells[i] == expected[i]) continue;
    fprintf(stderr, "%s, %s: cell %llu is %016llx, serial execution gives %016llx\n", runtime->name, case_names[which],
            (unsigned long long)i, (unsigned long long)cells[i], (unsigned long long)expected[i]);
    goto done;
  }
  if (out_seconds) *out_seconds = seconds / rounds;
  exit_code = EXIT_DONE;
done:
  free(cells);
  free(expected);
  free(accesses);
  return exit_code;
}

static int run_overhead(const weir__bench_runtime *runtime, const char *name, int argc, char **argv) {
  int which = 0;
  while (which < CASE_COUNT && strcmp(name, case_names[which]) != 0) which++;
  if (which == CASE_COUNT) {
    fprintf(stderr, "\"%s\" is no case of overhead\n", name);
    return EXIT_USAGE;
  }
  if ((which == INDEPENDENT && !runtime->independent) || (which == CHAIN && !runtime->chain) ||
      (which == RANDOM && !runtime->random) || (which == REPLAY && !runtime->replay)) {
    fprintf(stderr, "%s does not have the case %s\n", runtime->name, name);
    return EXIT_UNAVAILABLE;
  }
  uint64_t count = weir__bench_option(argc, argv, "--tasks", 100000);
  uint64_t repeat = weir__bench_option(argc, argv, "--repeat", 1);
  if (which == REPLAY) count = (count + WEIR__BENCH_REPLAYS - 1) / WEIR__BENCH_REPLAYS;
  uint64_t warm_up = weir__bench_option(argc, argv, "--warm-up", count / 10 + 1);
  if (count == 0 || warm_up == 0) {
    fprintf(stderr, "there must be at least one task\n");
    return EXIT_USAGE;
  }
  int exit_code = EXIT_DONE;
  for (uint64_t i = 0; i < repeat && exit_code == EXIT_DONE; i++) {
    double seconds = 0;
    exit_code = run_case(runtime, (overhead_case)which, warm_up, NULL);
    if (exit_code == EXIT_DONE) exit_code = run_case(runtime, (overhead_case)which, count, &seconds);
    if (exit_code == EXIT_DONE) weir__bench_print(name, runtime->name, "ns/task", seconds / (double)count * 1e9);
  }
  return exit_code;
}

static int run_metg(const weir__bench_runtime *runtime, const char *pattern, int argc, char **argv) {
  weir__bench_grid grid;
  uint64_t repeat = weir__bench_option(argc, argv, "--repeat", 1);
  if (!weir__bench_grid_create(&grid, pattern, (int64_t)weir__bench_option(argc, argv, "--steps", 1000))) {
    fprintf(stderr, "\"%s\" is no pattern of metg, or no memory\n", pattern);
    return EXIT_USAGE;
  }
  const char *problem = runtime->grid_prepare ? runtime->grid_prepare(&grid) : NULL;
  if (problem) fprintf(stderr, "%s\n", problem);
  bool right = !problem;
  for (uint64_t i = 0; right && i < repeat; i++) {
    double us = weir__bench_metg(&grid, runtime->grid_run, weir__bench_compute_peak());
    right = isfinite(us);
    if (right) {
      weir__bench_print(pattern, runtime->name, "us", us);
    } else if (isinf(us)) {
      fprintf(stderr, "%s, %s: less than half of the peak rate with tasks of 1 ms\n", runtime->name, pattern);
    } else {
      fprintf(stderr, "%s, %s: %lld inputs of tasks were not there yet, or overwritten\n", runtime->name, pattern,
              (long long)grid.errors);
    }
  }
  if (runtime->grid_finish) runtime->grid_finish(&grid);
  weir__bench_grid_release(&grid);
  return right ? EXIT_DONE : EXIT_FAILED;
}

int weir__bench_runtime_main(const weir__bench_runtime *runtime, int argc, char **argv) {
  bool overhead = argc >= 3 && strcmp(argv[1], "overhead") == 0, metg = argc >= 3 && strcmp(argv[1], "metg") == 0;
  if (!overhead && !metg) {
    fprintf(stderr,
            "Usage: %s overhead independent|chain|random|replay [--tasks N] [--repeat N] [--variant WORD]\n"
            "       %s metg PATTERN [--steps N] [--repeat N] [--variant WORD]\n",
            argv[0], argv[0]);
    return EXIT_USAGE;
  }
  weir__bench_pin();
  const char *problem = runtime->start(weir__bench_text_option(argc, argv, "--variant", ""));
  if (problem) {
    fprintf(stderr, "%s\n", problem);
    return EXIT_UNAVAILABLE;
  }
  int exit_code = overhead ? run_overhead(runtime, argv[2], argc, argv) : run_metg(runtime, argv[2], argc, argv);
  runtime->stop();
  return exit_code;
}
