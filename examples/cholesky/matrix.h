// SPDX-License-Identifier: Apache-2.0
//
// A symmetric positive definite matrix that is never stored as a whole, and the check of its factor by one vector.
#ifndef CHOLESKY_MATRIX_H
#define CHOLESKY_MATRIX_H

#include "tiles.h"

// The element of the matrix with `size` rows: from 0 to 1 off the diagonal, which `size` more make dominant.
double matrix_element(int size, int row, int column);

// Fills the stored tiles.
void matrix_fill(const tiling *tiles, double *stored);

// The greatest element of A x - L (L' x), for a vector x, in units of what rounding may add up to: the norm of A times that
// of x, times the rows and the precision. `stored` has L. A negative number: no memory. NaN where the factor has some.
double matrix_residual(const tiling *tiles, const double *stored);

#endif // CHOLESKY_MATRIX_H
