// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

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
