// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "replay.h"

static double speedup(const weir__replayed *result) {
  return result->run.makespan_us > 0 ? result->serial_us / result->run.makespan_us : 0;
}

static uint64_t task_count(const weir__replayed *result, const weir__replay_options *options) {
  return result->stream->task_count * options->repeat;
}

static double submit_ns_per_task(const weir__replayed *result, const weir__replay_options *options) {
  uint64_t tasks = task_count(result, options);
  return tasks ? result->run.submit_ns / (double)tasks : 0;
}

// Of one pass.
static double per_task(const weir__replayed *result, double pass_ns) {
  return result->stream->task_count ? pass_ns / result->stream->task_count : 0;
}

static const char *word(const char *words, int index, char out_word[32]) {
  for (; index > 0; index--) words = strchr(words, '|') + 1;
  snprintf(out_word, 32, "%.*s", (int)strcspn(words, "|"), words);
  return out_word;
}

static json_t *stream_json(const weir__replayed *result, const weir__replay_options *options) {
  const weir__replay_run *run = &result->run;
  char issue[32], met[32];
  json_t *object = json_pack(
      "{s:s, s:o, s:s, s:s, s:s, s:I, s:I, s:b, s:I, s:I, s:I}", "stream", result->stream->name, "device",
      weir__json_text(run->device), "hazards", weir__plan_mode_name((weir__plan_mode)options->hazards), "issue",
      word(WEIR__REPLAY_ISSUES, options->issue, issue), "met", word(WEIR__REPLAY_MET, options->met, met), "window",
      (json_int_t)run->window, "repeat", (json_int_t)options->repeat, "apart", (int)options->apart, "tasks",
      (json_int_t)task_count(result, options), "kernels", (json_int_t)(result->stream->kernel_count * options->repeat),
      "edges", (json_int_t)run->edges);
  if (!object) return NULL;
  json_object_set_new(object, "serial_us", weir__json_us(result->serial_us));
  json_object_set_new(object, "makespan_us", weir__json_us(run->makespan_us));
  json_object_set_new(object, "speedup", weir__json_us(speedup(result)));
  json_object_set_new(object, "first_us", weir__json_us(run->first_us));
  json_object_set_new(object, "pass_us", weir__json_us(run->pass_us));
  json_object_set_new(object, "pass_least_us", weir__json_us(run->least_us));
  json_object_set_new(object, "pass_most_us", weir__json_us(run->most_us));
  json_object_set_new(object, "critical_us", weir__json_us(result->critical_us));
  json_object_set_new(object, "bound_us", weir__json_us(result->bound_us));
  json_object_set_new(object, "submit_ns_per_task", weir__json_us(submit_ns_per_task(result, options)));
  json_object_set_new(object, "first_submit_ns_per_task", weir__json_us(per_task(result, run->first_submit_ns)));
  json_object_set_new(object, "later_submit_ns_per_task", weir__json_us(per_task(result, run->later_submit_ns)));
  json_object_set_new(object, "window_waits", json_integer((json_int_t)run->window_waits));
  json_object_set_new(object, "renamed", json_integer((json_int_t)run->renamed));
  json_object_set_new(object, "repeated", json_integer((json_int_t)run->repeated));
  json_object_set_new(object, "peak_bytes", json_integer((json_int_t)run->peak_bytes));
  json_object_set_new(object, "build_us", weir__json_us(run->build_us));
  if (options->ranks > 0) {
    json_object_set_new(object, "ranks", json_integer((json_int_t)options->ranks));
    json_object_set_new(object, "messages", json_integer((json_int_t)run->messages));
    json_object_set_new(object, "bytes_sent", json_integer((json_int_t)run->bytes_sent));
    json_object_set_new(object, "bytes_fewest", json_integer((json_int_t)run->bytes_fewest));
  }
  json_object_set_new(object, "checked", result->checked < 0 ? json_null() : json_boolean(result->checked));
  return object;
}

int weir__replay_print_each(const weir__replayed *results, size_t count, const weir__replay_options *options,
                            json_t *(*each)(const weir__replayed *result, const weir__replay_options *options)) {
  json_t *array = json_array();
  for (size_t i = 0; array && i < count; i++) {
    if (json_array_append_new(array, each(&results[i], options)) != 0) {
      json_decref(array);
      array = NULL;
    }
  }
  return weir__cli_print_json("replay", array);
}

int weir__replay_print_json(const weir__replayed *results, size_t count, const weir__replay_options *options) {
  return weir__replay_print_each(results, count, options, stream_json);
}

static void add_columns(weir__table *table, const weir__replay_options *options) {
  weir__table_column(table, "stream", "", false);
  weir__table_column(table, "tasks", "", true);
  weir__table_column(table, "kernels", "", true);
  weir__table_column(table, "edges", "", true);
  weir__table_column(table, "serial", "us", true);
  weir__table_column(table, "makespan", "us", true);
  weir__table_column(table, "speedup", "", true);
  if (options->apart) {
    weir__table_column(table, "first", "us", true);
    weir__table_column(table, "pass", "us", true);
    weir__table_column(table, "least", "us", true);
    weir__table_column(table, "most", "us", true);
  }
  weir__table_column(table, "critical", "us", true);
  weir__table_column(table, "bound", "us", true);
  weir__table_column(table, "submit", "ns/task", true);
  weir__table_column(table, "renamed", "", true);
  weir__table_column(table, "peak", "MiB", true);
  if (options->ranks > 0) {
    weir__table_column(table, "messages", "", true);
    weir__table_column(table, "sent", "bytes", true);
    weir__table_column(table, "fewest", "bytes", true);
  } else {
    weir__table_column(table, "build", "us", true);
  }
  weir__table_column(table, "checked", "", false);
}

