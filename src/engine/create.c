// SPDX-License-Identifier: Apache-2.0
//
// Contexts: created with their devices, released with all that is left in them.
#include "engine/create.h"

#include "base/allocate.h"
#include "base/clock.h"
#include "base/error.h"
#include "engine/commute.h"
#include "engine/external.h"
#include "engine/failures.h"
#include "engine/family.h"
#include "engine/open.h"
#include "engine/place.h"
#include "engine/profile.h"
#include "engine/reduce.h"
#include "engine/rename.h"
#include "engine/rules.h"
#include "engine/storage.h"
#include "engine/watch.h"
#include "issue/placement.h"
#include "window/commute.h"
#include "window/trail.h"

enum { DEFAULT_WINDOW = 1024 };

// One that stays open is not issued: who begins it may go on. One that commutes enters now.
static __attribute__((noinline)) bool may_issue(weir_context *context, weir__task *task) {
  if (task->commutes != WEIR__STAYS_OPEN) return weir__context_commute(context, task);
  weir__waiter *ready = &weir__open_of(task)->ready;
  if (atomic_exchange_explicit(&ready->word, 1, memory_order_release) == 2)
    weir__host_wake(&context->host, &ready->word);
  return false;
}

// A task has no blocker left. CPU workers get it at once; run-ahead devices when the window is consistent again.
static void task_ready(void *user, weir__task *task) {
  weir_context *context = user;
  if ((task->commutes & 1) != 0 && !may_issue(context, task)) return;
  weir_device *device = context->host.devices[task->device];
  if (context->host.trace != NULL) {
    weir__trace_task *record = weir__trace_find(context->host.trace, task->id);
    if (record != NULL) record->ready_ns = device->ops->time(device);
  }
  if (context->host.flags & WEIR__CONTEXT_PROFILES) weir__profile_ready(context, task);
  if (!device->ops->run_ahead) {
    if (context->placement != NULL) weir__place_issued(context, task);
    device->ops->issue(device, task);
    return;
  }
  task->next = NULL;
  if (context->ready.last == NULL)
    context->ready.first = task;
  else
    context->ready.last->next = task;
  context->ready.last = task;
}

static void upstream_failed(void *user, weir__task *task, weir__id predecessor) {
  weir_context *context = user;
  const weir__task_rules *rules = context->rules[task->kind];
  // Devices report in any order. What a task that was reported before uses may have been freed.
  if (!weir__live(&context->host.window.live, task->id)) return;
  weir__failures_blame_task(context, task, predecessor);
  if (rules->upstream_failed != NULL) rules->upstream_failed(context, task, predecessor);
}

static uint32_t power_of_two(uint32_t value) {
  uint32_t power = WEIR__SMALLEST_WINDOW;
  while (power < value) power *= 2;
  return power;
}

static weir_status refuse(weir_device *device, weir_status status) {
  device->ops->destroy(device);
  return status;
}

weir_status weir__context_add_device(weir_context *context, weir_device *device) {
  weir__host *host = &context->host;
  if (device->ops->memory != NULL && context->memory.space_count == WEIR__MAX_SPACES)
    return refuse(device, weir__error(WEIR_ERROR_INVALID_ARGUMENT,
                                      "context: more than %d devices with memory of their own", WEIR__MAX_SPACES - 1));
  device->index = host->device_count;
  device->first_worker = host->worker_count;
  host->worker_count += device->callers;
  device->info = (weir_device_info){.kind = device->ops->kind,
                                    .name = device->name,
                                    .description = device->description,
                                    .lanes = device->lanes,
                                    .queues = device->queues,
                                    .enqueue_lanes = device->enqueue_lanes};
  if (host->trace != NULL && !weir__trace_add_device(host->trace, device->name, device->lanes))
    return refuse(device, weir__error(WEIR_ERROR_OUT_OF_MEMORY, "context: no memory for the timeline"));
  host->devices[host->device_count++] = device;
  if (device->ops->memory != NULL) {
    device->space = context->memory.space_count;
    context->memory.devices[context->memory.space_count++] = device;
  }
  const weir__polled_ops *polled = device->ops->polled;
  if (polled != NULL) context->devices.polled = true;
  if (polled != NULL && polled->poll != NULL) context->devices.polls = true;
  if (device->ops->flush != NULL) context->devices.flushes = true;
  return WEIR_OK;
}

