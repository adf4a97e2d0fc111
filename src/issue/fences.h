// SPDX-License-Identifier: Apache-2.0
//
// Fences that a device stalls until its thread sees that the caller's work is done (device/fence.h).
#ifndef WEIR_ISSUE_FENCES_H
#define WEIR_ISSUE_FENCES_H

#include "device/fence.h"
#include "device/host.h"

typedef struct weir__fences {
  weir__lock lock;
  weir__external_fence *first; // guarded by the lock
  _Atomic uint32_t count;
} weir__fences;

// Takes over a fence whose task was submitted, or an import. Any thread.
void weir__fences_add(weir__fences *fences, weir__external_fence *fence);

static inline bool weir__fences_any(const weir__fences *fences) {
  return atomic_load_explicit(&fences->count, memory_order_seq_cst) > 0;
}

// Releases the tasks of fences that are over, and reports imports that are, which are destroyed: those that were
// cancelled, and those of which `is_over` says it, which is called with the fences' lock held. Returns whether there
// were any. By the device's thread.
bool weir__fences_serve(weir__fences *fences, weir__host *host,
                        bool (*is_over)(void *device, weir__external_fence *fence),
                        void (*destroy)(void *device, weir__external_fence *fence), void *device);

// Destroys what is left: imports that nobody waits for. The device's thread has ended.
void weir__fences_forget(weir__fences *fences, void (*destroy)(void *device, weir__external_fence *fence),
                         void *device);

#endif // WEIR_ISSUE_FENCES_H
