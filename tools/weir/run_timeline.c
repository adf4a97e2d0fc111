// SPDX-License-Identifier: Apache-2.0
#include "run_timeline.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "timeline.h"
#include "timeline/join.h"
#include "timeline/page.h"

static size_t stem_of(const char *timeline) {
  return strlen(timeline) - strlen(".json"); // or .html
}

bool weir__run_timeline_valid(const char *command, const char *timeline, uint64_t ranks) {
  bool is_timeline = weir__timeline_ends_in(timeline, ".json") || weir__timeline_ends_in(timeline, ".html");
  if (!is_timeline)
    weir__cli_error(command, "--timeline: %s does not end in .html or .json", timeline);
  else if (ranks > WEIR__JOIN_MOST_RANKS)
    weir__cli_error(command, "--timeline: timelines of %d ranks at most can be joined, and there are %llu",
                    WEIR__JOIN_MOST_RANKS, (unsigned long long)ranks);
  return is_timeline && ranks <= WEIR__JOIN_MOST_RANKS;
}

// The timeline that a rank writes (src/api/record.c); NULL: no memory. A rank that is alone has no number.
static char *rank_path(const char *command, const char *timeline, uint64_t ranks, uint64_t rank) {
  size_t size = strlen(timeline) + 40;
  char *path = malloc(size);
  if (!path) {
    weir__cli_error(command, "no memory");
    return NULL;
  }
  if (ranks > 1)
    snprintf(path, size, "%.*s.rank%llu.json", (int)stem_of(timeline), timeline, (unsigned long long)rank);
  else
    snprintf(path, size, "%.*s.json", (int)stem_of(timeline), timeline);
  return path;
}

bool weir__run_timeline_remove(const char *command, const char *timeline, uint64_t ranks) {
  for (uint64_t rank = 0; rank < ranks; rank++) {
    char *path = rank_path(command, timeline, ranks, rank);
    if (!path) return false;
    unlink(path);
    free(path);
  }
  return true;
}

bool weir__run_timeline_prepare(const char *command, const char *timeline, uint64_t ranks) {
  if (!weir__run_timeline_remove(command, timeline, ranks)) return false;
  char *trace = rank_path(command, timeline, 1, 0);
  bool set = trace != NULL && setenv("WEIR_TRACE", trace, 1) == 0;
  free(trace);
  return set;
}

static bool was_written(const char *command, const char *path) {
  bool written = access(path, R_OK) == 0;
  if (!written) weir__cli_error(command, "%s was not written: does the program use Weir?", path);
  return written;
}

// A rank that is alone: its timeline is the whole.
static int finish_one(const char *command, const char *path, const char *timeline) {
  char message[512] = "";
  weir_status status = WEIR_OK;
  if (strcmp(path, timeline) != 0) status = weir__timeline_page(path, timeline, message, sizeof message);
  if (status != WEIR_OK) weir__cli_error(command, "%s", message);
  return weir__cli_exit_code(status);
}

int weir__run_timeline_join(const char *command, const char *timeline, uint64_t ranks) {
  char **paths = calloc(ranks, sizeof *paths);
  bool complete = paths != NULL;
  for (uint64_t rank = 0; rank < ranks && complete; rank++)
    complete = (paths[rank] = rank_path(command, timeline, ranks, rank)) != NULL && was_written(command, paths[rank]);
  int exit_code = WEIR__EXIT_FAILED;
  if (complete)
    exit_code = ranks == 1 ? finish_one(command, paths[0], timeline)
                           : weir__timeline_write_joined(command, paths, (size_t)ranks, timeline);
  for (uint64_t rank = 0; rank < ranks && paths; rank++) free(paths[rank]);
  free(paths);
  return exit_code;
}
