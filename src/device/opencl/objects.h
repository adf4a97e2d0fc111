// SPDX-License-Identifier: Apache-2.0
//
// Memory as cl_mem objects, for devices without shared virtual memory and for the caller's own. Elsewhere in Weir memory has
// addresses, so every object has a range of them that is reserved and never touched; an address leads back to the object.
//
// Commands get sub-buffers with just the bytes that they use, since OpenCL leaves undefined what commands do that run at the same
// time on a buffer and on its sub-buffers. Sub-buffers begin at multiples of the device's alignment: so must the ranges of kernels,
// while copies say how far behind such a multiple they begin. Sub-buffers are kept until too many others were used since.
#ifndef WEIR_DEVICE_OPENCL_OBJECTS_H
#define WEIR_DEVICE_OPENCL_OBJECTS_H

#include "base/lock.h"
#include "device/opencl/driver.h"
#include "memory/pool.h"

enum { WEIR__OPENCL_MOST_PARTS = 8192 }; // more than a kernel has arguments

typedef struct weir__opencl_object {
  uintptr_t address;
  uint64_t bytes;
  cl_mem memory;   // all of it; a reference is held
  cl_mem parent;   // what sub-buffers are cut from: `memory`, or the buffer that this is a sub-buffer of
  uint64_t origin; // of `memory` in that
  // Of images, and of what the caller's buffers are on; these are let go when the last buffer is released.
  struct weir__opencl_image *image; // NULL: a buffer; owned
  bool is_callers;
  uint32_t wraps;    // buffers on it
  weir__id last_use; // of those that were released
} weir__opencl_object;

typedef struct weir__opencl_sub_buffer weir__opencl_sub_buffer;

typedef struct weir__opencl_objects {
  const weir__opencl_driver *driver;
  cl_context context;
  uint64_t alignment; // of sub-buffers, in bytes: a power of two
  weir__lock lock;    // guards the rest
  weir__opencl_object **list;
  uint32_t count, capacity; // ascending addresses
  weir__opencl_sub_buffer **buckets;
  weir__opencl_sub_buffer *newest, *oldest; // by last use
  uint32_t part_count;
} weir__opencl_objects;

// The device's alignment for sub-buffers, in bytes.
uint64_t weir__opencl_alignment(const weir__opencl_driver *driver, cl_device_id device);

void weir__opencl_objects_initialize(weir__opencl_objects *objects, const weir__opencl_driver *driver,
                                     cl_context context, cl_device_id device);
void weir__opencl_objects_deinitialize(weir__opencl_objects *objects);

// Makes an object of the context. NULL: no memory. Any thread, as all that follows.
weir__opencl_object *weir__opencl_object_create(weir__opencl_objects *objects, uint64_t bytes);
// Enters a cl_mem of the caller's, or of an image, with a reference of its own; it owns `like->image` then. NULL: no memory.
weir__opencl_object *weir__opencl_object_import(weir__opencl_objects *objects, const weir__opencl_object *like);
void weir__opencl_object_destroy(weir__opencl_objects *objects, weir__opencl_object *object);

// The object that an address lies in; NULL: none, it is the host's. That of a caller's cl_mem; NULL: it was not entered.
weir__opencl_object *weir__opencl_object_find(weir__opencl_objects *objects, const void *address);
weir__opencl_object *weir__opencl_object_of(weir__opencl_objects *objects, cl_mem memory);

// A cl_mem with these bytes of an object, which begin at byte `*out_offset` of it: 0 if the address is aligned. It stays valid
// while the next WEIR__OPENCL_MOST_PARTS - 1 are asked for, and in commands that were enqueued by then.
cl_int weir__opencl_object_part(weir__opencl_objects *objects, weir__opencl_object *object, const void *address,
                                uint64_t bytes, cl_mem *out_memory, size_t *out_offset);
// The same, with a reference for the caller.
cl_int weir__opencl_object_hold_part(weir__opencl_objects *objects, weir__opencl_object *object, const void *address,
                                     uint64_t bytes, cl_mem *out_memory, size_t *out_offset);

#endif // WEIR_DEVICE_OPENCL_OBJECTS_H
