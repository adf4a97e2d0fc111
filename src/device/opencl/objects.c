// SPDX-License-Identifier: Apache-2.0
#include "device/opencl/objects.h"

#include <string.h>
#include <sys/mman.h>

#include "base/allocate.h"
#include "device/opencl/image.h"

enum { BUCKETS = 4096, FIRST_CAPACITY = 32, LEAST_ALIGNMENT = 128 };

struct weir__opencl_sub_buffer {
  weir__opencl_sub_buffer *next;          // in its bucket
  weir__opencl_sub_buffer *newer, *older; // by last use
  const weir__opencl_object *object;
  uint64_t start, bytes; // in the object's parent
  cl_mem memory;
};

uint64_t weir__opencl_alignment(const weir__opencl_driver *driver, cl_device_id device) {
  cl_uint bits = 0;
  uint64_t alignment = LEAST_ALIGNMENT;
  if (driver->clGetDeviceInfo(device, CL_DEVICE_MEM_BASE_ADDR_ALIGN, sizeof bits, &bits, NULL) != CL_SUCCESS) bits = 0;
  if (bits > 0) alignment = 1;
  while (alignment < bits / 8) alignment *= 2;
  return alignment;
}

void weir__opencl_objects_initialize(weir__opencl_objects *objects, const weir__opencl_driver *driver,
                                     cl_context context, cl_device_id device) {
  *objects =
      (weir__opencl_objects){.driver = driver, .context = context, .alignment = weir__opencl_alignment(driver, device)};
}

// ---------------------------------------------------------------------------------------------------------------
// Sub-buffers. The lock is held.

static size_t bucket_of(const weir__opencl_object *object, uint64_t start, uint64_t bytes) {
  uint64_t mixed = ((uintptr_t)object >> 4) * UINT64_C(0x9E3779B97F4A7C15);
  mixed = (mixed ^ start) * UINT64_C(0xBF58476D1CE4E5B9);
  mixed = (mixed ^ mixed >> 29 ^ bytes) * UINT64_C(0x94D049BB133111EB);
  return (size_t)(mixed >> 32) % BUCKETS;
}

static void unlink_age(weir__opencl_objects *objects, weir__opencl_sub_buffer *part) {
  *(part->newer != NULL ? &part->newer->older : &objects->newest) = part->older;
  *(part->older != NULL ? &part->older->newer : &objects->oldest) = part->newer;
}

static void link_newest(weir__opencl_objects *objects, weir__opencl_sub_buffer *part) {
  part->newer = NULL;
  part->older = objects->newest;
  *(objects->newest != NULL ? &objects->newest->newer : &objects->oldest) = part;
  objects->newest = part;
}

// Commands that use it keep it alive.
static void drop_part(weir__opencl_objects *objects, weir__opencl_sub_buffer *part) {
  weir__opencl_sub_buffer **link = &objects->buckets[bucket_of(part->object, part->start, part->bytes)];
  while (*link != part) link = &(*link)->next;
  *link = part->next;
  unlink_age(objects, part);
  objects->part_count--;
  objects->driver->clReleaseMemObject(part->memory);
  weir__free(part);
}

static void drop_parts_of(weir__opencl_objects *objects, const weir__opencl_object *object) {
  for (weir__opencl_sub_buffer *part = objects->newest, *older; part != NULL; part = older) {
    older = part->older;
    if (part->object == object) drop_part(objects, part);
  }
}

