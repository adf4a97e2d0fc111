// SPDX-License-Identifier: Apache-2.0
//
// The kernel of rig.h for all kinds of devices.
#ifndef TESTS_SPLIT_FAR_H
#define TESTS_SPLIT_FAR_H

#include "rig.h"

// The kernel, with code for each kind that the context has a device of. CUDA is the stub driver (tests/cuda/stub).
weir_kernel *far_kernel(weir_context *context);

// From the launch after `launches` more on that the stub executes, each faults: its device is lost. UINT32_MAX: none.
void far_fault_after(uint32_t launches);

#endif // TESTS_SPLIT_FAR_H
