// SPDX-License-Identifier: Apache-2.0
//
// `weir replay`: runs recorded streams out of order and says what came of it.
#include "replay.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

enum { LONGEST_SERIAL_US = 2000000 };

typedef struct row {
  const weir__stream *stream;
  weir__replay_result result;
  double serial_us, critical_us, bound_us;
} row;

// Time of the same passes one task after another on the same device. Too long on the CPU: the sum of what was recorded.
static weir_status find_serial(const weir__replay_options *options, row *filled, char *message, size_t size) {
  double sum = 0;
  for (uint32_t i = 0; i < filled->stream->task_count; i++) sum += weir__stream_task_us(&filled->stream->tasks[i]);
  filled->serial_us = sum * options->time_scale * options->repeat;
  if (strncmp(options->device, "cpu", 3) == 0 && filled->serial_us > LONGEST_SERIAL_US) return WEIR_OK;
  weir__replay_options serial = *options;
  serial.hazards = WEIR__PLAN_SERIAL;
  serial.graph = serial.check = false;
  serial.timeline = NULL;
  serial.memory = 0;
  weir__replay_result result;
  weir_status status = weir__replay_run(filled->stream, &serial, &result, message, size);
  if (status == WEIR_OK) filled->serial_us = result.makespan_us;
  return status;
}

static weir_status replay_stream(const weir__replay_options *options, row *filled, char *message, size_t size) {
  weir_status status = weir__stream_limits(filled->stream, options->hazards, &filled->critical_us, &filled->bound_us);
  if (status != WEIR_OK) {
    snprintf(message, size, "%s: no memory for its limits", filled->stream->name);
    return status;
  }
  filled->critical_us *= options->time_scale;
  filled->bound_us *= options->time_scale;
  status = weir__replay_run(filled->stream, options, &filled->result, message, size);
  if (status != WEIR_OK) return status;
  if (options->hazards == WEIR__PLAN_SERIAL && !options->graph) {
    filled->serial_us = filled->result.makespan_us;
    return WEIR_OK;
  }
  return find_serial(options, filled, message, size);
}

static double speedup(const row *filled) {
  return filled->result.makespan_us > 0 ? filled->serial_us / filled->result.makespan_us : 1;
}

static json_t *row_json(const weir__replay_options *options, const row *filled) {
  const weir__replay_result *result = &filled->result;
  json_t *object = json_object();
  if (object == NULL) return NULL;
  json_object_set_new(object, "stream", json_string(filled->stream->name));
  json_object_set_new(object, "device", json_string(result->device));
  json_object_set_new(object, "hazards", json_string(weir__plan_mode_name(options->hazards)));
  json_object_set_new(object, "issue", json_string(options->graph ? "graph" : "queues"));
  json_object_set_new(object, "window", json_integer(result->statistics.window));
  json_object_set_new(object, "passes", json_integer(options->repeat));
  json_object_set_new(object, "tasks", json_integer(filled->stream->task_count));
  json_object_set_new(object, "kernels", json_integer((json_int_t)filled->stream->kernel_count));
  json_object_set_new(object, "edges", json_integer((json_int_t)result->edges));
  json_object_set_new(object, "serial_us", weir__json_us(filled->serial_us));
  json_object_set_new(object, "makespan_us", weir__json_us(result->makespan_us));
  json_object_set_new(object, "speedup", weir__json_us(speedup(filled)));
  json_object_set_new(object, "critical_us", weir__json_us(filled->critical_us));
  json_object_set_new(object, "bound_us", weir__json_us(filled->bound_us));
  json_object_set_new(object, "submit_ns_per_task", weir__json_us(result->submit_ns));
  json_object_set_new(object, "renamed", json_integer((json_int_t)result->statistics.renamed));
  json_object_set_new(object, "rename_denied", json_integer((json_int_t)result->statistics.rename_denied));
  json_object_set_new(object, "peak_bytes", json_integer((json_int_t)result->statistics.peak_bytes));
  json_object_set_new(object, "build_us", weir__json_us(result->build_us));
  json_object_set_new(object, "checked", result->checked ? json_boolean(result->honoured) : json_null());
  return object;
}

static int print_json(const weir__replay_options *options, const row *rows, size_t count) {
  json_t *array = json_array();
  for (size_t i = 0; array != NULL && i < count; i++) {
    if (json_array_append_new(array, row_json(options, &rows[i])) == 0) continue;
    json_decref(array);
    array = NULL;
  }
  return weir__cli_print_json("replay", array);
}

