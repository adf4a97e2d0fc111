// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/kernel.h"

#include <stdio.h>
#include <string.h>

#include "base/allocate.h"
#include "base/error.h"
#include "base/lock.h"
#include "base/structs.h"
#include "device/cuda/cuda_device.h"
#include "device/cuda/module.h"
#include "device/cuda/resident/automatic.h"
#include "device/cuda/resident/resident.h"
#include "device/enqueue.h"
#include "device/host.h"
#include "device/use.h"

enum { MAX_GRID_Y = 65535, POINTER_BYTES = 8, KNOWN_PARAMETERS = 16 };

// Guards the raising of a function's limit of shared memory: kernels, even of different contexts, share functions.
static weir__lock shared_limits;

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

static bool grid_fits(const uint32_t grid[3]) {
  return grid[0] <= INT32_MAX && grid[1] <= MAX_GRID_Y && grid[2] <= MAX_GRID_Y;
}

static weir_status check_grid(const char *what, const uint32_t grid[3]) {
  if (grid_fits(grid)) return WEIR_OK;
  return weir__error(WEIR_ERROR_INVALID_ARGUMENT,
                     "%s: a grid of %u x %u x %u blocks; at most 2147483647 x 65535 x 65535 are possible", what,
                     grid[0], grid[1], grid[2]);
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
  weir_status status = check_grid(what, to->grid);
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

// A function on a device, with what messages need.
typedef struct cuda_function {
  weir__cuda_device *device;
  const char *kernel, *name;
  CUfunction function;
} cuda_function;

static weir_status function_attribute(const cuda_function *target, CUfunction_attribute attribute, int *out_value) {
  return weir__cuda_error(
      target->device->driver, target->device->driver->cuFuncGetAttribute(out_value, attribute, target->function),
      "kernel '%s', function '%s' on %s", target->kernel, target->name, target->device->base.device.name);
}

static weir_status device_attribute(const cuda_function *target, CUdevice_attribute attribute, int *out_value) {
  return weir__cuda_error(target->device->driver,
                          target->device->driver->cuDeviceGetAttribute(out_value, attribute, target->device->device),
                          "kernel '%s' on %s", target->kernel, target->device->base.device.name);
}

static weir_status check_block(const cuda_function *target, const uint32_t block[3]) {
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
static weir_status raise_shared(const cuda_function *target, uint32_t dynamic) {
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

static weir_status check_shared(const cuda_function *target, uint32_t dynamic) {
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
  for (uint32_t i = 0; i < entry->param_count && i < KNOWN_PARAMETERS; i++)
    launch->parameter_bytes[i] = entry->params[i].bytes;
}

// Asks the driver for the function's parameters, if it can tell.
static void find_parameters(const cuda_function *target, weir__cuda_launch *launch) {
  const weir__cuda_driver *driver = target->device->driver;
  launch->parameter_count = UINT32_MAX;
  if (driver->cuFuncGetParamInfo == NULL) return;
  for (uint32_t i = 0; i <= WEIR_MAX_ARGS; i++) {
    size_t offset = 0, bytes = 0;
    CUresult result = driver->cuFuncGetParamInfo(target->function, i, &offset, &bytes);
    if (result == CUDA_ERROR_INVALID_VALUE) launch->parameter_count = i;
    if (result != CUDA_SUCCESS) return;
    if (i < KNOWN_PARAMETERS) launch->parameter_bytes[i] = (uint32_t)bytes;
  }
}

static weir_status check_value(const cuda_function *target, const weir__cuda_launch *launch, uint32_t value_bytes) {
  if (launch->value == NULL || launch->parameter_count == UINT32_MAX) return WEIR_OK;
  if (launch->parameter_count == 1 && launch->parameter_bytes[0] == value_bytes) return WEIR_OK;
  if (launch->parameter_count == 1)
    return weir__error(WEIR_ERROR_INVALID_ARGUMENT,
                       "kernel '%s', function '%s': the parameter has %u bytes, the value %u", target->kernel,
                       target->name, launch->parameter_bytes[0], value_bytes);
  return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "kernel '%s', function '%s': %u parameters; the launch has one value",
                     target->kernel, target->name, launch->parameter_count);
}

// Makes a function ready to be launched.
static weir_status prepare(const cuda_function *target, const weir__ptx_entry *entry, uint32_t value_bytes,
                           weir__cuda_launch *launch) {
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
    cuda_function target = {.device = device, .kernel = kernel->name, .name = launches[i].function};
    status = weir__cuda_module_function(device, kernel->name, module, target.name, &target.function);
    const weir__ptx_entry *entry = weir__cuda_module_entry(device, module, target.name);
    if (status == WEIR_OK) status = prepare(&target, entry, launches[i].value_bytes, &cuda->launches[i]);
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

// Notes which modes are wrong on a device, as long as no value is an address.
static void find_refuted(weir__cuda_kernel *cuda, uint32_t device) {
  for (uint32_t i = 0; i < KNOWN_PARAMETERS; i++) {
    uint8_t use = use_of(cuda, device, i);
    for (uint32_t mode = 0; mode <= WEIR_READ_WRITE; mode++)
      if (weir__use_refutes(use, (weir_mode)mode)) cuda->refuted[mode] |= (uint16_t)(1U << i);
  }
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
    if (status == WEIR_OK) find_refuted(cuda, i);
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
  cuda_function target = {.device = weir__cuda_of(device), .kernel = kernel->name, .name = "of the caller's"};
  target.function = (CUfunction)function;
  status = enter(target.device, kernel->name);
  if (status == WEIR_OK) {
    status = prepare(&target, NULL, launch->value_bytes, &cuda->launches[0]);
    weir__cuda_leave(target.device);
  }
  if (status != WEIR_OK) {
    destroy(&cuda->head);
    return status;
  }
  return replace(kernel, cuda, keep_other_devices);
}

static inline bool arguments_fit(const weir_task *task, const weir__cuda_launch *launch) {
  if (task->arg_count != launch->parameter_count) return false;
  uint32_t count = task->arg_count < KNOWN_PARAMETERS ? task->arg_count : KNOWN_PARAMETERS;
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
  if (index < KNOWN_PARAMETERS) return launch->parameter_bytes[index];
  return entry != NULL && index < entry->param_count ? entry->params[index].bytes : 0;
}

static weir_status check_arguments(const weir_device *device, const weir_task *task, const weir__cuda_launch *launch) {
  if (launch->value != NULL || launch->parameter_count == UINT32_MAX) return WEIR_OK;
  if (task->arg_count <= KNOWN_PARAMETERS && arguments_fit(task, launch)) return WEIR_OK;
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
  uint32_t wrong = task->arg_count > KNOWN_PARAMETERS;
  for (uint32_t i = 0; i < task->arg_count && i < KNOWN_PARAMETERS; i++)
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
  return check_grid(what, groups);
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
