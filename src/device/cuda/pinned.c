// SPDX-License-Identifier: Apache-2.0
//
// DESIGN. The ranges are sorted by address. Writers hold the lock; the generation is odd while they change anything. A reader takes no
// lock: it searches between two looks at the generation, and only if that has changed it searches again with the lock.
// Each access is atomic, in an order such that a reader that sees a change also sees the generation that announced it.
// A table that is full makes way for one of twice the size, and is kept: a reader may be in it.
#include "device/cuda/pinned.h"

#include "base/allocate.h"
#include "base/lock.h"

enum { FIRST_CAPACITY = 1024 };

typedef struct range {
  _Atomic uintptr_t first, end;
  const weir__cuda_device *device; // read with the lock only
} range;

typedef struct table {
  struct table *before; // not in use any more
  uint32_t capacity;
  range ranges[];
} table;

static struct {
  weir__lock lock;
  _Atomic uint64_t generation;
  _Atomic uint32_t count;
  _Atomic(table *) table; // NULL: there were no ranges yet
} all;

static table *current(void) {
  return atomic_load_explicit(&all.table, memory_order_acquire);
}

static uintptr_t end_of(const table *in, uint32_t index) {
  return atomic_load_explicit(&in->ranges[index].end, memory_order_acquire);
}

// How many ranges there are, as far as a table has room for them: it may be an earlier one.
static uint32_t count_in(const table *in) {
  uint32_t count = atomic_load_explicit(&all.count, memory_order_acquire);
  return in == NULL ? 0 : count < in->capacity ? count : in->capacity;
}

// The first range that ends behind the address.
static uint32_t find(const table *in, uintptr_t address) {
  uint32_t low = 0, high = count_in(in);
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (end_of(in, middle) <= address)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

static bool covers(uintptr_t first, uint64_t bytes) {
  const table *in = current();
  uint32_t at = find(in, first);
  if (at >= count_in(in)) return false;
  uintptr_t end = end_of(in, at);
  return first >= atomic_load_explicit(&in->ranges[at].first, memory_order_acquire) && first < end &&
         bytes <= end - first;
}

static void set(table *in, uint32_t index, uintptr_t first, uintptr_t end, const weir__cuda_device *device) {
  atomic_store_explicit(&in->ranges[index].first, first, memory_order_release);
  atomic_store_explicit(&in->ranges[index].end, end, memory_order_release);
  in->ranges[index].device = device;
}

static void move(table *in, uint32_t to, const table *from, uint32_t index) {
  const range *r = &from->ranges[index];
  set(in, to, atomic_load_explicit(&r->first, memory_order_relaxed), end_of(from, index), r->device);
}

// A table with room for one range more. The lock is held. NULL: no memory.
static table *make_room(uint32_t count) {
  table *now = current();
  if (now != NULL && count < now->capacity) return now;
  uint32_t capacity = now == NULL ? FIRST_CAPACITY : 2 * now->capacity;
  table *larger = weir__allocate_zeroed(sizeof *larger + capacity * sizeof(range));
  if (larger == NULL) return NULL;
  larger->before = now;
  larger->capacity = capacity;
  for (uint32_t i = 0; i < count; i++) move(larger, i, now, i);
  atomic_store_explicit(&all.table, larger, memory_order_release);
  return larger;
}

// The lock is held, when changes begin and when they end.
static void step_generation(void) {
  uint64_t generation = atomic_load_explicit(&all.generation, memory_order_relaxed);
  atomic_store_explicit(&all.generation, generation + 1, memory_order_release);
}

void weir__cuda_pinned_add(const weir__cuda_device *device, const void *memory, uint64_t bytes) {
  weir__lock_acquire(&all.lock);
  uint32_t count = atomic_load_explicit(&all.count, memory_order_relaxed);
  table *in = make_room(count);
  if (in != NULL) {
    uint32_t at = find(in, (uintptr_t)memory);
    step_generation();
    for (uint32_t i = count; i > at; i--) move(in, i, in, i - 1);
    set(in, at, (uintptr_t)memory, (uintptr_t)memory + bytes, device);
    atomic_store_explicit(&all.count, count + 1, memory_order_release);
    step_generation();
  }
  weir__lock_release(&all.lock);
}

// The lock is held.
static void cut(table *in, uint32_t at) {
  uint32_t count = atomic_load_explicit(&all.count, memory_order_relaxed) - 1;
  step_generation();
  atomic_store_explicit(&all.count, count, memory_order_release);
  for (uint32_t i = at; i < count; i++) move(in, i, in, i + 1);
  step_generation();
}

void weir__cuda_pinned_remove(const void *memory) {
  weir__lock_acquire(&all.lock);
  table *in = current();
  uint32_t at = find(in, (uintptr_t)memory);
  bool found =
      at < count_in(in) && atomic_load_explicit(&in->ranges[at].first, memory_order_relaxed) == (uintptr_t)memory;
  if (found) cut(in, at);
  weir__lock_release(&all.lock);
}

void weir__cuda_pinned_forget(const weir__cuda_device *device) {
  weir__lock_acquire(&all.lock);
  table *in = current();
  for (uint32_t i = count_in(in); i > 0; i--) {
    if (in->ranges[i - 1].device == device) cut(in, i - 1);
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
