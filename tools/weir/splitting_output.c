// SPDX-License-Identifier: Apache-2.0
//
// What `weir split` shows: tables, JSON, plots.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "plot/shares_plot.h"
#include "splitting.h"

// One number of a round: of the whole, or of a device.
typedef enum number { MS, EFFICIENCY, SHARE, BUSY_MS, USE } number;

static double value_of(const weir__splitting_result *result, const weir__splitting_round *round, number which,
                       uint32_t device) {
  const weir_split_device_round *had = &round->round.devices[device];
  switch (which) {
  case MS:
    return round->ms;
  case EFFICIENCY:
    return weir__splitting_together_ms(result) / round->ms;
  case SHARE:
    return had->share;
  case BUSY_MS:
    return (double)had->busy_ns * 1e-6;
  case USE:
    return weir__splitting_use(result, round, device);
  }
  return 0;
}

// Median and extremes of the second half of the rounds.
typedef struct spread {
  double median, least, most;
} spread;

static int compare(const void *a, const void *b) {
  double left = *(const double *)a, right = *(const double *)b;
  return (left > right) - (left < right);
}

static uint32_t first_counted(const weir__splitting *options) {
  return options->rounds / 2;
}

static spread spread_of(const weir__splitting *options, const weir__splitting_result *result, uint32_t policy,
                        number which, uint32_t device) {
  double values[WEIR__SPLITTING_MOST_ROUNDS];
  uint32_t first = first_counted(options), count = options->rounds - first;
  for (uint32_t i = 0; i < count; i++)
    values[i] = value_of(result, weir__splitting_at(options, result, policy, first + i), which, device);
  qsort(values, count, sizeof *values, compare);
  return (spread){(values[(count - 1) / 2] + values[count / 2]) / 2, values[0], values[count - 1]};
}

// ---------------------------------------------------------------------------------------------------------------
// Tables

static void add_columns(weir__table *table, const weir__splitting_result *result) {
  weir__table_column(table, "round", "", false);
  weir__table_column(table, "time", "ms", true);
  weir__table_column(table, "efficiency", "", true);
  for (uint32_t i = 0; i < result->device_count; i++) {
    char name[32];
    snprintf(name, sizeof name, "share %u", i + 1);
    weir__table_column(table, name, "%", true);
    snprintf(name, sizeof name, "time %u", i + 1);
    weir__table_column(table, name, "ms", true);
    snprintf(name, sizeof name, "use %u", i + 1);
    weir__table_column(table, name, "", true);
  }
  weir__table_column(table, "why", "", false);
}

static void add_cells(weir__table *table, const char *name, const double *values, uint32_t devices, const char *why) {
  weir__table_cell(table, "%s", name);
  weir__table_cell(table, "%.3f", values[0]);
  weir__table_cell(table, "%.3f", values[1]);
  for (uint32_t i = 0; i < devices; i++) {
    weir__table_cell(table, "%.1f", 100 * values[2 + 3 * i]);
    weir__table_cell(table, "%.3f", values[3 + 3 * i]);
    weir__table_cell(table, "%.3f", values[4 + 3 * i]);
  }
  weir__table_cell(table, "%s", why);
}

static const char *policy_of(const weir__splitting_round *round) {
  return round->round.why[0] != '\0' ? round->round.why : round->round.policy;
}

enum { MOST_NUMBERS = 2 + 3 * WEIR_SPLIT_MOST_DEVICES };

// The numbers of a row in their order: which, and of which device.
static number number_at(uint32_t index, uint32_t *out_device) {
  static const number of_device[] = {SHARE, BUSY_MS, USE};
  *out_device = index < 2 ? 0 : (index - 2) / 3;
  return index == 0 ? MS : index == 1 ? EFFICIENCY : of_device[(index - 2) % 3];
}

static bool print_policy(const weir__splitting *options, const weir__splitting_result *result, uint32_t policy) {
  weir__table *table = weir__table_create();
  if (!table) return false;
  uint32_t numbers = 2 + 3 * result->device_count;
  double values[MOST_NUMBERS], ends[3][MOST_NUMBERS];
  add_columns(table, result);
  for (uint32_t i = 0; i < options->rounds; i++) {
    const weir__splitting_round *round = weir__splitting_at(options, result, policy, i);
    char name[16];
    snprintf(name, sizeof name, "%u", i + 1);
    for (uint32_t j = 0, device; j < numbers; j++) {
      number which = number_at(j, &device);
      values[j] = value_of(result, round, which, device);
    }
    add_cells(table, name, values, result->device_count, policy_of(round));
  }
  for (uint32_t j = 0, device; j < numbers; j++) {
    number which = number_at(j, &device);
    spread s = spread_of(options, result, policy, which, device);
    ends[0][j] = s.median;
    ends[1][j] = s.least;
    ends[2][j] = s.most;
  }
  static const char *const names[] = {"median", "least", "most"};
  char rounds[48];
  snprintf(rounds, sizeof rounds, "of rounds %u to %u", first_counted(options) + 1, options->rounds);
  for (int i = 0; i < 3; i++) add_cells(table, names[i], ends[i], result->device_count, rounds);
  printf("\npolicy %s\n", options->policies[policy]);
  bool printed = weir__table_print(table, stdout);
  weir__table_destroy(table);
  return printed;
}

