// SPDX-License-Identifier: Apache-2.0
//
// Kernels: a name and code for one or several kinds of device.
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "engine/submission.h"
#include "weir/error.h"

weir_status weir_kernel_create(weir_context *context, const char *name, weir_kernel **out_kernel) {
  if (out_kernel == NULL) return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "kernel create: out_kernel is NULL");
  *out_kernel = NULL;
  if (context == NULL) return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "kernel create: the context is NULL");
  if (name == NULL) return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "kernel create: the name is NULL");
  weir__context_lock_to_submit(context); // it does not matter to the order of tasks
  weir_kernel *kernel =
      (weir_kernel *)weir__object_take(&context->objects.kernels, context, context->host.window.live.oldest);
  if (kernel != NULL) {
    weir__kernel_destroy(&kernel->object);
    kernel->code_change = ++context->graphs.code_changes; // graphs may still name the one that was here before
    snprintf(kernel->name, sizeof kernel->name, "%s", name);
    kernel->function = NULL;
    kernel->has_device = false;
    memset(kernel->group_ns, 0, sizeof kernel->group_ns);
    atomic_store_explicit(&kernel->group_ticks, UINT32_MAX, memory_order_relaxed);
  }
  weir__context_unlock(context);
  if (kernel == NULL) return weir__error(WEIR_ERROR_OUT_OF_MEMORY, "kernel '%s': no memory", name);
  *out_kernel = kernel;
  return WEIR_OK;
}

const char *weir_kernel_name(const weir_kernel *kernel) {
  return kernel == NULL ? "" : kernel->name;
}

weir_status weir_kernel_set_cpu(weir_kernel *kernel, weir_function function) {
  weir_status status = weir__object_check(kernel, WEIR__KIND_KERNEL, NULL, "kernel code for the CPU");
  if (status != WEIR_OK) return status;
  if (function == NULL)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "kernel '%s': the function is NULL", kernel->name);
  weir__kernel_lock(kernel);
  kernel->function = function;
  weir__kernel_choose_device(kernel);
  weir__context_unlock(kernel->object.context);
  return WEIR_OK;
}

weir_status weir_kernel_release(weir_kernel *kernel) {
  if (kernel == NULL) return WEIR_OK;
  weir_status status = weir__object_check(kernel, WEIR__KIND_KERNEL, NULL, "kernel release");
  if (status != WEIR_OK) return status;
  weir_context *context = kernel->object.context;
  weir__kernel_lock(kernel);
  const weir__submission by = {0};
  // Copies of reductions that are combined by it. The lock may be released meanwhile.
  while (status == WEIR_OK && !kernel->object.released && context->reductions.first != NULL) {
    if (context->reductions.combine_all(context, &by, kernel, &status)) break;
    weir__context_unlock(context); // for others, who may be at it
    sched_yield();
    weir__context_lock(context);
  }
  if (status != WEIR_OK)
    status = weir__error_prefix(status, "kernel release: ");
  else if (kernel->object.released)
    status = weir__error(WEIR_ERROR_RELEASED, "kernel release: the kernel was released before");
  else if (kernel->queued > 0)
    kernel->object.released = true;
  else
    weir__object_give(&context->objects.kernels, &kernel->object);
  weir__context_unlock(context);
  return status;
}
