// SPDX-License-Identifier: Apache-2.0
//
// What code a kernel has, and which device it is for.
#include "base/error.h"
#include "engine/context.h"

void weir__kernel_lock(const weir_kernel *kernel) {
  weir_context *context = kernel->object.context;
  weir__context_lock_to_submit(context);
  if (kernel->object.last_use == 0) return;
  weir__context_unlock(context);
  weir__context_lock(context);
}

void weir__kernel_choose_device(weir_kernel *kernel) {
  weir_context *context = kernel->object.context;
  kernel->code_change = ++context->graphs.code_changes;
  for (uint32_t i = 0; i < context->devices.listed_count; i++) {
    if (context->host.devices[i]->ops->has_code(context->host.devices[i], kernel)) {
      kernel->device = i;
      kernel->has_device = true;
      return;
    }
  }
}

weir_status weir__host_set_code(weir_kernel *kernel, weir__code_kind kind, weir__code *code, const char *what,
                                void (*merge)(weir__code *to, const weir__code *from)) {
  weir_context *context = kernel->object.context;
  weir__kernel_lock(kernel);
  bool in_use = kernel->object.last_use >= context->host.window.live.oldest || kernel->queued > 0;
  weir__code *old = in_use ? code : kernel->code[kind];
  if (!in_use) {
    if (merge != NULL && old != NULL) merge(code, old);
    kernel->code[kind] = code;
    kernel->takes_all = (uint8_t)((kernel->takes_all & ~(1U << kind)) | (unsigned)code->takes_all << kind);
    weir__kernel_choose_device(kernel);
  }
  weir__context_unlock(context);
  if (old != NULL) old->destroy(old);
  if (!in_use) return WEIR_OK;
  return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "kernel '%s': tasks in flight use its %s", kernel->name, what);
}

void weir__kernel_unqueue(weir_kernel *kernel) {
  if (--kernel->queued == 0 && kernel->object.released)
    weir__object_give(&kernel->object.context->objects.kernels, &kernel->object);
}

void weir__kernel_destroy(weir__object *object) {
  weir_kernel *kernel = (weir_kernel *)object;
  for (uint32_t i = 0; i < WEIR__CODE_KINDS; i++) {
    if (kernel->code[i] != NULL) kernel->code[i]->destroy(kernel->code[i]);
    kernel->code[i] = NULL;
  }
  kernel->takes_all = 0;
}
