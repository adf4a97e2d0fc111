// SPDX-License-Identifier: Apache-2.0
//
// What the tests of faults on the stub driver share: kernels that run there and on the CPU.
#ifndef WEIR_TESTS_CUDA_FAULTS_H
#define WEIR_TESTS_CUDA_FAULTS_H

#include "faults.h"
#include "stub.h"
#include "weir/cuda.h"

// Makes the stub the driver that Weir loads.
void faults_use_stub(void);

// Whether kernels that are made from now on fit a resident kernel.
void faults_let_fit(bool now_fit);

// That of faults.h, for the stub and the CPU.
weir_status faults_mix_kernel(weir_context *context, weir_kernel **out_kernel);

// The same for CUDA, and then an illegal address.
weir_status faults_bad_kernel(weir_context *context, weir_kernel **out_kernel);

// Notes wrong use of the stub driver and what is left in it. `what` says where.
void faults_check_driver(const char *what);

#endif // WEIR_TESTS_CUDA_FAULTS_H
