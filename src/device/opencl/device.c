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
#include "device/opencl/enqueue.h"
#include "device/opencl/fence.h"
#include "device/opencl/image.h"
#include "device/opencl/open_task.h"
#include "device/opencl/opencl.h"
#include "device/opencl/parts.h"
#include "device/opencl/program.h"
#include "device/opencl/share.h"

enum {
  DEFAULT_QUEUES = 8,
  SPIN_NS = 50000, // before the device's thread sleeps, where there are cores for it
  SPIN_NS_FEW_CORES = 2000,
};

static const char *const MEMORIES[] = {[WEIR__OPENCL_HOST] = "the host's memory",
                                       [WEIR__OPENCL_SHARED] = "memory of its own",
                                       [WEIR__OPENCL_OBJECTS] = "memory objects"};

extern const weir__device_ops weir__opencl_ops, weir__opencl_shared_ops;

static const weir__in_order_table table = {.operation_bytes = sizeof(weir__opencl_operation),
                                           .pauses = 8,
                                           .rounds_per_clock = 16,
                                           .work = weir__opencl_work,
                                           .may_sleep = weir__opencl_may_sleep,
                                           .enqueue = weir__opencl_enqueue,
                                           .last_done = weir__opencl_last_done,
                                           .finish = weir__opencl_finish,
                                           .report = weir__opencl_report,
                                           .await = weir__opencl_await,
                                           .lose = weir__opencl_lose,
                                           .drain = weir__opencl_drain,
                                           .fence_is_over = weir__opencl_fence_is_over,
                                           .fence_destroy = weir__opencl_fence_destroy};

static bool can_access_host(weir_device *base, const void *host_memory, uint64_t bytes, bool writes) {
  (void)base;
  (void)host_memory;
  (void)bytes;
  (void)writes;
  return true;
}

// One that the caller's functions released is left to the driver: how many references are the device's is not known.
static void release_queue(const weir__opencl_driver *driver, const weir__opencl_queue *queue) {
  cl_uint count = 1 + WEIR__OPENCL_GUARDS;
  if (queue->queue == NULL || queue->was_released) return;
  if (queue->guarded) driver->clGetCommandQueueInfo(queue->queue, CL_QUEUE_REFERENCE_COUNT, sizeof count, &count, NULL);
  if (count <= WEIR__OPENCL_GUARDS) return;
  for (uint32_t i = 0; queue->guarded && i < WEIR__OPENCL_GUARDS; i++) driver->clReleaseCommandQueue(queue->queue);
  driver->clReleaseCommandQueue(queue->queue);
}

// What never ended is left to the driver: releasing it would wait.
static void release_objects(weir__opencl_device *device) {
  const weir__opencl_driver *driver = device->driver;
  if (device->stuck) return;
  weir__opencl_programs_destroy(device);
  weir__opencl_memory_deinitialize(
      device); // before the queues: NVIDIA's driver asks a memory object for the last one that used it
  for (uint32_t i = 0; device->queues != NULL && i < device->own_queues + WEIR__MOST_OPEN; i++)
    release_queue(driver, &device->queues[i]);
  if (device->context != NULL) driver->clReleaseContext(device->context);
  if (device->registration != NULL) weir__opencl_registration_give(device->registration);
}

static void destroy(weir_device *base) {
  weir__opencl_device *device = weir__opencl_of(base);
  weir__in_order_stop(&device->base);
  weir__opencl_stop_listening(device);
  release_objects(device);
  weir__in_order_deinitialize(&device->base);
  weir__free(device->queues);
  weir__free(device);
}

// One of the caller's, of which it takes a reference, or one of Weir's own.
static cl_int open_queue(weir__opencl_device *device, uint32_t index, cl_command_queue *out_queue) {
  const weir__opencl_driver *driver = device->driver;
  const weir__opencl_registration *registration = device->registration;
  cl_int result = CL_SUCCESS;
  if (registration != NULL && registration->queue_count > 0) {
    result = driver->clRetainCommandQueue(registration->queues[index]);
    *out_queue = result == CL_SUCCESS ? registration->queues[index] : NULL;
  } else {
    *out_queue = weir__opencl_queue_create(driver, device->listed, device->context, device->device,
                                           device->base.device.host->trace != NULL, &result);
  }
  return *out_queue == NULL && result == CL_SUCCESS ? CL_OUT_OF_HOST_MEMORY : result;
}

