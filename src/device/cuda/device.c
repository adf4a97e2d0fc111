// SPDX-License-Identifier: Apache-2.0
//
// CUDA devices: made, asked, destroyed.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/allocate.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/launcher.h"
#include "device/cpu/cpu.h"
#include "device/cuda/check/source.h"
#include "device/cuda/cuda_device.h"
#include "device/cuda/graph/batches.h"
#include "device/cuda/graph/capture.h"
#include "device/cuda/module.h"
#include "device/cuda/pinned.h"
#include "device/cuda/queue/open.h"
#include "device/cuda/resident/automatic.h"
#include "device/cuda/resident/resident.h"
#include "device/cuda/share.h"

enum {
  DEFAULT_QUEUES = 16,
  MAX_QUEUES = 128,
  SMALL_COPY_BYTES = 65536,  // up to here the driver takes pageable memory without making the caller wait
  SMALLEST_CHUNK = 32 << 20, // of device memory
  LARGEST_CHUNK = 128 << 20,
  FIRST_SHARE = 64, // the first chunk is this part of the device's memory
  SMALLEST_PINNED_CHUNK = 4 << 20,
  LARGEST_PINNED_CHUNK = 64 << 20,
  SPIN_NS = 2000000, // who waits spins so long, where there are cores for it
  SPIN_NS_FEW_CORES = 20000,
  TOUCHED_TASKS = 4096,
  MOST_MADE = 4096, // events and operations
};

static const uint64_t LARGEST_FIRST = (uint64_t)2 << 30;

extern const weir__device_ops weir__cuda_ops;

static void *allocate_memory(void *user, uint64_t bytes) {
  weir__cuda_device *device = user;
  CUdeviceptr pointer = 0;
  if (!weir__allocate_permit() || weir__cuda_enter(device) != CUDA_SUCCESS) return NULL;
  CUresult result = device->driver->cuMemAlloc(&pointer, bytes);
  weir__cuda_leave(device);
  return result == CUDA_SUCCESS ? (void *)(uintptr_t)pointer : NULL;
}

static void free_memory(void *user, void *memory) {
  weir__cuda_device *device = user;
  if (weir__cuda_enter(device) != CUDA_SUCCESS) return; // the context is dead, and its memory with it
  device->driver->cuMemFree((CUdeviceptr)(uintptr_t)memory);
  weir__cuda_leave(device);
}

// On a device that is lost nothing can be pinned: then the other devices get by with ordinary memory.
static void *allocate_unpinned(weir__cuda_device *device, uint64_t bytes) {
  weir__cuda_unpinned *entry = weir__allocate(sizeof *entry);
  if (entry == NULL) return NULL;
  *entry = (weir__cuda_unpinned){.next = device->unpinned, .memory = weir__allocate(bytes)};
  if (entry->memory == NULL) {
    weir__free(entry);
    return NULL;
  }
  device->unpinned = entry;
  return entry->memory;
}

static bool free_unpinned(weir__cuda_device *device, const void *memory) {
  for (weir__cuda_unpinned **link = &device->unpinned; *link != NULL; link = &(*link)->next) {
    weir__cuda_unpinned *entry = *link;
    if (entry->memory != memory) continue;
    *link = entry->next;
    weir__free(entry->memory);
    weir__free(entry);
    return true;
  }
  return false;
}

static void *allocate_pinned(void *user, uint64_t bytes) {
  weir__cuda_device *device = user;
  void *memory = NULL;
  if (device->base.device.lost) return allocate_unpinned(device, bytes);
  if (!weir__allocate_permit() || weir__cuda_enter(device) != CUDA_SUCCESS) return NULL;
  CUresult result = device->driver->cuMemHostAlloc(&memory, bytes, CU_MEMHOSTALLOC_PORTABLE);
  weir__cuda_leave(device);
  if (result != CUDA_SUCCESS) return NULL;
  weir__cuda_pinned_add(device, memory, bytes);
  return memory;
}

