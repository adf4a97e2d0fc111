// SPDX-License-Identifier: Apache-2.0
//
// Replay on an OpenCL device: each task takes its time on one compute unit, as on the CPU. OpenCL has no clock that kernels could
// read, so that they count, and how far is measured.
#include <math.h>

#include "replay_calibrate.h"
#include "replay_pass.h"
#include "weir/opencl.h"

static const uint64_t most_rounds = (uint64_t)1 << 40;

static const char source[] = "__kernel void spin(ulong rounds) {\n"
                             "  volatile uint number = 0;\n"
                             "  for (ulong i = 0; i < rounds; i++) number = number * 3 + 1;\n"
                             "}\n";

static weir_status set(const void *user, uint64_t rounds, weir_kernel *kernel) {
  (void)user;
  const weir_opencl_code code = {.source = source};
  const weir_opencl_launch launch = {
      .entry = "spin", .groups = {1, 1, 1}, .value = &rounds, .value_bytes = sizeof rounds};
  return weir_kernel_set_opencl(kernel, &code, &launch);
}

weir_status weir__replay_set_opencl(const weir__replay *run, double us, weir_kernel *kernel) {
  static double known; // of the device that --device names
  weir_status status = known > 0 ? WEIR_OK : weir__calibrate_spin(run->context, set, NULL, most_rounds, &known);
  return status == WEIR_OK ? set(NULL, (uint64_t)llround(us * known), kernel) : status;
}
