// SPDX-License-Identifier: Apache-2.0
//
// Replay on an OpenCL device: each task takes its time on one compute unit, as on the CPU. OpenCL has no clock that kernels could
// read, so that they count, and how far is measured. NVIDIA's compiler removes such loops, and offers the multiprocessor's clock.
#include <math.h>

#include "replay_calibrate.h"
#include "replay_pass.h"
#include "weir/opencl.h"

static const uint64_t most_rounds = (uint64_t)1 << 40;

const char weir__replay_opencl_source[] = "#ifdef __NV_CL_C_VERSION\n"
                                          "ulong ticks(void) {\n"
                                          "  ulong now;\n"
                                          "  asm volatile(\"mov.u64 %0, %%clock64;\" : \"=l\"(now));\n"
                                          "  return now;\n"
                                          "}\n"
                                          "__kernel void spin(ulong rounds) {\n"
                                          "  ulong start = ticks();\n"
                                          "  while (ticks() - start < rounds) {\n"
                                          "  }\n"
                                          "}\n"
                                          "#else\n"
                                          "__kernel void spin(ulong rounds) {\n"
                                          "  volatile uint number = 0;\n"
                                          "  for (ulong i = 0; i < rounds; i++) number = number * 3 + 1;\n"
                                          "}\n"
                                          "#endif\n";

static weir_status set(const void *user, uint64_t rounds, weir_kernel *kernel) {
  (void)user;
  const weir_opencl_code code = {.source = weir__replay_opencl_source};
  const weir_opencl_launch launch = {
      .entry = "spin", .groups = {1, 1, 1}, .value = &rounds, .value_bytes = sizeof rounds};
  return weir_kernel_set_opencl(kernel, &code, &launch);
}

weir_status weir__replay_opencl_rounds(weir_context *context, double *out_per_us) {
  static double known; // of the device that --device names
  weir_status status = known > 0 ? WEIR_OK : weir__calibrate_spin(context, set, NULL, most_rounds, &known);
  *out_per_us = known;
  return status;
}

weir_status weir__replay_set_opencl(const weir__replay *run, double us, weir_kernel *kernel) {
  double per_us;
  weir_status status = weir__replay_opencl_rounds(run->context, &per_us);
  return status == WEIR_OK ? set(NULL, (uint64_t)llround(us * per_us), kernel) : status;
}
