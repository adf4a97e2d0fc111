// SPDX-License-Identifier: Apache-2.0
//
// What the tests of resident issue share: contexts on the stub driver (tests/cuda/stub), kernels that its resident kernel can
// run and kernels that it cannot, and buffers whose contents are followed on the host.
#ifndef WEIR_TESTS_CUDA_RESIDENT_RIG_H
#define WEIR_TESTS_CUDA_RESIDENT_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <cmocka.h>

#include "stub.h"
#include "weir/cuda.h"

enum { RIG_WORDS = 64, RIG_BUFFERS = 8, RIG_GROUP_WORDS = 16, RIG_GROUPS = RIG_WORDS / RIG_GROUP_WORDS };

typedef enum rig_kernel {
  RIG_MIX,   // to[i] = 3 * to[i] + from[i] + value; fits the resident kernel
  RIG_PLAIN, // the same, but does not fit
  RIG_BAD,   // fits, and makes the device fault
  // As the first two, once `rig_gate` is true.
  RIG_GATE,
  RIG_PLAIN_GATE,
  RIG_KERNELS,
} rig_kernel;

extern _Atomic bool rig_gate;

typedef struct rig {
  weir_context *context;
  weir_device *device;
  weir_kernel *kernels[RIG_KERNELS];
  weir_buffer *buffers[RIG_BUFFERS];
  uint32_t expected[RIG_BUFFERS][RIG_WORDS];
} rig;

// The stub and the NVRTC stub are what Weir loads from now on; their functions are made known. Once, before all else.
void rig_use_stub(void);

// A context on a stub that starts afresh, with kernels and filled buffers. `devices` NULL: "cuda"; WEIR_ISSUE_AUTO stands for
// WEIR_ISSUE_RESIDENT.
void rig_begin(rig *r, uint64_t seed, const weir_context_options *options);
// The same with WEIR_ISSUE_AUTO itself.
void rig_begin_automatic(rig *r, uint64_t seed, const weir_context_options *options);
// Compares all buffers, releases all, and expects no violation and nothing left in the stub.
void rig_end(rig *r);
// Releases all, expects the same of the stub.
void rig_release(rig *r);

// Submits a task; it is done on the host's copies too. `out_event` may be NULL.
void rig_submit(rig *r, rig_kernel kernel, uint32_t to, uint32_t from, uint32_t value, weir_event **out_event);
// The same behind other tasks.
weir_status rig_submit_after(rig *r, rig_kernel kernel, uint32_t to, uint32_t from, uint32_t value,
                             weir_event *const *after, uint32_t after_count, weir_event **out_event);
// What a task does, on the host's copies.
void rig_mix(rig *r, uint32_t to, uint32_t from, uint32_t value);
// Copies one buffer to another.
void rig_copy(rig *r, uint32_t to, uint32_t from);
// Compares all buffers with what they should hold.
void rig_compare(rig *r);

// Waits for all tasks: how many of them the resident kernel has run.
uint64_t rig_resident_tasks(const rig *r);
// The process's threads; and that those that were not among them then, of which there are some, may use all cores.
enum { RIG_MOST_THREADS = 256 };
typedef struct rig_threads {
  pid_t ids[RIG_MOST_THREADS];
  uint32_t count;
} rig_threads;
void rig_list_threads(rig_threads *threads);
void rig_expect_new_threads_unpinned(const rig_threads *before);

// Waits until nothing is on the card any more.
void rig_wait_until_idle(void);
// Waits until the resident kernel is not on the card any more.
void rig_wait_until_left(void);

// A kernel of the stub's with this code: a line as stub.h describes it.
weir_kernel *rig_make_kernel(rig *r, const char *name, const char *source, bool groups);

#endif // WEIR_TESTS_CUDA_RESIDENT_RIG_H
