// SPDX-License-Identifier: Apache-2.0
//
// `weir timeline`: a page for a browser from a timeline in JSON.
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "timeline/page.h"

static const char summary[] = "Makes a page of a timeline that weir_trace_save or `weir replay --timeline FILE.json` "
                              "wrote: one HTML file that needs\n"
                              "no network, with the data inside. Prints the page's name.";

static const char details[] = "Exit codes: 0 done, 1 memory ran out, 2 bad input or usage, or a file cannot be read or "
                              "written.";

// The name of the timeline with .html in place of .json, or behind it. NULL: no memory.
static char *page_name(const char *timeline) {
  static const char old_ending[] = ".json", ending[] = ".html";
  size_t length = strlen(timeline), old_length = sizeof old_ending - 1;
  if (length > old_length && strcmp(timeline + length - old_length, old_ending) == 0) length -= old_length;
  char *name = malloc(length + sizeof ending);
  if (!name) return NULL;
  memcpy(name, timeline, length);
  memcpy(name + length, ending, sizeof ending);
  return name;
}

static int make_page(const char *timeline, const char *page) {
  char message[512];
  if (strcmp(timeline, page) == 0) {
    weir__cli_error("timeline", "%s: the page would replace the timeline", page);
    return WEIR__EXIT_USAGE;
  }
  weir_status status = weir__timeline_page(timeline, page, message, sizeof message);
  if (status == WEIR_OK)
    printf("%s\n", page);
  else
    weir__cli_error("timeline", "%s", message);
  return weir__cli_exit_code(status);
}

int weir__timeline_main(int argc, char **argv) {
  const char *output = NULL;
  const weir__cli_option list[] = {
      {"o|output", WEIR__CLI_TEXT, &output, "FILE", "name of the page; default: the timeline's, with .html", 0, 0},
  };
  const weir__cli_command command = {
      .name = "timeline",
      .arguments = "TIMELINE.json",
      .summary = summary,
      .details = details,
      .options = list,
      .option_count = 1,
      .least_arguments = 1,
      .most_arguments = 1,
  };
  char **arguments;
  size_t count;
  int exit_code;
  if (!weir__cli_parse(&command, argc, argv, &arguments, &count, &exit_code)) return exit_code;
  char *name = output ? NULL : page_name(arguments[0]);
  if (!output && !name) {
    weir__cli_error("timeline", "no memory");
    return WEIR__EXIT_FAILED;
  }
  exit_code = make_page(arguments[0], output ? output : name);
  free(name);
  return exit_code;
}
