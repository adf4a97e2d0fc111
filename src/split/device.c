// SPDX-License-Identifier: Apache-2.0
//
// The device that launches of splits are tasks of. It runs nothing itself, and is not listed.
#include <stdio.h>

#include "base/allocate.h"
#include "base/clock.h"
#include "base/error.h"
#include "split/split.h"

typedef struct split_device {
  weir_device base;
  weir_split *splits; // guarded by the context's lock
} split_device;

static void destroy(weir_device *base) {
  split_device *device = (split_device *)base;
  while (device->splits != NULL) { // that the caller did not release
    weir_split *split = device->splits;
    device->splits = split->next;
    weir__split_drop(split);
  }
  weir__free(device);
}

static bool has_code(const weir_device *device, const weir_kernel *kernel) {
  (void)device;
  (void)kernel;
  return false; // launches name the device themselves
}

// The lock is held, so the rest follows in a callback.
static void issue(weir_device *device, weir__task *task) {
  weir__split_run *run = task->user;
  run->task = task;
  run->start_ns = device->ops->time(device);
  weir__event_finish(run->start, WEIR_OK, "");
}

static uint64_t time_now(weir_device *device) {
  return weir__clock_ns() - device->host->start_ns;
}

static const weir__device_ops ops = {
    .kind = "split", .hidden = true, .destroy = destroy, .has_code = has_code, .issue = issue, .time = time_now};

static weir_status add(weir_context *context, weir_device **out_device) {
  if (context->host.device_count == WEIR__MAX_DEVICES)
    return weir__error(WEIR_ERROR_UNAVAILABLE, "split: the context has %d devices, which leaves no room for a split",
                       WEIR__MAX_DEVICES);
  split_device *device = weir__allocate_zeroed(sizeof *device);
  if (device == NULL) return weir__error(WEIR_ERROR_OUT_OF_MEMORY, "split: no memory");
  device->base = (weir_device){.ops = &ops, .host = &context->host, .index = context->host.device_count, .lanes = 1};
  snprintf(device->base.name, sizeof device->base.name, "split");
  snprintf(device->base.description, sizeof device->base.description, "launches over several devices");
  if (context->host.trace != NULL &&
      !weir__trace_add_device(context->host.trace, device->base.name, device->base.lanes)) {
    weir__free(device);
    return weir__error(WEIR_ERROR_OUT_OF_MEMORY, "split: no memory for the timeline");
  }
  context->host.devices[context->host.device_count++] = &device->base;
  *out_device = &device->base;
  return WEIR_OK;
}

weir_status weir__split_device(weir_context *context, weir_device **out_device) {
  weir_status status = WEIR_OK;
  *out_device = NULL;
  weir__context_lock(context);
  for (uint32_t i = context->devices.listed_count; i < context->host.device_count; i++) {
    if (context->host.devices[i]->ops == &ops) *out_device = context->host.devices[i];
  }
  if (*out_device == NULL) status = add(context, out_device);
  weir__context_unlock(context);
  return status;
}

void weir__split_device_add(weir_device *base, weir_split *split) {
  split_device *device = (split_device *)base;
  weir__host_lock(base->host);
  split->next = device->splits;
  device->splits = split;
  weir__host_unlock(base->host);
}

void weir__split_device_remove(weir_device *base, weir_split *split) {
  split_device *device = (split_device *)base;
  weir__host_lock(base->host);
  for (weir_split **link = &device->splits; *link != NULL; link = &(*link)->next) {
    if (*link != split) continue;
    *link = split->next;
    break;
  }
  weir__host_unlock(base->host);
}
