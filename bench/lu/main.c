// SPDX-License-Identifier: Apache-2.0
//
// LU without pivoting of a column-major matrix: by boxes, and by what stands in for them.
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lu.h"

enum { MOST_ROUNDS = 99, MOST_TILES = 3 };

// The first three are as lu_shape.
enum { BOXES, RANGES, BUFFERS, OPENMP, SERIAL, SERIAL_TILES, WAYS };

static const char usage[] =
    "Usage: weir-bench-lu [--size N] [--pad N] [--workers N] [--rounds N] [--json]\n"
    "\n"
    "Right-looking LU without pivoting of a matrix of doubles, by tiles of 16, 32 and 64: the matrix column-major and\n"
    "tiles as boxes of one buffer; tiles that are contiguous, as ranges of one buffer and as buffers of their own; "
    "and\n"
    "the column-major matrix by tasks of OpenMP with depend. The kernels alone, one after another in one thread, tell\n"
    "what the two places of tiles cost by themselves. The ways take turns, and results are compared.\n"
    "  --size N     rows of the matrix, a multiple of 64; default 1024\n"
    "  --pad N      elements between columns of the column-major matrix; default 8\n"
    "  --workers N  threads that run tasks; default 2. With Weir another one submits, as OpenMP's first does\n"
    "  --rounds N   1 to 99; default 9. The table has medians, least and most\n"
    "  --json       an array with an object for each tile size and way\n";

static const char *const names[WAYS] = {"boxes", "ranges", "buffers", "openmp", "serial", "serial tiles"};

typedef struct settings {
  uint32_t size, pad, workers;
  int rounds;
  bool json;
} settings;

static _Noreturn void fail(const char *what) {
  fprintf(stderr, "weir-bench-lu: %s\n", what);
  exit(1);
}

// A matrix that needs no pivots.
static double element(uint64_t row, uint64_t column, uint64_t size) {
  uint64_t mixed = (row * 2654435761u + column * 40503u + 12345u) * 0x9e3779b97f4a7c15u;
  return (double)(mixed >> 40) / (1 << 24) + (row == column ? (double)size : 0);
}

static double *element_at(const lu_matrix *matrix, uint64_t row, uint64_t column) {
  uint32_t n = matrix->tile;
  lu_tile tile = lu_tile_at(matrix, (uint32_t)(row / n), (uint32_t)(column / n));
  return tile.first + (column % n) * tile.stride + row % n;
}

static void fill(const lu_matrix *matrix) {
  uint64_t size = lu_size(matrix);
  for (uint64_t column = 0; column < size; column++) {
    for (uint64_t row = 0; row < size; row++) *element_at(matrix, row, column) = element(row, column, size);
  }
}

static void compare(const lu_matrix *matrix, const lu_matrix *expected, const char *name) {
  uint64_t size = lu_size(matrix);
  for (uint64_t column = 0; column < size; column++) {
    for (uint64_t row = 0; row < size; row++) {
      double found = *element_at(matrix, row, column), right = *element_at(expected, row, column);
      if (fabs(found - right) <= 1e-9 * (fabs(right) + 1)) continue;
      fprintf(stderr, "weir-bench-lu: %s: element (%llu, %llu) is %g and should be %g\n", name, (unsigned long long)row,
              (unsigned long long)column, found, right);
      exit(1);
    }
  }
}

static lu_matrix make(uint32_t size, uint32_t tile, uint32_t pad, bool contiguous) {
  lu_matrix matrix = {.tile = tile, .tiles = size / tile, .pad = pad, .contiguous = contiguous};
  matrix.elements = aligned_alloc(64, (lu_elements(&matrix) * sizeof(double) + 63) / 64 * 64);
  if (matrix.elements == NULL) fail("no memory");
  return matrix;
}

static double run(int way, lu_matrix *matrix, uint32_t workers) {
  if (way >= SERIAL) return lu_serial(matrix);
  return way == OPENMP ? lu_by_openmp(matrix, workers) : lu_by_weir(matrix, (lu_shape)way, workers);
}

static int by_size(const void *left, const void *right) {
  double a = *(const double *)left, b = *(const double *)right;
  return (a > b) - (a < b);
}

