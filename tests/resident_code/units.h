// SPDX-License-Identifier: Apache-2.0
//
// Kernels in the form that the resident kernel calls, on threads (units.cpp).
#ifndef RESIDENT_CODE_UNITS_H
#define RESIDENT_CODE_UNITS_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// Runs all work-groups of a launch, one after another, each in a block of `threads` threads, which then meet as those of the
// resident kernel do. False: the kernel has no function, as its arguments take more than 12 words.
bool unit_run(const char *kernel, const uint64_t *args, const uint32_t groups[3], uint32_t threads);

#ifdef __cplusplus
}
#endif
#endif // RESIDENT_CODE_UNITS_H
