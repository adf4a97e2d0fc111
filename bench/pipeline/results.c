// SPDX-License-Identifier: Apache-2.0
#include "results.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "weir/weir.h"

typedef struct row {
  char part[16], case_name[64], way[64], unit[16];
  bench_spread spread;
  uint32_t count;
} row;

typedef struct missing {
  char way[64], why[256];
  bool printed;
} missing;

static row *rows;
static uint32_t row_count, row_room;
static missing gone[64];
static uint32_t gone_count;

static int compare(const void *left, const void *right) {
  double a = *(const double *)left, b = *(const double *)right;
  return (a > b) - (a < b);
}

double bench_percentile(double *values, uint64_t count, double fraction) {
  qsort(values, count, sizeof *values, compare);
  uint64_t index = (uint64_t)(fraction * (double)count);
  return values[index < count ? index : count - 1];
}

bench_spread bench_spread_of(const double *values, uint32_t count) {
  double sorted[BENCH_MOST_ROUNDS];
  memcpy(sorted, values, count * sizeof *values);
  double median = bench_percentile(sorted, count, 0.5);
  return (bench_spread){median, sorted[0], sorted[count - 1]};
}

void bench_add(const bench_settings *settings, const char *part, const char *case_name, const char *way,
               const char *unit, const double *values, uint32_t count) {
  for (uint32_t i = 0; settings->samples && i < count; i++) {
    printf("{\"case\": \"%s\", \"runtime\": \"%s\", \"unit\": \"%s\", \"value\": %.6g}\n", case_name, way, unit,
           values[i]);
  }
  if (row_count == row_room) {
    uint32_t room = row_room ? 2 * row_room : 64;
    row *more = realloc(rows, room * sizeof *rows);
    if (!more) {
      fprintf(stderr, "weir-bench-pipeline: no memory for the results\n");
      exit(BENCH_FAILED);
    }
    rows = more;
    row_room = room;
  }
  row *r = &rows[row_count++];
  *r = (row){.spread = bench_spread_of(values, count), .count = count};
  snprintf(r->part, sizeof r->part, "%s", part);
  snprintf(r->case_name, sizeof r->case_name, "%s", case_name);
  snprintf(r->way, sizeof r->way, "%s", way);
  snprintf(r->unit, sizeof r->unit, "%s", unit);
}

static void write_text(FILE *file, const char *text) {
  fputc('"', file);
  for (; *text; text++) {
    if (*text == '"' || *text == '\\') fputc('\\', file);
    fputc((unsigned char)*text < ' ' ? ' ' : *text, file);
  }
  fputc('"', file);
}

void bench_add_missing(const bench_settings *settings, const char *way, const char *why) {
  for (uint32_t i = 0; i < gone_count; i++) {
    if (strcmp(gone[i].way, way) == 0 && strcmp(gone[i].why, why) == 0) return;
  }
  if (gone_count == sizeof gone / sizeof *gone) return;
  missing *m = &gone[gone_count++];
  snprintf(m->way, sizeof m->way, "%s", way);
  snprintf(m->why, sizeof m->why, "%s", why);
  if (!settings->samples) return;
  m->printed = true;
  printf("{\"missing\": ");
  write_text(stdout, way);
  printf(", \"why\": ");
  write_text(stdout, why);
  printf("}\n");
}

void bench_print_missing(void) {
  for (uint32_t i = 0; i < gone_count; i++) {
    if (!gone[i].printed) printf("not run: %s: %s\n", gone[i].way, gone[i].why);
    gone[i].printed = true;
  }
}

int bench_write(const bench_settings *settings) {
  if (!settings->json) return BENCH_OK;
  FILE *file = fopen(settings->json, "w");
  if (!file) {
    fprintf(stderr, "weir-bench-pipeline: %s: %s\n", settings->json, strerror(errno));
    return BENCH_FAILED;
  }
  fprintf(file, "{\"version\": \"%s\", \"device\": ", weir_version());
  write_text(file, settings->device);
  fprintf(file, ", \"lines\": %u, \"workers\": %u,\n\"results\": [", settings->lines, settings->workers);
  for (uint32_t i = 0; i < row_count; i++) {
    const row *r = &rows[i];
    fprintf(file, "%s\n{\"part\": \"%s\", \"case\": \"%s\", \"way\": ", i ? "," : "", r->part, r->case_name);
    write_text(file, r->way);
    fprintf(file, ", \"unit\": \"%s\", \"median\": %.6g, \"min\": %.6g, \"max\": %.6g, \"runs\": %u}", r->unit,
            r->spread.median, r->spread.least, r->spread.most, r->count);
  }
  fprintf(file, "\n],\n\"missing\": [");
  for (uint32_t i = 0; i < gone_count; i++) {
    fprintf(file, "%s\n{\"way\": ", i ? "," : "");
    write_text(file, gone[i].way);
    fprintf(file, ", \"why\": ");
    write_text(file, gone[i].why);
    fprintf(file, "}");
  }
  fprintf(file, "\n]}\n");
  bool good = !ferror(file);
  if (fclose(file) == 0 && good) return BENCH_OK;
  fprintf(stderr, "weir-bench-pipeline: %s could not be written\n", settings->json);
  return BENCH_FAILED;
}

void bench_print(const bench_settings *settings, const char *format, ...) {
  if (settings->samples) return;
  va_list args;
  va_start(args, format);
  vprintf(format, args);
  va_end(args);
}
