// SPDX-License-Identifier: Apache-2.0
//
// Kernels: a name and code for one or several kinds of device.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "api/context.h"
#include "base/allocate.h"
#include "base/error.h"
#include "device/cuda/kernel.h"
#include "device/opencl/kernel.h"
#include "device/vulkan/kernel.h"

static const double LONGEST_LAUNCH_US = 1e9;

weir_status weir_kernel_create(weir_context *context, const char *name, weir_kernel **out_kernel) {
  if (out_kernel == NULL) return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "kernel create: out_kernel is NULL");
  *out_kernel = NULL;
  if (context == NULL) return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "kernel create: the context is NULL");
  if (name == NULL) return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "kernel create: the name is NULL");
  weir__context_lock(context);
  weir_kernel *kernel = (weir_kernel *)weir__object_take(&context->kernels, context, context->window.live.oldest);
  if (kernel != NULL) {
    weir__kernel_destroy(&kernel->object);
    kernel->code_change = ++context->code_changes; // graphs may still name the one that was here before
    snprintf(kernel->name, sizeof kernel->name, "%s", name);
    kernel->cpu = NULL;
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
  for (uint32_t i = 0; i < context->device_count; i++) {
    if (context->devices[i]->ops->has_code(context->devices[i], kernel)) {
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
  kernel->cpu = function;
  weir__kernel_choose_device(kernel);
  weir__context_unlock(kernel->object.context);
  return WEIR_OK;
}

static void free_launches(weir_sim_launch *launches, uint32_t count) {
  for (uint32_t i = 0; launches != NULL && i < count; i++) weir__free((void *)(uintptr_t)launches[i].name);
  weir__free(launches);
}

void weir__kernel_destroy(weir__object *object) {
  weir_kernel *kernel = (weir_kernel *)object;
  free_launches(kernel->sim, kernel->sim_count);
  kernel->sim = NULL;
  kernel->sim_count = 0;
  weir__cuda_kernel_free(kernel->cuda);
  weir__vulkan_kernel_free(kernel->vulkan);
  kernel->cuda = NULL;
  kernel->vulkan = NULL;
  weir__opencl_kernel_free(kernel->opencl);
  kernel->opencl = NULL;
  kernel->cuda_checks = false;
}

static weir_status check_launch(const weir_kernel *kernel, uint32_t index, const weir_sim_launch *launch) {
  if (!isfinite(launch->us) || launch->us < 0 || launch->us > LONGEST_LAUNCH_US)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT,
                       "kernel '%s', simulated launch %u: %g us is no duration from 0 to %g us", kernel->name, index,
                       launch->us, LONGEST_LAUNCH_US);
  if (!isfinite(launch->group_us) || launch->group_us < 0 || launch->group_us > LONGEST_LAUNCH_US)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT,
                       "kernel '%s', simulated launch %u: %g us per work-group is no duration from 0 to %g us",
                       kernel->name, index, launch->group_us, LONGEST_LAUNCH_US);
  if (launch->copy_bytes == 0 && (launch->threads == 0 || launch->threads > 1024))
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT,
                       "kernel '%s', simulated launch %u: %u threads per block; 1 to 1024 are possible", kernel->name,
                       index, launch->threads);
  if (launch->registers > 255)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT,
                       "kernel '%s', simulated launch %u: %u registers per thread; at most 255 are possible",
                       kernel->name, index, launch->registers);
  return WEIR_OK;
}

weir_status weir_kernel_set_sim(weir_kernel *kernel, const weir_sim_launch *launches, uint32_t count) {
  weir_status status = weir__object_check(kernel, WEIR__KIND_KERNEL, NULL, "kernel code for simulation");
  if (status != WEIR_OK) return status;
  if (launches == NULL || count == 0)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "kernel '%s': no simulated launch", kernel->name);
  for (uint32_t i = 0; i < count && status == WEIR_OK; i++) status = check_launch(kernel, i, &launches[i]);
  if (status != WEIR_OK) return status;
  weir_sim_launch *copy = weir__allocate(count * sizeof *copy);
  bool complete = copy != NULL;
  for (uint32_t i = 0; copy != NULL && i < count; i++) {
    copy[i] = launches[i];
    copy[i].name = launches[i].name == NULL || !complete ? NULL : weir__allocate_string(launches[i].name);
    if (launches[i].name != NULL && copy[i].name == NULL) complete = false;
  }
  if (!complete) {
    free_launches(copy, count);
    return weir__error(WEIR_ERROR_OUT_OF_MEMORY, "kernel '%s': no memory for its launches", kernel->name);
  }
  weir__context_lock(kernel->object.context);
  if (kernel->object.last_use >= kernel->object.context->window.live.oldest) {
    weir__context_unlock(kernel->object.context);
    free_launches(copy, count);
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "kernel '%s': tasks in flight use its simulated launches",
                       kernel->name);
  }
  weir_sim_launch *old = kernel->sim;
  uint32_t old_count = kernel->sim_count;
  kernel->sim = copy;
  kernel->sim_count = count;
  weir__kernel_choose_device(kernel);
  weir__context_unlock(kernel->object.context);
  free_launches(old, old_count);
  return WEIR_OK;
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
