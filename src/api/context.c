// SPDX-License-Identifier: Apache-2.0
//
// Contexts and devices as the caller sees them.
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "api/prepared.h"
#include "api/record.h"
#include "api/registry.h"
#include "base/allocate.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/structs.h"
#include "base/topology.h"
#include "check/card.h"
#include "check/device.h"
#include "engine/create.h"
#include "engine/external.h"
#include "engine/family.h"
#include "engine/open.h"
#include "engine/plain.h"
#include "engine/process.h"
#include "engine/profile.h"
#include "engine/queue.h"
#include "engine/watch.h"
#include "graph/graph.h"
#include "repeats/repeats.h"
#include "weir/external.h"

static weir_status check_options(const weir_context_options *options) {
  uint32_t known = WEIR_CONTEXT_NO_RENAME | WEIR_CONTEXT_TRACE | WEIR_CONTEXT_IN_ORDER | WEIR_CONTEXT_CHECK |
                   WEIR_CONTEXT_REPEATS | WEIR_CONTEXT_PLACE;
  if (options->window != 0 && (options->window < WEIR__SMALLEST_WINDOW || options->window > WEIR__LARGEST_WINDOW))
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "context: a window of %u tasks; %d to %d are possible",
                       options->window, WEIR__SMALLEST_WINDOW, WEIR__LARGEST_WINDOW);
  if ((int)options->issue < WEIR_ISSUE_AUTO || options->issue > WEIR_ISSUE_RESIDENT)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "context: %d is no way to issue tasks", (int)options->issue);
  if (options->flags & ~known)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "context: unknown flags 0x%x", options->flags & ~known);
  if (options->devices != NULL && options->devices[0] == '\0')
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "context: the list of devices is empty");
  return WEIR_OK;
}

static weir_status add_device(weir_context *context, const char *name, uint32_t queues) {
  if (context->host.device_count == WEIR__MAX_DEVICES)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "context: more than %d devices", WEIR__MAX_DEVICES);
  weir_device *device = NULL;
  weir_status status = weir__device_create(&context->host, name, queues, &device);
  return status == WEIR_OK ? weir__context_add_device(context, device) : status;
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
    if (context->devices.cpu == NULL && strcmp(device->ops->kind, "cpu") == 0) context->devices.cpu = device;
    names += length;
    if (*names == ',') names++;
  }
  return WEIR_OK;
}

// A CPU device whose name does not say how many workers it has leaves cores to the threads of other devices, which a busy
// worker would keep waiting for milliseconds. Half of the cores are the CPU's in any case.
static void count_threads(weir_context *context, const char *names) {
  uint32_t cores = weir__usable_cores(), most = cores / 2, threads = weir__device_threads(names);
  context->host.usual_workers = cores - (threads < most ? threads : most);
  uint32_t workers = weir__device_workers(names, context->host.usual_workers);
  context->host.crowded = cores <= WEIR__FEW_CORES || (workers > 0 && workers + threads + WEIR__FEW_CORES >= cores);
  context->host.spare_cores = weir__spare_cores(cores, workers, threads);
}

// The threads that issue the tasks of devices get cores that the CPU's workers leave, as far as there are some that are free.
static void pin_threads(const weir_context *context) {
  uint32_t core = 0;
  for (uint32_t i = 0; i < context->host.device_count; i++)
    core += strcmp(context->host.devices[i]->ops->kind, "cpu") == 0 ? context->host.devices[i]->lanes : 0;
  for (uint32_t i = 0; i < context->host.device_count && core > 0; i++) {
    weir_device *device = context->host.devices[i];
    if (device->thread != NULL) (void)weir__core_take(*device->thread, core++, &device->core);
  }
}

// The device for copies between the caller's memory and storage on the host. Where no device that the caller asked for runs
// host tasks, the context gets one that is not listed.
static weir_status add_copier(weir_context *context) {
  context->devices.listed_count = context->host.device_count;
  context->devices.copier = context->devices.cpu;
  for (uint32_t i = 0; context->devices.copier == NULL && i < context->host.device_count; i++) {
    if (context->host.devices[i]->ops->has_code(context->host.devices[i], NULL))
      context->devices.copier = context->host.devices[i];
  }
  if (context->devices.copier != NULL) return WEIR_OK;
  weir_status status = add_device(context, "cpu:1", 0);
  if (status == WEIR_OK) context->devices.copier = context->host.devices[context->host.device_count - 1];
  return status;
}