static void add_columns(weir__table *table) {
  weir__table_column(table, "stream", "", false);
  weir__table_column(table, "tasks", "", true);
  weir__table_column(table, "edges", "", true);
  weir__table_column(table, "serial", "us", true);
  weir__table_column(table, "makespan", "us", true);
  weir__table_column(table, "speedup", "", true);
  weir__table_column(table, "critical", "us", true);
  weir__table_column(table, "bound", "us", true);
  weir__table_column(table, "submit", "ns/task", true);
  weir__table_column(table, "renamed", "", true);
  weir__table_column(table, "peak", "MiB", true);
  weir__table_column(table, "build", "us", true);
  weir__table_column(table, "hazards", "", false);
}

static int print_table(const weir__replay_options *options, const row *rows, size_t count) {
  weir__table *table = weir__table_create();
  if (table == NULL) {
    weir__cli_error("replay", "no memory");
    return WEIR__EXIT_FAILED;
  }
  add_columns(table);
  double log_speedup = 0, log_bound = 0;
  for (size_t i = 0; i < count; i++) {
    const row *filled = &rows[i];
    const weir__replay_result *result = &filled->result;
    weir__table_cell(table, "%s", filled->stream->name);
    weir__table_cell(table, "%u", filled->stream->task_count);
    weir__table_cell(table, "%llu", (unsigned long long)result->edges);
    weir__table_cell(table, "%.1f", filled->serial_us);
    weir__table_cell(table, "%.1f", result->makespan_us);
    weir__table_cell(table, "%.2fx", speedup(filled));
    weir__table_cell(table, "%.1f", filled->critical_us);
    weir__table_cell(table, "%.1f", filled->bound_us);
    weir__table_cell(table, "%.0f", result->submit_ns);
    weir__table_cell(table, "%llu", (unsigned long long)result->statistics.renamed);
    weir__table_cell(table, "%.1f", (double)result->statistics.peak_bytes / 1048576);
    weir__table_cell(table, "%.1f", result->build_us);
    weir__table_cell(table, "%s", !result->checked ? "not checked" : result->honoured ? "all honoured" : "BROKEN");
    log_speedup += log(speedup(filled) > 0 ? speedup(filled) : 1);
    log_bound += filled->bound_us > 0 ? log(result->makespan_us / options->repeat / filled->bound_us) : 0;
  }
  printf("%s on %s, hazards by %s, issued as %s, window %u, %u pass%s\n\n", count == 1 ? "One stream" : "Streams",
         rows[0].result.device, weir__plan_mode_name(options->hazards), options->graph ? "graph" : "queues",
         rows[0].result.statistics.window, options->repeat, options->repeat == 1 ? "" : "es");
  bool printed = weir__table_print(table, stdout);
  weir__table_destroy(table);
  if (count > 1)
    printf("\ngeometric means: speedup %.2fx, makespan of a pass over bound %.2f\n", exp(log_speedup / (double)count),
           exp(log_bound / (double)count));
  return printed ? WEIR__EXIT_OK : WEIR__EXIT_FAILED;
}

static int replay_all(const weir__replay_options *options, char **paths, size_t count, bool as_json) {
  row *rows = calloc(count, sizeof *rows);
  weir__stream **streams = calloc(count, sizeof(weir__stream *));
  int exit_code = rows == NULL || streams == NULL ? WEIR__EXIT_FAILED : WEIR__EXIT_OK;
  char message[1024] = "no memory";
  bool progress = isatty(STDERR_FILENO) && count > 1;
  // All input is read before anything runs.
  for (size_t i = 0; i < count && exit_code == WEIR__EXIT_OK; i++) {
    weir_status status = weir__stream_read(paths[i], message, sizeof message, &streams[i]);
    if (status != WEIR_OK)
      exit_code = status == WEIR_ERROR_OUT_OF_MEMORY ? WEIR__EXIT_FAILED : WEIR__EXIT_USAGE;
    else
      rows[i].stream = streams[i];
  }
  for (size_t i = 0; i < count && exit_code == WEIR__EXIT_OK; i++) {
    if (progress) fprintf(stderr, "\r\033[K%zu of %zu: %s", i + 1, count, streams[i]->name);
    weir_status status = replay_stream(options, &rows[i], message, sizeof message);
    if (status != WEIR_OK) exit_code = weir__cli_exit_code(status);
  }
  if (progress) fprintf(stderr, "\r\033[K");
  if (exit_code == WEIR__EXIT_OK)
    exit_code = as_json ? print_json(options, rows, count) : print_table(options, rows, count);
  else
    weir__cli_error("replay", "%s", message);
  for (size_t i = 0; i < count; i++) {
    if (exit_code == WEIR__EXIT_OK && rows[i].result.checked && !rows[i].result.honoured) exit_code = WEIR__EXIT_FAILED;
    if (streams != NULL) weir__stream_destroy(streams[i]);
  }
  free(rows);
  free(streams);
  return exit_code;
}

