// SPDX-License-Identifier: Apache-2.0
//
// Contexts: created with their devices, released with all that is left in them.
#include "api/context.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "api/graph.h"
#include "api/rules.h"
#include "api/storage.h"
#include "base/allocate.h"
#include "base/clock.h"
#include "base/error.h"
#include "chain/chain.h"
#include "device/cpu/cpu.h"
#include "pipeline/pipeline.h"
#include "trace/lines.h"

enum {
  DEFAULT_WINDOW = 1024,
  SMALLEST_WINDOW = 8,
  LARGEST_WINDOW = 1 << 24,
  RELEASED_KEPT = 1024, // released buffers and kernels that are recognised as such
  EVENTS_KEPT = 64,
  FEW_CORES = 2,
};

// A task has no blocker left. CPU workers get it at once; run-ahead devices when the window is consistent again.
static void task_ready(void *user, weir__task *task) {
  weir_context *context = user;
  weir_device *device = context->host.devices[task->device];
  if (context->host.trace != NULL) {
    weir__trace_task *record = weir__trace_find(context->host.trace, task->id);
    if (record != NULL) record->ready_ns = device->ops->time(device);
  }
  if (!device->ops->run_ahead) {
    device->ops->issue(device, task);
    return;
  }
  task->next = NULL;
  if (context->issue_last == NULL)
    context->issue_first = task;
  else
    context->issue_last->next = task;
  context->issue_last = task;
}

static void upstream_failed(void *user, weir__task *task, weir__id predecessor) {
  weir_context *context = user;
  const weir__task_rules *rules = context->rules[task->kind];
  if (rules->upstream_failed == NULL || !weir__live(&context->host.window.live, task->id)) return;
  rules->upstream_failed(context, task, predecessor);
}

static uint32_t power_of_two(uint32_t value) {
  uint32_t power = SMALLEST_WINDOW;
  while (power < value) power *= 2;
  return power;
}

static weir_status add_device(weir_context *context, const char *name, uint32_t queues) {
  if (context->host.device_count == WEIR__MAX_DEVICES)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "context: more than %d devices", WEIR__MAX_DEVICES);
  weir_device *device = NULL;
  weir_status status = weir__device_create(&context->host, name, queues, &device);
  if (status != WEIR_OK) return status;
  if (device->ops->memory != NULL && context->space_count == WEIR__MAX_SPACES) {
    device->ops->destroy(device);
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "context: more than %d devices with memory of their own",
                       WEIR__MAX_SPACES - 1);
  }
  device->index = context->host.device_count;
  if (context->host.trace != NULL && !weir__trace_add_device(context->host.trace, device->name, device->lanes)) {
    device->ops->destroy(device);
    return weir__error(WEIR_ERROR_OUT_OF_MEMORY, "context: no memory for the timeline");
  }
  context->host.devices[context->host.device_count++] = device;
  if (device->ops->memory != NULL) {
    device->space = context->space_count;
    context->space_devices[context->space_count++] = device;
  }
  if (device->ops->progress != NULL) context->polled = true;
  if (device->ops->poll != NULL) context->polls = true;
  if (device->ops->flush != NULL) context->flushes = true;
  return WEIR_OK;
}

static weir_status add_devices(weir_context *context, const char *names, uint32_t queues) {
  while (*names != '\0') {
    size_t length = strcspn(names, ",");
    char name[256];
    if (length == 0 || length >= sizeof name || (names[length] == ',' && names[length + 1] == '\0'))
      return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "context: '%.200s' is no list of devices", names);
    memcpy(name, names, length);
    name[length] = '\0';
    weir_status status = add_device(context, name, queues);
    if (status != WEIR_OK) return status;
    weir_device *device = context->host.devices[context->host.device_count - 1];
    if (context->cpu == NULL && strcmp(device->ops->kind, "cpu") == 0) context->cpu = device;
    names += length;
    if (*names == ',') names++;
  }
  return WEIR_OK;
}

