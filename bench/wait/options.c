// SPDX-License-Identifier: Apache-2.0
#include "options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ways.h"

enum {
  MOST_US = 1000000,
  ROUNDS = 7,
  SAMPLES = 30,
  WARM_UP = 5,
  QUICK_SAMPLES = 3,
  QUICK_WARM_UP = 1,
  QUESTIONS = 100,
  QUICK_QUESTIONS = 10
};

static const char help[] =
    "usage: weir-bench-wait [OPTION...]\n"
    "\n"
    "How long it takes from the last write of a task until the host sees it, while it waits already: by every way of "
    "issuing tasks,\n"
    "and by CUDA's own calls. Results are checked.\n"
    "\n"
    "  --device NAME            a CUDA device, or the CPU (cuda:0)\n"
    "  --us US                  how long a task takes (5)\n"
    "  --rounds N               turns of all ways, each of 30 samples of all kinds; tables have medians (7)\n"
    "  --quick                  one round of few samples, to see that all works\n"
    "  --json FILE              writes the results there, too\n"
    "\n"
    "Exit codes: 0, 1 a result is wrong or a call failed, 2 bad usage, 3 the device is missing.\n";

static void print_help(void) {
  fputs(help, stdout);
  printf("\nWays:\n");
  for (int way = 0; way < WAIT_WAYS; way++) printf("  %-24s %s\n", wait_ways[way].name, wait_ways[way].about);
  printf("\nThe host sees it by:\n"
         "  event                    waiting until it knows that the task is done; the value is on the device\n"
         "  copy                     waiting for a copy behind the task; the value is in its memory\n"
         "  word                     looking at a word of its memory, to which the task itself writes last\n");
}

static bool refuse(wait_options *options, const char *what, const char *value) {
  fprintf(stderr, "weir-bench-wait: %s '%s'; --help says what there is\n", what, value);
  options->exit_code = WAIT_USAGE;
  return false;
}

static bool read_number(wait_options *options, const char *text, uint32_t most, uint32_t *out_number) {
  char *end;
  unsigned long number = strtoul(text, &end, 10);
  if (end == text || *end != '\0' || *text == '-' || number < 1 || number > most)
    return refuse(options, "a number cannot be", text);
  *out_number = (uint32_t)number;
  return true;
}

static bool read_option(wait_options *options, const char *name, const char *value) {
  if (strcmp(name, "--device") == 0)
    options->device = value;
  else if (strcmp(name, "--json") == 0)
    options->json = value;
  else if (strcmp(name, "--us") == 0)
    return read_number(options, value, MOST_US, &options->us);
  else if (strcmp(name, "--rounds") == 0)
    return read_number(options, value, WAIT_MOST_ROUNDS, &options->rounds);
  else
    return refuse(options, "there is no option", name);
  return true;
}

bool wait_options_parse(int argc, char **argv, wait_options *options) {
  *options = (wait_options){.device = "cuda:0",
                            .us = 5,
                            .samples = SAMPLES,
                            .warm_up = WARM_UP,
                            .questions = QUESTIONS,
                            .exit_code = WAIT_OK};
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--help") == 0) {
      print_help();
      return false;
    }
    if (strcmp(argv[i], "--quick") == 0) {
      options->samples = QUICK_SAMPLES;
      options->warm_up = QUICK_WARM_UP;
      options->questions = QUICK_QUESTIONS;
      continue;
    }
    if (i + 1 == argc) return refuse(options, "a value is missing behind", argv[i]);
    if (!read_option(options, argv[i], argv[i + 1])) return false;
    i++;
  }
  if (options->rounds == 0) options->rounds = options->samples == SAMPLES ? ROUNDS : 1;
  return true;
}