static void destroy_buffer(weir__object *object) {
  weir_buffer *buffer = (weir_buffer *)object;
  weir__buffer_forget_users(buffer);
  if (buffer->parts != NULL) weir__validity_give(buffer->parts);
  weir__segment_deinitialize(&buffer->whole);
  weir__trail_destroy(buffer->trail);
  weir__free(buffer->versions);
  weir__free(buffer->commuters);
  weir__free(buffer->written);
}

static void destroy_devices(weir_context *context, bool with_memory) {
  for (uint32_t i = context->host.device_count; i-- > 0;) {
    weir_device *device = context->host.devices[i];
    if (device == NULL || (device->ops->memory != NULL) != with_memory) continue;
    context->host.devices[i] = NULL;
    weir__core core = device->core;
    device->ops->destroy(device);
    weir__core_give(&core);
  }
}

void weir__context_destroy(weir_context *context) {
  weir__reduce_destroy(context);
  weir__object_pool_deinitialize(&context->objects.chains);
  weir__object_pool_deinitialize(&context->objects.graphs);
  destroy_devices(context, false);
  weir__object_pool_deinitialize(&context->objects.buffers);
  weir__object_pool_deinitialize(&context->objects.kernels);
  weir__object_pool_deinitialize(&context->objects.events);
  weir__object_pool_deinitialize(&context->objects.groups);
  weir__object_pool_deinitialize(&context->objects.prepared);
  while (context->callbacks.arrays != NULL) {
    weir__callback *array = context->callbacks.arrays;
    context->callbacks.arrays = array->next;
    weir__free(array);
  }
  weir__externals_destroy(context);
  for (uint32_t i = 0; i < WEIR__MAX_SPACES; i++) weir__pool_deinitialize(&context->memory.pools[i]);
  destroy_devices(context, true); // after the pools, whose memory is theirs
  weir__range_pool_deinitialize(&context->order.ranges);
  weir__validity_pool_deinitialize(&context->memory.validities);
  weir__dependences_deinitialize(&context->order.dependences);
  size_t labels_bytes = (size_t)context->host.window.size * WEIR__LABEL_BYTES;
  weir__failures_destroy(context);
  weir__watch_destroy(context->host.watch);
  if (context->host.window.tasks != NULL) weir__window_deinitialize(&context->host.window);
  if (context->host.trace != NULL) weir__trace_destroy(context->host.trace);
  weir__profile_destroy(context->profile);
  weir__placement_destroy(context->placement);
  weir__predictor_destroy(context->memory.predictor);
  if (context->devices.labels != NULL) weir__free_sparse(context->devices.labels, labels_bytes);
  weir__free(context->order.fresh);
  weir__free(context->order.boxes);
  weir__free(context);
}

// Storage on the host comes from a device that copies from and to it, if there is one.
static void initialize_pools(weir_context *context) {
  weir__memory_source host = weir__heap, on_device;
  for (uint32_t space = context->memory.space_count - 1; space > WEIR__HOST_SPACE; space--) {
    weir_device *device = context->memory.devices[space];
    device->ops->memory->sources(device, &on_device, &host);
    // In check mode only copies for the checker are there, which the limit is not meant for.
    uint64_t most = context->host.flags & WEIR_CONTEXT_CHECK ? UINT64_MAX : context->host.device_limit;
    weir__pool_initialize(&context->memory.pools[space], &on_device, most,
                          ((uint64_t)space << WEIR__NUMBER_SPACE_SHIFT) + 1);
  }
  weir__pool_initialize(&context->memory.pools[WEIR__HOST_SPACE], &host, context->host.memory_limit, 1);
}

// In check mode the window is larger than it seems: tasks of the checker's own must find room while those of the caller fill
// the rest. They are many for the launch of a graph.
static uint32_t with_kept_slots(weir_context *context, uint32_t size) {
  enum { CHECK_WINDOW = 1 << 15 };
  uint32_t larger = size < CHECK_WINDOW / 2 ? CHECK_WINDOW : 2 * size;
  context->devices.kept_slots = larger - size;
  return larger;
}

