// SPDX-License-Identifier: Apache-2.0
//
// Where a device's storage comes from: blocks are cut from large allocations, of shared virtual memory or of memory objects.
#include "base/allocate.h"
#include "device/opencl/opencl.h"
#include "device/opencl/share.h"

enum { SMALLEST_CHUNK = 4 << 20, LARGEST_CHUNK = 128 << 20 };

// A large allocation: the driver's may be aligned less than the arena asks for.
struct weir__opencl_chunk {
  struct weir__opencl_chunk *next;
  void *allocated;
  char *memory;
};

static void *allocate_shared(void *user, uint64_t bytes) {
  weir__opencl_device *device = user;
  weir__opencl_chunk *chunk = weir__allocate(sizeof *chunk);
  if (chunk == NULL) return NULL;
  size_t size = (size_t)bytes + WEIR__ARENA_ALIGNMENT;
  chunk->allocated =
      weir__allocate_permit() ? device->driver->clSVMAlloc(device->context, CL_MEM_READ_WRITE, size, 0) : NULL;
  if (chunk->allocated == NULL) {
    weir__free(chunk);
    return NULL;
  }
  uintptr_t misaligned = (uintptr_t)chunk->allocated % WEIR__ARENA_ALIGNMENT;
  chunk->memory = (char *)chunk->allocated + (misaligned == 0 ? 0 : WEIR__ARENA_ALIGNMENT - misaligned);
  chunk->next = device->chunks;
  device->chunks = chunk;
  return chunk->memory;
}

static void free_shared(void *user, void *memory) {
  weir__opencl_device *device = user;
  weir__opencl_chunk **link = &device->chunks;
  while ((*link)->memory != memory) link = &(*link)->next;
  weir__opencl_chunk *chunk = *link;
  *link = chunk->next;
  if (!device->stuck) device->driver->clSVMFree(device->context, chunk->allocated);
  weir__free(chunk);
}

static void *allocate_object(void *user, uint64_t bytes) {
  weir__opencl_device *device = user;
  const weir__opencl_object *object = weir__opencl_object_create(&device->objects, bytes);
  return object != NULL ? (void *)object->address : NULL;
}

static void free_object(void *user, void *memory) {
  weir__opencl_device *device = user;
  if (!device->stuck) weir__opencl_object_destroy(&device->objects, weir__opencl_object_find(&device->objects, memory));
}

// Blocks are cut one behind another: as long as all have a multiple of the alignment, they begin at multiples of it.
static void *allocate_block(void *user, uint64_t bytes) {
  weir__opencl_device *device = user;
  uint64_t alignment = device->memory_kind == WEIR__OPENCL_OBJECTS ? device->objects.alignment : 1;
  weir__opencl_sweep(device);
  weir__memory_source blocks = weir__arena_source(&device->memory);
  return blocks.allocate(blocks.user, (bytes + alignment - 1) & ~(alignment - 1));
}

static void free_block(void *user, void *memory) {
  weir__memory_source blocks = weir__arena_source(&((weir__opencl_device *)user)->memory);
  blocks.free(blocks.user, memory);
}

void weir__opencl_memory_initialize(weir__opencl_device *device) {
  bool objects = device->memory_kind == WEIR__OPENCL_OBJECTS;
  weir__memory_source chunks = {.allocate = objects ? allocate_object : allocate_shared,
                                .free = objects ? free_object : free_shared,
                                .user = device};
  weir__arena_initialize(&device->memory, &chunks, SMALLEST_CHUNK, LARGEST_CHUNK);
}

void weir__opencl_memory_deinitialize(weir__opencl_device *device) {
  weir__arena_deinitialize(&device->memory);
  weir__opencl_objects_deinitialize(&device->objects);
}

// The host's memory stays what it is: the device copies from and to any of it.
void weir__opencl_memory(weir_device *base, weir__memory_source *out_device_memory,
                         weir__memory_source *out_host_memory) {
  (void)out_host_memory;
  *out_device_memory =
      (weir__memory_source){.allocate = allocate_block, .free = free_block, .user = weir__opencl_of(base)};
}
