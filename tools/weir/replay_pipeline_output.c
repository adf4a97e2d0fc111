// SPDX-License-Identifier: Apache-2.0
//
// What a replay through a pipeline prints.
#include <inttypes.h>
#include <math.h>

#include "replay.h"

static const char *issue_name(const weir__replay_options *options) {
  return options->issue == WEIR__REPLAY_QUEUES ? "queues" : options->issue == WEIR__REPLAY_GRAPH ? "graph" : "auto";
}

static double ratio(double before_us, double us) {
  return us > 0 ? before_us / us : NAN;
}

static double per_second(const weir__replay_pipelined *result) {
  return result->job.median_us > 0 ? 1e6 / result->job.median_us : NAN;
}

static double submit_ns_per_task(const weir__replayed *result) {
  return result->stream->task_count ? result->pipelined.submit_ns / result->stream->task_count : 0;
}

static void add_spread(json_t *object, const char *name, const weir__replay_spread *spread) {
  char key[64];
  snprintf(key, sizeof key, "%s_us", name);
  json_object_set_new(object, key, weir__json_us(spread->median_us));
  snprintf(key, sizeof key, "%s_least_us", name);
  json_object_set_new(object, key, weir__json_us(spread->least_us));
  snprintf(key, sizeof key, "%s_most_us", name);
  json_object_set_new(object, key, weir__json_us(spread->most_us));
}

static json_t *stream_json(const weir__replayed *result, const weir__replay_options *options) {
  const weir__replay_pipelined *run = &result->pipelined;
  json_t *object =
      json_pack("{s:s, s:o, s:I, s:s, s:I, s:I, s:I, s:I, s:I, s:I}", "stream", result->stream->name, "device",
                weir__json_text(run->device), "pipeline", (json_int_t)options->lines, "issue", issue_name(options),
                "window", (json_int_t)run->window, "jobs", (json_int_t)options->repeat, "rounds",
                (json_int_t)options->rounds, "tasks", (json_int_t)result->stream->task_count, "kernels",
                (json_int_t)result->stream->kernel_count, "host_waits", (json_int_t)run->host_waits);
  if (!object) return NULL;
  json_object_set_new(object, "jobs_per_second", weir__json_us(per_second(run)));
  add_spread(object, "job", &run->job);
  json_object_set_new(object, "latency_median_us", weir__json_us(run->latency_median_us));
  json_object_set_new(object, "latency_90_us", weir__json_us(run->latency_90_us));
  json_object_set_new(object, "latency_99_us", weir__json_us(run->latency_99_us));
  json_object_set_new(object, "latency_most_us", weir__json_us(run->latency_most_us));
  add_spread(object, "alone", &run->alone);
  json_object_set_new(object, "faster_than_alone", weir__json_us(ratio(run->alone.median_us, run->job.median_us)));
  add_spread(object, "back_to_back", &run->back_to_back);
  json_object_set_new(object, "faster_than_back_to_back",
                      weir__json_us(ratio(run->back_to_back.median_us, run->job.median_us)));
  json_object_set_new(object, "critical_us", weir__json_us(run->critical_us));
  json_object_set_new(object, "work_us", weir__json_us(run->work_us));
  json_object_set_new(object, "submit_ns_per_task", weir__json_us(submit_ns_per_task(result)));
  json_object_set_new(object, "graph_jobs", json_integer((json_int_t)run->graph_jobs));
  json_object_set_new(object, "task_jobs", json_integer((json_int_t)run->task_jobs));
  json_object_set_new(object, "peak_bytes", json_integer((json_int_t)run->peak_bytes));
  json_object_set_new(object, "checked", result->checked < 0 ? json_null() : json_boolean(result->checked));
  return object;
}

int weir__replay_print_pipeline_json(const weir__replayed *results, size_t count, const weir__replay_options *options) {
  return weir__replay_print_each(results, count, options, stream_json);
}

static void add_number(weir__table *table, int digits, double number) {
  if (isnan(number)) {
    weir__table_cell(table, "-");
  } else {
    weir__table_cell(table, "%.*f", digits, number);
  }
}

static void add_columns(weir__table *table) {
  static const struct {
    const char *name, *unit;
  } numbers[] = {{"tasks", ""},     {"job", "us"},      {"least", "us"}, {"most", "us"},        {"jobs", "1/s"},
                 {"latency", "us"}, {"99 %", "us"},     {"alone", "us"}, {"faster", ""},        {"back", "us"},
                 {"faster", ""},    {"critical", "us"}, {"work", "us"},  {"submit", "ns/task"}, {"peak", "MiB"}};
  weir__table_column(table, "stream", "", false);
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
    weir__table_column(table, numbers[i].name, numbers[i].unit, true);
  weir__table_column(table, "checked", "", false);
}

static void add_row(weir__table *table, const weir__replayed *result) {
  const weir__replay_pipelined *run = &result->pipelined;
  weir__table_cell(table, "%s", result->stream->name);
  weir__table_cell(table, "%" PRIu32, result->stream->task_count);
  add_number(table, 1, run->job.median_us);
  add_number(table, 1, run->job.least_us);
  add_number(table, 1, run->job.most_us);
  add_number(table, 0, per_second(run));
  add_number(table, 1, run->latency_median_us);
  add_number(table, 1, run->latency_99_us);
  add_number(table, 1, run->alone.median_us);
  add_number(table, 2, ratio(run->alone.median_us, run->job.median_us));
  add_number(table, 1, run->back_to_back.median_us);
  add_number(table, 2, ratio(run->back_to_back.median_us, run->job.median_us));
  add_number(table, 1, run->critical_us);
  add_number(table, 1, run->work_us);
  add_number(table, 0, submit_ns_per_task(result));
  add_number(table, 1, (double)run->peak_bytes / (1 << 20));
  weir__table_cell(table, "%s", result->checked < 0 ? "-" : result->checked ? "yes" : "NO");
}

int weir__replay_print_pipeline_table(const weir__replayed *results, size_t count,
                                      const weir__replay_options *options) {
  weir__table *table = weir__table_create();
  if (table) {
    add_columns(table);
    for (size_t i = 0; i < count; i++) add_row(table, &results[i]);
  }
  printf("device %s, pipeline of %" PRIu64 " line%s, issue %s, window %u, %" PRIu64 " job%s, median of %" PRIu64
         " round%s\n\n",
         results[0].pipelined.device, options->lines, options->lines == 1 ? "" : "s", issue_name(options),
         results[0].pipelined.window, options->repeat, options->repeat == 1 ? "" : "s", options->rounds,
         options->rounds == 1 ? "" : "s");
  bool printed = table && weir__table_print(table, stdout);
  weir__table_destroy(table);
  if (printed) return WEIR__EXIT_OK;
  weir__cli_error("replay", "no memory for the table");
  return WEIR__EXIT_FAILED;
}
