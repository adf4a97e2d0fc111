// SPDX-License-Identifier: Apache-2.0
//
// The checker as a device of its context (check/checker.h).
#ifndef WEIR_CHECK_DEVICE_H
#define WEIR_CHECK_DEVICE_H

#include "engine/context.h"

// Makes the checker of a context and starts its thread. Errors: OUT_OF_MEMORY.
weir_status weir__checker_create(weir__host *host, weir_device **out_device);

#endif // WEIR_CHECK_DEVICE_H
