// SPDX-License-Identifier: Apache-2.0
//
// The memory of a graph that is adopted: which bytes are of which buffer. One buffer for all that is used of an
// allocation, or of neighbouring ones, since a large one may be made of several; and for each stretch of the host's.
#include <stdlib.h>
#include <string.h>

#include "api/adopt.h"
#include "base/allocate.h"
#include "base/error.h"

typedef weir__adoption adoption;
typedef weir__adopt_use use;
typedef weir__adopt_place place;

bool weir__adopt_add_place(adoption *to, const place *added) {
  if (to->place_count == to->place_capacity) {
    uint32_t capacity = to->place_capacity == 0 ? 64 : 2 * to->place_capacity;
    place *larger = weir__allocate(capacity * sizeof *larger);
    if (larger == NULL) return false;
    if (to->place_count > 0) memcpy(larger, to->places, to->place_count * sizeof *larger);
    weir__free(to->places);
    to->places = larger;
    to->place_capacity = capacity;
  }
  to->places[to->place_count++] = *added;
  return true;
}

// ---------------------------------------------------------------------------------------------------------------
// The caller's buffers

static int by_address(const void *left, const void *right) {
  uint64_t a = ((const place *)left)->lo, b = ((const place *)right)->lo;
  return a < b ? -1 : a > b;
}

static weir_status take_buffer(adoption *to, uint32_t index) {
  weir_buffer *buffer = to->options->buffers[index];
  const weir_device *device = to->nodes->given.device;
  weir_status status = weir__object_check(buffer, WEIR__KIND_BUFFER, to->context, "adopt, buffers");
  if (status != WEIR_OK) return status;
  if (!buffer->wrapped || buffer->image || buffer->adopted || buffer->home != device->space)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT,
                       "adopt: buffer %llu '%s' (buffers[%u]) is not on wrapped memory of %s",
                       (unsigned long long)buffer->id, buffer->label, index, device->name);
  uint64_t lo = (uintptr_t)buffer->replicas[buffer->home].memory;
  const place added = {.lo = lo, .hi = lo + buffer->bytes, .buffer = buffer};
  return weir__adopt_add_place(to, &added) ? WEIR_OK : weir__adopt_no_memory();
}

weir_status weir__adopt_take_buffers(adoption *to) {
  if (to->options->buffer_count > 0 && to->options->buffers == NULL)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "adopt: the list of buffers is NULL");
  weir__context_lock(to->context);
  weir_status status = WEIR_OK;
  for (uint32_t i = 0; i < to->options->buffer_count && status == WEIR_OK; i++) status = take_buffer(to, i);
  weir__context_unlock(to->context);
  if (status != WEIR_OK || to->place_count == 0) return status;
  to->given_count = to->place_count;
  qsort(to->places, to->place_count, sizeof *to->places, by_address);
  for (uint32_t i = 1; i < to->place_count; i++) {
    const place *one = &to->places[i - 1], *other = &to->places[i];
    if (one->hi <= other->lo) continue;
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "adopt: buffers %llu '%s' and %llu '%s' overlap at 0x%llx",
                       (unsigned long long)one->buffer->id, one->buffer->label, (unsigned long long)other->buffer->id,
                       other->buffer->label, (unsigned long long)other->lo);
  }
  return WEIR_OK;
}

// ---------------------------------------------------------------------------------------------------------------
// Other memory

typedef struct ordered_use {
  uint64_t lo;
  uint32_t use;
} ordered_use;

static int by_first_byte(const void *left, const void *right) {
  uint64_t a = ((const ordered_use *)left)->lo, b = ((const ordered_use *)right)->lo;
  return a < b ? -1 : a > b;
}

typedef enum memory_kind { OF_NOBODY, OF_HOST, OF_DEVICE } memory_kind;

// Memory from the use that is looked at on.
typedef struct region {
  memory_kind kind;
  uint64_t end; // of a device's: of its allocations
} region;

static memory_kind kind_of(const adoption *to, uint64_t pointer, int *out_ordinal) {
  const weir__cuda_driver *driver = to->nodes->device->driver;
  unsigned int type = 0;
  *out_ordinal = -1;
  if (driver->cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, pointer) != CUDA_SUCCESS) return OF_NOBODY;
  if (type != CU_MEMORYTYPE_DEVICE) return OF_HOST;
  driver->cuPointerGetAttribute(out_ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, pointer);
  return OF_DEVICE;
}