static void free_pinned(void *user, void *memory) {
  weir__cuda_device *device = user;
  if (free_unpinned(device, memory)) return;
  weir__cuda_pinned_remove(memory);
  if (weir__cuda_enter(device) != CUDA_SUCCESS) return;
  device->driver->cuMemFreeHost(memory);
  weir__cuda_leave(device);
}

static void memory_sources(weir_device *base, weir__memory_source *out_device_memory,
                           weir__memory_source *out_host_memory) {
  weir__cuda_device *device = weir__cuda_of(base);
  *out_device_memory = weir__arena_source(&device->memory);
  *out_host_memory = weir__arena_source(&device->pinned);
}

static bool can_access_host(weir_device *base, const void *memory, uint64_t bytes, bool writes) {
  weir__cuda_device *device = weir__cuda_of(base);
  if ((!writes && bytes <= SMALL_COPY_BYTES) || weir__cuda_pinned_covers(memory, bytes)) return true;
  if (weir__cuda_enter(device) != CUDA_SUCCESS) return false;
  unsigned int type = 0;
  CUresult result =
      device->driver->cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (CUdeviceptr)(uintptr_t)memory);
  weir__cuda_leave(device);
  return result == CUDA_SUCCESS && type == CU_MEMORYTYPE_HOST;
}

static bool graph_can_access_host(weir_device *base, const void *memory, uint64_t bytes, bool ask) {
  return ask ? can_access_host(base, memory, bytes, true) : weir__cuda_pinned_covers(memory, bytes);
}

static void destroy_streams(weir__cuda_device *device) {
  const weir__cuda_driver *driver = device->driver;
  for (uint32_t i = 0; device->streams != NULL && i < device->queue_count; i++) {
    if (device->streams[i].stream != NULL) driver->cuStreamDestroy(device->streams[i].stream);
  }
  for (uint32_t i = 0; device->streams != NULL && i < WEIR__CUDA_APART; i++) {
    CUstream stream = device->streams[device->queue_count + WEIR__MOST_OPEN + i].stream;
    if (stream != NULL) driver->cuStreamDestroy(stream);
  }
  weir__cuda_opens_destroy(device);
  weir__cuda_sets_destroy(device);
  for (uint32_t i = 0; i < device->free_event_count; i++) driver->cuEventDestroy(device->free_events[i]);
  if (device->base_event != NULL) driver->cuEventDestroy(device->base_event);
}

static void destroy(weir_device *base) {
  weir__cuda_device *device = weir__cuda_of(base);
  weir__in_order_stop(&device->base);
  weir__cuda_launchers_stop(device);
  weir__cuda_pinned_forget(device);
  if (device->primary != NULL) {
    bool entered = weir__cuda_enter(device) == CUDA_SUCCESS;
    weir__cuda_batches_destroy(device->batches);
    if (entered) destroy_streams(device);
    if (entered) weir__cuda_leave(device);
    weir__resident_automatic_destroy(device);
    weir__resident_destroy(device);
    weir__cuda_modules_destroy(device);
    weir__arena_deinitialize(&device->memory);
    weir__arena_deinitialize(&device->pinned);
    bool leaves = device->memory.leaves || device->pinned.leaves; // which the driver's context must outlive
    if (!leaves) device->driver->cuDevicePrimaryCtxRelease(device->device);
  }
  weir__in_order_deinitialize(&device->base);
  weir__free(device->streams);
  weir__free(device->free_events);
  weir__free(device);
}

static weir_status create_streams(weir__cuda_device *device) {
  for (uint32_t i = 0; i < device->base.queue_count; i++) {
    CUresult result = device->driver->cuStreamCreateWithPriority(&device->streams[i].stream, CU_STREAM_NON_BLOCKING, 0);
    if (result != CUDA_SUCCESS) return weir__cuda_error(device->driver, result, "device cuda: stream %u", i);
  }
  if (device->base.device.host->trace == NULL) return WEIR_OK;
  return weir__cuda_error(device->driver, weir__cuda_begin_times(device),
                          "device cuda: the first event of the timeline");
}

