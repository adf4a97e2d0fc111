// SPDX-License-Identifier: Apache-2.0
#include "options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_TASKS = 1000000, MOST_TIME_US = 100000 };

static const char help[] =
    "usage: weir-bench-layers [OPTION...]\n"
    "\n"
    "Runs random layered graphs of small tasks, each new, by every way in which tasks get to a device, and checks the "
    "results.\n"
    "\n"
    "  --device NAME            (cuda:0)\n"
    "  --tasks N                of a graph (2000)\n"
    "  --widths N,...           tasks of a layer, 1 to 256 (4,16,64)\n"
    "  --times US,...           how long a task computes (1,2,5,10)\n"
    "  --modes NAME,...         (all)\n"
    "  --rounds N               graphs of each kind; the table has medians (5)\n"
    "  --json FILE              writes the results there, too\n"
    "\n"
    "Exit codes: 0, 1 a result is wrong or a call failed, 2 bad usage, 3 the device is missing.\n";

static bool complain(layer_options *options, const char *option, const char *value) {
  fprintf(stderr, "weir-bench-layers: %s cannot be '%s'; --help says what it can\n", option, value);
  options->exit_code = LAYER_USAGE;
  return false;
}

static bool read_number(const char **text, uint32_t least, uint32_t most, uint32_t *out_number) {
  char *end;
  unsigned long number = strtoul(*text, &end, 10);
  if (end == *text || **text == '-' || number < least || number > most) return false;
  *out_number = (uint32_t)number;
  *text = end;
  return true;
}

static bool read_list(const char *text, uint32_t most, layer_list *out_list) {
  out_list->count = 0;
  do {
    if (out_list->count > 0) text++;
    if (out_list->count == LAYER_MOST_VALUES || !read_number(&text, 1, most, &out_list->values[out_list->count]))
      return false;
    out_list->count++;
  } while (*text == ',');
  return *text == '\0';
}

static bool read_modes(const char *text, bool modes[LAYER_MODES]) {
  memset(modes, 0, LAYER_MODES * sizeof modes[0]);
  for (;;) {
    size_t length = strcspn(text, ",");
    bool known = false;
    for (int i = 0; i < LAYER_MODES; i++) {
      if (strlen(layer_modes[i].name) != length || strncmp(layer_modes[i].name, text, length) != 0) continue;
      modes[i] = known = true;
    }
    if (!known) return false;
    if (text[length] == '\0') return true;
    text += length + 1;
  }
}

static bool read_option(layer_options *options, const char *name, const char *value) {
  const char *text = value;
  bool good = true;
  if (strcmp(name, "--device") == 0)
    options->device = value;
  else if (strcmp(name, "--json") == 0)
    options->json = value;
  else if (strcmp(name, "--tasks") == 0)
    good = read_number(&text, 1, MOST_TASKS, &options->tasks) && *text == '\0';
  else if (strcmp(name, "--rounds") == 0)
    good = read_number(&text, 1, LAYER_MOST_ROUNDS, &options->rounds) && *text == '\0';
  else if (strcmp(name, "--widths") == 0)
    good = read_list(value, LAYER_MOST_WIDTH, &options->widths);
  else if (strcmp(name, "--times") == 0)
    good = read_list(value, MOST_TIME_US, &options->times);
  else if (strcmp(name, "--modes") == 0)
    good = read_modes(value, options->modes);
  else {
    fprintf(stderr, "weir-bench-layers: there is no option '%s'; --help lists them\n", name);
    options->exit_code = LAYER_USAGE;
    return false;
  }
  return good || complain(options, name, value);
}

bool layer_options_parse(int argc, char **argv, layer_options *options) {
  *options = (layer_options){.device = "cuda:0",
                             .tasks = 2000,
                             .rounds = 5,
                             .widths = {{4, 16, 64}, 3},
                             .times = {{1, 2, 5, 10}, 4},
                             .exit_code = LAYER_OK};
  for (int i = 0; i < LAYER_MODES; i++) options->modes[i] = true;
  for (int i = 1; i < argc; i += 2) {
    if (strcmp(argv[i], "--help") == 0) {
      fputs(help, stdout);
      printf("\nModes:\n");
      for (int mode = 0; mode < LAYER_MODES; mode++)
        printf("  %-24s %s\n", layer_modes[mode].name, layer_modes[mode].about);
      return false;
    }
    if (i + 1 == argc) {
      fprintf(stderr, "weir-bench-layers: %s needs a value\n", argv[i]);
      options->exit_code = LAYER_USAGE;
      return false;
    }
    if (!read_option(options, argv[i], argv[i + 1])) return false;
  }
  return true;
}