weir_status weir__context_initialize(weir_context *context, const weir_context_options *options) {
  context->host.start_ns = weir__clock_ns();
  context->rules[WEIR__TASK_KERNEL] = &weir__kernel_rules;
  context->rules[WEIR__TASK_HOST] = &weir__host_rules;
  context->rules[WEIR__TASK_COPY] = &weir__copy_rules;
  context->rules[WEIR__TASK_TRANSFER] = &weir__transfer_rules;
  context->rules[WEIR__TASK_FENCE] = &weir__fence_rules;
  context->host.flags = options->flags;
  context->host.seed = options->seed;
  context->host.issue = options->issue;
  context->host.memory_limit = options->memory_limit == 0 ? UINT64_MAX : options->memory_limit;
  context->host.device_limit =
      options->device_memory_limit == 0 ? context->host.memory_limit : options->device_memory_limit;
  context->host.rename_limit = options->rename_limit;
  context->waiting.wake_at = UINT64_MAX;
  context->memory.space_count = 1;
  weir__dependences_initialize(&context->order.dependences);
  weir__range_pool_initialize(&context->order.ranges);
  context->order.dependences.arrays = &context->order.ranges.arrays;
  weir__object_pool_initialize(&context->objects.buffers, WEIR__KIND_BUFFER, sizeof(weir_buffer), WEIR__RELEASED_KEPT,
                               destroy_buffer);
  weir__object_pool_initialize(&context->objects.kernels, WEIR__KIND_KERNEL, sizeof(weir_kernel), WEIR__RELEASED_KEPT,
                               weir__kernel_destroy);
  weir__object_pool_initialize(&context->objects.groups, WEIR__KIND_GROUP, sizeof(weir_group), WEIR__FEW_RELEASED_KEPT,
                               NULL);
  weir__object_pool_initialize(&context->objects.events, WEIR__KIND_EVENT, sizeof(weir_event), WEIR__FEW_RELEASED_KEPT,
                               NULL);
  context->order.fresh = weir__allocate(WEIR_MAX_ARGS * sizeof(weir__block *));
  context->order.boxes = weir__allocate(WEIR_MAX_ARGS * sizeof *context->order.boxes);
  bool traces = (options->flags & WEIR_CONTEXT_TRACE) != 0;
  if (traces) context->host.trace = weir__trace_create();
  bool profiles = options->profile != NULL;
  if (profiles) context->profile = weir__profile_create(options->profile, options->profile_user);
  if (profiles) context->host.flags |= WEIR__CONTEXT_PROFILES;
  if (profiles) atomic_store_explicit(&context->host.times_tasks, true, memory_order_relaxed);
  uint32_t size = power_of_two(options->window == 0 ? DEFAULT_WINDOW : options->window);
  context->host.statistics.window = size;
  if (options->flags & WEIR_CONTEXT_CHECK) size = with_kept_slots(context, size);
  bool window = weir__window_initialize(&context->host.window, size, task_ready, context);
  context->host.window.upstream_failed = upstream_failed;
  context->host.window.kept = context->devices.kept_slots;
  if (window) weir__watch_open(context);
  if (context->order.fresh == NULL || context->order.boxes == NULL ||
      !weir__dependences_grow(&context->order.dependences) || !window || (traces && context->host.trace == NULL) ||
      (profiles && context->profile == NULL))
    return weir__error(WEIR_ERROR_OUT_OF_MEMORY, "context: no memory");
  return WEIR_OK;
}

weir_status weir__context_open(weir_context *context) {
  if (context->memory.space_count > 1 && context->host.issue != WEIR_ISSUE_RESIDENT) {
    context->memory.predictor = weir__predictor_create();
    if (context->memory.predictor == NULL) return weir__error(WEIR_ERROR_OUT_OF_MEMORY, "context: no memory");
  }
  if (context->memory.space_count > 1)
    weir__object_pool_reserve(&context->objects.buffers, WEIR__RELEASED_KEPT + WEIR__RELEASED_KEPT / 4);
  context->memory.versions = weir__rename_versions(context);
  if (!weir__place_open(context)) return weir__error(WEIR_ERROR_OUT_OF_MEMORY, "context: no memory");
  initialize_pools(context);
  weir__rename_limit(context, context->host.rename_limit);
  return WEIR_OK;
}