static cl_int make_part(weir__opencl_objects *objects, const weir__opencl_object *object, uint64_t start,
                        uint64_t bytes, weir__opencl_sub_buffer **out_part) {
  cl_int result = CL_SUCCESS;
  const cl_buffer_region region = {(size_t)start, (size_t)bytes};
  *out_part = NULL;
  if (objects->buckets == NULL) objects->buckets = weir__allocate_zeroed(BUCKETS * sizeof *objects->buckets);
  if (objects->buckets == NULL) return CL_OUT_OF_HOST_MEMORY;
  weir__opencl_sub_buffer *part = weir__allocate(sizeof *part);
  if (part == NULL) return CL_OUT_OF_HOST_MEMORY;
  *part = (weir__opencl_sub_buffer){.object = object, .start = start, .bytes = bytes};
  part->memory = objects->driver->clCreateSubBuffer(object->parent, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &result);
  if (part->memory == NULL) {
    weir__free(part);
    return result == CL_SUCCESS ? CL_OUT_OF_HOST_MEMORY : result;
  }
  if (objects->part_count == WEIR__OPENCL_MOST_PARTS) drop_part(objects, objects->oldest);
  weir__opencl_sub_buffer **bucket = &objects->buckets[bucket_of(object, start, bytes)];
  part->next = *bucket;
  *bucket = part;
  link_newest(objects, part);
  objects->part_count++;
  *out_part = part;
  return CL_SUCCESS;
}

static weir__opencl_sub_buffer *find_part(weir__opencl_objects *objects, const weir__opencl_object *object,
                                          uint64_t start, uint64_t bytes) {
  weir__opencl_sub_buffer *part = objects->buckets == NULL ? NULL : objects->buckets[bucket_of(object, start, bytes)];
  while (part != NULL && (part->object != object || part->start != start || part->bytes != bytes)) part = part->next;
  if (part == NULL || part == objects->newest) return part;
  unlink_age(objects, part);
  link_newest(objects, part);
  return part;
}

static cl_int find_or_make_part(weir__opencl_objects *objects, weir__opencl_object *object, const void *address,
                                uint64_t bytes, bool holds, cl_mem *out_memory, size_t *out_offset) {
  uint64_t first = (uintptr_t)address - object->address;
  *out_offset = 0;
  *out_memory = object->memory;
  if (object->image != NULL || (first == 0 && bytes == object->bytes))
    return holds ? objects->driver->clRetainMemObject(object->memory) : CL_SUCCESS;
  uint64_t behind = (object->origin + first) & (objects->alignment - 1);
  uint64_t start = object->origin + first - behind;
  cl_int result = CL_SUCCESS;
  weir__lock_acquire(&objects->lock);
  weir__opencl_sub_buffer *part = find_part(objects, object, start, bytes + behind);
  if (part == NULL) result = make_part(objects, object, start, bytes + behind, &part);
  *out_memory = part != NULL ? part->memory : NULL;
  if (part != NULL && holds) result = objects->driver->clRetainMemObject(part->memory);
  weir__lock_release(&objects->lock);
  *out_offset = (size_t)behind;
  return result;
}

cl_int weir__opencl_object_part(weir__opencl_objects *objects, weir__opencl_object *object, const void *address,
                                uint64_t bytes, cl_mem *out_memory, size_t *out_offset) {
  return find_or_make_part(objects, object, address, bytes, false, out_memory, out_offset);
}

cl_int weir__opencl_object_hold_part(weir__opencl_objects *objects, weir__opencl_object *object, const void *address,
                                     uint64_t bytes, cl_mem *out_memory, size_t *out_offset) {
  return find_or_make_part(objects, object, address, bytes, true, out_memory, out_offset);
}

// ---------------------------------------------------------------------------------------------------------------
// Objects