// Memory that CUDA does not know is the host's, which kernels do not reach.
static weir_status find_region(const adoption *to, const use *used, region *out_region) {
  const weir__cuda_device *device = to->nodes->device;
  weir_cuda_node_kind node = to->nodes->own[used->node].kind;
  char what[WEIR__ADOPT_WHAT_BYTES];
  int ordinal;
  CUdeviceptr base = used->lo;
  size_t bytes = 0;
  memory_kind kind = kind_of(to, used->lo, &ordinal);
  *out_region = (region){.kind = kind == OF_NOBODY ? OF_HOST : kind};
  weir__adopt_describe(to, used->node, what);
  if (kind == OF_NOBODY && node != WEIR_CUDA_NODE_COPY && node != WEIR_CUDA_NODE_HOST)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "%s: %llu bytes from 0x%llx are in no memory that CUDA knows", what,
                       (unsigned long long)(used->hi - used->lo), (unsigned long long)used->lo);
  if (kind != OF_DEVICE) return WEIR_OK;
  if (ordinal != device->ordinal)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "%s: 0x%llx is memory of CUDA device %d, not of %s", what,
                       (unsigned long long)used->lo, ordinal, device->base.device.name);
  CUresult result = device->driver->cuMemGetAddressRange(&base, &bytes, used->lo);
  out_region->end = base + bytes;
  return weir__cuda_error(device->driver, result, "%s: the allocation of 0x%llx", what, (unsigned long long)used->lo);
}

// An allocation that begins where the region ends is part of it, if a use goes on there.
static weir_status extend_region(const adoption *to, const use *used, region *in) {
  const weir__cuda_device *device = to->nodes->device;
  while (in->kind == OF_DEVICE && used->hi > in->end) {
    int ordinal;
    CUdeviceptr base = 0;
    size_t bytes = 0;
    bool goes_on = kind_of(to, in->end, &ordinal) == OF_DEVICE && ordinal == device->ordinal &&
                   device->driver->cuMemGetAddressRange(&base, &bytes, in->end) == CUDA_SUCCESS && base == in->end &&
                   bytes > 0;
    if (goes_on) {
      in->end += bytes;
      continue;
    }
    char what[WEIR__ADOPT_WHAT_BYTES];
    weir__adopt_describe(to, used->node, what);
    return weir__error(
        WEIR_ERROR_OUT_OF_RANGE, "%s: %llu bytes from 0x%llx leave their allocation, which ends at 0x%llx", what,
        (unsigned long long)(used->hi - used->lo), (unsigned long long)used->lo, (unsigned long long)in->end);
  }
  return WEIR_OK;
}

static bool is_in(const adoption *to, const use *used, const region *in) {
  if (in->kind == OF_DEVICE) return used->lo < in->end;
  bool by_device = to->nodes->own[used->node].kind <= WEIR_CUDA_NODE_SET &&
                   to->nodes->own[used->node].kind != WEIR_CUDA_NODE_COPY; // what it cannot reach is refused
  return in->kind == OF_HOST && !by_device && used->lo <= to->places[to->place_count - 1].hi;
}

// The place of a use, in order of their first bytes.
static weir_status find_place(adoption *to, use *used, region *in) {
  weir_status status = WEIR_OK;
  if (!is_in(to, used, in)) {
    region before = *in;
    status = find_region(to, used, in);
    bool touches = in->kind == OF_HOST && before.kind == OF_HOST && used->lo <= to->places[to->place_count - 1].hi;
    const place added = {.lo = used->lo, .hi = used->lo};
    if (status == WEIR_OK && !touches && !weir__adopt_add_place(to, &added)) status = weir__adopt_no_memory();
  }
  if (status == WEIR_OK) status = extend_region(to, used, in);
  if (status != WEIR_OK) return status;
  place *last = &to->places[to->place_count - 1];
  if (used->hi > last->hi) last->hi = used->hi;
  used->place = to->place_count - 1;
  return WEIR_OK;
}

static weir_status find_all_places(adoption *to, const ordered_use *order, uint32_t count) {
  const weir__cuda_device *device = to->nodes->device;
  region in = {OF_NOBODY, 0};
  CUresult result = weir__cuda_enter(device);
  weir_status status = weir__cuda_error(device->driver, result, "adopt");
  if (result != CUDA_SUCCESS) return status;
  for (uint32_t i = 0; i < count && status == WEIR_OK; i++) status = find_place(to, &to->uses[order[i].use], &in);
  weir__cuda_leave(device);
  return status;
}

weir_status weir__adopt_find_places(adoption *to) {
  ordered_use *order = weir__allocate(((size_t)to->use_count + 1) * sizeof *order);
  uint32_t count = 0;
  if (order == NULL) return weir__adopt_no_memory();
  for (uint32_t i = 0; i < to->use_count; i++)
    if (to->uses[i].place == UINT32_MAX) order[count++] = (ordered_use){to->uses[i].lo, i};
  qsort(order, count, sizeof *order, by_first_byte);
  weir_status status = count == 0 ? WEIR_OK : find_all_places(to, order, count);
  weir__free(order);
  return status;
}
