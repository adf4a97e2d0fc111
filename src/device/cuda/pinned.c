// SPDX-License-Identifier: Apache-2.0
//
// DESIGN. The ranges are sorted by address. Writers hold the lock; the generation is odd while they change anything. A reader takes no
// lock: it searches between two looks at the generation, and only if that has changed it searches again with the lock.
// Each access is atomic, in an order such that a reader that sees a change also sees the generation that announced it.
// The ranges stand amid their table, so that what comes at either end moves few others; drivers give addresses upwards or
// downwards. A table that is full makes way for one of twice the size, and is kept: a reader may be in it.
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
  _Atomic uint32_t first, end; // of the ranges in the table
  _Atomic(table *) table;      // NULL: there were no ranges yet
} all;

static table *current(void) {
  return atomic_load_explicit(&all.table, memory_order_acquire);
}

static uintptr_t end_of(const table *in, uint32_t index) {
  return atomic_load_explicit(&in->ranges[index].end, memory_order_acquire);
}

// Where the ranges stand, as far as a table has room for them: it may be an earlier one.
static uint32_t limited(const table *in, const _Atomic uint32_t *index) {
  uint32_t value = atomic_load_explicit(index, memory_order_acquire);
  return in == NULL ? 0 : value < in->capacity ? value : in->capacity;
}

static uint32_t first_in(const table *in) {
  return limited(in, &all.first);
}

static uint32_t end_in(const table *in) {
  return limited(in, &all.end);
}

// The first range that ends behind the address.
static uint32_t find(const table *in, uintptr_t address) {
  uint32_t low = first_in(in), high = end_in(in);
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
  if (at >= end_in(in)) return false;
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

static void stand(uint32_t first, uint32_t end) {
  atomic_store_explicit(&all.first, first, memory_order_release);
  atomic_store_explicit(&all.end, end, memory_order_release);
}

// The lock is held, when changes begin and when they end.
static void step_generation(void) {
  uint64_t generation = atomic_load_explicit(&all.generation, memory_order_relaxed);
  atomic_store_explicit(&all.generation, generation + 1, memory_order_release);
}

// Puts the ranges in the middle of a table, which may be the one in which they are. The lock is held.
static void put_amid(table *to, const table *from, uint32_t first, uint32_t count) {
  uint32_t place = (to->capacity - count) / 2;
  step_generation();
  for (uint32_t i = 0; i < count; i++) {
    uint32_t one = to == from && place > first ? count - 1 - i : i; // none is overwritten before it has moved
    move(to, place + one, from, first + one);
  }
  atomic_store_explicit(&all.table, to, memory_order_release);
  stand(place, place + count);
  step_generation();
}

// A table with room at both ends. The lock is held. NULL: no memory.
static table *make_room(void) {
  table *now = current(), *larger;
  uint32_t first = first_in(now), end = end_in(now), count = end - first;
  if (now != NULL && first > 0 && end < now->capacity) return now;
  if (now != NULL && count <= now->capacity / 2) {
    put_amid(now, now, first, count);
    return now;
  }
  uint32_t capacity = now == NULL ? FIRST_CAPACITY : 2 * now->capacity;
  larger = weir__allocate_zeroed(sizeof *larger + capacity * sizeof(range));
  if (larger == NULL && now != NULL && now->capacity - count > 1) { // there is some room
    put_amid(now, now, first, count);
    return now;
  }
  if (larger == NULL) return NULL;
  larger->before = now;
  larger->capacity = capacity;
  put_amid(larger, now, first, count);
  return larger;
}

void weir__cuda_pinned_add(const weir__cuda_device *device, const void *memory, uint64_t bytes) {
  weir__lock_acquire(&all.lock);
  table *in = make_room();
  if (in != NULL) {
    uint32_t first = first_in(in), end = end_in(in), at = find(in, (uintptr_t)memory);
    bool down = at - first < end - at; // those before it are fewer
    step_generation();
    for (uint32_t i = first; i < at && down; i++) move(in, i - 1, in, i);
    for (uint32_t i = end; i > at && !down; i--) move(in, i, in, i - 1);
    set(in, down ? at - 1 : at, (uintptr_t)memory, (uintptr_t)memory + bytes, device);
    stand(down ? first - 1 : first, down ? end : end + 1);
    step_generation();
  }
  weir__lock_release(&all.lock);
}

// The lock is held. Returns whether those before the one have moved up.
static bool cut(table *in, uint32_t at) {
  uint32_t first = first_in(in), end = end_in(in);
  bool up = at - first < end - at;
  step_generation();
  for (uint32_t i = at; i > first && up; i--) move(in, i, in, i - 1);
  for (uint32_t i = at; i + 1 < end && !up; i++) move(in, i, in, i + 1);
  stand(up ? first + 1 : first, up ? end : end - 1);
  step_generation();
  return up;
}

void weir__cuda_pinned_remove(const void *memory) {
  weir__lock_acquire(&all.lock);
  table *in = current();
  uint32_t at = find(in, (uintptr_t)memory);
  bool found =
      at < end_in(in) && atomic_load_explicit(&in->ranges[at].first, memory_order_relaxed) == (uintptr_t)memory;
  if (found) cut(in, at);
  weir__lock_release(&all.lock);
}

void weir__cuda_pinned_forget(const weir__cuda_device *device) {
  weir__lock_acquire(&all.lock);
  table *in = current();
  for (uint32_t i = end_in(in); i > first_in(in);) {
    bool replaced = in->ranges[i - 1].device == device && cut(in, i - 1); // by the one before it
    if (!replaced) i--;
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