// Index of the first object whose addresses lie behind `address`. The lock is held.
static uint32_t upper_bound(const weir__opencl_objects *objects, uintptr_t address) {
  uint32_t low = 0, high = objects->count;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (objects->list[middle]->address <= address)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

static bool reserve_entry(weir__opencl_objects *objects) {
  if (objects->count < objects->capacity) return true;
  uint32_t capacity = objects->capacity == 0 ? FIRST_CAPACITY : 2 * objects->capacity;
  weir__opencl_object **larger = weir__allocate(capacity * sizeof(weir__opencl_object *));
  if (larger == NULL) return false;
  if (objects->count > 0) memcpy(larger, objects->list, objects->count * sizeof(weir__opencl_object *));
  weir__free(objects->list);
  objects->list = larger;
  objects->capacity = capacity;
  return true;
}

static bool enter(weir__opencl_objects *objects, weir__opencl_object *object) {
  weir__lock_acquire(&objects->lock);
  bool entered = reserve_entry(objects);
  if (entered) {
    uint32_t at = upper_bound(objects, object->address);
    memmove(&objects->list[at + 1], &objects->list[at], (objects->count - at) * sizeof(weir__opencl_object *));
    objects->list[at] = object;
    objects->count++;
  }
  weir__lock_release(&objects->lock);
  return entered;
}

// Addresses that nothing else has.
static bool reserve_addresses(weir__opencl_object *object) {
  void *range = mmap(NULL, object->bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (range == MAP_FAILED) return false;
  object->address = (uintptr_t)range;
  return true;
}

static void release(const weir__opencl_objects *objects, weir__opencl_object *object) {
  if (object->memory != NULL) objects->driver->clReleaseMemObject(object->memory);
  weir__opencl_image_free(objects->driver, object->image);
  if (object->address != 0) munmap((void *)object->address, object->bytes);
  weir__free(object);
}

weir__opencl_object *weir__opencl_object_create(weir__opencl_objects *objects, uint64_t bytes) {
  cl_int result;
  weir__opencl_object *object = weir__allocate_zeroed(sizeof *object);
  if (object == NULL) return NULL;
  object->bytes = bytes;
  if (weir__allocate_permit())
    object->memory = objects->driver->clCreateBuffer(objects->context, CL_MEM_READ_WRITE, (size_t)bytes, NULL, &result);
  object->parent = object->memory;
  if (object->memory != NULL && reserve_addresses(object) && enter(objects, object)) return object;
  release(objects, object);
  return NULL;
}

weir__opencl_object *weir__opencl_object_import(weir__opencl_objects *objects, const weir__opencl_object *like) {
  weir__opencl_object *object = weir__allocate(sizeof *object);
  if (object == NULL) return NULL;
  *object = *like;
  object->memory = NULL; // until it is retained
  object->image = NULL;
  if (reserve_addresses(object) && objects->driver->clRetainMemObject(like->memory) == CL_SUCCESS) {
    object->memory = like->memory;
    if (enter(objects, object)) {
      object->image = like->image;
      return object;
    }
  }
  release(objects, object);
  return NULL;
}

void weir__opencl_object_destroy(weir__opencl_objects *objects, weir__opencl_object *object) {
  weir__lock_acquire(&objects->lock);
  uint32_t at = upper_bound(objects, object->address);
  objects->count--;
  memmove(&objects->list[at - 1], &objects->list[at], (objects->count + 1 - at) * sizeof(weir__opencl_object *));
  drop_parts_of(objects, object);
  weir__lock_release(&objects->lock);
  release(objects, object);
}

weir__opencl_object *weir__opencl_object_find(weir__opencl_objects *objects, const void *address) {
  weir__lock_acquire(&objects->lock);
  uint32_t after = upper_bound(objects, (uintptr_t)address);
  weir__opencl_object *found = after > 0 ? objects->list[after - 1] : NULL;
  weir__lock_release(&objects->lock);
  return found != NULL && (uintptr_t)address - found->address < found->bytes ? found : NULL;
}

weir__opencl_object *weir__opencl_object_of(weir__opencl_objects *objects, cl_mem memory) {
  weir__opencl_object *found = NULL;
  weir__lock_acquire(&objects->lock);
  for (uint32_t i = 0; i < objects->count && found == NULL; i++) {
    if (objects->list[i]->is_callers && objects->list[i]->memory == memory) found = objects->list[i];
  }
  weir__lock_release(&objects->lock);
  return found;
}

void weir__opencl_objects_deinitialize(weir__opencl_objects *objects) {
  while (objects->count > 0) weir__opencl_object_destroy(objects, objects->list[objects->count - 1]);
  weir__free(objects->list);
  weir__free(objects->buckets);
  objects->list = NULL;
  objects->buckets = NULL;
}
