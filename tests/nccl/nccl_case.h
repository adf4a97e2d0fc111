// SPDX-License-Identifier: Apache-2.0
//
// What tests of collectives share: a context on two cards of the stub with a communicator, in several orders of
// execution.
#ifndef WEIR_TESTS_NCCL_CASE_H
#define WEIR_TESTS_NCCL_CASE_H

#include "nccl_stub.h"
#include "share.h"
#include "weir/nccl.h"

// Runs a test in contexts with two CUDA devices and a CPU device. `options` may be NULL; its devices count if they are
// set. Expects that nothing is left of NCCL, and no violation.
void nccl_run(const weir_context_options *options, void (*test)(share *s));

// A communicator of both devices.
weir_nccl *nccl_make(const share *s);

// Two buffers of `count` numbers, which tasks on the first and second device set to `first` + i and `second` + i.
void nccl_buffers(const share *s, uint32_t count, uint32_t first, uint32_t second, weir_buffer *out_buffers[2]);

// Waits, and expects these sums of a buffer: value + step * i.
void nccl_expect(weir_buffer *buffer, uint32_t count, uint32_t value, uint32_t step);

#endif // WEIR_TESTS_NCCL_CASE_H