// One line for each policy, where there are several.
static bool print_comparison(const weir__splitting *options, const weir__splitting_result *result) {
  weir__table *table = weir__table_create();
  if (!table) return false;
  weir__table_column(table, "policy", "", false);
  weir__table_column(table, "time", "ms", true);
  weir__table_column(table, "efficiency", "", true);
  weir__table_column(table, "least", "", true);
  weir__table_column(table, "most", "", true);
  weir__table_column(table, "why", "", false);
  for (uint32_t i = 0; i < options->policy_count; i++) {
    spread efficiency = spread_of(options, result, i, EFFICIENCY, 0);
    weir__table_cell(table, "%s", options->policies[i]);
    weir__table_cell(table, "%.3f", spread_of(options, result, i, MS, 0).median);
    weir__table_cell(table, "%.3f", efficiency.median);
    weir__table_cell(table, "%.3f", efficiency.least);
    weir__table_cell(table, "%.3f", efficiency.most);
    weir__table_cell(table, "%s", policy_of(weir__splitting_at(options, result, i, options->rounds - 1)));
  }
  printf("\nmedians of rounds %u to %u\n", first_counted(options) + 1, options->rounds);
  bool printed = weir__table_print(table, stdout);
  weir__table_destroy(table);
  return printed;
}

static const char *kernel_name(const weir__splitting *options) {
  return options->kernel == WEIR__SPLITTING_MEMORY ? "memory" : "compute";
}

int weir__splitting_print(const weir__splitting *options, const weir__splitting_result *result) {
  printf("%s, %u work-groups, work %u, %s time\n", kernel_name(options), options->groups, options->work,
         result->simulated ? "virtual" : "real");
  for (uint32_t i = 0; i < result->device_count; i++)
    printf("%u. %s: %.3f ms alone (median %.3f)\n", i + 1, result->names[i], result->best_ms[i], result->median_ms[i]);
  printf("all together at these rates: %.3f ms\n", weir__splitting_together_ms(result));
  bool printed = true;
  for (uint32_t i = 0; i < options->policy_count && printed; i++) printed = print_policy(options, result, i);
  if (printed && options->policy_count > 1) printed = print_comparison(options, result);
  if (printed && fflush(stdout) == 0) return WEIR__EXIT_OK;
  weir__cli_error("split", "the result cannot be written to standard output");
  return WEIR__EXIT_FAILED;
}

// ---------------------------------------------------------------------------------------------------------------
// JSON

static json_t *spread_json(spread s) {
  return json_pack("{s:f, s:f, s:f}", "median", s.median, "least", s.least, "most", s.most);
}

static json_t *round_json(const weir__splitting_result *result, const weir__splitting_round *round) {
  json_t *devices = json_array();
  for (uint32_t i = 0; i < result->device_count; i++) {
    const weir_split_device_round *had = &round->round.devices[i];
    json_array_append_new(
        devices, json_pack("{s:f, s:f, s:f, s:I, s:I, s:b}", "share", value_of(result, round, SHARE, i), "ms",
                           value_of(result, round, BUSY_MS, i), "use", value_of(result, round, USE, i), "groups",
                           (json_int_t)had->groups, "parts", (json_int_t)had->parts, "failed", (int)had->failed));
  }
  return json_pack("{s:f, s:f, s:o, s:I, s:s, s:s}", "ms", round->ms, "efficiency",
                   value_of(result, round, EFFICIENCY, 0), "devices", devices, "redone",
                   (json_int_t)round->round.redone, "policy", round->round.policy, "why", policy_of(round));
}

