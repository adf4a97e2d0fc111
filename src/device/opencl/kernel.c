// SPDX-License-Identifier: Apache-2.0
#include "device/opencl/kernel.h"

#include <stdio.h>
#include <string.h>

#include "base/allocate.h"
#include "base/error.h"
#include "base/structs.h"
#include "device/host.h"
#include "device/opencl/arguments.h"
#include "device/opencl/image.h"
#include "device/opencl/opencl.h"
#include "device/opencl/program.h"
#include "device/use.h"

enum { DIMENSIONS = 3, KNOWN_KINDS = WEIR__OPENCL_KNOWN_KINDS };

static void destroy(weir__code *head) {
  weir__opencl_kernel *opencl = (weir__opencl_kernel *)head;
  for (uint32_t i = 0; i < WEIR__MAX_DEVICES; i++) {
    if (opencl->kernels[i] != NULL) opencl->driver->clReleaseKernel(opencl->kernels[i]);
  }
  weir__free((void *)(uintptr_t)opencl->value.value);
  weir__free(opencl);
}

static weir_status check_call(const weir_kernel *kernel, const weir_opencl_code *code,
                              const weir_opencl_launch *launch) {
  const char *why = NULL;
  if (code == NULL || launch == NULL)
    why = code == NULL ? "the code is NULL" : "the launch is NULL";
  else if ((code->source == NULL) == (code->spirv == NULL))
    why = "the code needs a source or SPIR-V, and not both";
  else if (code->spirv != NULL && code->spirv_bytes == 0)
    why = "the SPIR-V has no bytes";
  else if (launch->entry == NULL || launch->entry[0] == '\0')
    why = "the launch names no kernel of the code";
  else if (launch->local_count > WEIR_OPENCL_MOST_LOCAL)
    why = "more arguments of local memory than WEIR_OPENCL_MOST_LOCAL";
  else if (launch->value != NULL && launch->value_bytes == 0)
    why = "the launch's value has no bytes";
  else if (weir__sets_reserved(launch->reserved))
    why = "the launch: " WEIR__RESERVED_TEXT;
  for (uint32_t i = 0; why == NULL && i < launch->local_count; i++) {
    if (launch->local_bytes[i] == 0) why = "an argument of local memory has no bytes";
  }
  return why == NULL ? WEIR_OK : weir__error(WEIR_ERROR_INVALID_ARGUMENT, "kernel '%s': %s", kernel->name, why);
}

static weir_status check_local(const weir__opencl_device *device, const char *name, const weir__opencl_kernel *opencl,
                               cl_kernel kernel) {
  size_t most = 0, wanted[DIMENSIONS] = {0};
  cl_ulong room = 0, bytes = 0;
  const size_t *local = opencl->local;
  const weir__opencl_driver *driver = device->driver;
  driver->clGetKernelWorkGroupInfo(kernel, device->device, CL_KERNEL_WORK_GROUP_SIZE, sizeof most, &most, NULL);
  driver->clGetKernelWorkGroupInfo(kernel, device->device, CL_KERNEL_COMPILE_WORK_GROUP_SIZE, sizeof wanted, wanted,
                                   NULL);
  driver->clGetDeviceInfo(device->device, CL_DEVICE_LOCAL_MEM_SIZE, sizeof room, &room, NULL);
  for (uint32_t i = 0; i < opencl->local_count; i++) bytes += opencl->local_bytes[i];
  if (wanted[0] != 0 && memcmp(wanted, local, sizeof wanted) != 0)
    return weir__error(
        WEIR_ERROR_INVALID_ARGUMENT,
        "kernel '%s', '%s' on %s: work-groups of %zu x %zu x %zu work-items; the code asks for %zu x %zu x %zu", name,
        opencl->entry, device->base.device.name, local[0], local[1], local[2], wanted[0], wanted[1], wanted[2]);
  if (most > 0 && (local[0] > most || local[1] > most / local[0] || local[2] > most / local[0] / local[1]))
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT,
                       "kernel '%s', '%s' on %s: work-groups of %zu x %zu x %zu work-items; at most %zu are possible",
                       name, opencl->entry, device->base.device.name, local[0], local[1], local[2], most);
  if (room > 0 && bytes > room)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT,
                       "kernel '%s', '%s' on %s: %llu bytes of local memory; at most %llu are possible", name,
                       opencl->entry, device->base.device.name, (unsigned long long)bytes, (unsigned long long)room);
  return WEIR_OK;
}

