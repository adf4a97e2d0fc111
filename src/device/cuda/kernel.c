// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/kernel.h"

#include <stdio.h>
#include <string.h>

#include "base/allocate.h"
#include "base/error.h"
#include "base/structs.h"
#include "device/cuda/cuda_device.h"
#include "device/cuda/function.h"
#include "device/cuda/module.h"
#include "device/cuda/resident/automatic.h"
#include "device/cuda/resident/resident.h"
#include "device/enqueue.h"
#include "device/host.h"

static void destroy(weir__code *head) {
  weir__cuda_kernel *cuda = (weir__cuda_kernel *)head;
  for (uint32_t i = 0; i < cuda->count; i++) weir__free(cuda->launches[i].value);
  weir__free(cuda);
}

bool weir__cuda_kernel_has_code(const weir__cuda_kernel *cuda, uint32_t device) {
  if (cuda == NULL || device >= WEIR__MAX_DEVICES) return false;
  if (cuda->adopted != 0) return cuda->adopted == device + 1;
  for (uint32_t i = 0; i < cuda->count; i++)
    if (cuda->launches[i].functions[device] == NULL) return false;
  return cuda->empty || cuda->count > 0 || cuda->head.enqueue != NULL;
}

static weir_status no_memory(const weir_kernel *kernel) {
  return weir__error(WEIR_ERROR_OUT_OF_MEMORY, "kernel '%s': no memory for its launches", kernel->name);
}

static weir_status check_code(const weir_kernel *kernel, const weir_cuda_code *code, const weir_cuda_launch *launches,
                              uint32_t count) {
  if (count == 0) {
    if (code == NULL) return WEIR_OK;
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "kernel '%s': code, but no launch", kernel->name);
  }
  if (code == NULL || launches == NULL)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "kernel '%s': %s is NULL", kernel->name,
                       code == NULL ? "the code" : "the list of launches");
  if ((code->source == NULL) == (code->image == NULL))
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "kernel '%s': exactly one of source and image must be set",
                       kernel->name);
  for (uint32_t i = 0; i < count; i++)
    if (launches[i].function == NULL)
      return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "kernel '%s', launch %u: the function's name is NULL",
                         kernel->name, i);
  return WEIR_OK;
}

// Copies what a launch says, apart from its function.
static weir_status copy_launch(const weir_kernel *kernel, uint32_t index, const weir_cuda_launch *from,
                               weir__cuda_launch *to) {
  char what[WEIR__WHAT_BYTES];
  snprintf(what, sizeof what, "kernel '%s', launch %u", kernel->name, index);
  if (weir__sets_reserved(from->reserved))
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "%s: " WEIR__RESERVED_TEXT, what);
  bool own_grid = from->grid[0] != 0 || from->grid[1] != 0 || from->grid[2] != 0;
  for (int i = 0; i < 3; i++) {
    to->grid[i] = own_grid && from->grid[i] == 0 ? 1 : from->grid[i];
    to->block[i] = from->block[i] == 0 ? 1 : from->block[i];
  }
  to->shared_bytes = from->shared_bytes;
  to->parameter_count = UINT32_MAX;
  weir_status status = weir__cuda_check_grid(what, to->grid);
  if (status != WEIR_OK || from->value == NULL) return status;
  if (from->value_bytes == 0) return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "%s: a value of 0 bytes", what);
  to->value = weir__allocate(from->value_bytes);
  if (to->value == NULL) return no_memory(kernel);
  memcpy(to->value, from->value, from->value_bytes);
  to->value_bytes = from->value_bytes;
  return WEIR_OK;
}

static weir_status make_launches(const weir_kernel *kernel, const weir_cuda_launch *launches, uint32_t count,
                                 weir__cuda_kernel **out_cuda) {
  weir__cuda_kernel *cuda = weir__allocate_zeroed(sizeof *cuda + count * sizeof cuda->launches[0]);
  if (cuda == NULL) return no_memory(kernel);
  cuda->head.destroy = destroy;
  cuda->count = count;
  cuda->empty = count == 0;
  weir_status status = WEIR_OK;
  for (uint32_t i = 0; i < count && status == WEIR_OK; i++)
    status = copy_launch(kernel, i, &launches[i], &cuda->launches[i]);
  if (status != WEIR_OK) {
    destroy(&cuda->head);
    cuda = NULL;
  }
  *out_cuda = cuda;
  return status;
}

