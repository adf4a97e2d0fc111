// SPDX-License-Identifier: Apache-2.0
//
// Parallelism against window size: time one after another over the makespan on hardware without limits, by address and
// by buffer, for every sample stream. The numbers come from src/plan's schedule: exact, the same on every machine, and
// no time is measured.
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"
#include "cli.h"
#include "plan/schedule.h"
#include "plan_stream.h"

enum { LEAST_WINDOW = 8, MOST_WINDOW = 4096, PATH_BYTES = 4096, TEXT_BYTES = 512 };

static const char ending[] = ".jsonl";

static int is_stream(const struct dirent *entry) {
  size_t length = strlen(entry->d_name), end = sizeof ending - 1;
  return length > end && strcmp(entry->d_name + length - end, ending) == 0;
}

// The samples' folder: below the current one, or in the source tree that the program was built in.
static int list_samples(char *folder, size_t folder_bytes, struct dirent ***out_entries) {
  snprintf(folder, folder_bytes, "examples/streams");
  int count = scandir(folder, out_entries, is_stream, alphasort);
  if (count >= 0) return count;
  char program[PATH_BYTES];
  ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
  if (length < 0) return -1;
  program[length] = '\0';
  char *name = strrchr(program, '/');
  if (!name) return -1;
  *name = '\0';
  if ((size_t)snprintf(folder, folder_bytes, "%s/../../examples/streams", program) >= folder_bytes) return -1;
  return scandir(folder, out_entries, is_stream, alphasort);
}

// Adds the parallelism of one mode with one window.
static void add_row(weir__bench_report *report, weir__stream_plan *plan, uint32_t window) {
  char name[TEXT_BYTES], runtime[TEXT_BYTES];
  snprintf(name, sizeof name, "%s window %u", plan->stream->name, window);
  snprintf(runtime, sizeof runtime, "by %s", weir__plan_mode_name(plan->mode));
  double makespan_us = weir__plan_window_schedule(&plan->graph, plan->task_us, window, plan->ends);
  double parallelism = plan->serial_us / makespan_us;
  weir__bench_add(report, "parallelism", name, runtime, "x", &parallelism, 1);
}

static weir_status add_rows(weir__bench_report *report, const weir__stream *stream) {
  weir__stream_plan by_address, by_buffer;
  weir_status status = weir__stream_plan_create(stream, WEIR__PLAN_ADDRESS, 0, &by_address);
  if (status != WEIR_OK) return status;
  status = weir__stream_plan_create(stream, WEIR__PLAN_BUFFER, 0, &by_buffer);
  for (uint32_t window = LEAST_WINDOW; window <= MOST_WINDOW && status == WEIR_OK; window *= 2) {
    add_row(report, &by_address, window);
    add_row(report, &by_buffer, window);
  }
  weir__stream_plan_free(&by_address);
  weir__stream_plan_free(&by_buffer);
  return status;
}

static int add_stream(weir__bench_report *report, const char *path) {
  char message[TEXT_BYTES];
  weir__stream *stream;
  weir__bench_progress("parallelism: %s", path);
  weir_status status = weir__stream_read(path, message, sizeof message, &stream);
  if (status != WEIR_OK) {
    weir__cli_error("bench", "%s", message);
    return weir__cli_exit_code(status);
  }
  status = add_rows(report, stream);
  if (status != WEIR_OK) weir__cli_error("bench", "%s: %s", path, weir_last_error());
  weir__stream_destroy(stream);
  return weir__cli_exit_code(status);
}

int weir__bench_parallelism(const weir__bench_options *options, weir__bench_report *report) {
  (void)options; // exact, and quick as it is
  char folder[PATH_BYTES + 32];
  struct dirent **entries = NULL;
  int count = list_samples(folder, sizeof folder, &entries);
  if (count <= 0) {
    weir__bench_note(report, "parallelism: skipped, no sample streams in examples/streams (%s)",
                     count < 0 ? strerror(errno) : "none ends in .jsonl");
    free(entries);
    return WEIR__EXIT_OK;
  }
  int code = WEIR__EXIT_OK;
  for (int i = 0; i < count; i++) {
    char path[sizeof folder + sizeof entries[i]->d_name + 1];
    snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name);
    if (code == WEIR__EXIT_OK) code = add_stream(report, path);
    free(entries[i]);
  }
  free(entries);
  weir__bench_note(report, "parallelism: exact, from the schedule of a window on hardware without limits; nothing is "
                           "timed");
  return code;
}
