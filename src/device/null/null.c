// SPDX-License-Identifier: Apache-2.0
//
// A device that runs nothing: for measuring what submission costs. It reports tasks done in the order of submission, and
// only when somebody waits for room or for the end.
#include <stdio.h>
#include <string.h>

#include "base/allocate.h"
#include "base/clock.h"
#include "base/error.h"
#include "device/host.h"

typedef struct null_device {
  weir_device base;
} null_device;

static bool probe(char *text, size_t size) {
  snprintf(text, size, "runs nothing");
  return true;
}

static weir_status create(weir__host *host, const char *argument, uint32_t queues, weir_device **out_device) {
  (void)queues;
  if (argument[0] != '\0')
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "device null: '%s' means nothing to it", argument);
  null_device *device = weir__allocate_zeroed(sizeof *device);
  if (device == NULL) return weir__error(WEIR_ERROR_OUT_OF_MEMORY, "device null: no memory");
  extern const weir__device_ops weir__null_ops;
  device->base = (weir_device){.ops = &weir__null_ops, .host = host, .lanes = 1};
  snprintf(device->base.name, sizeof device->base.name, "null");
  snprintf(device->base.description, sizeof device->base.description, "runs nothing");
  *out_device = &device->base;
  return WEIR_OK;
}

static void destroy(weir_device *device) {
  weir__free(device);
}

static bool has_code(const weir_device *device, const weir_kernel *kernel) {
  (void)device;
  (void)kernel;
  return true;
}

static void issue(weir_device *device, weir__task *task) {
  (void)device;
  task->issued = true;
}

static uint64_t time_now(weir_device *device) {
  return weir__clock_ns() - device->host->start_ns;
}

// Retires the oldest eighth of the window.
static bool progress(weir_device *device) {
  weir__host *host = device->host;
  weir__window *window = &host->window;
  uint32_t most = window->size / 8;
  bool any = false;
  while (most-- > 0 && !weir__window_empty(window)) {
    weir__task *task = weir__window_task(window, window->live.oldest);
    if (task->device != device->index || !task->issued) break;
    weir__completion completion = {.status = weir__host_skip_status(host, task)};
    weir__host_complete(host, task, &completion);
    any = true;
  }
  return any;
}

static const weir__polled_ops polled_ops = {.progress = progress};

const weir__device_ops weir__null_ops = {.kind = "null",
                                         .hidden = true,
                                         .probe = probe,
                                         .create = create,
                                         .destroy = destroy,
                                         .has_code = has_code,
                                         .issue = issue,
                                         .polled = &polled_ops,
                                         .time = time_now};
