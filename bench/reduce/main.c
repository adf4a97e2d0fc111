// SPDX-License-Identifier: Apache-2.0
//
// What it gains that tasks which add to the same buffers need not do so in the order of submission, measured in turns.
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

#include "patterns.h"

enum { MOST_ROUNDS = 99 };

static const char usage[] = "Usage: weir-bench-reduce [--device NAME] [--rounds N]\n"
                            "\n"
                            "Programs whose tasks add to the same buffers, by each way to declare that, in turns.\n"
                            "  --device NAME  a CPU or simulated device; default cpu:2\n"
                            "  --rounds N     1 to 99; default 9. The table has medians, least and most\n";

static weir_arg in_order(weir_buffer *buffer, uint64_t offset, uint64_t bytes, weir_reduce_type type) {
  (void)type;
  return weir_updates_range(buffer, offset, bytes);
}

static weir_arg in_any_order(weir_buffer *buffer, uint64_t offset, uint64_t bytes, weir_reduce_type type) {
  (void)type;
  return bytes == WEIR_WHOLE ? weir_commutes(buffer) : weir_commutes_range(buffer, offset, bytes);
}

static weir_arg in_copies(weir_buffer *buffer, uint64_t offset, uint64_t bytes, weir_reduce_type type) {
  static weir_reduction sum;
  sum = (weir_reduction){.operation = WEIR_REDUCE_SUM, .type = type};
  return bytes == WEIR_WHOLE ? weir_reduces(buffer, &sum) : weir_reduces_range(buffer, offset, bytes, &sum);
}

static const struct {
  const char *name;
  add_argument adds;
} ways[] = {{"READ_WRITE", in_order}, {"COMMUTE", in_any_order}, {"REDUCE", in_copies}};

enum { WAYS = sizeof ways / sizeof *ways };

static double run(const pattern *shape, const char *device, add_argument adds) {
  weir_context *context = NULL;
  weir_context_options options = {.devices = device};
  uint64_t ns = 0;
  bool right = true;
  if (weir_context_create(&options, &context) != WEIR_OK || !shape->run(context, adds, &ns, &right) || !right) {
    fprintf(stderr, "weir-bench-reduce: %s: %s\n", shape->name, right ? weir_last_error() : "a wrong result");
    exit(1);
  }
  weir_context_release(context);
  return (double)ns * 1e-6;
}

static int compare(const void *left, const void *right) {
  double a = *(const double *)left, b = *(const double *)right;
  return (a > b) - (a < b);
}

static void measure(const pattern *shape, const char *device, int rounds) {
  double ms[WAYS][MOST_ROUNDS];
  for (int round = 0; round < rounds; round++) {
    for (int turn = 0; turn < WAYS; turn++) {
      int way = (turn + round) % WAYS;
      ms[way][round] = run(shape, device, ways[way].adds);
    }
  }
  for (int way = 0; way < WAYS; way++) qsort(ms[way], (size_t)rounds, sizeof(double), compare);
  for (int way = 0; way < WAYS; way++)
    printf("| %s | %s | %.2f (%.2f to %.2f) | %.2f |\n", shape->name, ways[way].name, ms[way][rounds / 2], ms[way][0],
           ms[way][rounds - 1], ms[0][rounds / 2] / ms[way][rounds / 2]);
}

int main(int argc, char **argv) {
  static const struct option names[] = {{"device", required_argument, NULL, 'd'},
                                        {"rounds", required_argument, NULL, 'r'},
                                        {"help", no_argument, NULL, 'h'},
                                        {0}};
  const char *device = "cpu:2";
  int rounds = 9, option;
  while ((option = getopt_long(argc, argv, "", names, NULL)) != -1) {
    if (option == 'h') return fputs(usage, stdout) < 0;
    if (option == 'd') device = optarg;
    if (option == 'r') rounds = atoi(optarg);
    if (option == '?') rounds = 0;
  }
  if (rounds < 1 || rounds > MOST_ROUNDS || optind != argc) {
    fputs(usage, stderr);
    return 2;
  }
  printf("| program | mode | ms | faster than READ_WRITE |\n|---|---|--:|--:|\n");
  for (uint32_t p = 0; p < pattern_count; p++) measure(&patterns[p], device, rounds);
  return 0;
}
