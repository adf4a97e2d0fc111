// SPDX-License-Identifier: Apache-2.0
#include "report.h"

#include <stdio.h>

void report_begin(table *report, const char *card) {
  if (report->json)
    printf("{\"card\": \"%s\", \"rows\": [", card);
  else
    printf("%s\n\n%-28s %-32s %12s %12s %12s %12s\n", card, "case", "way", "first", "median", "least", "most");
}

void report_end(const table *report) {
  if (report->json) printf("\n]}\n");
}

void report_add(table *report, const char *subject, const char *way, const char *unit, double *times, int count) {
  double first = times[0], *later = count > 1 ? times + 1 : times;
  int later_count = count > 1 ? count - 1 : 1;
  double median = gpu_statistics(later, (uint32_t)later_count).median, least = later[0], most = later[later_count - 1];
  if (report->json)
    printf("%s\n {\"case\": \"%s\", \"way\": \"%s\", \"unit\": \"%s\", \"first\": %.3f, \"median\": %.3f, \"least\": "
           "%.3f, "
           "\"most\": %.3f}",
           report->rows == 0 ? "" : ",", subject, way, unit, first, median, least, most);
  else
    printf("%-28s %-32s %12.2f %12.2f %12.2f %12.2f %s\n", subject, way, first, median, least, most, unit);
  fflush(stdout);
  report->rows++;
}