// Notes what an argument is that is neither a sampler nor local memory. Several devices have the same code, but need not tell
// the same.
static void note_argument(const weir__opencl_device *device, cl_kernel kernel, cl_uint index, cl_uint kind,
                          weir__opencl_kernel *opencl) {
  uint32_t argument = index - opencl->sampler_count; // of the task
  uint64_t bit = UINT64_C(1) << argument;
  if (kind == CL_KERNEL_ARG_ADDRESS_GLOBAL || kind == CL_KERNEL_ARG_ADDRESS_CONSTANT || (opencl->is_image & bit) != 0) {
    uint8_t use = weir__opencl_argument_use(device->driver, kernel, index, kind);
    opencl->uses[argument] = (opencl->is_pointer & bit) != 0 ? weir__use_both(opencl->uses[argument], use) : use;
    opencl->is_pointer |= bit;
  } else if (kind == CL_KERNEL_ARG_ADDRESS_PRIVATE) {
    uint32_t bytes = weir__opencl_argument_bytes(device->driver, kernel, index);
    bool same = (opencl->is_value & bit) == 0 || opencl->value_bytes[argument] == bytes;
    opencl->value_bytes[argument] = same ? bytes : 0;
    opencl->is_value |= bit;
  }
}

// The arguments of local memory are the last ones; where the driver tells, they are checked.
static weir_status find_arguments(const weir__opencl_device *device, const char *name, cl_kernel kernel,
                                  weir__opencl_kernel *opencl) {
  cl_uint count = 0;
  cl_int result = device->driver->clGetKernelInfo(kernel, CL_KERNEL_NUM_ARGS, sizeof count, &count, NULL);
  if (result != CL_SUCCESS)
    return weir__opencl_error(result, "kernel '%s', '%s' on %s", name, opencl->entry, device->base.device.name);
  if (count < opencl->local_count)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT,
                       "kernel '%s', '%s' on %s: %u arguments of local memory; the kernel has %u arguments", name,
                       opencl->entry, device->base.device.name, opencl->local_count, count);
  opencl->argument_count = count - opencl->local_count;
  opencl->sampler_count = 0;
  if (opencl->value.bytes > 0 && opencl->argument_count != 1)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "kernel '%s', '%s' on %s: %u arguments; the launch has one value",
                       name, opencl->entry, device->base.device.name, opencl->argument_count);
  for (cl_uint i = 0; i < count && i < KNOWN_KINDS; i++) {
    cl_uint kind = 0;
    if (device->driver->clGetKernelArgInfo(kernel, i, CL_KERNEL_ARG_ADDRESS_QUALIFIER, sizeof kind, &kind, NULL) !=
        CL_SUCCESS) {
      opencl->untold = true;
      return WEIR_OK;
    }
    bool is_local = kind == CL_KERNEL_ARG_ADDRESS_LOCAL, is_sampler;
    if (is_local != (i >= count - opencl->local_count))
      return weir__error(
          WEIR_ERROR_INVALID_ARGUMENT,
          "kernel '%s', '%s' on %s: argument %u of %u is %s of local memory, of which the launch has the "
          "last %u",
          name, opencl->entry, device->base.device.name, i, count, is_local ? "one" : "none", opencl->local_count);
    weir_status status = weir__opencl_image_argument(device, name, kernel, i, opencl, &is_sampler);
    if (status != WEIR_OK) return status;
    if (is_sampler) {
      opencl->argument_count--;
      continue;
    }
    note_argument(device, kernel, i, kind, opencl);
  }
  return WEIR_OK;
}

