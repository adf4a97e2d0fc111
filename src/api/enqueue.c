// SPDX-License-Identifier: Apache-2.0
//
// Kernels whose code is a function that puts work on a device's queue.
#include "weir/enqueue.h"

#include <stdio.h>
#include <string.h>

#include "api/registry.h"
#include "base/error.h"
#include "base/structs.h"
#include "device/enqueue.h"

// NULL: the kernel's context has no such device. `*out_ops` is NULL if there is no such kind at all.
static const weir_device *find_device(const weir_kernel *kernel, const char *kind, const weir__device_ops **out_ops) {
  const weir__host *host = weir__host_of(kernel->object.context);
  *out_ops = NULL;
  for (const weir__device_ops *const *ops = weir__device_kinds; *ops != NULL; ops++) {
    if (strcmp((*ops)->kind, kind) == 0) *out_ops = *ops;
  }
  for (uint32_t i = 0; i < host->device_count; i++) {
    if (strcmp(host->devices[i]->ops->kind, kind) == 0) return host->devices[i];
  }
  return NULL;
}

static weir_status refuse_kind(const weir_kernel *kernel, const char *kind) {
  char known[96] = "";
  if (strcmp(kind, "cpu") == 0)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT,
                       "kernel '%s': a CPU has no queue; give it a function with weir_kernel_set_cpu", kernel->name);
  for (const weir__device_ops *const *ops = weir__device_kinds; *ops != NULL; ops++) {
    size_t used = strlen(known);
    if ((*ops)->set_enqueue != NULL)
      snprintf(known + used, sizeof known - used, "%s%s", used == 0 ? "" : ", ", (*ops)->kind);
  }
  return weir__error(WEIR_ERROR_INVALID_ARGUMENT,
                     "kernel '%s': devices of kind '%.40s' take no enqueue function; those that do: %s", kernel->name,
                     kind, known[0] == '\0' ? "none" : known);
}

static weir_status check_code(const weir_kernel *kernel, const weir_enqueue_code *code) {
  if (code->function == NULL)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "kernel '%s': the enqueue function is NULL", kernel->name);
  if ((code->flags & ~(uint32_t)(WEIR_ENQUEUE_NO_CAPTURE | WEIR_ENQUEUE_PURE)) != 0)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "kernel '%s': flags 0x%x of the enqueue function are not known",
                       kernel->name, code->flags);
  return WEIR_OK;
}

weir_status weir_kernel_set_enqueue_sized(weir_kernel *kernel, const char *kind, const weir_enqueue_code *given,
                                          size_t code_size) {
  weir_enqueue_code code;
  weir_status status = weir__object_check(kernel, WEIR__KIND_KERNEL, NULL, "enqueue function");
  if (status != WEIR_OK) return status;
  if (kind == NULL || given == NULL)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "kernel '%s': the %s is NULL", kernel->name,
                       kind == NULL ? "kind of device" : "enqueue function's code");
  status = weir__struct_take(&code, sizeof code, given, code_size, "enqueue function");
  if (status != WEIR_OK) return status;
  const weir__device_ops *ops;
  const weir_device *device = find_device(kernel, kind, &ops);
  if (ops == NULL || ops->set_enqueue == NULL) return refuse_kind(kernel, kind);
  status = check_code(kernel, &code);
  if (status != WEIR_OK) return status;
  if (device == NULL)
    return weir__error(WEIR_ERROR_UNAVAILABLE, "kernel '%s': the context has no %s device for its enqueue function",
                       kernel->name, kind);
  return ops->set_enqueue(kernel, &code);
}

void weir_enqueue_fail(const weir_enqueue *call, const char *message) {
  if (call == NULL || call->internal == NULL) return;
  weir__failure *failure = call->internal;
  if (failure->failed) return;
  failure->failed = true;
  snprintf(failure->message, sizeof failure->message, "%s", message == NULL ? "" : message);
}
