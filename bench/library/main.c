// SPDX-License-Identifier: Apache-2.0
//
// Calls of CUDA's libraries as tasks, beside the same calls by hand.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "branches.h"
#include "calls.h"
#include "cholesky.h"
#include "weir_calls.h"

static const char usage[] =
    "Measures calls of cuBLAS and cuSOLVER as tasks of Weir, beside the same calls by hand, on CUDA device 0.\n"
    "\n"
    "usage: weir-bench-library [--json] [--pure] [--size N] [--passes N] [calls|branches|cholesky ...]\n"
    "  calls            what a small call costs the host, one by one and in a graph\n"
    "  branches         blocks of Inception v3, four branches each\n"
    "  cholesky         a tiled factorisation in double precision, tiles of 256, 512 and 1024\n"
    "  --size N         rows of the matrix, a multiple of 1024 (default 16384)\n"
    "  --passes N       passes after the first, 1 to 1000: of cholesky a tenth of them (default 50)\n"
    "  --pure           functions say WEIR_ENQUEUE_PURE: auto captures those that come again with the same arguments\n"
    "  --json           JSON in place of a table\n"
    "\n"
    "Exit codes: 0 done, 1 a call failed or a result is wrong, 2 bad usage, 3 no card or library.\n";

static int read_number(const char *text, long least, long most) {
  char *end;
  long number = text == NULL ? 0 : strtol(text, &end, 10);
  if (text != NULL && *text != '\0' && *end == '\0' && number >= least && number <= most) return (int)number;
  fprintf(stderr, "weir-bench-library: a number from %ld to %ld is needed, not '%s'\n", least, most,
          text == NULL ? "" : text);
  exit(2);
}

int main(int argc, char **argv) {
  static const char *const names[] = {"calls", "branches", "cholesky"};
  bool chosen[3] = {false}, any = false;
  int size = 16384, passes = 50;
  table report = {.json = false};
  for (int i = 1; i < argc; i++) {
    int part = 0;
    while (part < 3 && strcmp(argv[i], names[part]) != 0) part++;
    if (part < 3) {
      chosen[part] = any = true;
    } else if (strcmp(argv[i], "--json") == 0) {
      report.json = true;
    } else if (strcmp(argv[i], "--pure") == 0) {
      weir_calls_flags = WEIR_ENQUEUE_PURE;
    } else if (strcmp(argv[i], "--size") == 0) {
      size = read_number(argv[++i], 1024, 32768) / 1024 * 1024;
    } else if (strcmp(argv[i], "--passes") == 0) {
      passes = read_number(argv[++i], 1, 1000);
    } else {
      fputs(usage, strcmp(argv[i], "--help") == 0 ? stdout : stderr);
      return strcmp(argv[i], "--help") == 0 ? 0 : 2;
    }
  }
  char card[128];
  libraries_open(card);
  report_begin(&report, card);
  if (!any || chosen[0]) calls_measure(passes, &report);
  if (!any || chosen[1]) branches_measure(passes, &report);
  for (int tile = 256; (!any || chosen[2]) && tile <= 1024; tile *= 2)
    cholesky_measure(size, tile, passes < 10 ? 1 : passes / 10, &report);
  report_end(&report);
  return 0;
}
