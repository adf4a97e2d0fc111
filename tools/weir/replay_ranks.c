// SPDX-License-Identifier: Apache-2.0
//
// Replays on ranks of MPI: each rank is a process of weir-replay-ranks (tools/ranks), and rank 0 prints what it took.
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "replay.h"
#include "run.h"
#include "run_timeline.h"
#include "stream_pattern.h"

enum { PATH_BYTES = 4200, MOST_WORDS = 24 };

enum { MOST_REAL_RANKS = 64 };

bool weir__replay_settle_ranks(const weir__replay_options *options) {
  if (options->ranks == 0 && options->deal == 0 && options->launcher == NULL) return true;
  const char *why = NULL;
  if (options->ranks > MOST_REAL_RANKS && options->cluster == NULL) why = "more than 64 --ranks are for --cluster";
  if (options->ranks == 0) why = options->deal > 0 ? "--deal is for --ranks" : "--launcher is for --ranks";
  if (strcmp(options->device, "cpu") != 0 && strncmp(options->device, "cpu:", 4) != 0)
    why = "--ranks is for CPU devices, cpu or cpu:N";
  if (options->lines > 0) why = "--ranks does not go with --pipeline";
  if (options->hazards != WEIR__PLAN_BUFFER) why = "--ranks does not go with --hazards serial or address";
  if (options->issue != WEIR__REPLAY_AUTO) why = "--ranks does not go with --issue";
  if (options->met != WEIR__REPLAY_MET_NOTHING || options->apart) why = "--ranks goes neither with --met nor --apart";
  if (options->queues > 0) why = "--ranks does not go with --queues";
  if (why != NULL) weir__cli_error("replay", "%s", why);
  return why == NULL;
}

uint64_t weir__replay_deal(const char *path, const weir__replay_options *options) {
  if (options->deal > 0) return options->deal;
  uint64_t width = weir__stream_pattern_width(path), usual = width > 0 ? width : 16;
  return options->ranks > usual ? options->ranks : usual;
}

// The program of a rank: beside this one, as in a build, or where it is installed.
static bool find_program(char *out_path, size_t size) {
  static const char *const places[] = {"weir-replay-ranks", "../" WEIR_LIBDIR "/weir/weir-replay-ranks"};
  char self[4096];
  ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
  self[length > 0 ? length : 0] = '\0';
  char *slash = strrchr(self, '/');
  if (slash != NULL) *slash = '\0';
  for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
    snprintf(out_path, size, "%s/%s", self, places[i]);
    if (access(out_path, X_OK) == 0) return true;
  }
  weir__cli_error("replay", "%s is missing: it is built with libweir-mpi, and is in the package libweir-mpi-dev",
                  places[0]);
  return false;
}

// The command line of a rank.
typedef struct rank_words {
  const char *words[MOST_WORDS];
  size_t count;
  char program[PATH_BYTES], texts[6][32];
} rank_words;

static void add(rank_words *self, const char *option, const char *value) {
  self->words[self->count++] = option;
  if (value != NULL) self->words[self->count++] = value;
}

static void make_words(rank_words *self, const char *path, const weir__replay_options *options) {
  snprintf(self->texts[0], 32, "%llu", (unsigned long long)options->window);
  snprintf(self->texts[1], 32, "%llu", (unsigned long long)options->memory);
  snprintf(self->texts[2], 32, "%llu", (unsigned long long)options->repeat);
  snprintf(self->texts[3], 32, "%llu", (unsigned long long)weir__replay_deal(path, options));
  snprintf(self->texts[4], 32, "%.17g", options->time_scale);
  add(self, self->program, NULL);
  add(self, "--device", options->device);
  add(self, "--window", self->texts[0]);
  add(self, "--memory", self->texts[1]);
  add(self, "--repeat", self->texts[2]);
  add(self, "--deal", self->texts[3]);
  add(self, "--time-scale", self->texts[4]);
  add(self, "--rename", options->rename == WEIR__REPLAY_ON ? "on" : "off");
  if (options->storage == WEIR__REPLAY_KEPT) add(self, "--kept", NULL);
  if (options->no_host_waits) add(self, "--no-host-waits", NULL);
  add(self, "--", path);
  self->words[self->count] = NULL;
}

