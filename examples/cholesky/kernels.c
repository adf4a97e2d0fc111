// SPDX-License-Identifier: Apache-2.0
#include "kernels.h"

#include <cblas.h>
#include <lapacke.h>

void kernel_potrf(const weir_work *work) {
  const tile_shape *shape = work->args[0];
  double *a = work->args[1];
  if (LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'L', shape->rows, a, shape->rows) != 0) {
    weir_work_fail(work, "the matrix is not positive definite");
  }
}

void kernel_trsm(const weir_work *work) {
  const tile_shape *shape = work->args[0];
  const double *l = work->args[1];
  double *a = work->args[2];
  cblas_dtrsm(CblasColMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, shape->rows, shape->columns, 1.0, l,
              shape->columns, a, shape->rows);
}

void kernel_syrk(const weir_work *work) {
  const tile_shape *shape = work->args[0];
  const double *a = work->args[1];
  double *c = work->args[2];
  cblas_dsyrk(CblasColMajor, CblasLower, CblasNoTrans, shape->rows, shape->inner, -1.0, a, shape->rows, 1.0, c,
              shape->rows);
}

void kernel_gemm(const weir_work *work) {
  const tile_shape *shape = work->args[0];
  const double *a = work->args[1], *b = work->args[2];
  double *c = work->args[3];
  cblas_dgemm(CblasColMajor, CblasNoTrans, CblasTrans, shape->rows, shape->columns, shape->inner, -1.0, a, shape->rows,
              b, shape->columns, 1.0, c, shape->rows);
}
