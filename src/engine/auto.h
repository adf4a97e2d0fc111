// SPDX-License-Identifier: Apache-2.0
//
// Arguments whose mode the kernel's code tells (weir_auto).
#ifndef WEIR_ENGINE_AUTO_H
#define WEIR_ENGINE_AUTO_H

#include "device/device.h"

// The mode of one such argument of a task for the device: READ or READ_WRITE. READ_WRITE also if its bytes overlap those of an
// argument of the task that is written: two arguments that overlap must agree. The task passed weir__check_task, and its
// arguments may be wrong by themselves. The lock is held, so that the code stays as it is.
weir_mode weir__auto_mode(const weir_device *device, const weir_task *task, uint32_t index);

// Puts modes in place of all WEIR_AUTO of the task's arguments, which are `args`.
void weir__fill_modes(const weir_device *device, const weir_task *task, weir_arg *args);

// Copies the task, with modes in place of all WEIR_AUTO; `args` has room for its arguments.
void weir__take_modes(const weir_device *device, const weir_task *task, weir_arg *args, weir_task *out_task);

#endif // WEIR_ENGINE_AUTO_H
