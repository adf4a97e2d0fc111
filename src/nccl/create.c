// SPDX-License-Identifier: Apache-2.0
//
// Communicators: which devices, and NCCL's own communicator for each.
#include <stdio.h>
#include <string.h>

#include "base/allocate.h"
#include "base/error.h"
#include "base/structs.h"
#include "device/cuda/cuda_device.h"
#include "engine/process.h"
#include "nccl/nccl.h"

enum { SLOTS = 8 }; // of the window, for each device, so that collectives find room beside others

static weir_status invalid(const char *text) {
  return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "nccl: %s", text);
}

static weir_status add_device(weir_nccl *nccl, weir_device *device) {
  if (device == NULL) return invalid("a device is NULL");
  if (device->host != &nccl->context->host) return invalid("a device of another context");
  if (!weir__is_cuda(device))
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "nccl: device %s is no CUDA device", device->name);
  for (uint32_t i = 0; i < nccl->count; i++) {
    if (weir__cuda_of(nccl->members[i].device)->ordinal == weir__cuda_of(device)->ordinal)
      return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "nccl: device %s is named twice", device->name);
  }
  nccl->members[nccl->count++].device = device;
  return WEIR_OK;
}

static weir_status take_devices(weir_nccl *nccl, const weir_nccl_options *options) {
  weir_context *context = nccl->context;
  weir_status status = WEIR_OK;
  if ((options->devices == NULL) != (options->device_count == 0))
    return invalid("devices without their number, or a number without devices");
  for (uint32_t i = 0; i < options->device_count && status == WEIR_OK; i++)
    status = nccl->count < WEIR__MAX_DEVICES ? add_device(nccl, options->devices[i]) : invalid("too many devices");
  for (uint32_t i = 0; i < context->devices.listed_count && options->device_count == 0 && status == WEIR_OK; i++) {
    if (weir__is_cuda(context->host.devices[i])) status = add_device(nccl, context->host.devices[i]);
  }
  if (status == WEIR_OK && nccl->count == 0)
    return weir__error(WEIR_ERROR_UNAVAILABLE, "nccl: the context has no CUDA device");
  if (status == WEIR_OK && weir__window_size(&context->host.window) < SLOTS * nccl->count)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "nccl: a window of %u slots is too small for %u devices",
                       weir__window_size(&context->host.window), nccl->count);
  return status;
}

static weir_status check_context(const weir_context *context) {
  bool in_order = (context->host.flags & WEIR_CONTEXT_IN_ORDER) != 0;
  if (!in_order && context->devices.checker == NULL) return WEIR_OK;
  return weir__error(WEIR_ERROR_UNAVAILABLE,
                     "nccl: %s runs one task at a time, and a collective needs a task on each device at the same time",
                     in_order ? "a context with WEIR_CONTEXT_IN_ORDER" : "check mode");
}

static weir_status load(const weir__nccl_library **out_library) {
  char reason[512];
  *out_library = weir__nccl_load(reason, sizeof reason);
  return *out_library != NULL ? WEIR_OK : weir__error(WEIR_ERROR_UNAVAILABLE, "nccl: %s", reason);
}

weir_status weir_nccl_version(int *out_version) {
  if (out_version == NULL) return invalid("out_version is NULL");
  const weir__nccl_library *library;
  weir_status status = load(&library);
  *out_version = status == WEIR_OK ? library->version : 0;
  return status;
}

weir_status weir_nccl_make_id(void *out_id) {
  if (out_id == NULL) return invalid("out_id is NULL");
  const weir__nccl_library *library;
  weir__nccl_id id = {0};
  char text[160];
  weir_status status = load(&library);
  int result = status == WEIR_OK ? library->ncclGetUniqueId(&id) : WEIR__NCCL_SUCCESS;
  memcpy(out_id, &id, WEIR_NCCL_ID_BYTES);
  if (result == WEIR__NCCL_SUCCESS) return status;
  return weir__error(WEIR_ERROR_UNAVAILABLE, "nccl: no id: %s", weir__nccl_text(library, result, text, sizeof text));
}

weir_status weir_nccl_abort(weir_nccl *nccl, const char *message) {
  if (nccl == NULL) return invalid("the communicator is NULL");
  char text[120];
  snprintf(text, sizeof text, "%s", message != NULL ? message : "weir_nccl_abort was called");
  weir__nccl_abort(nccl, text);
  return WEIR_OK;
}

static weir_status take_processes(weir_nccl *nccl, const weir_nccl_options *options) {
  nccl->first = options->first;
  nccl->total = options->id != NULL ? options->total : nccl->count;
  nccl->over = *options;
  bool good = options->id != NULL
                  ? options->ready != NULL && nccl->first < nccl->total && nccl->count <= nccl->total - nccl->first
                  : options->ready == NULL && options->waits == NULL && options->first == 0 && options->total == 0;
  return good ? WEIR_OK
              : invalid(
                    "an id needs `ready`, and devices from `first` on that are no more than `total`; these and `waits` "
                    "need an id");
}

