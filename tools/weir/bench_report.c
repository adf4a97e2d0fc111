// SPDX-License-Identifier: Apache-2.0
//
// Results of `weir bench`: medians and spread, as a table or as JSON.
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench_report.h"
#include "cli.h"

typedef struct result {
  char *bench, *case_name, *runtime, *unit;
  double median, min, max;
  size_t runs;
} result;

struct weir__bench_report {
  result *results;
  char **notes;
  size_t result_count, note_count;
  bool failed; // memory ran out
};

weir__bench_report *weir__bench_report_create(void) {
  return calloc(1, sizeof(weir__bench_report));
}

void weir__bench_report_destroy(weir__bench_report *report) {
  if (!report) return;
  for (size_t i = 0; i < report->result_count; i++) {
    free(report->results[i].bench);
    free(report->results[i].case_name);
    free(report->results[i].runtime);
    free(report->results[i].unit);
  }
  for (size_t i = 0; i < report->note_count; i++) free(report->notes[i]);
  free(report->results);
  free(report->notes);
  free(report);
}

static int compare_samples(const void *left, const void *right) {
  double a = *(const double *)left, b = *(const double *)right;
  return (a > b) - (a < b);
}

void weir__bench_add(weir__bench_report *report, const char *bench, const char *case_name, const char *runtime,
                     const char *unit, const double *samples, size_t count) {
  double *sorted = malloc(count * sizeof(*sorted));
  result *results = realloc(report->results, (report->result_count + 1) * sizeof(*results));
  if (results) report->results = results;
  if (!sorted || !results) {
    report->failed = true;
    free(sorted);
    return;
  }
  memcpy(sorted, samples, count * sizeof(*sorted));
  qsort(sorted, count, sizeof(*sorted), compare_samples);
  result *added = &results[report->result_count++];
  *added = (result){.bench = strdup(bench),
                    .case_name = strdup(case_name),
                    .runtime = strdup(runtime),
                    .unit = strdup(unit),
                    .median = (sorted[(count - 1) / 2] + sorted[count / 2]) / 2,
                    .min = sorted[0],
                    .max = sorted[count - 1],
                    .runs = count};
  if (!added->bench || !added->case_name || !added->runtime || !added->unit) report->failed = true;
  free(sorted);
}

void weir__bench_note(weir__bench_report *report, const char *format, ...) {
  char text[512];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof(text), format, arguments);
  va_end(arguments);
  for (size_t i = 0; i < report->note_count; i++) {
    if (strcmp(report->notes[i], text) == 0) return;
  }
  char **notes = realloc(report->notes, (report->note_count + 1) * sizeof(*notes));
  char *copy = strdup(text);
  if (notes) report->notes = notes;
  if (!notes || !copy) {
    report->failed = true;
    free(copy);
    return;
  }
  report->notes[report->note_count++] = copy;
}

void weir__bench_progress(const char *format, ...) {
  if (!isatty(STDERR_FILENO)) return;
  va_list arguments;
  va_start(arguments, format);
  fprintf(stderr, "\r\033[K");
  vfprintf(stderr, format, arguments);
  fflush(stderr);
  va_end(arguments);
}

// The row of Weir itself that others of the same benchmark, case and unit are compared with.
static const result *find_weir(const weir__bench_report *report, const result *other) {
  for (size_t i = 0; i < report->result_count; i++) {
    const result *candidate = &report->results[i];
    if (strcmp(candidate->runtime, "weir") == 0 && strcmp(candidate->bench, other->bench) == 0 &&
        strcmp(candidate->case_name, other->case_name) == 0 && strcmp(candidate->unit, other->unit) == 0) {
      return candidate;
    }
  }
  return NULL;
}

static int print_json(const weir__bench_report *report) {
  for (size_t i = 0; i < report->note_count; i++) fprintf(stderr, "weir bench: %s\n", report->notes[i]);
  json_t *array = json_array();
  for (size_t i = 0; i < report->result_count; i++) {
    const result *row = &report->results[i];
    json_array_append_new(array, json_pack("{s:s, s:s, s:o, s:s, s:f, s:f, s:f, s:I}", "bench", row->bench, "case",
                                           row->case_name, "runtime", weir__json_text(row->runtime), "unit", row->unit,
                                           "median", row->median, "min", row->min, "max", row->max, "runs",
                                           (json_int_t)row->runs));
  }
  return weir__cli_print_json("bench", array);
}

static const char *number_format(double value) {
  return value < 10 ? "%.2f" : value < 1000 ? "%.1f" : "%.0f";
}

static void number_cell(weir__table *table, double value) {
  char text[32];
  // NOLINTNEXTLINE(clang-diagnostic-format-nonliteral)
  snprintf(text, sizeof(text), number_format(value), value);
  weir__table_cell(table, "%s", text);
}

static int print_table(const weir__bench_report *report) {
  weir__table *table = weir__table_create();
  if (!table) return WEIR__EXIT_FAILED;
  static const char *const names[] = {"bench", "case", "runtime", "unit", "median", "min", "max", "runs", "weir/this"};
  for (int i = 0; i < 9; i++) weir__table_column(table, names[i], "", i > 3);
  for (size_t i = 0; i < report->result_count; i++) {
    const result *row = &report->results[i], *weir = find_weir(report, row);
    weir__table_cell(table, "%s", row->bench);
    weir__table_cell(table, "%s", row->case_name);
    weir__table_cell(table, "%s", row->runtime);
    weir__table_cell(table, "%s", row->unit);
    number_cell(table, row->median);
    number_cell(table, row->min);
    number_cell(table, row->max);
    weir__table_cell(table, "%zu", row->runs);
    if (weir && weir != row && row->median > 0) {
      weir__table_cell(table, "%.2f", weir->median / row->median);
    } else {
      weir__table_cell(table, "%s", "");
    }
  }
  bool printed = report->result_count == 0 || weir__table_print(table, stdout);
  weir__table_destroy(table);
  if (report->result_count && report->note_count) putchar('\n');
  for (size_t i = 0; i < report->note_count; i++) printf("%s\n", report->notes[i]);
  return printed ? WEIR__EXIT_OK : WEIR__EXIT_FAILED;
}

int weir__bench_report_print(const weir__bench_report *report, bool as_json) {
  weir__bench_progress("%s", "");
  if (report->failed) {
    weir__cli_error("bench", "no memory for the results");
    return WEIR__EXIT_FAILED;
  }
  return as_json ? print_json(report) : print_table(report);
}
