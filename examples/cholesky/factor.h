// SPDX-License-Identifier: Apache-2.0
#ifndef CHOLESKY_FACTOR_H
#define CHOLESKY_FACTOR_H

#include <stdbool.h>

#include "options.h"
#include "tiles.h"

// Replaces the stored tiles of a matrix by those of its lower Cholesky factor, out of order on the CPU. Gives the time
// from the first task submitted to the last one done, without the copies in and out. Prints what failed.
bool factor_tiles(const cholesky_options *options, const tiling *tiles, double *stored, double *out_seconds);

#endif // CHOLESKY_FACTOR_H
