// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/pinned.h"

#include <string.h>

#include "base/allocate.h"
#include "base/lock.h"

enum { REMEMBERED = 16, FIRST_CAPACITY = 32 };

typedef struct range {
  uintptr_t first, end;
  const weir__cuda_device *device;
} range;

// By address. `generation` changes when memory goes, so that what threads remember is not used any longer.
static struct {
  weir__lock lock;
  range *ranges;
  uint32_t count, capacity;
  _Atomic uint64_t generation;
} all;

// What a thread has found before: it takes no lock then.
static _Thread_local struct {
  uint64_t generation;
  uint32_t next;
  range ranges[REMEMBERED];
} remembered;

// The first range that ends behind the address. The lock is held.
static uint32_t find(uintptr_t address) {
  uint32_t low = 0, high = all.count;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (all.ranges[middle].end <= address)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

static bool reserve(void) {
  if (all.count < all.capacity) return true;
  uint32_t capacity = all.capacity == 0 ? FIRST_CAPACITY : 2 * all.capacity;
  range *larger = weir__allocate(capacity * sizeof *larger);
  if (larger == NULL) return false;
  if (all.count > 0) memcpy(larger, all.ranges, all.count * sizeof *larger);
  weir__free(all.ranges);
  all.ranges = larger;
  all.capacity = capacity;
  return true;
}

void weir__cuda_pinned_add(const weir__cuda_device *device, const void *memory, uint64_t bytes) {
  weir__lock_acquire(&all.lock);
  if (reserve()) {
    uint32_t at = find((uintptr_t)memory);
    memmove(all.ranges + at + 1, all.ranges + at, (all.count - at) * sizeof *all.ranges);
    all.ranges[at] = (range){(uintptr_t)memory, (uintptr_t)memory + bytes, device};
    all.count++;
  }
  weir__lock_release(&all.lock);
}

// The lock is held.
static void cut(uint32_t at) {
  atomic_fetch_add_explicit(&all.generation, 1, memory_order_seq_cst);
  all.count--;
  memmove(all.ranges + at, all.ranges + at + 1, (all.count - at) * sizeof *all.ranges);
  if (all.count > 0) return;
  weir__free(all.ranges);
  all.ranges = NULL;
  all.capacity = 0;
}

void weir__cuda_pinned_remove(const void *memory) {
  weir__lock_acquire(&all.lock);
  uint32_t at = find((uintptr_t)memory);
  if (at < all.count && all.ranges[at].first == (uintptr_t)memory) cut(at);
  weir__lock_release(&all.lock);
}

void weir__cuda_pinned_forget(const weir__cuda_device *device) {
  weir__lock_acquire(&all.lock);
  for (uint32_t i = all.count; i > 0; i--) {
    if (all.ranges[i - 1].device == device) cut(i - 1);
  }
  weir__lock_release(&all.lock);
}

static bool covers(const range *known, uintptr_t first, uint64_t bytes) {
  return first >= known->first && first < known->end && bytes <= known->end - first;
}

bool weir__cuda_pinned_covers(const void *memory, uint64_t bytes) {
  uintptr_t first = (uintptr_t)memory;
  uint64_t generation = atomic_load_explicit(&all.generation, memory_order_seq_cst);
  if (remembered.generation != generation) {
    memset(&remembered, 0, sizeof remembered);
    remembered.generation = generation;
  }
  for (uint32_t i = 0; i < REMEMBERED; i++) {
    if (covers(&remembered.ranges[i], first, bytes)) return true;
  }
  weir__lock_acquire(&all.lock);
  uint32_t at = find(first);
  range found = at < all.count ? all.ranges[at] : (range){0};
  weir__lock_release(&all.lock);
  if (!covers(&found, first, bytes)) return false;
  remembered.ranges[remembered.next] = found;
  remembered.next = (remembered.next + 1) % REMEMBERED;
  return true;
}
