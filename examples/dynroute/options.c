// SPDX-License-Identifier: Apache-2.0
#include "options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "Runs a network whose routing depends on its input, in order and out of order.\n"
    "\n"
    "usage: dynroute [--device LIST] [--issue WAY] [--check] [--timeline FILE] [--inputs N] [--passes N]\n"
    "                [--channels N] [--size N] [--cells N] [--seed N]\n"
    "  --device LIST    devices, such as cpu, cpu:2, cuda, cuda:0,cuda:1, sim:h200 (default cpu)\n"
    "  --check          compare results: out of order with in order, to the bit; and, where the first device is not\n"
    "                   the CPU, with those of the CPU\n"
    "  --issue WAY      how tasks get to a CUDA device out of order: auto, queues, graphs or resident (default auto)\n"
    "  --timeline FILE  write what ran when, as FILE.json: `weir timeline` makes a page of it, Perfetto opens it\n"
    "  --inputs N       images, 1 to 1000 (default 3)\n"
    "  --passes N       how often each is timed, 1 to 1000 (default 5)\n"
    "  --channels N     channels of the maps, a multiple of 64, to 1024 (default 64)\n"
    "  --size N         rows and columns of the maps, even, 2 to 512 (default 56)\n"
    "  --cells N        cells, 1 to 64 (default 12)\n"
    "  --seed N         of the weights and images, 0 to 1000000000 (default 1)\n"
    "  --help           this text\n"
    "\n"
    "Exit codes: 0 all went well, 1 results differ or the run failed, 2 bad usage, 3 a device is missing.\n";

typedef struct number_option {
  const char *name;
  long least, greatest, multiple;
} number_option;

enum { INPUTS, PASSES, CHANNELS, SIZE, CELLS, SEED, NUMBER_COUNT };

static const number_option number_options[NUMBER_COUNT] = {
    [INPUTS] = {"--inputs", 1, 1000, 1},
    [PASSES] = {"--passes", 1, 1000, 1},
    [CHANNELS] = {"--channels", 64, 1024, 64},
    [SIZE] = {"--size", 2, 512, 2},
    [CELLS] = {"--cells", 1, NETWORK_MAX_CELLS, 1},
    [SEED] = {"--seed", 0, 1000000000, 1},
};

static bool read_number(const number_option *option, const char *text, int *out_number) {
  char *end;
  errno = 0;
  long number = strtol(text, &end, 10);
  if (errno != 0 || end == text || *end != '\0' || number < option->least || number > option->greatest ||
      number % option->multiple != 0) {
    fprintf(stderr, "dynroute: %s must be a number from %ld to %ld", option->name, option->least, option->greatest);
    if (option->multiple > 1) fprintf(stderr, ", a multiple of %ld", option->multiple);
    fprintf(stderr, ", not '%s'\n", text);
    return false;
  }
  *out_number = (int)number;
  return true;
}

static bool read_issue(const char *text, weir_issue *out_issue) {
  static const char *const ways[] = {"auto", "queues", "graphs", "resident"}; // as the values of weir_issue
  for (int way = 0; way < 4; way++) {
    if (strcmp(text, ways[way]) != 0) continue;
    *out_issue = (weir_issue)way;
    return true;
  }
  fprintf(stderr, "dynroute: --issue must be auto, queues, graphs or resident, not '%s'\n", text);
  return false;
}

// Reads an option that has a value.
static bool read_option(const char *name, const char *value, dynroute_options *options, int *numbers) {
  const char **text = NULL;
  if (strcmp(name, "--device") == 0) text = &options->devices;
  if (strcmp(name, "--timeline") == 0) text = &options->timeline;
  bool is_issue = strcmp(name, "--issue") == 0;
  int number = 0;
  while (!text && !is_issue && number < NUMBER_COUNT && strcmp(name, number_options[number].name) != 0) number++;
  if (number == NUMBER_COUNT) {
    fprintf(stderr, "dynroute: unknown argument '%s'; see dynroute --help\n", name);
    return false;
  }
  if (!value) {
    fprintf(stderr, "dynroute: %s needs a value; see dynroute --help\n", name);
    return false;
  }
  if (is_issue) return read_issue(value, &options->issue);
  if (!text) return read_number(&number_options[number], value, &numbers[number]);
  *text = value;
  return true;
}

bool options_read(int argc, char **argv, dynroute_options *out_options, int *out_exit_code) {
  int numbers[NUMBER_COUNT] = {[INPUTS] = 3, [PASSES] = 5, [CHANNELS] = 64, [SIZE] = 56, [CELLS] = 12, [SEED] = 1};
  *out_options = (dynroute_options){.devices = "cpu"};
  *out_exit_code = 2;
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--help") == 0) {
      fputs(usage, stdout);
      *out_exit_code = 0;
      return false;
    }
    if (strcmp(argv[i], "--check") == 0) {
      out_options->check = true;
      continue;
    }
    const char *name = argv[i], *value = i + 1 < argc ? argv[++i] : NULL;
    if (!read_option(name, value, out_options, numbers)) return false;
  }
  out_options->inputs = numbers[INPUTS];
  out_options->passes = numbers[PASSES];
  out_options->shape = (network_shape){
      .channels = numbers[CHANNELS], .size = numbers[SIZE], .cells = numbers[CELLS], .seed = (uint64_t)numbers[SEED]};
  return true;
}
