// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/check.h"

static void print_help(const char *program) {
  printf("usage: %s [options] TIMELINE.json STREAM\n"
         "\n"
         "Proves from a recorded stream and a timeline of its replay that every hazard was honoured.\n"
         "\n"
         "  --storage fresh|kept  what a replay of several passes did with buffers (default: as the timeline looks)\n"
         "  --passes N            how often the stream was replayed (default: as often as the timeline shows)\n"
         "  --no-host-waits       the replay did not wait where the program read results back\n"
         "  --help                this text\n"
         "\n"
         "Exit codes: 0 proved, 1 a rule is broken, 2 the input or the command line is wrong.\n",
         program);
}

static int wrong_usage(const char *program, const char *what, const char *argument) {
  fprintf(stderr, "%s: %s '%s'; try --help\n", program, what, argument);
  return WEIR__CHECK_BAD_INPUT;
}

static bool parse_passes(const char *text, uint32_t *out_passes) {
  char *end = NULL;
  unsigned long value = strtoul(text, &end, 10);
  if (text[0] < '0' || text[0] > '9' || *end || value == 0 || value > UINT32_MAX) return false;
  *out_passes = (uint32_t)value;
  return true;
}

int weir__check_main(int argc, char **argv) {
  const char *program = argc > 0 ? argv[0] : "weir-check", *paths[2] = {NULL, NULL};
  weir__check_options options = {0};
  int path_count = 0;
  for (int i = 1; i < argc; i++) {
    const char *argument = argv[i], *value = i + 1 < argc ? argv[i + 1] : "";
    if (strcmp(argument, "--help") == 0) {
      print_help(program);
      return 0;
    }
    if (strcmp(argument, "--no-host-waits") == 0) {
      options.ignore_host_waits = true;
    } else if (strcmp(argument, "--passes") == 0) {
      if (!parse_passes(value, &options.passes)) return wrong_usage(program, "--passes takes a number, not", value);
      i++;
    } else if (strcmp(argument, "--storage") == 0) {
      bool fresh = strcmp(value, "fresh") == 0;
      if (!fresh && strcmp(value, "kept") != 0)
        return wrong_usage(program, "--storage takes fresh or kept, not", value);
      options.storage = fresh ? WEIR__CHECK_STORAGE_FRESH : WEIR__CHECK_STORAGE_KEPT;
      i++;
    } else if (argument[0] == '-' && argument[1]) {
      return wrong_usage(program, "unknown option", argument);
    } else if (path_count == 2) {
      return wrong_usage(program, "one argument too many:", argument);
    } else {
      paths[path_count++] = argument;
    }
  }
  if (path_count < 2) return wrong_usage(program, "missing", path_count ? "STREAM" : "TIMELINE.json");

  weir__check_report *report = malloc(sizeof *report);
  if (!report) return WEIR__CHECK_BAD_INPUT;
  weir__check_result result = weir__check_files(paths[0], paths[1], &options, report);
  fputs(report->text, stderr);
  if (result == WEIR__CHECK_PROVED) {
    printf("checked %" PRIu64 " tasks, %" PRIu64 " accesses, %" PRIu64 " hazards: all honoured\n", report->tasks,
           report->accesses, report->hazards);
  } else if (result == WEIR__CHECK_BROKEN) {
    printf("checked %" PRIu64 " tasks, %" PRIu64 " accesses, %" PRIu64 " hazards: %" PRIu64 " findings\n",
           report->tasks, report->accesses, report->hazards, report->broken);
  }
  free(report);
  return (int)result;
}
