// SPDX-License-Identifier: Apache-2.0
//
// Kernels that are compiled in their resident form with the real compiler.
#ifndef RESIDENT_CODE_SOURCES_H
#define RESIDENT_CODE_SOURCES_H

#include "device/cuda/nvrtc.h"
#include "endless.kernels.h"
#include "forms.kernels.h"
#include "layers.kernels.h"
#include "motion.kernels.h"
#include "odd.kernels.h"
#include "operators.kernels.h"
#include "own.kernels.h"
#include "program_bodies.kernels.h"

// The tests' and the examples', and random programs', as far as they go into one module.
static const weir_kernel_code *const KERNELS[] = {
    &indexes, &reduce,  &transpose,     &scan,      &histogram, &float_sum,   &arithmetic, &integers, &axpy,  &relu,
    &add,     &join,    &depthwise,     &pointwise, &average,   &gate,        &single,     &rounds,   &limit, &own_gemm,
    &drive,   &observe, &log_luminance, &exposure,  &bilateral, &compression, &reinhard,   &durand,   &body0, &body1,
    &body2,   &body3,   &body4,         &body5,     &body6,     &body7,       &never_ends, &count_up};
enum { KERNEL_COUNT = sizeof KERNELS / sizeof KERNELS[0] };

// Compute capabilities to compile for: 9.0, and the least of 7.0 and newer that the compiler knows. `out_capabilities[0]` is
// 0 if there is no compiler, and `reason` says why.
static inline void find_capabilities(int out_capabilities[2], char *reason, size_t reason_bytes) {
  int count = 0, known[256] = {0}, least = 1000;
  const weir__nvrtc *nvrtc = weir__nvrtc_load(reason, reason_bytes);
  out_capabilities[0] = out_capabilities[1] = 0;
  if (nvrtc == NULL) return;
  if (nvrtc->nvrtcGetNumSupportedArchs(&count) == NVRTC_SUCCESS && count <= 256) nvrtc->nvrtcGetSupportedArchs(known);
  for (int i = 0; i < count; i++)
    if (known[i] >= 70 && known[i] < least) least = known[i];
  out_capabilities[0] = 90;
  out_capabilities[1] = least;
}

#endif // RESIDENT_CODE_SOURCES_H
