// SPDX-License-Identifier: Apache-2.0
#include "options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "Factors a random symmetric positive definite matrix by tiles, out of order, and checks the result against "
    "LAPACK.\n"
    "\n"
    "usage: cholesky [--size N] [--tile N] [--device LIST] [--kernels NAME] [--workers N] [--passes N]\n"
    "                [--place NAME] [--memory MIB] [--check NAME] [--json] [--timeline FILE]\n"
    "  --size N         rows of the matrix, 1 to 100000 (default 2048)\n"
    "  --tile N         rows of a tile, 1 to 30000 (default 192)\n"
    "  --device LIST    devices, such as cpu, cuda:1, cuda:0,cuda:1 (default cpu)\n"
    "  --kernels NAME   openblas: on the CPU only; cublas: cuBLAS and cuSOLVER, on CUDA only; own: written once, for\n"
    "                   every device, of which those for CUDA are tuned (default openblas on the CPU, own elsewhere)\n"
    "  --workers N      threads of the CPU, 1 to 1024 (default: one per core)\n"
    "  --passes N       how often it is factored, 1 to 1000; the shortest time counts (default 1)\n"
    "  --place NAME     with several devices, auto: Weir decides where a task runs; owner: tiles are dealt out, and a "
    "task\n"
    "                   runs where the tile is that it updates (default auto)\n"
    "  --memory MIB     of each card that tiles may take, 1 to 1000000 (default: all)\n"
    "  --check NAME     lapack: LAPACK factors the whole matrix, too, in one thread; residual: the factor and the "
    "matrix\n"
    "                   must give the same product with a vector (default lapack)\n"
    "  --json           print one line of JSON, with the time of each pass\n"
    "  --timeline FILE  write what ran when, as FILE.json: `weir timeline` makes a page of it, Perfetto opens it\n"
    "  --help           this text\n"
    "\n"
    "Exit codes: 0 the factor is right, 1 it is wrong or the run failed, 2 bad usage, 3 a device is missing.\n";

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

// Reads one of two names.
static bool read_choice(const char *name, const char *text, const char *first, const char *second, bool *out_second) {
  *out_second = text && strcmp(text, second) == 0;
  if (*out_second || (text && strcmp(text, first) == 0)) return true;
  fprintf(stderr, "cholesky: %s must be %s or %s, not '%s'\n", name, first, second, text ? text : "");
  return false;
}

// Reads an option that has a value.
static bool read_option(const char *name, const char *value, cholesky_options *options, const char **kernels) {
  const struct {
    const char *name;
    long greatest; // 0: not a number
    int *number;
    const char **text;
  } known[] = {
      {"--size", 100000, &options->size, NULL},     {"--tile", 30000, &options->tile, NULL},
      {"--workers", 1024, &options->workers, NULL}, {"--passes", CHOLESKY_MOST_PASSES, &options->passes, NULL},
      {"--device", 0, NULL, &options->devices},     {"--kernels", 0, NULL, kernels},
      {"--timeline", 0, NULL, &options->timeline},  {"--memory", 1000000, &options->memory, NULL},
  };
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    if (strcmp(name, known[i].name) != 0) continue;
    if (!value) {
      fprintf(stderr, "cholesky: %s needs a value; see cholesky --help\n", name);
      return false;
    }
    if (known[i].number) return read_number(name, value, known[i].greatest, known[i].number);
    *known[i].text = value;
    return true;
  }
  if (strcmp(name, "--place") == 0) {
    bool owned = false;
    if (!read_choice(name, value, "auto", "owner", &owned)) return false;
    options->placement = owned ? CHOLESKY_OWNED : CHOLESKY_PLACED;
    return true;
  }
  if (strcmp(name, "--check") == 0) return read_choice(name, value, "lapack", "residual", &options->residual);
  fprintf(stderr, "cholesky: unknown argument '%s'; see cholesky --help\n", name);
  return false;
}

// What goes with what.
static bool options_agree(cholesky_options *options, const char *kernels) {
  static const struct {
    const char *name, *devices; // all of whose names begin so
  } known[] = {
      [CHOLESKY_OPENBLAS] = {"openblas", "cpu"}, [CHOLESKY_OWN] = {"own", ""}, [CHOLESKY_CUBLAS] = {"cublas", "cuda"}};
  enum { COUNT = sizeof known / sizeof *known };
  bool cpu = strncmp(options->devices, "cpu", 3) == 0;
  int chosen = cpu ? CHOLESKY_OPENBLAS : CHOLESKY_OWN;
  if (kernels) {
    for (chosen = 0; chosen < COUNT && strcmp(known[chosen].name, kernels) != 0;) chosen++;
    if (chosen == COUNT) {
      fprintf(stderr, "cholesky: --kernels must be openblas, own or cublas, not '%s'\n", kernels);
      return false;
    }
  }
  if (strncmp(options->devices, known[chosen].devices, strlen(known[chosen].devices)) != 0) {
    fprintf(stderr, "cholesky: --kernels %s is for %s, not for '%s'\n", kernels, known[chosen].devices,
            options->devices);
    return false;
  }
  if (options->workers > 0 && strcmp(options->devices, "cpu") != 0) {
    fprintf(stderr, "cholesky: --workers goes with --device cpu, not with '%s'\n", options->devices);
    return false;
  }
  options->kernels = (cholesky_kernels)chosen;
  return true;
}

bool options_read(int argc, char **argv, cholesky_options *out_options, int *out_exit_code) {
  const char *kernels = NULL;
  *out_options = (cholesky_options){.size = 2048, .tile = 192, .devices = "cpu", .passes = 1};
  *out_exit_code = 2;
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--help") == 0) {
      fputs(usage, stdout);
      *out_exit_code = 0;
      return false;
    }
    if (strcmp(argv[i], "--json") == 0) {
      out_options->json = true;
      continue;
    }
    const char *name = argv[i], *value = i + 1 < argc ? argv[++i] : NULL;
    if (!read_option(name, value, out_options, &kernels)) return false;
  }
  return options_agree(out_options, kernels);
}
