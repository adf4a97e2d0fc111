// SPDX-License-Identifier: Apache-2.0
#ifndef CHOLESKY_FACTOR_H
#define CHOLESKY_FACTOR_H

#include <weir/weir.h>

#include "options.h"
#include "tiles.h"

// Times are from the first task submitted to the last one done, without the copies in and out.
typedef struct factor_result {
  double seconds[CHOLESKY_MOST_PASSES]; // of each pass
  weir_statistics statistics;           // of the last pass's context, all passes together
} factor_result;

// Replaces the stored tiles of a matrix by those of its lower Cholesky factor, out of order. Prints what failed.
// Errors: UNAVAILABLE (a device is missing), INVALID_ARGUMENT (there is no such device), OUT_OF_MEMORY, TASK_FAILED
// (anything later).
weir_status factor_tiles(const cholesky_options *options, const tiling *tiles, double *stored,
                         factor_result *out_result);

#endif // CHOLESKY_FACTOR_H
