// SPDX-License-Identifier: Apache-2.0
//
// Code of kernels for simulated devices: launches that run one after another.
#ifndef WEIR_DEVICE_SIM_CODE_H
#define WEIR_DEVICE_SIM_CODE_H

#include "device/kernel.h"
#include "weir/sim.h"

typedef struct weir__sim_code {
  weir__code head;
  uint32_t count;             // at least 1
  weir_sim_launch launches[]; // their names are copies
} weir__sim_code;

// NULL: none; or of a host task (NULL).
static inline const weir__sim_code *weir__sim_code_of(const weir_kernel *kernel) {
  return kernel == NULL ? NULL : (const weir__sim_code *)(const void *)kernel->code[WEIR__CODE_SIM];
}

#endif // WEIR_DEVICE_SIM_CODE_H