static cl_int open_context(weir__opencl_device *device) {
  const weir__opencl_driver *driver = device->driver;
  cl_int result = CL_SUCCESS;
  if (device->registration != NULL) {
    result = driver->clRetainContext(device->registration->context);
    device->context = result == CL_SUCCESS ? device->registration->context : NULL;
  } else {
    device->context = driver->clCreateContext(NULL, 1, &device->device, NULL, NULL, &result);
  }
  return device->context == NULL && result == CL_SUCCESS ? CL_OUT_OF_HOST_MEMORY : result;
}

static weir_status open_device(weir__opencl_device *device, const weir__opencl_name *name) {
  const weir__opencl_driver *driver = device->driver;
  cl_int result = CL_SUCCESS;
  device->device = device->listed->device;
  if (name->parts > 0) result = weir__opencl_part(driver, device->listed, name->parts, name->part, &device->device);
  if (result != CL_SUCCESS) {
    weir__opencl_error(result, "device %s: part %u of %u", device->base.device.name, name->part, name->parts);
    return WEIR_ERROR_UNAVAILABLE;
  }
  if (device->registration != NULL && device->base.device.host->trace != NULL && !device->registration->keeps_times)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT,
                       "device %s: a context that traces needs queues that keep times (CL_QUEUE_PROFILING_ENABLE)",
                       device->base.device.name);
  result = open_context(device);
  if (result != CL_SUCCESS) {
    weir__opencl_error(result, "device %s", device->base.device.name);
    return WEIR_ERROR_UNAVAILABLE;
  }
  weir__opencl_objects_initialize(&device->objects, driver, device->context, device->device);
  for (uint32_t i = 0; i < device->base.queue_count; i++) {
    result = open_queue(device, i, &device->queues[i].queue);
    if (result != CL_SUCCESS) return weir__opencl_error(result, "device %s: queue %u", device->base.device.name, i);
  }
  return WEIR_OK;
}

static uint32_t units_of(const weir__opencl_listed *listed, const weir__opencl_name *name) {
  return name->parts > 0 ? listed->units / name->parts : listed->units;
}

// A CPU runs no more commands at once than it has cores, and order between queues costs it more than order within one; but with as
// many queues as cores a task that waits holds up what is behind it (bench/results/2026-11-22-opencl.md).
static uint32_t default_queues(const weir__opencl_listed *listed, const weir__opencl_name *name) {
  uint32_t units = units_of(listed, name);
  return (listed->type & CL_DEVICE_TYPE_CPU) != 0 && 2 * units < DEFAULT_QUEUES ? 2 * units : DEFAULT_QUEUES;
}

static void describe(weir__opencl_device *device, const weir__opencl_name *name) {
  const weir__opencl_listed *listed = device->listed;
  if (device->registration != NULL)
    snprintf(device->base.device.name, sizeof device->base.device.name, "opencl:%s",
             device->registration->registered.name);
  else if (name->parts > 0)
    snprintf(device->base.device.name, sizeof device->base.device.name, "opencl:%u/%u.%u", name->number, name->parts,
             name->part);
  else
    snprintf(device->base.device.name, sizeof device->base.device.name, "opencl:%u", name->number);
  cl_ulong bytes = 0;
  device->driver->clGetDeviceInfo(listed->device, CL_DEVICE_GLOBAL_MEM_SIZE, sizeof bytes, &bytes, NULL);
  device->base.device.memory_bytes = bytes;
  uint32_t units = units_of(listed, name);
  snprintf(device->base.device.description, sizeof device->base.device.description,
           "%.60s, %.40s, %u compute unit%s, %s, %u queue%s", listed->name, listed->platform_name, units,
           units == 1 ? "" : "s", MEMORIES[device->memory_kind], device->base.device.queues,
           device->base.device.queues == 1 ? "" : "s");
}

