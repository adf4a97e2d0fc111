// SPDX-License-Identifier: Apache-2.0
#include "bodies_options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "mpi_bodies [--device LIST] [--worlds N] [--bodies N] [--steps N] [--threads N] [--rounds N]\n"
    "  --device LIST  of each rank, such as cpu:2, cuda (default cpu:1)\n"
    "  --worlds N     over all ranks, 1 to 4096 (default 6)\n"
    "  --bodies N     of each world, 1 to 128 (default 12)\n"
    "  --steps N      1 to 100000 (default 60)\n"
    "  --threads N    of each rank, which submit, 1 to 64 (default 1)\n"
    "  --rounds N     turns of one rank and all ranks, 1 to 1000 (default 1)\n";

typedef struct number_option {
  const char *name;
  long greatest;
  int32_t *number;
} number_option;

static bool read_number(const number_option *option, const char *text) {
  char *end = NULL;
  long number = text != NULL ? strtol(text, &end, 10) : 0;
  if (text == NULL || *end != '\0' || number < 1 || number > option->greatest) return false;
  *option->number = (int32_t)number;
  return true;
}

bool bodies_read_options(int argc, char **argv, simulation_options *out_options, int *out_rounds) {
  int32_t rounds = 1;
  *out_options =
      (simulation_options){.devices = "cpu:1", .worlds = 6, .bodies = 12, .steps = 60, .threads = 1, .seed = 1};
  const number_option numbers[] = {
      {"--worlds", 4096, &out_options->worlds},
      {"--bodies", PHYSICS_MAX_BODIES, &out_options->bodies},
      {"--steps", 100000, &out_options->steps},
      {"--threads", 64, &out_options->threads},
      {"--rounds", 1000, &rounds},
  };
  const size_t count = sizeof numbers / sizeof *numbers;
  bool good = true;
  for (int i = 1; i < argc && good; i += 2) {
    size_t k = 0;
    while (k < count && strcmp(argv[i], numbers[k].name) != 0) k++;
    if (k < count)
      good = read_number(&numbers[k], argv[i + 1]);
    else if (strcmp(argv[i], "--device") == 0 && argv[i + 1] != NULL)
      out_options->devices = argv[i + 1];
    else
      good = false;
  }
  *out_rounds = rounds;
  if (!good) fputs(usage, stderr);
  return good;
}
