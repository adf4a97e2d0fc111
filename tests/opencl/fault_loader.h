// SPDX-License-Identifier: Apache-2.0
//
// An OpenCL loader that passes calls on to the real one, and lets a chosen one fail. It is loaded by Weir (WEIR_OPENCL_LOADER)
// and linked by the test.
#ifndef WEIR_TESTS_OPENCL_FAULT_LOADER_H
#define WEIR_TESTS_OPENCL_FAULT_LOADER_H

#include <stdbool.h>
#include <stdint.h>

// Whether the real loader lists a device with two compute units at least; else why the tests cannot run.
bool fault_loader_available(const char **out_why);

// The `n`th call of the function from now on (1: the next) fails with the result; 0: none does. A status that is asked for, of an
// event, is then the result.
void fault_loader_fail(const char *function, uint64_t n, int32_t result);

// Whether that call came.
bool fault_loader_failed(void);

// Objects that were made and not released, all kinds together.
int64_t fault_loader_live(void);

// No platform is listed; SVM is not offered.
void fault_loader_hide(bool platforms, bool svm);

#endif // WEIR_TESTS_OPENCL_FAULT_LOADER_H
