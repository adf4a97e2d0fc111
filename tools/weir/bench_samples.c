// SPDX-License-Identifier: Apache-2.0
#include "bench_samples.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

enum { PATH_BYTES = 4096, TEXT_BYTES = 512 };

typedef weir_status (*add_sample)(weir__bench_report *report, const weir__stream *stream);

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

static int add_stream(const char *bench, weir__bench_report *report, const char *path, add_sample add) {
  char message[TEXT_BYTES];
  weir__stream *stream;
  weir__bench_progress("%s: %s", bench, path);
  weir_status status = weir__stream_read(path, message, sizeof message, &stream);
  if (status != WEIR_OK) {
    weir__cli_error("bench", "%s", message);
    return weir__cli_exit_code(status);
  }
  status = add(report, stream);
  if (status != WEIR_OK) weir__cli_error("bench", "%s: %s", path, weir_last_error());
  weir__stream_destroy(stream);
  return weir__cli_exit_code(status);
}

int weir__bench_each_sample(const char *bench, weir__bench_report *report, add_sample add) {
  char folder[PATH_BYTES + 32];
  struct dirent **entries = NULL;
  int count = list_samples(folder, sizeof folder, &entries);
  if (count <= 0) {
    weir__bench_note(report, "%s: skipped, no sample streams in examples/streams (%s)", bench,
                     count < 0 ? strerror(errno) : "none ends in .jsonl");
    free(entries);
    return WEIR__EXIT_OK;
  }
  int code = WEIR__EXIT_OK;
  for (int i = 0; i < count; i++) {
    char path[sizeof folder + sizeof entries[i]->d_name + 1];
    snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name);
    if (code == WEIR__EXIT_OK) code = add_stream(bench, report, path, add);
    free(entries[i]);
  }
  free(entries);
  return code;
}
