// SPDX-License-Identifier: Apache-2.0
//
// Kernels: a name and code for one or several kinds of device.
#include <stdio.h>

#include "api/context.h"
#include "base/error.h"

weir_status weir_kernel_create(weir_context *context, const char *name, weir_kernel **out_kernel) {
  if (out_kernel == NULL) return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "kernel create: out_kernel is NULL");
  *out_kernel = NULL;
  if (context == NULL) return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "kernel create: the context is NULL");
  if (name == NULL) return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "kernel create: the name is NULL");
  weir__context_lock(context);
  weir_kernel *kernel = (weir_kernel *)weir__object_take(&context->kernels, context, context->host.window.live.oldest);
  if (kernel != NULL) {
    weir__kernel_destroy(&kernel->object);
    kernel->code_change = ++context->code_changes; // graphs may still name the one that was here before
    snprintf(kernel->name, sizeof kernel->name, "%s", name);
    kernel->function = NULL;
    kernel->has_device = false;
    atomic_store_explicit(&kernel->group_ticks, UINT32_MAX, memory_order_relaxed);
  }
  weir__context_unlock(context);
  if (kernel == NULL) return weir__error(WEIR_ERROR_OUT_OF_MEMORY, "kernel '%s': no memory", name);
  *out_kernel = kernel;
  return WEIR_OK;
}

void weir__kernel_choose_device(weir_kernel *kernel) {
  weir_context *context = kernel->object.context;
  kernel->code_change = ++context->code_changes;
  for (uint32_t i = 0; i < context->host.device_count; i++) {
    if (context->host.devices[i]->ops->has_code(context->host.devices[i], kernel)) {
      kernel->device = i;
      kernel->has_device = true;
      return;
    }
  }
}

weir_status weir_kernel_set_cpu(weir_kernel *kernel, weir_function function) {
  weir_status status = weir__object_check(kernel, WEIR__KIND_KERNEL, NULL, "kernel code for the CPU");
  if (status != WEIR_OK) return status;
  if (function == NULL)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "kernel '%s': the function is NULL", kernel->name);
  weir__context_lock(kernel->object.context);
  kernel->function = function;
  weir__kernel_choose_device(kernel);
  weir__context_unlock(kernel->object.context);
  return WEIR_OK;
}

weir_status weir__host_set_code(weir_kernel *kernel, weir__code_kind kind, weir__code *code, const char *what,
                                void (*merge)(weir__code *to, const weir__code *from)) {
  weir_context *context = kernel->object.context;
  weir__context_lock(context);
  bool in_use = kernel->object.last_use >= context->host.window.live.oldest;
  weir__code *old = in_use ? code : kernel->code[kind];
  if (!in_use) {
    if (merge != NULL && old != NULL) merge(code, old);
    kernel->code[kind] = code;
    weir__kernel_choose_device(kernel);
  }
  weir__context_unlock(context);
  if (old != NULL) old->destroy(old);
  if (!in_use) return WEIR_OK;
  return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "kernel '%s': tasks in flight use its %s", kernel->name, what);
}

void weir__kernel_destroy(weir__object *object) {
  weir_kernel *kernel = (weir_kernel *)object;
  for (uint32_t i = 0; i < WEIR__CODE_KINDS; i++) {
    if (kernel->code[i] != NULL) kernel->code[i]->destroy(kernel->code[i]);
    kernel->code[i] = NULL;
  }
}

weir_status weir_kernel_release(weir_kernel *kernel) {
  if (kernel == NULL) return WEIR_OK;
  weir_status status = weir__object_check(kernel, WEIR__KIND_KERNEL, NULL, "kernel release");
  if (status != WEIR_OK) return status;
  weir_context *context = kernel->object.context;
  weir__context_lock(context);
  if (kernel->object.released)
    status = weir__error(WEIR_ERROR_RELEASED, "kernel release: the kernel was released before");
  else
    weir__object_give(&context->kernels, &kernel->object);
  weir__context_unlock(context);
  return status;
}

const char *weir_kernel_name(const weir_kernel *kernel) {
  return weir__object_check(kernel, WEIR__KIND_KERNEL, NULL, "kernel name") == WEIR_OK ? kernel->name : "";
}