// Kernels of the checker's own, where some device can run them.
static weir_status add_card_kernels(weir_context *context) {
  weir_kernel *kernels[WEIR__CARD_KERNELS];
  bool any = false;
  for (uint32_t i = 0; i < context->host.device_count; i++) any |= context->host.devices[i]->ops->check_code != NULL;
  for (int i = 0; any && i < WEIR__CARD_KERNELS; i++) {
    weir_status status = weir_kernel_create(context, "check", &kernels[i]);
    if (status != WEIR_OK) return status;
  }
  if (any) weir__check_use_cards(context->devices.checker, kernels);
  return WEIR_OK;
}

static weir_status add_checker(weir_context *context) {
  if (!(context->host.flags & WEIR_CONTEXT_CHECK)) return WEIR_OK;
  if (context->host.device_count == WEIR__MAX_DEVICES)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "context: %d devices leave no room for check mode",
                       WEIR__MAX_DEVICES);
  weir_device *device;
  weir_status status = weir__checker_create(&context->host, &device);
  if (status == WEIR_OK) status = weir__context_add_device(context, device);
  if (status != WEIR_OK) return status;
  context->devices.checker = device;
  return add_card_kernels(context);
}

static weir_status initialize(weir_context *context, const weir_context_options *options) {
  const char *names = options->devices == NULL ? "cpu" : options->devices;
  weir_status status = weir__context_initialize(context, options);
  context->rules[WEIR__TASK_LAUNCH] = &weir__launch_rules;
  context->rules[WEIR__TASK_OPEN] = &weir__open_rules;
  weir__object_pool_initialize(&context->objects.graphs, WEIR__KIND_GRAPH, sizeof(weir_graph), WEIR__FEW_RELEASED_KEPT,
                               weir__graph_destroy);
  weir__object_pool_initialize(&context->objects.prepared, WEIR__KIND_PREPARED, sizeof(weir_prepared),
                               WEIR__FEW_RELEASED_KEPT, weir__prepared_destroy);
  if (status != WEIR_OK) return status;
  count_threads(context, names);
  status = add_devices(context, names, options->queues);
  if (!weir__may_spin()) context->host.spin_ns = 0;
  if (status == WEIR_OK) pin_threads(context);
  if (status == WEIR_OK) status = add_copier(context);
  if (status == WEIR_OK) status = add_checker(context);
  if (status == WEIR_OK) status = weir__context_open(context);
  if (status == WEIR_OK) weir__plain_open(context);
  if (status == WEIR_OK) weir__repeats_open(context);
  return status;
}

weir_status weir_context_create_sized(const weir_context_options *given, size_t options_size,
                                      weir_context **out_context) {
  if (out_context == NULL) return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "context: out_context is NULL");
  *out_context = NULL;
  weir_context_options options;
  weir_status status = weir__struct_take(&options, sizeof options, given, options_size, "context");
  if (status == WEIR_OK) status = check_options(&options);
  const char *check = getenv("WEIR_CHECK");
  if (check != NULL && strcmp(check, "1") == 0) options.flags |= WEIR_CONTEXT_CHECK;
  if (weir__record_wanted()) options.flags |= WEIR_CONTEXT_TRACE;
  if (options.flags & WEIR_CONTEXT_CHECK) options.flags |= WEIR_CONTEXT_NO_RENAME; // nothing overlaps
  if (status != WEIR_OK) return status;
  weir_context *context = weir__allocate_zeroed(sizeof *context);
  if (context == NULL) return weir__error(WEIR_ERROR_OUT_OF_MEMORY, "context: no memory");
  status = initialize(context, &options);
  if (status != WEIR_OK) {
    weir__context_destroy(context);
    return status;
  }
  weir__process_enter(context);
  weir__record_open(context);
  *out_context = context;
  return WEIR_OK;
}

static void close_all(weir_context *context) {
  for (;;) {
    weir__context_lock(context);
    weir__closer *closer = context->closers;
    if (closer != NULL) context->closers = closer->next;
    weir__context_unlock(context);
    if (closer == NULL) return;
    closer->close(closer);
  }
}

