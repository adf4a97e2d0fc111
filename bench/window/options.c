// SPDX-License-Identifier: Apache-2.0
#include "options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "usage: weir-bench-window [OPTION...] [STREAM...]\n"
    "\n"
    "What it takes to find the hazards between tasks: by the host, as Weir does, and by a card that tests each new "
    "task against\n"
    "a window of tasks in its own memory. On layered graphs, random tasks and recorded streams; results are checked.\n"
    "\n"
    "  --device NAME            the card (cuda:0); without one there are only the host's columns\n"
    "  --rounds N               of each measurement; tables have medians (7)\n"
    "  --quick                  few tasks and one round, to see that all works\n"
    "  --json FILE              writes the results there, too\n"
    "\n"
    "Exit codes: 0, 1 a result is wrong or a call failed, 2 bad usage.\n";

static bool refuse(window_options *options, const char *what, const char *value) {
  fprintf(stderr, "weir-bench-window: %s '%s'; --help says what there is\n", what, value);
  options->exit_code = WINDOW_USAGE;
  return false;
}

static bool read_rounds(window_options *options, const char *text) {
  char *end;
  unsigned long number = strtoul(text, &end, 10);
  if (end == text || *end != '\0' || *text == '-' || number < 1 || number > WINDOW_MOST_ROUNDS)
    return refuse(options, "--rounds cannot be", text);
  options->rounds = (uint32_t)number;
  return true;
}

bool window_options_parse(int argc, char **argv, window_options *options) {
  *options = (window_options){.device = "cuda:0", .exit_code = WINDOW_OK};
  for (int i = 1; i < argc; i++) {
    const char *name = argv[i];
    if (strcmp(name, "--help") == 0) {
      fputs(help, stdout);
      return false;
    }
    if (strcmp(name, "--quick") == 0) {
      options->quick = true;
      continue;
    }
    if (strncmp(name, "--", 2) != 0) {
      options->streams = argv + i;
      options->stream_count = argc - i;
      for (int rest = i; rest < argc; rest++)
        if (strncmp(argv[rest], "--", 2) == 0) return refuse(options, "options come before streams, not", argv[rest]);
      break;
    }
    bool device = strcmp(name, "--device") == 0, json = strcmp(name, "--json") == 0;
    if (!device && !json && strcmp(name, "--rounds") != 0) return refuse(options, "there is no option", name);
    if (++i == argc) return refuse(options, "a value is missing behind", name);
    if (device)
      options->device = argv[i];
    else if (json)
      options->json = argv[i];
    else if (!read_rounds(options, argv[i]))
      return false;
  }
  if (options->rounds == 0) options->rounds = options->quick ? 1 : 7;
  return true;
}
