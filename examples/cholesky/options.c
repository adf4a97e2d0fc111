// SPDX-License-Identifier: Apache-2.0
#include "options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] = "Factors a random symmetric positive definite matrix by tiles, out of order, and checks "
                            "the result against LAPACK.\n"
                            "\n"
                            "usage: cholesky [--size N] [--tile N] [--workers N] [--timeline FILE]\n"
                            "  --size N         rows of the matrix, 1 to 30000 (default 2048)\n"
                            "  --tile N         rows of a tile, 1 to 30000 (default 192)\n"
                            "  --workers N      threads, 1 to 1024 (default: one per core)\n"
                            "  --timeline FILE  write what ran when: a page (.html), or JSON for Perfetto (.json)\n"
                            "  --help           this text\n"
                            "\n"
                            "Exit codes: 0 the factor is right, 1 it is wrong or the run failed, 2 bad usage.\n";

static bool read_number(const char *name, const char *text, long greatest, int *out_number) {
  char *end;
  errno = 0;
  long number = strtol(text, &end, 10);
  if (errno != 0 || end == text || *end != '\0' || number < 1 || number > greatest) {
    fprintf(stderr, "cholesky: %s must be a number from 1 to %ld, not '%s'\n", name, greatest, text);
    return false;
  }
  *out_number = (int)number;
  return true;
}

bool options_read(int argc, char **argv, cholesky_options *out_options, int *out_exit_code) {
  *out_options = (cholesky_options){.size = 2048, .tile = 192};
  *out_exit_code = 2;
  for (int i = 1; i < argc; i++) {
    const char *name = argv[i];
    if (strcmp(name, "--help") == 0) {
      fputs(usage, stdout);
      *out_exit_code = 0;
      return false;
    }
    const char *value = i + 1 < argc ? argv[++i] : NULL;
    bool is_size = strcmp(name, "--size") == 0, is_tile = strcmp(name, "--tile") == 0;
    bool is_workers = strcmp(name, "--workers") == 0, is_timeline = strcmp(name, "--timeline") == 0;
    if (!is_size && !is_tile && !is_workers && !is_timeline) {
      fprintf(stderr, "cholesky: unknown argument '%s'; see cholesky --help\n", name);
      return false;
    }
    if (!value) {
      fprintf(stderr, "cholesky: %s needs a value; see cholesky --help\n", name);
      return false;
    }
    if (is_size && !read_number(name, value, 30000, &out_options->size)) return false;
    if (is_tile && !read_number(name, value, 30000, &out_options->tile)) return false;
    if (is_workers && !read_number(name, value, 1024, &out_options->workers)) return false;
    if (is_timeline) out_options->timeline = value;
  }
  return true;
}
