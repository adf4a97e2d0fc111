// SPDX-License-Identifier: Apache-2.0
//
// weir-bench-split [policies | overhead] [--json]: the efficiency of each policy in virtual time; what splitting costs in real time.
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "overhead.h"
#include "simulator.h"

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

static void print_policies(bool json) {
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
  for (uint32_t c = 0; c < case_count; c++) {
    double efficiency[POLICIES];
    for (int i = 0; i < POLICIES; i++) {
      efficiency[i] = mean_efficiency(&cases[c], weir_split_find_policy(policies[i]), LAUNCHES, WARM);
      sums[i] += efficiency[i] / case_count;
    }
    print_row(json, false, cases[c].name, efficiency);
  }
  print_row(json, true, "mean", sums);
  if (json) printf("]\n");
}

static int print_overhead(bool json) {
  overhead o;
  if (!measure_overhead(&o)) return 1;
  double more = (o.split_us / o.plain_us - 1) * 100;
  if (json) {
    printf("{\"plain_host_us\": %.2f, \"split_host_us\": %.2f, \"plain_empty_us\": %.2f, \"split_empty_us\": %.2f, "
           "\"plain_us\": %.1f, \"split_us\": %.1f}\n",
           o.plain_host_us, o.split_host_us, o.plain_empty_us, o.split_empty_us, o.plain_us, o.split_us);
    return 0;
  }
  printf("| microseconds, median | two plain launches | one split launch | more |\n|---|---|---|---|\n");
  printf("| host, to submit | %.2f | %.2f | %.2f |\n", o.plain_host_us, o.split_host_us,
         o.split_host_us - o.plain_host_us);
  printf("| empty work, to the end | %.2f | %.2f | %.2f |\n", o.plain_empty_us, o.split_empty_us,
         o.split_empty_us - o.plain_empty_us);
  printf("| work of 1 ms, to the end | %.1f | %.1f | %.1f %% |\n", o.plain_us, o.split_us, more);
  return 0;
}

static int usage(void) {
  fprintf(stderr, "usage: weir-bench-split [policies | overhead] [--json]\n");
  return 2;
}

int main(int argc, char **argv) {
  bool json = false, overheads = false, policy_table = false;
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--json") == 0)
      json = true;
    else if (strcmp(argv[i], "policies") == 0)
      policy_table = true;
    else if (strcmp(argv[i], "overhead") == 0)
      overheads = true;
    else
      return usage();
  }
  if (overheads && policy_table) return usage();
  if (overheads) return print_overhead(json);
  print_policies(json);
  return 0;
}