static weir_status open_device(weir__cuda_device *device) {
  const weir__cuda_driver *driver = device->driver;
  CUresult result = driver->cuDeviceGet(&device->device, device->ordinal);
  int major = 0, minor = 0;
  if (result == CUDA_SUCCESS)
    result = driver->cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device->device);
  if (result == CUDA_SUCCESS)
    result = driver->cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device->device);
  device->capability = 10 * major + minor;
  if (result == CUDA_SUCCESS) result = driver->cuDevicePrimaryCtxRetain(&device->primary, device->device);
  if (result != CUDA_SUCCESS) {
    weir__cuda_error(driver, result, "device cuda:%d", device->ordinal);
    return WEIR_ERROR_UNAVAILABLE;
  }
  result = weir__cuda_enter(device);
  if (result != CUDA_SUCCESS) return weir__cuda_error(driver, result, "device cuda:%d", device->ordinal);
  weir_status status = create_streams(device);
  weir__cuda_leave(device);
  return status;
}

static void are_near(weir__cuda_device *device, weir__cuda_device *other, uint32_t other_index) {
  device->base.device.near |= 1U << other_index;
  other->base.device.near |= 1U << device->base.device.host->device_count; // which is to be the device's own index
}

static bool enable_access(weir__cuda_device *device, const weir__cuda_device *other) {
  if (weir__cuda_enter(device) != CUDA_SUCCESS) return false;
  CUresult result = device->driver->cuCtxEnablePeerAccess(other->primary, 0);
  weir__cuda_leave(device);
  return result == CUDA_SUCCESS || result == CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
}

// Peers that can copy directly between each other do. Copies between others go through the host.
static void enable_peers(weir__cuda_device *device) {
  weir__host *host = device->base.device.host;
  const weir__cuda_driver *driver = device->driver;
  for (uint32_t i = 0; i < host->device_count; i++) {
    if (!weir__is_cuda(host->devices[i])) continue;
    weir__cuda_device *other = weir__cuda_of(host->devices[i]);
    int can = 0;
    if (other->primary == device->primary) are_near(device, other, i);
    if (other->primary == device->primary) continue;
    if (driver->cuDeviceCanAccessPeer(&can, device->device, other->device) != CUDA_SUCCESS || !can) continue;
    if (enable_access(device, other) && enable_access(other, device)) are_near(device, other, i);
  }
}

// Without a number: the first card, or, on a host with several processes of one launcher, the next one for each of them.
static weir_status find_ordinal(const weir__cuda_driver *driver, const char *argument, int *out_ordinal) {
  if (argument[0] == '\0' && driver->device_count > 0) {
    *out_ordinal = (int)(weir__local_rank() % (uint32_t)driver->device_count);
    return WEIR_OK;
  }
  char *end;
  unsigned long ordinal = strtoul(argument, &end, 10);
  if (*end != '\0' || argument[0] == '-')
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "device cuda: '%.60s' is no number of a device", argument);
  if (ordinal >= (unsigned long)driver->device_count)
    return weir__error(WEIR_ERROR_UNAVAILABLE, "device cuda:%lu: this machine has %d CUDA device%s", ordinal,
                       driver->device_count, driver->device_count == 1 ? "" : "s");
  *out_ordinal = (int)ordinal;
  return WEIR_OK;
}

