// SPDX-License-Identifier: Apache-2.0
//
// DESIGN. The ranges are sorted by address. Writers hold the lock; the generation is odd while they change anything. A reader takes no
// lock: it searches between two looks at the generation, and only if that has changed it searches again with the lock.
// Each access is atomic, in an order such that a reader that sees a change also sees the generation that announced it.
#include "device/cuda/pinned.h"

#include "base/lock.h"

enum { MOST_RANGES = 16384 };

typedef struct range {
  _Atomic uintptr_t first, end;
  const weir__cuda_device *device; // read with the lock only
} range;

static struct {
  weir__lock lock;
  _Atomic uint64_t generation;
  _Atomic uint32_t count;
  range ranges[MOST_RANGES];
} all;

static uintptr_t end_of(uint32_t index) {
  return atomic_load_explicit(&all.ranges[index].end, memory_order_acquire);
}

// The first range that ends behind the address.
static uint32_t find(uintptr_t address) {
  uint32_t low = 0, high = atomic_load_explicit(&all.count, memory_order_acquire);
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (end_of(middle) <= address)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

static bool covers(uintptr_t first, uint64_t bytes) {
  uint32_t at = find(first);
  if (at == atomic_load_explicit(&all.count, memory_order_acquire)) return false;
  uintptr_t end = end_of(at);
  return first >= atomic_load_explicit(&all.ranges[at].first, memory_order_acquire) && first < end &&
         bytes <= end - first;
}

static void set(uint32_t index, uintptr_t first, uintptr_t end, const weir__cuda_device *device) {
  atomic_store_explicit(&all.ranges[index].first, first, memory_order_release);
  atomic_store_explicit(&all.ranges[index].end, end, memory_order_release);
  all.ranges[index].device = device;
}

static void move(uint32_t to, uint32_t from) {
  const range *r = &all.ranges[from];
  set(to, atomic_load_explicit(&r->first, memory_order_relaxed), end_of(from), r->device);
}

// The lock is held, when changes begin and when they end.
static void step_generation(void) {
  uint64_t generation = atomic_load_explicit(&all.generation, memory_order_relaxed);
  atomic_store_explicit(&all.generation, generation + 1, memory_order_release);
}

void weir__cuda_pinned_add(const weir__cuda_device *device, const void *memory, uint64_t bytes) {
  weir__lock_acquire(&all.lock);
  uint32_t count = atomic_load_explicit(&all.count, memory_order_relaxed);
  if (count < MOST_RANGES) {
    uint32_t at = find((uintptr_t)memory);
    step_generation();
    for (uint32_t i = count; i > at; i--) move(i, i - 1);
    set(at, (uintptr_t)memory, (uintptr_t)memory + bytes, device);
    atomic_store_explicit(&all.count, count + 1, memory_order_release);
    step_generation();
  }
  weir__lock_release(&all.lock);
}

// The lock is held.
static void cut(uint32_t at) {
  uint32_t count = atomic_load_explicit(&all.count, memory_order_relaxed) - 1;
  step_generation();
  atomic_store_explicit(&all.count, count, memory_order_release);
  for (uint32_t i = at; i < count; i++) move(i, i + 1);
  step_generation();
}

void weir__cuda_pinned_remove(const void *memory) {
  weir__lock_acquire(&all.lock);
  uint32_t at = find((uintptr_t)memory);
  bool found = at < atomic_load_explicit(&all.count, memory_order_relaxed) &&
               atomic_load_explicit(&all.ranges[at].first, memory_order_relaxed) == (uintptr_t)memory;
  if (found) cut(at);
  weir__lock_release(&all.lock);
}

void weir__cuda_pinned_forget(const weir__cuda_device *device) {
  weir__lock_acquire(&all.lock);
  for (uint32_t i = atomic_load_explicit(&all.count, memory_order_relaxed); i > 0; i--) {
    if (all.ranges[i - 1].device == device) cut(i - 1);
  }
  weir__lock_release(&all.lock);
}

bool weir__cuda_pinned_covers(const void *memory, uint64_t bytes) {
  uint64_t generation = atomic_load_explicit(&all.generation, memory_order_acquire);
  bool known = covers((uintptr_t)memory, bytes);
  bool changed = generation % 2 != 0 || atomic_load_explicit(&all.generation, memory_order_relaxed) != generation;
  if (!changed) return known;
  weir__lock_acquire(&all.lock);
  known = covers((uintptr_t)memory, bytes);
  weir__lock_release(&all.lock);
  return known;
}
