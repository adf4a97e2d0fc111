// SPDX-License-Identifier: Apache-2.0
#include "cholesky.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <weir/weir.h>

static const double one = 1, minus_one = -1;

static double *of(CUdeviceptr address) {
  return (double *)(uintptr_t)address; // NOLINT: an address of the card
}

int cholesky_call(const cholesky *problem, const cholesky_operation *operation, const call_lane *lane, CUdeviceptr a,
                  CUdeviceptr b, CUdeviceptr c) {
  int n = problem->tile;
  switch (operation->what) {
  case POTRF:
    return (int)lib.p_cusolverDnDpotrf(lane->solver, CUBLAS_FILL_MODE_LOWER, n, of(c), n, of(lane->work),
                                       lane->work_size, (int *)(void *)(of(lane->work) + lane->work_size));
  case TRSM:
    return (int)lib.p_cublasDtrsm(lane->blas, CUBLAS_SIDE_RIGHT, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_T,
                                  CUBLAS_DIAG_NON_UNIT, n, n, &one, of(a), n, of(c), n);
  case SYRK:
    return (int)lib.p_cublasDsyrk(lane->blas, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, n, n, &minus_one, of(a), n, &one,
                                  of(c), n);
  default:
    return (int)lib.p_cublasDgemm(lane->blas, CUBLAS_OP_N, CUBLAS_OP_T, n, n, n, &minus_one, of(a), n, of(b), n, &one,
                                  of(c), n);
  }
}

void cholesky_operands(const cholesky_operation *operation, int out_operands[2]) {
  out_operands[0] = operation->what == POTRF  ? -1
                    : operation->what == TRSM ? cholesky_number(operation->k, operation->k)
                                              : cholesky_number(operation->i, operation->k);
  out_operands[1] = operation->what == GEMM ? cholesky_number(operation->j, operation->k) : -1;
}

static void add(cholesky *problem, cholesky_what what, int i, int j, int k) {
  problem->operations[problem->operation_count++] = (cholesky_operation){what, i, j, k};
}

static void list_operations(cholesky *problem) {
  size_t count = (size_t)problem->count;
  problem->operations = gpu_memory(count * count * count + 4 * count * count, sizeof *problem->operations);
  for (int k = 0; k < problem->count; k++) {
    add(problem, POTRF, k, k, k);
    for (int i = k + 1; i < problem->count; i++) add(problem, TRSM, i, k, k);
    for (int i = k + 1; i < problem->count; i++) {
      for (int j = k + 1; j < i; j++) add(problem, GEMM, i, j, k);
      add(problem, SYRK, i, i, k);
    }
  }
}

// A symmetric matrix with elements from 0 to 1 off the diagonal, which `size` more make dominant.
static void fill(cholesky *problem) {
  size_t n = (size_t)problem->tile;
  double *tile = gpu_memory(problem->tile_bytes, 1);
  uint64_t state = 1;
  for (int i = 0; i < problem->count; i++) {
    for (int j = 0; j <= i; j++) {
      for (size_t e = 0; e < n * n; e++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        tile[e] = (double)(state >> 33) / (double)(1u << 31);
      }
      for (size_t d = 0; i == j && d < n; d++) tile[d * n + d] += problem->size;
      CHECK(lib.p_cuMemcpyHtoD(problem->matrix + (size_t)cholesky_number(i, j) * problem->tile_bytes, tile,
                               problem->tile_bytes));
    }
  }
  free(tile);
}

void cholesky_compare(cholesky *problem, const char *way, CUdeviceptr factors) {
  size_t bytes = (size_t)problem->stored * problem->tile_bytes;
  if (problem->factors == 0) {
    CHECK(lib.p_cuMemAlloc(&problem->factors, bytes));
    CHECK(lib.p_cuMemcpyDtoD(problem->factors, factors, bytes));
    return;
  }
  double *pair = gpu_memory(2, problem->tile_bytes), greatest = 0;
  size_t n = (size_t)problem->tile;
  for (int i = 0; i<problem->count; i += problem->count> 8 ? 7 : 1) {
    for (int j = 0; j <= i; j += problem->count > 8 ? 3 : 1) {
      size_t at = (size_t)cholesky_number(i, j) * problem->tile_bytes;
      CHECK(lib.p_cuMemcpyDtoH(pair, problem->factors + at, problem->tile_bytes));
      CHECK(lib.p_cuMemcpyDtoH(pair + n * n, factors + at, problem->tile_bytes));
      for (size_t e = 0; e < n * n; e++) {
        if (i == j && e % n < e / n) continue; // above the diagonal
        double difference = fabs(pair[e] - pair[n * n + e]);
        if (!(difference <= greatest)) greatest = difference;
      }
    }
  }
  free(pair);
  if (greatest <= 1e-9 * problem->size) return;
  fprintf(stderr, "weir-bench-library: %s: factors differ by %g\n", way, greatest);
  exit(1);
}

void cholesky_measure(int size, int tile, int passes, table *report) {
  cholesky problem = {.size = size, .tile = tile, .count = size / tile};
  problem.stored = cholesky_number(problem.count, 0);
  problem.tile_bytes = (size_t)tile * (size_t)tile * sizeof(double);
  CHECK(lib.p_cuMemAlloc(&problem.matrix, (size_t)problem.stored * problem.tile_bytes));
  list_operations(&problem);
  fill(&problem);
  cholesky_by_solver(&problem, passes, report);
  for (int streams = 1; streams <= 32; streams *= 2) cholesky_by_hand(&problem, streams, false, passes, report);
  for (int streams = 1; streams <= 32; streams *= 4) cholesky_by_hand(&problem, streams, true, passes, report);
  cholesky_by_weir(&problem, WEIR_ISSUE_QUEUES, false, passes, report);
  cholesky_by_weir(&problem, WEIR_ISSUE_AUTO, false, passes, report);
  cholesky_by_weir(&problem, WEIR_ISSUE_AUTO, true, passes, report);
  free(problem.operations);
  CHECK(lib.p_cuMemFree(problem.matrix));
  if (problem.factors != 0) CHECK(lib.p_cuMemFree(problem.factors));
}
