// SPDX-License-Identifier: Apache-2.0
//
// weir-gpu-nccl [--devices A,B] [--rounds N] [--programs N] [--quick] [--limit SECONDS] [results|programs|sizes|overlap...]
//
// Prints tables. Exit codes: 0 all was right, 1 something was wrong or hung, 2 bad usage, 3 the machine lacks something.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"

enum { ROUNDS = 5, PROGRAMS = 100, LIMIT_S = 300, MOST_ROUNDS = 60 };

static void usage(const char *what) {
  fprintf(stderr,
          "weir-gpu-nccl: %s\nusage: weir-gpu-nccl [--devices A,B] [--rounds N] [--programs N] [--quick] [--limit "
          "SECONDS] [results|programs|sizes|overlap...]\n",
          what);
  exit(2);
}

static uint32_t number_of(const char *text, uint32_t most) {
  char *end;
  unsigned long number = text != NULL ? strtoul(text, &end, 10) : 0;
  if (text == NULL || *end != '\0' || number < 1 || number > most) usage("a number is missing, or too large");
  return (uint32_t)number;
}

static void take_devices(char *text, bench_options *options) {
  char *comma = text != NULL ? strchr(text, ',') : NULL;
  if (comma == NULL) usage("--devices takes two devices");
  *comma = '\0';
  options->devices[0] = text;
  options->devices[1] = comma + 1;
  for (uint32_t i = 0; i < CARDS; i++) {
    if (strncmp(options->devices[i], "cuda:", 5) != 0) usage("devices are cuda:0, cuda:1, ...");
  }
}

int main(int argc, char **argv) {
  bench_options options = {.devices = {"cuda:0", "cuda:1"}, .rounds = ROUNDS, .programs = PROGRAMS};
  uint32_t limit = LIMIT_S;
  int at = 1;
  for (; at < argc && strncmp(argv[at], "--", 2) == 0; at++) {
    bool valued = strcmp(argv[at], "--quick") != 0;
    char *value = valued && at + 1 < argc ? argv[at + 1] : NULL;
    if (!valued)
      options.quick = true;
    else if (strcmp(argv[at], "--devices") == 0)
      take_devices(value, &options);
    else if (strcmp(argv[at], "--rounds") == 0)
      options.rounds = number_of(value, MOST_ROUNDS);
    else if (strcmp(argv[at], "--programs") == 0)
      options.programs = number_of(value, 100000);
    else if (strcmp(argv[at], "--limit") == 0)
      limit = number_of(value, 3600);
    else
      usage("an unknown option");
    at += valued;
  }
  if (options.quick) options.rounds = options.programs = 2;
  alarm(limit); // a deadlock ends by it
  bool right = true;
  if (is_asked(argc, argv, at, "results")) right = check_results(&options) && right;
  if (is_asked(argc, argv, at, "programs")) right = check_programs(&options) && right;
  if (is_asked(argc, argv, at, "sizes")) measure_sizes(&options);
  if (is_asked(argc, argv, at, "overlap")) measure_overlap(&options);
  return right ? 0 : 1;
}
