// SPDX-License-Identifier: Apache-2.0
//
// Replay on an OpenCL device: each task takes its time on one compute unit, as on the CPU. OpenCL has no clock that kernels could
// read, so that they count, and how far is measured.
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "replay_pass.h"
#include "weir/opencl.h"

enum { SPIN_RUNS = 3, MEASUREMENTS = 5, LEAST_SPIN_US = 4000 };

static const char source[] = "__kernel void spin(ulong rounds) {\n"
                             "  volatile uint number = 0;\n"
                             "  for (ulong i = 0; i < rounds; i++) number = number * 3 + 1;\n"
                             "}\n";

static weir_status set(weir_kernel *kernel, uint64_t rounds) {
  const weir_opencl_code code = {.source = source};
  const weir_opencl_launch launch = {
      .entry = "spin", .groups = {1, 1, 1}, .value = &rounds, .value_bytes = sizeof rounds};
  return weir_kernel_set_opencl(kernel, &code, &launch);
}

// How long so many rounds take: the least of some runs.
static weir_status time_spin(weir_context *context, uint64_t rounds, double *out_us) {
  weir_kernel *kernel = NULL;
  weir_status status = weir_kernel_create(context, "spin", &kernel);
  if (status == WEIR_OK) status = set(kernel, rounds);
  const weir_task task = {.kernel = kernel};
  *out_us = INFINITY;
  for (int run = 0; run < SPIN_RUNS && status == WEIR_OK; run++) {
    uint64_t start = weir__clock_ns();
    status = weir_submit(context, &task, NULL);
    if (status == WEIR_OK) status = weir_finish(context);
    *out_us = fmin(*out_us, (double)(weir__clock_ns() - start) / 1000);
  }
  weir_kernel_release(kernel);
  return status;
}

// Rounds in a microsecond: two spins, one twice as long. On a machine that is busy with other things they are repeated until the
// second takes about twice as long as the first.
static weir_status measure(weir_context *context, double *out_rounds_per_us) {
  double once = 0, twice = 0;
  uint64_t rounds = 1 << 16;
  weir_status status = WEIR_OK;
  for (; status == WEIR_OK && once < LEAST_SPIN_US && rounds < (uint64_t)1 << 40; rounds *= 2)
    status = time_spin(context, rounds, &once);
  for (int i = 0; i < MEASUREMENTS && status == WEIR_OK; i++) {
    status = time_spin(context, rounds, &once);
    if (status == WEIR_OK) status = time_spin(context, 2 * rounds, &twice);
    if (twice > 1.5 * once && twice < 2.5 * once) break;
  }
  *out_rounds_per_us = (double)rounds / (twice > once ? twice - once : twice / 2);
  return status;
}

weir_status weir__replay_set_opencl(const weir__replay *run, double us, weir_kernel *kernel) {
  static double known; // of the device that --device names
  weir_status status = known > 0 ? WEIR_OK : measure(run->context, &known);
  return status == WEIR_OK ? set(kernel, (uint64_t)llround(us * known)) : status;
}
