// SPDX-License-Identifier: Apache-2.0
//
// `weir plan`: what a recorded stream allows, before anything runs.
#include <stdlib.h>

#include "cli.h"
#include "plan_barriers.h"
#include "plan_output.h"

enum { MESSAGE_BYTES = 512, NO_TASK = 0, MOST_QUEUES = 64 };

typedef struct plan_options {
  int hazards; // weir__plan_mode
  uint64_t window;
  uint64_t why; // the number of a task; NO_TASK: not asked
  const char *dot;
  bool json;
  bool barriers, reorder;
  uint64_t queues;
  double barrier_us, semaphore_us; // negative: not given
} plan_options;

typedef struct planned_stream {
  weir__stream *stream;
  weir__stream_plan plan;
  weir__stream_barriers barriers; // empty unless asked for
  uint64_t renamed;               // pairs of tasks that only hazards which vanish by renaming put in order
} planned_stream;

// Options that only mean something with others, or without them.
static bool check_together(const plan_options *options, size_t stream_count) {
  const char *wrong = NULL;
  if (options->dot && stream_count > 1) {
    weir__cli_error("plan", "--dot writes the graph of one stream, not of %zu", stream_count);
    return false;
  }
  if (!options->barriers && options->reorder) wrong = "--reorder";
  if (!options->barriers && options->queues) wrong = "--queues";
  if (!options->barriers && options->barrier_us >= 0) wrong = "--barrier-us";
  if (!options->barriers && options->semaphore_us >= 0) wrong = "--semaphore-us";
  if (wrong) {
    weir__cli_error("plan", "%s says how to place barriers, and goes with --barriers", wrong);
    return false;
  }
  if (options->barriers && options->dot) wrong = "--dot";
  if (options->barriers && options->window) wrong = "--window";
  if (options->barriers && options->why != NO_TASK) wrong = "--why";
  if (wrong) weir__cli_error("plan", "%s shows another plan than --barriers; give one of them", wrong);
  return wrong == NULL;
}

