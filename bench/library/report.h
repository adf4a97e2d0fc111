// SPDX-License-Identifier: Apache-2.0
//
// Rows of the table: a case, a way, a time before anything repeats, and what the repeats took.
#ifndef WEIR_BENCH_LIBRARY_REPORT_H
#define WEIR_BENCH_LIBRARY_REPORT_H

#include <stdbool.h>

#include "../gpu/timing.h"

typedef struct table {
  bool json;
  int rows;
} table;

enum { REPORT_MOST = 4096 };

// Prints the head, and the end.
void report_begin(table *report, const char *card);
void report_end(const table *report);

// Prints a row: `count` times, of which the first is apart, in `unit`. Sorts them.
void report_add(table *report, const char *subject, const char *way, const char *unit, double *times, int count);

#endif // WEIR_BENCH_LIBRARY_REPORT_H