static weir_status enter(const weir__cuda_device *device, const char *kernel) {
  return weir__cuda_error(device->driver, weir__cuda_enter(device), "kernel '%s' on %s", kernel,
                          device->base.device.name);
}

// Makes the kernel's parts of the device's resident kernel, if the device has one, or may get one, and all launches fit.
static weir_status add_to_resident(weir__cuda_device *device, const weir_kernel *kernel, const weir_cuda_code *code,
                                   const weir_cuda_launch *launches, weir__cuda_kernel *cuda) {
  weir_status status = WEIR_OK;
  for (uint32_t i = 0; i < cuda->count && device->automatic != NULL; i++) {
    if (cuda->count > WEIR__RESIDENT_MOST_LAUNCHES) return WEIR_OK;
    cuda->launches[i].resident[device->base.device.index] = weir__resident_request_code(device, code, &launches[i]);
  }
  if (device->base.device.host->issue != WEIR_ISSUE_RESIDENT) return WEIR_OK;
  if (cuda->count > WEIR__RESIDENT_MOST_LAUNCHES)
    snprintf(cuda->not_resident, sizeof cuda->not_resident, "it has %u launches", cuda->count);
  for (uint32_t i = 0; i < cuda->count && status == WEIR_OK && cuda->not_resident[0] == '\0'; i++)
    status = weir__resident_add(device, kernel->name, code, &launches[i],
                                &cuda->launches[i].resident[device->base.device.index], cuda->not_resident,
                                sizeof cuda->not_resident);
  return status;
}

// Loads all functions on one device.
static weir_status load(weir__cuda_device *device, const weir_kernel *kernel, const weir_cuda_code *code,
                        const weir_cuda_launch *launches, weir__cuda_kernel *cuda) {
  weir_status status = enter(device, kernel->name);
  if (status != WEIR_OK) return status;
  CUmodule module = NULL;
  status = weir__cuda_module_load(device, kernel->name, code, &module);
  for (uint32_t i = 0; i < cuda->count && status == WEIR_OK; i++) {
    weir__cuda_function target = {.device = device, .kernel = kernel->name, .name = launches[i].function};
    status = weir__cuda_module_function(device, kernel->name, module, target.name, &target.function);
    const weir__ptx_entry *entry = weir__cuda_module_entry(device, module, target.name);
    if (status == WEIR_OK)
      status = weir__cuda_function_prepare(&target, entry, launches[i].value_bytes, &cuda->launches[i]);
  }
  if (status == WEIR_OK) status = add_to_resident(device, kernel, code, launches, cuda);
  weir__cuda_leave(device);
  return status;
}

// Whether some launch takes its grid or its parameters from the task.
static bool depends_on_task(const weir__cuda_kernel *cuda) {
  for (uint32_t i = 0; i < cuda->count; i++) {
    if (cuda->launches[i].grid[0] == 0 || cuda->launches[i].value == NULL) return true;
  }
  return false;
}

static weir_status replace(weir_kernel *kernel, weir__cuda_kernel *cuda,
                           void (*merge)(weir__code *to, const weir__code *from)) {
  cuda->head.takes_all = !depends_on_task(cuda);
  return weir__host_set_code(kernel, WEIR__CODE_CUDA, &cuda->head, "CUDA code", merge);
}

weir_status weir_kernel_set_cuda_sized(weir_kernel *kernel, const weir_cuda_code *given, size_t code_size,
                                       const weir_cuda_launch *launches, uint32_t count) {
  weir_cuda_code taken, *code = given == NULL ? NULL : &taken;
  weir_status status = weir__object_check(kernel, WEIR__KIND_KERNEL, NULL, "kernel code for CUDA");
  if (status == WEIR_OK) status = weir__struct_take(&taken, sizeof taken, given, code_size, "kernel code for CUDA");
  if (status == WEIR_OK) status = check_code(kernel, code, launches, count);
  if (status != WEIR_OK) return status;
  const weir__host *host = weir__host_of(kernel->object.context);
  weir__cuda_kernel *cuda = NULL;
  status = make_launches(kernel, launches, count, &cuda);
  if (status != WEIR_OK) return status;
  uint32_t devices = 0;
  for (uint32_t i = 0; i < host->device_count && status == WEIR_OK; i++) {
    if (!weir__is_cuda(host->devices[i])) continue;
    devices++;
    if (count > 0) status = load(weir__cuda_of(host->devices[i]), kernel, code, launches, cuda);
    if (status == WEIR_OK) weir__cuda_kernel_find_refuted(cuda, i);
  }
  if (devices == 0)
    status =
        weir__error(WEIR_ERROR_UNAVAILABLE, "kernel '%s': the context has no CUDA device for this code", kernel->name);
  if (status != WEIR_OK) {
    destroy(&cuda->head);
    return status;
  }
  return replace(kernel, cuda, NULL);
}

