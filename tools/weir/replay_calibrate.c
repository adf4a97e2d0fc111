// SPDX-License-Identifier: Apache-2.0
#include "replay_calibrate.h"

#include <math.h>

#include "base/clock.h"
#include "base/error.h"

enum { SPIN_RUNS = 3, MEASUREMENTS = 5, LEAST_SPIN_US = 4000, REMOVED_US = 200 };

typedef struct spinner {
  weir_context *context;
  weir__set_spin set;
  const void *user;
} spinner;

// How long counting so far takes: the least of some runs.
static weir_status time_spin(const spinner *spin, uint64_t count, double *out_us) {
  weir_kernel *kernel = NULL;
  weir_status status = weir_kernel_create(spin->context, "spin", &kernel);
  if (status == WEIR_OK) status = spin->set(spin->user, count, kernel);
  const weir_task task = {.kernel = kernel};
  *out_us = INFINITY;
  for (int run = 0; run < SPIN_RUNS && status == WEIR_OK; run++) {
    uint64_t start = weir__clock_ns();
    status = weir_submit(spin->context, &task, NULL);
    if (status == WEIR_OK) status = weir_finish(spin->context);
    *out_us = fmin(*out_us, (double)(weir__clock_ns() - start) / 1000);
  }
  weir_kernel_release(kernel);
  return status;
}

weir_status weir__calibrate_spin(weir_context *context, weir__set_spin set, const void *user, uint64_t most,
                                 double *out_per_us) {
  const spinner spin = {context, set, user};
  double once = 0, twice = 0;
  uint64_t count = 1 << 16;
  weir_status status = WEIR_OK;
  for (; status == WEIR_OK && once < LEAST_SPIN_US && count < most; count *= 2) status = time_spin(&spin, count, &once);
  for (int i = 0; i < MEASUREMENTS && status == WEIR_OK; i++) {
    status = time_spin(&spin, count, &once);
    if (status == WEIR_OK) status = time_spin(&spin, 2 * count, &twice);
    if (twice > 1.5 * once && twice < 2.5 * once) break;
  }
  *out_per_us = (double)count / (twice > once ? twice - once : twice / 2);
  if (status == WEIR_OK && count >= most && twice < REMOVED_US)
    return weir__error(
        WEIR_ERROR_UNAVAILABLE,
        "a kernel that counts to %llu takes %.0f us: the device's compiler has removed its loop, so that "
        "kernels cannot be made to take a time",
        (unsigned long long)(2 * count), twice);
  return status;
}