static json_t *policy_json(const weir__splitting *options, const weir__splitting_result *result, uint32_t policy) {
  json_t *rounds = json_array(), *devices = json_array();
  for (uint32_t i = 0; i < options->rounds; i++)
    json_array_append_new(rounds, round_json(result, weir__splitting_at(options, result, policy, i)));
  for (uint32_t i = 0; i < result->device_count; i++) {
    json_array_append_new(devices, json_pack("{s:o, s:o, s:o}", "share",
                                             spread_json(spread_of(options, result, policy, SHARE, i)), "ms",
                                             spread_json(spread_of(options, result, policy, BUSY_MS, i)), "use",
                                             spread_json(spread_of(options, result, policy, USE, i))));
  }
  return json_pack("{s:s, s:o, s:i, s:o, s:o, s:o}", "policy", options->policies[policy], "rounds", rounds,
                   "counted_from", (int)first_counted(options), "ms",
                   spread_json(spread_of(options, result, policy, MS, 0)), "efficiency",
                   spread_json(spread_of(options, result, policy, EFFICIENCY, 0)), "devices", devices);
}

int weir__splitting_print_json(const weir__splitting *options, const weir__splitting_result *result) {
  json_t *devices = json_array(), *policies = json_array();
  for (uint32_t i = 0; i < result->device_count; i++)
    json_array_append_new(devices, json_pack("{s:o, s:f, s:f}", "name", weir__json_text(result->names[i]), "alone_ms",
                                             result->best_ms[i], "alone_median_ms", result->median_ms[i]));
  for (uint32_t i = 0; i < options->policy_count; i++) json_array_append_new(policies, policy_json(options, result, i));
  return weir__cli_print_json("split", json_pack("{s:s, s:i, s:i, s:b, s:o, s:f, s:o}", "kernel", kernel_name(options),
                                                 "groups", (int)options->groups, "work", (int)options->work, "virtual",
                                                 (int)result->simulated, "devices", devices, "together_ms",
                                                 weir__splitting_together_ms(result), "policies", policies));
}

// ---------------------------------------------------------------------------------------------------------------
// Plots

static int plot_policy(const weir__splitting *options, const weir__splitting_result *result, uint32_t policy,
                       const char *path, shares_plot_round *rounds) {
  char title[160];
  snprintf(title, sizeof title, "%s, policy %s: median efficiency %.3f, %s time", kernel_name(options),
           options->policies[policy], spread_of(options, result, policy, EFFICIENCY, 0).median,
           result->simulated ? "virtual" : "real");
  shares_plot plot = {.title = title,
                      .of = "work-groups",
                      .round = "round",
                      .device_count = result->device_count,
                      .rounds = rounds,
                      .round_count = options->rounds};
  for (uint32_t i = 0; i < result->device_count; i++) plot.names[i] = result->names[i];
  for (uint32_t i = 0; i < options->rounds; i++) {
    const weir__splitting_round *round = weir__splitting_at(options, result, policy, i);
    rounds[i].ms = round->ms;
    for (uint32_t j = 0; j < result->device_count; j++) {
      rounds[i].shares[j] = value_of(result, round, SHARE, j);
      rounds[i].device_ms[j] = value_of(result, round, BUSY_MS, j);
    }
  }
  if (shares_plot_write(path, &plot)) return WEIR__EXIT_OK;
  weir__cli_error("split", "--plot: %s: %s", path, strerror(errno));
  return WEIR__EXIT_USAGE;
}

// The file of a policy's plot; NULL: no memory.
static char *plot_name(const weir__splitting *options, uint32_t policy, const char *path) {
  size_t stem = strlen(path) - strlen(".svg"), size = strlen(path) + sizeof "-history";
  bool several = options->policy_count > 1;
  char *name = malloc(size);
  if (name)
    snprintf(name, size, "%.*s%s%s.svg", (int)stem, path, several ? "-" : "", several ? options->policies[policy] : "");
  return name;
}

bool weir__splitting_can_plot(const weir__splitting *options, const char *path) {
  bool can = true;
  for (uint32_t i = 0; i < options->policy_count && can; i++) {
    char *name = plot_name(options, i, path);
    can = !name || weir__cli_can_write("split", "plot", name); // without memory the plot says so
    free(name);
  }
  return can;
}

int weir__splitting_plot(const weir__splitting *options, const weir__splitting_result *result, const char *path) {
  shares_plot_round *rounds = calloc(options->rounds, sizeof *rounds);
  int exit_code = WEIR__EXIT_OK;
  for (uint32_t i = 0; i < options->policy_count && exit_code == WEIR__EXIT_OK; i++) {
    char *name = plot_name(options, i, path);
    if (rounds && name) {
      exit_code = plot_policy(options, result, i, name, rounds);
    } else {
      weir__cli_error("split", "no memory for the plot");
      exit_code = WEIR__EXIT_FAILED;
    }
    free(name);
  }
  free(rounds);
  return exit_code;
}