static void add_time(weir__table *table, double us) {
  if (isnan(us)) {
    weir__table_cell(table, "-");
  } else {
    weir__table_cell(table, "%.0f", us);
  }
}

static void add_row(weir__table *table, const weir__replayed *result, const weir__replay_options *options) {
  weir__table_cell(table, "%s", result->stream->name);
  weir__table_cell(table, "%" PRIu64, task_count(result, options));
  weir__table_cell(table, "%" PRIu64, result->stream->kernel_count * options->repeat);
  weir__table_cell(table, "%" PRIu64, result->run.edges);
  weir__table_cell(table, "%.0f", result->serial_us);
  weir__table_cell(table, "%.0f", result->run.makespan_us);
  weir__table_cell(table, "%.2f", speedup(result));
  if (options->apart) {
    add_time(table, result->run.first_us);
    add_time(table, result->run.pass_us);
    add_time(table, result->run.least_us);
    add_time(table, result->run.most_us);
  }
  weir__table_cell(table, "%.0f", result->critical_us);
  weir__table_cell(table, "%.0f", result->bound_us);
  add_time(table, submit_ns_per_task(result, options));
  weir__table_cell(table, "%" PRIu64, result->run.renamed);
  weir__table_cell(table, "%.1f", (double)result->run.peak_bytes / (1 << 20));
  if (options->ranks > 0) {
    weir__table_cell(table, "%" PRIu64, result->run.messages);
    weir__table_cell(table, "%" PRIu64, result->run.bytes_sent);
    weir__table_cell(table, "%" PRIu64, result->run.bytes_fewest);
  } else {
    weir__table_cell(table, "%.0f", result->run.build_us);
  }
  weir__table_cell(table, "%s", result->checked < 0 ? "-" : result->checked ? "yes" : "NO");
}

static double geometric_mean(const weir__replayed *results, size_t count, double (*value)(const weir__replayed *)) {
  double sum = 0;
  for (size_t i = 0; i < count; i++) sum += log(value(&results[i]));
  return exp(sum / (double)count);
}

static double serial_us(const weir__replayed *result) {
  return result->serial_us;
}
static double makespan_us(const weir__replayed *result) {
  return result->run.makespan_us;
}
static double first_us(const weir__replayed *result) {
  return result->run.first_us;
}
static double pass_us(const weir__replayed *result) {
  return result->run.pass_us;
}
static double critical_us(const weir__replayed *result) {
  return result->critical_us;
}
static double bound_us(const weir__replayed *result) {
  return result->bound_us;
}

static void add_means(weir__table *table, const weir__replayed *results, size_t count,
                      const weir__replay_options *options) {
  weir__table_cell(table, "geometric mean");
  for (int i = 0; i < 3; i++) weir__table_cell(table, " ");
  weir__table_cell(table, "%.0f", geometric_mean(results, count, serial_us));
  weir__table_cell(table, "%.0f", geometric_mean(results, count, makespan_us));
  weir__table_cell(table, "%.2f", geometric_mean(results, count, speedup));
  if (options->apart) {
    add_time(table, geometric_mean(results, count, first_us));
    add_time(table, geometric_mean(results, count, pass_us));
    for (int i = 0; i < 2; i++) weir__table_cell(table, " ");
  }
  weir__table_cell(table, "%.0f", geometric_mean(results, count, critical_us));
  weir__table_cell(table, "%.0f", geometric_mean(results, count, bound_us));
  for (int i = 0; i < (options->ranks > 0 ? 6 : 4); i++) weir__table_cell(table, " ");
  weir__table_cell(table, "%s", "");
}

int weir__replay_print_table(const weir__replayed *results, size_t count, const weir__replay_options *options) {
  weir__table *table = weir__table_create();
  if (table) {
    add_columns(table, options);
    for (size_t i = 0; i < count; i++) add_row(table, &results[i], options);
    if (count > 1) add_means(table, results, count, options);
  }
  char issue[32];
  if (options->ranks > 0) printf("%" PRIu64 " rank%s of ", options->ranks, options->ranks == 1 ? "" : "s");
  printf("device %s, hazards %s, issue %s, window %u, %" PRIu64 " pass%s%s\n\n", results[0].run.device,
         weir__plan_mode_name((weir__plan_mode)options->hazards), word(WEIR__REPLAY_ISSUES, options->issue, issue),
         results[0].run.window, options->repeat, options->repeat == 1 ? "" : "es",
         options->apart ? ", one at a time" : "");
  bool printed = table && weir__table_print(table, stdout);
  weir__table_destroy(table);
  if (printed) return WEIR__EXIT_OK;
  weir__cli_error("replay", "no memory for the table");
  return WEIR__EXIT_FAILED;
}
