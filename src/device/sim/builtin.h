// SPDX-License-Identifier: Apache-2.0
//
// The profiles that are part of the library: those of profiles/*.profile, embedded by embed.cmake.
#ifndef WEIR_DEVICE_SIM_BUILTIN_H
#define WEIR_DEVICE_SIM_BUILTIN_H

#include <stddef.h>

typedef struct weir__sim_builtin {
  const char *name, *text;
  size_t bytes;
} weir__sim_builtin;

extern const weir__sim_builtin weir__sim_builtins[]; // the last one has no name

#endif // WEIR_DEVICE_SIM_BUILTIN_H
