// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/function.h"

#include "base/error.h"
#include "base/lock.h"

// Guards the raising of a function's limit of shared memory: kernels, even of different contexts, share functions.
static weir__lock shared_limits;

static weir_status function_attribute(const weir__cuda_function *target, CUfunction_attribute attribute,
                                      int *out_value) {
  return weir__cuda_error(
      target->device->driver, target->device->driver->cuFuncGetAttribute(out_value, attribute, target->function),
      "kernel '%s', function '%s' on %s", target->kernel, target->name, target->device->base.device.name);
}

static weir_status device_attribute(const weir__cuda_function *target, CUdevice_attribute attribute, int *out_value) {
  return weir__cuda_error(target->device->driver,
                          target->device->driver->cuDeviceGetAttribute(out_value, attribute, target->device->device),
                          "kernel '%s' on %s", target->kernel, target->device->base.device.name);
}

static weir_status check_block(const weir__cuda_function *target, const uint32_t block[3]) {
  int limits[3] = {0}, threads = 0, registers = 0;
  weir_status status = device_attribute(target, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, &limits[0]);
  if (status == WEIR_OK) status = device_attribute(target, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, &limits[1]);
  if (status == WEIR_OK) status = device_attribute(target, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, &limits[2]);
  if (status == WEIR_OK) status = function_attribute(target, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, &threads);
  if (status == WEIR_OK) status = function_attribute(target, CU_FUNC_ATTRIBUTE_NUM_REGS, &registers);
  if (status != WEIR_OK) return status;
  bool fits = true;
  for (int i = 0; i < 3; i++)
    if (block[i] > (uint32_t)limits[i]) fits = false;
  if (fits && (uint64_t)block[0] * block[1] * block[2] <= (uint64_t)threads) return WEIR_OK;
  return weir__error(WEIR_ERROR_INVALID_ARGUMENT,
                     "kernel '%s', function '%s': blocks of %u x %u x %u threads; %s allows %d x %d x %d, and for "
                     "this function with %d registers per thread %d threads together",
                     target->kernel, target->name, block[0], block[1], block[2], target->device->base.device.name,
                     limits[0], limits[1], limits[2], registers, threads);
}

// Raises the function's limit of dynamic shared memory. Such a function also gets a multiprocessor's largest share of
// shared memory: to change the share between two launches, a multiprocessor must run empty. That is a hint, which the
// driver may refuse.
static weir_status raise_shared(const weir__cuda_function *target, uint32_t dynamic) {
  const weir__cuda_driver *driver = target->device->driver;
  int allowed = 0;
  weir__lock_acquire(&shared_limits);
  weir_status status = function_attribute(target, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, &allowed);
  if (status == WEIR_OK && dynamic > (uint32_t)allowed) {
    CUresult result =
        driver->cuFuncSetAttribute(target->function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, (int)dynamic);
    status = weir__cuda_error(driver, result, "kernel '%s', function '%s': %u bytes of shared memory on %s",
                              target->kernel, target->name, dynamic, target->device->base.device.name);
    driver->cuFuncSetAttribute(target->function, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 100);
  }
  weir__lock_release(&shared_limits);
  return status;
}

static weir_status check_shared(const weir__cuda_function *target, uint32_t dynamic) {
  int fixed = 0, limit = 0;
  weir_status status = function_attribute(target, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, &fixed);
  if (status == WEIR_OK)
    status = device_attribute(target, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, &limit);
  if (status != WEIR_OK) return status;
  if ((uint64_t)dynamic + (uint64_t)fixed <= (uint64_t)limit) return raise_shared(target, dynamic);
  return weir__error(WEIR_ERROR_INVALID_ARGUMENT,
                     "kernel '%s', function '%s': %u bytes of dynamic and %d of static shared memory; %s allows %d",
                     target->kernel, target->name, dynamic, fixed, target->device->base.device.name, limit);
}

static void take_parameters(const weir__ptx_entry *entry, weir__cuda_launch *launch) {
  launch->parameter_count = entry->param_count;
  for (uint32_t i = 0; i < entry->param_count && i < WEIR__CUDA_KNOWN_PARAMETERS; i++)
    launch->parameter_bytes[i] = entry->params[i].bytes;
}

// Asks the driver for the function's parameters, if it can tell.
static void find_parameters(const weir__cuda_function *target, weir__cuda_launch *launch) {
  const weir__cuda_driver *driver = target->device->driver;
  launch->parameter_count = UINT32_MAX;
  if (driver->cuFuncGetParamInfo == NULL) return;
  for (uint32_t i = 0; i <= WEIR_MAX_ARGS; i++) {
    size_t offset = 0, bytes = 0;
    CUresult result = driver->cuFuncGetParamInfo(target->function, i, &offset, &bytes);
    if (result == CUDA_ERROR_INVALID_VALUE) launch->parameter_count = i;
    if (result != CUDA_SUCCESS) return;
    if (i < WEIR__CUDA_KNOWN_PARAMETERS) launch->parameter_bytes[i] = (uint32_t)bytes;
  }
}

static weir_status check_value(const weir__cuda_function *target, const weir__cuda_launch *launch,
                               uint32_t value_bytes) {
  if (launch->value == NULL || launch->parameter_count == UINT32_MAX) return WEIR_OK;
  if (launch->parameter_count == 1 && launch->parameter_bytes[0] == value_bytes) return WEIR_OK;
  if (launch->parameter_count == 1)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT,
                       "kernel '%s', function '%s': the parameter has %u bytes, the value %u", target->kernel,
                       target->name, launch->parameter_bytes[0], value_bytes);
  return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "kernel '%s', function '%s': %u parameters; the launch has one value",
                     target->kernel, target->name, launch->parameter_count);
}

weir_status weir__cuda_function_prepare(const weir__cuda_function *target, const weir__ptx_entry *entry,
                                        uint32_t value_bytes, weir__cuda_launch *launch) {
  weir_status status = check_block(target, launch->block);
  if (status == WEIR_OK) status = check_shared(target, launch->shared_bytes);
  if (status != WEIR_OK) return status;
  find_parameters(target, launch);
  if (launch->parameter_count == UINT32_MAX && entry != NULL) take_parameters(entry, launch);
  launch->entries[target->device->base.device.index] = entry;
  status = check_value(target, launch, value_bytes);
  if (status == WEIR_OK) launch->functions[target->device->base.device.index] = target->function;
  return status;
}