static bool parse_options(int argc, char **argv, plan_options *options, char ***out_paths, size_t *out_count,
                          int *out_exit) {
  const weir__cli_option list[] = {
      {"hazards", WEIR__CLI_CHOICE, &options->hazards, WEIR__PLAN_MODES,
       "which tasks wait for which: each for the one before, by conflicts\n"
       "at the recorded addresses, or of logical buffers with renaming\n(default: buffer)",
       0, 0},
      {"window", WEIR__CLI_COUNT, &options->window, "N", "tasks in flight at most (default: no limit)", 1, 1 << 24},
      {"why", WEIR__CLI_COUNT, &options->why, "TASK",
       "say for what this task waits, and why; tasks have their numbers in the\nprogram that saved the stream, or "
       "count from 1",
       1, 9e15},
      {"dot", WEIR__CLI_TEXT, &options->dot, "FILE", "write the reduced graph of one stream for Graphviz", 0, 0},
      {"barriers", WEIR__CLI_FLAG, &options->barriers, NULL,
       "plan the barriers of a Vulkan or D3D12 queue: the fewest that keep\n"
       "the order; prints one stream as a list to follow, several as a table",
       0, 0},
      {"reorder", WEIR__CLI_FLAG, &options->reorder, NULL,
       "with --barriers: dispatches may change places; those that run side\nby side are chosen by their times", 0, 0},
      {"queues", WEIR__CLI_COUNT, &options->queues, "N",
       "with --barriers: over so many queues, with semaphores (default: 1)", 1, MOST_QUEUES},
      {"barrier-us", WEIR__CLI_REAL, &options->barrier_us, "US",
       "with --barriers: what a barrier adds (default: 0); with --reorder\n"
       "there are then more barriers where that is quicker",
       0, 1e6},
      {"semaphore-us", WEIR__CLI_REAL, &options->semaphore_us, "US",
       "with --barriers: from a signal to who waits for it\n(default: what a barrier adds)", 0, 1e6},
      {"json", WEIR__CLI_FLAG, &options->json, NULL, "print an array with an object per stream", 0, 0},
  };
  const weir__cli_command command = {
      "plan",
      "STREAM...",
      "Shows which tasks of recorded streams have to wait for which, and how much parallelism\nthat leaves on hardware "
      "without limits; or, with --barriers, where barriers have to stand.",
      "Columns: edges before and after transitive reduction, those of them that renaming\nwould remove (or removed, "
      "with "
      "--hazards buffer), levels, time one after another, the\ncritical path, the bound (the larger of the critical "
      "path "
      "by buffer and the time in which\nthe recorded device can do the work), and the time one after another over that "
      "with the\nwindow on unlimited hardware.\n\n"
      "With --barriers: dispatches (one for each kernel and copy), barriers with one after every\ndispatch, barriers "
      "of "
      "this plan, the fewest that any plan for this order has, signals and\nwaits between queues, and estimated times. "
      "Every plan is checked before it is printed.\ndocs/guide/barriers.md says more.\n\n"
      "Exit codes: 0 done, 1 no memory, 2 bad input or usage.",
      list,
      sizeof list / sizeof *list,
      1,
      SIZE_MAX};
  if (!weir__cli_parse(&command, argc, argv, out_paths, out_count, out_exit)) return false;
  *out_exit = WEIR__EXIT_USAGE;
  return check_together(options, *out_count);
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

static weir_status plan_barriers(const plan_options *options, planned_stream *planned) {
  weir__barrier_request request = {.reorder = options->reorder,
                                   .queues = options->queues ? (uint32_t)options->queues : 1,
                                   .any_count = options->barrier_us >= 0,
                                   .barrier_us = options->barrier_us >= 0 ? options->barrier_us : 0,
                                   .semaphore_us = options->semaphore_us};
  if (request.semaphore_us < 0) request.semaphore_us = request.barrier_us;
  return weir__stream_barriers_create(&planned->plan, &request, &planned->barriers);
}

static int plan_stream(const char *path, const plan_options *options, planned_stream *out_planned) {
  char message[MESSAGE_BYTES];
  weir_status status = weir__stream_read(path, message, sizeof message, &out_planned->stream);
  if (status != WEIR_OK) {
    weir__cli_error("plan", "%s", message);
    return weir__cli_exit_code(status);
  }
  const weir__stream *stream = out_planned->stream;
  if (options->why != NO_TASK && weir__stream_find(stream, options->why) == stream->task_count) {
    weir__cli_error("plan", "--why: %s has %u tasks, and there is no task %llu", path, stream->task_count,
                    (unsigned long long)options->why);
    return WEIR__EXIT_USAGE;
  }
  status = weir__stream_plan_create(stream, (weir__plan_mode)options->hazards, (uint32_t)options->window,
                                    &out_planned->plan);
  if (status != WEIR_OK) {
    weir__cli_error("plan", "%s: %s", path, weir_last_error());
    return weir__cli_exit_code(status);
  }
  out_planned->renamed = count_renamed(&out_planned->plan);
  if (!options->barriers) return WEIR__EXIT_OK;
  status = plan_barriers(options, out_planned);
  if (status != WEIR_OK) weir__cli_error("plan", "%s: %s", path, weir_last_error());
  return weir__cli_exit_code(status);
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
    code = weir__plan_print_why(&planned[i].plan, weir__stream_find(planned[i].stream, options->why));
  return code;
}

static json_t *critical_path_json(const weir__stream_plan *plan) {
  json_t *tasks = json_array();
  int failed = tasks == NULL;
  for (uint32_t i = 0; i < plan->critical_count; i++)
    failed |=
        json_array_append_new(tasks, json_integer((json_int_t)plan->stream->tasks[plan->critical_path[i]].number));
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
  bool added = object != NULL;
  if (added && options->why != NO_TASK)
    added = json_object_set_new(object, "why", weir__plan_why_json(plan, weir__stream_find(stream, options->why))) == 0;
  if (added && options->barriers) added = weir__plan_add_barriers_json(object, plan, &planned->barriers);
  if (added) return object;
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

static int print_barriers_table(const planned_stream *planned, size_t count, const plan_options *options) {
  printf("Hazards: %s. Barriers: %s, %llu queue%s.\n\n", weir__plan_mode_name((weir__plan_mode)options->hazards),
         options->reorder ? "reordered" : "program order", (unsigned long long)planned[0].barriers.request.queues,
         planned[0].barriers.request.queues == 1 ? "" : "s");
  weir__table *table = weir__table_create();
  bool printed = table != NULL;
  if (table) {
    weir__plan_barriers_columns(table);
    for (size_t i = 0; i < count; i++) weir__plan_barriers_row(table, &planned[i].plan, &planned[i].barriers);
    printed = weir__table_print(table, stdout);
    weir__table_destroy(table);
  }
  if (printed) return WEIR__EXIT_OK;
  weir__cli_error("plan", "no memory for the table");
  return WEIR__EXIT_FAILED;
}

static int print_text(const planned_stream *planned, size_t count, const plan_options *options) {
  if (!options->barriers) return print_tables(planned, count, options);
  if (count > 1) return print_barriers_table(planned, count, options);
  weir__plan_print_steps(&planned->plan, &planned->barriers);
  return WEIR__EXIT_OK;
}

int weir__plan_main(int argc, char **argv) {
  plan_options options = {.hazards = WEIR__PLAN_BUFFER, .barrier_us = -1, .semaphore_us = -1};
  char **paths;
  size_t count;
  int code;
  if (!parse_options(argc, argv, &options, &paths, &count, &code)) return code;
  if (options.dot && weir__cli_is_same_file(options.dot, paths[0])) {
    weir__cli_error("plan", "--dot: %s: the graph would replace the stream", options.dot);
    return WEIR__EXIT_USAGE;
  }
  planned_stream *planned = calloc(count, sizeof *planned);
  if (!planned) {
    weir__cli_error("plan", "no memory for %zu streams", count);
    return WEIR__EXIT_FAILED;
  }
  code = WEIR__EXIT_OK;
  for (size_t i = 0; i < count && code == WEIR__EXIT_OK; i++) code = plan_stream(paths[i], &options, &planned[i]);
  if (code == WEIR__EXIT_OK && options.dot) code = weir__plan_write_dot(&planned[0].plan, options.dot);
  if (code == WEIR__EXIT_OK)
    code = options.json ? print_json(planned, count, &options) : print_text(planned, count, &options);
  for (size_t i = 0; i < count; i++) {
    weir__stream_barriers_free(&planned[i].barriers);
    weir__stream_plan_free(&planned[i].plan);
    weir__stream_destroy(planned[i].stream);
  }
  free(planned);
  return code;
}