weir_status weir__cuda_set_enqueue(weir_kernel *kernel, const weir_enqueue_code *code) {
  weir__code *head = weir__enqueue_make_code(kernel, sizeof(weir__cuda_kernel), code);
  if (head == NULL) return WEIR_ERROR_OUT_OF_MEMORY;
  weir__cuda_kernel *cuda = (weir__cuda_kernel *)(void *)head;
  snprintf(cuda->not_resident, sizeof cuda->not_resident, "its code is an enqueue function");
  return weir__host_set_code(kernel, WEIR__CODE_CUDA, head, "CUDA code", NULL);
}

weir_status weir__cuda_set_adopted(weir_kernel *kernel, const weir_device *device) {
  weir__cuda_kernel *cuda = weir__allocate_zeroed(sizeof *cuda);
  if (cuda == NULL) return no_memory(kernel);
  cuda->head = (weir__code){.destroy = destroy, .takes_all = true};
  cuda->adopted = device->index + 1;
  snprintf(cuda->not_resident, sizeof cuda->not_resident, "it is a node of an adopted graph");
  return weir__host_set_code(kernel, WEIR__CODE_CUDA, &cuda->head, "CUDA code", NULL);
}

// A launch that differs from another only by its functions keeps those of the other's devices.
static void keep_other_devices(weir__code *new_code, const weir__code *old_code) {
  weir__cuda_kernel *to = (weir__cuda_kernel *)new_code;
  const weir__cuda_kernel *from = (const weir__cuda_kernel *)old_code;
  const weir__cuda_launch *a = &from->launches[0];
  weir__cuda_launch *b = &to->launches[0];
  if (from->count != 1 || to->count != 1 || a->value != NULL || b->value != NULL ||
      a->shared_bytes != b->shared_bytes || memcmp(a->grid, b->grid, sizeof a->grid) != 0 ||
      memcmp(a->block, b->block, sizeof a->block) != 0 || a->parameter_count != b->parameter_count ||
      memcmp(a->parameter_bytes, b->parameter_bytes, sizeof a->parameter_bytes) != 0)
    return;
  for (uint32_t i = 0; i < WEIR__MAX_DEVICES; i++)
    if (b->functions[i] == NULL) b->functions[i] = a->functions[i];
}

weir_status weir_kernel_set_cuda_function(weir_kernel *kernel, weir_device *device, void *function,
                                          const weir_cuda_launch *launch) {
  weir_status status = weir__object_check(kernel, WEIR__KIND_KERNEL, NULL, "kernel code for CUDA");
  if (status != WEIR_OK) return status;
  if (function == NULL || launch == NULL)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "kernel '%s': the %s is NULL", kernel->name,
                       function == NULL ? "CUDA function" : "launch");
  if (device == NULL || device->host != weir__host_of(kernel->object.context) || !weir__is_cuda(device))
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "kernel '%s': %s is no CUDA device of the kernel's context",
                       kernel->name, device == NULL ? "NULL" : device->name);
  weir__cuda_kernel *cuda = NULL;
  status = make_launches(kernel, launch, 1, &cuda);
  if (status != WEIR_OK) return status;
  weir__cuda_function target = {.device = weir__cuda_of(device), .kernel = kernel->name, .name = "of the caller's"};
  target.function = (CUfunction)function;
  status = enter(target.device, kernel->name);
  if (status == WEIR_OK) {
    status = weir__cuda_function_prepare(&target, NULL, launch->value_bytes, &cuda->launches[0]);
    weir__cuda_leave(target.device);
  }
  if (status != WEIR_OK) {
    destroy(&cuda->head);
    return status;
  }
  return replace(kernel, cuda, keep_other_devices);
}