// Finds mistakes that the options' own ranges do not show.
static bool options_agree(const weir__replay_options *options, size_t streams) {
  const char *dot = options->timeline == NULL ? NULL : strrchr(options->timeline, '.');
  if (options->timeline != NULL && (dot == NULL || (strcmp(dot, ".html") != 0 && strcmp(dot, ".json") != 0))) {
    weir__cli_error("replay", "--timeline %s: the name must end in .html or .json", options->timeline);
    return false;
  }
  if (options->timeline != NULL && streams > 1) {
    weir__cli_error("replay", "--timeline takes one stream, %zu were given", streams);
    return false;
  }
  return true;
}

int weir__replay_main(int argc, char **argv) {
  int hazards = WEIR__PLAN_BUFFER, issue = 0, rename_choice = 0, storage = 0;
  uint64_t queues = 0, window = 0, repeat = 1;
  bool as_json = false;
  weir__replay_options options = {.device = "cpu", .time_scale = 1};
  const weir__cli_option list[] = {
      {"device", WEIR__CLI_TEXT, &options.device, "DEVICE",
       "cpu, cpu:WORKERS, sim, sim:PROFILE (ideal, h200 or a file); default cpu", 0, 0},
      {"hazards", WEIR__CLI_CHOICE, &hazards, WEIR__PLAN_MODES,
       "serial: one task after another; address: between the recorded addresses;\n"
       "buffer: every recorded storage is a buffer of Weir's (default)",
       0, 0},
      {"issue", WEIR__CLI_CHOICE, &issue, "queues|graph",
       "queues: task by task (default); graph: recorded first, launched whole (host waits are ignored)", 0, 0},
      {"queues", WEIR__CLI_COUNT, &queues, "N", "in-order queues of the device; default its own number", 1, 4096},
      {"window", WEIR__CLI_COUNT, &window, "N", "tasks in flight, 8 to 2^24; default 1024", 8, 1 << 24},
      {"rename", WEIR__CLI_CHOICE, &rename_choice, "on|off", "fresh storage for overwritten buffers; default on", 0, 0},
      {"memory", WEIR__CLI_BYTES, &options.memory, "BYTES", "limit of storage (K, M, G are understood); default none",
       1, 1.8e19},
      {"repeat", WEIR__CLI_COUNT, &repeat, "N", "submit the stream N times; default 1", 1, 1000000},
      {"storage", WEIR__CLI_CHOICE, &storage, "fresh|kept",
       "fresh: each pass makes and drops its storages, parameters stay (default);\nkept: made once, used by all passes",
       0, 0},
      {"time-scale", WEIR__CLI_REAL, &options.time_scale, "X", "times the recorded kernel times; default 1", 0, 1e6},
      {"check", WEIR__CLI_FLAG, &options.check, NULL, "prove that every hazard was honoured", 0, 0},
      {"timeline", WEIR__CLI_TEXT, &options.timeline, "FILE", "write a timeline: FILE.html or FILE.json", 0, 0},
      {"json", WEIR__CLI_FLAG, &as_json, NULL, "print JSON", 0, 0},
  };
  const weir__cli_command command = {
      .name = "replay",
      .arguments = "STREAM...",
      .summary = "Runs recorded kernel streams out of order. On the CPU a task keeps one worker busy for the recorded\n"
                 "time; on a simulated device time is virtual.",
      .details =
          "bound: the longer of the critical path by buffer and the recorded device's work bound, for one pass.\n"
          "serial: the same tasks one after another on the same device (on the CPU the sum of the recorded\n"
          "times when that takes more than two seconds). submit: real time in the library.\n\n"
          "JSON: an array with, per stream: stream, device, hazards, issue, window, passes, tasks, kernels, edges,\n"
          "serial_us, makespan_us (without build_us), speedup, critical_us, bound_us, submit_ns_per_task, renamed,\n"
          "rename_denied, peak_bytes, build_us, checked.\n\n"
          "Exit codes: 0 done, 1 a run or check failed, 2 bad input or usage, 3 a device is missing.",
      .options = list,
      .option_count = sizeof list / sizeof list[0],
      .least_arguments = 1,
      .most_arguments = SIZE_MAX,
  };
  char **paths;
  size_t count;
  int exit_code;
  if (!weir__cli_parse(&command, argc, argv, &paths, &count, &exit_code)) return exit_code;
  options.hazards = (weir__plan_mode)hazards;
  options.graph = issue == 1;
  options.queues = (uint32_t)queues;
  options.window = (uint32_t)window;
  options.rename = rename_choice == 0;
  options.repeat = (uint32_t)repeat;
  options.kept = storage == 1;
  if (!options_agree(&options, count)) return WEIR__EXIT_USAGE;
  return replay_all(&options, paths, count, as_json);
}
