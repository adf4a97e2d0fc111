// SPDX-License-Identifier: Apache-2.0
//
// `weir plan`: what a recorded stream allows, before anything runs.
#include <stdlib.h>

#include "cli.h"
#include "plan_output.h"

enum { MESSAGE_BYTES = 512, NO_TASK = -1 };

typedef struct plan_options {
  int hazards; // weir__plan_mode
  uint64_t window;
  int64_t why; // NO_TASK: not asked
  const char *dot;
  bool json;
} plan_options;

typedef struct planned_stream {
  weir__stream *stream;
  weir__stream_plan plan;
  uint64_t renamed; // pairs of tasks that only hazards which vanish by renaming put in order
} planned_stream;

static bool parse_options(int argc, char **argv, plan_options *options, char ***out_paths, size_t *out_count,
                          int *out_exit) {
  uint64_t why = UINT64_MAX;
  const weir__cli_option list[] = {
      {"hazards", WEIR__CLI_CHOICE, &options->hazards, WEIR__PLAN_MODES,
       "which tasks wait for which: each for the one before, by conflicts\n"
       "at the recorded addresses, or of logical buffers with renaming\n(default: buffer)",
       0, 0},
      {"window", WEIR__CLI_COUNT, &options->window, "N", "tasks in flight at most (default: no limit)", 1, 1 << 24},
      {"why", WEIR__CLI_COUNT, &why, "TASK", "say for what this task waits, and why; tasks count from 0", 0,
       UINT32_MAX},
      {"dot", WEIR__CLI_TEXT, &options->dot, "FILE", "write the reduced graph of one stream for Graphviz", 0, 0},
      {"json", WEIR__CLI_FLAG, &options->json, NULL, "print an array with an object per stream", 0, 0},
  };
  const weir__cli_command command = {
      "plan",
      "STREAM...",
      "Shows which tasks of recorded streams have to wait for which, and how much parallelism\nthat leaves on hardware "
      "without limits.",
      "Columns: edges before and after transitive reduction, those of them that renaming\nwould remove (or removed, "
      "with "
      "--hazards buffer), levels, time one after another, the\ncritical path, the bound (the larger of the critical "
      "path "
      "by buffer and the time in which\nthe recorded device can do the work), and the time one after another over that "
      "with the\nwindow on unlimited hardware.\n\n"
      "Exit codes: 0 done, 1 no memory, 2 bad input or usage.",
      list,
      sizeof list / sizeof *list,
      1,
      SIZE_MAX};
  if (!weir__cli_parse(&command, argc, argv, out_paths, out_count, out_exit)) return false;
  *out_exit = WEIR__EXIT_USAGE;
  if (options->dot && *out_count > 1) {
    weir__cli_error("plan", "--dot writes the graph of one stream, not of %zu", *out_count);
    return false;
  }
  options->why = why == UINT64_MAX ? NO_TASK : (int64_t)why;
  return true;
}

// Edges that hazards would make if nothing were renamed, less those that stay.
static uint64_t count_renamed(const weir__stream_plan *plan) {
  const weir__plan_hazards *hazards = &plan->hazards;
  uint64_t count = 0;
  for (size_t i = 0, next; i < hazards->count; i = next) {
    bool vanishes = true;
    for (next = i; next < hazards->count && hazards->items[next].successor == hazards->items[i].successor &&
                   hazards->items[next].predecessor == hazards->items[i].predecessor;
         next++)
      vanishes = vanishes && hazards->items[next].vanishes;
    count += vanishes;
  }
  return count;
}

static int plan_stream(const char *path, const plan_options *options, planned_stream *out_planned) {
  char message[MESSAGE_BYTES];
  weir_status status = weir__stream_read(path, message, sizeof message, &out_planned->stream);
  if (status != WEIR_OK) {
    weir__cli_error("plan", "%s", message);
    return weir__cli_exit_code(status);
  }
  const weir__stream *stream = out_planned->stream;
  if (options->why >= stream->task_count) {
    weir__cli_error("plan", "--why: %s has %u tasks, counted from 0; there is no task %lld", path, stream->task_count,
                    (long long)options->why);
    return WEIR__EXIT_USAGE;
  }
  status = weir__stream_plan_create(stream, (weir__plan_mode)options->hazards, (uint32_t)options->window,
                                    &out_planned->plan);
  if (status != WEIR_OK) {
    weir__cli_error("plan", "%s: %s", path, weir_last_error());
    return weir__cli_exit_code(status);
  }
  out_planned->renamed = count_renamed(&out_planned->plan);
  return WEIR__EXIT_OK;
}

// Not a number when no time passes.
static double parallelism_of(const weir__stream_plan *plan) {
  return plan->serial_us / plan->makespan_us;
}

static void add_columns(weir__table *table, uint64_t window) {
  weir__table_column(table, "stream", "", false);
  weir__table_column(table, "tasks", "", true);
  weir__table_column(table, "edges", "", true);
  weir__table_column(table, "reduced", "", true);
  weir__table_column(table, "renamed", "", true);
  weir__table_column(table, "levels", "", true);
  weir__table_column(table, "serial", "us", true);
  weir__table_column(table, "critical", "us", true);
  weir__table_column(table, "bound", "us", true);
  if (window) weir__table_column(table, "window", "us", true);
  weir__table_column(table, "parallelism", "x", true);
}