static weir_status check_options(const weir_context_options *options) {
  uint32_t known = WEIR_CONTEXT_NO_RENAME | WEIR_CONTEXT_TRACE | WEIR_CONTEXT_IN_ORDER;
  if (options->window != 0 && (options->window < SMALLEST_WINDOW || options->window > LARGEST_WINDOW))
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "context: a window of %u tasks; %d to %d are possible",
                       options->window, SMALLEST_WINDOW, LARGEST_WINDOW);
  if ((int)options->issue < WEIR_ISSUE_AUTO || options->issue > WEIR_ISSUE_RESIDENT)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "context: %d is no way to issue tasks", (int)options->issue);
  if (options->flags & ~known)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "context: unknown flags 0x%x", options->flags & ~known);
  if (options->devices != NULL && options->devices[0] == '\0')
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "context: the list of devices is empty");
  return WEIR_OK;
}

static void destroy_buffer(weir__object *object) {
  weir_buffer *buffer = (weir_buffer *)object;
  if (buffer->ranged) weir__range_map_deinitialize(&buffer->map);
  if (buffer->parts != NULL) weir__validity_give(buffer->parts);
  weir__segment_deinitialize(&buffer->whole);
}

static void destroy_devices(weir_context *context, bool with_memory) {
  for (uint32_t i = context->host.device_count; i-- > 0;) {
    weir_device *device = context->host.devices[i];
    if (device == NULL || (device->ops->memory != NULL) != with_memory) continue;
    context->host.devices[i] = NULL;
    device->ops->destroy(device);
  }
}

static void destroy(weir_context *context) {
  weir__object_pool_deinitialize(&context->chains, weir__chain_destroy);
  weir__object_pool_deinitialize(&context->graphs, weir__graph_destroy_last);
  destroy_devices(context, false);
  weir__object_pool_deinitialize(&context->buffers, destroy_buffer);
  weir__object_pool_deinitialize(&context->kernels, weir__kernel_destroy);
  weir__object_pool_deinitialize(&context->events, NULL);
  while (context->callback_arrays != NULL) {
    weir__callback *array = context->callback_arrays;
    context->callback_arrays = array->next;
    weir__free(array);
  }
  for (uint32_t i = 0; i < WEIR__MAX_SPACES; i++) weir__pool_deinitialize(&context->pools[i]);
  destroy_devices(context, true); // after the pools, whose memory is theirs
  weir__range_pool_deinitialize(&context->ranges);
  weir__validity_pool_deinitialize(&context->validities);
  weir__hits_deinitialize(&context->hits);
  if (context->host.window.tasks != NULL) weir__window_deinitialize(&context->host.window);
  if (context->host.trace != NULL) weir__trace_destroy(context->host.trace);
  weir__predictor_destroy(context->predictor);
  weir__free(context->fresh);
  weir__free(context);
}

static void count_threads(weir_context *context, const char *names) {
  uint32_t cores = weir__usable_cores();
  context->host.threads = weir__device_threads(names);
  uint32_t workers = weir__device_workers(names, weir__usual_workers(&context->host));
  context->host.crowded = cores <= FEW_CORES || (workers > 0 && workers + context->host.threads + FEW_CORES >= cores);
}

// The threads that issue the tasks of devices get cores that the CPU's workers leave, as far as there are some.
static void pin_threads(const weir_context *context) {
  uint32_t core = 0;
  for (uint32_t i = 0; i < context->host.device_count; i++)
    core += strcmp(context->host.devices[i]->ops->kind, "cpu") == 0 ? context->host.devices[i]->lanes : 0;
  for (uint32_t i = 0; i < context->host.device_count && core > 0; i++) {
    if (context->host.devices[i]->thread != NULL) weir__pin_thread(*context->host.devices[i]->thread, core++);
  }
}

// The device for copies between the caller's memory and storage on the host. Where no device that the caller asked for runs
// host tasks, the context gets one that is not listed.
static weir_status add_copier(weir_context *context) {
  context->listed_count = context->host.device_count;
  context->copier = context->cpu;
  for (uint32_t i = 0; context->copier == NULL && i < context->host.device_count; i++) {
    if (context->host.devices[i]->ops->has_code(context->host.devices[i], NULL))
      context->copier = context->host.devices[i];
  }
  if (context->copier != NULL) return WEIR_OK;
  weir_status status = add_device(context, "cpu:1", 0);
  if (status == WEIR_OK) context->copier = context->host.devices[context->host.device_count - 1];
  return status;
}

