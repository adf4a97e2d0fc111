// SPDX-License-Identifier: Apache-2.0
//
// Allocations, sorted by address. Freed ones stay for a while, filled with another pattern, so that their use is seen.
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

enum { ALIGNMENT = 512, GUARD = 512, FILLED = 256 * 1024 };
enum { GUARD_BYTE = 0x5c, NEW_BYTE = 0xa7, FREED_BYTE = 0xd9 };
enum { KEPT_BYTES = 32 * 1024 * 1024, KEPT_COUNT = 1024 };

static stub_allocation **allocations;
static size_t count, capacity;
static uint64_t used[STUB_MAX_DEVICES]; // live bytes
static uint64_t kept_bytes, kept_count;

// Index of the first allocation whose base is above the address.
static size_t above(uint64_t address) {
  size_t low = 0, high = count;
  while (low < high) {
    size_t middle = (low + high) / 2;
    if (allocations[middle]->base <= address)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

stub_allocation *stub_allocation_find(uint64_t address) {
  size_t index = above(address);
  if (index == 0) return NULL;
  stub_allocation *allocation = allocations[index - 1];
  return address - allocation->base < allocation->bytes ? allocation : NULL;
}

static void insert(stub_allocation *allocation) {
  if (count == capacity) {
    capacity = capacity == 0 ? 64 : 2 * capacity;
    allocations = stub_grow(allocations, capacity * sizeof(stub_allocation *));
  }
  size_t index = above(allocation->base);
  memmove(allocations + index + 1, allocations + index, (count - index) * sizeof(stub_allocation *));
  allocations[index] = allocation;
  count++;
}

static void forget(size_t index) {
  stub_allocation *allocation = allocations[index];
  memmove(allocations + index, allocations + index + 1, (count - index - 1) * sizeof(stub_allocation *));
  count--;
  kept_bytes -= allocation->bytes;
  kept_count--;
  free(allocation->raw);
  free(allocation);
}

// Lets go of freed memory at random places until there is less of it than is kept.
static void trim(void) {
  size_t start = count == 0 ? 0 : random_below(&stub.random, (uint32_t)count);
  for (size_t i = 0; i < count && (kept_bytes > KEPT_BYTES || kept_count > KEPT_COUNT);) {
    size_t index = (start + i) % count;
    if (allocations[index]->freed && allocations[index]->queued == 0)
      forget(index);
    else
      i++;
  }
}

// NULL: the machine has no memory.
static stub_allocation *allocate(stub_memory_kind kind, int device, uint64_t bytes) {
  unsigned char *raw = malloc(bytes + 2 * GUARD + ALIGNMENT);
  if (raw == NULL) return NULL;
  stub_allocation *allocation = stub_allocate(sizeof *allocation);
  uintptr_t start = ((uintptr_t)raw + GUARD + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  *allocation =
      (stub_allocation){.bytes = bytes, .host = (unsigned char *)start, .raw = raw, .kind = kind, .device = device};
  allocation->base = (uint64_t)start | (kind == STUB_DEVICE_MEMORY ? STUB_DEVICE_BIT : 0);
  memset(allocation->host, NEW_BYTE, bytes < FILLED ? bytes : FILLED);
  memset(allocation->host - GUARD, GUARD_BYTE, GUARD);
  memset(allocation->host + bytes, GUARD_BYTE, GUARD);
  insert(allocation);
  return allocation;
}

static void check_guards(const stub_allocation *allocation) {
  for (size_t i = 0; i < GUARD; i++) {
    if (allocation->host[-(ptrdiff_t)i - 1] != GUARD_BYTE) {
      stub_violation("written to %zu bytes before an allocation of %" PRIu64 " bytes", i + 1, allocation->bytes);
      return;
    }
    if (allocation->host[allocation->bytes + i] != GUARD_BYTE) {
      stub_violation("written to %zu bytes past an allocation of %" PRIu64 " bytes", i, allocation->bytes);
      return;
    }
  }
}

static void release(stub_allocation *allocation) {
  check_guards(allocation);
  if (allocation->kind == STUB_DEVICE_MEMORY) used[allocation->device] -= allocation->bytes;
  allocation->freed = true;
  kept_bytes += allocation->bytes;
  kept_count++;
  if (allocation->queued == 0)
    memset(allocation->host, FREED_BYTE, allocation->bytes < FILLED ? allocation->bytes : FILLED);
  trim();
}

stub_allocation *stub_memory_create(int device, uint64_t bytes) {
  if (bytes > stub.options.memory - used[device]) return NULL;
  stub_allocation *allocation = allocate(STUB_DEVICE_MEMORY, device, bytes);
  if (allocation != NULL) used[device] += bytes;
  return allocation;
}

void stub_memory_destroy(stub_allocation *allocation) {
  release(allocation);
}

// The allocation that starts at the address, for a function that frees it.
static stub_allocation *to_free(uint64_t address, stub_memory_kind kind, const char *function) {
  stub_allocation *allocation = stub_allocation_find(address);
  if (allocation == NULL || allocation->base != address || allocation->kind != kind) {
    stub_violation("%s: 0x%" PRIx64 " is not what was allocated", function, address);
    return NULL;
  }
  if (allocation->freed) {
    stub_violation("%s: 0x%" PRIx64 " was freed before", function, address);
    return NULL;
  }
  if (allocation->queued > 0)
    stub_violation("%s: %u operations that are not done refer to 0x%" PRIx64, function, allocation->queued, address);
  return allocation;
}

bool stub_memory_check(uint64_t address, uint64_t bytes, const char *what, stub_allocation **out_allocation) {
  stub_allocation *allocation = stub_allocation_find(address);
  *out_allocation = allocation;
  if (allocation == NULL) {
    bool host = (address & STUB_DEVICE_BIT) == 0 && address != 0;
    if (!host) stub_violation("%s: 0x%" PRIx64 " is no memory", what, address);
    return host;
  }
  if (allocation->freed) {
    stub_violation("%s: 0x%" PRIx64 " was freed", what, address);
    return false;
  }
  uint64_t offset = address - allocation->base;
  if (bytes > allocation->bytes - offset) {
    stub_violation("%s: %" PRIu64 " bytes at byte %" PRIu64 " of an allocation of %" PRIu64, what, bytes, offset,
                   allocation->bytes);
    return false;
  }
  return true;
}

void *stub_memory_host(uint64_t address) {
  return (void *)(uintptr_t)(address & ~STUB_DEVICE_BIT);
}

void stub_memory_drop_context(int device) {
  for (size_t i = 0; i < count;) {
    stub_allocation *allocation = allocations[i];
    if (allocation->freed || allocation->device != device) {
      i++;
      continue;
    }
    release(allocation);
    i = 0; // others may be gone too
  }
}

void stub_memory_count(stub_live_objects *live) {
  for (size_t i = 0; i < count; i++) {
    if (allocations[i]->freed) continue;
    if (allocations[i]->kind != STUB_DEVICE_MEMORY) {
      live->pinned++;
      continue;
    }
    live->device_allocations++;
    live->device_bytes += allocations[i]->bytes;
  }
}

CUresult cuMemAlloc_v2(CUdeviceptr *pointer, size_t bytes) {
  STUB_ENTER(cuMemAlloc_v2, STUB_CONTEXT | STUB_UNSAFE);
  if (pointer == NULL || bytes == 0) return stub_leave(CUDA_ERROR_INVALID_VALUE);
  int device = stub_current()->device;
  stub_allocation *allocation = stub_memory_create(device, bytes);
  if (allocation == NULL) return stub_leave(CUDA_ERROR_OUT_OF_MEMORY);
  *pointer = allocation->base;
  return stub_leave(CUDA_SUCCESS);
}

CUresult cuMemFree_v2(CUdeviceptr pointer) {
  STUB_ENTER(cuMemFree_v2, STUB_CONTEXT | STUB_UNSAFE | STUB_RELEASE);
  stub_allocation *allocation = to_free(pointer, STUB_DEVICE_MEMORY, "cuMemFree");
  if (allocation == NULL) return stub_leave(CUDA_ERROR_INVALID_VALUE);
  release(allocation);
  return stub_leave(CUDA_SUCCESS);
}

static uint64_t piece_bytes;

void stub_map_in_pieces(uint64_t bytes) {
  pthread_mutex_lock(&stub.lock);
  piece_bytes = bytes;
  pthread_mutex_unlock(&stub.lock);
}

CUresult cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *bytes, CUdeviceptr pointer) {
  STUB_ENTER(cuMemGetAddressRange_v2, STUB_CONTEXT);
  stub_allocation *allocation = stub_allocation_find(pointer);
  if (allocation == NULL || allocation->freed) return stub_leave(CUDA_ERROR_NOT_FOUND);
  uint64_t skipped = piece_bytes > 0 ? (pointer - allocation->base) / piece_bytes * piece_bytes : 0;
  uint64_t left = allocation->bytes - skipped;
  if (base != NULL) *base = allocation->base + skipped;
  if (bytes != NULL) *bytes = piece_bytes > 0 && left > piece_bytes ? piece_bytes : left;
  return stub_leave(CUDA_SUCCESS);
}

CUresult cuMemHostAlloc(void **pointer, size_t bytes, unsigned int flags) {
  STUB_ENTER(cuMemHostAlloc, STUB_CONTEXT | STUB_UNSAFE);
  if (pointer == NULL || bytes == 0 || flags > 7) return stub_leave(CUDA_ERROR_INVALID_VALUE);
  stub_allocation *allocation = allocate(STUB_PINNED, stub_current()->device, bytes);
  if (allocation == NULL) return stub_leave(CUDA_ERROR_OUT_OF_MEMORY);
  *pointer = allocation->host;
  return stub_leave(CUDA_SUCCESS);
}

CUresult cuMemFreeHost(void *pointer) {
  STUB_ENTER(cuMemFreeHost, STUB_CONTEXT | STUB_UNSAFE | STUB_RELEASE);
  stub_allocation *allocation = to_free((uint64_t)(uintptr_t)pointer, STUB_PINNED, "cuMemFreeHost");
  if (allocation == NULL) return stub_leave(CUDA_ERROR_INVALID_VALUE);
  release(allocation);
  return stub_leave(CUDA_SUCCESS);
}

CUresult cuPointerGetAttribute(void *value, CUpointer_attribute attribute, CUdeviceptr pointer) {
  STUB_ENTER(cuPointerGetAttribute, STUB_CONTEXT);
  stub_allocation *allocation = stub_allocation_find(pointer);
  if (allocation == NULL || allocation->freed) return stub_leave(CUDA_ERROR_INVALID_VALUE);
  switch (attribute) {
  case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
    *(unsigned *)value = allocation->kind == STUB_DEVICE_MEMORY ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
    break;
  case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
    *(int *)value = allocation->device;
    break;
  default:
    return stub_leave(CUDA_ERROR_INVALID_VALUE);
  }
  return stub_leave(CUDA_SUCCESS);
}
