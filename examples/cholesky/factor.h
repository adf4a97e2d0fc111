// SPDX-License-Identifier: Apache-2.0
#ifndef CHOLESKY_FACTOR_H
#define CHOLESKY_FACTOR_H

#include <weir/weir.h>

#include "options.h"
#include "tiles.h"

// Replaces the stored tiles of a matrix by those of its lower Cholesky factor, out of order. Gives the time from the first
// task submitted to the last one done, without the copies in and out: the shortest of the passes. Prints what failed.
// Errors: UNAVAILABLE (a device is missing), INVALID_ARGUMENT (there is no such device), OUT_OF_MEMORY, TASK_FAILED
// (anything later).
weir_status factor_tiles(const cholesky_options *options, const tiling *tiles, double *stored, double *out_seconds);

#endif // CHOLESKY_FACTOR_H