// The device that a name means, and how many queues of it are used; `queues` 0: as many as suit it.
static weir_status choose(weir__opencl_device *device, const char *argument, uint32_t queues,
                          weir__opencl_name *out_name, uint32_t *out_queues) {
  const weir__opencl_driver *driver = device->driver;
  *out_name = (weir__opencl_name){0};
  weir_status status = weir__registry_may_name(argument)
                           ? weir__opencl_registration_take(argument, &device->registration)
                           : weir__opencl_parse(driver, argument, out_name);
  if (status != WEIR_OK) return status;
  const weir__opencl_registration *registration = device->registration;
  device->listed = registration != NULL ? &registration->listed : &driver->devices[out_name->number];
  device->memory_kind = registration != NULL ? WEIR__OPENCL_OBJECTS : weir__opencl_memory_of(driver, out_name->number);
  uint32_t given = registration != NULL ? registration->queue_count : 0;
  if (given > 0 && (queues == 0 || queues > given)) queues = given;
  if (queues == 0) queues = default_queues(device->listed, out_name);
  *out_queues = device->base.device.host->flags & WEIR_CONTEXT_IN_ORDER ? 1 : queues;
  return WEIR_OK;
}

static weir_status create(weir__host *host, const char *argument, uint32_t queues, weir_device **out_device) {
  char reason[256];
  weir__opencl_name name;
  const weir__opencl_driver *driver = weir__opencl_driver_load(reason, sizeof reason);
  if (driver == NULL) return weir__error(WEIR_ERROR_UNAVAILABLE, "device opencl: %s", reason);
  if (queues > WEIR__OPENCL_MOST_QUEUES)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "device opencl: %u queues; 1 to %d are possible", queues,
                       WEIR__OPENCL_MOST_QUEUES);
  weir__opencl_device *device = weir__allocate_zeroed(sizeof *device);
  if (device == NULL) return weir__error(WEIR_ERROR_OUT_OF_MEMORY, "device opencl: no memory");
  device->driver = driver;
  device->base.device.host = host;
  weir_status status = choose(device, argument, queues, &name, &queues);
  if (status != WEIR_OK) {
    weir__free(device);
    return status;
  }
  device->base.device =
      (weir_device){.ops = device->memory_kind == WEIR__OPENCL_HOST ? &weir__opencl_shared_ops : &weir__opencl_ops,
                    .host = host,
                    .lanes = queues + WEIR__MOST_OPEN,
                    .queues = queues,
                    .enqueue_lanes = queues + WEIR__MOST_OPEN};
  device->base.table = &table;
  device->base.spin_ns = !weir__may_spin() ? 0 : host->crowded ? SPIN_NS_FEW_CORES : SPIN_NS;
  describe(device, &name);
  weir__opencl_memory_initialize(device);
  device->own_queues = queues;
  device->queues = weir__allocate_zeroed((queues + WEIR__MOST_OPEN) * sizeof *device->queues);
  bool has_memory = weir__in_order_initialize_wide(&device->base, queues, 0, WEIR__MOST_OPEN) && device->queues != NULL;
  status = has_memory ? open_device(device, &name) : weir__error(WEIR_ERROR_OUT_OF_MEMORY, "device opencl: no memory");
  if (status == WEIR_OK) status = weir__in_order_start(&device->base);
  if (status != WEIR_OK) {
    destroy(&device->base.device);
    return status;
  }
  *out_device = &device->base.device;
  return WEIR_OK;
}

static bool has_code(const weir_device *device, const weir_kernel *kernel) {
  const weir__opencl_kernel *opencl = kernel != NULL ? weir__opencl_code_of(kernel) : NULL;
  return opencl != NULL && (opencl->kernels[device->index] != NULL || opencl->head.enqueue != NULL);
}

static uint64_t time_now(weir_device *device) {
  return weir__clock_ns() - device->host->start_ns;
}

static const weir__memory_ops memory_ops = {
    .sources = weir__opencl_memory, .can_access_host = can_access_host, .released = weir__opencl_released};
static const weir__image_ops image_ops = {.make = weir__opencl_image_make, .can_copy = weir__opencl_copies_image};

#define OPENCL_OPS                                                                                                     \
  .kind = "opencl", .code = WEIR__CODE_OPENCL, .run_ahead = true, .threaded = true, .probe = weir__opencl_probe,       \
  .create = create, .destroy = destroy, .check = weir__opencl_kernel_check, .use = weir__opencl_kernel_use,            \
  .has_code = has_code, .set_enqueue = weir__opencl_set_enqueue, .issue = weir__in_order_push,                         \
  .stall = weir__in_order_stall, .marker = weir__opencl_marker, .prewake = weir__in_order_prewake, .time = time_now,   \
  .opens = &weir__opencl_opens

const weir__device_ops weir__opencl_ops = {OPENCL_OPS, .memory = &memory_ops, .images = &image_ops};
const weir__device_ops weir__opencl_shared_ops = {OPENCL_OPS};
