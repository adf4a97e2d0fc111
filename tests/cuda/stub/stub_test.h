// SPDX-License-Identifier: Apache-2.0
//
// What the tests of the stub share: the driver's functions by name, a device with a few kernels, both ways to execute.
#ifndef WEIR_TESTS_CUDA_STUB_TEST_H
#define WEIR_TESTS_CUDA_STUB_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "device/cuda/symbols.h"
#include "stub.h"

#define STUB_DECLARE(member, symbol, need, parameters) CUresult symbol parameters;
WEIR__CUDA_SYMBOLS(STUB_DECLARE)
#undef STUB_DECLARE

#define good(call) assert_int_equal(call, CUDA_SUCCESS)

typedef struct fixture {
  CUcontext context;
  CUmodule module;
  CUfunction set;  // *(uint32_t *)pointer = value
  CUfunction add;  // *(uint32_t *)pointer = *pointer * 3 + value, which depends on the order
  CUfunction copy; // *(uint32_t *)pointer = *(uint32_t *)other
  CUfunction fault;
} fixture;

// Starts the stub afresh and makes device 0 current.
void fixture_begin(fixture *f, const stub_options *options);

// Takes all down and expects that nothing is left, and `violations` violations.
void fixture_end(fixture *f, uint64_t violations);

CUstream make_stream(void);
CUevent make_event(unsigned flags);
CUdeviceptr make_memory(size_t bytes);
CUresult launch(CUfunction function, CUstream stream, CUdeviceptr pointer, uint64_t operand);
uint32_t read_word(CUdeviceptr pointer); // through a stream of its own

#endif // WEIR_TESTS_CUDA_STUB_TEST_H