// Storage on the host comes from a device that copies from and to it, if there is one.
static void initialize_pools(weir_context *context, uint64_t limit) {
  weir__memory_source host = weir__heap, on_device;
  for (uint32_t space = context->space_count - 1; space > WEIR__HOST_SPACE; space--) {
    weir_device *device = context->space_devices[space];
    device->ops->memory(device, &on_device, &host);
    weir__pool_initialize(&context->pools[space], &on_device, limit, ((uint64_t)space << WEIR__NUMBER_SPACE_SHIFT) + 1);
  }
  weir__pool_initialize(&context->pools[WEIR__HOST_SPACE], &host, limit, 1);
}

static weir_status initialize(weir_context *context, const weir_context_options *options) {
  context->host.start_ns = weir__clock_ns();
  context->rules[WEIR__TASK_KERNEL] = &weir__kernel_rules;
  context->rules[WEIR__TASK_HOST] = &weir__host_rules;
  context->rules[WEIR__TASK_COPY] = &weir__copy_rules;
  context->rules[WEIR__TASK_TRANSFER] = &weir__transfer_rules;
  context->rules[WEIR__TASK_FENCE] = &weir__fence_rules;
  context->rules[WEIR__TASK_LAUNCH] = &weir__launch_rules;
  context->host.flags = options->flags;
  context->host.seed = options->seed;
  context->wake_at = UINT64_MAX;
  weir__hits_initialize(&context->hits);
  weir__range_pool_initialize(&context->ranges);
  context->hits.arrays = &context->ranges.arrays;
  context->host.issue = options->issue;
  context->host.memory_limit = options->memory_limit == 0 ? UINT64_MAX : options->memory_limit;
  context->space_count = 1;
  weir__object_pool_initialize(&context->buffers, WEIR__KIND_BUFFER, sizeof(weir_buffer), RELEASED_KEPT);
  weir__object_pool_initialize(&context->kernels, WEIR__KIND_KERNEL, sizeof(weir_kernel), RELEASED_KEPT);
  weir__object_pool_initialize(&context->events, WEIR__KIND_EVENT, sizeof(weir_event), EVENTS_KEPT);
  weir__object_pool_initialize(&context->graphs, WEIR__KIND_GRAPH, sizeof(weir_graph), EVENTS_KEPT);
  weir__object_pool_initialize(&context->chains, WEIR__KIND_CHAIN, sizeof(weir_chain), EVENTS_KEPT);
  context->fresh = weir__allocate(WEIR_MAX_ARGS * sizeof(weir__block *));
  bool traces = (options->flags & WEIR_CONTEXT_TRACE) != 0;
  if (traces) context->host.trace = weir__trace_create();
  uint32_t size = power_of_two(options->window == 0 ? DEFAULT_WINDOW : options->window);
  context->host.statistics.window = size;
  bool window = weir__window_initialize(&context->host.window, size, task_ready, context);
  context->host.window.upstream_failed = upstream_failed;
  if (context->fresh == NULL || !weir__hits_grow(&context->hits) || !window || (traces && context->host.trace == NULL))
    return weir__error(WEIR_ERROR_OUT_OF_MEMORY, "context: no memory");
  const char *names = options->devices == NULL ? "cpu" : options->devices;
  count_threads(context, names);
  weir_status status = add_devices(context, names, options->queues);
  if (!weir__may_spin()) context->host.spin_ns = 0;
  if (status == WEIR_OK) pin_threads(context);
  if (status == WEIR_OK) status = add_copier(context);
  if (status == WEIR_OK && context->space_count > 1) {
    bool predicts = context->host.issue != WEIR_ISSUE_RESIDENT;
    if (predicts) context->predictor = weir__predictor_create();
    weir__object_pool_reserve(&context->buffers, RELEASED_KEPT + RELEASED_KEPT / 4);
    if (predicts && context->predictor == NULL) status = weir__error(WEIR_ERROR_OUT_OF_MEMORY, "context: no memory");
  }
  if (status == WEIR_OK) initialize_pools(context, context->host.memory_limit);
  return status;
}

