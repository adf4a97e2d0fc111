// SPDX-License-Identifier: Apache-2.0
//
// weir-gpu-ranks [--rounds N] [--programs N] [--quick] [--limit SECONDS] [results|programs|sizes|overlap...]
//
// Started by mpirun, with a card for each rank. Rank 0 prints tables. Exit codes: 0 all was right, 1 something was wrong or
// hung, 2 bad usage, 3 the machine lacks something.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"

enum { ROUNDS = 5, PROGRAMS = 100, LIMIT_S = 300, MOST_ROUNDS = 60 };

static void usage(const char *what) {
  fprintf(stderr,
          "weir-gpu-ranks: %s\nusage: mpirun -n RANKS weir-gpu-ranks [--rounds N] [--programs N] [--quick] [--limit "
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

// Reads the options; returns where the parts begin.
static int read_options(int argc, char **argv, ranks_options *out_options, uint32_t *out_limit) {
  int at = 1;
  for (; at < argc && strncmp(argv[at], "--", 2) == 0; at++) {
    bool valued = strcmp(argv[at], "--quick") != 0;
    const char *value = valued && at + 1 < argc ? argv[at + 1] : NULL;
    if (!valued)
      out_options->quick = true;
    else if (strcmp(argv[at], "--rounds") == 0)
      out_options->rounds = number_of(value, MOST_ROUNDS);
    else if (strcmp(argv[at], "--programs") == 0)
      out_options->programs = number_of(value, 100000);
    else if (strcmp(argv[at], "--limit") == 0)
      *out_limit = number_of(value, 3600);
    else
      usage("an unknown option");
    at += valued;
  }
  if (out_options->quick) out_options->rounds = out_options->programs = 2;
  return at;
}

int main(int argc, char **argv) {
  int threads, size;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &threads);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  ranks_options options = {.rounds = ROUNDS, .programs = PROGRAMS};
  uint32_t limit = LIMIT_S;
  int at = read_options(argc, argv, &options, &limit);
  if (size > MOST_RANKS) usage("too many ranks");
  alarm(limit); // a deadlock ends by it
  bool right = true;
  if (is_asked(argc, argv, at, "results")) right = ranks_check_results(&options) && right;
  if (is_asked(argc, argv, at, "programs")) right = ranks_check_programs(&options) && right;
  if (is_asked(argc, argv, at, "sizes")) ranks_measure_sizes(&options);
  if (is_asked(argc, argv, at, "overlap")) ranks_measure_overlap(&options);
  MPI_Finalize();
  return right ? 0 : 1;
}
