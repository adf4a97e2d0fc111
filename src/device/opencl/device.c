// SPDX-License-Identifier: Apache-2.0
//
// OpenCL devices: made, asked, destroyed. A device that works in the host's memory has no `memory` function, and is otherwise
// the same.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/allocate.h"
#include "base/clock.h"
#include "base/error.h"
#include "device/cpu/cpu.h"
#include "device/opencl/opencl.h"
#include "device/opencl/parts.h"
#include "device/opencl/program.h"

enum {
  DEFAULT_QUEUES = 8,
  SMALLEST_CHUNK = 4 << 20,
  LARGEST_CHUNK = 128 << 20,
  SPIN_NS = 50000, // before the device's thread sleeps, where there are cores for it
  SPIN_NS_FEW_CORES = 2000,
};

extern const weir__device_ops weir__opencl_ops, weir__opencl_shared_ops;

// A large allocation: the driver's may be aligned less than the arena asks for.
struct weir__opencl_chunk {
  struct weir__opencl_chunk *next;
  void *allocated;
  char *memory;
};

bool weir__is_opencl(const weir_device *device) {
  return device->ops == &weir__opencl_ops || device->ops == &weir__opencl_shared_ops;
}

static void *allocate_memory(void *user, uint64_t bytes) {
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

static void free_memory(void *user, void *memory) {
  weir__opencl_device *device = user;
  weir__opencl_chunk **link = &device->chunks;
  while ((*link)->memory != memory) link = &(*link)->next;
  weir__opencl_chunk *chunk = *link;
  *link = chunk->next;
  device->driver->clSVMFree(device->context, chunk->allocated);
  weir__free(chunk);
}

// The host's memory stays what it is: the device copies from and to any of it.
static void memory(weir_device *base, weir__memory_source *out_device_memory, weir__memory_source *out_host_memory) {
  (void)out_host_memory;
  *out_device_memory = weir__arena_source(&weir__opencl_of(base)->memory);
}

static bool reaches(weir_device *base, const void *host_memory, uint64_t bytes, bool writes) {
  (void)base;
  (void)host_memory;
  (void)bytes;
  (void)writes;
  return true;
}

// What never ended is left to the driver: releasing it would wait.
static void release_objects(weir__opencl_device *device) {
  const weir__opencl_driver *driver = device->driver;
  if (device->stuck) return;
  for (uint32_t i = 0; device->queues_in_flight != NULL && i < device->queue_count; i++) {
    if (device->queues_in_flight[i].queue != NULL) driver->clReleaseCommandQueue(device->queues_in_flight[i].queue);
  }
  weir__opencl_programs_destroy(device);
  weir__arena_deinitialize(&device->memory);
  if (device->context != NULL) driver->clReleaseContext(device->context);
}

static void destroy(weir_device *base) {
  weir__opencl_device *device = weir__opencl_of(base);
  weir__opencl_thread_stop(device);
  release_objects(device);
  weir__queues_destroy(device->queues);
  while (device->free_ops != NULL) {
    weir__opencl_op *op = device->free_ops;
    device->free_ops = op->next;
    weir__free(op);
  }
  if (device->bell != NULL && atomic_fetch_sub_explicit(&device->bell->references, 1, memory_order_acq_rel) == 1)
    weir__free(device->bell);
  weir__free(device->queues_in_flight);
  weir__free(device->places);
  weir__free_sparse(device->slot_ops, base->context->window.size * sizeof(weir__opencl_op *));
  weir__free_sparse(device->ring, base->context->window.size * sizeof(weir__task *));
  weir__free(device);
}

static bool allocate(weir__opencl_device *device) {
  uint32_t window = device->base.context->window.size;
  device->ring = weir__allocate_sparse(window * sizeof(weir__task *));
  device->slot_ops = weir__allocate_sparse(window * sizeof(weir__opencl_op *));
  device->queues_in_flight = weir__allocate_zeroed(device->queue_count * sizeof *device->queues_in_flight);
  device->queues = weir__queues_create(device->queue_count, 0);
  device->bell = weir__allocate_zeroed(sizeof *device->bell);
  if (device->bell != NULL) device->bell->references = 1;
  return device->ring != NULL && device->slot_ops != NULL && device->queues_in_flight != NULL &&
         device->queues != NULL && device->bell != NULL && weir__opencl_reserve_places(device, 64);
}

static weir_status open_device(weir__opencl_device *device, const weir__opencl_name *name) {
  const weir__opencl_driver *driver = device->driver;
  bool traces = device->base.context->trace != NULL;
  const cl_ulong properties[] = {CL_QUEUE_PROPERTIES, traces ? CL_QUEUE_PROFILING_ENABLE : 0, 0};
  cl_int result = CL_SUCCESS;
  device->device = device->listed->device;
  if (name->parts > 0) result = weir__opencl_part(driver, device->listed, name->parts, name->part, &device->device);
  if (result != CL_SUCCESS) {
    weir__opencl_error(result, "device %s: part %u of %u", device->base.name, name->part, name->parts);
    return WEIR_ERROR_UNAVAILABLE;
  }
  device->context = driver->clCreateContext(NULL, 1, &device->device, NULL, NULL, &result);
  if (device->context == NULL) {
    weir__opencl_error(result == CL_SUCCESS ? CL_OUT_OF_HOST_MEMORY : result, "device %s", device->base.name);
    return WEIR_ERROR_UNAVAILABLE;
  }
  for (uint32_t i = 0; i < device->queue_count; i++) {
    weir__opencl_queue *queue = &device->queues_in_flight[i];
    queue->queue = driver->clCreateCommandQueueWithProperties(device->context, device->device, properties, &result);
    if (queue->queue == NULL)
      return weir__opencl_error(result == CL_SUCCESS ? CL_OUT_OF_HOST_MEMORY : result, "device %s: queue %u",
                                device->base.name, i);
  }
  return WEIR_OK;
}

static uint32_t units_of(const weir__opencl_listed *listed, const weir__opencl_name *name) {
  return name->parts > 0 ? listed->units / name->parts : listed->units;
}

// A CPU runs no more commands at once than it has cores, and order between queues costs it more than order within one.
static uint32_t default_queues(const weir__opencl_listed *listed, const weir__opencl_name *name) {
  uint32_t units = units_of(listed, name);
  return (listed->type & CL_DEVICE_TYPE_CPU) != 0 && units < DEFAULT_QUEUES ? units : DEFAULT_QUEUES;
}

static void describe(weir__opencl_device *device, const weir__opencl_name *name) {
  const weir__opencl_listed *listed = device->listed;
  bool parts = name->parts > 0;
  int used = snprintf(device->base.name, sizeof device->base.name, "opencl:%u", name->number);
  if (parts)
    snprintf(device->base.name + used, sizeof device->base.name - (size_t)used, "/%u.%u", name->parts, name->part);
  uint32_t units = units_of(listed, name);
  snprintf(device->base.description, sizeof device->base.description, "%.60s, %.40s, %u compute unit%s, %s, %u queue%s",
           listed->name, listed->platform_name, units, units == 1 ? "" : "s",
           device->base.ops->memory == NULL ? "the host's memory" : "memory of its own", device->queue_count,
           device->queue_count == 1 ? "" : "s");
}

static weir_status create(weir_context *context, const char *argument, uint32_t queues, weir_device **out_device) {
  char reason[256];
  weir__opencl_name name;
  const weir__opencl_driver *driver = weir__opencl_driver_load(reason, sizeof reason);
  if (driver == NULL) return weir__error(WEIR_ERROR_UNAVAILABLE, "device opencl: %s", reason);
  weir_status status = weir__opencl_parse(driver, argument, &name);
  if (status != WEIR_OK) return status;
  if (queues > WEIR__OPENCL_MOST_QUEUES)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "device opencl: %u queues; 1 to %d are possible", queues,
                       WEIR__OPENCL_MOST_QUEUES);
  weir__opencl_device *device = weir__allocate_zeroed(sizeof *device);
  if (device == NULL) return weir__error(WEIR_ERROR_OUT_OF_MEMORY, "device opencl: no memory");
  device->driver = driver;
  device->listed = &driver->devices[name.number];
  if (queues == 0) queues = default_queues(device->listed, &name);
  device->queue_count = context->flags & WEIR_CONTEXT_IN_ORDER ? 1 : queues;
  device->base = (weir_device){.ops = weir__opencl_shares_memory(driver, name.number) ? &weir__opencl_shared_ops
                                                                                      : &weir__opencl_ops,
                               .context = context,
                               .lanes = device->queue_count,
                               .queues = device->queue_count};
  device->spin_ns = context->crowded ? SPIN_NS_FEW_CORES : SPIN_NS;
  describe(device, &name);
  weir__memory_source chunks = {.allocate = allocate_memory, .free = free_memory, .user = device};
  weir__arena_initialize(&device->memory, &chunks, SMALLEST_CHUNK, LARGEST_CHUNK);
  status =
      allocate(device) ? open_device(device, &name) : weir__error(WEIR_ERROR_OUT_OF_MEMORY, "device opencl: no memory");
  if (status == WEIR_OK) status = weir__opencl_thread_start(device);
  if (status != WEIR_OK) {
    destroy(&device->base);
    return status;
  }
  *out_device = &device->base;
  return WEIR_OK;
}

static bool has_code(const weir_device *device, const weir_kernel *kernel) {
  return kernel != NULL && kernel->opencl != NULL && kernel->opencl->kernels[device->index] != NULL;
}

static uint64_t time_now(weir_device *device) {
  return weir__clock_ns() - device->context->start_ns;
}

#define OPENCL_OPS                                                                                                     \
  .kind = "opencl", .code = WEIR__CODE_OPENCL, .run_ahead = true, .threaded = true, .probe = weir__opencl_probe,       \
  .create = create, .destroy = destroy, .reaches = reaches, .check = weir__opencl_kernel_check, .has_code = has_code,  \
  .issue = weir__opencl_push, .time = time_now

const weir__device_ops weir__opencl_ops = {OPENCL_OPS, .memory = memory};
const weir__device_ops weir__opencl_shared_ops = {OPENCL_OPS};
