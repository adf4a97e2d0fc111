// SPDX-License-Identifier: Apache-2.0
//
// What tests of memory and order share: a context on the stub driver with kernels that run on the CPU, too, and CUDA code
// of the "caller's own" beside it. Each test runs with several orders of execution, ways to issue, and launching threads.
#ifndef WEIR_TESTS_CUDA_SHARE_H
#define WEIR_TESTS_CUDA_SHARE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "device/cuda/driver.h"
#include "stub.h"
#include "weir/cuda.h"

typedef struct share {
  weir_context *context;
  weir_issue issue;                 // of the context
  weir_device *cuda, *second, *cpu; // NULL: the context has none
  weir_kernel *set;                 // (out, count, value): out[i] = value + i
  weir_kernel *step;                // (data, count, value): data[i] = data[i] * 3 + value, which depends on the order
  weir_kernel *sum;                 // (out, a, b, count): out[i] = a[i] + b[i]
  weir_kernel *held;                // as step, once share_open was called; CUDA only
  weir_kernel *broken;              // (out, count, value): fails on the CPU, faults on CUDA
  // The caller's own.
  const weir__cuda_driver *driver;
  CUcontext primary;
  CUmodule module;
  CUfunction own_step, own_held;
  CUstream stream;
} share;

// Runs a test in contexts with these devices, of which the first two CUDA devices and the CPU are put into the struct.
void share_run(const char *devices, void (*test)(share *s));

// The same with other options: seed, and issue if it is not RESIDENT, are chosen here, a window of 0 is 64 slots.
void share_run_with(const weir_context_options *options, void (*test)(share *s));

// Bytes of memory that each card of the next contexts has; 0: 1 GiB.
extern uint64_t share_card_bytes;
extern bool share_no_peers; // they do not reach each other's memory
extern bool share_unseeded; // contexts have no seed

// Lets `held` go on, which waits otherwise; ends the process if nobody calls it for a minute.
void share_open(void);

// Submits set, step, held or broken on the first `count` numbers of a buffer. `out_event` may be NULL.
void share_submit(const share *s, weir_kernel *kernel, weir_device *device, weir_buffer *buffer, uint32_t count,
                  uint32_t value, weir_event **out_event);
void share_sum(const share *s, weir_device *device, weir_buffer *out, weir_buffer *a, weir_buffer *b, uint32_t count,
               weir_event **out_event);

weir_buffer *share_buffer(const share *s, uint32_t count);
weir_status share_await(weir_event *event); // and releases it

// What a number becomes.
static inline uint32_t stepped(uint32_t number, uint32_t value) {
  return number * 3 + value;
}

// numbers[i] == set with `value`, then stepped with each of `steps` (`step_count` of them).
void share_expect(const uint32_t *numbers, uint32_t count, uint32_t value, const uint32_t *steps, uint32_t step_count);

// The caller's own memory, launches and copies.
CUdeviceptr share_allocate(const share *s, uint32_t count);
void share_free(const share *s, CUdeviceptr memory);
void share_launch(const share *s, CUfunction function, CUdeviceptr memory, uint32_t count, uint32_t value);
void share_read(const share *s, uint32_t *numbers, CUdeviceptr memory, uint32_t count); // through the stream, and waits
void share_write(const share *s, CUdeviceptr memory, const uint32_t *numbers, uint32_t count);

void share_ok(weir_status status);
void share_good(CUresult result);
void share_refused(weir_status status, weir_status wanted, const char *text); // weir_last_error() has the text

#endif // WEIR_TESTS_CUDA_SHARE_H
