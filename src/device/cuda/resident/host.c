// SPDX-License-Identifier: Apache-2.0
//
// What the device's thread does for resident issue: takes tasks, reports them, lets others go.
#include <stdlib.h>
#include <string.h>

#include "base/allocate.h"
#include "base/error.h"
#include "device/cuda/resident/resident.h"

uint32_t weir__resident_most_workers(void) {
  const char *workers = getenv("WEIR_RESIDENT_WORKERS");
  unsigned long wanted = workers != NULL ? strtoul(workers, NULL, 10) : 0;
  bool fewer = wanted > 0 && wanted < WEIR__RESIDENT_MOST_WORKERS;
  return fewer ? (uint32_t)wanted : WEIR__RESIDENT_MOST_WORKERS;
}

// A seed, for tests, has the kernel leave and come back often.
static void set_stays(weir__resident *resident, const weir__host *host) {
  resident->most_workers = weir__resident_most_workers();
  resident->idle_ns = WEIR__RESIDENT_IDLE_NS;
  resident->most_ns = WEIR__RESIDENT_MOST_NS;
  if (host->seed == 0) return;
  if (host->seed % 3 == 0) resident->most_ns = WEIR__RESIDENT_IDLE_NS;
  if (host->seed % 5 == 0 && host->trace == NULL) resident->idle_ns = 0;
}

weir_status weir__resident_processors(const weir__cuda_device *device, uint32_t *out_count) {
  int processors = 1;
  CUresult result =
      device->driver->cuDeviceGetAttribute(&processors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device->device);
  *out_count = (uint32_t)processors;
  return weir__cuda_error(device->driver, result, "device cuda: its multiprocessors");
}

static void free_resident(weir__resident *resident) {
  if (resident == NULL) return;
  weir__cuda_device *device = resident->device;
  if (weir__cuda_enter(device) == CUDA_SUCCESS) {
    weir__resident_unlink(device, &resident->module);
    weir__resident_ring_destroy(resident);
    weir__cuda_leave(device);
  }
  for (uint32_t i = 0; i < resident->part_count; i++) weir__resident_part_release(resident->parts[i]);
  weir__free(resident->parts);
  weir__free(resident->states);
  weir__free(resident->functions);
  weir__free_sparse(resident->slots, device->base.device.host->window.size * sizeof *resident->slots);
  weir__free(resident);
}

weir_status weir__resident_make(weir__cuda_device *device, weir__resident **out_resident) {
  const weir__host *host = device->base.device.host;
  weir__resident *resident = weir__allocate_zeroed(sizeof *resident);
  *out_resident = NULL;
  if (resident == NULL) return weir__error(WEIR_ERROR_OUT_OF_MEMORY, "device cuda: no memory for resident issue");
  resident->device = device;
  resident->timed = host->trace != NULL;
  set_stays(resident, host);
  resident->slots = weir__allocate_sparse(host->window.size * sizeof *resident->slots);
  weir_status status = resident->slots != NULL
                           ? weir__resident_processors(device, &resident->processors)
                           : weir__error(WEIR_ERROR_OUT_OF_MEMORY, "device cuda: no memory for resident issue");
  if (status == WEIR_OK) status = weir__resident_ring_create(resident);
  if (status == WEIR_OK)
    *out_resident = resident;
  else
    free_resident(resident);
  return status;
}

weir_status weir__resident_create(weir__cuda_device *device) {
  if (device->base.device.host->issue != WEIR_ISSUE_RESIDENT) return WEIR_OK;
  weir_status status = weir__resident_make(device, &device->resident);
  if (status == WEIR_OK) weir__cuda_add_path(device, &weir__cuda_resident_path);
  return status;
}

void weir__resident_destroy(weir__cuda_device *device) {
  free_resident(device->resident);
  device->resident = NULL;
}

static weir__task *task_of(const weir__cuda_device *device, uint32_t slot) {
  return &device->base.device.host->window.tasks[slot - 1];
}

static void take_as(weir__cuda_device *device, weir__task *task, bool queue_only, bool begins) {
  weir__resident *resident = device->resident;
  weir__resident_slot *slot = weir__resident_slot_of(device, task->id);
  *slot =
      (weir__resident_slot){.id = task->id, .state = WEIR__RESIDENT_HELD, .queue_only = queue_only, .begins = begins};
  resident->deferred++;
  // Behind those for which there was no room before.
  if (resident->full.first != 0 || !weir__resident_examine(device, task))
    weir__resident_append(device, &resident->full, (uint32_t)(slot - resident->slots) + 1);
}

void weir__resident_take(weir__cuda_device *device, weir__task *task, bool may_be_resident) {
  take_as(device, task, !may_be_resident, device->automatic == NULL);
}

void weir__resident_take_first(weir__cuda_device *device, weir__task *task) {
  take_as(device, task, false, true);
}

static bool look_again(weir__cuda_device *device) {
  weir__resident *resident = device->resident;
  bool any = resident->again.first != 0;
  while (resident->again.first != 0) {
    uint32_t slot = resident->again.first;
    resident->again.first = resident->slots[slot - 1].next;
    if (!weir__resident_examine(device, task_of(device, slot))) weir__resident_append(device, &resident->full, slot);
  }
  return any;
}

static bool fill_ring(weir__cuda_device *device) {
  weir__resident *resident = device->resident;
  bool any = false;
  while (resident->full.first != 0 && !resident->stuck) {
    uint32_t slot = resident->full.first, next = resident->slots[slot - 1].next;
    resident->stuck = !weir__resident_examine(device, task_of(device, slot));
    if (resident->stuck) return any;
    resident->full.first = next;
    any = true;
  }
  return any;
}

bool weir__resident_go_on(weir__cuda_device *device) {
  weir__resident *resident = device->resident;
  bool any = look_again(device);
  if (fill_ring(device)) any = true;
  while (look_again(device)) any = true;
  weir__resident_ensure_running(device);
  weir__resident_publish(resident);
  return any;
}

void weir__resident_drain(weir__cuda_device *device) {
  while (weir__resident_is_busy(device) && weir__in_order_is_well(&device->base)) {
    weir__cuda_poll(device, true);
    weir__resident_go_on(device);
  }
}

bool weir__resident_is_busy(const weir__cuda_device *device) {
  return device->resident->in_flight > 0 || device->resident->deferred > 0;
}

static void take(weir__cuda_device *device, weir__task *task) {
  weir__resident_take(device, task, true);
}

static bool poll(weir__cuda_device *device, bool all) {
  (void)all;
  return weir__resident_poll(device);
}

const weir__cuda_path weir__cuda_resident_path = {.take = take,
                                                  .poll = poll,
                                                  .go_on = weir__resident_go_on,
                                                  .fail_all = weir__resident_fail_all,
                                                  .is_busy = weir__resident_is_busy,
                                                  .rest = weir__resident_link_ahead,
                                                  .stop = weir__resident_stop};
