// SPDX-License-Identifier: Apache-2.0
//
// Launches of kernels.
#include "device/cuda/queue/launch.h"

// The addresses of a task's parameters: of the pointer to a buffer's range, or of a value.
static void fill_parameters(const weir__task *task, void **parameters) {
  for (uint32_t i = 0; i < task->arg_count; i++)
    parameters[i] = weir__task_is_value(task, i) ? task->args[i] : (void *)&task->args[i];
}

CUresult weir__cuda_launch_one(weir__cuda_device *device, const weir__cuda_launch *launch, const uint32_t groups[3],
                               void **parameters, CUstream stream) {
  void *value = launch->value;
  const uint32_t *grid = launch->grid[0] == 0 ? groups : launch->grid;
  return device->driver->cuLaunchKernel(launch->functions[device->base.device.index], grid[0], grid[1], grid[2],
                                        launch->block[0], launch->block[1], launch->block[2], launch->shared_bytes,
                                        stream, value != NULL ? &value : parameters, NULL);
}

CUresult weir__cuda_launch_task(weir__cuda_device *device, const weir__task *task, CUstream stream) {
  const weir__cuda_kernel *kernel = task->code;
  void *parameters[WEIR_MAX_ARGS];
  fill_parameters(task, parameters);
  CUresult result = CUDA_SUCCESS;
  for (uint32_t i = 0; i < kernel->count && result == CUDA_SUCCESS; i++)
    result = weir__cuda_launch_one(device, &kernel->launches[i], task->groups, parameters, stream);
  return result;
}
