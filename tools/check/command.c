// SPDX-License-Identifier: Apache-2.0
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/check.h"

static void print_help(const char *program) {
  printf("Usage: %s [OPTION...] TIMELINE.json STREAM\n"
         "       %s --lines|--lines-apart TIMELINE.json [STREAM]\n"
         "       %s --ranks TIMELINE.json [STREAM]\n"
         "\n"
         "Proves from a recorded stream and a timeline of its replay that every hazard was honoured, and from the\n"
         "timeline that lines, tokens and stages of pipelines kept their rules.\n"
         "\n"
         "  --storage fresh|kept  what a replay of several passes did with buffers (default: as the timeline looks)\n"
         "  --passes N            how often the stream was replayed (default: as often as the timeline shows)\n"
         "  --no-host-waits       the replay did not wait where the program read results back\n"
         "  --pipeline            the passes were jobs of a pipeline: one that waits does not hold up others\n"
         "  --lines               lines, tokens and stages of the timeline's pipelines; a stream is not needed\n"
         "  --lines-apart         and that lines share no bytes of a buffer that any of them writes\n"
         "  --ranks               the timeline was joined from those of ranks: that each rank was right, and that "
         "messages\n"
         "                        brought what each task reads; or it is that of one process; a stream is not needed\n"
         "  --help                this text\n"
         "\n"
         "Exit codes: 0 proved, 1 a rule is broken, 2 the input or the command line is wrong.\n",
         program, program, program);
}

static int wrong_usage(const char *program, const char *what, const char *argument) {
  fprintf(stderr, "%s: %s \"%s\"; try --help\n", program, what, argument);
  return WEIR__CHECK_BAD_INPUT;
}

static bool parse_passes(const char *text, uint32_t *out_passes) {
  char *end = NULL;
  unsigned long value = strtoul(text, &end, 10);
  if (text[0] < '0' || text[0] > '9' || *end || value == 0 || value > UINT32_MAX) return false;
  *out_passes = (uint32_t)value;
  return true;
}

static bool parse_storage(const char *text, weir__check_storage *out_storage) {
  bool fresh = strcmp(text, "fresh") == 0;
  *out_storage = fresh ? WEIR__CHECK_STORAGE_FRESH : WEIR__CHECK_STORAGE_KEPT;
  return fresh || strcmp(text, "kept") == 0;
}

static int check(const char *timeline, const char *stream, bool ranks, const weir__check_options *options) {
  weir__check_report *report = malloc(sizeof *report);
  if (!report) return WEIR__CHECK_BAD_INPUT;
  weir__check_result result = stream  ? weir__check_files(timeline, stream, options, report)
                              : ranks ? weir__check_ranks_file(timeline, options, report)
                                      : weir__check_pipelines_file(timeline, options, report);
  fputs(report->text, stderr);
  if (result != WEIR__CHECK_BAD_INPUT) {
    printf("checked %" PRIu64 " tasks, ", report->tasks);
    if (report->ranks > 0) printf("%" PRIu64 " ranks, %" PRIu64 " messages, ", report->ranks, report->messages);
    if (report->pipelines > 0)
      printf("%" PRIu64 " pipelines, %" PRIu64 " tokens, %" PRIu64 " spans of lines, ", report->pipelines,
             report->tokens, report->spans);
    printf("%" PRIu64 " accesses, %" PRIu64 " hazards: ", report->accesses, report->hazards);
    if (result == WEIR__CHECK_PROVED) printf("all honoured\n");
    if (result == WEIR__CHECK_BROKEN) printf("%" PRIu64 " findings\n", report->broken);
  }
  free(report);
  return (int)result;
}

int weir__check_main(int argc, char **argv) {
  static const struct option names[] = {{"storage", required_argument, NULL, 's'},
                                        {"passes", required_argument, NULL, 'p'},
                                        {"no-host-waits", no_argument, NULL, 'n'},
                                        {"pipeline", no_argument, NULL, 'j'},
                                        {"lines", no_argument, NULL, 'l'},
                                        {"lines-apart", no_argument, NULL, 'a'},
                                        {"ranks", no_argument, NULL, 'r'},
                                        {"help", no_argument, NULL, 'h'},
                                        {NULL, 0, NULL, 0}};
  const char *program = argc > 0 && strcmp(argv[0], "check") != 0 ? "weir-check" : "weir check";
  weir__check_options options = {0};
  bool lines = false, ranks = false;
  optind = 0; // start afresh
  opterr = 0; // messages are ours
  for (int option; (option = getopt_long(argc, argv, "h", names, NULL)) != -1;) {
    if (option == 'h') {
      print_help(program);
      return 0;
    }
    if (option == 'n') options.ignore_host_waits = true;
    if (option == 'j') options.pipeline = true;
    if (option == 'l' || option == 'a') lines = true;
    if (option == 'r') ranks = true;
    if (option == 'a') options.lines_apart = true;
    if (option == 'p' && !parse_passes(optarg, &options.passes)) {
      return wrong_usage(program, "--passes takes a number, not", optarg);
    }
    if (option == 's' && !parse_storage(optarg, &options.storage)) {
      return wrong_usage(program, "--storage takes fresh or kept, not", optarg);
    }
    if (option == '?') return wrong_usage(program, "unknown option, or its value is missing:", argv[optind - 1]);
  }
  if (argc - optind > 2) return wrong_usage(program, "one argument too many:", argv[optind + 2]);
  bool alone = argc - optind == 1;
  if (argc - optind < 2 && !((lines || ranks) && alone))
    return wrong_usage(program,
                       alone ? "--ranks proves the timeline of a program that replayed no stream; missing" : "missing",
                       alone ? "STREAM" : "TIMELINE.json");
  return check(argv[optind], argc - optind == 2 ? argv[optind + 1] : NULL, ranks, &options);
}
