// SPDX-License-Identifier: Apache-2.0
//
// Tasks beside the code of their kernel: grids, arguments, and modes that the code refutes.
#include "base/error.h"
#include "device/cuda/kernel.h"
#include "device/enqueue.h"
#include "device/use.h"

enum { MAX_GRID_Y = 65535, POINTER_BYTES = 8 };

static bool grid_fits(const uint32_t grid[3]) {
  return grid[0] <= INT32_MAX && grid[1] <= MAX_GRID_Y && grid[2] <= MAX_GRID_Y;
}

weir_status weir__cuda_check_grid(const char *what, const uint32_t grid[3]) {
  if (grid_fits(grid)) return WEIR_OK;
  return weir__error(WEIR_ERROR_INVALID_ARGUMENT,
                     "%s: a grid of %u x %u x %u blocks; at most 2147483647 x 65535 x 65535 are possible", what,
                     grid[0], grid[1], grid[2]);
}

// By a launch on a device. A launch whose parameter is a value may have buffers' addresses in it.
static uint8_t use_of_launch(const weir__cuda_launch *launch, uint32_t device, uint32_t index) {
  const weir__ptx_entry *entry = launch->entries[device];
  if (launch->value != NULL || entry == NULL || index >= entry->param_count) return 0;
  return entry->params[index].use | entry->anywhere;
}

static uint8_t use_of(const weir__cuda_kernel *cuda, uint32_t device, uint32_t index) {
  uint8_t use = cuda->count > 0 ? WEIR__USE_KNOWN : 0;
  for (uint32_t i = 0; i < cuda->count; i++)
    use = weir__use_both(use, use_of_launch(&cuda->launches[i], device, index));
  return use;
}

void weir__cuda_kernel_find_refuted(weir__cuda_kernel *cuda, uint32_t device) {
  for (uint32_t i = 0; i < WEIR__CUDA_KNOWN_PARAMETERS; i++) {
    uint8_t use = use_of(cuda, device, i);
    for (uint32_t mode = 0; mode <= WEIR_READ_WRITE; mode++)
      if (weir__use_refutes(use, (weir_mode)mode)) cuda->refuted[mode] |= (uint16_t)(1U << i);
  }
}

static inline bool arguments_fit(const weir_task *task, const weir__cuda_launch *launch) {
  if (task->arg_count != launch->parameter_count) return false;
  uint32_t count = task->arg_count < WEIR__CUDA_KNOWN_PARAMETERS ? task->arg_count : WEIR__CUDA_KNOWN_PARAMETERS;
  uint64_t differs = 0;
  for (uint32_t i = 0; i < count; i++) {
    const weir_arg *arg = &task->args[i];
    differs |= (arg->mode == WEIR_VALUE ? arg->bytes : POINTER_BYTES) ^ launch->parameter_bytes[i];
  }
  return differs == 0;
}

// Bytes of a parameter; 0: not known.
static uint32_t bytes_of(const weir__cuda_launch *launch, const weir_device *device, uint32_t index) {
  const weir__ptx_entry *entry = launch->entries[device->index];
  if (index < WEIR__CUDA_KNOWN_PARAMETERS) return launch->parameter_bytes[index];
  return entry != NULL && index < entry->param_count ? entry->params[index].bytes : 0;
}

static weir_status check_arguments(const weir_device *device, const weir_task *task, const weir__cuda_launch *launch) {
  if (launch->value != NULL || launch->parameter_count == UINT32_MAX) return WEIR_OK;
  if (task->arg_count <= WEIR__CUDA_KNOWN_PARAMETERS && arguments_fit(task, launch)) return WEIR_OK;
  char what[WEIR__WHAT_BYTES];
  if (task->arg_count != launch->parameter_count) {
    weir__describe_task(task, what);
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "%s: %u arguments; the CUDA function has %u parameters", what,
                       task->arg_count, launch->parameter_count);
  }
  for (uint32_t i = 0; i < task->arg_count; i++) {
    bool value = task->args[i].mode == WEIR_VALUE;
    uint32_t wanted = bytes_of(launch, device, i);
    if (wanted == 0 || (value ? task->args[i].bytes : POINTER_BYTES) == wanted) continue;
    if (value) return weir__value_refuse(task, i, wanted, "the CUDA function");
    weir__describe_task(task, what);
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT,
                       "%s, argument %u: a pointer of %u bytes; the CUDA function's parameter has %u", what, i,
                       (unsigned)POINTER_BYTES, wanted);
  }
  return WEIR_OK;
}

uint8_t weir__cuda_kernel_use(const weir_device *device, const weir_task *task, uint32_t index) {
  const weir__cuda_kernel *cuda = weir__cuda_code_of(task->kernel);
  uint8_t use = use_of(cuda, device->index, index), values = 0;
  for (uint32_t i = 0; i < task->arg_count; i++) // what is done through a value that is an address
    if (task->args[i].mode == WEIR_VALUE) values |= use_of(cuda, device->index, i);
  return use | (values & (WEIR__USE_READS | WEIR__USE_WRITES));
}

static __attribute__((noinline)) weir_status check_modes(const weir_device *device, const weir_task *task) {
  for (uint32_t i = 0; i < task->arg_count; i++) {
    if (task->args[i].mode == WEIR_VALUE) continue;
    uint8_t use = weir__cuda_kernel_use(device, task, i);
    if (!weir__use_refutes(use, task->args[i].mode)) continue;
    weir_status status = weir__use_refuse(device, task, i, use);
    if (status != WEIR_OK) return status;
  }
  return WEIR_OK;
}

// Whether no mode is refuted, as far as can be told at once.
static inline bool modes_fit(const weir_task *task, const weir__cuda_kernel *cuda) {
  uint32_t wrong = task->arg_count > WEIR__CUDA_KNOWN_PARAMETERS;
  for (uint32_t i = 0; i < task->arg_count && i < WEIR__CUDA_KNOWN_PARAMETERS; i++)
    wrong |= cuda->refuted[task->args[i].mode & WEIR_READ_WRITE] >> i & 1;
  return wrong == 0;
}

static weir_status check_groups(const weir_task *task) {
  if ((task->groups[0] | task->groups[1] | task->groups[2]) <= MAX_GRID_Y) return WEIR_OK;
  uint32_t groups[3];
  for (int i = 0; i < 3; i++) groups[i] = task->groups[i] == 0 ? 1 : task->groups[i];
  if (grid_fits(groups)) return WEIR_OK;
  char what[WEIR__WHAT_BYTES];
  weir__describe_task(task, what);
  return weir__cuda_check_grid(what, groups);
}

weir_status weir__cuda_kernel_check(const weir_device *device, const weir_task *task) {
  // The code's own lines are left to the device's thread, which needs them anyway.
  if (task->kernel == NULL || (task->kernel->takes_all >> WEIR__CODE_CUDA & 1) != 0) return WEIR_OK;
  const weir__cuda_kernel *cuda = weir__cuda_code_of(task->kernel);
  weir_status status = WEIR_OK;
  if (cuda == NULL) return WEIR_OK;
  if (cuda->count == 0) return cuda->head.enqueue != NULL ? weir__enqueue_check(cuda->head.enqueue, task) : WEIR_OK;
  for (uint32_t i = 0; i < cuda->count && status == WEIR_OK; i++) {
    const weir__cuda_launch *launch = &cuda->launches[i];
    if (launch->grid[0] == 0) status = check_groups(task);
    if (status == WEIR_OK) status = check_arguments(device, task, launch);
  }
  return status != WEIR_OK || modes_fit(task, cuda) ? status : check_modes(device, task);
}