// Builds the code on one device.
static weir_status load(weir__opencl_device *device, const char *name, const weir_opencl_code *code,
                        const weir_opencl_launch *launch, weir__opencl_kernel *opencl) {
  cl_program program;
  weir_status status = weir__opencl_program_build(device, name, code, &program);
  if (status != WEIR_OK) return status;
  cl_int result = CL_SUCCESS;
  cl_kernel kernel = device->driver->clCreateKernel(program, launch->entry, &result);
  if (kernel == NULL && result == CL_INVALID_KERNEL_NAME)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "kernel '%s': its OpenCL code has no kernel '%s'", name,
                       launch->entry);
  if (kernel == NULL)
    return weir__opencl_error(result == CL_SUCCESS ? CL_OUT_OF_HOST_MEMORY : result, "kernel '%s', '%s' on %s", name,
                              launch->entry, device->base.device.name);
  opencl->kernels[device->base.device.index] = kernel;
  status = find_arguments(device, name, kernel, opencl);
  return status == WEIR_OK ? check_local(device, name, opencl, kernel) : status;
}

static weir__opencl_kernel *make(const weir_opencl_launch *launch) {
  weir__opencl_kernel *opencl = weir__allocate_zeroed(sizeof *opencl);
  if (opencl == NULL) return NULL;
  opencl->head.destroy = destroy;
  snprintf(opencl->entry, sizeof opencl->entry, "%s", launch->entry);
  bool of_task = (launch->groups[0] | launch->groups[1] | launch->groups[2]) == 0;
  for (int i = 0; i < DIMENSIONS; i++) {
    opencl->groups[i] = launch->groups[i] == 0 && !of_task ? 1 : launch->groups[i];
    opencl->local[i] = launch->local[i] == 0 ? 1 : launch->local[i];
  }
  opencl->local_count = launch->local_count;
  memcpy(opencl->local_bytes, launch->local_bytes, sizeof opencl->local_bytes);
  if (launch->value == NULL) return opencl;
  void *value = weir__allocate(launch->value_bytes);
  if (value == NULL) {
    weir__free(opencl);
    return NULL;
  }
  memcpy(value, launch->value, launch->value_bytes);
  opencl->value = (weir__opencl_argument){.value = value, .bytes = launch->value_bytes};
  return opencl;
}

weir_status weir_kernel_set_opencl_sized(weir_kernel *kernel, const weir_opencl_code *given, size_t code_size,
                                         const weir_opencl_launch *launch) {
  weir_opencl_code taken, *code = given == NULL ? NULL : &taken;
  weir_status status = weir__object_check(kernel, WEIR__KIND_KERNEL, NULL, "kernel code for OpenCL");
  if (status == WEIR_OK) status = weir__struct_take(&taken, sizeof taken, given, code_size, "kernel code for OpenCL");
  if (status == WEIR_OK) status = check_call(kernel, code, launch);
  if (status != WEIR_OK) return status;
  weir__opencl_kernel *opencl = make(launch);
  if (opencl == NULL) return weir__error(WEIR_ERROR_OUT_OF_MEMORY, "kernel '%s': no memory for its code", kernel->name);
  const weir__host *host = weir__host_of(kernel->object.context);
  for (uint32_t i = 0; i < host->device_count && status == WEIR_OK; i++) {
    if (!weir__is_opencl(host->devices[i])) continue;
    weir__opencl_device *device = weir__opencl_of(host->devices[i]);
    opencl->driver = device->driver;
    status = load(device, kernel->name, code, launch, opencl);
  }
  if (status == WEIR_OK && opencl->driver == NULL)
    status = weir__error(WEIR_ERROR_UNAVAILABLE, "kernel '%s': the context has no OpenCL device for this code",
                         kernel->name);
  if (status != WEIR_OK) {
    destroy(&opencl->head);
    return status;
  }
  return weir__host_set_code(kernel, WEIR__CODE_OPENCL, &opencl->head, "OpenCL code", NULL);
}

