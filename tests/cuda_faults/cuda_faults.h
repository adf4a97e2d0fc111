// SPDX-License-Identifier: Apache-2.0
//
// What the tests of faults on the stub driver share: kernels that run there and on the CPU.
#ifndef WEIR_TESTS_CUDA_FAULTS_H
#define WEIR_TESTS_CUDA_FAULTS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "stub.h"
#include "weir/cuda.h"

enum { WORDS = 64 };

// Makes the stub the driver that Weir loads.
void faults_use_stub(void);

// to[i] = from[i] * 3 + value: an argument that is written, one that is read, a value. Also for the CPU.
weir_status faults_mix_kernel(weir_context *context, weir_kernel **out_kernel);

// The same for CUDA, and then an illegal address.
weir_status faults_bad_kernel(weir_context *context, weir_kernel **out_kernel);

uint32_t faults_mixed(uint32_t from, uint32_t value);

weir_task faults_task(weir_kernel *kernel, weir_arg args[3], weir_buffer *to, weir_buffer *from, const uint32_t *value);

// Notes something wrong: it is printed, and makes the test fail at its end.
__attribute__((format(printf, 1, 2))) void faults_wrong(const char *format, ...);

// Fails if something wrong was noted since the last call.
void faults_expect_none(void);

// Notes wrong use of the stub driver and what is left in it. `what` says where.
void faults_check_driver(const char *what);

#endif // WEIR_TESTS_CUDA_FAULTS_H