static void add_row(weir__table *table, const planned_stream *planned) {
  const weir__stream_plan *plan = &planned->plan;
  weir__table_cell(table, "%s", planned->stream->name);
  weir__table_cell(table, "%u", planned->stream->task_count);
  weir__table_cell(table, "%llu", (unsigned long long)weir__plan_graph_edge_count(&plan->graph));
  weir__table_cell(table, "%llu", (unsigned long long)weir__plan_graph_edge_count(&plan->reduced));
  weir__table_cell(table, "%llu", (unsigned long long)planned->renamed);
  weir__table_cell(table, "%u", plan->level_count);
  weir__table_cell(table, "%.1f", plan->serial_us);
  weir__table_cell(table, "%.1f", plan->critical_us);
  weir__table_cell(table, "%.1f", plan->bound_us);
  if (plan->window) weir__table_cell(table, "%.1f", plan->makespan_us);
  if (plan->makespan_us > 0)
    weir__table_cell(table, "%.2f", parallelism_of(plan));
  else
    weir__table_cell(table, "-");
}

static int print_tables(const planned_stream *planned, size_t count, const plan_options *options) {
  printf("Hazards: %s. ", weir__plan_mode_name((weir__plan_mode)options->hazards));
  if (options->window)
    printf("Window: %llu tasks.\n\n", (unsigned long long)options->window);
  else
    printf("Window: no limit.\n\n");
  weir__table *table = weir__table_create();
  bool printed = table != NULL;
  if (table) {
    add_columns(table, options->window);
    for (size_t i = 0; i < count; i++) add_row(table, &planned[i]);
    printed = weir__table_print(table, stdout);
    weir__table_destroy(table);
  }
  if (!printed) {
    weir__cli_error("plan", "no memory for the table");
    return WEIR__EXIT_FAILED;
  }
  int code = WEIR__EXIT_OK;
  for (size_t i = 0; i < count && options->why != NO_TASK && code == WEIR__EXIT_OK; i++)
    code = weir__plan_print_why(&planned[i].plan, (uint32_t)options->why);
  return code;
}

static json_t *critical_path_json(const weir__stream_plan *plan) {
  json_t *tasks = json_array();
  int failed = tasks == NULL;
  for (uint32_t i = 0; i < plan->critical_count; i++)
    failed |= json_array_append_new(tasks, json_integer(plan->critical_path[i]));
  if (!failed) return tasks;
  json_decref(tasks);
  return NULL;
}

static uint32_t count_host_waits(const weir__stream *stream) {
  uint32_t count = 0;
  for (uint32_t t = 0; t < stream->task_count; t++) count += stream->tasks[t].host_wait;
  return count;
}

static json_t *stream_json(const planned_stream *planned, const plan_options *options) {
  const weir__stream *stream = planned->stream;
  const weir__stream_plan *plan = &planned->plan;
  double parallelism = parallelism_of(plan);
  json_t *object =
      json_pack("{s:s, s:s, s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "stream",
                stream->name, "hazards", weir__plan_mode_name(plan->mode), "window",
                plan->window ? json_integer(plan->window) : json_null(), "tasks", (json_int_t)stream->task_count,
                "kernels", (json_int_t)stream->kernel_count, "host_waits", (json_int_t)count_host_waits(stream),
                "edges", (json_int_t)weir__plan_graph_edge_count(&plan->graph), "edges_reduced",
                (json_int_t)weir__plan_graph_edge_count(&plan->reduced), "edges_renamed", (json_int_t)planned->renamed,
                "levels", (json_int_t)plan->level_count, "serial_us", weir__json_us(plan->serial_us), "critical_us",
                weir__json_us(plan->critical_us), "work_us", weir__json_us(plan->work_us), "bound_us",
                weir__json_us(plan->bound_us), "makespan_us", weir__json_us(plan->makespan_us), "parallelism",
                weir__json_us(parallelism), "critical_path", critical_path_json(plan));
  if (!object || options->why == NO_TASK) return object;
  if (json_object_set_new(object, "why", weir__plan_why_json(plan, (uint32_t)options->why)) == 0) return object;
  json_decref(object);
  return NULL;
}

static int print_json(const planned_stream *planned, size_t count, const plan_options *options) {
  json_t *array = json_array();
  for (size_t i = 0; i < count && array; i++) {
    if (json_array_append_new(array, stream_json(&planned[i], options)) == 0) continue;
    json_decref(array);
    array = NULL;
  }
  return weir__cli_print_json("plan", array);
}

int weir__plan_main(int argc, char **argv) {
  plan_options options = {.hazards = WEIR__PLAN_BUFFER};
  char **paths;
  size_t count;
  int code;
  if (!parse_options(argc, argv, &options, &paths, &count, &code)) return code;
  planned_stream *planned = calloc(count, sizeof *planned);
  if (!planned) {
    weir__cli_error("plan", "no memory for %zu streams", count);
    return WEIR__EXIT_FAILED;
  }
  code = WEIR__EXIT_OK;
  for (size_t i = 0; i < count && code == WEIR__EXIT_OK; i++) code = plan_stream(paths[i], &options, &planned[i]);
  if (code == WEIR__EXIT_OK && options.dot) code = weir__plan_write_dot(&planned[0].plan, options.dot);
  if (code == WEIR__EXIT_OK)
    code = options.json ? print_json(planned, count, &options) : print_tables(planned, count, &options);
  for (size_t i = 0; i < count; i++) {
    weir__stream_plan_free(&planned[i].plan);
    weir__stream_destroy(planned[i].stream);
  }
  free(planned);
  return code;
}