static uint64_t whole_of(const json_t *object, const char *key) {
  return (uint64_t)json_integer_value(json_object_get(object, key));
}

// The line of JSON in what the ranks printed; NULL: there is none.
static json_t *find_result(const char *output) {
  const char *start = output == NULL ? NULL : strstr(output, "{\"device\":");
  return start == NULL ? NULL : json_loads(start, JSON_DISABLE_EOF_CHECK, NULL);
}

static bool take_result(const char *output, const weir__replay_options *options, weir__replay_run *out_run) {
  json_t *result = find_result(output);
  if (result == NULL) {
    weir__cli_error("replay", "the ranks did not say what it took");
    return false;
  }
  const char *device = json_string_value(json_object_get(result, "device"));
  snprintf(out_run->device, sizeof out_run->device, "%s", device ? device : "");
  out_run->makespan_us = json_number_value(json_object_get(result, "makespan_us"));
  out_run->submit_ns = json_number_value(json_object_get(result, "submit_ns"));
  out_run->pass_us = out_run->makespan_us / (double)options->repeat;
  out_run->first_us = out_run->least_us = out_run->most_us = NAN;
  out_run->first_submit_ns = out_run->later_submit_ns = NAN;
  out_run->edges = whole_of(result, "edges");
  out_run->renamed = whole_of(result, "renamed");
  out_run->window_waits = whole_of(result, "window_waits");
  out_run->peak_bytes = whole_of(result, "peak_bytes");
  out_run->window = (uint32_t)whole_of(result, "window");
  out_run->messages = whole_of(result, "messages");
  out_run->bytes_sent = whole_of(result, "bytes_sent");
  json_decref(result);
  return true;
}

static int run(const char *path, const weir__replay_options *options, const char *trace_path, char **out_output) {
  rank_words words = {.count = 0};
  weir__run_line line;
  const weir__run_options run_options = {.command = "replay",
                                         .ranks = options->ranks,
                                         .cores = WEIR__RUN_CORES_UNSET,
                                         .launcher = options->launcher ? options->launcher : "mpirun",
                                         .timeline = trace_path};
  if (!find_program(words.program, sizeof words.program)) return WEIR__EXIT_UNAVAILABLE;
  make_words(&words, path, options);
  int exit_code = weir__run_make_line(&run_options, &line);
  if (exit_code != WEIR__EXIT_OK) return exit_code;
  if (trace_path != NULL && !weir__run_timeline_prepare("replay", trace_path, options->ranks)) return WEIR__EXIT_FAILED;
  exit_code = weir__run_and_wait(&run_options, &line, (char *const *)words.words, out_output);
  if (exit_code == 0) return WEIR__EXIT_OK;
  weir__cli_error("replay", "the ranks ended with exit code %d", exit_code);
  return WEIR__EXIT_FAILED;
}

int weir__replay_run_ranks(const char *path, const weir__stream *stream, const weir__replay_options *options,
                           const char *trace_path, weir__replay_run *out_run) {
  char *output = NULL;
  *out_run = (weir__replay_run){0};
  int exit_code = run(path, options, trace_path, &output);
  if (exit_code == WEIR__EXIT_OK && !take_result(output, options, out_run)) exit_code = WEIR__EXIT_FAILED;
  free(output);
  if (trace_path != NULL && options->ranks > 1) {
    if (exit_code == WEIR__EXIT_OK) exit_code = weir__run_timeline_join("replay", trace_path, options->ranks);
    weir__run_timeline_remove("replay", trace_path, options->ranks);
  }
  if (trace_path != NULL) unsetenv("WEIR_TRACE"); // of what this process does next
  weir__replay_options dealt = *options;
  dealt.deal = weir__replay_deal(path, options);
  if (exit_code == WEIR__EXIT_OK && !weir__replay_fewest_bytes(stream, &dealt, &out_run->bytes_fewest)) {
    weir__cli_error("replay", "%s: no memory", stream->name);
    exit_code = WEIR__EXIT_FAILED;
  }
  return exit_code;
}