// Memory that will be used soon is made, and touched, now: the driver and the system take long for it.
static void make_memory(weir__cuda_device *device) {
  size_t total = 0;
  device->driver->cuDeviceTotalMem(&total, device->device);
  weir__memory_source on_device = {.allocate = allocate_memory, .free = free_memory, .user = device};
  weir__memory_source pinned = {.allocate = allocate_pinned, .free = free_pinned, .user = device};
  weir__arena_initialize(&device->memory, &on_device, SMALLEST_CHUNK, LARGEST_CHUNK);
  weir__arena_initialize(&device->pinned, &pinned, SMALLEST_PINNED_CHUNK, LARGEST_PINNED_CHUNK);
  uint64_t first = total / FIRST_SHARE & ~(uint64_t)(SMALLEST_CHUNK - 1);
  if (first > LARGEST_FIRST) first = LARGEST_FIRST;
  if (first > 0 && device->base.device.host->device_limit >= first)
    (void)weir__arena_reserve(&device->memory, first); // if there is none, who needs some will say so
  const weir__window *window = &device->base.device.host->window;
  uint32_t in_flight = window->size < MOST_MADE ? window->size : MOST_MADE;
  weir__window_touch(&device->base.device.host->window, TOUCHED_TASKS);
  if (weir__cuda_enter(device) != CUDA_SUCCESS) return;
  weir__cuda_make_events(device, in_flight);
  weir__operations_reserve(&device->base.operations, in_flight);
  weir__cuda_leave(device);
}

static void describe(weir__cuda_device *device) {
  char name[96] = "?";
  size_t bytes = 0;
  device->driver->cuDeviceGetName(name, sizeof name, device->device);
  device->driver->cuDeviceTotalMem(&bytes, device->device);
  device->base.device.memory_bytes = bytes;
  snprintf(device->base.device.name, sizeof device->base.device.name, "cuda:%d", device->ordinal);
  snprintf(device->base.device.description, sizeof device->base.device.description,
           "%s, %.0f GB, compute capability %d.%d, %u queues", name, (double)bytes / 1e9, device->capability / 10,
           device->capability % 10, device->base.queue_count);
}

// No more than there are cores for: each spins while it has nothing to do, and where two threads share a core, one of them waits for
// milliseconds. None where there is only one queue. A seed, for tests, brings them everywhere.
static uint32_t launchers_for(const weir__cuda_device *device) {
  const weir__host *host = device->base.device.host;
  uint32_t ordinary = weir__cuda_ordinary_queues(device);
  uint32_t count = host->seed != 0 ? (uint32_t)(host->seed % 4) : host->spare_cores;
  if (ordinary == 1) return 0;
  if (count > WEIR__CUDA_MOST_LAUNCHERS) count = WEIR__CUDA_MOST_LAUNCHERS;
  return count < ordinary ? count : ordinary;
}

// Without launchers this thread uses the streams first, which they do otherwise.
static weir_status start_launchers(weir__cuda_device *device, uint32_t count) {
  if (count > 0) return weir__cuda_launchers_start(device, count);
  if (weir__cuda_enter(device) != CUDA_SUCCESS) return WEIR_OK;
  for (uint32_t i = 0; i < device->base.queue_count; i++) weir__cuda_use_stream(device, i);
  weir__cuda_leave(device);
  return WEIR_OK;
}