// Until all that is in flight is done. Who could signal host events does not use the context any more.
static void await_tasks(weir_context *context) {
  weir__externals_abandon(context);
  weir__context_flush(context);
  weir__context_wait(context, context->host.window.next, WEIR_FOREVER);
}

weir_status weir_context_release(weir_context *context) {
  if (context == NULL) return WEIR_OK;
  weir_status status = weir__check_waiter(context, "context release");
  if (status != WEIR_OK) return status;
  char open[WEIR__MESSAGE_BYTES];
  weir__context_lock(context);
  bool has_open = weir__open_describe(context, open);
  weir__context_unlock(context);
  if (has_open)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT,
                       "context release: %s was begun and not ended: nothing is released before weir_task_end", open);
  if (atomic_load_explicit(&context->host.progress.function, memory_order_seq_cst) != NULL)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT,
                       "context release: it has a function of weir_context_set_progress, as that of a job of MPI has "
                       "until weir_mpi_release: nothing is released before that is taken back");
  close_all(context);
  weir__context_lock(context);
  await_tasks(context);
  // Callbacks that another thread still calls may submit more.
  while (context->host.notices.calling || context->callbacks.due_first != NULL || context->queue.first != NULL ||
         weir__profile_is_due(context) || !weir__window_empty(&context->host.window) ||
         context->externals.first != NULL) {
    if (weir__window_empty(&context->host.window)) weir__externals_end(context);
    weir__context_unlock(context);
    sched_yield();
    weir__context_lock(context);
    await_tasks(context);
  }
  weir__watch_acquire_all(context);
  weir__repeats_close(context);
  weir__context_unlock(context);
  weir__record_close(context);
  weir__process_leave(context);
  weir__context_destroy(context);
  return WEIR_OK;
}

static void cancel(weir_context *context) {
  atomic_store_explicit(&context->host.cancel_before, context->host.window.next, memory_order_relaxed);
  weir__queue_cancel(context);
  weir__externals_cancel(context);
}

// First of all what has been submitted: what is held back may find room only once that is skipped.
void weir_context_cancel(weir_context *context) {
  if (context == NULL) return;
  weir__context_lock_to_submit(context);
  cancel(context);
  weir__context_unlock(context);
  if (!weir__context_lock_settled(context, true)) context->repeating.cancelled = true; // another thread is at it
  cancel(context);
  weir__context_unlock(context);
}

static weir_statistics statistics_of(weir_context *context) {
  weir__context_lock_at_once(context);
  weir_statistics statistics = context->host.statistics;
  statistics.edges += context->host.window.edges;
  statistics.room = weir__window_room(&context->host.window, 0);
  uint64_t aside = context->order.aside; // of the checker's own
  statistics.tasks -= aside;
  statistics.done -= aside < statistics.done ? aside : statistics.done;
  uint32_t spaces = context->devices.checker != NULL ? 1 : context->memory.space_count; // the others have its copies
  for (uint32_t i = 0; i < spaces; i++) {
    statistics.bytes += context->memory.pools[i].bytes;
    statistics.peak_bytes += context->memory.pools[i].peak_bytes;
  }
  weir__context_unlock(context);
  return statistics;
}

void weir_context_statistics_sized(weir_context *context, weir_statistics *out_statistics, size_t statistics_size) {
  if (out_statistics == NULL) return;
  weir_statistics statistics = {0};
  if (context != NULL) statistics = statistics_of(context);
  weir__struct_give(out_statistics, statistics_size, &statistics, sizeof statistics);
}

uint32_t weir_context_device_count(const weir_context *context) {
  return context == NULL ? 0 : context->devices.listed_count;
}

weir_device *weir_context_device(const weir_context *context, uint32_t index) {
  return context == NULL || index >= context->devices.listed_count ? NULL : context->host.devices[index];
}

const weir_device_info *weir_device_information(const weir_device *device) {
  static const weir_device_info none = {.kind = "", .name = "", .description = ""};
  return device == NULL ? &none : &device->info;
}

uint64_t weir_device_time(weir_device *device) {
  if (device == NULL) return 0;
  weir__host_lock(device->host);
  uint64_t now = device->ops->time(device);
  weir__host_unlock(device->host);
  return now;
}
