// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

void must(weir_status status, const char *what) {
  if (status == WEIR_OK) return;
  fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what, weir_last_error());
  exit(status == WEIR_ERROR_UNAVAILABLE ? EXIT_LACKS : 1);
}

void must_cuda(CUresult result, const char *what) {
  if (result == CUDA_SUCCESS) return;
  fprintf(stderr, "%s: %s: CUDA error %d\n", program_invocation_short_name, what, (int)result);
  exit(1);
}

void must_nccl(int result, const char *what) {
  if (result == WEIR__NCCL_SUCCESS) return;
  fprintf(stderr, "%s: %s: NCCL error %d\n", program_invocation_short_name, what, result);
  exit(1);
}

static int compare(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

spread spread_of(double *values, uint32_t count) {
  qsort(values, count, sizeof values[0], compare);
  return (spread){values[count / 2], values[0], values[count - 1]};
}

void print_size(uint64_t bytes, double single[2][MOST_VALUES], double many[2][MOST_VALUES], uint32_t rounds) {
  printf("| %8llu KiB |", (unsigned long long)bytes / 1024);
  for (uint32_t way = 0; way < 2; way++) printf(" %9.1f |", spread_of(single[way], rounds).median * 1e6);
  for (uint32_t way = 0; way < 2; way++) {
    spread s = spread_of(many[way], rounds);
    printf(" %9.1f (%.1f-%.1f) |", s.median * 1e6, s.least * 1e6, s.greatest * 1e6);
  }
  for (uint32_t way = 0; way < 2; way++) printf(" %6.1f |", (double)bytes / spread_of(many[way], rounds).median / 1e9);
  printf("\n");
  fflush(stdout);
}

void put_number(void *memory, weir_reduce_type type, uint32_t index, int32_t value) {
  if (type == WEIR_REDUCE_F32)
    ((float *)memory)[index] = (float)value;
  else if (type == WEIR_REDUCE_F64)
    ((double *)memory)[index] = value;
  else if (weir_nccl_element_bytes(WEIR_REDUCE_SUM, type) == 4)
    ((int32_t *)memory)[index] = value;
  else
    ((int64_t *)memory)[index] = value;
}

int32_t combine_numbers(weir_reduce_operation operation, int32_t a, int32_t b) {
  switch (operation) {
  case WEIR_REDUCE_SUM:
    return a + b;
  case WEIR_REDUCE_PRODUCT:
    return a * b;
  default:
    return (operation == WEIR_REDUCE_MIN) == (a < b) ? a : b;
  }
}

bool is_asked(int argc, char **argv, int first, const char *part) {
  if (first == argc) return true;
  for (int i = first; i < argc; i++) {
    if (strcmp(argv[i], part) == 0) return true;
  }
  return false;
}
