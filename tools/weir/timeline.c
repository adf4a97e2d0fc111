// SPDX-License-Identifier: Apache-2.0
//
// `weir timeline`: a page for a browser from a timeline in JSON, or from those of all ranks.
#include "timeline.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "timeline/join.h"
#include "timeline/page.h"

static const char summary[] =
    "Makes a page of a timeline that weir_trace_save or `weir replay --timeline FILE.json` wrote: one HTML file that "
    "needs\n"
    "no network, with the data inside. Of several timelines, those of all ranks of an MPI job, it makes one. Prints "
    "the\n"
    "page's name.";

static const char details[] = "Exit codes: 0 done, 1 memory ran out, 2 bad input or usage, or a file cannot be read or "
                              "written.";

bool weir__timeline_ends_in(const char *path, const char *ending) {
  size_t length = strlen(path), own = strlen(ending);
  return length > own && strcmp(path + length - own, ending) == 0;
}

// The name of the timeline with .html in place of .json, or behind it; of one of several ranks, without the rank. NULL:
// no memory.
static char *page_name(const char *timeline, bool is_rank) {
  static const char old_ending[] = ".json", ending[] = ".html";
  size_t length = strlen(timeline);
  if (weir__timeline_ends_in(timeline, old_ending)) length -= sizeof old_ending - 1;
  size_t digits = length;
  while (is_rank && digits > 0 && timeline[digits - 1] >= '0' && timeline[digits - 1] <= '9') digits--;
  if (digits < length && digits > 5 && strncmp(timeline + digits - 5, ".rank", 5) == 0) length = digits - 5;
  char *name = malloc(length + sizeof ending);
  if (!name) return NULL;
  memcpy(name, timeline, length);
  memcpy(name + length, ending, sizeof ending);
  return name;
}

static weir_status write_file(const char *path, const char *data, size_t bytes, char *message, size_t size) {
  FILE *file = fopen(path, "w");
  int failure = file ? 0 : errno;
  if (file && (fwrite(data, 1, bytes, file) != bytes || fflush(file) != 0)) failure = errno ? errno : EIO;
  if (file && fclose(file) != 0 && !failure) failure = errno;
  if (!failure) return WEIR_OK;
  snprintf(message, size, "%s: %s", path, strerror(failure));
  return WEIR_ERROR_IO;
}

int weir__timeline_write_joined(const char *command, char *const *paths, size_t count, const char *output) {
  char message[512], *json = NULL;
  size_t bytes = 0;
  weir_status status = weir__timeline_join(paths, count, message, sizeof message, &json, &bytes);
  if (status == WEIR_OK)
    status = weir__timeline_ends_in(output, ".json")
                 ? write_file(output, json, bytes, message, sizeof message)
                 : weir__timeline_page_memory("the joined timeline", json, bytes, output, message, sizeof message);
  free(json);
  if (status != WEIR_OK) weir__cli_error(command, "%s", message);
  return weir__cli_exit_code(status);
}

static int make_page(char *const *timelines, size_t count, const char *page) {
  char message[512];
  for (size_t i = 0; i < count; i++) {
    if (!weir__cli_is_same_file(timelines[i], page)) continue;
    weir__cli_error("timeline", "%s: the page would replace the timeline", page);
    return WEIR__EXIT_USAGE;
  }
  if (count > 1) {
    int exit_code = weir__timeline_write_joined("timeline", timelines, count, page);
    if (exit_code == WEIR__EXIT_OK) printf("%s\n", page);
    return exit_code;
  }
  weir_status status = weir__timeline_page(timelines[0], page, message, sizeof message);
  if (status == WEIR_OK)
    printf("%s\n", page);
  else
    weir__cli_error("timeline", "%s", message);
  return weir__cli_exit_code(status);
}

int weir__timeline_main(int argc, char **argv) {
  const char *output = NULL;
  const weir__cli_option list[] = {
      {"o|output", WEIR__CLI_TEXT, &output, "FILE",
       "name of the page; default: the timeline's, with .html.\nOf several timelines: if it ends in .json, they are "
       "joined there",
       0, 0},
  };
  const weir__cli_command command = {
      .name = "timeline",
      .arguments = "TIMELINE.json...",
      .summary = summary,
      .details = details,
      .options = list,
      .option_count = 1,
      .least_arguments = 1,
      .most_arguments = SIZE_MAX,
  };
  char **arguments;
  size_t count;
  int exit_code;
  if (!weir__cli_parse(&command, argc, argv, &arguments, &count, &exit_code)) return exit_code;
  char *name = output ? NULL : page_name(arguments[0], count > 1);
  if (!output && !name) {
    weir__cli_error("timeline", "no memory");
    return WEIR__EXIT_FAILED;
  }
  exit_code = make_page(arguments, count, output ? output : name);
  free(name);
  return exit_code;
}
