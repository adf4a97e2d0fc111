// SPDX-License-Identifier: Apache-2.0
#include "bench_programs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli.h"

const weir__bench_program weir__bench_weir = {"weir-bench-weir", "weir", NULL, "", NULL};
const weir__bench_program weir__bench_weir_plain = {"weir-bench-weir", "weir", NULL, ", no renaming", "no-rename"};
const weir__bench_program weir__bench_pipelines = {"weir-bench-pipeline", "weir", NULL, "", NULL};
const weir__bench_program weir__bench_peers[] = {
    {"weir-bench-tbb", "oneTBB", "libtbb-dev", "", NULL},
    {"weir-bench-libomp", "libomp", "libomp-dev", "", NULL},
    {"weir-bench-libgomp", "libgomp", "libgomp1", "", NULL},
    {"weir-bench-starpu", "StarPU", "libstarpu-dev", "", NULL},
};
const size_t weir__bench_peer_count = sizeof(weir__bench_peers) / sizeof(*weir__bench_peers);

enum { MAX_SECONDS = 600, MESSAGE_BYTES = 256, EXIT_NO_PROGRAM = 127 };

// Measurements of one case by one runtime.
typedef struct series {
  char case_name[64], runtime[64], unit[16];
  double *samples;
  size_t count;
} series;

typedef struct collection {
  const char *bench;
  series *all;
  size_t count;
  weir__bench_report *report;
} collection;

static bool add_sample(collection *into, const char *case_name, const char *runtime, const char *unit, double value) {
  series *found = NULL;
  for (size_t i = 0; i < into->count && !found; i++) {
    series *candidate = &into->all[i];
    if (strcmp(candidate->case_name, case_name) == 0 && strcmp(candidate->runtime, runtime) == 0 &&
        strcmp(candidate->unit, unit) == 0) {
      found = candidate;
    }
  }
  if (!found) {
    series *all = realloc(into->all, (into->count + 1) * sizeof(*all));
    if (!all) return false;
    into->all = all;
    found = &all[into->count++];
    *found = (series){0};
    snprintf(found->case_name, sizeof(found->case_name), "%s", case_name);
    snprintf(found->runtime, sizeof(found->runtime), "%s", runtime);
    snprintf(found->unit, sizeof(found->unit), "%s", unit);
  }
  double *samples = realloc(found->samples, (found->count + 1) * sizeof(*samples));
  if (!samples) return false;
  found->samples = samples;
  samples[found->count++] = value;
  return true;
}

// Takes a line that a program printed: a result, what is missing, or else a message, of which the last is kept.
static bool take_line(collection *into, const weir__bench_program *program, const char *line, char *message) {
  const char *case_name, *runtime, *unit, *missing, *why;
  double value;
  json_t *object = *line == '{' ? json_loads(line, 0, NULL) : NULL;
  bool is_result = object && json_unpack(object, "{s:s, s:s, s:s, s:F}", "case", &case_name, "runtime", &runtime,
                                         "unit", &unit, "value", &value) == 0;
  bool taken = true;
  if (is_result) {
    char name[64];
    snprintf(name, sizeof(name), "%s%s", runtime, program->suffix);
    taken = add_sample(into, case_name, name, unit, value);
  } else if (object && json_unpack(object, "{s:s, s:s}", "missing", &missing, "why", &why) == 0) {
    weir__bench_note(into->report, "%s: %s is missing: %s", into->bench, missing, why);
  } else if (*line && *line != '\n') {
    snprintf(message, MESSAGE_BYTES, "%.*s", (int)strcspn(line, "\n"), line);
  }
  json_decref(object);
  return taken;
}

// Path of a program next to this one.
static void find_program(const char *name, char *out_path, size_t size) {
  char self[4096];
  ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
  self[length > 0 ? length : 0] = '\0';
  char *slash = strrchr(self, '/');
  if (slash) *slash = '\0';
  snprintf(out_path, size, "%s/%s", self, name);
}