static void print(const settings *set, uint32_t tile, double ms[WAYS][MOST_ROUNDS], bool first) {
  static const char *separator = "[";
  if (!set->json && first)
    printf("| tile | boxes, ms | ranges, ms | buffers, ms | OpenMP, ms | serial, ms | serial tiles, ms | boxes by "
           "ranges | by "
           "buffers | by OpenMP | serial by serial tiles |\n"
           "|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n");
  if (!set->json) printf("| %u ", tile);
  for (int way = 0; way < WAYS; way++) {
    qsort(ms[way], (size_t)set->rounds, sizeof ms[way][0], by_size);
    double least = ms[way][0], median = ms[way][set->rounds / 2], most = ms[way][set->rounds - 1];
    if (way == OPENMP && !lu_has_openmp()) {
      if (!set->json) printf("| - ");
    } else if (set->json) {
      printf(
          "%s{\"tile\": %u, \"way\": \"%s\", \"size\": %u, \"pad\": %u, \"workers\": %u, \"ms\": [%.3f, %.3f, %.3f]}",
          separator, tile, names[way], set->size, set->pad, set->workers, median, least, most);
      separator = ",\n ";
    } else {
      printf("| %.1f (%.1f to %.1f) ", median, least, most);
    }
  }
  double boxes = ms[0][set->rounds / 2];
  for (int way = RANGES; way <= OPENMP && !set->json; way++) {
    if (way == OPENMP && !lu_has_openmp())
      printf("| - ");
    else
      printf("| %.2f ", boxes / ms[way][set->rounds / 2]);
  }
  if (!set->json) printf("| %.2f |\n", ms[SERIAL][set->rounds / 2] / ms[SERIAL_TILES][set->rounds / 2]);
}

static void measure(const settings *set, uint32_t tile, bool first) {
  double ms[WAYS][MOST_ROUNDS] = {0};
  lu_matrix columns = make(set->size, tile, set->pad, false), tiles = make(set->size, tile, 0, true);
  lu_matrix expected = make(set->size, set->size, 0, false);
  fill(&expected);
  lu_factor(lu_tile_at(&expected, 0, 0), set->size);
  for (int round = 0; round < set->rounds; round++) {
    for (int turn = 0; turn < WAYS; turn++) {
      int way = (turn + round) % WAYS;
      if (way == OPENMP && !lu_has_openmp()) continue;
      lu_matrix *matrix = way == RANGES || way == BUFFERS || way == SERIAL_TILES ? &tiles : &columns;
      fill(matrix);
      double seconds = run(way, matrix, set->workers);
      if (seconds < 0) fail("it failed");
      ms[way][round] = seconds * 1e3;
      if (round < 2) compare(matrix, &expected, names[way]);
    }
  }
  free(columns.elements);
  free(tiles.elements);
  free(expected.elements);
  print(set, tile, ms, first);
}

static bool parse(int argc, char **argv, settings *set) {
  static const struct option options[] = {{"size", required_argument, NULL, 's'},
                                          {"pad", required_argument, NULL, 'p'},
                                          {"workers", required_argument, NULL, 'w'},
                                          {"rounds", required_argument, NULL, 'r'},
                                          {"json", no_argument, NULL, 'j'},
                                          {"help", no_argument, NULL, 'h'},
                                          {0}};
  int option;
  while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
    if (option == 'h') exit(fputs(usage, stdout) < 0);
    if (option == 's') set->size = (uint32_t)atoi(optarg);
    if (option == 'p') set->pad = (uint32_t)atoi(optarg);
    if (option == 'w') set->workers = (uint32_t)atoi(optarg);
    if (option == 'r') set->rounds = atoi(optarg);
    if (option == 'j') set->json = true;
    if (option == '?') return false;
  }
  return set->size > 0 && set->size <= 16384 && set->size % 64 == 0 && set->pad <= 4096 && set->workers >= 1 &&
         set->workers <= 256 && set->rounds >= 1 && set->rounds <= MOST_ROUNDS && optind == argc;
}

int main(int argc, char **argv) {
  static const uint32_t sizes[MOST_TILES] = {16, 32, 64};
  settings set = {.size = 1024, .pad = 8, .workers = 2, .rounds = 9};
  if (!parse(argc, argv, &set)) {
    fputs(usage, stderr);
    return 2;
  }
  for (int i = 0; i < MOST_TILES; i++) measure(&set, sizes[i], i == 0);
  if (set.json) puts("]");
  return 0;
}