weir_status weir_context_create(const weir_context_options *options, weir_context **out_context) {
  if (out_context == NULL) return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "context: out_context is NULL");
  *out_context = NULL;
  weir_context_options defaults = {0};
  if (options == NULL) options = &defaults;
  weir_status status = check_options(options);
  if (status != WEIR_OK) return status;
  weir_context *context = weir__allocate_zeroed(sizeof *context);
  if (context == NULL) return weir__error(WEIR_ERROR_OUT_OF_MEMORY, "context: no memory");
  status = initialize(context, options);
  if (status != WEIR_OK) {
    destroy(context);
    return status;
  }
  *out_context = context;
  return WEIR_OK;
}

void weir_context_release(weir_context *context) {
  if (context == NULL) return;
  weir__pipeline_release_all(context);
  weir__context_lock(context);
  weir__context_flush(context);
  weir__context_wait(context, context->host.window.next, WEIR_FOREVER);
  // Callbacks that another thread still calls may submit more.
  while (context->host.notices.calling || context->called_first != NULL || !weir__window_empty(&context->host.window)) {
    weir__context_unlock(context);
    sched_yield();
    weir__context_lock(context);
    weir__context_flush(context);
    weir__context_wait(context, context->host.window.next, WEIR_FOREVER);
  }
  weir__context_unlock(context);
  destroy(context);
}

void weir_context_cancel(weir_context *context) {
  if (context == NULL) return;
  weir__context_lock(context);
  atomic_store_explicit(&context->host.cancel_before, context->host.window.next, memory_order_relaxed);
  weir__context_unlock(context);
}

void weir_context_statistics(weir_context *context, weir_statistics *out_statistics) {
  if (out_statistics == NULL) return;
  *out_statistics = (weir_statistics){0};
  if (context == NULL) return;
  weir__context_lock(context);
  *out_statistics = context->host.statistics;
  out_statistics->edges = context->host.window.edges + context->host.statistics.edges;
  for (uint32_t i = 0; i < context->space_count; i++) {
    out_statistics->bytes += context->pools[i].bytes;
    out_statistics->peak_bytes += context->pools[i].peak_bytes;
  }
  weir__context_unlock(context);
}

uint32_t weir_context_device_count(const weir_context *context) {
  return context == NULL ? 0 : context->listed_count;
}

weir_device *weir_context_device(const weir_context *context, uint32_t index) {
  return context == NULL || index >= context->listed_count ? NULL : context->host.devices[index];
}

const char *weir_device_kind(const weir_device *device) {
  return device == NULL ? "" : device->ops->kind;
}

const char *weir_device_name(const weir_device *device) {
  return device == NULL ? "" : device->name;
}

const char *weir_device_description(const weir_device *device) {
  return device == NULL ? "" : device->description;
}

uint32_t weir_device_lanes(const weir_device *device) {
  return device == NULL ? 0 : device->lanes;
}

uint32_t weir_device_queues(const weir_device *device) {
  return device == NULL ? 0 : device->queues;
}

uint64_t weir_device_time(weir_device *device) {
  if (device == NULL) return 0;
  weir__host_lock(device->host);
  uint64_t now = device->ops->time(device);
  weir__host_unlock(device->host);
  return now;
}

weir_status weir_trace_save(weir_context *context, const char *path, const char *title) {
  if (context == NULL || path == NULL)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "trace save: the %s is NULL", context == NULL ? "context" : "path");
  if (context->host.trace == NULL)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "trace save: the context was made without WEIR_CONTEXT_TRACE");
  if (weir__in_task) return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "trace save: called from a task or callback");
  char message[WEIR__MESSAGE_BYTES] = "";
  weir__context_lock(context);
  weir__context_flush(context);
  weir__context_wait(context, context->host.window.next, WEIR_FOREVER);
  weir__trace_set_now(context->host.trace, weir__clock_ns() - context->host.start_ns);
  weir_status status = weir__trace_save(context->host.trace, path, title, message, sizeof message);
  weir__context_unlock(context);
  return status == WEIR_OK ? WEIR_OK : weir__error(status, "trace save: %s", message);
}

void weir_trace_clear(weir_context *context) {
  if (context == NULL || context->host.trace == NULL) return;
  weir__context_lock(context);
  weir__trace_clear(context->host.trace);
  weir__context_unlock(context);
}
