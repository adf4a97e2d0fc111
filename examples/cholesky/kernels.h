// SPDX-License-Identifier: Apache-2.0
//
// The four kernels of a tiled Cholesky factorisation on the CPU, with OpenBLAS, each on whole tiles by columns. Their first
// argument is a tile_shape by value, the others are tiles. own.c has kernels of our own.
#ifndef CHOLESKY_KERNELS_H
#define CHOLESKY_KERNELS_H

#include <weir/weir.h>

#include "tile_shape.h"

// Arguments: shape, A. A becomes its lower Cholesky factor; fails when it is not positive definite.
void kernel_potrf(const weir_work *work);

// Arguments: shape, L, A. A = A * L^-T, where L is lower triangular.
void kernel_trsm(const weir_work *work);

// Arguments: shape, A, C. C = C - A * A^T, lower triangle only.
void kernel_syrk(const weir_work *work);

// Arguments: shape, A, B, C. C = C - A * B^T.
void kernel_gemm(const weir_work *work);

#endif // CHOLESKY_KERNELS_H
