// SPDX-License-Identifier: Apache-2.0
//
// What renaming, as it is by default, gains and costs: time and peak memory by those without it, in turns.
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "patterns.h"

enum { MOST_ROUNDS = 99, STEP_MIB = 400, LEAST_STEPS = 40, MOST_STEPS = 4000 };

static const char usage[] =
    "Usage: weir-bench-rename [--device NAME] [--rounds N] [--json]\n"
    "\n"
    "Programs that use a few buffers of 64 KiB to 16 MiB again and again, by default and without renaming, in turns.\n"
    "  --device NAME  a CPU device; default cpu\n"
    "  --rounds N     1 to 99; default 9. The table has medians, least and most\n"
    "  --json         an array with an object for each line of the table\n";

typedef struct measured {
  double ms[MOST_ROUNDS];
  double peak_mib;
  uint64_t renamed;
} measured;

static _Noreturn void fail(const char *what) {
  fprintf(stderr, "weir-bench-rename: %s: %s\n", what, weir_last_error());
  exit(1);
}

static void run(const pattern *shape, const char *device, uint64_t bytes, uint32_t flags, double *out_ms,
                measured *out) {
  weir_context_options options = {.devices = device, .flags = flags};
  weir_context *context = NULL;
  if (weir_context_create(&options, &context) != WEIR_OK) fail("context");
  weir_buffer *buffers[PATTERN_MAX_BUFFERS];
  uint64_t own = bytes / shape->parts, steps = ((uint64_t)STEP_MIB << 20) / bytes;
  steps = steps < LEAST_STEPS ? LEAST_STEPS : steps > MOST_STEPS ? MOST_STEPS : steps;
  for (uint32_t i = 0; i < shape->buffers; i++) {
    if (weir_buffer_create(context, own, &buffers[i]) != WEIR_OK) fail("buffer");
    if (weir_fill(buffers[i], 0, WEIR_WHOLE, 0, NULL) != WEIR_OK) fail("fill");
  }
  if (weir_finish(context) != WEIR_OK) fail("finish");
  double start = weir__bench_seconds();
  for (uint32_t step = 0; step < steps; step++) {
    if (shape->submit(context, buffers, own / sizeof(float), step) != WEIR_OK) fail(shape->name);
  }
  if (weir_finish(context) != WEIR_OK) fail(shape->name);
  *out_ms = (weir__bench_seconds() - start) * 1e3;
  weir_statistics statistics;
  weir_context_statistics(context, &statistics);
  double peak_mib = (double)statistics.peak_bytes / (1 << 20);
  if (peak_mib > out->peak_mib) out->peak_mib = peak_mib;
  out->renamed = statistics.renamed;
  weir_context_release(context);
}

static int compare(const void *left, const void *right) {
  double a = *(const double *)left, b = *(const double *)right;
  return (a > b) - (a < b);
}

static void print_line(const pattern *shape, uint64_t bytes, measured found[2], int rounds, bool json, bool first) {
  double *by_default = found[0].ms, *without = found[1].ms;
  qsort(by_default, (size_t)rounds, sizeof *by_default, compare);
  qsort(without, (size_t)rounds, sizeof *without, compare);
  double ms = by_default[rounds / 2], plain_ms = without[rounds / 2];
  if (json) {
    printf("%s{\"pattern\": \"%s\", \"bytes\": %llu, \"ms\": [%.3f, %.3f, %.3f], \"no_rename_ms\": [%.3f, %.3f, %.3f], "
           "\"peak_mib\": %.3f, \"no_rename_peak_mib\": %.3f, \"renamed\": %llu}",
           first ? "[" : ",\n ", shape->name, (unsigned long long)bytes, ms, by_default[0], by_default[rounds - 1],
           plain_ms, without[0], without[rounds - 1], found[0].peak_mib, found[1].peak_mib,
           (unsigned long long)found[0].renamed);
    return;
  }
  printf("| %-18s | %6llu | %6.1f (%.1f to %.1f) | %6.1f (%.1f to %.1f) | %.2f | %.2f | %.2f | %.1f |\n", shape->name,
         (unsigned long long)bytes >> 10, ms, by_default[0], by_default[rounds - 1], plain_ms, without[0],
         without[rounds - 1], ms / plain_ms, found[0].peak_mib, found[1].peak_mib,
         found[0].peak_mib / found[1].peak_mib);
}

int main(int argc, char **argv) {
  static const struct option names[] = {{"device", required_argument, NULL, 'd'},
                                        {"rounds", required_argument, NULL, 'r'},
                                        {"json", no_argument, NULL, 'j'},
                                        {"help", no_argument, NULL, 'h'},
                                        {0}};
  const char *device = "cpu";
  int rounds = 9, option;
  bool json = false, first = true;
  while ((option = getopt_long(argc, argv, "", names, NULL)) != -1) {
    if (option == 'h') return fputs(usage, stdout) < 0;
    if (option == 'd') device = optarg;
    if (option == 'r') rounds = atoi(optarg);
    if (option == 'j') json = true;
    if (option == '?') rounds = 0;
  }
  if (rounds < 1 || rounds > MOST_ROUNDS || optind != argc) {
    fputs(usage, stderr);
    return 2;
  }
  if (!json)
    printf("| pattern | KiB | default, ms | without, ms | ratio | default, MiB | without, MiB | ratio |\n"
           "|---|--:|--:|--:|--:|--:|--:|--:|\n");
  for (uint32_t p = 0; p < pattern_count; p++) {
    for (uint64_t bytes = 64 << 10; bytes <= 16 << 20; bytes *= 4) {
      measured found[2] = {0};
      for (int round = 0; round < rounds; round++) {
        for (int turn = 0; turn < 2; turn++) {
          int which = (turn + round) & 1;
          run(&patterns[p], device, bytes, which == 0 ? 0 : WEIR_CONTEXT_NO_RENAME, &found[which].ms[round],
              &found[which]);
        }
      }
      print_line(&patterns[p], bytes, found, rounds, json, first);
      first = false;
    }
  }
  if (json) puts("]");
  return 0;
}
