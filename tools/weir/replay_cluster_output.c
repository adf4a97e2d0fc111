// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>

#include "replay.h"

static const char *const limits[] = {"workers", "submission", "cores", "links", "chain"};

static weir__cluster_settings settings_of(const weir__replay_options *options) {
  char message[512];
  weir__cluster_settings settings = weir__cluster_usual;
  weir__cluster_settings_read(options->cluster, &settings, message, sizeof message); // which was right before
  return settings;
}

static uint64_t nodes_of(const weir__replay_options *options, const weir__cluster_settings *settings) {
  uint64_t each = (uint64_t)settings->ranks_per_node;
  return (options->ranks + each - 1) / each;
}

static uint64_t window_of(const weir__replay_options *options) {
  return options->window > 0 ? options->window : 1024;
}

// The part of the time for which workers run tasks.
static double efficiency(const weir__cluster_result *result, const weir__replay_options *options) {
  double most = result->makespan_us * (double)options->ranks * settings_of(options).workers;
  return most > 0 ? result->work_us / most : 0;
}

static json_t *bounds_json(const weir__cluster_result *result) {
  json_t *object = json_object();
  for (int i = 0; object != NULL && i < WEIR__CLUSTER_LIMITS; i++)
    json_object_set_new(object, limits[i], weir__json_us(result->bounds_us[i]));
  return object;
}

static json_t *settings_json(const weir__cluster_settings *settings) {
  json_t *object = json_object();
  const char *name;
  for (size_t i = 0; object != NULL && (name = weir__cluster_settings_name(i)) != NULL; i++)
    json_object_set_new(object, name, json_real(weir__cluster_settings_value(settings, i)));
  return object;
}

static json_t *cluster_json(const weir__replayed *replayed, const weir__replay_options *options) {
  const weir__cluster_result *result = &replayed->cluster;
  weir__cluster_settings settings = settings_of(options);
  json_t *object =
      json_pack("{s:s, s:I, s:I, s:I, s:I, s:I}", "stream", replayed->stream->name, "ranks", (json_int_t)options->ranks,
                "nodes", (json_int_t)nodes_of(options, &settings), "window", (json_int_t)window_of(options), "repeat",
                (json_int_t)options->repeat, "tasks", (json_int_t)(replayed->stream->task_count * options->repeat));
  if (object == NULL) return NULL;
  json_object_set_new(object, "makespan_us", weir__json_us(result->makespan_us));
  json_object_set_new(object, "work_us", weir__json_us(result->work_us));
  json_object_set_new(object, "efficiency", json_real(efficiency(result, options)));
  json_object_set_new(object, "limit", json_string(limits[result->limit]));
  json_object_set_new(object, "bounds_us", bounds_json(result));
  json_object_set_new(object, "messages", json_integer((json_int_t)result->messages));
  json_object_set_new(object, "local_messages", json_integer((json_int_t)result->local_messages));
  json_object_set_new(object, "bytes_sent", json_integer((json_int_t)result->bytes));
  json_object_set_new(object, "edges", json_integer((json_int_t)result->edges));
  json_object_set_new(object, "window_waits", json_integer((json_int_t)result->window_waits));
  json_object_set_new(object, "cluster", settings_json(&settings));
  return object;
}

int weir__replay_print_cluster_json(const weir__replayed *results, size_t count, const weir__replay_options *options) {
  return weir__replay_print_each(results, count, options, cluster_json);
}

static void add_columns(weir__table *table) {
  weir__table_column(table, "stream", "", false);
  weir__table_column(table, "tasks", "", true);
  weir__table_column(table, "messages", "", true);
  weir__table_column(table, "sent", "bytes", true);
  weir__table_column(table, "work", "us", true);
  weir__table_column(table, "makespan", "us", true);
  weir__table_column(table, "efficiency", "", true);
  for (int i = 0; i < WEIR__CLUSTER_LIMITS; i++) weir__table_column(table, limits[i], "us", true);
  weir__table_column(table, "limit", "", false);
}

static void add_row(weir__table *table, const weir__replayed *replayed, const weir__replay_options *options) {
  const weir__cluster_result *result = &replayed->cluster;
  weir__table_cell(table, "%s", replayed->stream->name);
  weir__table_cell(table, "%" PRIu64, replayed->stream->task_count * options->repeat);
  weir__table_cell(table, "%" PRIu64, result->messages);
  weir__table_cell(table, "%" PRIu64, result->bytes);
  weir__table_cell(table, "%.0f", result->work_us);
  weir__table_cell(table, "%.0f", result->makespan_us);
  weir__table_cell(table, "%.3f", efficiency(result, options));
  for (int i = 0; i < WEIR__CLUSTER_LIMITS; i++) weir__table_cell(table, "%.0f", result->bounds_us[i]);
  weir__table_cell(table, "%s", limits[result->limit]);
}

int weir__replay_print_cluster_table(const weir__replayed *results, size_t count, const weir__replay_options *options) {
  weir__cluster_settings settings = settings_of(options);
  weir__table *table = weir__table_create();
  if (table) {
    add_columns(table);
    for (size_t i = 0; i < count; i++) add_row(table, &results[i], options);
  }
  printf("%" PRIu64 " ranks on %" PRIu64 " simulated nodes, window %" PRIu64 ", %" PRIu64 " pass%s\n\n", options->ranks,
         nodes_of(options, &settings), window_of(options), options->repeat, options->repeat == 1 ? "" : "es");
  bool printed = table && weir__table_print(table, stdout);
  weir__table_destroy(table);
  if (printed) return WEIR__EXIT_OK;
  weir__cli_error("replay", "no memory for the table");
  return WEIR__EXIT_FAILED;
}
