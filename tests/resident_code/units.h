// SPDX-License-Identifier: Apache-2.0
//
// Kernels in the form that the resident kernel calls (units.cpp), and some as they are launched (launched.cpp), on threads.
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

// Runs all work-groups of a launch of body0 to body7 (program_bodies.c), by the number of arguments behind the description, in
// the form that is launched.
struct body_packed;
void launched_run(uint32_t arg_count, const struct body_packed *packed, const uint64_t *words,
                  const uint32_t groups[3]);

#ifdef __cplusplus
}
#endif
#endif // RESIDENT_CODE_UNITS_H
