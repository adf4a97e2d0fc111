// SPDX-License-Identifier: Apache-2.0
//
// NCCL without a card: a shared library with the functions that Weir uses, on the CUDA driver of tests/cuda/stub. Weir
// loads it when the environment variable WEIR_NCCL names the file; a test that links with it sees the same instance.
//
// As NCCL does, it puts a kernel on the stream of each device, which stays there until those of all its partners have
// come. It pairs them by the order of the calls. Wrong use is a violation, which is counted and printed: partners that
// disagree, a partner that does not come for 20 s, a communicator that was destroyed.
#ifndef WEIR_TESTS_NCCL_STUB_H
#define WEIR_TESTS_NCCL_STUB_H

#include <stdbool.h>
#include <stdint.h>

#define NCCL_STUB_API __attribute__((visibility("default")))

// Forgets violations, counts and failures. No communicator is alive.
NCCL_STUB_API void nccl_stub_reset(void);

// Makes the nth call from now (1: the next) of a function fail with `result`, once.
NCCL_STUB_API void nccl_stub_fail_nth(const char *function, uint64_t nth, int result);

// From now on the first call of each communicator waits, on the host, for those of its partners.
NCCL_STUB_API void nccl_stub_connect(bool waits);

// From now on ncclCommInitRank does not return, though all ranks have come, or it does again.
NCCL_STUB_API void nccl_stub_hold(bool on);
NCCL_STUB_API void nccl_stub_end_joining(void); // calls that wait in it fail
NCCL_STUB_API uint64_t nccl_stub_joining(void); // how many wait
NCCL_STUB_API uint64_t nccl_stub_joins(void);   // how many did so far

// What ncclCommGetAsyncError says of all communicators.
NCCL_STUB_API void nccl_stub_async_error(int result);

// The calls for a device so far, as they came: "all-reduce 4;broadcast 16;", with numbers of elements.
NCCL_STUB_API const char *nccl_stub_record(int device);

NCCL_STUB_API uint64_t nccl_stub_violations(void);
NCCL_STUB_API uint64_t nccl_stub_live(void);   // communicators
NCCL_STUB_API uint64_t nccl_stub_done(void);   // collectives that took place
NCCL_STUB_API uint64_t nccl_stub_aborts(void); // communicators that were aborted

#endif // WEIR_TESTS_NCCL_STUB_H