static weir_status create(weir__host *host, const char *argument, uint32_t queues, weir_device **out_device) {
  char reason[256];
  const weir__cuda_driver *driver = weir__cuda_driver_load(reason, sizeof reason);
  if (driver == NULL) return weir__error(WEIR_ERROR_UNAVAILABLE, "device cuda: %s", reason);
  int ordinal = 0;
  weir_status status = find_ordinal(driver, argument, &ordinal);
  if (status != WEIR_OK) return status;
  if (queues > MAX_QUEUES)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "device cuda: %u queues; 1 to %d are possible", queues, MAX_QUEUES);
  weir__cuda_device *device = weir__allocate_zeroed(sizeof *device);
  if (device == NULL) return weir__error(WEIR_ERROR_OUT_OF_MEMORY, "device cuda: no memory");
  uint32_t ordinary = host->flags & WEIR_CONTEXT_IN_ORDER ? 1 : queues == 0 ? DEFAULT_QUEUES : queues;
  uint32_t copy_queues = ordinary == 1 ? 0 : WEIR__CUDA_COPY_QUEUES;
  uint32_t count = ordinary + copy_queues;
  device->base.device =
      (weir_device){.ops = &weir__cuda_ops,
                    .host = host,
                    .queues = count,
                    .lanes = count + WEIR__CUDA_GRAPH_LANES + WEIR__CUDA_LATE_QUEUES,
                    .enqueue_lanes = count + WEIR__CUDA_LATE_QUEUES + WEIR__CUDA_LANE_SETS * WEIR__CUDA_SET_LANES};
  device->base.table = &weir__cuda_table;
  device->driver = driver;
  device->ordinal = ordinal;
  device->base.spin_ns = !weir__may_spin() ? 0 : host->crowded ? SPIN_NS_FEW_CORES : SPIN_NS;
  device->queue_count = count;
  device->streams = weir__allocate_zeroed((count + WEIR__CUDA_LATE_QUEUES) * sizeof *device->streams);
  bool allocated = weir__in_order_initialize_wide(&device->base, count, copy_queues, WEIR__CUDA_LATE_QUEUES) &&
                   device->streams != NULL;
  status = allocated ? open_device(device) : weir__error(WEIR_ERROR_OUT_OF_MEMORY, "device cuda: no memory");
  weir__cuda_add_path(device, &weir__cuda_queue_path);
  device->runs = &weir__cuda_recorded_ops;
  if (status == WEIR_OK) make_memory(device);
  if (status == WEIR_OK) status = start_launchers(device, launchers_for(device));
  if (status == WEIR_OK) status = weir__cuda_batches_create(device);
  if (status == WEIR_OK) status = weir__resident_create(device);
  if (status == WEIR_OK) status = weir__resident_automatic_create(device);
  if (status == WEIR_OK) status = weir__in_order_start(&device->base);
  if (status != WEIR_OK) {
    destroy(&device->base.device);
    return status;
  }
  describe(device);
  enable_peers(device);
  if (host->spin_ns < device->base.spin_ns) host->spin_ns = device->base.spin_ns;
  *out_device = &device->base.device;
  return WEIR_OK;
}

static bool has_code(const weir_device *device, const weir_kernel *kernel) {
  return kernel != NULL && weir__cuda_kernel_has_code(weir__cuda_code_of(kernel), device->index);
}

static uint64_t time_now(weir_device *device) {
  return weir__clock_ns() - device->host->start_ns;
}

static const weir__memory_ops memory_ops = {.sources = memory_sources,
                                            .can_access_host = can_access_host,
                                            .host_allocate = weir__cuda_host_allocate,
                                            .host_free = weir__cuda_host_free};
static const weir__graph_ops graph_ops = {.build = weir__cuda_graph_build,
                                          .forget = weir__cuda_graph_forget,
                                          .in_turn = true,
                                          .can_access_host = graph_can_access_host};

const weir__device_ops weir__cuda_ops = {.kind = "cuda",
                                         .code = WEIR__CODE_CUDA,
                                         .run_ahead = true,
                                         .follows_runs = true,
                                         .threaded = true,
                                         .peers = true,
                                         .probe = weir__cuda_probe,
                                         .create = create,
                                         .destroy = destroy,
                                         .memory = &memory_ops,
                                         .graphs = &graph_ops,
                                         .opens = &weir__cuda_opens,
                                         .check = weir__cuda_kernel_check,
                                         .use = weir__cuda_kernel_use,
                                         .check_code = weir__cuda_check_code,
                                         .set_enqueue = weir__cuda_set_enqueue,
                                         .has_code = has_code,
                                         .issue = weir__in_order_push,
                                         .stall = weir__in_order_stall,
                                         .await_import = weir__cuda_await_import,
                                         .forget_import = weir__cuda_forget_import,
                                         .marker = weir__cuda_marker,
                                         .flush = weir__in_order_flush,
                                         .prewake = weir__in_order_prewake,
                                         .time = time_now};