static void start_program(const char *path, const weir__bench_launch *launch, int output) {
  char *argv[20] = {(char *)(uintptr_t)path};
  int count = 1;
  for (const char *const *argument = launch->arguments; *argument; argument++) {
    argv[count++] = (char *)(uintptr_t)*argument;
  }
  if (launch->program->variant) {
    argv[count++] = (char *)(uintptr_t) "--variant";
    argv[count++] = (char *)(uintptr_t)launch->program->variant;
  }
  dup2(output, STDOUT_FILENO);
  dup2(output, STDERR_FILENO);
  close(output);
  alarm(MAX_SECONDS); // a program that hangs ends here, and is reported
  execv(path, argv);
  fprintf(stderr, "%s\n", strerror(errno));
  _exit(EXIT_NO_PROGRAM);
}

// Runs a program and takes what it prints. Returns its wait status, or -1 if it could not be run.
static int run_program(collection *into, const char *path, const weir__bench_launch *launch, char *message) {
  int ends[2];
  if (pipe(ends) != 0) return -1;
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    start_program(path, launch, ends[1]);
  }
  close(ends[1]);
  FILE *output = child > 0 ? fdopen(ends[0], "r") : NULL;
  bool taken = output != NULL;
  char line[1024];
  while (output && fgets(line, sizeof(line), output)) taken = take_line(into, launch->program, line, message) && taken;
  if (output) {
    fclose(output);
  } else {
    close(ends[0]);
  }
  int status = -1;
  if (child > 0) waitpid(child, &status, 0);
  return taken ? status : -1;
}

static void note_missing(const collection *into, const weir__bench_program *program) {
  if (program->package) {
    weir__bench_note(into->report, "%s is missing: there is no %s next to this program (it is built where %s is found)",
                     program->runtime, program->name, program->package);
  } else {
    weir__bench_note(into->report, "%s is missing: there is no %s next to this program (make bench builds it)",
                     program->runtime, program->name);
  }
}

// Runs one launch once. Clears *out_again if it is of no use to try again.
static int run_once(collection *into, const weir__bench_launch *launch, bool *out_again) {
  const weir__bench_program *program = launch->program;
  char path[4200], message[MESSAGE_BYTES] = "no message";
  find_program(program->name, path, sizeof(path));
  weir__bench_progress("%s: %s %s%s", into->bench, launch->arguments[1], program->runtime, program->suffix);
  if (access(path, X_OK) != 0) {
    note_missing(into, program);
    *out_again = false;
    return program->package ? WEIR__EXIT_OK : WEIR__EXIT_UNAVAILABLE;
  }
  int status = run_program(into, path, launch, message);
  int exit_code = status >= 0 && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  if (exit_code == 0) return WEIR__EXIT_OK;
  *out_again = false;
  bool lacking = exit_code == WEIR__EXIT_UNAVAILABLE || exit_code == EXIT_NO_PROGRAM;
  if (lacking && program->package) {
    weir__bench_note(into->report, "%s is missing: %s", program->runtime, message);
    return WEIR__EXIT_OK;
  }
  weir__bench_progress("%s", "");
  if (status >= 0 && WIFSIGNALED(status)) snprintf(message, sizeof(message), "%s", strsignal(WTERMSIG(status)));
  weir__cli_error("bench", "%s%s failed at %s %s: %s", program->runtime, program->suffix, into->bench,
                  launch->arguments[1], message);
  return lacking ? WEIR__EXIT_UNAVAILABLE : WEIR__EXIT_FAILED;
}

int weir__bench_run_programs(const char *bench, const weir__bench_launch *launches, size_t count, uint32_t runs,
                             weir__bench_report *report) {
  collection into = {.bench = bench, .report = report};
  bool *again = malloc(count * sizeof(*again));
  if (!again) return WEIR__EXIT_FAILED;
  for (size_t i = 0; i < count; i++) again[i] = true;
  int result = WEIR__EXIT_OK;
  for (uint32_t run = 0; run < runs; run++) {
    for (size_t i = 0; i < count; i++) {
      int exit_code = again[i] ? run_once(&into, &launches[i], &again[i]) : WEIR__EXIT_OK;
      if (exit_code != WEIR__EXIT_OK && result != WEIR__EXIT_FAILED) result = exit_code;
    }
  }
  for (size_t i = 0; i < into.count; i++) {
    const series *row = &into.all[i];
    weir__bench_add(report, bench, row->case_name, row->runtime, row->unit, row->samples, row->count);
    free(row->samples);
  }
  free(into.all);
  free(again);
  return result;
}
