// SPDX-License-Identifier: Apache-2.0
#include "options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "Simulates many small worlds of bodies, for reinforcement learning: each island of bodies that touch is a task.\n"
    "\n"
    "usage: weir-bodies [--device LIST] [--worlds N] [--bodies N] [--steps N] [--threads N] [--seed N]\n"
    "                   [--in-order] [--check] [--compare] [--rounds N] [--timeline FILE] [--picture FILE]\n"
    "  --device LIST    devices, such as cpu, cpu:2, cuda, opencl, sim:h200; worlds go to them in turn (default cpu)\n"
    "  --worlds N       worlds, 1 to 4096 (default 32)\n"
    "  --bodies N       bodies of each, 1 to 128 (default 24)\n"
    "  --steps N        time steps of 1/120 s, 1 to 100000 (default 240)\n"
    "  --threads N      of the host, which share the worlds out, 1 to 64 (default 1)\n"
    "  --seed N         of the worlds and what pushes the bodies, 0 to 1000000000 (default 1)\n"
    "  --in-order       run one task after the other\n"
    "  --check          run in order, too, and compare all states of all steps, to the bit; and, where the first "
    "device\n"
    "                   is not the CPU, with those of the CPU\n"
    "  --compare        run in order and out of order, in turns, and compare times; on CUDA each way of issue\n"
    "  --rounds N       turns of --compare, 1 to 1000 (default 5)\n"
    "  --timeline FILE  write what ran when, as FILE.json: `weir timeline` makes a page of it, Perfetto opens it\n"
    "  --picture FILE   write the first world at six steps, bodies in the colours of their islands (.svg)\n"
    "  --help           this text\n"
    "\n"
    "Every step is checked: bodies stay in their boxes and whole, overlap and joints' errors are bounded, and so is "
    "energy.\n"
    "Exit codes: 0 all went well, 1 a check or the run failed, 2 bad usage, 3 a device is missing.\n";

typedef struct number_option {
  const char *name;
  long least, greatest;
} number_option;

enum { WORLDS, BODIES, STEPS, THREADS, SEED, ROUNDS, NUMBER_COUNT };

static const number_option number_options[NUMBER_COUNT] = {
    [WORLDS] = {"--worlds", 1, 4096},   [BODIES] = {"--bodies", 1, PHYSICS_MAX_BODIES},
    [STEPS] = {"--steps", 1, 100000},   [THREADS] = {"--threads", 1, 64},
    [SEED] = {"--seed", 0, 1000000000}, [ROUNDS] = {"--rounds", 1, 1000},
};

static bool read_number(const number_option *option, const char *text, int *out_number) {
  char *end;
  errno = 0;
  long number = strtol(text, &end, 10);
  if (errno != 0 || end == text || *end != '\0' || number < option->least || number > option->greatest) {
    fprintf(stderr, "weir-bodies: %s must be a number from %ld to %ld, not '%s'\n", option->name, option->least,
            option->greatest, text);
    return false;
  }
  *out_number = (int)number;
  return true;
}

static bool ends_with(const char *text, const char *ending) {
  size_t length = strlen(text), ending_length = strlen(ending);
  return length > ending_length && strcmp(text + length - ending_length, ending) == 0;
}

// Reads an option that has a value.
static bool read_option(const char *name, const char *value, bodies_options *options, int *numbers) {
  const char **text = NULL;
  if (strcmp(name, "--device") == 0) text = &options->run.devices;
  if (strcmp(name, "--timeline") == 0) text = &options->run.timeline;
  if (strcmp(name, "--picture") == 0) text = &options->picture;
  int number = 0;
  while (!text && number < NUMBER_COUNT && strcmp(name, number_options[number].name) != 0) number++;
  if (number == NUMBER_COUNT) {
    fprintf(stderr, "weir-bodies: unknown argument '%s'; see weir-bodies --help\n", name);
    return false;
  }
  if (!value) {
    fprintf(stderr, "weir-bodies: %s needs a value; see weir-bodies --help\n", name);
    return false;
  }
  if (!text) return read_number(&number_options[number], value, &numbers[number]);
  *text = value;
  return true;
}

// Reads an option without value.
static bool read_switch(const char *name, bodies_options *options) {
  bool *on = NULL;
  if (strcmp(name, "--in-order") == 0) on = &options->in_order;
  if (strcmp(name, "--check") == 0) on = &options->check;
  if (strcmp(name, "--compare") == 0) on = &options->compare;
  if (on) *on = true;
  return on;
}

static bool check_endings(const bodies_options *options) {
  const char *timeline = options->run.timeline;
  if (timeline && !ends_with(timeline, ".json")) {
    fprintf(stderr, "weir-bodies: --timeline needs a name that ends in .json, not '%s'\n", timeline);
    return false;
  }
  if (options->picture && !ends_with(options->picture, ".svg")) {
    fprintf(stderr, "weir-bodies: --picture needs a name that ends in .svg, not '%s'\n", options->picture);
    return false;
  }
  return true;
}

bool options_read(int argc, char **argv, bodies_options *out_options, int *out_exit_code) {
  int numbers[NUMBER_COUNT] = {[WORLDS] = 32, [BODIES] = 24, [STEPS] = 240, [THREADS] = 1, [SEED] = 1, [ROUNDS] = 5};
  *out_options = (bodies_options){.run = {.devices = "cpu"}};
  *out_exit_code = 2;
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--help") == 0) {
      fputs(usage, stdout);
      *out_exit_code = 0;
      return false;
    }
    if (read_switch(argv[i], out_options)) continue;
    const char *name = argv[i], *value = i + 1 < argc ? argv[++i] : NULL;
    if (!read_option(name, value, out_options, numbers)) return false;
  }
  out_options->run.worlds = numbers[WORLDS];
  out_options->run.bodies = numbers[BODIES];
  out_options->run.steps = numbers[STEPS];
  out_options->run.threads = numbers[THREADS];
  out_options->run.seed = (uint64_t)numbers[SEED];
  out_options->rounds = numbers[ROUNDS];
  return check_endings(out_options);
}
