// SPDX-License-Identifier: Apache-2.0
//
// weir-bench-split [policies | overhead [--resident] [--core 0|1] | stages] [--json]: the efficiency of each policy in virtual time;
// what splitting costs, and frames through two kernels as a chain and split, in real time.
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "overhead.h"
#include "stages.h"
#include "virtual.h"

enum { LAUNCHES = 60, WARM = 10 };

static const char *const policies[] = {"static", "history", "queue", "guided", "frames", "auto"};
enum { POLICIES = sizeof policies / sizeof policies[0] };

static void print_row(bool json, bool last, const char *name, const double efficiency[POLICIES]) {
  if (json) {
    printf("  {\"case\": \"%s\"", name);
    for (int i = 0; i < POLICIES; i++) printf(", \"%s\": %.4f", policies[i], efficiency[i]);
    printf("}%s\n", last ? "" : ",");
    return;
  }
  printf("| %s |", name);
  for (int i = 0; i < POLICIES; i++) printf(" %.3f |", efficiency[i]);
  printf("\n");
}

static int print_policies(bool json) {
  double sums[POLICIES] = {0};
  if (json) {
    printf("[\n");
  } else {
    printf("| devices, slowest to fastest |");
    for (int i = 0; i < POLICIES; i++) printf(" %s |", policies[i]);
    printf("\n|---|");
    for (int i = 0; i < POLICIES; i++) printf("---|");
    printf("\n");
  }
  for (uint32_t c = 0; c < virtual_case_count; c++) {
    double efficiency[POLICIES];
    for (int i = 0; i < POLICIES; i++) {
      efficiency[i] = virtual_efficiency(&virtual_cases[c], policies[i], LAUNCHES, WARM);
      if (efficiency[i] < 0) {
        fprintf(stderr, "weir-bench-split: %s, %s: %s\n", virtual_cases[c].name, policies[i], weir_last_error());
        return 1;
      }
      sums[i] += efficiency[i] / virtual_case_count;
    }
    print_row(json, false, virtual_cases[c].name, efficiency);
  }
  print_row(json, true, "mean", sums);
  if (json) printf("]\n");
  return 0;
}

static void print_pair(bool json, bool last, const char *name, overhead_pair pair) {
  if (json)
    printf("  {\"case\": \"%s\", \"plain_us\": %.2f, \"split_us\": %.2f, \"plain_low_us\": %.2f, "
           "\"split_low_us\": %.2f}%s\n",
           name, pair.plain, pair.split, pair.plain_low, pair.split_low, last ? "" : ",");
  else
    printf("| %s | %.2f | %.2f | %.2f | %.2f |\n", name, pair.plain, pair.split, pair.plain_low, pair.split_low);
}

static int print_overhead(bool json, bool resident, int core) {
  overhead o;
  if (!measure_overhead(resident, core, &o)) return 1;
  if (json)
    printf("[\n");
  else
    printf("| microseconds | two plain launches | one split launch | a tenth of the plain below | of the split |\n"
           "|---|---|---|---|---|\n");
  print_pair(json, false, "host, to submit, empty work", o.host);
  print_pair(json, false, "to the end, empty work", o.empty);
  print_pair(json, true, "to the end, two halves of 1 ms", o.work);
  if (json) printf("]\n");
  return 0;
}

static void print_stages_row(bool json, const stages_table *table, int row) {
  if (json)
    printf("  {\"case\": \"%s\"", table->cases[row]);
  else
    printf("| %s |", table->cases[row]);
  for (int way = 0; way < STAGES_WAYS; way++) {
    double ms = table->ms[row][way];
    if (json)
      printf(", \"%s\": %.3f", table->ways[way], ms);
    else
      printf(" %.2f (%.2f) |", ms, table->ms[row][0] / ms);
  }
  printf("%s\n", !json ? "" : row + 1 < STAGES_CASES ? "}," : "}");
}

static int print_stages(bool json) {
  stages_table table;
  if (!measure_stages(&table)) return 1;
  if (json) {
    printf("[\n");
  } else {
    printf("| milliseconds for a frame (speed beside the first) |");
    for (int way = 0; way < STAGES_WAYS; way++) printf(" %s |", table.ways[way]);
    printf("\n|---|");
    for (int way = 0; way < STAGES_WAYS; way++) printf("---|");
    printf("\n");
  }
  for (int row = 0; row < STAGES_CASES; row++) print_stages_row(json, &table, row);
  if (json) printf("]\n");
  return 0;
}

static int usage(void) {
  fprintf(stderr, "usage: weir-bench-split [policies | overhead [--resident] [--core 0|1] | stages] [--json]\n");
  return 2;
}

int main(int argc, char **argv) {
  bool json = false, resident = false;
  int core = -1;
  const char *what = NULL;
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--json") == 0)
      json = true;
    else if (strcmp(argv[i], "--resident") == 0)
      resident = true;
    else if (strcmp(argv[i], "--core") == 0 && i + 1 < argc &&
             (strcmp(argv[i + 1], "0") == 0 || strcmp(argv[i + 1], "1") == 0))
      core = argv[++i][0] - '0';
    else if (what == NULL)
      what = argv[i];
    else
      return usage();
  }
  if (what != NULL && strcmp(what, "overhead") == 0) return print_overhead(json, resident, core);
  if (resident || core >= 0) return usage();
  if (what != NULL && strcmp(what, "stages") == 0) return print_stages(json);
  if (what != NULL && strcmp(what, "policies") != 0) return usage();
  return print_policies(json);
}