// A sub-buffer begins at a multiple of the alignment.
static weir_status check_begin(const weir__opencl_device *device, const weir_task *task, uint32_t index) {
  const weir_arg *arg = &task->args[index];
  uint64_t alignment = device->objects.alignment;
  if (device->memory_kind != WEIR__OPENCL_OBJECTS || arg->offset % alignment == 0 || arg->offset >= arg->buffer->bytes)
    return WEIR_OK;
  char what[WEIR__WHAT_BYTES];
  weir__describe_task(task, what);
  return weir__error(WEIR_ERROR_INVALID_ARGUMENT,
                     "%s, argument %u: a range from byte %llu on of buffer %llu '%s'; on %s, whose memory is objects, "
                     "ranges begin at multiples of %llu bytes",
                     what, index, (unsigned long long)arg->offset, (unsigned long long)arg->buffer->id,
                     arg->buffer->label, device->base.device.name, (unsigned long long)alignment);
}

// What is wrong with the argument by itself is found later, by the check of all tasks' arguments.
static weir_status check_buffer(const weir__opencl_device *device, const weir_task *task, uint32_t index) {
  const weir_buffer *buffer = task->args[index].buffer;
  if (device->memory_kind == WEIR__OPENCL_HOST && weir__opencl_code_of(task->kernel)->is_image == 0) return WEIR_OK;
  if (buffer == NULL || !weir__object_is(&buffer->object, WEIR__KIND_BUFFER) ||
      weir__host_of(buffer->object.context) != device->base.device.host)
    return WEIR_OK;
  weir_status status = weir__opencl_image_check(device, task, index);
  return status == WEIR_OK ? check_begin(device, task, index) : status;
}

// What the driver told of an argument: the size of a value, what may be done with a pointer.
static weir_status check_told(const weir__opencl_device *device, const weir__opencl_kernel *opencl,
                              const weir_task *task, uint32_t index) {
  const weir_arg *arg = &task->args[index];
  if (arg->mode != WEIR_VALUE)
    return weir__use_refutes(opencl->uses[index], arg->mode)
               ? weir__use_refuse(&device->base.device, task, index, opencl->uses[index])
               : WEIR_OK;
  uint32_t bytes = opencl->value_bytes[index];
  if (bytes == 0 || bytes == arg->bytes) return WEIR_OK;
  char place[96];
  snprintf(place, sizeof place, "the OpenCL kernel '%s'", opencl->entry);
  return weir__value_refuse(task, index, bytes, place);
}

uint8_t weir__opencl_kernel_use(const weir_device *device, const weir_task *task, uint32_t index) {
  (void)device;
  const weir__opencl_kernel *opencl = weir__opencl_code_of(task->kernel);
  bool told = opencl->head.enqueue == NULL && !opencl->untold && opencl->value.bytes == 0 && index < KNOWN_KINDS;
  return told ? opencl->uses[index] : 0;
}

weir_status weir__opencl_kernel_check(const weir_device *base, const weir_task *task) {
  const weir__opencl_device *device = (const weir__opencl_device *)(const void *)base;
  if (task->kernel == NULL) return WEIR_OK;
  const weir__opencl_kernel *opencl = weir__opencl_code_of(task->kernel);
  if (opencl->head.enqueue != NULL) return weir__enqueue_check(opencl->head.enqueue, task);
  if (opencl->value.bytes > 0) return WEIR_OK;
  char what[WEIR__WHAT_BYTES];
  if (task->arg_count != opencl->argument_count) {
    weir__describe_task(task, what);
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "%s: %u arguments; the OpenCL kernel '%s' has %u", what,
                       task->arg_count, opencl->entry, opencl->argument_count);
  }
  for (uint32_t i = 0; i < task->arg_count; i++) {
    bool value = task->args[i].mode == WEIR_VALUE;
    bool fits = i >= KNOWN_KINDS || ((value ? opencl->is_pointer : opencl->is_value) >> i & 1) == 0;
    weir_status status = fits && !value ? check_buffer(device, task, i) : WEIR_OK;
    if (status == WEIR_OK && fits && i < KNOWN_KINDS && !opencl->untold) status = check_told(device, opencl, task, i);
    if (status != WEIR_OK) return status;
    if (fits) continue;
    weir__describe_task(task, what);
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "%s, argument %u: a %s; the OpenCL kernel '%s' takes a %s", what, i,
                       value ? "value" : "buffer", opencl->entry, value ? "pointer" : "value");
  }
  return WEIR_OK;
}
