// SPDX-License-Identifier: Apache-2.0
//
// Code of kernels for CUDA devices: functions that are loaded and ready to be launched.
#ifndef WEIR_DEVICE_CUDA_KERNEL_H
#define WEIR_DEVICE_CUDA_KERNEL_H

#include "device/cuda/api.h"
#include "device/cuda/ptx.h"
#include "device/host.h"

enum { WEIR__CUDA_KNOWN_PARAMETERS = 16 }; // the first ones of a function

typedef struct weir__cuda_launch {
  CUfunction functions[WEIR__MAX_DEVICES]; // by index of the device in the context; NULL: no code there
  uint32_t grid[3];                        // all 0: the task's work-groups
  uint32_t block[3];
  uint32_t shared_bytes;
  void *value; // not NULL: the only parameter; owned
  uint32_t value_bytes;
  uint32_t resident[WEIR__MAX_DEVICES]; // number + 1 of its part of a device's resident kernel; 0: none
  const weir__ptx_entry
      *entries[WEIR__MAX_DEVICES]; // what its PTX says; NULL: it is not known. Of the device's modules
  uint32_t parameter_count;        // of the function; UINT32_MAX: neither the driver nor PTX tells
  uint32_t parameter_bytes[WEIR__CUDA_KNOWN_PARAMETERS];
} weir__cuda_launch;

typedef struct weir__cuda_kernel {
  weir__code head;
  uint32_t count;
  // By mode, a bit for each of the first parameters: the code of some device may refute it for this one (device/use.h).
  uint16_t refuted[WEIR_READ_WRITE + 1];
  bool empty; // count is 0: the kernel has code everywhere and launches nothing
  uint32_t
      adopted; // not 0: count is 0, and its tasks are adopted nodes (graph/adopted.h) of the device with this index, plus 1
  char not_resident[160]; // why some launch has no part of a resident kernel; "": all have, or they are not wanted
  weir__cuda_launch launches[];
} weir__cuda_kernel;

// NULL: the kernel has none. Modules stay loaded until their device is destroyed.
static inline weir__cuda_kernel *weir__cuda_code_of(const weir_kernel *kernel) {
  return (weir__cuda_kernel *)(void *)kernel->code[WEIR__CODE_CUDA];
}

// Whether all launches have a function on the device.
bool weir__cuda_kernel_has_code(const weir__cuda_kernel *cuda, uint32_t device);

// weir__device_ops.set_enqueue.
weir_status weir__cuda_set_enqueue(weir_kernel *kernel, const struct weir_enqueue_code *code);

// Makes the kernel's code that of adopted nodes of a device.
weir_status weir__cuda_set_adopted(weir_kernel *kernel, const weir_device *device);

// Whether a grid is one that cards have; `what` begins the text.
weir_status weir__cuda_check_grid(const char *what, const uint32_t grid[3]);

// Notes which modes are wrong on a device, as long as no value is an address.
void weir__cuda_kernel_find_refuted(weir__cuda_kernel *cuda, uint32_t device);

// Checks a task against what the device can launch: the grid's size, number and sizes of parameters, modes that the code refutes.
// The text names the task.
weir_status weir__cuda_kernel_check(const weir_device *device, const weir_task *task);

// weir__device_ops.use: by all launches together, where their PTX is known.
uint8_t weir__cuda_kernel_use(const weir_device *device, const weir_task *task, uint32_t index);

#endif // WEIR_DEVICE_CUDA_KERNEL_H
