// SPDX-License-Identifier: Apache-2.0
//
// Check mode's functions for CUDA devices.
#ifndef WEIR_DEVICE_CUDA_CHECK_SOURCE_H
#define WEIR_DEVICE_CUDA_CHECK_SOURCE_H

#include "device/host.h"

extern const char weir__check_source[];

// What is compiled; a test without a card puts something else here, before it makes a context.
extern const char *weir__check_code;

// weir__device_ops.check_code.
weir_status weir__cuda_check_code(weir_kernel *kernel, const char *entry);

#endif // WEIR_DEVICE_CUDA_CHECK_SOURCE_H
