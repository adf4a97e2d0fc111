// SPDX-License-Identifier: Apache-2.0
#include "base/allocate.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/tsan.h"

static _Atomic uint64_t allocation_count;
static _Atomic uint64_t fail_at;

int weir__allocate_permit(void) {
  uint64_t number = atomic_fetch_add_explicit(&allocation_count, 1, memory_order_relaxed) + 1;
  uint64_t target = atomic_load_explicit(&fail_at, memory_order_relaxed);
  return target == 0 || number != target;
}

void weir__allocate_fail_at(uint64_t n) {
  uint64_t now = atomic_load_explicit(&allocation_count, memory_order_relaxed);
  atomic_store_explicit(&fail_at, n == 0 ? 0 : now + n, memory_order_relaxed);
}

uint64_t weir__allocate_count(void) {
  return atomic_load_explicit(&allocation_count, memory_order_relaxed);
}

void *weir__allocate(size_t bytes) {
  if (!weir__allocate_permit() || bytes > SIZE_MAX - 64) return NULL;
  size_t rounded = (bytes + 63) & ~(size_t)63;
  weir__tsan_ignore();
  void *memory = aligned_alloc(64, rounded == 0 ? 64 : rounded);
  weir__tsan_heed();
  return memory;
}

void *weir__allocate_zeroed(size_t bytes) {
  void *memory = weir__allocate(bytes);
  if (memory == NULL) return NULL;
  weir__tsan_ignore();
  memset(memory, 0, bytes);
  weir__tsan_heed();
  return memory;
}

void *weir__allocate_sparse(size_t bytes) {
  if (!weir__allocate_permit()) return NULL;
  weir__tsan_ignore();
  void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  weir__tsan_heed();
  if (memory == MAP_FAILED) return NULL;
#ifdef MADV_HUGEPAGE
  (void)madvise(memory, bytes, MADV_HUGEPAGE); // only speed is at stake
#endif
  return memory;
}

void weir__free_sparse(void *memory, size_t bytes) {
  if (memory == NULL) return;
  weir__tsan_ignore();
  munmap(memory, bytes);
  weir__tsan_heed();
}

char *weir__allocate_string(const char *text) {
  size_t bytes = strlen(text) + 1;
  char *copy = weir__allocate(bytes);
  if (copy != NULL) memcpy(copy, text, bytes);
  return copy;
}

void weir__free(void *memory) {
  weir__tsan_ignore();
  free(memory);
  weir__tsan_heed();
}