static int make_here(const weir_nccl *nccl, ncclComm_t *comms, char *text, size_t size) {
  int ordinals[WEIR__MAX_DEVICES];
  for (uint32_t i = 0; i < nccl->count; i++) ordinals[i] = weir__cuda_of(nccl->members[i].device)->ordinal;
  int result = nccl->library->ncclCommInitAll(comms, (int)nccl->count, ordinals);
  if (result != WEIR__NCCL_SUCCESS) weir__nccl_text(nccl->library, result, text, size);
  return result;
}

// NCCL makes contexts of the runtime's current in this thread, and leaves one.
static weir_status make_communicators(weir_nccl *nccl) {
  const weir__cuda_driver *driver = weir__cuda_of(nccl->members[0].device)->driver;
  ncclComm_t comms[WEIR__MAX_DEVICES];
  char text[WEIR__NCCL_TEXT];
  CUcontext before = NULL;
  driver->cuCtxGetCurrent(&before);
  int result = nccl->over.id != NULL ? weir__nccl_join(nccl, comms, text) : make_here(nccl, comms, text, sizeof text);
  driver->cuCtxSetCurrent(before);
  if (result != WEIR__NCCL_SUCCESS)
    return weir__error(WEIR_ERROR_UNAVAILABLE, "nccl: no communicator of %u devices by NCCL %d: %s", nccl->total,
                       nccl->library->version, text);
  for (uint32_t i = 0; i < nccl->count; i++) nccl->members[i].comm = comms[i];
  return WEIR_OK;
}

static void destroy_communicators(const weir_nccl *nccl) {
  const weir__cuda_driver *driver = weir__cuda_of(nccl->members[0].device)->driver;
  CUcontext before = NULL;
  driver->cuCtxGetCurrent(&before);
  for (uint32_t i = 0; i < nccl->count && !nccl->aborts; i++) nccl->library->ncclCommDestroy(nccl->members[i].comm);
  driver->cuCtxSetCurrent(before);
}

static void destroy_parts(weir_nccl *nccl) {
  weir_kernel_release(nccl->ready);
  weir_kernel_release(nccl->part);
  if (nccl->order != NULL) weir__nccl_order_drop(nccl->order);
  weir__free(nccl);
}

static weir_status initialize(weir_nccl *nccl, const weir_nccl_options *options) {
  weir_status status = check_context(nccl->context);
  if (status == WEIR_OK) status = take_devices(nccl, options);
  if (status == WEIR_OK) status = take_processes(nccl, options);
  if (status == WEIR_OK) status = load(&nccl->library);
  if (status == WEIR_OK) status = weir__nccl_make_kernels(nccl);
  if (status != WEIR_OK) return status;
  nccl->order = weir__nccl_order_take(nccl->context);
  if (nccl->order == NULL) return weir__error(WEIR_ERROR_OUT_OF_MEMORY, "nccl: no memory");
  status = make_communicators(nccl);
  if (status != WEIR_OK) return status;
  status = weir__nccl_watch(nccl);
  if (status != WEIR_OK) destroy_communicators(nccl);
  return status;
}

// Its collectives are done then.
static void wait_and_destroy(weir_nccl *nccl) {
  weir__context_lock(nccl->context);
  weir__context_flush(nccl->context);
  weir__context_wait(nccl->context, nccl->last, WEIR_FOREVER);
  weir__context_unlock(nccl->context);
  weir__nccl_await_callbacks(nccl);
  weir__context_lock(nccl->context); // who dropped the last one had it
  weir__context_unlock(nccl->context);
  weir__nccl_watch_end(nccl);
  destroy_communicators(nccl);
  destroy_parts(nccl);
}

static void close_with_context(weir__closer *closer) {
  wait_and_destroy((weir_nccl *)(void *)closer);
}

weir_status weir_nccl_create_sized(weir_context *context, const weir_nccl_options *given, size_t options_size,
                                   weir_nccl **out_nccl) {
  if (out_nccl == NULL) return invalid("out_nccl is NULL");
  *out_nccl = NULL;
  if (context == NULL) return invalid("the context is NULL");
  if (weir__this_thread.in_task) return invalid(weir__thread_place());
  weir_nccl_options options;
  weir_status status = weir__struct_take(&options, sizeof options, given, options_size, "nccl");
  if (status != WEIR_OK) return status;
  weir_nccl *nccl = weir__allocate_zeroed(sizeof *nccl);
  if (nccl == NULL) return weir__error(WEIR_ERROR_OUT_OF_MEMORY, "nccl: no memory");
  nccl->context = context;
  status = initialize(nccl, &options);
  if (status != WEIR_OK) {
    destroy_parts(nccl);
    return status;
  }
  weir__context_lock(context);
  nccl->closer = (weir__closer){.next = context->closers, .close = close_with_context};
  context->closers = &nccl->closer;
  weir__context_unlock(context);
  *out_nccl = nccl;
  return WEIR_OK;
}

weir_status weir_nccl_release(weir_nccl *nccl) {
  if (nccl == NULL) return WEIR_OK;
  weir_context *context = nccl->context;
  weir_status status = weir__check_waiter(context, "nccl");
  if (status != WEIR_OK) return status;
  weir__context_lock(context);
  weir__closer **link = &context->closers;
  while (*link != NULL && *link != &nccl->closer) link = &(*link)->next;
  if (*link != NULL) *link = nccl->closer.next;
  weir__context_unlock(context);
  wait_and_destroy(nccl);
  return WEIR_OK;
}
